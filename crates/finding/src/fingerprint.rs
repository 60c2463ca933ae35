//! A race's name across captures.
//!
//! It must survive unrelated edits, moved lines and renamed locals, so it is made of what those
//! leave alone: per site the file's base name, the function, the kind of access and the accessed
//! field path without its root local; for the pair, the object. Line and column are left out.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Site;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// The fingerprint of the unordered pair `(a, b)` on `object`.
    pub fn of(a: &Site, b: &Site, object: &str) -> Self {
        let (mut first, mut second) = (site_text(a, object), site_text(b, object));
        if second < first {
            std::mem::swap(&mut first, &mut second);
        }
        let mut hash = Sha256::new();
        for part in [object, &first, &second] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
        let bytes = digest.iter().take(10);
        Fingerprint(bytes.flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn site_text(site: &Site, object: &str) -> String {
    let base = site.file.rsplit('/').next().unwrap_or(&site.file);
    format!(
        "{base}\u{1}{}\u{1}{}\u{1}{}",
        site.function,
        site.access,
        path_below_root(&site.lvalue, object)
    )
}

/// `d->stats.rx` and `e->stats.rx` are the same access after a rename; `total` stays `total`
/// when the object itself is the global `total`.
fn path_below_root<'a>(lvalue: &'a str, object: &str) -> &'a str {
    if lvalue.starts_with(object) {
        return lvalue;
    }
    let root_end =
        lvalue.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(lvalue.len());
    &lvalue[root_end..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessKind, Site};

    fn site(line: u32, function: &str, access: AccessKind, lvalue: &str) -> Site {
        Site {
            file: "src/a.c".into(),
            line,
            column: 3,
            function: function.into(),
            access,
            lvalue: lvalue.into(),
            atomic: false,
            locks: vec![],
            thread: String::new(),
            stack: Default::default(),
        }
    }

    #[test]
    fn survives_moved_lines_renamed_locals_and_swapped_order() {
        let a = site(10, "f", AccessKind::Write, "conn->state");
        let b = site(20, "g", AccessKind::Read, "c->state");
        let moved_a = site(110, "f", AccessKind::Write, "connection->state");
        let moved_b = site(120, "g", AccessKind::Read, "c->state");
        let object = "struct conn.state";
        assert_eq!(Fingerprint::of(&a, &b, object), Fingerprint::of(&moved_b, &moved_a, object));
    }

    #[test]
    fn differs_for_another_function_kind_field_or_object() {
        let a = site(10, "f", AccessKind::Write, "c->state");
        let b = site(20, "g", AccessKind::Read, "c->state");
        let base = Fingerprint::of(&a, &b, "o");
        let others = [
            Fingerprint::of(&site(10, "h", AccessKind::Write, "c->state"), &b, "o"),
            Fingerprint::of(&site(10, "f", AccessKind::Read, "c->state"), &b, "o"),
            Fingerprint::of(&site(10, "f", AccessKind::Write, "c->fd"), &b, "o"),
            Fingerprint::of(&a, &b, "p"),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
