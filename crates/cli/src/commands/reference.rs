//! `racewarden reference`: the configuration reference, made from the definitions that the commands
//! themselves are read by, so that it cannot say anything else than they do.
//!
//! `docs/configuration.md` is its output; a test holds the page to it.

use std::fmt::Write;
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::output::write_to_stdout;

#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    write_to_stdout(&page())?;
    Ok(ExitCode::SUCCESS)
}

/// Variables that are read elsewhere than by an option. Those that our own processes set for each
/// other are not for users and stand nowhere.
const VARIABLES: [(&str, &str); 9] = [
    ("COLUMNS", "the width of text reports where there is no terminal to ask"),
    ("NO_COLOR", "no colour, also on a terminal"),
    ("OMP_TOOL_LIBRARIES", "the tool through which OpenMP tells its order; LLVM's Archer if unset"),
    (
        "RACEWARDEN_CACHE",
        "where derived files go that can always be made again; else below \
                          `XDG_CACHE_HOME`, else below `~/.cache`. Built programs take at most 4 GiB \
                          there: those not used for longest go",
    ),
    ("RACEWARDEN_CLANG", "the clang-22 to use, when it is not the one on `PATH`"),
    (
        "RACEWARDEN_OPTIONS",
        "for instrumented programs, `key=value` separated by spaces: \
                            `halt_on_error=1` stops at the first race, `exitcode=N` is the status \
                            after races (66), `seed=N` perturbs the schedule, `engine=hb` reports \
                            only what is proved",
    ),
    ("RACEWARDEN_POD", "`off`: pods run their program plainly and send nothing"),
    ("RACEWARDEN_POD_HOME", "the pod's folder"),
    ("TERM", "`dumb`: no colour"),
];

const HEAD: &str = "\
# Configuration

Made from the commands' own definitions by `racewarden reference > docs/configuration.md`.

## Files

| file | meaning |
|---|---|
| `.racewarden/` | beside the project's sources: the capture, and the ledger `ledger.db` |
| `racewarden.toml` | in the folder a command runs in, or named by `--models`: what the project's own functions do, see [below](#racewardentoml) |

## Exit status

0: nothing found. 1: open races. 2: the command failed, and standard error says why.

";

const TOML: &str = "\
## `racewarden.toml`

`[models]` says what the project's own wrappers do, in the same lines as the built-in tables
([all effects](models.md)):

    [models]
    my_lock = [{ acquire = { lock = 0 } }]
    my_trylock = [{ acquire = { lock = 0, success = \"zero\", try = true } }]
    my_unlock = [{ release = { lock = 0 } }]

";

fn page() -> String {
    let mut root = crate::Cli::command();
    root.build();
    let mut out = String::from(HEAD);
    out.push_str(&variables(&root));
    out.push_str(TOML);
    out.push_str("## Commands\n");
    for command in visible(&root) {
        describe(&mut out, command, "racewarden");
    }
    out
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// Every environment variable, by name: those of options and the others.
fn variables(root: &Command) -> String {
    let mut rows: Vec<(String, String)> = VARIABLES
        .iter()
        .map(|(name, meaning)| ((*name).to_owned(), (*meaning).to_owned()))
        .collect();
    let mut commands = vec![root];
    while let Some(command) = commands.pop() {
        commands.extend(visible(command));
        for argument in command.get_arguments() {
            let Some(name) = argument.get_env() else { continue };
            let name = name.to_string_lossy().into_owned();
            let option = argument.get_long().unwrap_or_default();
            rows.push((name, format!("as `--{option}`: {}", help(argument))));
        }
    }
    rows.sort();
    rows.dedup_by(|a, b| a.0 == b.0);
    let mut out = String::from("## Environment\n\n| variable | meaning |\n|---|---|\n");
    for (name, meaning) in rows {
        let _ = writeln!(out, "| `{name}` | {} |", cell(&meaning));
    }
    out.push('\n');
    out
}

fn describe(out: &mut String, command: &Command, above: &str) {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(out, "\n### `{name}`\n\n{about}.");
    let rows: Vec<String> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && !is_common(argument))
        .map(row)
        .collect();
    if !rows.is_empty() {
        out.push_str("\n| argument | meaning | default |\n|---|---|---|\n");
        out.push_str(&rows.concat());
    }
    for sub in visible(command) {
        describe(out, sub, &name);
    }
}

/// What every command has says nothing about this one.
fn is_common(argument: &Arg) -> bool {
    matches!(argument.get_id().as_str(), "help" | "version")
}

fn row(argument: &Arg) -> String {
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let values: Vec<String> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .filter(|_| takes_value)
        .collect();
    let shown = match argument.get_long() {
        Some(long) => format!("--{long} {}", values.join(" ")),
        None if argument.is_last_set() => format!("-- {}", values.join(" ")),
        None => values.join(" "),
    };
    let mut meaning = help(argument);
    let choices: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| takes_value)
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !choices.is_empty() {
        let _ = write!(meaning, ": {}", choices.join(", "));
    }
    let default: Vec<String> = argument
        .get_default_values()
        .iter()
        .filter(|value| takes_value && !value.is_empty())
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    format!("| `{}` | {} | {} |\n", cell(shown.trim()), cell(&meaning), default.join(", "))
}

fn help(argument: &Arg) -> String {
    argument.get_help().map(ToString::to_string).unwrap_or_default()
}

/// A table's cell: one line, no bar that would end it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
