//! The engine against the naive reference, on random executions.
//!
//! The claim, for full happens-before without the same-segment shortcut: for **every access and
//! every byte**, the engine reports an observed conflict exactly if the reference has an earlier
//! conflicting access to that byte which nothing orders. With the shortcut: every report is one of
//! the reference's, and for every byte the first report comes at the same access.
//!
//! Besides, each thread's two clocks are compared with the reference's two graphs at every access.

mod reference;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use racewarden_detector::{
    Access, ByteMask, Cell, Certainty, Detector, Engine, Epoch, Kind, LocksetId, MachineKind, Mode,
    ObjectId, Order, SiteId, StateTable, ThreadId, World,
};
use reference::{Atomic, Reference};

const LOCKS: u64 = 0x10;
const OBJECTS: u64 = 0x20;
const BARRIER: u64 = 0x30;
/// Plain memory: four granules. Atomic objects are four bytes within the last two, so that plain
/// and atomic accesses meet.
const MEMORY: u64 = 0x1000;
const ATOMICS: u64 = MEMORY + 16;

/// A world that is never asked, because no machine runs.
struct NoWorld;

impl World for NoWorld {
    fn intersect(&mut self, a: LocksetId, _: LocksetId) -> LocksetId {
        a
    }
    fn with_bus(&mut self, set: LocksetId) -> LocksetId {
        set
    }
    fn is_joined(&self, _: Epoch) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    actor: u8,
    what: u8,
    object: u8,
    detail: u8,
}

fn steps(length: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<u8>(), 0_u8..32, any::<u8>(), any::<u8>())
        .prop_map(|(actor, what, object, detail)| Step { actor, what, object, detail });
    prop::collection::vec(step, 1..length)
}

fn order_of(detail: u8) -> Order {
    [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst, Order::Relaxed]
        [usize::from(detail) % 6]
}

/// Runs the same execution through everything.
struct Harness {
    detector: Detector,
    reference: Reference,
    /// The engine without shortcut, on the detector's clocks.
    shadow: BTreeMap<u64, Cell>,
    table: StateTable,
    live: Vec<u32>,
    ended: Vec<u32>,
    next: u32,
    held: BTreeMap<u64, Vec<(u32, Mode)>>,
    /// Epoch and event of every access.
    past: Vec<(Epoch, usize)>,
    first_report: BTreeMap<u64, usize>,
    first_truth: BTreeMap<u64, usize>,
}

impl Harness {
    fn new(machine: MachineKind) -> Self {
        let mut harness = Self {
            detector: Detector::new(machine),
            reference: Reference::default(),
            shadow: BTreeMap::new(),
            table: StateTable::new(),
            live: vec![0],
            ended: Vec::new(),
            next: 1,
            held: BTreeMap::new(),
            past: Vec::new(),
            first_report: BTreeMap::new(),
            first_truth: BTreeMap::new(),
        };
        for _ in 0..3 {
            harness.fork(0);
        }
        harness
    }

    fn fork(&mut self, parent: u32) {
        let child = self.next;
        self.next += 1;
        self.detector.fork(ThreadId(parent), ThreadId(child));
        self.reference.fork(parent, child);
        self.live.push(child);
    }

    fn holds_any(&self, thread: u32) -> bool {
        self.held.values().flatten().any(|(holder, _)| *holder == thread)
    }

    fn run(&mut self, step: Step) {
        let thread = self.live[usize::from(step.actor) % self.live.len()];
        let id = ThreadId(thread);
        match step.what {
            0 if self.live.len() < 6 => self.fork(thread),
            1 if thread != 0 && !self.holds_any(thread) => {
                self.detector.end(id);
                self.live.retain(|live| *live != thread);
                self.ended.push(thread);
            }
            2 if !self.ended.is_empty() => {
                let ended = self.ended.remove(usize::from(step.detail) % self.ended.len());
                self.detector.join(id, ThreadId(ended));
                self.reference.join(thread, ended);
            }
            3..=6 => self.lock(thread, LOCKS + u64::from(step.object % 2), step.detail),
            7..=10 => self.unlock(thread, step.detail),
            11 => {
                let object = OBJECTS + u64::from(step.object % 2);
                self.detector.release(id, ObjectId(object));
                self.reference.release(thread, object);
            }
            12 => {
                let object = OBJECTS + u64::from(step.object % 2);
                self.detector.acquire(id, ObjectId(object));
                self.reference.acquire(thread, object);
            }
            13 => self.barrier(step),
            14 => {
                self.detector.fence(id, order_of(step.detail));
                self.reference.fence(thread, order_of(step.detail));
            }
            15..=20 => self.atomic(thread, step),
            _ => self.plain(thread, step),
        }
    }

    fn lock(&mut self, thread: u32, lock: u64, detail: u8) {
        let mode = if detail.is_multiple_of(2) { Mode::Write } else { Mode::Read };
        let holders = self.held.entry(lock).or_default();
        let free = match mode {
            Mode::Write => holders.is_empty(),
            Mode::Read => holders.iter().all(|(t, m)| *m == Mode::Read && *t != thread),
        };
        if free {
            holders.push((thread, mode));
            self.detector.lock(ThreadId(thread), ObjectId(lock), mode, SiteId(1));
            self.reference.lock(thread, lock, mode);
        }
    }

    fn unlock(&mut self, thread: u32, detail: u8) {
        let held: Vec<u64> = self
            .held
            .iter()
            .filter(|(_, holders)| holders.iter().any(|(t, _)| *t == thread))
            .map(|(lock, _)| *lock)
            .collect();
        if held.is_empty() {
            return;
        }
        let lock = held[usize::from(detail) % held.len()];
        let holders = self.held.get_mut(&lock).unwrap();
        let position = holders.iter().position(|(t, _)| *t == thread).unwrap();
        let (_, mode) = holders.remove(position);
        self.detector.unlock(ThreadId(thread), ObjectId(lock));
        self.reference.unlock(thread, lock, mode);
    }

    /// Two rounds of a barrier for two; the second round's first member arrives before the first
    /// round's second member has left.
    fn barrier(&mut self, step: Step) {
        let barrier = BARRIER + u64::from(step.object % 2);
        if self.live.len() < 3 {
            return;
        }
        let start = usize::from(step.actor) % self.live.len();
        let pick = |offset: usize| self.live[(start + offset) % self.live.len()];
        let (a, b, c) = (pick(0), pick(1), pick(2));
        let arrive = |harness: &mut Self, t: u32| {
            let phase = harness.detector.barrier_arrive(ThreadId(t), ObjectId(barrier));
            harness.reference.barrier_arrive(t, barrier, phase);
            phase
        };
        let leave = |harness: &mut Self, t: u32, phase: u64| {
            harness.detector.barrier_leave(ThreadId(t), ObjectId(barrier), phase);
            harness.reference.barrier_leave(t, barrier, phase);
        };
        let first = arrive(self, a);
        assert_eq!(arrive(self, b), first);
        leave(self, a, first);
        let second = arrive(self, a);
        assert_eq!(second, first + 1);
        assert_eq!(arrive(self, c), second);
        leave(self, c, second);
        leave(self, b, first);
        leave(self, a, second);
    }

    fn atomic(&mut self, thread: u32, step: Step) {
        let (id, site) = (ThreadId(thread), SiteId(u32::from(step.detail)));
        let object = ATOMICS + 8 * u64::from(step.object % 2);
        let order = order_of(step.detail);
        let kind = [Atomic::Load, Atomic::Store, Atomic::Update][usize::from(step.what) % 3];
        let epoch_before = self.detector.thread(id).map(|t| t.epoch());
        match kind {
            Atomic::Load => self.detector.atomic_load(id, object, 4, order, site),
            Atomic::Store => self.detector.atomic_store(id, object, 4, order, site),
            Atomic::Update => self.detector.atomic_update(id, object, 4, order, site),
        }
        let (event, racing) = self.reference.atomic(thread, object, order, kind);
        self.compare_reports(event, &racing, None);
        // The bare engine saw nothing of it; atomics are compared through the detector only.
        self.past.extend(epoch_before.map(|epoch| (epoch, event)));
    }

    fn plain(&mut self, thread: u32, step: Step) {
        let id = ThreadId(thread);
        let at = MEMORY + u64::from(step.object % 30);
        let size = [1, 2, 4, 8, 3][usize::from(step.detail >> 1) % 5];
        let kind = if step.detail.is_multiple_of(2) { Kind::WRITE } else { Kind::READ };
        let site = SiteId(u32::from(step.detail));
        let bare = self.bare_access(thread, at, size, kind, site);
        self.detector.access(id, at, size, kind, site);
        let (event, racing) = self.reference.access(thread, at, size, kind);
        self.compare_reports(event, &racing, Some(bare));
        self.compare_clocks(id, event);
        self.past.push((self.detector.thread(id).unwrap().epoch(), event));
    }

    /// The general case alone, on a shadow of plain accesses.
    fn bare_access(
        &mut self,
        thread: u32,
        at: u64,
        size: u32,
        kind: Kind,
        site: SiteId,
    ) -> BTreeSet<u64> {
        let mut bytes = BTreeSet::new();
        let Some(state) = self.detector.thread(ThreadId(thread)) else { return bytes };
        for granule in (at & !7..at + u64::from(size)).step_by(8) {
            let mask = (0..8).filter(|i| (at..at + u64::from(size)).contains(&(granule + i)));
            let mask = ByteMask(mask.fold(0, |mask, i| mask | 1 << i));
            let mut found = Vec::new();
            Engine { machine: MachineKind::Off }.access(
                self.shadow.entry(granule).or_default(),
                &mut self.table,
                state,
                &mut NoWorld,
                &Access { bytes: mask, kind, site },
                &mut found,
            );
            for conflict in found {
                assert_eq!(conflict.certainty, Certainty::Observed);
                bytes
                    .extend((0..8).filter(|i| conflict.bytes.0 >> i & 1 == 1).map(|i| granule + i));
            }
        }
        bytes
    }

    fn compare_reports(
        &mut self,
        event: usize,
        racing: &BTreeSet<u64>,
        bare: Option<BTreeSet<u64>>,
    ) {
        let mut reported = BTreeSet::new();
        for found in self.detector.take_found() {
            if found.conflict.certainty == Certainty::Observed {
                let bytes = (0..8).filter(|i| found.conflict.bytes.0 >> i & 1 == 1);
                reported.extend(bytes.map(|i| found.granule + i));
            }
        }
        assert!(reported.is_subset(racing), "event {event}: {reported:?} of {racing:?}");
        for byte in &reported {
            self.first_report.entry(*byte).or_insert(event);
        }
        for byte in racing {
            self.first_truth.entry(*byte).or_insert(event);
        }
        // Without atomics in between (they share only the upper granules), every access is exact.
        if let Some(bare) = bare {
            let plain = |set: &BTreeSet<u64>| -> BTreeSet<u64> {
                set.iter().copied().filter(|byte| *byte < ATOMICS).collect()
            };
            assert_eq!(plain(&bare), plain(racing), "event {event}");
        }
    }

    fn compare_clocks(&self, thread: ThreadId, event: usize) {
        let state = self.detector.thread(thread).unwrap();
        for (epoch, past) in &self.past {
            let same = epoch.slot == state.epoch().slot && *epoch == state.epoch();
            let full = same || state.full().covers(*epoch);
            let hybrid = same || state.hybrid().covers(*epoch);
            assert_eq!(full, self.reference.ordered(*past, event), "full {past} {event}");
            assert_eq!(
                hybrid,
                self.reference.ordered_hybrid(*past, event),
                "hybrid {past} {event}"
            );
        }
    }

    fn finish(self) {
        assert_eq!(self.first_report, self.first_truth);
    }
}

fn check(machine: MachineKind, steps: &[Step]) {
    let mut harness = Harness::new(machine);
    for barrier in [BARRIER, BARRIER + 1] {
        harness.detector.barrier_init(ObjectId(barrier), 2);
    }
    for step in steps {
        harness.run(*step);
    }
    harness.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pure_happens_before_is_exact(steps in steps(160)) {
        check(MachineKind::Off, &steps);
    }

    #[test]
    fn the_machines_do_not_disturb_the_exact_relation(steps in steps(120)) {
        check(MachineKind::Short, &steps);
        check(MachineKind::Long, &steps);
    }
}
