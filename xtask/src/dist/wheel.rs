//! The wheel for Python: the binary is a script of the package, so that `pip`, `pipx` and `uv` put it into `bin/` as it is, and no
//! Python runs when it is started.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::archive::zip;
use super::files::{BINARY, DOC, File};
use super::licences;
use super::release::Release;

/// A static binary runs with every C library.
const TAG: &str = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64";

/// The file name and the bytes.
pub(crate) fn package(release: &Release, files: &[File]) -> (String, Vec<u8>) {
    let stem = format!("postroom-{}", release.version);
    let named = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.bytes.clone());
    let document = |name: &str| named(&format!("{DOC}/{name}")).unwrap_or_default();
    let info = |name: &str| format!("{stem}.dist-info/{name}");
    let licences = ["LICENSE-APACHE", "LICENSE-MIT", licences::NAME];
    let mut metadata = format!(
        "Metadata-Version: 2.4\nName: postroom\nVersion: {}\nSummary: Mail for coding agents, on plain files\n\
         License-Expression: MIT OR Apache-2.0\n",
        release.version
    );
    licences.iter().for_each(|name| metadata.push_str(&format!("License-File: {name}\n")));
    metadata.push_str("Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n");
    metadata.push_str(&String::from_utf8_lossy(&document("README.md")));
    let tags: String = tags().iter().map(|tag| format!("Tag: {tag}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n{tags}");

    let mut packed =
        vec![File::program(format!("{stem}.data/scripts/postroom"), named(BINARY).unwrap_or_default())];
    packed.push(File::new(info("METADATA"), metadata));
    packed.push(File::new(info("WHEEL"), wheel));
    packed.extend(licences.iter().map(|name| File::new(info(&format!("licenses/{name}")), document(name))));
    let mut record: String = packed.iter().map(line).collect();
    record.push_str(&format!("{},,\n", info("RECORD")));
    packed.push(File::new(info("RECORD"), record));
    (format!("{stem}-{TAG}.whl"), zip(&packed))
}

/// The tag for each platform in [`TAG`].
fn tags() -> Vec<String> {
    let Some((before, platforms)) = TAG.rsplit_once('-') else { return vec![] };
    platforms.split('.').map(|platform| format!("{before}-{platform}")).collect()
}

/// A line of the record, by which an installer checks the file, and `pip uninstall` finds it.
fn line(file: &File) -> String {
    let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
    format!("{},sha256={digest},{}\n", file.path, file.bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_names_every_file_with_its_digest() {
        let release = Release { version: "1.2.3", time: 0, path: "/".into(), binary: vec![] };
        let (name, bytes) =
            package(&release, &[File::program(BINARY, ""), File::new(format!("{DOC}/README.md"), "# Hi")]);
        assert!(name.starts_with("postroom-1.2.3-py3-none-manylinux"), "{name}");
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let count = archive.len();
        let mut text = |name: &str| std::io::read_to_string(archive.by_name(name).unwrap()).unwrap();
        let record = text("postroom-1.2.3.dist-info/RECORD");
        assert_eq!(record.lines().count(), count, "{record}");
        // The digest of nothing, as the format of wheels writes it.
        let empty = "scripts/postroom,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n";
        assert!(record.contains(empty), "{record}");
        assert!(text("postroom-1.2.3.dist-info/METADATA").ends_with("\n\n# Hi"));
        assert!(text("postroom-1.2.3.dist-info/WHEEL").contains("Tag: py3-none-musllinux_1_1_x86_64\n"));
    }
}
