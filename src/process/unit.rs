//! A systemd user unit as text: keeps a command of postroom running, and starts it at login. Pure.
//!
//! Paths and arguments are written so that systemd reads back the same bytes. A path that its syntax cannot hold is
//! refused.

use std::path::{Path, PathBuf};

/// A service of this user.
#[derive(Debug)]
pub struct Unit {
    /// The name of its file.
    pub name: String,
    pub about: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    /// Variables that the login shell sets and systemd does not.
    pub environment: Vec<(String, String)>,
}

impl Unit {
    /// The text of the file, or the value that it cannot hold.
    pub fn text(&self) -> Result<String, String> {
        let program = text_of(&self.program)?;
        let directory = text_of(&self.directory)?;
        // This value is taken as it is, up to the end of its line.
        if directory.chars().any(char::is_control) || directory.ends_with([' ', '\\']) {
            return Err(directory.to_owned());
        }
        let arguments: String =
            self.arguments.iter().map(|word| format!(" {}", quoted(&word.replace('$', "$$")))).collect();
        let variable =
            |(key, value): &(String, String)| format!("Environment={}\n", quoted(&format!("{key}={value}")));
        let environment: String = self.environment.iter().map(variable).collect();
        // Only the process itself is ended: agents at work have supervisors that see them through.
        Ok(format!(
            "# Save as ~/.config/systemd/user/{name}, then:\n\
             # systemctl --user daemon-reload && systemctl --user enable --now {name}\n\
             [Unit]\n\
             Description={about}\n\
             \n\
             [Service]\n\
             Type=exec\n\
             ExecStart={program}{arguments}\n\
             WorkingDirectory={directory}\n\
             {environment}\
             Restart=on-failure\n\
             RestartSec=5\n\
             SuccessExitStatus=1\n\
             KillMode=process\n\
             \n\
             [Install]\n\
             WantedBy=default.target\n",
            name = self.name,
            about = self.about.replace('%', "%%"),
            program = quoted(program),
            directory = directory.replace('%', "%%"),
        ))
    }
}

fn text_of(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| path.display().to_string())
}

/// A word in double quotes, with the escapes of systemd.syntax(7).
fn quoted(word: &str) -> String {
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(program: &str, argument: &str, directory: &str) -> Result<String, String> {
        let unit = Unit {
            name: "postroom-dispatch-main.service".into(),
            about: "Postroom dispatcher (100% main)".into(),
            program: program.into(),
            arguments: vec!["--root".into(), argument.into()],
            directory: directory.into(),
            environment: vec![("PATH".into(), "/a b:/c$d".into())],
        };
        unit.text()
    }

    #[test]
    fn every_value_is_read_back_as_it_is() {
        let text = unit("/o pt/post$room", "/r \"%h\\$x\n", "/my %h project").unwrap();
        for line in [
            "Description=Postroom dispatcher (100%% main)",
            r#"ExecStart="/o pt/post$room" "--root" "/r \"%%h\\$$x\n""#,
            "WorkingDirectory=/my %%h project",
            "Environment=\"PATH=/a b:/c$d\"",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        for bad in ["/a\nb", "/a\\", "/a "] {
            assert!(unit("/p", "x", bad).is_err(), "{bad:?}");
        }
    }
}
