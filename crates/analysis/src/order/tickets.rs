//! Ticket locks: a counter that gives every comer a number, and a word that says whose turn it is.
//!
//! Numbers are drawn by adding one to a word that nothing else changes, so no two are the same. The
//! turn starts where the numbers do and is passed on by storing the own number plus one, and only by
//! the thread that has the turn: then it takes each value once, and whoever finds its own number
//! there is alone until it passes the turn on. The look must acquire and the store release. Drawing,
//! waiting and passing on must be in one function, by one variable.

use racewarden_ir::{BinaryOp, CompareOp, Function, FunctionId, Op, RmwOp, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Facts;
use super::events::{Event, Word, WriteKind};
use super::exclusive::{Exclusive, Step, balance, users};
use super::flags::{acquires, releases};
use super::timeline::{Branch, NodeId};
use crate::digests::Whole;
use crate::pointsto::CallSite;

pub fn ticket_lock(whole: &Whole<'_>, facts: &Facts, turn: u32, word: &Word) -> Option<Exclusive> {
    let bodies = &whole.instantiation.bodies;
    // Where the turn is passed on, and by whose number.
    let mut gives: FxHashSet<CallSite> = FxHashSet::default();
    let mut draws: FxHashSet<CallSite> = FxHashSet::default();
    for write in &word.writes {
        let body = bodies.of(write.site.0);
        let draw = number_passed_on(body, write.site.1)?;
        if write.kind != WriteKind::Store || !releases(write.order) {
            return None;
        }
        gives.insert(write.site);
        draws.insert((write.site.0, draw));
    }
    let first = *draws.iter().next()?;
    let Some(Event::Write(numbers)) = facts.events.at(first.0, first.1) else { return None };
    let drawn = &facts.events.words[*numbers as usize];
    let all_drawn = drawn.writes.iter().all(|write| {
        matches!(
            bodies.op(write.site).as_deref(),
            Some(Op::AtomicRmw { op: RmwOp::Add, value: Value::Int { bits: 1, .. }, .. })
        )
    });
    let own = |draw: &CallSite| facts.events.at(draw.0, draw.1) == Some(&Event::Write(*numbers));
    if *numbers == turn
        || !all_drawn
        || drawn.initial.is_none()
        || drawn.initial != word.initial
        || drawn.size != word.size
        || word.size < 4
        || !draws.iter().all(own)
    {
        return None;
    }
    let mut taken: FxHashSet<(FunctionId, u32, u32)> = FxHashSet::default();
    for look in word.looks.iter().filter(|look| acquires(look.order)) {
        let body = bodies.of(look.site.0);
        taken.extend(
            turn_edges(body, look.result, |number| draws.contains(&(look.site.0, number)))
                .map(|branch| (look.site.0, branch.block, branch.to)),
        );
    }
    let concerns = |event: &Event| *event == Event::Write(turn) || *event == Event::Write(*numbers);
    let mut held = FxHashMap::default();
    for root in users(facts, concerns)? {
        let timeline = facts.timelines.get(&root)?;
        let step = |event: &Event, site: CallSite| match event {
            Event::Write(number) if *number == turn && gives.contains(&site) => Some(Step::Give),
            Event::Write(number) if number == numbers => Some(Step::Ask),
            _ => None,
        };
        let takes = |from: NodeId, branch: Option<Branch>| {
            let function = timeline.nodes[from as usize].function;
            branch.is_some_and(|branch| taken.contains(&(function, branch.block, branch.to)))
        };
        held.insert(root, balance(timeline, step, takes)?);
    }
    Some(Exclusive { held })
}

/// The instruction that drew the number of which the store stores the next.
fn number_passed_on(body: &Function, store: u32) -> Option<u32> {
    let Op::Store { value: Value::Inst(next), .. } = &body.instructions[store as usize].op else {
        return None;
    };
    match &body.instructions[next.index()].op {
        Op::Binary {
            op: BinaryOp::Add,
            left: Value::Inst(number),
            right: Value::Int { bits: 1, .. },
        } => Some(number.0),
        _ => None,
    }
}

/// Branches that are taken when what was looked at is such a number.
fn turn_edges(
    body: &Function,
    look: u32,
    is_number: impl Fn(u32) -> bool,
) -> impl Iterator<Item = Branch> {
    let compared = |condition: &Value| {
        let Value::Inst(condition) = condition else { return None };
        match &body.instructions[condition.index()].op {
            Op::Compare { op, left: Value::Inst(left), right: Value::Inst(right) } => {
                let both = (left.0 == look && is_number(right.0))
                    || (right.0 == look && is_number(left.0));
                match op {
                    CompareOp::Eq if both => Some(true),
                    CompareOp::Ne if both => Some(false),
                    _ => None,
                }
            }
            _ => None,
        }
    };
    let mut found = Vec::new();
    for (block, range) in (0u32..).zip(&body.blocks) {
        let last = body.instructions.get(range.end.index().wrapping_sub(1)).map(|i| &i.op);
        if let Some(Op::Branch { condition, then, otherwise }) = last
            && then != otherwise
            && let Some(equal) = compared(condition)
        {
            found.push(Branch { block, to: if equal { then.0 } else { otherwise.0 } });
        }
    }
    found.into_iter()
}
