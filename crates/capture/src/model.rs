//! What a capture holds. Stored as JSON in the capture's folder, so fields are only ever added.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    C,
    Cxx,
    /// Already bitcode when it came in (from rustc, or `clang -emit-llvm`).
    Bitcode,
}

/// One compilation, with the bitcode it gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The source as the compiler was given it.
    pub source: PathBuf,
    /// Where the compiler ran.
    pub directory: PathBuf,
    pub language: Language,
    /// The user's flags without input, output and `-c`, mapped to clang.
    pub arguments: Vec<String>,
    /// The object file the user's build made, when there was one.
    #[serde(default)]
    pub object: Option<PathBuf>,
    /// Absolute path of the pristine bitcode.
    pub bitcode: PathBuf,
    /// SHA-256 of the preprocessed input and the flags: the key of everything derived.
    pub hash: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    Executable,
    SharedLibrary,
    /// An archive that the build made and that no captured program links: it can be analysed,
    /// not run.
    StaticLibrary,
}

/// One thing on a link line, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkItem {
    /// Index into [`Capture::units`].
    Unit(usize),
    /// A static library made of captured units; only members that resolve something are linked.
    /// `objects` are its members that were not captured (assembly, mostly), unpacked.
    Archive {
        path: PathBuf,
        members: Vec<usize>,
        #[serde(default)]
        objects: Vec<PathBuf>,
    },
    /// An object, library or archive that was not captured; used as it is.
    File(PathBuf),
    /// `-lpthread`, `-Wl,…`, `-pthread`, `-L…`.
    Flag(String),
}

/// A linked result and how to link it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The name users type: the output's base name.
    pub name: String,
    pub output: PathBuf,
    pub directory: PathBuf,
    pub kind: TargetKind,
    /// Whether the C++ driver links it.
    pub cxx: bool,
    pub link: Vec<LinkItem>,
}

impl Target {
    /// The units that go into the target, archives opened, each once, in link order.
    pub fn units(&self) -> Vec<usize> {
        let mut seen = Vec::new();
        for item in &self.link {
            let members: &[usize] = match item {
                LinkItem::Unit(index) => std::slice::from_ref(index),
                LinkItem::Archive { members, .. } => members,
                LinkItem::File(_) | LinkItem::Flag(_) => &[],
            };
            for member in members {
                if !seen.contains(member) {
                    seen.push(*member);
                }
            }
        }
        seen
    }
}

/// Something the user should know about the capture (a unit clang rejected, a dropped flag).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureNote {
    /// Whether part of the program is missing from the capture because of it.
    pub incomplete: bool,
    pub text: String,
    /// The outputs of the targets it concerns; empty when it may concern any.
    #[serde(default)]
    pub scope: Vec<PathBuf>,
}

impl CaptureNote {
    pub(crate) fn new(incomplete: bool, text: String) -> Self {
        CaptureNote { incomplete, text, scope: Vec::new() }
    }

    fn concerns(&self, target: &Target) -> bool {
        self.scope.is_empty() || self.scope.contains(&target.output)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    pub units: Vec<Unit>,
    pub targets: Vec<Target>,
    pub notes: Vec<CaptureNote>,
}

impl Capture {
    /// The capture of one target alone: its units, its notes and no others, in link order.
    pub fn only(&self, target: &Target) -> Capture {
        let kept = target.units();
        let renumber = |old: &usize| kept.iter().position(|unit| unit == old).unwrap_or_default();
        let link = target.link.iter().map(|item| match item {
            LinkItem::Unit(unit) => LinkItem::Unit(renumber(unit)),
            LinkItem::Archive { path, members, objects } => LinkItem::Archive {
                path: path.clone(),
                members: members.iter().map(renumber).collect(),
                objects: objects.clone(),
            },
            LinkItem::File(_) | LinkItem::Flag(_) => item.clone(),
        });
        Capture {
            units: kept.iter().map(|unit| self.units[*unit].clone()).collect(),
            targets: vec![Target { link: link.collect(), ..target.clone() }],
            notes: self.notes.iter().filter(|note| note.concerns(target)).cloned().collect(),
        }
    }
}
