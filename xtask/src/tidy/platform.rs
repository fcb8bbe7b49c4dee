//! What only Linux has is named in `src/os/` alone, so that another Unix needs no change elsewhere.

use super::Finding;
use super::files::File;

/// Calls, flags and places of Linux. In comments they may be named.
const OF_LINUX: [&str; 26] = [
    "/proc",
    "/sys/",
    "AtFlags::EMPTY_PATH",
    "Boottime",
    "OFlags::PATH",
    "OFlags::TMPFILE",
    "RawDir",
    "RenameFlags",
    "ResolveFlags",
    "STATX",
    "copy_file_range",
    "epoll",
    "eventfd",
    "getrandom",
    "inotify",
    "memfd",
    "openat2",
    "pidfd",
    "posix_acl",
    "prctl",
    "renameat_with",
    "sendfile",
    "statfs",
    "statx",
    "subreaper",
    "xattr",
];

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let mut findings = vec![];
    let outside = |file: &&File| file.path.starts_with("src/") && !file.path.starts_with("src/os/");
    for file in files.iter().filter(|file| file.is_rust()).filter(outside) {
        for (number, line) in file.lines() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(word) = OF_LINUX.into_iter().find(|word| code.contains(word)) {
                findings.push(Finding::new(file, number, format!("`{word}` is Linux's; name it in src/os/")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        findings(&[File::new(path, text)]).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn what_only_linux_has_is_named_in_one_folder() {
        let text = "//! Waits, with inotify where there is one.\nuse rustix::fs::inotify;\nfn f() { g() } // /proc\n";
        assert_eq!(found("src/wait.rs", text), [2]);
        assert!(
            found("src/os/linux/wait.rs", text).is_empty() && found("tests/cli/main.rs", text).is_empty()
        );
        for word in OF_LINUX {
            assert_eq!(found("src/cli/demo.rs", &format!("//! Demo.\nlet x = \"{word}\";\n")), [2], "{word}");
        }
    }
}
