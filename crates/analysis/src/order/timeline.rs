//! The control flow of one thread with what it does to barriers, semaphores and flags.
//!
//! Functions that contain such events, or call one that does, are expanded at each call; all others
//! stay calls. A node is a run of instructions that starts at an event, at a call that is expanded
//! (or the instruction after it), at a call that releases a lock or at the head of a block: the event
//! comes first, the rest of the node after it. An access has every node where it may happen, whatever the calling context.

use racewarden_ir::{FunctionId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, Events};
use super::sections::releases;
use crate::contexts::Instantiation;

pub type NodeId = u32;

#[derive(Debug, Default)]
pub struct Timeline {
    pub nodes: Vec<Node>,
    /// Nodes by function and first instruction.
    by_function: FxHashMap<FunctionId, Vec<NodeId>>,
    /// Calls that are not expanded, by what they may call.
    calls: FxHashMap<FunctionId, Vec<NodeId>>,
    /// Nodes that control reaches from the start.
    pub live: Vec<bool>,
}

#[derive(Debug)]
pub struct Node {
    pub function: FunctionId,
    /// Its first instruction and the one after its last.
    pub start: u32,
    pub end: u32,
    pub event: Option<Event>,
    /// Where control goes, with the branch of the function that leads there.
    pub next: Vec<(NodeId, Option<Branch>)>,
}

/// A block's way to a successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Branch {
    pub block: u32,
    pub to: u32,
}

/// Nodes of one thread before it counts as too large to look at.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 24;

struct Builder<'a> {
    instantiation: &'a Instantiation<'a>,
    events: &'a Events,
    /// Whether the thread ever runs a function.
    runs: &'a dyn Fn(FunctionId) -> bool,
    timeline: Timeline,
    stack: Vec<FunctionId>,
}

/// Where an expanded function starts and where it returns from.
struct Part {
    entry: NodeId,
    returns: Vec<NodeId>,
    /// Where an exception may leave it.
    throws: Vec<NodeId>,
}

impl Timeline {
    /// The thread that runs these functions one after the other; `None` when it cannot be laid out.
    /// Calls through pointers do not lead to what the thread never `runs`.
    pub fn new(
        instantiation: &Instantiation<'_>,
        events: &Events,
        starts: &[FunctionId],
        runs: &dyn Fn(FunctionId) -> bool,
    ) -> Option<Timeline> {
        let (timeline, stack) = (Timeline::default(), Vec::new());
        let mut builder = Builder { instantiation, events, runs, timeline, stack };
        for &start in starts {
            let before = builder.timeline.nodes.len();
            let part = builder.expand(start)?;
            // What comes next begins when this returns, or wherever it calls `exit`.
            for node in &mut builder.timeline.nodes[..before] {
                node.next.push((part.entry, None));
            }
        }
        let mut timeline = builder.timeline;
        if timeline.nodes.is_empty() {
            return None;
        }
        timeline.live = timeline.reach([0], |_, _, _| true);
        Some(timeline)
    }

    /// Whether the function's own instructions are on the timeline.
    pub fn lays_out(&self, function: FunctionId) -> bool {
        self.by_function.contains_key(&function)
    }

    /// Every node in which the instruction may run.
    pub fn positions(&self, events: &Events, function: FunctionId, inst: u32) -> Vec<NodeId> {
        if let Some(nodes) = self.by_function.get(&function) {
            let here = |id: &NodeId| {
                let node = &self.nodes[*id as usize];
                node.start <= inst && inst < node.end
            };
            return nodes.iter().copied().filter(here).collect();
        }
        let mut found = FxHashSet::default();
        let mut seen = FxHashSet::from_iter([function]);
        let mut stack = vec![function];
        while let Some(callee) = stack.pop() {
            found.extend(self.calls.get(&callee).into_iter().flatten());
            for caller in events.callers(callee) {
                if !self.by_function.contains_key(caller) && seen.insert(*caller) {
                    stack.push(*caller);
                }
            }
        }
        let mut found: Vec<NodeId> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// Whether the function is laid out here.
    pub fn has(&self, function: FunctionId) -> bool {
        self.by_function.contains_key(&function)
    }

    pub fn events(&self) -> impl Iterator<Item = (NodeId, &Event)> {
        (0u32..).zip(&self.nodes).filter_map(|(id, node)| Some((id, node.event.as_ref()?)))
    }

    /// Nodes that control may reach from these, through nodes and branches that are open. The first
    /// ones count as reached.
    pub fn reach(
        &self,
        from: impl IntoIterator<Item = NodeId>,
        open: impl Fn(NodeId, Option<Branch>, NodeId) -> bool,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut stack: Vec<NodeId> = from.into_iter().collect();
        for &node in &stack {
            reached[node as usize] = true;
        }
        while let Some(node) = stack.pop() {
            for &(to, branch) in &self.nodes[node as usize].next {
                if !reached[to as usize] && open(node, branch, to) {
                    reached[to as usize] = true;
                    stack.push(to);
                }
            }
        }
        reached
    }
}

impl Builder<'_> {
    fn expand(&mut self, function: FunctionId) -> Option<Part> {
        if self.stack.len() > MAX_DEPTH
            || self.stack.contains(&function)
            || self.timeline.nodes.len() > MAX_NODES
        {
            return None;
        }
        self.stack.push(function);
        let bodies = &self.instantiation.bodies;
        let (blocks, cfg) = (bodies.blocks(function), bodies.cfg(function));
        let calls = self.instantiation.graph.calls[function.index()].iter();
        let run =
            |list: &[FunctionId]| list.iter().copied().filter(|to| (self.runs)(*to)).collect();
        let targets: FxHashMap<u32, Vec<FunctionId>> =
            calls.map(|(inst, list)| (*inst, run(list))).collect();
        let mut heads: FxHashMap<u32, NodeId> = FxHashMap::default();
        let mut tails: Vec<(u32, NodeId)> = Vec::new();
        let mut links: Vec<(NodeId, NodeId)> = Vec::new();
        let mut throws = Vec::new();
        let mut caught: Vec<(NodeId, u32)> = Vec::new();
        for &block in &cfg.order {
            let range = &blocks[block as usize];
            let mut current = self.node(function, range.start.0, None);
            heads.insert(block, current);
            for inst in range.start.0..range.end.0 {
                let list = targets.get(&inst).map(Vec::as_slice).unwrap_or_default();
                let expanded = list.iter().any(|target| self.events.is_inside(*target));
                let event = self.events.at(function, inst);
                let op = bodies.op((function, inst));
                let ends_section = releases(self.instantiation, op.as_deref());
                if (event.is_some() || expanded || ends_section) && inst > range.start.0 {
                    self.timeline.nodes[current as usize].end = inst;
                    let next = self.node(function, inst, None);
                    links.push((current, next));
                    current = next;
                }
                self.timeline.nodes[current as usize].event = match event {
                    Some(event) => Some(event.clone()),
                    None => self.timeline.nodes[current as usize].event.take(),
                };
                for target in list.iter().filter(|target| !self.events.is_inside(**target)) {
                    self.timeline.calls.entry(*target).or_default().push(current);
                }
                let unwind = match op.as_deref() {
                    Some(Op::Call { invoke: Some((_, unwind)), .. }) => Some(unwind.0),
                    Some(Op::Call { .. }) => {
                        throws.push(current);
                        None
                    }
                    _ => None,
                };
                if expanded {
                    self.timeline.nodes[current as usize].end = inst + 1;
                    let after = self.node(function, inst + 1, None);
                    for target in list.iter().filter(|target| self.events.is_inside(**target)) {
                        let part = self.expand(*target)?;
                        links.push((current, part.entry));
                        links.extend(part.returns.into_iter().map(|from| (from, after)));
                        match unwind {
                            Some(to) => caught.extend(part.throws.iter().map(|from| (*from, to))),
                            None => throws.extend(part.throws),
                        }
                    }
                    if list.iter().any(|target| !self.events.is_inside(*target)) {
                        links.push((current, after));
                    }
                    current = after;
                }
            }
            self.timeline.nodes[current as usize].end = range.end.0;
            tails.push((block, current));
        }
        for (from, to) in links {
            self.timeline.nodes[from as usize].next.push((to, None));
        }
        for (from, block) in caught {
            if let Some(&head) = heads.get(&block) {
                self.timeline.nodes[from as usize].next.push((head, None));
            }
        }
        let mut returns = Vec::new();
        for (block, tail) in tails {
            for &to in &cfg.successors[block as usize] {
                let Some(&head) = heads.get(&to) else { continue };
                let branch = Some(Branch { block, to });
                self.timeline.nodes[tail as usize].next.push((head, branch));
            }
            let last = blocks[block as usize].end.0.wrapping_sub(1);
            match bodies.op((function, last)).as_deref() {
                Some(Op::Return { .. }) => returns.push(tail),
                // The exception goes on to the caller, which does not come back here.
                Some(Op::Resume { .. }) => throws.push(tail),
                _ => {}
            }
        }
        self.stack.pop();
        let entry = heads.get(cfg.order.first()?).copied()?;
        Some(Part { entry, returns, throws })
    }

    fn node(&mut self, function: FunctionId, start: u32, event: Option<Event>) -> NodeId {
        let id = self.timeline.nodes.len() as NodeId;
        let end = start;
        self.timeline.nodes.push(Node { function, start, end, event, next: Vec::new() });
        self.timeline.by_function.entry(function).or_default().push(id);
        id
    }
}
