//! The tables as they are written.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::Effect;

/// Why a table cannot be used; the user must mend the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },

    #[error("{}:{line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
}

/// What the program's own body of a modelled function means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bodies {
    /// The body is the truth, the model is for when it is missing.
    #[default]
    Keep,
    /// The model stands in for the body.
    Replace,
}

/// Lines of a table in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub bodies: Bodies,
    /// Global objects that may be used by all threads at once.
    pub synchronized: Vec<String>,
    pub lines: Vec<(String, Vec<Effect>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyFile {
    #[serde(default)]
    bodies: Bodies,
    /// Mangled classes; the lines are members of each, mangled too.
    #[serde(default, rename = "members-of")]
    members_of: Vec<String>,
    #[serde(default)]
    synchronized: Vec<String>,
    functions: Lines,
}

/// A user's file; what is not about models belongs to others.
#[derive(Deserialize)]
struct UserFile {
    #[serde(default)]
    models: Lines,
    #[serde(flatten)]
    _others: std::collections::HashMap<String, IgnoredAny>,
}

#[derive(Default)]
struct Lines(Vec<(String, Vec<Effect>)>);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LinesVisitor;

        impl<'de> serde::de::Visitor<'de> for LinesVisitor {
            type Value = Lines;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("lines of the form: symbol = [effects]")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Lines, A::Error> {
                let mut lines = Vec::new();
                while let Some(line) = map.next_entry()? {
                    lines.push(line);
                }
                Ok(Lines(lines))
            }
        }
        deserializer.deserialize_map(LinesVisitor)
    }
}

/// Parses one of our own files.
pub(crate) fn family(name: &str, text: &str) -> Result<Table, Error> {
    let file: FamilyFile =
        toml::from_str(text).map_err(|error| syntax(Path::new(name), text, &error))?;
    let mut lines = file.functions.0;
    if !file.members_of.is_empty() {
        for (line, _) in &mut lines {
            *line = members(line, &file.members_of);
        }
    }
    Ok(Table { bodies: file.bodies, synchronized: file.synchronized, lines })
}

/// The symbols of a line's members in each class, constant or not.
fn members(line: &str, classes: &[String]) -> String {
    let names = line.split('|').map(str::trim).flat_map(|member| {
        let of_class =
            move |class: &String| [format!("_ZN{class}{member}"), format!("_ZNK{class}{member}")];
        classes.iter().flat_map(of_class)
    });
    names.collect::<Vec<_>>().join(" | ")
}

/// Parses a user's file.
pub(crate) fn user(path: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.into(), source })?;
    let file: UserFile = toml::from_str(&text).map_err(|error| syntax(path, &text, &error))?;
    Ok(Table { bodies: Bodies::Replace, synchronized: Vec::new(), lines: file.models.0 })
}

fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
    Error::Syntax { path: path.into(), line, message: error.message().to_owned() }
}
