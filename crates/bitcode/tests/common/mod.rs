//! Compiles small programs the way `racewarden capture` does.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A scratch folder with a source file in it; gone when dropped.
pub struct Source {
    folder: tempfile::TempDir,
    name: String,
}

impl Source {
    pub fn new(name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join(name), text).expect("the source is written");
        Self { folder, name: name.to_owned() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Unoptimised bitcode with debug information.
    pub fn compile(&self, flags: &[&str]) -> PathBuf {
        let compiler = if self.name.ends_with(".c") { "clang-22" } else { "clang++-22" };
        let output = self.folder.path().join("out.bc");
        let status = Command::new(compiler)
            .current_dir(self.folder.path())
            .args(["-O2", "-Xclang", "-disable-llvm-passes", "-g", "-emit-llvm", "-c", &self.name])
            .args(["-o", "out.bc"])
            .args(flags)
            .status()
            .expect("clang-22 is installed");
        assert!(status.success(), "{} compiles", self.name);
        output
    }

    pub fn lower(&self, flags: &[&str]) -> racewarden_ir::Module {
        racewarden_bitcode::lower_file(self.compile(flags)).expect("bitcode lowers")
    }
}

/// The spelled paths of all accesses of a function, in order.
pub fn paths(module: &racewarden_ir::Module, function: &str) -> Vec<String> {
    let id = module.function_by_symbol(function).expect("the function is there");
    let function = module.function(id);
    function
        .instructions
        .iter()
        .filter_map(|inst| inst.path)
        .map(|path| module.name_text(function.paths[path.index()].text).to_owned())
        .collect()
}
