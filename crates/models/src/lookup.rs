//! From symbol to model.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::table::{self, Bodies, Error, Table};
use crate::{Effect, plain_name, strings};

/// What one function does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The table's line: a symbol, a prefix with `*`, or a C++ name.
    pub name: String,
    /// The family (`pthread`) or `user`.
    pub family: String,
    pub effects: Vec<Effect>,
    bodies: Bodies,
}

impl Model {
    /// Whether the model stands in for a body that the program has.
    pub fn replaces_body(&self) -> bool {
        self.bodies == Bodies::Replace && !self.marks_body()
    }

    /// Whether it says something about the function beside what its body does.
    pub fn marks_body(&self) -> bool {
        let marks = |effect: &Effect| {
            use Effect::{AtomicBody, Future, ThreadContainer};
            matches!(effect, AtomicBody | Future | ThreadContainer { .. })
        };
        self.effects.iter().any(marks)
    }

    /// Nothing but harmless.
    pub fn is_pure(&self) -> bool {
        self.effects.iter().all(|effect| *effect == Effect::Pure)
    }
}

/// All tables, indexed.
#[derive(Debug, Clone, Default)]
pub struct Models {
    exact: FxHashMap<String, Arc<Model>>,
    /// C++ names, compared with the demangled symbol.
    cpp: FxHashMap<String, Arc<Model>>,
    /// By the text before the `*`; few.
    prefixes: Vec<(String, Arc<Model>)>,
    cpp_prefixes: Vec<(String, Arc<Model>)>,
    synchronized: FxHashSet<String>,
}

macro_rules! families {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../data/", $name, ".toml")))),+]
    };
}

/// The families that come with the project.
pub(crate) const FAMILIES: &[(&str, &str)] = families![
    "pthread",
    "c11",
    "semaphore",
    "cxx",
    "string",
    "memory",
    "strings",
    "wide",
    "databases",
    "stdio",
    "posix",
    "math",
    "compress",
    "llvm",
    "verifier",
    "openmp",
    "glib",
    "linux",
];

impl Models {
    /// The families that come with the project, parsed once.
    pub fn builtin() -> &'static Models {
        static BUILTIN: OnceLock<Models> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let mut models = Models::default();
            for (name, text) in FAMILIES {
                match table::family(&format!("{name}.toml"), text) {
                    Ok(table) => models.add(name, table),
                    // A test parses every family, so this is never reached in a build that passed.
                    Err(error) => unreachable!("{error}"),
                }
            }
            models
        })
    }

    /// The built-in families and the lines of a user's file, which win.
    pub fn with_user_file(path: &Path) -> Result<Models, Error> {
        let mut models = Self::builtin().clone();
        models.add("user", table::user(path)?);
        Ok(models)
    }

    pub(crate) fn add(&mut self, family: &str, table: Table) {
        self.synchronized.extend(table.synchronized);
        for (line, effects) in table.lines {
            for name in line.split('|').map(str::trim).filter(|name| !name.is_empty()) {
                let model = Arc::new(Model {
                    name: name.to_owned(),
                    family: family.to_owned(),
                    effects: effects.clone(),
                    bodies: table.bodies,
                });
                self.insert(name, model);
            }
        }
    }

    fn insert(&mut self, name: &str, model: Arc<Model>) {
        let is_cpp = name.contains("::");
        match (name.strip_suffix('*'), is_cpp) {
            (None, false) => {
                self.exact.insert(name.to_owned(), model);
            }
            (None, true) => {
                self.cpp.insert(name.to_owned(), model);
            }
            (Some(prefix), is_cpp) => {
                let list = if is_cpp { &mut self.cpp_prefixes } else { &mut self.prefixes };
                list.retain(|(known, _)| known != prefix);
                list.push((prefix.to_owned(), model));
                // The longest prefix is the most particular one.
                list.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
            }
        }
    }

    /// The model of a function: by its symbol, then by its C++ name, then by the longest prefix.
    pub fn lookup(&self, symbol: &str) -> Option<&Model> {
        if let Some(model) = self.exact.get(symbol) {
            return Some(model);
        }
        if let Some(alike) = strings::of_plain_characters(symbol) {
            return self.lookup(&alike);
        }
        let longest = |list: &'_ [(String, Arc<Model>)], name: &str| {
            list.iter().position(|(prefix, _)| name.starts_with(prefix.as_str()))
        };
        if let Some(name) = plain_name(symbol) {
            if let Some(model) = self.cpp.get(&name) {
                return Some(model);
            }
            if let Some(found) = longest(&self.cpp_prefixes, &name) {
                return Some(&self.cpp_prefixes[found].1);
            }
        }
        longest(&self.prefixes, symbol).map(|found| &*self.prefixes[found].1)
    }

    /// The model that speaks for a function: none when the program has a body that is to be
    /// believed instead. A model that only marks the body ([`Model::marks_body`]) always speaks.
    pub fn for_function(&self, symbol: &str, has_body: bool) -> Option<&Model> {
        let model = self.lookup(symbol)?;
        let speaks = !has_body || model.replaces_body() || model.marks_body();
        speaks.then_some(model)
    }

    /// Whether a global object may be used by all threads at once (`std::cout`, `stdout`).
    pub fn is_synchronized_global(&self, symbol: &str) -> bool {
        self.synchronized.contains(symbol)
    }

    /// Every model, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        let listed = self.prefixes.iter().chain(&self.cpp_prefixes).map(|(_, model)| model);
        let mut all: Vec<&Model> =
            self.exact.values().chain(self.cpp.values()).chain(listed).map(|m| &**m).collect();
        all.sort_by(|a, b| (&a.name, &a.family).cmp(&(&b.name, &b.family)));
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Acquire, Operand, Success};

    #[test]
    fn every_family_parses_and_names_each_symbol_once() {
        let mut seen: FxHashMap<String, &str> = FxHashMap::default();
        for (name, text) in FAMILIES {
            let table = table::family(&format!("{name}.toml"), text).expect("the family parses");
            for (line, effects) in table.lines {
                assert!(!effects.is_empty(), "{name}: {line} says nothing");
                for symbol in line.split('|').map(str::trim) {
                    let before = seen.insert(symbol.to_owned(), name);
                    assert_eq!(before, None, "{symbol} stands in {name} and elsewhere");
                }
            }
        }
    }

    #[test]
    fn symbols_are_found_exactly_by_cpp_name_and_by_prefix() {
        let models = Models::builtin();
        let name = |symbol: &str| models.lookup(symbol).map(|model| model.name.as_str());
        assert_eq!(name("pthread_mutex_lock"), Some("pthread_mutex_lock"));
        assert_eq!(name("_ZNSt5mutex4lockEv"), Some("std::mutex::lock"));
        assert_eq!(name("_ZNSt3__15mutex4lockEv"), Some("std::mutex::lock"));
        assert_eq!(name("__VERIFIER_nondet_int"), Some("__VERIFIER_nondet_*"));
        assert_eq!(name("__VERIFIER_atomic_begin"), Some("__VERIFIER_atomic_begin"));
        assert_eq!(name("__VERIFIER_atomic_swap"), Some("__VERIFIER_atomic_*"));
        assert_eq!(name("llvm.va_start.p0"), Some("llvm.va_start.*"), "the longest prefix wins");
        assert_eq!(name("no_such_function"), None);
        let pushes = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9push_backEc";
        let bytes = "_ZNSt7__cxx1112basic_stringIhSt11char_traitsIhESaIhEE9push_backEh";
        assert_eq!(name(bytes), Some(pushes), "strings of other bytes are strings");
    }

    #[test]
    fn bodies_are_believed_unless_the_family_says_otherwise() {
        let models = Models::builtin();
        assert!(models.for_function("malloc", true).is_none());
        assert!(models.for_function("malloc", false).is_some());
        assert!(models.for_function("_ZNSt5mutex4lockEv", true).is_some());
        let atomic = models.for_function("__VERIFIER_atomic_swap", true).expect("marks the body");
        assert!(!atomic.replaces_body());
    }

    #[test]
    fn a_users_lines_win_and_errors_name_the_line() {
        let folder = std::env::temp_dir().join(format!("racewarden-models-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        let path = folder.join("racewarden.toml");
        let write = |text: &str| std::fs::write(&path, text).expect("the file is written");

        write("[report]\nformat = \"text\"\n[models]\nmy_lock = [{ acquire = { lock = 1 } }]\n");
        let models = Models::with_user_file(&path).expect("the file is good");
        let model = models.for_function("my_lock", true).expect("the wrapper is known");
        let Effect::Acquire(Acquire { lock, success, .. }) = &model.effects[0] else {
            panic!("an acquire: {model:?}")
        };
        assert_eq!((lock, *success), (&Operand::Arg(1), Success::Always));
        assert!(models.lookup("pthread_mutex_lock").is_some());

        write("[models]\nmy_lock = [\n  { aquire = { lock = 1 } },\n]\n");
        let error = Models::with_user_file(&path).expect_err("a misspelt effect").to_string();
        assert!(error.contains("racewarden.toml:3: unknown variant `aquire`"), "{error}");
        write("[models]\nmy_lock = [{ acquire = { lock = \"first\" } }]\n");
        let error = Models::with_user_file(&path).expect_err("no operand").to_string();
        assert!(error.contains("racewarden.toml:2: ") && error.contains("first"), "{error}");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
        let error = Models::with_user_file(&path).expect_err("no file").to_string();
        assert!(error.contains("racewarden.toml: "), "{error}");
    }

    #[test]
    fn the_example_of_the_documentation_is_read() {
        let guide = include_str!("../../../docs/models.md");
        let example = guide
            .lines()
            .skip_while(|line| line.trim() != "[models]")
            .take_while(|line| line.starts_with("    "));
        let example: String = example.map(|line| format!("{}\n", line.trim())).collect();
        let folder = std::env::temp_dir().join(format!("racewarden-guide-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        let path = folder.join("racewarden.toml");
        std::fs::write(&path, example).expect("the file is written");
        let models = Models::with_user_file(&path).expect("the example is good");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
        let name = |symbol: &str| models.lookup(symbol).map(|model| model.name.as_str());
        assert_eq!(name("my_trylock"), Some("my_trylock"));
        assert_eq!(name("queue_push"), Some("queue_*"));
        assert_eq!(name("_ZN3app4Pool6submitEPFvvEPv"), Some("app::Pool::submit"));
    }
}
