//! A small project in a temporary folder, built under capture.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use racewarden_capture::{Capture, Store, Target, Toolchain, link_command};

pub struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// A project with the given files.
    pub fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(project.folder.path().join("project")).unwrap();
        for (name, content) in files {
            project.write(name, content);
        }
        project
    }

    /// Its root, without symbolic links, as the compiler sees it.
    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub fn write(&self, name: &str, content: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn racewarden(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_racewarden"));
        command.args(words).current_dir(self.root());
        command.env("RACEWARDEN_CACHE", self.folder.path().join("cache"));
        for variable in ["CC", "CXX", "MAKEFLAGS", "LD_PRELOAD"] {
            command.env_remove(variable);
        }
        command
    }

    /// Captures a shell command; panics with everything said unless it succeeds.
    pub fn capture(&self, build: &str) -> String {
        let output = self.racewarden(&["capture", "--", "sh", "-ec", build]).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stderr).unwrap()
    }

    pub fn store(&self) -> Store {
        Store::find(&self.root()).expect("the capture left a store")
    }

    pub fn load(&self) -> Capture {
        self.store().load().unwrap()
    }

    /// The file names of the captured sources, sorted.
    pub fn sources(&self) -> Vec<String> {
        let capture = self.load();
        let mut names: Vec<String> =
            capture.units.iter().map(|unit| base_name(&unit.source)).collect();
        names.sort();
        names
    }

    pub fn target(&self, name: &str) -> (Capture, Target) {
        let capture = self.load();
        let target = capture.targets.iter().find(|target| target.name == name);
        let target = target.unwrap_or_else(|| panic!("no target {name} in {:?}", capture.targets));
        let only = capture.only(target);
        let target = only.targets[0].clone();
        (only, target)
    }

    /// Links `name` by its recipe from plain objects of the captured bitcode, runs it and gives its
    /// exit status.
    pub fn relinked_status(&self, name: &str) -> i32 {
        let (capture, target) = self.target(name);
        let toolchain = Toolchain::find().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let mut objects = Vec::new();
        for (index, unit) in capture.units.iter().enumerate() {
            let object = scratch.path().join(format!("{index}.o"));
            let mut clang = Command::new(&toolchain.clang);
            clang.args(["-w", "-fPIC", "-c", "-o"]).arg(&object).arg(&unit.bitcode);
            succeed(&mut clang);
            objects.push(object);
        }
        let program = scratch.path().join("relinked");
        succeed(
            &mut link_command(&toolchain, &target, &objects, scratch.path(), &program).unwrap(),
        );
        Command::new(program).current_dir(self.root()).status().unwrap().code().unwrap()
    }
}

pub fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
}

pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

pub fn base_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
