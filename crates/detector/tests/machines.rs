//! MSM-short and MSM-long: every arrow of Figure 3 and of the derived table, as executions.

use racewarden_detector::{
    Certainty, Detector, Kind, MachineKind, Mode, ObjectId, Phase, SiteId, ThreadId,
};

const D: u64 = 0x1000;

/// Runs a small script and returns the state of `D` after each access, and what was suspected.
///
/// Words: `1w` thread 1 writes, `2r` thread 2 reads, `1+a` locks a, `1-a` unlocks a, `1+A` takes a
/// for reading, `1>2` a semaphore orders 2 after 1, `0~2` thread 0 joins 2.
fn run(machine: MachineKind, script: &str) -> (Vec<Phase>, usize, usize) {
    let mut detector = Detector::new(machine);
    for child in 1..=4 {
        detector.fork(ThreadId(0), ThreadId(child));
    }
    let mut phases = Vec::new();
    for word in script.split_whitespace() {
        let word = word.as_bytes();
        let thread = ThreadId(u32::from(word[0] - b'0'));
        let lock = || ObjectId(u64::from(word[2].to_ascii_lowercase()));
        match word[1] {
            b'w' => detector.access(thread, D, 4, Kind::WRITE, SiteId(1)),
            b'r' => detector.access(thread, D, 4, Kind::READ, SiteId(2)),
            b'+' if word[2].is_ascii_uppercase() => {
                detector.lock(thread, lock(), Mode::Read, SiteId(3));
            }
            b'+' => detector.lock(thread, lock(), Mode::Write, SiteId(3)),
            b'-' => _ = detector.unlock(thread, lock()),
            b'>' => {
                let edge = ObjectId(0x9000 + phases.len() as u64);
                detector.release(thread, edge);
                detector.acquire(ThreadId(u32::from(word[2] - b'0')), edge);
            }
            b'~' => detector.join(thread, ThreadId(u32::from(word[2] - b'0'))),
            other => panic!("no such word: {other}"),
        }
        if matches!(word[1], b'w' | b'r') {
            phases.push(detector.phase(D));
        }
    }
    let found = detector.take_found();
    let observed = found.iter().filter(|f| f.conflict.certainty == Certainty::Observed).count();
    (phases, found.len() - observed, observed)
}

use Phase::{
    ExclusiveRead as ER, ExclusiveSuspect as ES, ExclusiveWrite as EW, Race, SharedModified as SM,
    SharedModified2 as SM2, SharedRead as SR,
};

fn short(script: &str, phases: &[Phase]) {
    assert_eq!(run(MachineKind::Short, script).0, phases, "{script}");
}

fn long(script: &str, phases: &[Phase]) {
    assert_eq!(run(MachineKind::Long, script).0, phases, "{script}");
}

#[test]
fn short_new_and_exclusive() {
    short("1w", &[EW]);
    short("1r", &[ER]);
    short("1w 1>2 2r 2>1 1w 1>3 3w", &[EW, ER, EW, EW]);
    short("1w 2w", &[EW, Race]);
    short("1w 2r", &[EW, Race]);
    short("1r 2w", &[ER, Race]);
    short("1w 2+a 2w", &[EW, SM]);
    short("1w 2+a 2r", &[EW, SM]);
    short("1r 2+a 2w", &[ER, SM]);
    short("1r 2r", &[ER, SR]);
}

#[test]
fn short_shared_read() {
    short("1r 2r 3r", &[ER, SR, SR]);
    // The write is ordered after the segment kept from Exclusive-Read.
    short("1r 2r 1>3 3w", &[ER, SR, SM]);
    // Parallel to it and nothing protects: the only race that Shared-Read reports.
    short("1r 2r 3w", &[ER, SR, Race]);
    // A lock that the reader that shared it held too.
    short("1r 2+a 2r 2-a 3+a 3w", &[ER, SR, SM]);
    short("1r 2+a 2r 2-a 3+b 3w", &[ER, SR, Race]);
    // Read-held locks protect reads, not writes.
    short("1r 2+A 2r 2-a 3+A 3w", &[ER, SR, Race]);
}

#[test]
fn short_shared_modified() {
    short("1w 2+a 2w 2-a 3+a 3r 3-a 1+a 1w", &[EW, SM, SM, SM]);
    // The lockset runs empty: ordered after the stored segment goes back to exclusive.
    short("1w 2+a 2w 2-a 2>3 3r", &[EW, SM, ER]);
    short("1w 2+a 2w 2-a 2>3 3w", &[EW, SM, EW]);
    short("1w 2+a 2w 2-a 3+b 3w", &[EW, SM, Race]);
    short("1w 2+a 2w 2-a 3+b 3w 1w 2r", &[EW, SM, Race, Race, Race]);
}

#[test]
fn a_race_is_reported_once_and_proofs_replace_suspicions() {
    // The lock happens to order the accesses, so this is a suspicion.
    let script = "1w 1+a 1-a 2+a 2-a 2w";
    assert_eq!(run(MachineKind::Short, script), (vec![EW, Race], 1, 0));
    assert_eq!(run(MachineKind::Short, "1w 1+a 1-a 2+a 2-a 2w 2w 2w").1, 1);
    // Nothing orders these.
    assert_eq!(run(MachineKind::Short, "1w 2w"), (vec![EW, Race], 0, 1));
    assert_eq!(run(MachineKind::Off, script).1, 0);
}

#[test]
fn joining_makes_a_location_exclusive_again() {
    // Without the join, 1's unlocked write would find C empty and the stored segment parallel.
    let shared = "1w 2+a 2w 2-a 3+a 3w 3-a";
    short(&format!("{shared} 0~2 0~3 0w"), &[EW, SM, SM, EW]);
    short(&format!("{shared} 1w"), &[EW, SM, SM, Race]);
    // Two of three members joined by thread 0: exclusive, yet parallel to thread 4.
    short("1r 2r 0~2 0~1 4r", &[ER, SR, SR]);
}

#[test]
fn long_defers_the_first_insufficiency() {
    long("1w 2w", &[EW, SM]);
    long("1w 2w 1w", &[EW, SM, SM2]);
    long("1w 2w 1w 2w", &[EW, SM, SM2, Race]);
    // The same pattern that MSM-short suspects at once.
    let once = "1w 1+a 1-a 2+a 2-a 2w";
    assert_eq!(run(MachineKind::Long, once).1, 0);
    let repeated = format!("{once} 2+a 2-a 1+a 1-a 1w 1+a 1-a 2+a 2-a 2w");
    assert_eq!(run(MachineKind::Long, &repeated).0, [EW, SM, SM2, Race]);
    assert_eq!(run(MachineKind::Long, &repeated).1, 1);
}

#[test]
fn long_shared_states() {
    long("1r 2r 3r", &[ER, SR, SR]);
    long("1r 2r 3w", &[ER, SR, SM]);
    long("1w 2+a 2w 2-a 3+a 3w 3-a 1+a 1r", &[EW, SM, SM, SM]);
    long("1w 2w 2>3 3w", &[EW, SM, EW]);
}

#[test]
fn long_remembers_an_insufficiency_across_ordered_accesses() {
    long("1w 2w 1w 1>3 3w", &[EW, SM, SM2, ES]);
    long("1w 2w 1w 1>3 3w 3>2 2r", &[EW, SM, SM2, ES, ES]);
    long("1w 2w 1w 1>3 3w 1w", &[EW, SM, SM2, ES, Race]);
    long("1w 2w 1w 1>3 3w 1+a 1w", &[EW, SM, SM2, ES, SM2]);
    long("1w 2w 1w 1>3 3r 1r", &[EW, SM, SM2, ES, ES]);
    long("1w 2w 1w 1>3 3r 1w", &[EW, SM, SM2, ES, Race]);
}

#[test]
fn long_still_reports_proofs_at_once() {
    assert_eq!(run(MachineKind::Long, "1w 2w").2, 1);
}

#[test]
fn machines_are_per_byte() {
    let mut detector = Detector::new(MachineKind::Short);
    detector.fork(ThreadId(0), ThreadId(1));
    detector.access(ThreadId(0), D, 4, Kind::WRITE, SiteId(1));
    detector.access(ThreadId(1), D + 4, 4, Kind::WRITE, SiteId(2));
    detector.access(ThreadId(1), D + 2, 1, Kind::READ, SiteId(3));
    let found = detector.take_found();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].conflict.bytes.0, 0b100);
    assert_eq!(detector.phase(D), EW);
    assert_eq!(detector.phase(D + 2), Race);
    assert_eq!(detector.phase(D + 4), EW);
    detector.forget(D + 2, 1);
    assert_eq!(detector.phase(D + 2), Phase::New);
    assert_eq!(detector.phase(D + 1), EW);
}
