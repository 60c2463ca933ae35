//! The control flow of one function: which blocks come before which, and its loops.
//!
//! Dominators are found as Cooper, Harvey and Kennedy describe ("A Simple, Fast Dominance Algorithm", 2001);
//! loops are natural ones. A jump back to a block that does not dominate it makes no loop here: whoever asks
//! learns that there is one that has no shape.

use std::collections::HashMap;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::values::{AsValueRef, FunctionValue};

/// The blocks that can be reached, numbered so that each comes after all that dominate it.
pub(crate) struct Flow {
    pub blocks: Vec<LLVMBasicBlockRef>,
    pub predecessors: Vec<Vec<usize>>,
    pub successors: Vec<Vec<usize>>,
    /// When a walk over the tree of dominators comes to a block, and when it leaves what is below.
    visits: Vec<(u32, u32)>,
}

/// Blocks that lead back to their header, and the header.
pub(crate) struct Loop {
    pub header: usize,
    /// Where control comes back from; more than one, and nobody can tell which is the last round.
    pub latches: Vec<usize>,
    /// In ascending order.
    pub blocks: Vec<usize>,
}

impl Loop {
    pub(crate) fn has(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

impl Flow {
    pub(crate) fn of(function: FunctionValue) -> Flow {
        // SAFETY: the function is alive, and so are its blocks.
        let entry = unsafe {
            match LLVMCountBasicBlocks(function.as_value_ref()) {
                0 => None,
                _ => Some(LLVMGetEntryBasicBlock(function.as_value_ref())),
            }
        };
        let blocks = entry.map(reverse_postorder).unwrap_or_default();
        let numbers: HashMap<_, _> =
            blocks.iter().enumerate().map(|(number, block)| (*block, number)).collect();
        let successors: Vec<Vec<usize>> = blocks
            .iter()
            .map(|block| {
                successors(*block).iter().filter_map(|to| numbers.get(to).copied()).collect()
            })
            .collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, all) in successors.iter().enumerate() {
            for to in all {
                predecessors[*to].push(from);
            }
        }
        let visits = visits(&immediate_dominators(&predecessors));
        Flow { blocks, predecessors, successors, visits }
    }

    /// Whether every way to `below` leads through `above`.
    pub(crate) fn dominates(&self, above: usize, below: usize) -> bool {
        let (above, below) = (self.visits[above], self.visits[below]);
        above.0 <= below.0 && below.1 <= above.1
    }

    /// Where control jumps back to: headers of loops, and of what only looks like one.
    pub(crate) fn is_returned_to(&self, block: usize) -> bool {
        self.predecessors[block].iter().any(|from| *from >= block)
    }

    /// The natural loops, inner ones before those around them.
    pub(crate) fn loops(&self) -> Vec<Loop> {
        let mut loops = Vec::new();
        for header in 0..self.blocks.len() {
            let back = |from: &usize| self.dominates(header, *from);
            let latches: Vec<usize> =
                self.predecessors[header].iter().copied().filter(back).collect();
            if !latches.is_empty() {
                let blocks = self.body(header, &latches);
                loops.push(Loop { header, latches, blocks });
            }
        }
        loops.sort_by_key(|one| one.blocks.len());
        loops
    }

    /// The blocks from which one of the latches is reached without passing the header.
    fn body(&self, header: usize, latches: &[usize]) -> Vec<usize> {
        let mut blocks = vec![header];
        let mut seen = std::collections::HashSet::from([header]);
        let mut open = latches.to_vec();
        while let Some(block) = open.pop() {
            if seen.insert(block) {
                blocks.push(block);
                open.extend(&self.predecessors[block]);
            }
        }
        blocks.sort_unstable();
        blocks
    }
}

fn successors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the block is alive; successors are asked for by their number.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        match end.is_null() {
            true => Vec::new(),
            false => (0..LLVMGetNumSuccessors(end)).map(|at| LLVMGetSuccessor(end, at)).collect(),
        }
    }
}

fn reverse_postorder(entry: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    let mut seen = std::collections::HashSet::from([entry]);
    let mut order = Vec::new();
    let mut open = vec![(entry, successors(entry), 0)];
    while let Some((block, all, next)) = open.last_mut() {
        match all.get(*next) {
            Some(&to) => {
                *next += 1;
                if seen.insert(to) {
                    open.push((to, successors(to), 0));
                }
            }
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

fn immediate_dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let mut dominators = vec![UNKNOWN; predecessors.len()];
    if let Some(entry) = dominators.first_mut() {
        *entry = 0;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..predecessors.len() {
            let known =
                predecessors[block].iter().copied().filter(|from| dominators[*from] != UNKNOWN);
            let common = known.reduce(|mut one, mut other| {
                while one != other {
                    if one > other { one = dominators[one] } else { other = dominators[other] }
                }
                one
            });
            let common = common.unwrap_or(UNKNOWN);
            changed |= common != dominators[block];
            dominators[block] = common;
        }
    }
    dominators
}

fn visits(dominators: &[usize]) -> Vec<(u32, u32)> {
    let mut below = vec![Vec::new(); dominators.len()];
    for (block, above) in dominators.iter().enumerate().skip(1) {
        below[*above].push(block);
    }
    let mut visits = vec![(0, 0); dominators.len()];
    let mut clock = 0;
    let mut open = if dominators.is_empty() { Vec::new() } else { vec![(0, 0)] };
    while let Some((block, next)) = open.last_mut() {
        clock += 1;
        if *next == 0 {
            visits[*block].0 = clock;
        }
        match below[*block].get(*next) {
            Some(&child) => {
                *next += 1;
                open.push((child, 0));
            }
            None => {
                visits[*block].1 = clock;
                open.pop();
            }
        }
    }
    visits
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::*;

    fn with_flow(body: &str, look: impl FnOnce(&Flow, &dyn Fn(&str) -> usize)) {
        let text = format!("define void @f(i1 %c) {{\n{body}}}\n");
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        let function = module.get_function("f").unwrap();
        let flow = Flow::of(function);
        let number = |name: &str| {
            let is_it =
                |block: &inkwell::basic_block::BasicBlock| block.get_name().to_str() == Ok(name);
            let block = function.get_basic_blocks().into_iter().find(is_it).unwrap();
            flow.blocks.iter().position(|one| *one == block.as_mut_ptr()).unwrap()
        };
        look(&flow, &number);
    }

    #[test]
    fn branches_do_not_dominate_where_they_meet() {
        let body = "a:\n  br i1 %c, label %b, label %d\nb:\n  br label %e\nd:\n  br label %e\n\
                    e:\n  ret void\n";
        with_flow(body, |flow, number| {
            assert!(flow.dominates(number("a"), number("e")));
            assert!(flow.dominates(number("e"), number("e")));
            assert!(!flow.dominates(number("b"), number("e")));
            assert!(!flow.dominates(number("e"), number("a")));
            assert!(flow.loops().is_empty());
        });
    }

    #[test]
    fn inner_loops_come_first() {
        let body = "a:\n  br label %outer\nouter:\n  br label %inner\n\
                    inner:\n  br i1 %c, label %inner, label %end\n\
                    end:\n  br i1 %c, label %outer, label %exit\nexit:\n  ret void\n";
        with_flow(body, |flow, number| {
            let loops = flow.loops();
            assert_eq!(loops.len(), 2);
            assert_eq!((loops[0].header, loops[1].header), (number("inner"), number("outer")));
            assert_eq!(loops[1].latches, [number("end")]);
            assert!(loops[1].has(number("inner")) && !loops[1].has(number("exit")));
        });
    }

    #[test]
    fn a_cycle_with_two_ways_in_is_no_loop() {
        let body = "a:\n  br i1 %c, label %b, label %d\nb:\n  br label %d\nd:\n  \
                    br i1 %c, label %b, label %exit\nexit:\n  ret void\n";
        with_flow(body, |flow, number| {
            assert!(flow.loops().is_empty());
            assert!(flow.is_returned_to(number("b")) || flow.is_returned_to(number("d")));
        });
    }
}
