//! The inputs that every engine command takes: sources, bitcode, or the name of a captured target.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use racewarden_capture::{Capture, DirectRequest, Store, Target, capture_database, capture_inputs};

use crate::ledger_sink::hash_of_path;
use crate::progress::CaptureBar;

#[derive(clap::Args, Debug, Clone)]
pub struct InputArgs {
    /// C or C++ sources, bitcode files, or the name of a captured target (may be left out when the
    /// project has one target)
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Compiler flags for the sources, as one shell-quoted string
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true, default_value = "")]
    pub cflags: String,

    /// Take the compilations that a compile_commands.json lists, as one program
    #[arg(long, value_name = "FILE", conflicts_with = "inputs")]
    pub compile_commands: Option<PathBuf>,
}

impl InputArgs {
    /// Captures the inputs, or finds the named target, and returns what belongs to it alone:
    /// the result has exactly one target and only that target's units.
    pub fn resolve(&self) -> anyhow::Result<Capture> {
        if let Some(database) = &self.compile_commands {
            return database_target(database);
        }
        match self.inputs.as_slice() {
            [] => captured_target(None),
            [name] if !name.exists() && is_target_name(name) => {
                captured_target(Some(&name.to_string_lossy()))
            }
            // A target's own output names the target too: `racewarden check ./server`.
            [file] if is_target_name(file) && Store::find(&current_directory()?).is_some() => {
                captured_target(Some(&file.to_string_lossy()))
            }
            inputs => self.capture_files(inputs),
        }
    }

    /// As [`resolve`](Self::resolve), with the one target picked out.
    pub fn target(&self) -> anyhow::Result<(Capture, Target)> {
        let capture = self.resolve()?;
        let target = capture.targets.first().cloned().context("nothing was captured")?;
        Ok((capture, target))
    }

    pub fn split_cflags(&self) -> anyhow::Result<Vec<String>> {
        shlex::split(&self.cflags)
            .with_context(|| format!("--cflags={}: unbalanced quotes", self.cflags))
    }

    fn capture_files(&self, inputs: &[PathBuf]) -> anyhow::Result<Capture> {
        let cflags = self.split_cflags()?;
        let request = DirectRequest {
            inputs: inputs.to_vec(),
            cflags,
            cache: cache_directory().join("bitcode"),
        };
        Ok(capture_inputs(&request)?)
    }
}

/// What a compilation database lists, kept in the cache: only `capture` makes a project.
fn database_target(database: &Path) -> anyhow::Result<Capture> {
    let path = std::fs::canonicalize(database)
        .with_context(|| format!("{}: no such file", database.display()))?;
    let folder = cache_directory().join("databases").join(hash_of_path(&path));
    let store = Store::create(&folder)?;
    let outcome = capture_database(&store, &path, &CaptureBar::new())?;
    let [target] = outcome.capture.targets.as_slice() else {
        bail!("{}: it lists no compilation", database.display());
    };
    Ok(outcome.capture.only(target))
}

fn current_directory() -> anyhow::Result<PathBuf> {
    std::env::current_dir().context("the current directory is gone")
}

/// Sources and bitcode are told by their extension; anything else can only be a target.
fn is_target_name(input: &Path) -> bool {
    !racewarden_capture::is_capturable(input)
}

/// The target called `wanted` in the nearest project, or its only one.
fn captured_target(wanted: Option<&str>) -> anyhow::Result<Capture> {
    let Some(store) = Store::find(&current_directory()?) else {
        match wanted {
            Some(name) => bail!(
                "{name}: no such file, and no captured project here; capture one with \
                 `racewarden capture -- <build command>`"
            ),
            None => bail!(
                "no input, and no captured project here; name sources, or capture a build with \
                 `racewarden capture -- <build command>`"
            ),
        }
    };
    let capture = store.load()?;
    let matching: Vec<&Target> = match wanted {
        None => capture.targets.iter().collect(),
        Some(name) => named(&capture, name),
    };
    match (matching.as_slice(), wanted) {
        ([target], _) => Ok(capture.only(target)),
        ([], Some(name)) => {
            bail!("{name}: neither a file nor a captured target; {}", known(&capture, &store))
        }
        ([], None) => bail!("nothing is captured in {}", store.root().display()),
        (_, Some(name)) => {
            bail!("{name}: several targets are called so; {}", known(&capture, &store))
        }
        (_, None) => bail!("name a target; {}", known(&capture, &store)),
    }
}

/// By name, or by the path of the target's output.
fn named<'a>(capture: &'a Capture, name: &str) -> Vec<&'a Target> {
    let by_name: Vec<&Target> =
        capture.targets.iter().filter(|target| target.name == name).collect();
    if by_name.len() == 1 {
        return by_name;
    }
    let path = std::fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name));
    let by_output: Vec<&Target> = capture
        .targets
        .iter()
        .filter(|target| target.output == path || target.output.ends_with(name))
        .collect();
    if by_output.len() == 1 { by_output } else { by_name }
}

fn known(capture: &Capture, store: &Store) -> String {
    let project = store.project();
    let list: Vec<String> = capture
        .targets
        .iter()
        .map(|target| {
            let output = target.output.strip_prefix(project).unwrap_or(&target.output);
            format!("{} ({})", target.name, output.display())
        })
        .collect();
    format!("captured targets: {}", if list.is_empty() { "none".into() } else { list.join(", ") })
}

/// Where derived files go that can always be made again: `RACEWARDEN_CACHE`, else the user's
/// cache folder.
pub fn cache_directory() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(cache) = from("RACEWARDEN_CACHE") {
        return PathBuf::from(cache);
    }
    if let Some(cache) = from("XDG_CACHE_HOME") {
        return PathBuf::from(cache).join("racewarden");
    }
    match from("HOME") {
        Some(home) => PathBuf::from(home).join(".cache/racewarden"),
        None => std::env::temp_dir().join("racewarden-cache"),
    }
}
