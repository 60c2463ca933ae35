//! Looking at files on a link line while they are still there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::TargetKind;
use crate::archive::members;
use crate::invocation::{Invocation, LinkWord};
use crate::record::{Piece, Product, ProductKind};
use crate::store::{absolute, hash_of};

pub(crate) fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).map(|metadata| metadata.ino()).unwrap_or_default()
}

/// The link line as pieces: objects by content, archives opened. `units` are the keys of the
/// invocation's own sources.
pub(crate) fn link_pieces(
    invocation: &Invocation,
    directory: &Path,
    units: &[String],
) -> Vec<Piece> {
    let folders: Vec<PathBuf> = invocation
        .link
        .iter()
        .filter_map(|word| match word {
            LinkWord::Flag(flag) => {
                flag.strip_prefix("-L").map(|folder| absolute(directory, Path::new(folder)))
            }
            _ => None,
        })
        .collect();
    let mut prefer_static = false;
    let mut pieces = Vec::new();
    for word in &invocation.link {
        match word {
            LinkWord::Source(index) => pieces.extend(units.get(*index).cloned().map(Piece::Unit)),
            LinkWord::File(path) => pieces.push(file_piece(&absolute(directory, path))),
            LinkWord::Flag(flag) => {
                match flag.as_str() {
                    "-static" | "-Wl,-Bstatic" | "-Wl,-static" => prefer_static = true,
                    "-Wl,-Bdynamic" => prefer_static = false,
                    _ => {}
                }
                let library = flag
                    .strip_prefix("-l")
                    .and_then(|name| find_archive(name, &folders, prefer_static));
                pieces.push(library.unwrap_or_else(|| Piece::Flag(flag.clone())));
            }
        }
    }
    pieces
}

fn file_piece(path: &Path) -> Piece {
    let word = path.display().to_string();
    if let Some(members) = archive_members(path) {
        return Piece::Archive { path: path.to_owned(), members, word };
    }
    match std::fs::read(path) {
        Ok(bytes) if is_object(&bytes) => {
            Piece::Object { path: path.to_owned(), hash: hash_of(&bytes) }
        }
        _ => Piece::File(path.to_owned()),
    }
}

fn archive_members(path: &Path) -> Option<Vec<(String, String)>> {
    Some(members(path)?.into_iter().map(|member| (member.name, member.hash)).collect())
}

/// ELF's relocatable files and bitcode (`-flto` with clang).
fn is_object(bytes: &[u8]) -> bool {
    let relocatable = bytes.starts_with(b"\x7fELF") && bytes.get(16..18) == Some(&[1, 0]);
    relocatable || bytes.starts_with(b"BC\xc0\xde")
}

/// `-lNAME` when the build's own folders (`-L`) hold it as an archive and the linker would take it.
fn find_archive(name: &str, folders: &[PathBuf], prefer_static: bool) -> Option<Piece> {
    for folder in folders {
        let candidates = match name.strip_prefix(':') {
            Some(exact) => vec![folder.join(exact)],
            None if prefer_static => vec![folder.join(format!("lib{name}.a"))],
            None => vec![folder.join(format!("lib{name}.so")), folder.join(format!("lib{name}.a"))],
        };
        if let Some(path) = candidates.into_iter().find(|path| path.is_file()) {
            let members = archive_members(&path)?;
            return Some(Piece::Archive { path, members, word: format!("-l{name}") });
        }
    }
    None
}

/// The archive that an `ar` command line made or changed.
pub(crate) fn archive_product(words: &[String], directory: &Path) -> Option<Product> {
    let words = crate::response::expand(words, directory);
    let mut words = words.iter().filter(|word| !word.starts_with("--"));
    let operation = words.next()?.trim_start_matches('-');
    if !operation.contains(['r', 'q']) {
        return None;
    }
    // `a`, `b` and `i` take the member they place beside, `N` a count, before the archive's name.
    let extra =
        usize::from(operation.contains(['a', 'b', 'i'])) + usize::from(operation.contains('N'));
    let output = absolute(directory, Path::new(words.nth(extra)?));
    let members = archive_members(&output)?;
    let word = output.display().to_string();
    Some(Product {
        inode: inode(&output),
        directory: directory.to_owned(),
        kind: ProductKind::Target(TargetKind::StaticLibrary),
        cxx: false,
        pieces: vec![Piece::Archive { path: output.clone(), members, word }],
        hash: None,
        output,
    })
}
