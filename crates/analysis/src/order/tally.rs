//! Counts that every thread adds to once: whoever finds the count full comes after all of them.
//!
//! A reference count, a latch or a counter under a lock that starts at a known value and that nothing
//! changes but steps of one and the same amount, each thread taking each of its steps at most once.
//! With the number of threads known, the number of steps is. A branch that only the last value lets
//! through, or only the step that makes it, comes after every step and so after whatever each thread
//! did before its own. The step that makes it is made by one thread only, so two accesses behind such
//! branches exclude each other as well.
//!
//! Steps must release and the look acquire (C11: read-modify-writes continue each other's release
//! sequences), or all happen under one lock. Not seen: counts that threads also add to on the way (a
//! reference that is copied), several steps by one thread in a loop.

use racewarden_ir::{BinaryOp, Op, RmwOp, Value};
use rustc_hash::FxHashMap;

use super::barriers::thread_count;
use super::events::{Event, Look, LookKind, Word, Write, WriteKind};
use super::flags::{Gate, acquires, releases, told_nodes};
use super::handoff::Tables;
use super::timeline::NodeId;
use super::values::Content;
use super::{Facts, Stand, entered_once};
use crate::contexts::GuardedAccess;
use crate::digests::Whole;
use crate::pointsto::CallSite;
use crate::threads::RootId;

pub struct Tally {
    /// The steps themselves, which come before whatever the last one lets through.
    pub(super) steps: Vec<CallSite>,
    /// Nodes of those who count that may run after their step.
    pub(super) counted: FxHashMap<RootId, Vec<bool>>,
    /// Nodes that are reached only when all have counted.
    pub(super) full: FxHashMap<RootId, Vec<bool>>,
    /// The same, for the one thread that made the last step.
    pub(super) last: FxHashMap<RootId, Vec<bool>>,
}

impl Tally {
    pub fn orders(&self, before: &Stand, after: &Stand) -> bool {
        let within = |sets: &FxHashMap<RootId, Vec<bool>>, stand: &Stand| {
            !stand.at_event
                && sets
                    .get(&stand.root)
                    .is_some_and(|set| stand.nodes.iter().all(|node| set[*node as usize]))
        };
        let is_step = self.steps.contains(&before.site);
        let counts_later = self.counted.get(&before.root).is_some_and(|counted| {
            is_step || before.nodes.iter().all(|node| !counted[*node as usize])
        });
        let is_full = within(&self.full, after) || within(&self.last, after);
        (counts_later && is_full) || (within(&self.last, before) && within(&self.last, after))
    }
}

/// Steps of all threads before they count as too many.
const MAX_STEPS: i64 = 64;

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Tally> {
    let mut tables = Tables::default();
    (0u32..)
        .zip(&facts.events.words)
        .filter_map(|(number, word)| tally(whole, facts, number, word, &mut tables))
        .collect()
}

fn tally(
    whole: &Whole<'_>,
    facts: &Facts,
    number: u32,
    word: &Word,
    tables: &mut Tables,
) -> Option<Tally> {
    let Content::Bits(initial) = word.initial? else { return None };
    let (first, rest) = word.writes.split_first()?;
    let step = step_of(whole, word, first)?;
    if rest.iter().any(|write| step_of(whole, word, write) != Some(step)) {
        return None;
    }
    let locked = step.locked;
    if locked && !all_under_one_lock(whole, facts, word) {
        return None;
    }
    if !locked && !word.writes.iter().all(|write| releases(write.order)) {
        return None;
    }
    let roots = counters(facts, word);
    let mut steps = 0;
    for (index, &root) in roots.iter().enumerate() {
        let mut threads = thread_count(whole, facts, root)?.as_constant()?;
        if roots[..index].iter().any(|other| whole.start_in_one_call(*other, root)) {
            threads = 0;
        }
        let own = word.writes.iter().filter(|w| facts.runners(w.site.0).contains(&root));
        for write in own {
            if !entered_once(whole, root, write.site) {
                return None;
            }
            steps += threads;
        }
    }
    if !(1..=MAX_STEPS).contains(&steps) {
        return None;
    }
    let mask = if word.size >= 8 { u64::MAX } else { (1 << (8 * word.size)) - 1 };
    let value = |done: i64| {
        Content::Bits(initial.wrapping_add((step.amount.wrapping_mul(done)) as u64) & mask)
    };
    // All values before the last, and those that the steps before the last one find.
    let partial: Vec<Content> = (0..steps).map(value).collect();
    let early: Vec<Content> = (0..steps - 1).map(value).collect();
    let distinct = (0..=steps).all(|a| (0..a).all(|b| value(a) != value(b)));
    if !distinct {
        return None;
    }
    let (mut full, mut last) = (Vec::new(), Vec::new());
    for look in &word.looks {
        let own = word.writes.iter().any(|write| write.site == look.site);
        // A look under a lock that is part of a step may find any value.
        let refusing = if own { &early } else { &partial };
        if look.kind != LookKind::Value || !(locked || look.order.is_some()) {
            continue;
        }
        let branches = tables.refused(whole, (look.site.0, look.result), refusing);
        let gates = branches.into_iter().map(|at| gate(at, look, locked));
        if own { last.extend(gates) } else { full.extend(gates) }
    }
    let waits = facts.events.sites().filter(|(_, event)| **event == Event::Full(number));
    // Who counts on after nothing is left is not waited for.
    let ends = value(steps) == Content::Bits(0);
    let waits: Vec<CallSite> = waits.map(|(site, _)| *site).filter(|_| ends).collect();
    if full.is_empty() && last.is_empty() && waits.is_empty() {
        return None;
    }
    let mut counted = FxHashMap::default();
    for root in roots {
        let own = facts.timelines.get(&root)?;
        let tells = own.events().filter(|(_, event)| **event == Event::Write(number));
        let tells: Vec<NodeId> = tells.map(|(id, _)| id).collect();
        counted.insert(root, own.reach(tells, |_, _, _| true));
    }
    Some(Tally {
        steps: word.writes.iter().map(|write| write.site).collect(),
        counted,
        full: reached_behind(facts, &full, &waits),
        last: reached_behind(facts, &last, &[]),
    })
}

/// The nodes of each thread that lie behind one of the gates, or one of the calls.
fn reached_behind(
    facts: &Facts,
    gates: &[Gate],
    waits: &[CallSite],
) -> FxHashMap<RootId, Vec<bool>> {
    let gates: Vec<&Gate> = gates.iter().collect();
    let mut found = FxHashMap::default();
    for (root, timeline) in &facts.timelines {
        let has_wait = waits.iter().any(|site| timeline.has(site.0));
        if has_wait || gates.iter().any(|gate| timeline.has(gate.at.0)) {
            found.insert(*root, told_nodes(timeline, &gates, waits));
        }
    }
    found
}

fn gate(
    at: (racewarden_ir::FunctionId, super::timeline::Branch),
    look: &Look,
    locked: bool,
) -> Gate {
    Gate {
        at,
        owner: None,
        writes: Vec::new(),
        acquires: locked || acquires(look.order),
        releases: true,
        look: look.site,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepKind {
    pub amount: i64,
    /// A plain load and store, which a lock must keep together.
    pub locked: bool,
}

pub(super) fn step_of(whole: &Whole<'_>, word: &Word, write: &Write) -> Option<StepKind> {
    let signed = |value: &Value| match value {
        Value::Int { bits, .. } if *bits != 0 && *bits < 1 << 31 => Some(*bits as i64),
        // Minus one, as wide as the word.
        Value::Int { bits, .. } if word.size <= 8 && *bits == u64::MAX >> (64 - 8 * word.size) => {
            Some(-1)
        }
        _ => None,
    };
    match &*whole.instantiation.bodies.op(write.site)? {
        Op::AtomicRmw { op, value, .. } => match op {
            RmwOp::Add => Some(StepKind { amount: signed(value)?, locked: false }),
            RmwOp::Sub => Some(StepKind { amount: -signed(value)?, locked: false }),
            _ => None,
        },
        Op::Store { address: place, value: Value::Inst(sum), order: None, .. } => {
            let body = whole.instantiation.bodies.of(write.site.0);
            let Op::Binary { op, left: Value::Inst(load), right } =
                &body.instructions[sum.index()].op
            else {
                return None;
            };
            let amount = match op {
                BinaryOp::Add => signed(right)?,
                BinaryOp::Sub => -signed(right)?,
                _ => return None,
            };
            // Nothing between the load and the store could give the lock away.
            let together = load.0 < write.site.1
                && (load.0..write.site.1).all(|inst| {
                    !matches!(
                        body.instructions[inst as usize].op,
                        Op::Call { .. } | Op::Branch { .. } | Op::Jump { .. } | Op::Switch { .. }
                    )
                });
            let from = match &body.instructions[load.index()].op {
                Op::Load { address, .. } => Some(address),
                _ => None,
            };
            let own = from == Some(place)
                && word.looks.iter().any(|look| look.site == (write.site.0, load.0));
            (together && own).then_some(StepKind { amount, locked: true })
        }
        // A latch that is counted down.
        Op::Call { .. } => {
            let WriteKind::CountDown(amount) = write.kind else { return None };
            let amount =
                i64::try_from(amount).ok().filter(|amount| (1..1 << 31).contains(amount))?;
            Some(StepKind { amount: -amount, locked: false })
        }
        _ => None,
    }
}

/// Those who take a step.
fn counters(facts: &Facts, word: &Word) -> Vec<RootId> {
    let mut roots: Vec<RootId> =
        word.writes.iter().flat_map(|w| facts.runners(w.site.0).iter().copied()).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// Whether any two accesses to the word, one of them a write, are made under one lock.
pub(super) fn all_under_one_lock(whole: &Whole<'_>, facts: &Facts, word: &Word) -> bool {
    let at = |site: CallSite| -> Vec<&GuardedAccess> {
        let numbers = facts.accesses.get(&site).into_iter().flatten();
        numbers.map(|number| &whole.instantiation.accesses[*number as usize]).collect()
    };
    let looks: Vec<&GuardedAccess> = word.looks.iter().flat_map(|look| at(look.site)).collect();
    let writes: Vec<&GuardedAccess> = word.writes.iter().flat_map(|w| at(w.site)).collect();
    !writes.is_empty()
        && writes
            .iter()
            .all(|write| looks.iter().chain(&writes).all(|other| whole.share_lock(write, other)))
}
