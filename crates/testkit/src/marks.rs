//! The ground truth that annotated programs carry.
//!
//! A line of a program says what is true of its accesses:
//!
//! ```text
//! x++;   // RACE!
//! x++;   // RACE! miss(dynamic): needs the other order
//! y = 1; // NORACE alarm(static): guard not tracked
//! ```
//!
//! `miss` and `alarm` write down a known shortfall of one engine, which is held to them as to the
//! truth: when the engine gets better, the mark has to go. A comment line `// FLAGS: ...` gives
//! compiler flags, `// ARGS: ...` arguments of the program. Lines without a mark are lines where
//! no race is expected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

/// What is true of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    Race,
    NoRace,
}

/// A known shortfall: the engine is wrong about the line, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    pub engine: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub truth: Truth,
    pub shortfalls: Vec<Shortfall>,
}

impl Mark {
    pub fn shortfall(&self, engine: &str) -> Option<&Shortfall> {
        self.shortfalls.iter().find(|shortfall| shortfall.engine == engine)
    }
}

/// An annotated program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    /// The folder it stands in.
    pub topic: String,
    /// `topic/file`, as tables name it.
    pub name: String,
    pub flags: Vec<String>,
    pub arguments: Vec<String>,
    pub marks: BTreeMap<u32, Mark>,
}

impl Program {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(path, &text)
    }

    pub fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let part = |path: Option<&std::ffi::OsStr>| {
            path.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let topic = part(path.parent().and_then(Path::file_name));
        let name = format!("{topic}/{}", part(path.file_name()));
        let mut program = Self {
            path: path.to_owned(),
            topic,
            name,
            flags: Vec::new(),
            arguments: Vec::new(),
            marks: BTreeMap::new(),
        };
        for (number, line) in (1..).zip(text.lines()) {
            let words = |rest: &str| rest.split_whitespace().map(str::to_owned).collect();
            if let Some(rest) =
                line.strip_prefix("// FLAGS:").or_else(|| line.strip_prefix("// flags:"))
            {
                program.flags = words(rest);
            } else if let Some(rest) = line.strip_prefix("// ARGS:") {
                program.arguments = words(rest);
            } else if let Some(mark) =
                mark(line).with_context(|| format!("{}:{number}", path.display()))?
            {
                program.marks.insert(number, mark);
            }
        }
        ensure!(!program.marks.is_empty(), "{}: no line is marked", path.display());
        Ok(program)
    }

    /// Whether the program has a race at all.
    pub fn is_racy(&self) -> bool {
        self.marks.values().any(|mark| mark.truth == Truth::Race)
    }

    pub fn is_cpp(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "cpp")
    }
}

fn mark(line: &str) -> anyhow::Result<Option<Mark>> {
    let Some((_, comment)) = line.rsplit_once("// ") else { return Ok(None) };
    let (truth, rest) = if let Some(rest) = comment.strip_prefix("RACE!") {
        (Truth::Race, rest)
    } else if let Some(rest) = comment.strip_prefix("NORACE") {
        (Truth::NoRace, rest)
    } else {
        return Ok(None);
    };
    let word = match truth {
        Truth::Race => "miss(",
        Truth::NoRace => "alarm(",
    };
    let mut shortfalls = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() {
        let Some((engine, after)) = rest.strip_prefix(word).and_then(|r| r.split_once("):")) else {
            bail!("expected `{word}engine): reason`, found `{rest}`");
        };
        let end = after.find(word).unwrap_or(after.len());
        let reason = after[..end].trim();
        ensure!(!reason.is_empty(), "`{word}{engine})` gives no reason");
        shortfalls.push(Shortfall { engine: engine.to_owned(), reason: reason.to_owned() });
        rest = &after[end..];
    }
    Ok(Some(Mark { truth, shortfalls }))
}

/// Every program below a folder, sorted by name.
pub fn programs(root: &Path) -> anyhow::Result<Vec<Program>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c" || e == "cpp") {
                found.push(Program::read(&path)?);
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Program, Truth};

    fn parse(text: &str) -> anyhow::Result<Program> {
        Program::parse(Path::new("tests/locks/a.c"), text)
    }

    #[test]
    fn marks_and_flags_are_read() {
        let program = parse(
            "// FLAGS: -fopenmp -O1\nx++; // RACE!\ny++;\n\
             z = 1; // NORACE alarm(static): no guards alarm(dynamic): nor here\n\
             x++; // RACE! miss(dynamic): needs the other order\n",
        )
        .unwrap();
        assert_eq!(program.name, "locks/a.c");
        assert_eq!(program.topic, "locks");
        assert_eq!(program.flags, ["-fopenmp", "-O1"]);
        assert!(program.is_racy() && !program.is_cpp());
        let truths: Vec<(u32, Truth)> =
            program.marks.iter().map(|(line, mark)| (*line, mark.truth)).collect();
        assert_eq!(truths, [(2, Truth::Race), (4, Truth::NoRace), (5, Truth::Race)]);
        assert_eq!(program.marks[&4].shortfall("dynamic").unwrap().reason, "nor here");
        assert_eq!(program.marks[&4].shortfall("static").unwrap().reason, "no guards");
        assert!(program.marks[&2].shortfalls.is_empty());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(parse("x++; // RACE! perhaps\n").is_err());
        assert!(parse("x++; // RACE! miss(dynamic):\n").is_err());
        assert!(parse("x++; // RACE! alarm(dynamic): not an alarm\n").is_err());
        assert!(parse("int main(void) {}\n").is_err());
    }
}
