//! What tells the members of one OpenMP team apart: the rounds of a shared loop, thread numbers,
//! and parts that one member alone runs (`single`, `master`, a `section`).
//!
//! All of it holds within one team only: with a team inside a team the same code may run in two at
//! once, and nothing is excluded. A shared loop or `single` that the team may meet again before
//! everyone has left it (in a loop of the region) is not followed, nor are tasks. Accesses in
//! functions that the region calls are told apart by their addresses only.

use racewarden_ir::{Callee, Function, FunctionId, InstId, Op, Program, Value};

use crate::cfg::Cfg;
use crate::contexts::GuardedAccess;
use crate::digests::{Digest, Whole, fits};
use crate::order::entered_once;
use crate::sym::{Atom, Sym};

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
        same_member(a, b, whole).then(|| "one member of the team makes both accesses".to_owned())
    }
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
    x.share == y.share
        && x.scale == y.scale
        && whole.is_invariant(&x.rest)
        && x.rest
            .distance(&y.rest)
            .is_some_and(|distance| fits(distance, a.size, b.size, x.scale.abs()))
}

fn shared(access: &GuardedAccess, whole: &Whole<'_>) -> Option<Shared> {
    let address = access.address.as_ref()?;
    address.terms.iter().find_map(|(atom, scale)| {
        let Atom::Inst(frame, inst) = atom else { return None };
        let function = whole.instantiation.function_of(*frame);
        let share = share_of(whole, function, *inst)?;
        // A function that the region calls may be met again before everyone has left it.
        let once = entered_once(whole, access.root, (function, 0));
        if share != Share::ThreadNumber && !once {
            return None;
        }
        let rest = address.plus(&Sym::atom(atom.clone()).scaled(-scale));
        Some(Shared { share, scale: *scale, rest })
    })
}

fn share_of(whole: &Whole<'_>, function: FunctionId, inst: u32) -> Option<Share> {
    let program = whole.instantiation.program;
    let body = program.module.function(function);
    match &body.instructions.get(inst as usize)?.op {
        Op::Call { callee: Callee::Direct(target), .. } => {
            (symbol(program, *target) == "omp_get_thread_num").then_some(Share::ThreadNumber)
        }
        Op::Phi { .. } => {
            is_shared_counter(whole, function, body, inst).then_some(Share::Round(function, inst))
        }
        _ => None,
    }
}

fn symbol(program: &Program, function: FunctionId) -> &str {
    program.module.name_text(program.module.function(function).name)
}

/// Whether the counter runs over the rounds that the library gave to this member.
fn is_shared_counter(whole: &Whole<'_>, function: FunctionId, body: &Function, phi: u32) -> bool {
    let Op::Phi { incoming } = &body.instructions[phi as usize].op else { return false };
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
    let [Value::Inst(InstId(load))] = starts.as_slice() else { return false };
    let Op::Load { address: Value::Inst(slot), .. } = &body.instructions[*load as usize].op else {
        return false;
    };
    lower_bound_of(whole, function, body, *slot)
}

/// Whether the library writes the first round to this slot, in a loop that the team meets once.
fn lower_bound_of(whole: &Whole<'_>, function: FunctionId, body: &Function, slot: InstId) -> bool {
    let program = whole.instantiation.program;
    let graph = whole.instantiation.graph;
    let mut gives = false;
    for (inst, instruction) in (0u32..).zip(&body.instructions) {
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
            continue;
        };
        let name = symbol(program, *target);
        let is_slot = |index: usize| arguments.get(index) == Some(&Value::Inst(slot));
        if name.starts_with("__kmpc_for_static_init_") && is_slot(4) {
            if graph.is_in_cycle(function, inst) {
                return false;
            }
            gives = true;
        }
        gives |= name.starts_with("__kmpc_dispatch_next_") && is_slot(3);
        // A loop given out piece by piece is met where it is set up.
        if name.starts_with("__kmpc_dispatch_init_") && graph.is_in_cycle(function, inst) {
            return false;
        }
    }
    gives
}

/// Whether both accesses are in a part of the region that one member alone runs.
fn same_member(a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> bool {
    if a.function != b.function {
        return false;
    }
    let body = whole.instantiation.program.module.function(a.function);
    let cfg = Cfg::new(body);
    let (Some(&at_a), Some(&at_b)) =
        (cfg.block_of.get(a.inst as usize), cfg.block_of.get(b.inst as usize))
    else {
        return false;
    };
    let masters = parts(whole, a.function, body, &cfg, Part::Master);
    let inside = |part: &u32, at: u32| cfg.dominates(*part, at);
    if masters.iter().any(|part| inside(part, at_a)) && masters.iter().any(|p| inside(p, at_b)) {
        return true;
    }
    let once = entered_once(whole, a.root, (a.function, 0));
    once && [Part::Single, Part::Section].into_iter().any(|kind| {
        parts(whole, a.function, body, &cfg, kind)
            .iter()
            .any(|part| inside(part, at_a) && inside(part, at_b))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Single,
    Master,
    Section,
}

/// The first blocks of such parts; a part is what its first block dominates.
fn parts(
    whole: &Whole<'_>,
    function: FunctionId,
    body: &Function,
    cfg: &Cfg,
    kind: Part,
) -> Vec<u32> {
    let program = whole.instantiation.program;
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
                let Op::Call { callee: Callee::Direct(target), .. } = &body.inst(*call).op else {
                    continue;
                };
                let name = symbol(program, *target);
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
                if kind == Part::Section && is_shared_counter(whole, function, body, phi.0) =>
            {
                found.extend(cases.iter().map(|case| case.block.0).filter(|to| only_way(*to)));
            }
            _ => {}
        }
    }
    found
}
