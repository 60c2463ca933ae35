//! From what the build did to what the engines read: objects on link lines become units.
//!
//! An object is known by its content first (it may have been moved or archived), then by its path
//! (it may have been stripped). What is not known is used as it is, from a copy in the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::archive;
use crate::record::{Piece, Product, ProductKind, Records, UnitRecord};
use crate::repeat::outcome;
use crate::store::{Store, write_atomically};
use crate::{Capture, CaptureError, CaptureNote, LinkItem, Target, TargetKind, Unit};

/// Partial links within partial links; deeper means a record that names itself.
const DEPTH: usize = 8;

/// Which unit (by key) an object is.
pub(crate) struct Objects<'a> {
    by_path: HashMap<&'a Path, &'a str>,
    by_hash: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Objects<'a> {
    pub fn new(records: &'a Records) -> Self {
        let mut objects = Objects { by_path: HashMap::new(), by_hash: HashMap::new() };
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
    fn find_member(
        &self,
        name: &str,
        hash: &str,
        partial: &HashMap<&str, &'a Product>,
    ) -> Option<Vec<&'a str>> {
        let Some(product) = partial.get(hash) else {
            return self.find_object_member(name, hash).map(|key| vec![key]);
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

    /// An archive member; stripped ones are told by their name when it is the only one.
    fn find_object_member(&self, name: &str, hash: &str) -> Option<&'a str> {
        if let Some(same) = self.by_hash.get(hash) {
            let named =
                same.iter().find(|key| Path::new(key).file_name().is_some_and(|file| file == name));
            return named.or(same.first()).copied();
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
                Piece::Archive { members, .. } => {
                    let found = members
                        .iter()
                        .filter_map(|(name, hash)| objects.find_member(name, hash, &partial));
                    keys.extend(found.flatten().map(str::to_owned));
                }
                Piece::File(_) | Piece::Flag(_) => {}
            }
        }
    }
    keys
}

struct Resolver<'a> {
    records: &'a Records,
    store: &'a Store,
    objects: Objects<'a>,
    partial: HashMap<&'a str, &'a Product>,
    /// Key to index into the capture's units; rejected units are absent.
    units: BTreeMap<&'a str, usize>,
    notes: Vec<CaptureNote>,
}

/// Derives the capture that the engines read.
pub(crate) fn resolve(records: &Records, store: &Store) -> Result<Capture, CaptureError> {
    let mut capture = Capture::default();
    let mut units = BTreeMap::new();
    let mut notes = Vec::new();
    let mut dropped: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, record) in &records.units {
        for flag in &record.compilation.dropped {
            *dropped.entry(flag).or_default() += 1;
        }
        match unit_of(record, store) {
            Ok(unit) => {
                units.insert(key.as_str(), capture.units.len());
                capture.units.push(unit);
            }
            Err(message) => {
                let text =
                    format!("{}: not captured: {message}", record.compilation.source.display());
                notes.push(CaptureNote { incomplete: true, text });
            }
        }
    }
    notes.extend(dropped.into_iter().map(|(flag, count)| CaptureNote {
        incomplete: false,
        text: format!("clang does not know {flag}; left out for {count} units"),
    }));
    notes.extend(
        records
            .remarks
            .iter()
            .map(|remark| CaptureNote { incomplete: remark.incomplete, text: remark.text.clone() }),
    );
    let objects = Objects::new(records);
    let partial = partial_links(records);
    let mut resolver = Resolver { records, store, objects, partial, units, notes };
    capture.targets = resolver.targets()?;
    capture.notes = resolver.notes;
    if capture.targets.is_empty() && !capture.units.is_empty() {
        capture.targets.push(whole_project(&capture.units, store));
    }
    Ok(capture)
}

fn unit_of(record: &UnitRecord, store: &Store) -> Result<Unit, String> {
    if let Some(message) = &record.rejection {
        return Err(format!("clang-22 says\n{message}"));
    }
    let hash = record.hash.clone().unwrap_or_default();
    let bitcode = store.bitcode().join(format!("{hash}.bc"));
    match outcome(&bitcode) {
        Some(Ok(())) => {}
        Some(Err(rejection)) => return Err(format!("clang-22 says\n{}", rejection.0)),
        None => return Err("its bitcode is missing from the store".into()),
    }
    let compilation = &record.compilation;
    Ok(Unit {
        source: compilation.source.clone(),
        directory: compilation.directory.clone(),
        language: compilation.language,
        arguments: compilation.arguments.clone(),
        object: record.object.clone(),
        bitcode,
        hash,
    })
}

/// A build that compiles and links nothing still has something to analyse.
pub(crate) fn whole_project(units: &[Unit], store: &Store) -> Target {
    let project = store.project();
    let name = project.file_name().map_or("all".into(), |name| name.to_string_lossy().into_owned());
    Target {
        output: project.join(&name),
        name,
        directory: project.to_owned(),
        kind: TargetKind::StaticLibrary,
        cxx: units.iter().any(|unit| unit.language == crate::Language::Cxx),
        link: (0..units.len()).map(LinkItem::Unit).collect(),
    }
}

impl Resolver<'_> {
    fn targets(&mut self) -> Result<Vec<Target>, CaptureError> {
        let partial = self.partial.clone();
        let mut targets = Vec::new();
        for product in self.records.products.values() {
            let ProductKind::Target(kind) = product.kind else { continue };
            let mut link = Vec::new();
            for piece in flatten(product, &partial, DEPTH) {
                self.place(piece, &mut link)?;
            }
            let target = Target {
                name: product.output.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                output: product.output.clone(),
                directory: product.directory.clone(),
                kind,
                cxx: product.cxx,
                link,
            };
            if !target.units().is_empty() {
                targets.push(target);
            }
        }
        let linked: HashSet<PathBuf> = targets
            .iter()
            .filter(|target| target.kind != TargetKind::StaticLibrary)
            .flat_map(|target| &target.link)
            .filter_map(|item| match item {
                LinkItem::Archive { path, .. } => Some(path.clone()),
                _ => None,
            })
            .collect();
        targets.retain(|target| {
            target.kind != TargetKind::StaticLibrary || !linked.contains(&target.output)
        });
        Ok(targets)
    }

    fn place(&mut self, piece: &Piece, link: &mut Vec<LinkItem>) -> Result<(), CaptureError> {
        match piece {
            Piece::Unit(key) => link.extend(self.unit_or_object(key)),
            Piece::Object { path, hash } => match self.objects.find(path, hash) {
                Some(key) => link.extend(self.unit_or_object(key)),
                None => {
                    let content = std::fs::read(path).ok();
                    link.push(LinkItem::File(self.keep(path, hash, content.as_deref())?));
                }
            },
            Piece::Archive { path, members, word } => {
                self.place_archive(path, members, word, link)?
            }
            Piece::File(path) => link.push(LinkItem::File(path.clone())),
            Piece::Flag(flag) => link.push(LinkItem::Flag(flag.clone())),
        }
        Ok(())
    }

    /// The unit; or, when clang rejected it, the object that the user's compiler made.
    fn unit_or_object(&self, key: &str) -> Option<LinkItem> {
        if let Some(unit) = self.units.get(key) {
            return Some(LinkItem::Unit(*unit));
        }
        let object = self.records.units.get(key)?.object.clone()?;
        Some(LinkItem::File(object))
    }

    fn place_archive(
        &mut self,
        path: &Path,
        members: &[(String, String)],
        word: &str,
        link: &mut Vec<LinkItem>,
    ) -> Result<(), CaptureError> {
        let found: Vec<Option<Vec<usize>>> = members
            .iter()
            .map(|(name, hash)| {
                let keys = self.objects.find_member(name, hash, &self.partial)?;
                keys.into_iter().map(|key| self.units.get(key).copied()).collect()
            })
            .collect();
        if found.iter().all(Option::is_none) {
            link.push(if word.starts_with("-l") {
                LinkItem::Flag(word.to_owned())
            } else {
                LinkItem::File(path.to_owned())
            });
            return Ok(());
        }
        let mut objects = Vec::new();
        if found.iter().any(Option::is_none) {
            let present = archive::members(path).unwrap_or_default();
            for ((name, hash), _) in members.iter().zip(&found).filter(|(_, unit)| unit.is_none()) {
                let content = present
                    .iter()
                    .find(|member| member.hash == *hash)
                    .map(|member| member.content.as_slice());
                objects.push(self.keep(Path::new(name), hash, content)?);
            }
        }
        let members = found.into_iter().flatten().flatten().collect();
        link.push(LinkItem::Archive { path: path.to_owned(), members, objects });
        Ok(())
    }

    /// A copy of an uncaptured object in the store, where `make clean` does not reach it.
    fn keep(
        &mut self,
        path: &Path,
        hash: &str,
        content: Option<&[u8]>,
    ) -> Result<PathBuf, CaptureError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let copy = self.store.files().join(format!("{}-{name}", &hash[..hash.len().min(16)]));
        let text = match content {
            _ if copy.is_file() => None,
            Some(content) => {
                write_atomically(&copy, content)?;
                None
            }
            None => Some(format!("{}: linked but not captured, and gone since", path.display())),
        };
        let gone = text.is_some();
        let text = text
            .unwrap_or_else(|| format!("{name}: linked as it is: no captured compilation made it"));
        let note = CaptureNote { incomplete: true, text };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        if gone {
            return Ok(path.to_owned());
        }
        Ok(copy)
    }
}
