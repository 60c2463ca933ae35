//! The control-flow graph of one function: edges, reverse postorder, dominators and natural loops.
//!
//! Irreducible cycles are no natural loop; `in_cycle` still answers for them, because it is
//! computed from strongly connected components and not from back edges.

use racewarden_ir::{BlockId, Function, Op};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

pub type Edges = SmallVec<[u32; 2]>;

#[derive(Debug, Default)]
pub struct Cfg {
    pub successors: Vec<Edges>,
    pub predecessors: Vec<Edges>,
    /// Reachable blocks in reverse postorder.
    pub order: Vec<u32>,
    /// Position in `order`; `u32::MAX` for unreachable blocks.
    pub position: Vec<u32>,
    pub dominator: Vec<u32>,
    /// The block of each instruction.
    pub block_of: Vec<u32>,
    /// Whether the block lies on a cycle.
    pub in_cycle: Vec<bool>,
    pub loops: Vec<Loop>,
    /// Innermost natural loop of each block, `u32::MAX` for none.
    pub loop_of: Vec<u32>,
    /// The loop that each block is the header of, `u32::MAX` for none.
    pub headed: Vec<u32>,
}

impl Cfg {
    /// Whether the block is part of the loop and entered at most once in each of its rounds.
    pub fn once_per_round(&self, index: u32, block: u32) -> bool {
        let body = &self.loops[index as usize];
        if !body.contains(block) {
            return false;
        }
        let mut seen = vec![block];
        let mut next = 0;
        while let Some(&at) = seen.get(next) {
            next += 1;
            for &to in &self.successors[at as usize] {
                if to == block && to != body.header {
                    return false;
                }
                if to != body.header && body.contains(to) && !seen.contains(&to) {
                    seen.push(to);
                }
            }
        }
        true
    }
}

#[derive(Debug)]
pub struct Loop {
    pub header: u32,
    /// Sorted.
    pub blocks: Vec<u32>,
    pub latches: Edges,
}

impl Loop {
    pub fn contains(&self, block: u32) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

pub const NONE: u32 = u32::MAX;

impl Cfg {
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut cfg = Cfg {
            successors: vec![Edges::new(); count],
            predecessors: vec![Edges::new(); count],
            position: vec![NONE; count],
            dominator: vec![NONE; count],
            block_of: vec![0; function.instructions.len()],
            in_cycle: vec![false; count],
            loop_of: vec![NONE; count],
            headed: vec![NONE; count],
            ..Cfg::default()
        };
        for (index, block) in function.blocks.iter().enumerate() {
            for inst in block.start.0..block.end.0 {
                cfg.block_of[inst as usize] = index as u32;
            }
            if block.end.0 > block.start.0 {
                let last = &function.instructions[block.end.index() - 1].op;
                successors_of(last, &mut cfg.successors[index]);
            }
        }
        for from in 0..count {
            for to in cfg.successors[from].clone() {
                cfg.predecessors[to as usize].push(from as u32);
            }
        }
        if count > 0 {
            cfg.compute_order();
            cfg.compute_dominators();
            cfg.compute_cycles();
            cfg.compute_loops();
        }
        cfg
    }

    /// The natural loop with this header.
    pub fn loop_at(&self, header: u32) -> Option<&Loop> {
        self.loops.get(self.headed[header as usize] as usize)
    }

    fn compute_order(&mut self) {
        let mut seen = vec![false; self.successors.len()];
        let mut stack: Vec<(u32, usize)> = vec![(0, 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.last_mut() {
            let edges = &self.successors[*block as usize];
            if let Some(&to) = edges.get(*next) {
                *next += 1;
                if !seen[to as usize] {
                    seen[to as usize] = true;
                    stack.push((to, 0));
                }
            } else {
                self.order.push(*block);
                stack.pop();
            }
        }
        self.order.reverse();
        for (position, &block) in self.order.iter().enumerate() {
            self.position[block as usize] = position as u32;
        }
    }

    /// Cooper, Harvey and Kennedy's iteration over the reverse postorder.
    fn compute_dominators(&mut self) {
        self.dominator[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.order.iter().skip(1) {
                let mut new = NONE;
                for &pred in &self.predecessors[block as usize] {
                    if self.dominator[pred as usize] == NONE {
                        continue;
                    }
                    new = if new == NONE { pred } else { self.common(new, pred) };
                }
                if new != self.dominator[block as usize] {
                    self.dominator[block as usize] = new;
                    changed = true;
                }
            }
        }
    }

    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            while self.position[a as usize] > self.position[b as usize] {
                a = self.dominator[a as usize];
            }
            while self.position[b as usize] > self.position[a as usize] {
                b = self.dominator[b as usize];
            }
        }
        a
    }

    pub fn dominates(&self, a: u32, mut b: u32) -> bool {
        if self.position[b as usize] == NONE || self.position[a as usize] == NONE {
            return false;
        }
        while self.position[b as usize] > self.position[a as usize] {
            b = self.dominator[b as usize];
        }
        a == b
    }

    fn compute_cycles(&mut self) {
        let components = crate::scc::components(self.successors.len(), |node| {
            self.successors[node as usize].iter().copied()
        });
        for component in components {
            let first = component[0];
            let cyclic = component.len() > 1 || self.successors[first as usize].contains(&first);
            for block in component {
                self.in_cycle[block as usize] = cyclic;
            }
        }
    }

    fn compute_loops(&mut self) {
        let mut latches: Vec<Edges> = vec![Edges::new(); self.successors.len()];
        for &block in &self.order {
            for &to in &self.successors[block as usize] {
                if self.dominates(to, block) {
                    latches[to as usize].push(block);
                }
            }
        }
        // Inner headers come later in the order, so that they overwrite `loop_of` last.
        for &header in &self.order {
            if latches[header as usize].is_empty() {
                continue;
            }
            let mut blocks = vec![header];
            let mut stack: Vec<u32> = Vec::new();
            let mut inside = rustc_hash::FxHashSet::default();
            inside.insert(header);
            for &latch in &latches[header as usize] {
                if inside.insert(latch) {
                    blocks.push(latch);
                    stack.push(latch);
                }
            }
            while let Some(block) = stack.pop() {
                for &pred in &self.predecessors[block as usize] {
                    if self.position[pred as usize] != NONE && inside.insert(pred) {
                        blocks.push(pred);
                        stack.push(pred);
                    }
                }
            }
            blocks.sort_unstable();
            let index = self.loops.len() as u32;
            self.headed[header as usize] = index;
            for &block in &blocks {
                self.loop_of[block as usize] = index;
            }
            self.loops.push(Loop { header, blocks, latches: latches[header as usize].clone() });
        }
    }
}

fn successors_of(op: &Op, out: &mut Edges) {
    // A switch of a generated parser may have thousands of cases.
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    let mut push = |block: BlockId| {
        let known = match out.len() {
            0..8 => out.contains(&block.0),
            8 => {
                seen.extend(out.iter().copied());
                !seen.insert(block.0)
            }
            _ => !seen.insert(block.0),
        };
        if !known {
            out.push(block.0);
        }
    };
    match op {
        Op::Jump { to } => push(*to),
        Op::Branch { then, otherwise, .. } => {
            push(*then);
            push(*otherwise);
        }
        Op::Switch { cases, default, .. } => {
            for case in cases {
                push(case.block);
            }
            push(*default);
        }
        Op::IndirectJump { targets, .. } => targets.iter().copied().for_each(push),
        Op::Call { invoke: Some((normal, unwind)), .. } => {
            push(*normal);
            push(*unwind);
        }
        _ => {}
    }
}
