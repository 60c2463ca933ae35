//! Reading static libraries: which objects an archive holds. Common `ar` files with System V names
//! and thin archives; what cannot be read yields the members so far, as a linker would complain
//! about the rest itself.

use std::path::{Path, PathBuf};

use crate::store::hash_of;

/// One object of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub name: String,
    /// SHA-256 of the content.
    pub hash: String,
    pub content: Vec<u8>,
}

const HEADER: usize = 60;

/// The members of the archive at `path`; `None` when it is not an archive.
pub(crate) fn members(path: &Path) -> Option<Vec<Member>> {
    let bytes = std::fs::read(path).ok()?;
    let thin = match bytes.get(..8)? {
        b"!<arch>\n" => false,
        b"!<thin>\n" => true,
        _ => return None,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut members = Vec::new();
    let mut long_names: &[u8] = &[];
    let mut at = 8;
    while let Some(header) = bytes.get(at..at + HEADER) {
        let name = String::from_utf8_lossy(&header[..16]).trim_end().to_owned();
        let Ok(size) = String::from_utf8_lossy(&header[48..58]).trim().parse::<usize>() else {
            break;
        };
        let start = at + HEADER;
        let index = matches!(name.as_str(), "/" | "/SYM64/" | "__.SYMDEF");
        let table = name == "//";
        let inline = !thin || index || table;
        let content = if inline { bytes.get(start..start + size) } else { Some(&[][..]) };
        let Some(content) = content else { break };
        if table {
            long_names = content;
        } else if !index {
            let name = full_name(&name, long_names);
            let content = if thin {
                std::fs::read(thin_path(folder, &name)).unwrap_or_default()
            } else {
                content.to_vec()
            };
            members.push(Member { hash: hash_of(&content), name, content });
        }
        at = start + if inline { size + size % 2 } else { 0 };
    }
    Some(members)
}

/// `name/` is short; `/12` is an offset into the table of long names.
fn full_name(name: &str, long_names: &[u8]) -> String {
    let offset = name.strip_prefix('/').and_then(|offset| offset.parse::<usize>().ok());
    match offset.and_then(|offset| long_names.get(offset..)) {
        Some(rest) => {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..end]).trim_end_matches('/').to_owned()
        }
        None => name.trim_end_matches('/').to_owned(),
    }
}

fn thin_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn reads_what_ar_writes() {
        let folder = tempfile::tempdir().unwrap();
        let long = "a-name-that-is-longer-than-sixteen.o";
        std::fs::write(folder.path().join("odd.o"), b"123").unwrap();
        std::fs::write(folder.path().join(long), b"long").unwrap();
        for flags in ["rc", "rcT"] {
            let ar = Command::new("ar")
                .args([flags, &format!("{flags}.a"), "odd.o", long])
                .current_dir(folder.path())
                .status();
            assert!(ar.unwrap().success());
            let found = members(&folder.path().join(format!("{flags}.a"))).unwrap();
            let names: Vec<_> =
                found.iter().map(|m| (m.name.as_str(), m.content.as_slice())).collect();
            assert_eq!(names, [("odd.o", &b"123"[..]), (long, &b"long"[..])], "{flags}");
        }
    }

    #[test]
    fn a_damaged_archive_yields_what_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.a");
        std::fs::write(&file, b"!<arch>\nshort").unwrap();
        assert_eq!(members(&file), Some(Vec::new()));
        std::fs::write(&file, b"int main").unwrap();
        assert_eq!(members(&file), None);
    }
}
