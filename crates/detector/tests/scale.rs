//! Nothing is lost silently: many threads, old accesses, many readers, long lives.

use racewarden_detector::{
    Certainty, Detector, Kind, MachineKind, Mode, ObjectId, Order, SiteId, Slots, ThreadId,
    ThreadState,
};

const X: u64 = 0x1000;
const MAIN: ThreadId = ThreadId(0);

fn observed(detector: &mut Detector) -> Vec<(u32, u32)> {
    let found = detector.take_found();
    let proven = found.iter().filter(|f| f.conflict.certainty == Certainty::Observed);
    proven.map(|f| (f.conflict.earlier.site.0, f.access.site.0)).collect()
}

#[test]
fn an_ended_thread_is_not_forgotten_when_others_come_and_go() {
    let mut detector = Detector::new(MachineKind::Short);
    detector.fork(MAIN, ThreadId(1));
    detector.access(ThreadId(1), X, 4, Kind::WRITE, SiteId(7));
    detector.end(ThreadId(1));
    for id in 2..2000 {
        detector.fork(MAIN, ThreadId(id));
        detector.access(ThreadId(id), 0x8000, 4, Kind::WRITE, SiteId(1));
        detector.join(MAIN, ThreadId(id));
    }
    assert!(detector.slots().width() <= 4, "slots of joined threads are used again");
    detector.fork(MAIN, ThreadId(3000));
    detector.access(ThreadId(3000), X, 4, Kind::READ, SiteId(8));
    assert_eq!(observed(&mut detector), [(7, 8)]);
    assert_eq!(detector.slots().reused_early(), 0);
}

#[test]
fn five_thousand_threads_at_once_are_exact() {
    let mut detector = Detector::new(MachineKind::Off);
    let threads = 5000;
    for id in 1..=threads {
        detector.fork(MAIN, ThreadId(id));
        detector.access(ThreadId(id), X + u64::from(id) * 8, 8, Kind::WRITE, SiteId(id));
    }
    assert_eq!(observed(&mut detector), []);
    // Neighbours race in both directions, first and last slots alike.
    for id in [1, 2, 254, 255, 256, 257, 4093, 4094, 4095, 4096, threads - 1] {
        detector.access(ThreadId(id + 1), X + u64::from(id) * 8, 1, Kind::READ, SiteId(9));
        assert_eq!(observed(&mut detector), [(id, 9)]);
    }
    for id in 1..=threads {
        detector.join(MAIN, ThreadId(id));
    }
    for id in 1..=threads {
        detector.access(MAIN, X + u64::from(id) * 8, 8, Kind::WRITE, SiteId(1));
    }
    assert_eq!(observed(&mut detector), []);
}

#[test]
fn many_ordered_readers_do_not_evict_an_unordered_write() {
    let mut detector = Detector::new(MachineKind::Off);
    for id in 1..=40 {
        detector.fork(MAIN, ThreadId(id));
    }
    detector.access(ThreadId(1), X, 4, Kind::WRITE, SiteId(7));
    detector.release(ThreadId(1), ObjectId(1));
    for id in 2..=39 {
        detector.acquire(ThreadId(id), ObjectId(1));
        detector.access(ThreadId(id), X, 4, Kind::READ, SiteId(id));
    }
    assert_eq!(observed(&mut detector), []);
    detector.access(ThreadId(40), X, 4, Kind::READ, SiteId(99));
    assert_eq!(observed(&mut detector), [(7, 99)]);
    // And every one of the readers is remembered.
    detector.acquire(ThreadId(40), ObjectId(1));
    detector.access(ThreadId(40), X, 4, Kind::WRITE, SiteId(98));
    assert_eq!(observed(&mut detector).len(), 38);
}

#[test]
fn arrays_read_alike_share_their_states() {
    let mut detector = Detector::new(MachineKind::Short);
    for id in 1..=8 {
        detector.fork(MAIN, ThreadId(id));
        for granule in 0..1000 {
            detector.access(ThreadId(id), X + granule * 8, 8, Kind::READ, SiteId(id));
        }
    }
    assert_eq!(observed(&mut detector), []);
    assert_eq!(detector.table_len(), 1);
    detector.forget(X, 8000);
    assert_eq!(detector.table_len(), 0);
}

#[test]
fn hundreds_of_thousands_of_segments_do_not_age_an_access() {
    let mut detector = Detector::new(MachineKind::Off);
    detector.fork(MAIN, ThreadId(1));
    detector.access(ThreadId(1), X, 4, Kind::WRITE, SiteId(7));
    for _ in 0..300_000 {
        detector.lock(ThreadId(1), ObjectId(1), Mode::Write, SiteId(1));
        detector.access(ThreadId(1), X + 8, 4, Kind::WRITE, SiteId(2));
        detector.unlock(ThreadId(1), ObjectId(1));
    }
    detector.access(MAIN, X, 4, Kind::WRITE, SiteId(8));
    assert_eq!(observed(&mut detector), [(7, 8)]);
}

#[test]
fn a_thread_that_outlives_its_slot_goes_on_in_another() {
    let mut slots = Slots::new(16);
    let mut main = ThreadState::main(&mut slots);
    let mut child = main.fork(ThreadId(1), &mut slots);
    let before = child.epoch();
    while !child.wants_new_slot() {
        child.tick();
    }
    assert!(child.tag().is_some(), "the last packed time is still packed");
    let last = child.epoch();
    child.renew(&mut slots);
    assert_ne!(child.epoch().slot, before.slot);
    assert!(child.tag().is_some());
    assert!(child.full().covers(before) && child.hybrid().covers(last));
    assert!(!main.full().covers(before));
    let end = child.epoch();
    let clocks = child.end(&mut slots);
    main.join(end, &clocks, &mut slots);
    assert!(main.full().covers(last) && main.full().covers(end));
}

#[test]
fn early_reuse_happens_only_past_the_limit_and_is_counted() {
    let mut slots = Slots::new(4);
    let mut main = ThreadState::main(&mut slots);
    for id in 1..=20 {
        main.fork(ThreadId(id), &mut slots).end(&mut slots);
    }
    assert_eq!(slots.width(), 5);
    assert_eq!(slots.reused_early(), 16);
}

#[test]
fn bitfields_in_one_byte_race_and_neighbouring_bytes_do_not() {
    let mut detector = Detector::new(MachineKind::Off);
    detector.fork(MAIN, ThreadId(1));
    detector.access(MAIN, X + 3, 1, Kind::WRITE, SiteId(1));
    detector.access(ThreadId(1), X + 2, 1, Kind::WRITE, SiteId(2));
    detector.access(ThreadId(1), X + 4, 4, Kind::WRITE, SiteId(3));
    assert_eq!(observed(&mut detector), []);
    detector.access(ThreadId(1), X + 3, 1, Kind::WRITE, SiteId(4));
    assert_eq!(observed(&mut detector), [(1, 4)]);
    // An access across two granules meets both.
    detector.access(MAIN, X + 14, 4, Kind::WRITE, SiteId(5));
    detector.access(ThreadId(1), X + 17, 1, Kind::READ, SiteId(6));
    detector.access(ThreadId(1), X + 15, 1, Kind::READ, SiteId(7));
    assert_eq!(observed(&mut detector), [(5, 6), (5, 7)]);
}

#[test]
fn relaxed_message_passing_with_fences_is_ordered() {
    let mut detector = Detector::new(MachineKind::Short);
    detector.fork(MAIN, ThreadId(1));
    detector.access(MAIN, X, 4, Kind::WRITE, SiteId(1));
    detector.fence(MAIN, Order::Release);
    detector.atomic_store(MAIN, X + 64, 4, Order::Relaxed, SiteId(2));
    detector.atomic_load(ThreadId(1), X + 64, 4, Order::Relaxed, SiteId(3));
    detector.fence(ThreadId(1), Order::Acquire);
    detector.access(ThreadId(1), X, 4, Kind::READ, SiteId(4));
    assert_eq!(detector.take_found(), []);
    // Without the second fence it is a race.
    detector.access(MAIN, X + 8, 4, Kind::WRITE, SiteId(5));
    detector.fence(MAIN, Order::Release);
    detector.atomic_store(MAIN, X + 64, 4, Order::Relaxed, SiteId(6));
    detector.atomic_load(ThreadId(1), X + 64, 4, Order::Relaxed, SiteId(7));
    detector.access(ThreadId(1), X + 8, 4, Kind::READ, SiteId(8));
    assert_eq!(observed(&mut detector), [(5, 8)]);
}
