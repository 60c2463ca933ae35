//! The ladder against an exhaustive search over all correct reorderings of small random traces:
//! exactly the races that exist are predicted.

mod common;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use racewarden_predict::order::{self, Limits, Step};
use racewarden_trace::text::{self, RepairKind};
use racewarden_trace::{Kind, OrderTrace};

/// A small generator, so that a failure names its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// A well-formed trace of forks, joins, nested sections, readers' sections and accesses. A lock that
/// thread 2 takes to read is written as `R1.2` (each reader its own lock), for [`with_readers`].
fn mixed_trace(seed: u64, threads: u64, length: usize) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut lines = Vec::new();
    let mut held: Vec<Vec<(u64, bool)>> = vec![Vec::new(); threads as usize];
    let mut started = vec![false; threads as usize];
    let mut joined = vec![false; threads as usize];
    started[0] = true;
    for _ in 0..length * 40 {
        if lines.len() >= length {
            break;
        }
        let thread = random.below(threads) as usize;
        let other = random.below(threads) as usize;
        if joined[thread] {
            continue;
        }
        if !started[thread] {
            // Any running thread may fork it.
            if started[other] && !joined[other] {
                lines.push(format!("T{other}|fork(T{thread})|{}", lines.len()));
                started[thread] = true;
            }
            continue;
        }
        let (location, variable, lock) = (lines.len(), random.below(2), random.below(3));
        let taken = |alone: bool| {
            let mut locks = held.iter().flatten();
            locks.any(|(other, reads)| *other == lock && (alone || !reads))
        };
        let own = held[thread].iter().any(|(other, _)| *other == lock);
        let name = |lock: u64, reads: bool| match reads {
            true => format!("R{lock}.{thread}"),
            false => format!("L{lock}"),
        };
        let operation = match random.below(12) {
            0..=2 => format!("r(V{variable})"),
            3..=4 => format!("w(V{variable})"),
            5..=6 if !taken(true) => {
                held[thread].push((lock, false));
                format!("acq({})", name(lock, false))
            }
            7 if !taken(false) && !own => {
                held[thread].push((lock, true));
                format!("acq({})", name(lock, true))
            }
            8..=10 if !held[thread].is_empty() => {
                let at = random.below(held[thread].len() as u64) as usize;
                let (lock, reads) = held[thread].remove(at);
                format!("rel({})", name(lock, reads))
            }
            11 if started[other] && !joined[other] && held[other].is_empty() && other != thread => {
                // The first thread stays, or nobody would be left to go on.
                if other == 0 {
                    continue;
                }
                joined[other] = true;
                format!("join(T{other})")
            }
            _ => continue,
        };
        lines.push(format!("T{thread}|{operation}|{location}"));
    }
    lines.join("\n") + "\n"
}

/// Makes the readers' own locks the one lock that they stand for.
fn with_readers(mut trace: OrderTrace) -> OrderTrace {
    let names: Vec<String> = trace.locks.iter().map(|name| name.to_string()).collect();
    for event in &mut trace.events {
        let (Kind::Acquire | Kind::Release) = event.kind else { continue };
        let name = &names[event.object as usize];
        let Some((lock, _)) = name.strip_prefix('R').and_then(|name| name.split_once('.')) else {
            continue;
        };
        event.kind = match event.kind {
            Kind::Acquire => Kind::AcquireShared,
            _ => Kind::ReleaseShared,
        };
        // Where nobody takes it to write, one reader's name serves for all.
        let stands_for = |other: &String| {
            *other == format!("L{lock}") || other.starts_with(&format!("R{lock}."))
        };
        let writer = names.iter().position(|other| *other == format!("L{lock}"));
        let object = writer.or_else(|| names.iter().position(stands_for));
        event.object = object.unwrap_or_default() as u32;
    }
    trace
}

/// A well-formed trace: every thread a random walk, locks respected.
fn random_trace(seed: u64, threads: u64, length: usize) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut lines = Vec::new();
    let mut held: Vec<Vec<u64>> = vec![Vec::new(); threads as usize];
    let forked = random.below(2) == 1;
    let mut started = vec![!forked; threads as usize];
    started[0] = true;
    while lines.len() < length {
        let thread = random.below(threads) as usize;
        if !started[thread] {
            lines.push(format!("T0|fork(T{thread})|{}", lines.len()));
            started[thread] = true;
            continue;
        }
        let (location, variable, lock) = (lines.len(), random.below(3), random.below(3));
        let free = held.iter().all(|locks| !locks.contains(&lock));
        // Most accesses stand inside sections, where the order of sections matters.
        let outside = held[thread].is_empty() && random.below(4) > 0;
        let operation = match random.below(10) {
            0..=2 if !outside => format!("r(V{variable})"),
            3..=4 if !outside => format!("w(V{variable})"),
            0..=7 if free => {
                held[thread].push(lock);
                format!("acq(L{lock})")
            }
            8 | 9 if !held[thread].is_empty() => {
                let last = held[thread].len() as u64;
                let lock = held[thread].remove(random.below(last) as usize);
                format!("rel(L{lock})")
            }
            _ => continue,
        };
        lines.push(format!("T{thread}|{operation}|{location}"));
    }
    lines.join("\n") + "\n"
}

/// Every pair of conflicting accesses that some correct reordering enables together.
fn all_races(trace: &OrderTrace) -> BTreeSet<(usize, usize)> {
    let threads = trace.threads.len();
    let mut sequence: Vec<Vec<usize>> = vec![Vec::new(); threads];
    let mut fork_of: Vec<Option<usize>> = vec![None; threads];
    let mut writer: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    let mut last: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, event) in trace.events.iter().enumerate() {
        sequence[event.thread.index()].push(number);
        match event.kind {
            Kind::Read => {
                writer.insert(number, last.get(&event.object).copied());
            }
            Kind::Write => {
                last.insert(event.object, number);
            }
            Kind::Fork => fork_of[event.object as usize] = Some(number),
            _ => {}
        }
    }
    /// How far each thread is, the last write of each variable, who holds each lock, and whether
    /// alone.
    type State = (Vec<usize>, BTreeMap<u32, usize>, BTreeMap<u32, Vec<(usize, bool)>>);
    let mut races = BTreeSet::new();
    let mut seen: HashSet<State> = HashSet::new();
    let mut work: Vec<State> = vec![(vec![0; threads], BTreeMap::new(), BTreeMap::new())];
    while let Some(state) = work.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let (next, memory, holders) = &state;
        let enabled: Vec<usize> = (0..threads)
            .filter_map(|thread| sequence[thread].get(next[thread]).copied())
            .filter(|&number| {
                let thread = trace.events[number].thread.index();
                fork_of[thread].is_none_or(|fork| {
                    let parent = trace.events[fork].thread.index();
                    sequence[parent].iter().position(|e| *e == fork).unwrap() < next[parent]
                })
            })
            .collect();
        for &a in &enabled {
            for &b in &enabled {
                let (x, y) = (&trace.events[a], &trace.events[b]);
                let conflict =
                    x.object == y.object && (x.kind == Kind::Write || y.kind == Kind::Write);
                if a < b && x.kind.is_access() && y.kind.is_access() && conflict {
                    races.insert((a, b));
                }
            }
        }
        for number in enabled {
            let event = &trace.events[number];
            let (mut next, mut memory, mut holders) =
                (next.clone(), memory.clone(), holders.clone());
            let thread = event.thread.index();
            match event.kind {
                Kind::Read if memory.get(&event.object).copied() != writer[&number] => continue,
                Kind::Write => {
                    memory.insert(event.object, number);
                }
                Kind::Acquire | Kind::AcquireShared => {
                    let alone = event.kind == Kind::Acquire;
                    let list = holders.entry(event.object).or_default();
                    if list.iter().any(|(_, other)| alone || *other) {
                        continue;
                    }
                    list.push((thread, alone));
                    list.sort_unstable();
                }
                Kind::Release | Kind::ReleaseShared => {
                    holders.entry(event.object).or_default().retain(|(other, _)| *other != thread);
                }
                Kind::Join
                    if next[event.object as usize] < sequence[event.object as usize].len() =>
                {
                    continue;
                }
                _ => {}
            }
            next[thread] += 1;
            work.push((next, memory, holders));
        }
    }
    races
}

/// How many races of each step were found, by step.
type Found = BTreeMap<Step, usize>;

fn compare_all(seeds: std::ops::Range<u64>, threads: u64, length: usize, limits: &Limits) -> Found {
    let mut found = Found::new();
    for seed in seeds {
        for step in compare(seed, threads, length, limits) {
            *found.entry(step).or_default() += 1;
        }
    }
    found
}

fn compare(seed: u64, threads: u64, length: usize, limits: &Limits) -> Vec<Step> {
    let text = random_trace(seed, threads, length);
    compare_trace(seed, &text, read(&text), limits)
}

fn read(text: &str) -> OrderTrace {
    let read = text::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(read.repairs.iter().all(|repair| repair.kind == RepairKind::UnknownThread), "{text}");
    read.trace
}

fn compare_trace(seed: u64, text: &str, trace: OrderTrace, limits: &Limits) -> Vec<Step> {
    let prediction = order::predict(&trace, limits);
    common::check_all(&trace, &prediction);
    let predicted: BTreeSet<(usize, usize)> = prediction
        .races
        .iter()
        .map(|race| (race.witness.candidate.first as usize, race.witness.candidate.second as usize))
        .collect();
    // Members of one class share their race; the exhaustive search names each of them.
    let all = all_races(&trace);
    assert!(predicted.is_subset(&all), "seed {seed}: {predicted:?} not in {all:?}\n{text}");
    assert_eq!(all, predicted, "seed {seed}\n{text}");
    assert_eq!(prediction.counts.unknown, 0);
    prediction.races.iter().map(|race| race.step).collect()
}

/// Forks by any thread, joins, nested sections and readers' sections together: a race is predicted
/// exactly when the exhaustive search finds one, each with a witness that the checker accepts.
#[test]
fn forks_joins_and_readers() {
    let (mut found, mut kinds) = (Found::new(), BTreeSet::new());
    for seed in 10_000..11_200 {
        let (threads, length) = (2 + seed % 4, 14 + seed as usize % 9);
        let text = mixed_trace(seed, threads, length);
        let trace = with_readers(read(&text));
        kinds.extend(trace.events.iter().map(|event| event.kind));
        for step in compare_trace(seed, &text, trace, &Limits::default()) {
            *found.entry(step).or_default() += 1;
        }
    }
    assert!(found.values().sum::<usize>() > 500, "{found:?}");
    assert!([Kind::Fork, Kind::Join, Kind::AcquireShared].iter().all(|kind| kinds.contains(kind)));
}

#[test]
fn two_threads() {
    let found = compare_all(0..400, 2, 16, &Limits::default());
    assert!(found[&Step::ObservedOrder] > 100, "{found:?}");
}

#[test]
fn three_threads() {
    let found = compare_all(1000..1500, 3, 18, &Limits::default());
    assert!(found[&Step::GraphTest] > 3, "{found:?}");
}

#[test]
fn four_threads() {
    let found = compare_all(2000..2200, 4, 20, &Limits::default());
    assert!(found[&Step::GraphTest] > 1, "{found:?}");
}

#[test]
fn the_solver_alone_agrees() {
    let limits = Limits { solver_only: true, ..Limits::default() };
    let found = compare_all(3000..3100, 3, 18, &limits);
    assert!(found[&Step::Solver] > 50, "{found:?}");
}

/// In a long run the steps after a cut come first. Work of a thread that nobody meets, put into the
/// middle, changes no race, so what is found must be what the short trace has.
#[test]
fn work_in_between_changes_nothing() {
    const BETWEEN: usize = 1_200;
    let mut after_a_cut = 0;
    for seed in 4000..4600 {
        let short = random_trace(seed, 3, 18);
        let lines: Vec<&str> = short.lines().collect();
        let middle = seed as usize % 6;
        let between = (0..BETWEEN).map(|_| "Z|w(z)|9000");
        let (before, after) = lines.split_at(middle);
        let long: Vec<&str> =
            before.iter().copied().chain(between).chain(after.iter().copied()).collect();
        let text = long.join("\n") + "\n";
        let read = text::read(text.as_bytes()).unwrap();
        let prediction = order::predict(&read.trace, &Limits::default());
        common::check_all(&read.trace, &prediction);
        let place = |event: u32| match event as usize {
            event if event < middle => event,
            event => event - BETWEEN,
        };
        let predicted: BTreeSet<(usize, usize)> = prediction
            .races
            .iter()
            .map(|race| race.witness.candidate)
            .map(|candidate| (place(candidate.first), place(candidate.second)))
            .collect();
        assert_eq!(all_races(&text::read(short.as_bytes()).unwrap().trace), predicted, "{short}");
        after_a_cut += prediction
            .races
            .iter()
            .filter(|race| race.step == Step::GraphTest && middle > 0)
            .filter(|race| race.witness.candidate.first as usize >= middle + BETWEEN)
            .count();
    }
    assert!(after_a_cut > 0);
}
