//! One file per command.

use std::process::ExitCode;

use clap::Subcommand;

mod capture;
pub mod check;
mod completions;
mod confirm;
mod diff;
mod doctor;
mod hive;
mod hunt;
mod link;
mod man;
mod mark;
mod model;
mod pod;
mod predict;
mod races;
mod record;
mod reference;
mod replay;
mod report;
mod run;
mod serve;
mod show;
mod symbolize;
mod trace;
mod unwatched;

#[derive(Subcommand)]
pub enum Command {
    /// Find, prove and explain the races of a program with all engines
    Hunt(hunt::Args),
    /// Capture a build, sources or bitcode for the engines
    Capture(capture::Args),
    /// Find candidate races in the whole program without running it
    Check(check::Args),
    /// Prove candidate races by enforcing both orders, and find which do harm
    Confirm(confirm::Args),
    /// Bring a confirmed race about again
    Replay(replay::Args),
    /// Run the program once and write down what it did
    Record(record::Args),
    /// Look into recorded traces, or turn them into text
    Trace(trace::Args),
    /// Predict the races that a recorded run implies
    Predict(predict::Args),
    /// Run an instrumented build and report the races seen
    Run(run::Args),
    /// Link objects compiled with -fsanitize=thread with the race-detecting runtime
    Link(link::Args),
    /// Print what a program linked by `link` found; the program calls it itself
    #[command(hide = true)]
    Symbolize(symbolize::Args),
    /// Find the accesses that `run` need not watch; it calls this itself
    #[command(hide = true)]
    Unwatched(unwatched::Args),
    /// Serve a fleet: hand candidate races to pods and judge what they report
    Hive(hive::Args),
    /// Run a program of a hive's project and try the order the hive asks for
    Pod(pod::Args),
    /// Print the program model that the engines work on
    Model(model::Args),
    /// List the races in the ledger
    Races(races::Args),
    /// Show all that the ledger knows about a race
    Show(show::Args),
    /// Set a race aside, reopen it, give it to someone, or take the last change back
    Mark(mark::Args),
    /// Compare two reports or captures, for continuous integration
    Diff(diff::Args),
    /// Write a report of what the ledger holds
    Report(report::Args),
    /// Tell what is missing on this machine and how to install it
    Doctor(doctor::Args),
    /// Print a shell's completion script
    Completions(completions::Args),
    /// Print the manual page, or write all pages into a folder
    Man(man::Args),
    /// Print the configuration reference: files, variables, every command's options
    Reference(reference::Args),
    /// Show the ledger in a browser: races, history, captures
    Serve(serve::Args),
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Hunt(args) => hunt::run(args),
        Command::Capture(args) => capture::run(args),
        Command::Check(args) => check::run(args),
        Command::Confirm(args) => confirm::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Record(args) => record::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Run(args) => run::run(args),
        Command::Link(args) => link::run(args),
        Command::Symbolize(args) => symbolize::run(args),
        Command::Unwatched(args) => unwatched::run(args),
        Command::Hive(args) => hive::run(args),
        Command::Pod(args) => pod::run(args),
        Command::Model(args) => model::run(args),
        Command::Races(args) => races::run(args),
        Command::Show(args) => show::run(args),
        Command::Mark(args) => mark::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Report(args) => report::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        Command::Reference(args) => reference::run(args),
        Command::Serve(args) => serve::run(args),
    }
}
