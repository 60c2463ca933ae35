//! A prediction over a recording as a report, with the witness as a schedule.

use std::collections::BTreeMap;

use racewarden_finding::{
    Conclusion, Engine, Evidence, HeldLock, LockMode, Note, Race, Report, Site, Verdict,
};
use racewarden_ir::Program;
use racewarden_schedule::{Schedule, Step};
use racewarden_trace::binary::Recording;
use serde_json::json;

use super::detect::{RacingAccess, RecordedPrediction, ValueRace};
use super::path::Spot;
use super::walk::Image;

/// The report; the schedule of each race is in its evidence as `schedule`.
pub fn report(program: &Program, recording: &Recording, prediction: &RecordedPrediction) -> Report {
    let image = Image::new(program, recording);
    let mut report = Report::default();
    for race in &prediction.races {
        report.races.push(race_of(&image, prediction, race));
    }
    let (counts, order) = (&prediction.counts, &prediction.order_counts);
    report.excluded = BTreeMap::from([
        ("common lock".to_owned(), order.common_lock),
        ("ordered".to_owned(), order.ordered),
        ("no schedule".to_owned(), order.no_schedule + counts.no_schedule),
    ]);
    if counts.unknown + order.unknown > 0 {
        let text = format!(
            "{} pairs of instructions were left undecided by a limit",
            counts.unknown + order.unknown
        );
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    if counts.known > 0 {
        let text =
            format!("{} pairs that were known to race were not looked at again", counts.known);
        report.notes.push(Note::info(Engine::Predict, text));
    }
    if counts.skipped > 0 {
        let text = format!(
            "{} later visits of instructions to places they had visited often were not tried",
            counts.skipped
        );
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    if counts.cut_short || order.cut_short {
        let text = "there were more candidates than are looked at; the rest was left out";
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    let floating: u64 = prediction.paths.iter().map(|path| path.not_computed.floating).sum();
    let other: u64 = prediction.paths.iter().map(|path| path.not_computed.other).sum();
    for (count, what) in [(floating, "floating-point computations"), (other, "computations")] {
        if count > 0 {
            let text = format!(
                "{count} {what} over shared values were not modelled: what went into them keeps \
                 its recorded value"
            );
            report.notes.push(Note::weakens(Engine::Predict, text));
        }
    }
    if prediction.is_silent {
        let text = "the OpenMP runtime did not tell how it orders threads (a libomp with the tool \
                    interface does): nothing was predicted";
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    if prediction.unknown_calls > 0 {
        let text = format!(
            "{} calls of functions outside the program may have synchronised: what came before one \
             stays before what came after a later one",
            prediction.unknown_calls
        );
        report.notes.push(Note::info(Engine::Predict, text));
    }
    if let Some(window) = recording.header.get("window") {
        let text = format!("only the first {window} events of the run were recorded");
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    if let Some(sites) = prediction.filtered_to {
        let text = format!("only pairs among {sites} given lines were looked at");
        report.notes.push(Note::weakens(Engine::Predict, text));
    }
    for path in &prediction.paths {
        if let Some(cut) = &path.cut {
            let text = format!("thread {} was followed only so far: {cut}", path.name);
            report.notes.push(Note::weakens(Engine::Predict, text));
        }
    }
    if let Some(cut) = &recording.cut_short {
        report.notes.push(Note::weakens(Engine::Predict, format!("the trace is cut short: {cut}")));
    }
    let by_step = |wanted| prediction.races.iter().filter(|race| race.found_by == wanted).count();
    use super::detect::FoundBy;
    report.stats = BTreeMap::from([
        ("events".to_owned(), json!(prediction.events)),
        ("threads".to_owned(), json!(prediction.paths.len())),
        ("candidates".to_owned(), json!(order.candidates + counts.candidates)),
        ("solver queries".to_owned(), json!(order.solver_queries + counts.queries)),
        ("unknown".to_owned(), json!(order.unknown + counts.unknown)),
        ("sides not taken".to_owned(), json!(counts.detours)),
        ("branch variants".to_owned(), json!(counts.variants)),
        ("shared reads".to_owned(), json!(prediction.shape.reads)),
        ("shared writes".to_owned(), json!(prediction.shape.writes)),
        ("base reads".to_owned(), json!(prediction.shape.bases)),
        ("branches".to_owned(), json!(prediction.shape.branches)),
        ("synchronisations".to_owned(), json!(prediction.shape.synchronisations)),
        ("races by order".to_owned(), json!(by_step(FoundBy::Order))),
        ("races by values".to_owned(), json!(by_step(FoundBy::Values))),
        ("races by branches".to_owned(), json!(by_step(FoundBy::Branch))),
    ]);
    report.conclusion = Conclusion::Unknown;
    merge_same_sites(&mut report.races);
    report.finish();
    report
}

/// Instructions of one source position are one site to the programmer.
fn merge_same_sites(races: &mut Vec<Race>) {
    let mut seen = std::collections::BTreeSet::new();
    races.retain(|race| {
        let part = |site: &Site| (site.file.clone(), site.line, site.column, site.access);
        seen.insert((part(&race.sites[0]), part(&race.sites[1]), race.object.clone()))
    });
}

fn race_of(image: &Image, prediction: &RecordedPrediction, race: &ValueRace) -> Race {
    let module = &image.program.module;
    let place = prediction.places.get(race.place);
    let object = match image.global_at(place.address).filter(|_| place.object == 0) {
        Some((global, _)) => module.name_text(module.global(global).display_name).to_owned(),
        None => String::new(),
    };
    let [first, second] = [0, 1].map(|side| site(image, prediction, &race.accesses[side]));
    let object = if object.is_empty() { first.lvalue.clone() } else { object };
    let mut result = Race::new(first, second, object, Verdict::Predicted);
    let schedule = schedule(image, prediction, race);
    let detail = BTreeMap::from([
        ("found by".to_owned(), json!(race.found_by.as_str())),
        ("schedule".to_owned(), json!(schedule.to_string())),
        ("witness events".to_owned(), json!(race.witness_events)),
    ]);
    result.evidence.push(Evidence { engine: Engine::Predict, detail });
    result.reasons.push(format!("predicted by {}", race.found_by.as_str()));
    result
}

/// The turns of the witness: only where another thread goes on does the order need enforcing.
pub fn schedule(image: &Image, prediction: &RecordedPrediction, race: &ValueRace) -> Schedule {
    let step = |thread: usize, spot: Spot, occurrence: u64| {
        let module = &image.program.module;
        Step {
            thread: prediction.paths[thread].name.clone(),
            function: module.name_text(module.function(spot.function).name).to_owned(),
            instruction: spot.inst.0,
            occurrence,
        }
    };
    // A copy is several accesses: some of them may come before the one that races.
    let races = |&(thread, spot, occurrence): &(usize, Spot, u64)| {
        let same = |access: &RacingAccess| (access.thread, access.spot, access.occurrence);
        race.accesses.iter().any(|access| same(access) == (thread, spot, occurrence))
    };
    let real: Vec<&(usize, Spot, u64)> =
        race.before.iter().filter(|step| step.2 > 0 && !races(step)).collect();
    let mut steps: Vec<Step> = holds(prediction, race)
        .into_iter()
        .map(|(thread, spot, occurrence)| {
            let step = step(thread, spot, occurrence);
            Step { thread: format!("~{}", step.thread), ..step }
        })
        .collect();
    for (number, &&(thread, spot, occurrence)) in real.iter().enumerate() {
        let ends_turn = real.get(number + 1).is_none_or(|next| next.0 != thread);
        let starts_turn = number == 0 || real[number - 1].0 != thread;
        if ends_turn || starts_turn {
            steps.push(step(thread, spot, occurrence));
        }
    }
    for access in &race.accesses {
        steps.push(step(access.thread, access.spot, access.occurrence));
    }
    Schedule { steps }
}

/// Where the other threads must stop: before the first thing they do that the witness leaves out.
fn holds(prediction: &RecordedPrediction, race: &ValueRace) -> Vec<(usize, Spot, u64)> {
    let mut holds = Vec::new();
    for (thread, path) in prediction.paths.iter().enumerate() {
        if race.accesses.iter().any(|access| access.thread == thread) {
            continue;
        }
        let last = race.before.iter().rev().find(|(other, ..)| *other == thread);
        let done = last.and_then(|(_, spot, occurrence)| {
            path.events.iter().rposition(|event| {
                event.spot == *spot && event.occurrence == *occurrence && event.kind.is_visible()
            })
        });
        let next = path.events[done.map_or(0, |at| at + 1)..]
            .iter()
            .find(|event| event.kind.is_visible() && event.occurrence > 0);
        if let Some(event) = next {
            holds.push((thread, event.spot, event.first_occurrence()));
        }
    }
    holds
}

fn site(image: &Image, prediction: &RecordedPrediction, access: &RacingAccess) -> Site {
    let module = &image.program.module;
    let function = module.function(access.spot.function);
    let source = function.source_of(access.spot.inst);
    let (file, line, column) = match source {
        Some(source) => (module.name_text(source.file).to_owned(), source.line, source.column),
        None => (String::new(), 0, 0),
    };
    // What a call frees is what its first argument points at.
    let freed = || {
        let inst = access.spot.inst;
        let path =
            function.operand_paths.iter().find(|path| path.inst == inst && path.operand == 0)?;
        function.paths.get(path.path.index())
    };
    let lvalue = function
        .path_of(access.spot.inst)
        .or_else(freed)
        .map_or(String::new(), |path| module.name_text(path.text).to_owned());
    let locks = access.held.iter().filter_map(|lock| {
        let name = prediction.locks.get(*lock as usize)?;
        let address = u64::from_str_radix(name.strip_prefix("0x")?, 16).ok()?;
        let name = match image.global_at(address) {
            Some((global, _)) => module.name_text(module.global(global).display_name).to_owned(),
            None => name.to_string(),
        };
        Some(HeldLock { name, mode: LockMode::Write, acquired_at: String::new() })
    });
    Site {
        file,
        line,
        column,
        function: module.name_text(function.display_name).to_owned(),
        access: access.access,
        lvalue,
        atomic: false,
        locks: locks.collect(),
        thread: prediction.paths[access.thread].name.clone(),
        stack: Default::default(),
    }
}
