//! From what the build did to what the engines read: objects on link lines become units. What no
//! captured compilation made is used as it is, from a copy in the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::archive;
use crate::objects::{DEPTH, Objects, flatten, partial_links};
use crate::record::{Piece, Product, ProductKind, Records, UnitRecord};
use crate::repeat::bitcode_in;
use crate::store::{Store, write_atomically};
use crate::{Capture, CaptureError, CaptureNote, LinkItem, Target, TargetKind, Unit};

struct Resolver<'a> {
    records: &'a Records,
    store: &'a Store,
    objects: Objects<'a>,
    partial: HashMap<&'a str, &'a Product>,
    /// Key to index into the capture's units; rejected units are absent.
    units: BTreeMap<&'a str, usize>,
    /// What clang said of rejected units, and the outputs of the targets that they belong to.
    rejected: BTreeMap<&'a str, (String, Vec<PathBuf>)>,
    notes: Vec<CaptureNote>,
    /// The output of the target being resolved.
    current: PathBuf,
}

/// Derives the capture that the engines read.
pub(crate) fn resolve(records: &Records, store: &Store) -> Result<Capture, CaptureError> {
    let mut capture = Capture::default();
    let mut units = BTreeMap::new();
    let mut rejected = BTreeMap::new();
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
                let source = record.compilation.source.display();
                let text = format!("{source}: not captured: {message}");
                rejected.insert(key.as_str(), (text, Vec::new()));
            }
        }
    }
    let mut resolver = Resolver {
        records,
        store,
        objects: Objects::new(records),
        partial: partial_links(records),
        units,
        rejected,
        notes: Vec::new(),
        current: PathBuf::new(),
    };
    capture.targets = resolver.targets()?;
    let linked = !capture.targets.is_empty();
    capture.notes = resolver.notes;
    let rejected = resolver.rejected.into_values();
    capture.notes.extend(rejected.map(|(text, scope)| CaptureNote {
        incomplete: true,
        text,
        scope,
    }));
    capture.notes.extend(dropped.into_iter().map(|(flag, count)| {
        CaptureNote::new(false, format!("clang does not know {flag}; left out for {count} units"))
    }));
    capture.notes.extend(records.remarks.iter().map(|remark| {
        let told_by_targets = remark.in_object && linked;
        CaptureNote::new(remark.incomplete && !told_by_targets, remark.text.clone())
    }));
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
    let bitcode = bitcode_in(&store.bitcode(), &hash);
    if !bitcode.is_file() {
        return Err("its bitcode is missing from the store".into());
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
            self.current = product.output.clone();
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
    fn unit_or_object(&mut self, key: &str) -> Option<LinkItem> {
        match self.unit(key) {
            Some(unit) => Some(LinkItem::Unit(unit)),
            None => self.records.units.get(key)?.object.clone().map(LinkItem::File),
        }
    }

    /// The unit's index; one that was rejected is written down as missing from this target.
    fn unit(&mut self, key: &str) -> Option<usize> {
        if let Some((_, scope)) = self.rejected.get_mut(key)
            && !scope.contains(&self.current)
        {
            scope.push(self.current.clone());
        }
        self.units.get(key).copied()
    }

    fn place_archive(
        &mut self,
        path: &Path,
        members: &[(String, String)],
        word: &str,
        link: &mut Vec<LinkItem>,
    ) -> Result<(), CaptureError> {
        let mut found: Vec<Option<Vec<usize>>> = Vec::new();
        for (name, hash) in members {
            let keys = self.objects.find_member(path, name, hash, &self.partial);
            found.push(keys.and_then(|keys| keys.into_iter().map(|key| self.unit(key)).collect()));
        }
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
        match self.notes.iter_mut().find(|note| note.text == text) {
            Some(note) if note.scope.contains(&self.current) => {}
            Some(note) => note.scope.push(self.current.clone()),
            None => {
                let scope = vec![self.current.clone()];
                self.notes.push(CaptureNote { incomplete: true, text, scope });
            }
        }
        if gone {
            return Ok(path.to_owned());
        }
        Ok(copy)
    }
}
