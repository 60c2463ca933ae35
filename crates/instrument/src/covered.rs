//! Leaves out checks of what has been checked on every way there.
//!
//! Within one segment of its thread a second look at the same bytes finds nothing new, as long as it is of the
//! same kind or a weaker one: the detector would say so. `coalesce` knows that in straight code; this follows
//! it through branches and into loops. What was checked is forgotten at
//!
//! - calls, fences and atomic operations, which may end the segment;
//! - loops that nobody knows to end: one may wait for another thread's store, and what comes after it is then
//!   ordered after that store;
//! - where the address is computed anew: in the next round of a loop it is another one.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::{LLVMGetModuleDataLayout, LLVMTargetDataRef};
use inkwell::module::Module;
use inkwell::values::FunctionValue;

use crate::coalesce::{Check, Step, step_of};
use crate::flow::Flow;
use crate::loops::{ending_loops, instructions};

/// Facts times blocks that are worth the memory: larger functions stay as they are.
const MOST_BITS: usize = 1 << 26;

/// Leaves out such checks in every function of the module.
pub(crate) fn leave_out_covered(module: &Module) {
    // SAFETY: the module is alive and has a data layout.
    let layout = unsafe { LLVMGetModuleDataLayout(module.as_mut_ptr()) };
    for function in module.get_functions() {
        leave_out_in(function, layout);
    }
}

fn leave_out_in(function: FunctionValue, layout: LLVMTargetDataRef) {
    let flow = Flow::of(function);
    let facts = Facts::of(&flow, layout);
    if facts.all.len().saturating_mul(flow.blocks.len()) > MOST_BITS {
        return;
    }
    let blocks = facts.events(&flow, layout);
    if blocks.iter().flatten().filter(|event| matches!(event, Event::Checks(..))).count() < 2 {
        return;
    }
    let entered = facts.where_entered(&flow, &blocks, &ending_loops(&flow, layout));
    for (events, mut known) in blocks.iter().zip(entered) {
        for event in events {
            match event {
                Event::Checks(fact, call) if known.has(*fact) => {
                    // SAFETY: the call returns nothing, so nothing uses it; each is in one event.
                    unsafe { LLVMInstructionEraseFromParent(*call) };
                }
                _ => facts.follow(event, &mut known),
            }
        }
    }
}

/// What a block does that matters here, in its order.
enum Event {
    /// The fact that it makes true, and the call.
    Checks(usize, LLVMValueRef),
    /// An address that checks name is computed.
    Computes(LLVMValueRef),
    Ends,
}

/// A set of facts.
#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn none(facts: usize) -> Bits {
        Bits(vec![0; facts.div_ceil(64)])
    }

    fn all(facts: usize) -> Bits {
        Bits(vec![u64::MAX; facts.div_ceil(64)])
    }

    fn has(&self, fact: usize) -> bool {
        self.0[fact / 64] >> (fact % 64) & 1 != 0
    }

    fn put(&mut self, fact: usize, holds: bool) {
        let bit = 1 << (fact % 64);
        if holds { self.0[fact / 64] |= bit } else { self.0[fact / 64] &= !bit }
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    fn keep_common(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }
}

/// Which bytes were checked, as what: each of a function's checks makes one of these true.
#[derive(Default)]
struct Facts {
    all: Vec<Check>,
    numbers: HashMap<(LLVMValueRef, i64, Option<i64>, bool), usize>,
    of_root: HashMap<LLVMValueRef, Vec<usize>>,
    /// For each the facts that are true with it.
    with: Vec<Vec<usize>>,
}

impl Facts {
    fn of(flow: &Flow, layout: LLVMTargetDataRef) -> Facts {
        let mut facts = Facts::default();
        for block in &flow.blocks {
            // SAFETY: the block is alive, and nothing is changed.
            for instruction in unsafe { instructions(*block) } {
                // SAFETY: as above.
                if let Step::Check(check) = unsafe { step_of(instruction, layout) }
                    && check.size.is_some()
                {
                    facts.add(check);
                }
            }
        }
        for of_root in facts.of_root.values_mut() {
            of_root.sort_by_key(|fact| facts.all[*fact].offset);
        }
        facts.with = (0..facts.all.len()).map(|fact| facts.covered_by(fact)).collect();
        facts
    }

    fn key(check: &Check) -> (LLVMValueRef, i64, Option<i64>, bool) {
        (check.root, check.offset, check.size, check.write)
    }

    fn add(&mut self, check: Check) {
        self.numbers.entry(Facts::key(&check)).or_insert_with(|| {
            self.all.push(check);
            self.of_root.entry(check.root).or_default().push(self.all.len() - 1);
            self.all.len() - 1
        });
    }

    fn covered_by(&self, fact: usize) -> Vec<usize> {
        let check = self.all[fact];
        let end = check.offset.saturating_add(check.size.unwrap_or(0));
        let beside = &self.of_root[&check.root];
        let first = beside.partition_point(|other| self.all[*other].offset < check.offset);
        let inside = beside[first..].iter().take_while(|other| self.all[**other].offset < end);
        inside.copied().filter(|other| check.covers(&self.all[*other])).collect()
    }

    fn events(&self, flow: &Flow, layout: LLVMTargetDataRef) -> Vec<Vec<Event>> {
        let event = |instruction: LLVMValueRef| {
            // SAFETY: the instruction is alive, and nothing is changed.
            match unsafe { step_of(instruction, layout) } {
                Step::Check(check) => self
                    .numbers
                    .get(&Facts::key(&check))
                    .map(|fact| Event::Checks(*fact, check.call)),
                Step::End => Some(Event::Ends),
                Step::Neutral => {
                    self.of_root.contains_key(&instruction).then_some(Event::Computes(instruction))
                }
            }
        };
        flow.blocks
            .iter()
            // SAFETY: the block is alive, and nothing is changed.
            .map(|block| unsafe { instructions(*block) }.filter_map(event).collect())
            .collect()
    }

    fn follow(&self, event: &Event, known: &mut Bits) {
        match event {
            Event::Checks(fact, _) => {
                self.with[*fact].iter().for_each(|fact| known.put(*fact, true));
            }
            Event::Computes(root) => {
                self.of_root[root].iter().for_each(|fact| known.put(*fact, false));
            }
            Event::Ends => known.clear(),
        }
    }

    /// What is known where each block begins.
    fn where_entered(
        &self,
        flow: &Flow,
        blocks: &[Vec<Event>],
        ending: &HashSet<usize>,
    ) -> Vec<Bits> {
        let (none, all) = (Bits::none(self.all.len()), Bits::all(self.all.len()));
        // What a block leaves known of everything, and of nothing.
        let through = |start: &Bits, events: &[Event]| {
            let mut known = start.clone();
            events.iter().for_each(|event| self.follow(event, &mut known));
            known
        };
        let keeps: Vec<Bits> = blocks.iter().map(|events| through(&all, events)).collect();
        let gives: Vec<Bits> = blocks.iter().map(|events| through(&none, events)).collect();
        let mut leaves = keeps.clone();
        let mut entered = vec![all; blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..blocks.len() {
                let is_fresh = block == 0 || flow.is_returned_to(block) && !ending.contains(&block);
                let mut known = if is_fresh { none.clone() } else { entered[block].clone() };
                flow.predecessors[block].iter().for_each(|from| known.keep_common(&leaves[*from]));
                if known == entered[block] && block != 0 {
                    continue;
                }
                let words = keeps[block].0.iter().zip(&gives[block].0).zip(&known.0);
                let left =
                    Bits(words.map(|((keeps, gives), known)| known & keeps | gives).collect());
                changed |= left != leaves[block];
                (leaves[block], entered[block]) = (left, known);
            }
        }
        entered
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::leave_out_covered;

    /// The lines of the function's checks after the pass.
    fn left(blocks: &str) -> Vec<String> {
        let text = format!(
            "declare void @__tsan_read4(ptr)\ndeclare void @__tsan_write4(ptr)\n\
             declare void @__tsan_read8(ptr)\ndeclare void @unlock()\n\
             define void @f(ptr %p, ptr %q, i1 %c, i64 %n) {{\n{blocks}}}\n"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        leave_out_covered(&module);
        module.verify().unwrap();
        let printed = module.print_to_string().to_string();
        let (_, body) = printed.split_once("define void @f").unwrap();
        let calls = body.lines().filter_map(|line| line.trim().strip_prefix("call void @"));
        calls.filter_map(|call| call.strip_prefix("__tsan_")).map(str::to_owned).collect()
    }

    const READ: &str = "  call void @__tsan_read4(ptr %p)\n";
    const WRITE: &str = "  call void @__tsan_write4(ptr %p)\n";

    fn fork(one: &str, other: &str, before: &str, after: &str) -> Vec<String> {
        left(&format!(
            "start:\n{before}  br i1 %c, label %one, label %other\none:\n{one}  br label %end\n\
             other:\n{other}  br label %end\nend:\n{after}  ret void\n"
        ))
    }

    #[test]
    fn what_was_checked_before_a_branch_is_known_in_both_and_after() {
        assert_eq!(fork(READ, READ, WRITE, READ), ["write4(ptr %p)"]);
    }

    #[test]
    fn both_ways_must_have_checked_it() {
        assert_eq!(fork(READ, READ, "", READ).len(), 2);
        assert_eq!(fork(READ, "", "", READ).len(), 2);
        assert_eq!(fork(READ, WRITE, "", WRITE).len(), 3);
    }

    #[test]
    fn a_call_on_one_way_may_end_the_segment() {
        assert_eq!(fork("  call void @unlock()\n", "", WRITE, WRITE).len(), 2);
    }

    #[test]
    fn reads_do_not_stand_for_writes_nor_halves_for_the_whole() {
        assert_eq!(fork("", "", READ, WRITE).len(), 2);
        assert_eq!(fork("", "", READ, "  call void @__tsan_read8(ptr %p)\n").len(), 2);
        let upper = "  %u = getelementptr i8, ptr %p, i64 4\n  call void @__tsan_read4(ptr %u)\n";
        assert_eq!(fork("", "", "  call void @__tsan_read8(ptr %p)\n", upper).len(), 1);
    }

    fn round(before: &str, body: &str, condition: &str) -> Vec<String> {
        left(&format!(
            "start:\n{before}  br label %loop\nloop:\n  \
             %i = phi i64 [ 0, %start ], [ %next, %loop ]\n{body}  %next = add i64 %i, 1\n\
             {condition}  br i1 %done, label %end, label %loop\nend:\n  ret void\n"
        ))
    }

    const COUNTS: &str = "  %done = icmp eq i64 %next, %n\n";

    #[test]
    fn loops_that_end_know_what_was_checked_before() {
        assert_eq!(round(READ, READ, COUNTS).len(), 1);
        assert_eq!(round("", READ, COUNTS).len(), 1);
    }

    #[test]
    fn a_loop_may_wait_for_what_it_reads() {
        let looks = "  %v = load i64, ptr %p\n  %done = icmp eq i64 %v, 0\n";
        assert_eq!(round(READ, READ, looks).len(), 2);
    }

    #[test]
    fn the_next_round_has_another_address() {
        let body = "  %a = getelementptr i32, ptr %p, i64 %i\n  \
                    call void @__tsan_read4(ptr %a)\n  call void @__tsan_read4(ptr %a)\n";
        assert_eq!(round("", body, COUNTS).len(), 1);
        let following = "  %a = load ptr, ptr %q\n  call void @__tsan_read4(ptr %a)\n";
        assert_eq!(round(following.replace("%a", "%b").as_str(), following, COUNTS).len(), 2);
    }
}
