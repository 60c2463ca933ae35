//! Addresses of a finished run as functions, lines and variables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use racewarden_capture::Unit;

use super::records::Place;

/// One source position of an address; an inlined call gives several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub function: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

struct Module {
    lines: Option<Loader>,
    /// What to add to an address minus the load base; 0 for a fixed executable, whose addresses
    /// are used as they are.
    relocated: bool,
    /// Data symbols by address: start, size, name.
    variables: Vec<(u64, u64, String)>,
}

/// The modules seen so far, opened once.
pub struct Symbols<'a> {
    modules: BTreeMap<String, Module>,
    units: &'a [Unit],
}

impl<'a> Symbols<'a> {
    pub fn new(units: &'a [Unit]) -> Self {
        Symbols { modules: BTreeMap::new(), units }
    }

    fn module(&mut self, path: &str) -> &Module {
        self.modules.entry(path.to_owned()).or_insert_with(|| open(path))
    }

    /// The positions of a return address, innermost first: the call is one byte before it.
    pub fn call(&mut self, place: &Place) -> Vec<Position> {
        self.positions(place, 1)
    }

    /// The function that starts at an address.
    pub fn function(&mut self, place: &Place) -> String {
        let outermost = self.positions(place, 0).pop();
        outermost.map(|position| position.function).unwrap_or_default()
    }

    fn positions(&mut self, place: &Place, back: u64) -> Vec<Position> {
        let units = self.units;
        let module = self.module(&place.module);
        let Some(lines) = &module.lines else { return Vec::new() };
        let probe = module.file_address(place).wrapping_sub(back);
        let mut positions = Vec::new();
        if let Ok(mut frames) = lines.find_frames(probe) {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame
                    .function
                    .as_ref()
                    .and_then(|name| name.demangle().ok().map(|name| plain(&name)))
                    .unwrap_or_default();
                let location = frame.location;
                positions.push(Position {
                    function,
                    file: location
                        .as_ref()
                        .and_then(|location| location.file)
                        .map(|file| as_given(file, units))
                        .unwrap_or_default(),
                    line: location.as_ref().and_then(|location| location.line).unwrap_or(0),
                    column: location.as_ref().and_then(|location| location.column).unwrap_or(0),
                });
            }
        }
        if positions.is_empty()
            && let Some(symbol) = lines.find_symbol(probe)
        {
            let function = plain(&readable(symbol));
            positions.push(Position { function, file: String::new(), line: 0, column: 0 });
        }
        positions
    }

    /// The global variable at an address and the offset into it.
    pub fn variable(&mut self, place: &Place) -> Option<(String, u64)> {
        let module = self.module(&place.module);
        let address = module.file_address(place);
        let at = module.variables.partition_point(|(start, _, _)| *start <= address);
        let (start, size, name) = module.variables.get(at.checked_sub(1)?)?;
        (address < start + (*size).max(1)).then(|| (name.clone(), address - start))
    }
}

impl Module {
    fn file_address(&self, place: &Place) -> u64 {
        if self.relocated { place.address.wrapping_sub(place.base) } else { place.address }
    }
}

fn open(path: &str) -> Module {
    let lines = Loader::new(PathBuf::from(path)).ok();
    let content = std::fs::read(path).unwrap_or_default();
    let Ok(file) = object::File::parse(content.as_slice()) else {
        return Module { lines, relocated: true, variables: Vec::new() };
    };
    let mut variables: Vec<(u64, u64, String)> = file
        .symbols()
        .filter(|symbol| matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls))
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.address() != 0)
        .filter_map(|symbol| Some((symbol.address(), symbol.size(), readable(symbol.name().ok()?))))
        .collect();
    variables.sort();
    let relocated = file.kind() == object::ObjectKind::Dynamic;
    Module { lines, relocated, variables }
}

/// Only what looks mangled is demangled: a C variable `x` is not the C++ type `long long`.
fn readable(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        addr2line::demangle_auto(symbol.into(), None).into_owned()
    } else {
        symbol.to_owned()
    }
}

/// A C++ function without its parameters, as the other engines name it.
fn plain(name: &str) -> String {
    let mut depth = 0;
    for (at, character) in name.char_indices() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 && at > 0 && !name[at..].starts_with("(anonymous") => {
                return name[..at].to_owned();
            }
            _ => {}
        }
    }
    name.to_owned()
}

/// The path as the compiler was given it: debug information has it joined to the folder that the
/// compiler ran in.
fn as_given(file: &str, units: &[Unit]) -> String {
    for unit in units {
        if unit.source.is_absolute() && unit.source.to_string_lossy() == file {
            return file.to_owned();
        }
        let prefix = format!("{}/", unit.directory.display());
        if !unit.source.is_absolute()
            && let Some(rest) = file.strip_prefix(&prefix)
        {
            return rest.to_owned();
        }
    }
    file.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{plain, readable};

    #[test]
    fn plain_c_names_stay() {
        assert_eq!(readable("x"), "x");
        assert_eq!(readable("_Z3foov"), "foo()");
    }

    #[test]
    fn names_lose_their_parameters_only() {
        assert_eq!(plain("worker(void*)"), "worker");
        assert_eq!(
            plain("std::vector<int(*)(int)>::push_back(int&&)"),
            "std::vector<int(*)(int)>::push_back"
        );
        assert_eq!(plain("(anonymous namespace)::run(int)"), "(anonymous namespace)::run");
        assert_eq!(plain("main"), "main");
    }
}
