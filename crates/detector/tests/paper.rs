//! The figures of the Helgrind+ paper as executions.

use racewarden_detector::{
    Certainty, Detector, Found, Kind, MachineKind, Mode, ObjectId, Relation, SiteId, ThreadId,
};

const T1: ThreadId = ThreadId(1);
const T2: ThreadId = ThreadId(2);
const LOCK: ObjectId = ObjectId(0x100);
const CV: ObjectId = ObjectId(0x200);
const DATA: u64 = 0x1000;
const FLAG: u64 = 0x2000;

fn start(machine: MachineKind, threads: u32) -> Detector {
    let mut detector = Detector::new(machine);
    for child in 1..=threads {
        detector.fork(ThreadId(0), ThreadId(child));
    }
    detector
}

fn touch(detector: &mut Detector, thread: ThreadId, at: u64, kind: Kind, site: u32) {
    detector.access(thread, at, 4, kind, SiteId(site));
}

fn potential(found: &[Found]) -> Vec<u64> {
    let suspected = found.iter().filter(|f| f.conflict.certainty == Certainty::Potential);
    suspected.map(|f| f.granule).collect()
}

fn observed(found: &[Found]) -> Vec<u64> {
    let proven = found.iter().filter(|f| f.conflict.certainty == Certainty::Observed);
    proven.map(|f| f.granule).collect()
}

/// Figure 1, thread 1: works on the data, sets the flag, signals.
fn produce(detector: &mut Detector, thread: ThreadId, data: u64, flag: u64, lock: ObjectId) {
    touch(detector, thread, data, Kind::READ, 1);
    touch(detector, thread, data, Kind::WRITE, 1);
    detector.lock(thread, lock, Mode::Write, SiteId(2));
    touch(detector, thread, flag, Kind::WRITE, 3);
    detector.signal(thread, CV);
    detector.unlock(thread, lock);
}

/// Figure 1, thread 2, once the flag is set: the last evaluation of the loop's condition.
fn leave_loop(detector: &mut Detector, thread: ThreadId, flag: u64, marked: bool) -> Relation {
    touch(detector, thread, flag, Kind::READ, 5);
    if marked { detector.wait_done(thread, CV, &[(flag, 4)]) } else { Relation::None }
}

#[test]
fn figure_1_waiter_first() {
    for machine in [MachineKind::Short, MachineKind::Long, MachineKind::Off] {
        let mut detector = start(machine, 2);
        detector.lock(T2, LOCK, Mode::Write, SiteId(4));
        touch(&mut detector, T2, FLAG, Kind::READ, 5);
        detector.unlock(T2, LOCK);
        produce(&mut detector, T1, DATA, FLAG, LOCK);
        detector.lock(T2, LOCK, Mode::Write, SiteId(6));
        assert_eq!(leave_loop(&mut detector, T2, FLAG, true), Relation::WriteRead);
        detector.unlock(T2, LOCK);
        touch(&mut detector, T2, DATA, Kind::READ, 7);
        assert_eq!(detector.take_found(), []);
    }
}

#[test]
fn figure_1_signal_lost() {
    let mut detector = start(MachineKind::Short, 2);
    produce(&mut detector, T1, DATA, FLAG, LOCK);
    detector.lock(T2, LOCK, Mode::Write, SiteId(4));
    assert_eq!(leave_loop(&mut detector, T2, FLAG, true), Relation::WriteRead);
    detector.unlock(T2, LOCK);
    touch(&mut detector, T2, DATA, Kind::READ, 7);
    assert_eq!(detector.take_found(), []);
}

#[test]
fn figure_1_without_the_loop_mark_is_only_suspected() {
    let mut detector = start(MachineKind::Short, 2);
    produce(&mut detector, T1, DATA, FLAG, LOCK);
    detector.lock(T2, LOCK, Mode::Write, SiteId(4));
    leave_loop(&mut detector, T2, FLAG, false);
    detector.unlock(T2, LOCK);
    touch(&mut detector, T2, DATA, Kind::READ, 7);
    let found = detector.take_found();
    assert_eq!(potential(&found), [DATA], "the paper's false warning, kept apart from proofs");
    assert_eq!(observed(&found), []);
}

const X: u64 = 0x3000;
const Y: u64 = 0x4000;
const FLAG1: u64 = 0x5000;
const FLAG2: u64 = 0x6000;

/// Figures 4 and 5: two pairs share one condition variable. `wrong` makes W1 read Y.
fn two_pairs(machine: MachineKind, wrong: bool) -> Vec<Found> {
    let (s1, w1, s2, w2) = (ThreadId(1), ThreadId(2), ThreadId(3), ThreadId(4));
    let mut detector = start(machine, 4);
    produce(&mut detector, s1, X, FLAG1, LOCK);
    produce(&mut detector, s2, Y, FLAG2, LOCK);
    for (waiter, flag, data) in [(w1, FLAG1, if wrong { Y } else { X }), (w2, FLAG2, Y)] {
        detector.lock(waiter, LOCK, Mode::Write, SiteId(4));
        assert_eq!(leave_loop(&mut detector, waiter, flag, true), Relation::WriteRead);
        detector.unlock(waiter, LOCK);
        touch(&mut detector, waiter, data, Kind::READ, 7);
    }
    detector.take_found()
}

#[test]
fn figure_5d_each_waiter_is_ordered_after_its_own_signaller() {
    assert_eq!(two_pairs(MachineKind::Short, false), []);
    assert_eq!(two_pairs(MachineKind::Long, false), []);
}

#[test]
fn figure_5c_the_fake_segment_would_hide_this_race() {
    let found = two_pairs(MachineKind::Short, true);
    assert_eq!(potential(&found), [Y]);
    assert_eq!(observed(&found), [], "the lock happened to order them in this run");
}

#[test]
fn figure_6_falls_back_to_the_fake_segment() {
    let mut detector = start(MachineKind::Short, 2);
    touch(&mut detector, T1, DATA, Kind::WRITE, 1);
    detector.signal(T1, CV);
    // A wait whose condition reads nothing that anyone wrote.
    assert_eq!(detector.wait_done(T2, CV, &[(FLAG, 4)]), Relation::Fake);
    touch(&mut detector, T2, DATA, Kind::READ, 7);
    let found = detector.take_found();
    assert_eq!(potential(&found), []);
    assert_eq!(observed(&found), [DATA], "C11 orders nothing by a signal alone");
}

#[test]
fn figure_6_unlock_then_signal_still_finds_the_signaller() {
    let mut detector = start(MachineKind::Short, 2);
    touch(&mut detector, T1, DATA, Kind::WRITE, 1);
    detector.lock(T1, LOCK, Mode::Write, SiteId(2));
    touch(&mut detector, T1, FLAG, Kind::WRITE, 3);
    detector.unlock(T1, LOCK);
    // The waiter gets in between unlock and signal.
    detector.lock(T2, LOCK, Mode::Write, SiteId(4));
    assert_eq!(leave_loop(&mut detector, T2, FLAG, true), Relation::Write);
    detector.unlock(T2, LOCK);
    touch(&mut detector, T2, DATA, Kind::WRITE, 7);
    detector.signal(T1, CV);
    assert_eq!(detector.take_found(), []);
}

#[test]
fn section_4_2_5_missed_by_the_machine_is_seen_by_the_exact_relation() {
    let mut detector = start(MachineKind::Short, 2);
    touch(&mut detector, T1, DATA, Kind::WRITE, 1);
    detector.lock(T2, LOCK, Mode::Write, SiteId(2));
    touch(&mut detector, T2, DATA, Kind::WRITE, 3);
    let found = detector.take_found();
    assert_eq!(potential(&found), []);
    assert_eq!(observed(&found), [DATA]);
}

#[test]
fn accident_of_lock_order_is_suspected() {
    let mut detector = start(MachineKind::Short, 2);
    touch(&mut detector, T1, DATA, Kind::WRITE, 1);
    for thread in [T1, T2] {
        detector.lock(thread, LOCK, Mode::Write, SiteId(2));
        detector.unlock(thread, LOCK);
    }
    touch(&mut detector, T2, DATA, Kind::WRITE, 3);
    let found = detector.take_found();
    assert_eq!(potential(&found), [DATA]);
    assert_eq!(observed(&found), []);
    assert_eq!(found[0].conflict.earlier.site, SiteId(1));
}
