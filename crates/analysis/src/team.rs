//! What tells the members of one OpenMP team apart: the rounds of a shared loop, with what the loops
//! inside of it run over, thread numbers, and parts that one member alone runs (`single`, `master`, a
//! `section`, `lastprivate`).
//!
//! All of it holds within one team only: with a team inside a team the same code may run in two at
//! once, and nothing is excluded. A shared loop that the team may meet again before everyone has left it
//! (in a loop of the region, without a barrier on every way round) is not followed, nor is a `single` in
//! a loop of the region, nor are tasks. Accesses in
//! functions that the region calls are told apart by their addresses only.

use std::collections::BTreeSet;

use racewarden_ir::{Callee, Function, FunctionId, InstId, Op, Value};

use crate::cfg::Cfg;
use crate::contexts::{GuardedAccess, Instantiation};
use crate::digests::{Digest, Whole, fits};
use crate::order::entered_once;
use crate::pointsto::{CallSite, Location, ObjectKind};
use crate::ranges::{counter, is_counter};
use crate::sym::{Atom, Sym};
use crate::threads::RootId;

pub struct TeamShare;

impl Digest for TeamShare {
    fn name(&self) -> &'static str {
        "team"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        if a.root != b.root || !whole.is_flat_team(a.root) {
            return None;
        }
        if apart_by_address(a, b, whole) {
            return Some("each member of the team works on the part of its number".to_owned());
        }
        let site = |access: &GuardedAccess| (access.root, (access.function, access.inst));
        same_member(site(a), site(b), whole)
            .then(|| "one member of the team makes both accesses".to_owned())
    }
}

/// Starts the first threads of the teams of a league.
const LEAGUE: &str = "__kmpc_fork_teams";

impl Instantiation<'_> {
    /// Whether the root's threads are the first ones of the teams of a league.
    pub(crate) fn is_league(&self, root: RootId) -> bool {
        let create = self.threads.roots[root as usize].create.as_ref();
        matches!(create.and_then(|create| self.bodies.callee(create.site)),
            Some(Callee::Direct(target)) if self.bodies.symbol(*target) == LEAGUE)
    }
}

impl Instantiation<'_> {
    /// Whether the lock is the library's own for what a league reduces.
    fn is_of_reductions(&self, at: &Location) -> bool {
        match self.points.locations().objects[at.object as usize] {
            ObjectKind::Global(global) => {
                self.bodies.text(self.bodies.global(global).name).contains(".reduction.")
            }
            _ => false,
        }
    }
}

/// The locks that threads of leagues hold: one counts within a team only (OpenMP 5.2, 15.2 and 18.9).
pub(crate) fn locks_of_leagues(instantiation: &Instantiation<'_>) -> Vec<Location> {
    let roots = &instantiation.threads.roots;
    let mut within: Vec<bool> =
        (0..roots.len() as RootId).map(|root| instantiation.is_league(root)).collect();
    if !within.contains(&true) {
        return Vec::new();
    }
    // What threads of a league start belongs to its teams.
    for _ in 0..roots.len() {
        for (root, data) in roots.iter().enumerate() {
            let started = data.births.iter().any(|(parent, _)| within[*parent as usize]);
            within[root] |= started;
        }
    }
    let mut found: Vec<Location> = Vec::new();
    for access in instantiation.accesses.iter().filter(|access| within[access.root as usize]) {
        for at in access.state.held.iter().flat_map(|held| held.points.iter()) {
            if !found.contains(at) && !instantiation.is_of_reductions(at) {
                found.push(*at);
            }
        }
    }
    found
}

/// Where a member's own number or round comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    ThreadNumber,
    /// The counter of a shared loop.
    Round(FunctionId, u32),
}

/// `rest + scale·share`.
struct Shared {
    share: Share,
    scale: i64,
    rest: Sym,
}

fn apart_by_address(a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> bool {
    let (Some(x), Some(y)) = (shared(a, whole), shared(b, whole)) else { return false };
    if x.share != y.share || x.scale != y.scale {
        return false;
    }
    let invariant = whole.is_invariant(&x.rest);
    if invariant
        && x.rest
            .distance(&y.rest)
            .is_some_and(|distance| fits(distance, a.size, b.size, x.scale.abs()))
    {
        return true;
    }
    let (Some(p), Some(q)) = (reach(a, &x.rest, whole), reach(b, &y.rest, whole)) else {
        return false;
    };
    if p.0 != q.0 || !whole.is_invariant(&p.0) {
        return false;
    }
    // What the loops inside of the shared one run over is no longer than to the next round's.
    if p.2.max(q.2) - p.1.min(q.1) <= x.scale.abs() {
        return true;
    }
    // Or all rounds of one are before all of the other.
    let Share::Round(function, phi) = x.share else { return false };
    let Some(rounds) = rounds_of(whole, function, phi) else { return false };
    let span = rounds.saturating_mul(x.scale.abs());
    p.2.saturating_add(span) <= q.1 || q.2.saturating_add(span) <= p.1
}

/// The bytes that an access may touch in one round: from where, the first, and the one past the last.
fn reach(access: &GuardedAccess, rest: &Sym, whole: &Whole<'_>) -> Option<(Sym, i64, i64)> {
    let size = i64::try_from(access.size).ok().filter(|size| *size < LARGE)?;
    let mut base = rest.clone().shifted(-rest.offset);
    let (mut low, mut high) = (rest.offset, rest.offset);
    for (atom, scale) in &rest.terms {
        let Atom::Inst(frame, phi) = atom else { continue };
        if *frame != access.context + 1 || !is_counter(atom, access, whole) {
            continue;
        }
        let (first, last, _) = counter(access, *phi, whole)?;
        let (from, to) = (first.checked_mul(*scale)?, last.checked_mul(*scale)?);
        (low, high) = (low.checked_add(from.min(to))?, high.checked_add(from.max(to))?);
        base = base.plus(&Sym::atom(atom.clone()).scaled(-scale));
    }
    let inside = |value: i64| (-LARGE..LARGE).contains(&value);
    (inside(low) && inside(high)).then(|| (base, low, high + size))
}

/// Numbers beyond this are not looked at.
const LARGE: i64 = 1 << 40;

/// How far the first and the last round of a shared loop are apart at most, where both are constants.
fn rounds_of(whole: &Whole<'_>, function: FunctionId, phi: u32) -> Option<i64> {
    let (first, last) = first_and_last(whole, function, phi)?;
    let rounds = last.checked_sub(first)?;
    (0..LARGE).contains(&rounds).then_some(rounds)
}

/// The first and the last round of a shared loop, where both are constants.
pub(crate) fn first_and_last(
    whole: &Whole<'_>,
    function: FunctionId,
    phi: u32,
) -> Option<(i64, i64)> {
    let body = whole.instantiation.bodies.of(function);
    let lower = first_slot(body, phi)?;
    let bodies = &whole.instantiation.bodies;
    let mut upper = None;
    for instruction in &body.instructions {
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
            continue;
        };
        if arguments.get(LOWER) != Some(&Value::Inst(lower)) {
            continue;
        }
        let known = bodies.symbol(*target).starts_with(STATIC_INIT);
        let Some(Value::Inst(slot)) = arguments.get(UPPER).filter(|_| known && upper.is_none())
        else {
            return None;
        };
        upper = Some(*slot);
    }
    let constant_in = |slot: InstId| {
        let stored = body.instructions.iter().filter_map(|instruction| match &instruction.op {
            Op::Store { address: Value::Inst(to), value: Value::Int { bits, .. }, .. }
                if *to == slot =>
            {
                Some(*bits as i32)
            }
            _ => None,
        });
        let mut all: Vec<i32> = stored.collect();
        all.dedup();
        if let [one] = all[..] { Some(i64::from(one)) } else { None }
    };
    constant_in(lower).zip(constant_in(upper?))
}

const STATIC_INIT: &str = "__kmpc_for_static_init_4";
/// Where the library's call gets whether the member has the last round, and the bounds.
const LAST: usize = 3;
const LOWER: usize = 4;
const UPPER: usize = 5;

fn shared(access: &GuardedAccess, whole: &Whole<'_>) -> Option<Shared> {
    let address = access.address.as_ref()?;
    address.terms.iter().find_map(|(atom, scale)| {
        let Atom::Inst(frame, inst) = atom else { return None };
        let function = whole.instantiation.function_of(*frame);
        let share = share_of(whole, function, *inst)?;
        if share == Share::ThreadNumber && !whole.has_members(access.root) {
            return None;
        }
        // A function that the region calls may be met again before everyone has left it.
        let once = entered_once(whole, access.root, (function, 0));
        if share != Share::ThreadNumber && !once {
            return None;
        }
        let rest = address.plus(&Sym::atom(atom.clone()).scaled(-scale));
        Some(Shared { share, scale: *scale, rest })
    })
}

/// Tells a member's number in its team.
pub(crate) const THREAD_NUMBER: &str = "omp_get_thread_num";

fn share_of(whole: &Whole<'_>, function: FunctionId, inst: u32) -> Option<Share> {
    let bodies = &whole.instantiation.bodies;
    match &*bodies.op((function, inst))? {
        Op::Call { callee: Callee::Direct(target), .. } => {
            (bodies.symbol(*target) == THREAD_NUMBER).then_some(Share::ThreadNumber)
        }
        Op::Phi { .. } => {
            is_shared_counter(whole, function, inst).then_some(Share::Round(function, inst))
        }
        _ => None,
    }
}

/// Whether the counter runs over the rounds that the library gave to this member.
pub(crate) fn is_shared_counter(whole: &Whole<'_>, function: FunctionId, phi: u32) -> bool {
    let body = whole.instantiation.bodies.of(function);
    first_slot(body, phi).is_some_and(|slot| lower_bound_of(whole, function, body, slot))
}

/// Where a counter that goes up one by one finds its first value.
fn first_slot(body: &Function, phi: u32) -> Option<InstId> {
    let Op::Phi { incoming } = &body.instructions[phi as usize].op else { return None };
    let steps = |value: &Value| match value {
        Value::Inst(InstId(inst)) => matches!(
            &body.instructions[*inst as usize].op,
            Op::Binary { op: racewarden_ir::BinaryOp::Add, left: Value::Inst(InstId(left)), right }
                if *left == phi && matches!(right, Value::Int { bits: 1, .. })
        ),
        _ => false,
    };
    let starts: Vec<&Value> =
        incoming.iter().map(|edge| &edge.value).filter(|value| !steps(value)).collect();
    let [Value::Inst(InstId(load))] = starts.as_slice() else { return None };
    match &body.instructions[*load as usize].op {
        Op::Load { address: Value::Inst(slot), .. } => Some(*slot),
        _ => None,
    }
}

/// Whether the library writes the first round to this slot, in a loop that the team meets once.
fn lower_bound_of(whole: &Whole<'_>, function: FunctionId, body: &Function, slot: InstId) -> bool {
    let bodies = &whole.instantiation.bodies;
    let mut gives = false;
    for (inst, instruction) in (0u32..).zip(&body.instructions) {
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
            continue;
        };
        let name = bodies.symbol(*target);
        let is_slot = |index: usize| arguments.get(index) == Some(&Value::Inst(slot));
        if name.starts_with("__kmpc_for_static_init_") && is_slot(LOWER) {
            if may_meet_again(whole, function, inst) {
                return false;
            }
            gives = true;
        }
        gives |= name.starts_with("__kmpc_dispatch_next_") && is_slot(3);
        // A loop given out piece by piece is met where it is set up.
        if name.starts_with("__kmpc_dispatch_init_") && may_meet_again(whole, function, inst) {
            return false;
        }
    }
    gives
}

/// Whether a member may come from the call to the call again without having met a barrier. All members
/// have left one round of the call at a barrier before any comes to the next.
fn may_meet_again(whole: &Whole<'_>, function: FunctionId, inst: u32) -> bool {
    if !whole.instantiation.graph.is_in_cycle(function, inst) {
        return false;
    }
    let bodies = &whole.instantiation.bodies;
    let (cfg, blocks) = (bodies.cfg(function), bodies.blocks(function));
    let is_barrier = |at: u32| {
        let op = bodies.op((function, at));
        matches!(op.as_deref(), Some(Op::Call { callee: Callee::Direct(target), .. })
            if bodies.symbol(*target) == "__kmpc_barrier")
    };
    let mut seen = vec![false; blocks.len()];
    let mut open = vec![inst + 1];
    while let Some(from) = open.pop() {
        let block = cfg.block_of[from as usize];
        let end = blocks[block as usize].end.0;
        match (from..end).find(|at| *at == inst || is_barrier(*at)) {
            Some(at) if at == inst => return true,
            Some(_) => continue,
            None => {}
        }
        for &to in &cfg.successors[block as usize] {
            let start = blocks[to as usize].start.0;
            if !std::mem::replace(&mut seen[to as usize], true) {
                open.push(start);
            }
        }
    }
    false
}

/// Whether both are done in a part of the region that one member alone runs, by functions that are called
/// there, too.
pub(crate) fn same_member(
    (root, a): (RootId, CallSite),
    (other, b): (RootId, CallSite),
    whole: &Whole<'_>,
) -> bool {
    root == other
        && calls_to(root, a, whole).iter().any(|x| {
            let calls = calls_to(root, b, whole);
            calls.iter().any(|y| x.0 == y.0 && same_part(root, *x, *y, whole))
        })
}

/// The place, the call that leads there, and so on, as long as there is only one. How often it is made
/// does not matter: whoever comes to the place comes by it.
fn calls_to(root: RootId, site: CallSite, whole: &Whole<'_>) -> Vec<CallSite> {
    let instantiation = whole.instantiation;
    let own: BTreeSet<FunctionId> = instantiation
        .contexts
        .iter()
        .filter(|context| context.root == root)
        .map(|context| context.function)
        .collect();
    let mut found = vec![site];
    while found.len() <= MAX_CALLS
        && let Some((function, _)) = found.last().copied()
        && whole.root(root).function != function
    {
        let calls = own.iter().flat_map(|caller| {
            let calls = instantiation.summaries[caller.index()].calls.iter();
            calls.filter(|call| call.callee == function).map(|call| (*caller, call.inst))
        });
        let mut calls: BTreeSet<CallSite> = calls.collect();
        // Some are come to by what is no call of the program's.
        for context in instantiation.contexts.iter().filter(|own| own.root == root) {
            if let Some((parent, inst)) = context.parent
                && context.function == function
            {
                calls.insert((instantiation.function_of(parent + 1), inst));
            }
        }
        match calls.into_iter().collect::<Vec<_>>()[..] {
            [only] if !found.contains(&only) => found.push(only),
            _ => break,
        }
    }
    found
}

/// Calls of functions within each other that are looked at.
const MAX_CALLS: usize = 8;

fn same_part(root: RootId, a: CallSite, b: CallSite, whole: &Whole<'_>) -> bool {
    let function = a.0;
    let body = whole.instantiation.bodies.of(function);
    let cfg = Cfg::new(body);
    let (Some(&at_a), Some(&at_b)) =
        (cfg.block_of.get(a.1 as usize), cfg.block_of.get(b.1 as usize))
    else {
        return false;
    };
    let masters = parts(whole, function, body, &cfg, Part::Master);
    let inside = |part: &u32, at: u32| cfg.dominates(*part, at);
    if masters.iter().any(|part| inside(part, at_a)) && masters.iter().any(|p| inside(p, at_b)) {
        return true;
    }
    let once = entered_once(whole, root, (function, 0));
    once && [Part::Single, Part::Section, Part::Last].into_iter().any(|kind| {
        parts(whole, function, body, &cfg, kind)
            .iter()
            .any(|part| inside(part, at_a) && inside(part, at_b))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Single,
    Master,
    Section,
    /// What follows a shared loop on the member that had its last round.
    Last,
}

/// The first blocks of such parts; a part is what its first block dominates.
fn parts(
    whole: &Whole<'_>,
    function: FunctionId,
    body: &Function,
    cfg: &Cfg,
    kind: Part,
) -> Vec<u32> {
    let bodies = &whole.instantiation.bodies;
    let mut found = Vec::new();
    for &block in &cfg.order {
        let end = body.blocks[block as usize].end.index();
        let Some(last) = body.instructions.get(end.wrapping_sub(1)) else { continue };
        let only_way = |to: u32| cfg.predecessors[to as usize].as_slice() == [block];
        match &last.op {
            Op::Branch { condition: Value::Inst(condition), then, otherwise }
                if then != otherwise && kind != Part::Section =>
            {
                let Op::Compare {
                    op: racewarden_ir::CompareOp::Ne,
                    left: Value::Inst(call),
                    right,
                } = &body.inst(*condition).op
                else {
                    continue;
                };
                if kind == Part::Last {
                    let zero = matches!(right, Value::Int { bits: 0, .. });
                    if zero && only_way(then.0) && has_last_round(whole, function, body, *call) {
                        found.push(then.0);
                    }
                    continue;
                }
                let Op::Call { callee: Callee::Direct(target), .. } = &body.inst(*call).op else {
                    continue;
                };
                let name = bodies.symbol(*target);
                let fits = match kind {
                    Part::Single => {
                        name == "__kmpc_single"
                            && !whole.instantiation.graph.is_in_cycle(function, call.0)
                    }
                    _ => name == "__kmpc_master" || name == "__kmpc_masked",
                };
                if fits && matches!(right, Value::Int { bits: 0, .. }) && only_way(then.0) {
                    found.push(then.0);
                }
            }
            Op::Switch { value: Value::Inst(phi), cases, .. }
                if kind == Part::Section && is_shared_counter(whole, function, phi.0) =>
            {
                found.extend(cases.iter().map(|case| case.block.0).filter(|to| only_way(*to)));
            }
            _ => {}
        }
    }
    found
}

/// Whether the load tells that this member had the last round of a loop that the team meets once.
fn has_last_round(whole: &Whole<'_>, function: FunctionId, body: &Function, load: InstId) -> bool {
    let Op::Load { address: Value::Inst(slot), .. } = &body.inst(load).op else { return false };
    let mut gives = false;
    for (inst, instruction) in (0u32..).zip(&body.instructions) {
        match &instruction.op {
            Op::Call { callee: Callee::Direct(target), arguments, .. } => {
                let uses = arguments.contains(&Value::Inst(*slot));
                let name = whole.instantiation.bodies.symbol(*target);
                if uses && name.starts_with("llvm.lifetime") {
                    continue;
                }
                let known = name.starts_with("__kmpc_for_static_init_")
                    && arguments.get(LAST) == Some(&Value::Inst(*slot))
                    && !whole.instantiation.graph.is_in_cycle(function, inst)
                    && !gives;
                if uses && !known {
                    return false;
                }
                gives |= known;
            }
            Op::Store { address: Value::Inst(to), value, .. } if to == slot => {
                if !matches!(value, Value::Int { bits: 0, .. }) {
                    return false;
                }
            }
            Op::Load { .. } | Op::Nop => {}
            op => {
                let mentions = |value: &Value| *value == Value::Inst(*slot);
                if op.operands().into_iter().any(mentions) {
                    return false;
                }
            }
        }
    }
    gives
}
