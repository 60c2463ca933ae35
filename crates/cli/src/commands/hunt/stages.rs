//! The stages of a hunt and what each hands to the next.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use racewarden_capture::Capture;
use racewarden_finding::{
    Conclusion, Engine, Note, NoteKind, Race, Report, Verdict, conclude, merge_races,
    settle_placeless,
};

use racewarden_predict::recorded::KnownPairs;

use super::{Args, HuntEngine};
use crate::commands::confirm::{ConfirmRequest, confirm};
use crate::commands::predict::{PredictArgs, record_and_predict};
use crate::commands::{check, run};
use crate::gate::Limits;
use crate::interrupt;

/// What is left of the budget when a stage begins is shared so; confirm gets the rest. Predicting
/// takes its share twice: for the solver and for the replays.
const RUN_SHARE: f64 = 0.25;
const PREDICT_SHARE: f64 = 0.2;
/// Proof is what the other stages lead to, so confirm has this share of the budget even when they
/// took longer than they should.
const CONFIRM_SHARE: f64 = 0.25;
/// Less time than this is not worth another recording.
const LEAST_FOR_SCHEDULES: Duration = Duration::from_secs(1);
/// So many candidates are confirmed together; with more, those that an engine has seen or predicted
/// go first, with this share of the time.
const TOGETHER: usize = 40;
const STRONG_SHARE: f64 = 0.7;
/// Runs with different schedules; the first is the program's own. Where the static engine left
/// candidates there are more, if they fit: what a program takes for any value changes with them, too.
const RUNS: u32 = 4;
const MOST_RUNS: u32 = 24;
/// A program that is still running after this long in a hunt with the default budget is taken for
/// a server.
const SHORTEST_RUN: Duration = Duration::from_secs(2);

/// The static engine recurses over call chains, so it gets what the main thread has.
const CHECK_STACK: usize = 256 << 20;

pub struct Hunt<'a> {
    capture: &'a Capture,
    args: &'a Args,
    started: Instant,
    report: Report,
    /// The static engine saw the whole target.
    checked: bool,
    /// A check that the other stages did not wait for.
    checking: Option<mpsc::Receiver<anyhow::Result<Report>>>,
    /// No run had a second thread.
    pub alone: bool,
    /// The static engine excluded every pair and nothing weakened it.
    proved_race_free: bool,
}

impl<'a> Hunt<'a> {
    pub fn new(capture: &'a Capture, args: &'a Args) -> Self {
        interrupt::heed();
        Hunt {
            capture,
            args,
            started: Instant::now(),
            report: Report::default(),
            checked: false,
            checking: None,
            alone: false,
            proved_race_free: false,
        }
    }

    /// Goes through the stages. Fails when not one of the engines that look for races could work.
    pub fn conduct(&mut self) -> anyhow::Result<()> {
        let units = self.capture.units.len();
        tell("capture", &format!("{units} {}", plural(units, "unit")));
        type Stage<'a> = fn(&mut Hunt<'a>) -> anyhow::Result<String>;
        let stages: [(HuntEngine, &str, Engine, Stage<'a>); 4] = [
            (HuntEngine::Check, "check", Engine::Check, Hunt::check),
            (HuntEngine::Run, "run", Engine::Run, Hunt::run),
            (HuntEngine::Predict, "predict", Engine::Predict, Hunt::predict),
            (HuntEngine::Confirm, "confirm", Engine::Confirm, Hunt::confirm),
        ];
        let mut first_failure = None;
        let mut worked = false;
        for (engine, name, finder, stage) in stages {
            let runs = engine != HuntEngine::Check;
            if !self.args.engines.contains(&engine) || (self.args.api && runs) {
                continue;
            }
            if interrupt::requested() {
                self.weaken(finder, format!("interrupted before {name}"));
                continue;
            }
            if runs && engine != HuntEngine::Confirm && self.left().is_zero() {
                self.weaken(finder, format!("no time was left for {name}; see --budget"));
                continue;
            }
            // Confirm has a bar of its own.
            let spinner = (engine != HuntEngine::Confirm).then(|| spinner(name));
            let ended = stage(self);
            if let Some(spinner) = spinner {
                spinner.finish_and_clear();
            }
            match ended {
                Ok(summary) => {
                    tell(name, &summary);
                    worked |= engine != HuntEngine::Confirm;
                }
                Err(error) => {
                    tell(name, &format!("failed: {error:#}"));
                    self.weaken(finder, format!("{name} failed: {error:#}"));
                    first_failure.get_or_insert(error);
                }
            }
        }
        match first_failure {
            Some(error) if !worked => Err(error),
            _ => Ok(()),
        }
    }

    /// The report with its conclusion: proof makes it racy; race-free is only what the static
    /// engine proved, and only when no run contradicts it. Also says whether the static engine saw
    /// the whole target.
    pub fn finish(mut self) -> (Report, bool) {
        self.late_check();
        if self.checking.is_some() {
            let text = "check did not end in the time the hunt had; see --budget".to_owned();
            self.weaken(Engine::Check, text);
        }
        self.report.conclusion = match conclude(&self.report.races, &self.report.notes, false) {
            Conclusion::Racy => Conclusion::Racy,
            _ if self.proved_race_free && self.report.races.is_empty() => Conclusion::RaceFree,
            _ => Conclusion::Unknown,
        };
        self.report.finish();
        (self.report, self.checked)
    }

    /// The static engine ends by itself, but on a large program not soon: after the budget's time
    /// the others go on beside it, and what it finds until they are done still counts.
    fn check(&mut self) -> anyhow::Result<String> {
        let (sender, receiver) = mpsc::channel();
        let (capture, models, api) =
            (self.capture.clone(), self.args.models.clone(), self.args.api);
        std::thread::Builder::new()
            .name("check".to_owned())
            .stack_size(CHECK_STACK)
            .spawn(move || {
                // Whoever waited may have gone on without it.
                let _ = sender.send(check::check_capture_with(&capture, models, api));
            })
            .context("no thread for the check")?;
        let end = Instant::now() + self.args.budget;
        let found = loop {
            match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(found) => break found?,
                Err(RecvTimeoutError::Disconnected) => bail!("it came to an unexpected end"),
                Err(RecvTimeoutError::Timeout) if interrupt::requested() => bail!("interrupted"),
                // Nothing else is asked for, so there is nothing to go on with.
                Err(RecvTimeoutError::Timeout) if self.checks_only() => {}
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => {
                    self.checking = Some(receiver);
                    self.started = Instant::now();
                    return Ok("not done yet; the others go on beside it".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        // The budget is for what could go on for ever.
        self.started = Instant::now();
        Ok(self.take_check(found))
    }

    fn checks_only(&self) -> bool {
        self.args.api || self.args.engines.iter().all(|engine| *engine == HuntEngine::Check)
    }

    fn take_check(&mut self, found: Report) -> String {
        self.checked = true;
        self.proved_race_free = found.conclusion == Conclusion::RaceFree;
        let candidates = found.races.len();
        let excluded: u64 = found.excluded.values().sum();
        let reasons: Vec<String> =
            found.excluded.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        self.take(found);
        let mut text = format!("{candidates} candidate {}", plural(candidates, "race"));
        if excluded > 0 {
            text += &format!(", {excluded} pairs excluded ({})", reasons.join(", "));
        }
        text
    }

    /// Takes in the check that the other stages did not wait for, if it has ended by now.
    fn late_check(&mut self) {
        let Some(receiver) = &self.checking else { return };
        match receiver.try_recv() {
            Ok(Ok(found)) => {
                self.checking = None;
                let summary = self.take_check(found);
                tell("check", &summary);
            }
            Ok(Err(error)) => {
                self.checking = None;
                self.weaken(Engine::Check, format!("check failed: {error:#}"));
            }
            Err(_) => {}
        }
    }

    fn run(&mut self) -> anyhow::Result<String> {
        let limit = self.run_limit();
        let options = run::RunArgs {
            runs: if self.proved_race_free { RUNS } else { MOST_RUNS },
            time: Some(self.left().mul_f64(RUN_SHARE)),
            timeout: Some(limit.as_secs_f64()),
            quiet: true,
            stdin: self.args.stdin.clone(),
            ..run::RunArgs::default()
        };
        let found = run::detect(self.capture, &options, &self.args.arguments, false)?;
        if found.stats.get("threads").and_then(serde_json::Value::as_u64) == Some(1) {
            let text = "the program started no second thread: give it something to do with \
                        arguments after `--`, or --stdin";
            self.report.notes.push(Note::info(Engine::Run, text));
            self.alone = true;
        }
        let observed = found.races.iter().filter(|race| race.verdict.is_proof()).count();
        let suspected = found.races.len() - observed;
        // A watched run says nothing about other runs, so its notes weaken no static proof.
        self.take(found);
        Ok(match (self.alone, suspected) {
            (true, _) => "the program started no second thread".to_owned(),
            (_, 0) => format!("{observed} observed"),
            _ => format!("{observed} observed, {suspected} suspected"),
        })
    }

    /// What other schedules, other values and branches not taken would show.
    fn predict(&mut self) -> anyhow::Result<String> {
        let options = PredictArgs {
            known: KnownPairs::of_races(&self.report.races),
            ..self.predict_options(self.left().mul_f64(PREDICT_SHARE))
        };
        let known: Vec<Verdict> = self.report.races.iter().map(|race| race.verdict).collect();
        let found = record_and_predict(self.capture, &options, &self.args.arguments)?;
        let predicted = found.races.len();
        self.take(found);
        let moved = self.report.races.iter().zip(&known).filter(|(race, old)| race.verdict > **old);
        let news = moved.count() + self.report.races.len() - known.len();
        Ok(format!("{predicted} predicted, {news} not seen by the run"))
    }

    fn confirm(&mut self) -> anyhow::Result<String> {
        self.late_check();
        if !self.report.races.iter().any(|race| race.verdict.is_open()) {
            return Ok("nothing to confirm".to_owned());
        }
        // What time is left goes to what is most likely real.
        self.report.races.sort_by_key(|race| std::cmp::Reverse((race.verdict, race.rank)));
        let time = self.left().max(self.args.budget.mul_f64(CONFIRM_SHARE));
        let strong = self.report.races.partition_point(|race| race.verdict > Verdict::Potential);
        if strong == 0 || self.report.races.len() <= TOGETHER {
            self.confirm_all(time)?;
        } else {
            // Threads held at hundreds of mere candidates would never come to the others.
            let rest = self.report.races.split_off(strong);
            let ended = self.confirm_all(time.mul_f64(STRONG_SHARE));
            let proved = std::mem::replace(&mut self.report.races, rest);
            let ended = ended.and_then(|()| self.confirm_all(time.mul_f64(1.0 - STRONG_SHARE)));
            self.report.races.splice(0..0, proved);
            ended?;
        }
        self.seek_schedules();
        let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
        for race in &self.report.races {
            *counts.entry(race.verdict).or_default() += 1;
        }
        let shown: Vec<String> =
            counts.iter().rev().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        Ok(shown.join(", "))
    }

    /// Predicting left out what the run saw. Where confirm could not bring it about either, a
    /// solver's schedule may: what was seen shall replay, too.
    fn seek_schedules(&mut self) {
        let observed = |race: &Race| race.verdict == Verdict::Observed;
        let time = self.left().mul_f64(PREDICT_SHARE);
        let is_wanted = self.args.engines.contains(&HuntEngine::Predict)
            && self.report.races.iter().any(observed);
        if !is_wanted || time < LEAST_FOR_SCHEDULES || interrupt::requested() {
            return;
        }
        let races = &self.report.races;
        let done: Vec<Race> = races.iter().filter(|race| !observed(race)).cloned().collect();
        let options =
            PredictArgs { known: KnownPairs::of_races(&done), ..self.predict_options(time) };
        // What it could not do it has told the first time.
        let Ok(found) = record_and_predict(self.capture, &options, &self.args.arguments) else {
            return;
        };
        merge_races(&mut self.report.races, found.races);
    }

    fn predict_options(&self, time: Duration) -> PredictArgs {
        let input = self.args.stdin.clone().unwrap_or_else(|| "/dev/null".into());
        PredictArgs::quick(time, self.run_limit(), input)
    }

    fn confirm_all(&mut self, time: Duration) -> anyhow::Result<()> {
        let wait = Duration::from_millis(200);
        let limits = Limits { runs: 16, time, wait, run_time: self.run_limit() };
        let request = ConfirmRequest {
            arguments: &self.args.arguments,
            input: self.args.stdin.as_deref(),
            limits,
        };
        confirm(self.capture, &mut self.report, &request)
    }

    /// Adds what an engine found. Notes of engines that watch single runs are kept as they are,
    /// but only the static engine's weaken `race-free`, which [`Hunt::finish`] sees to.
    fn take(&mut self, found: Report) {
        merge_races(&mut self.report.races, found.races);
        settle_placeless(&mut self.report.races);
        self.report.notes.extend(found.notes);
        for (reason, count) in found.excluded {
            *self.report.excluded.entry(reason).or_default() += count;
        }
        self.report.stats.extend(found.stats);
    }

    fn weaken(&mut self, engine: Engine, text: String) {
        self.report.notes.push(Note { engine, kind: NoteKind::Weakens, text });
    }

    fn left(&self) -> Duration {
        self.args.budget.saturating_sub(self.started.elapsed())
    }

    /// How long one run may take.
    fn run_limit(&self) -> Duration {
        let share = self.left().mul_f64(RUN_SHARE / f64::from(RUNS)).max(SHORTEST_RUN);
        self.args.run_for.unwrap_or(share)
    }
}

/// What is going on, on terminals only.
fn spinner(stage: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{stage:<9} {{spinner}} {{elapsed}}"))
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner().with_style(style);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

fn tell(stage: &str, text: &str) {
    eprintln!("{stage:<9} {text}");
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}
