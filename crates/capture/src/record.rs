//! What a build did, as the shims saw it: stored first, understood later.
//!
//! A shim knows one command. Which unit an object on a link line came from is only known when all
//! records are together, so objects are written down by path *and* content: builds move, copy and
//! archive them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::CaptureError;
use crate::TargetKind;
use crate::invocation::Remark;
use crate::repeat::Compilation;
use crate::store::{Store, hash_of, read_json, write_json};

/// One captured compilation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnitRecord {
    pub compilation: Compilation,
    /// Names the bitcode; `None` when clang rejected the source, for the reason in `rejection`.
    pub hash: Option<String>,
    pub rejection: Option<String>,
    /// Whether the bitcode was in the store before.
    #[serde(default)]
    pub reused: bool,
    pub object: Option<PathBuf>,
    pub object_hash: Option<String>,
}

/// One word of a link line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Piece {
    /// A source on the link line itself: the key of its unit.
    Unit(String),
    Object {
        path: PathBuf,
        hash: String,
    },
    /// `word` is how the command line named it (`-lfoo`), for when no member was captured.
    Archive {
        path: PathBuf,
        members: Vec<(String, String)>,
        word: String,
    },
    File(PathBuf),
    Flag(String),
}

/// Something a build linked or archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Product {
    pub output: PathBuf,
    pub directory: PathBuf,
    pub kind: ProductKind,
    pub cxx: bool,
    pub pieces: Vec<Piece>,
    /// SHA-256 of the output when it is an object again.
    pub hash: Option<String>,
    /// Tells the file apart after a rename.
    pub inode: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProductKind {
    Target(TargetKind),
    /// The output of `ld -r`.
    Object,
}

/// All that one command did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub units: Vec<UnitRecord>,
    pub product: Option<Product>,
    pub remarks: Vec<Remark>,
}

impl UnitRecord {
    /// A later compilation with the same key replaces this one.
    pub fn key(&self) -> String {
        match &self.object {
            Some(object) => object.display().to_string(),
            None => {
                let flags = hash_of(self.compilation.arguments.join("\0").as_bytes());
                let source = self.compilation.directory.join(&self.compilation.source);
                format!("{}#{}", source.display(), &flags[..12])
            }
        }
    }
}

/// The records of all captures of a project, the latest of each key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Records {
    pub units: BTreeMap<String, UnitRecord>,
    pub products: BTreeMap<PathBuf, Product>,
    pub remarks: Vec<Remark>,
}

impl Records {
    pub fn load(store: &Store) -> Result<Records, CaptureError> {
        Ok(read_json(&store.records())?.unwrap_or_default())
    }

    pub fn save(&self, store: &Store) -> Result<(), CaptureError> {
        write_json(&store.records(), self)
    }

    pub fn add(&mut self, record: Record) {
        for unit in record.units {
            self.units.insert(unit.key(), unit);
        }
        if let Some(product) = record.product {
            self.products.insert(product.output.clone(), product);
        }
        for remark in record.remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }
}

/// Reads every record in `folder`, in the order of their names, which is that of time.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Record>, CaptureError> {
    let mut names: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    names.retain(|name| name.extension().is_some_and(|extension| extension == "json"));
    names.sort();
    names.iter().filter_map(|name| read_json(name).transpose()).collect()
}
