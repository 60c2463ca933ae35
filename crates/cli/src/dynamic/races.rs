//! A finding of the runtime as a [`Race`].

use std::collections::BTreeMap;

use racewarden_capture::Unit;
use racewarden_finding::{
    AccessKind, Engine, Evidence, Frame, HeldLock, LockMode, Race, Site, Verdict,
};

use super::records::{AccessRecord, LockRecord, ObjectRecord, Place, RaceRecord};
use super::symbols::{Position, Symbols};

/// What findings are made with.
pub struct Context<'a> {
    symbols: Symbols<'a>,
}

impl<'a> Context<'a> {
    pub fn new(units: &'a [Unit]) -> Self {
        Context { symbols: Symbols::new(units) }
    }
}

/// The races of the records, each pair of places on one object once, the strongest verdict kept.
pub fn races_of(context: &mut Context, records: &[RaceRecord]) -> Vec<Race> {
    let mut races: Vec<Race> = Vec::new();
    let mut known: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for record in records {
        let race = race_of(context, record);
        let key = (
            format!("{:?}", race.sites[0].key()),
            format!("{:?}", race.sites[1].key()),
            race.object.clone(),
        );
        match known.get(&key) {
            Some(&at) if races[at].verdict >= race.verdict => {}
            Some(&at) => races[at] = race,
            None => {
                known.insert(key, races.len());
                races.push(race);
            }
        }
    }
    races
}

fn race_of(context: &mut Context, record: &RaceRecord) -> Race {
    let (object, lvalue, mut detail) = object_of(context, record);
    let later = site_of(context, record, &record.accesses[0], &lvalue);
    let earlier = site_of(context, record, &record.accesses[1], &lvalue);
    let verdict = if record.observed { Verdict::Observed } else { Verdict::Potential };
    let mut reasons = vec![sentence(record)];
    if !record.machine.is_empty() {
        let steps = record.machine.replace(" > ", ", then ");
        reasons.push(format!("the memory state machine went through {steps}"));
        detail.insert("states".to_owned(), record.machine.clone().into());
    }
    if record.accesses.iter().any(|access| access.kind == "free") {
        reasons.push("one of the accesses gives the memory back".to_owned());
    }
    if record.accesses.iter().any(|access| access.kind == "allocation") {
        reasons.push(
            "the first access is the allocation of the memory: nothing orders it before the other's use"
                .to_owned(),
        );
    } else if record.accesses.iter().any(|access| access.locks_forgotten) {
        reasons.push("which locks the older access held is not known any more".to_owned());
    }
    for (which, access) in ["later", "earlier"].into_iter().zip(&record.accesses) {
        if let Some(thread) = record.threads.get(&access.thread) {
            let created = frames_of(context, &thread.created);
            detail.insert(format!("{which}_thread"), thread.name.clone().into());
            detail.insert(format!("{which}_created"), frames_json(&created));
        }
    }
    detail.insert("size".to_owned(), record.size.into());
    let mut race = Race::new(later, earlier, object, verdict);
    race.rank = if record.observed { 90 } else { 55 };
    race.evidence.push(Evidence { engine: Engine::Run, detail });
    race.reasons = reasons;
    race
}

fn sentence(record: &RaceRecord) -> String {
    if record.observed {
        "the run left both accesses unordered by happens-before, lock edges included".to_owned()
    } else {
        "only the order in which the threads happened to take a lock kept the accesses apart: \
         their critical sections do not depend on each other, and no common lock is held"
            .to_owned()
    }
}

fn frames_json(frames: &[Frame]) -> serde_json::Value {
    frames
        .iter()
        .map(|frame| format!("{} {}:{}", frame.function, frame.file, frame.line))
        .collect::<Vec<_>>()
        .into()
}

/// The object's name, the lvalue that stands for the access, and what else is known of it.
fn object_of(
    context: &mut Context,
    record: &RaceRecord,
) -> (String, String, BTreeMap<String, serde_json::Value>) {
    let mut detail = BTreeMap::new();
    let name = match &record.object {
        Some(ObjectRecord::Heap { size, offset, stack, freed }) => {
            let frames = frames_of(context, stack);
            detail.insert("allocated".to_owned(), frames_json(&frames));
            let place = frames
                .iter()
                .find(|frame| frame.line > 0)
                .map_or_else(String::new, |frame| format!(" from {}:{}", frame.file, frame.line));
            detail.insert("offset".to_owned(), (*offset).into());
            if !freed.is_empty() {
                let frames = frames_of(context, freed);
                detail.insert("freed".to_owned(), frames_json(&frames));
            }
            format!("heap block of {size} bytes{place}")
        }
        Some(ObjectRecord::Stack { thread }) => {
            let who = thread_name(context, record, *thread);
            format!("stack of {who}")
        }
        Some(ObjectRecord::Global(place)) => match context.symbols.variable(place) {
            Some((name, 0)) => name,
            Some((name, offset)) => {
                detail.insert("offset".to_owned(), offset.into());
                name
            }
            None => "unknown memory".to_owned(),
        },
        None => "unknown memory".to_owned(),
    };
    let lvalue = match detail.get("offset").and_then(serde_json::Value::as_u64) {
        Some(offset) if offset > 0 => format!("{name}+{offset}"),
        _ => name.clone(),
    };
    (name, lvalue, detail)
}

fn site_of(
    context: &mut Context,
    record: &RaceRecord,
    access: &AccessRecord,
    lvalue: &str,
) -> Site {
    let positions = positions_of(context, &access.stack);
    // The innermost position in the program's own sources; a library without line information is
    // only where the program called it from.
    let at = positions.iter().position(|position| position.line > 0 && is_own(position));
    let at = at.or_else(|| positions.iter().position(|position| position.line > 0)).unwrap_or(0);
    let place = positions.get(at).cloned().unwrap_or(Position {
        function: String::new(),
        file: String::new(),
        line: 0,
        column: 0,
    });
    let kind = if access.kind == "read" { AccessKind::Read } else { AccessKind::Write };
    Site {
        file: place.file,
        line: place.line,
        column: place.column,
        function: place.function,
        access: kind,
        lvalue: lvalue.to_owned(),
        atomic: access.atomic,
        locks: access.locks.iter().map(|lock| lock_of(context, lock)).collect(),
        thread: thread_name(context, record, access.thread),
        stack: positions.into_iter().map(frame_of).collect(),
    }
}

/// The runtime's own thread start is no part of the program.
fn is_runtime(position: &Position) -> bool {
    position.function.contains("racewarden_runtime::")
}

/// System headers and libraries are not the program's own.
fn is_own(position: &Position) -> bool {
    !position.file.starts_with("/usr/") && !position.file.starts_with("/build/")
}

fn positions_of(context: &mut Context, stack: &[Place]) -> Vec<Position> {
    stack
        .iter()
        .flat_map(|place| context.symbols.call(place))
        .filter(|position| !position.function.is_empty() && !is_runtime(position))
        .collect()
}

fn frame_of(position: Position) -> Frame {
    Frame { function: position.function, file: position.file, line: position.line }
}

fn frames_of(context: &mut Context, stack: &[Place]) -> Vec<Frame> {
    positions_of(context, stack).into_iter().map(frame_of).collect()
}

fn lock_of(context: &mut Context, lock: &LockRecord) -> HeldLock {
    let name = match context.symbols.variable(&lock.place) {
        Some((name, 0)) => name,
        Some((name, offset)) => format!("{name}+{offset}"),
        None => format!("lock at {:#x}", lock.place.address),
    };
    let frames = frames_of(context, &lock.stack);
    let acquired_at = frames
        .iter()
        .find(|frame| frame.line > 0 && !frame.file.starts_with("/usr/"))
        .map_or_else(String::new, |frame| format!("{}:{}", frame.file, frame.line));
    let mode = if lock.read_mode { LockMode::Read } else { LockMode::Write };
    HeldLock { name, mode, acquired_at }
}

fn thread_name(context: &mut Context, record: &RaceRecord, id: u32) -> String {
    let Some(thread) = record.threads.get(&id) else {
        return if id == 0 { "main".to_owned() } else { format!("thread {id}") };
    };
    if id == 0 {
        return "main".to_owned();
    }
    let routine = context.symbols.function(&thread.routine);
    let created = frames_of(context, &thread.created);
    let place = created
        .iter()
        .find(|frame| frame.line > 0 && !frame.file.starts_with("/usr/"))
        .map_or_else(String::new, |frame| format!(" (created at {}:{})", frame.file, frame.line));
    let routine = if routine.is_empty() { "thread".to_owned() } else { routine };
    format!("{routine} {}{place}", thread.name)
}
