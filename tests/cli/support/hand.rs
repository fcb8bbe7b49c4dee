//! Files as people and other programs leave them: written by hand, dated back, with modes of their own.

use std::path::Path;

/// A message as someone without Postroom writes it.
pub(crate) fn by_hand(from: &str, id: &str, subject: &str, body: &str) -> String {
    format!("---\nfrom: {from}\nmsg_id: {id}\nsubject: {subject}\n---\n\n{body}")
}

/// Unreadable in every protocol: frontmatter without an end.
pub(crate) const BROKEN: &str = "---\nfrom: x\n";

/// Takes the rights of others away, as the format asks (format.md §1.2).
pub(crate) fn tighten(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

/// Sets the time of a file back.
pub(crate) fn age(path: &Path, seconds: u64) {
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    std::fs::File::options().read(true).open(path).unwrap().set_modified(time).unwrap();
}
