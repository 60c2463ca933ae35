//! Which units an object, an archive member or a partial link is made of.
//!
//! An object is known by its content first (it may have been moved or archived), then by its path
//! (it may have been stripped).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::record::{Piece, Product, ProductKind, Records};

/// Partial links within partial links; deeper means a record that names itself.
pub(crate) const DEPTH: usize = 8;

/// Which unit (by key) an object is.
pub(crate) struct Objects<'a> {
    by_path: HashMap<&'a Path, &'a str>,
    by_hash: HashMap<&'a str, Vec<&'a str>>,
    /// Archives that the build made itself.
    own_archives: HashSet<&'a Path>,
}

impl<'a> Objects<'a> {
    pub fn new(records: &'a Records) -> Self {
        let own_archives = records.products.keys().map(|output| output.as_path()).collect();
        let mut objects =
            Objects { by_path: HashMap::new(), by_hash: HashMap::new(), own_archives };
        for (key, unit) in &records.units {
            if let Some(path) = &unit.object {
                objects.by_path.insert(path, key);
            }
            if let Some(hash) = &unit.object_hash {
                objects.by_hash.entry(hash).or_default().push(key);
            }
        }
        objects
    }

    pub fn find(&self, path: &Path, hash: &str) -> Option<&'a str> {
        let at_path = self.by_path.get(path).copied();
        match self.by_hash.get(hash) {
            // Two units may give the same object; the one at this path is meant then.
            Some(same) => at_path.filter(|key| same.contains(key)).or(same.first().copied()),
            None => at_path,
        }
    }

    /// The units of an archive member: one, or those of a partial link when all are known.
    pub fn find_member(
        &self,
        archive: &Path,
        name: &str,
        hash: &str,
        partial: &HashMap<&str, &'a Product>,
    ) -> Option<Vec<&'a str>> {
        let Some(product) = partial.get(hash) else {
            return self.find_object_member(archive, name, hash).map(|key| vec![key]);
        };
        let pieces = flatten(product, partial, DEPTH);
        let files = pieces.into_iter().filter(|piece| !matches!(piece, Piece::Flag(_)));
        files
            .map(|piece| match piece {
                Piece::Object { path, hash } => self.find(path, hash),
                Piece::Unit(key) => Some(key.as_str()),
                Piece::Archive { .. } | Piece::File(_) | Piece::Flag(_) => None,
            })
            .collect()
    }

    /// One object in an archive. Stripped ones are told by their name when it is the only one and
    /// the build made the archive: a library from elsewhere may use the same names.
    fn find_object_member(&self, archive: &Path, name: &str, hash: &str) -> Option<&'a str> {
        if let Some(same) = self.by_hash.get(hash) {
            let named =
                same.iter().find(|key| Path::new(key).file_name().is_some_and(|file| file == name));
            return named.or(same.first()).copied();
        }
        if !self.own_archives.contains(archive) {
            return None;
        }
        let mut named = self
            .by_path
            .iter()
            .filter(|(path, _)| path.file_name().is_some_and(|file| file == name));
        match (named.next(), named.next()) {
            (Some((_, key)), None) => Some(key),
            _ => None,
        }
    }
}

/// The pieces of `product` with partial links opened.
pub(crate) fn flatten<'a>(
    product: &'a Product,
    partial: &HashMap<&str, &'a Product>,
    depth: usize,
) -> Vec<&'a Piece> {
    let mut pieces = Vec::new();
    for piece in &product.pieces {
        let inner = match piece {
            Piece::Object { hash, .. } if depth > 0 => partial.get(hash.as_str()),
            _ => None,
        };
        match inner {
            Some(inner) => {
                let files = flatten(inner, partial, depth - 1);
                pieces.extend(files.into_iter().filter(|piece| !matches!(piece, Piece::Flag(_))));
            }
            None => pieces.push(piece),
        }
    }
    pieces
}

/// The outputs of `ld -r`, by content.
pub(crate) fn partial_links(records: &Records) -> HashMap<&str, &Product> {
    let objects = records.products.values().filter(|product| product.kind == ProductKind::Object);
    objects.filter_map(|product| Some((product.hash.as_deref()?, product))).collect()
}

/// The keys of the units that some product is made of.
pub(crate) fn referenced(records: &Records) -> HashSet<String> {
    let objects = Objects::new(records);
    let partial = partial_links(records);
    let mut keys = HashSet::new();
    for product in records.products.values() {
        for piece in flatten(product, &partial, DEPTH) {
            match piece {
                Piece::Unit(key) => {
                    keys.insert(key.clone());
                }
                Piece::Object { path, hash } => {
                    keys.extend(objects.find(path, hash).map(str::to_owned))
                }
                Piece::Archive { path, members, .. } => {
                    let found = members
                        .iter()
                        .filter_map(|(name, hash)| objects.find_member(path, name, hash, &partial));
                    keys.extend(found.flatten().map(str::to_owned));
                }
                Piece::File(_) | Piece::Flag(_) => {}
            }
        }
    }
    keys
}
