//! The inclusion-based solver: difference propagation over copy edges, complex constraints
//! resolved as sets grow, cycles of copies folded from time to time.
//!
//! A pointer that may lead to more than [`MAX_SET`] places joins the blob: one node for all such
//! pointers, whose objects' memory holds the blob itself (Steensgaard's treatment, for these
//! alone). Joining nodes is always sound, keeps the whole near-linear on programs where one huge
//! set meets everything (RELAY 4.2), and leaves the other pointers as precise as they are.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::locations::{Location, LocationId, Locations, ObjectId, gcd};

pub type Node = u32;

/// A sorted set of locations.
#[derive(Debug, Clone, Default)]
pub struct Set {
    items: Vec<LocationId>,
}

impl Set {
    pub fn as_slice(&self) -> &[LocationId] {
        &self.items
    }

    fn insert_all(&mut self, new: &[LocationId], fresh: &mut Vec<LocationId>) {
        fresh.clear();
        if new.len() * 16 < self.items.len() {
            fresh.extend(new.iter().filter(|item| self.items.binary_search(item).is_err()));
            return self.merge(fresh);
        }
        let mut old = self.items.iter().copied().peekable();
        for &item in new {
            while old.next_if(|&have| have < item).is_some() {}
            if old.peek() != Some(&item) {
                fresh.push(item);
            }
        }
        self.merge(fresh);
    }

    /// Adds sorted items that are not in the set yet.
    fn merge(&mut self, fresh: &[LocationId]) {
        if fresh.is_empty() {
            return;
        }
        if self.items.last().is_none_or(|&last| last < fresh[0]) {
            self.items.extend_from_slice(fresh);
            return;
        }
        let mut merged = Vec::with_capacity(self.items.len() + fresh.len());
        let (mut a, mut b) =
            (self.items.iter().copied().peekable(), fresh.iter().copied().peekable());
        while let (Some(&x), Some(&y)) = (a.peek(), b.peek()) {
            merged.push(if x < y { a.next() } else { b.next() }.expect("peeked"));
        }
        merged.extend(a);
        merged.extend(b);
        self.items = merged;
    }
}

/// What happens when a node's set grows.
#[derive(Debug, Clone, Copy)]
pub enum Watch {
    /// `to` may hold the location moved by `offset` and any multiple of `stride`.
    Shift {
        to: Node,
        offset: i64,
        stride: u32,
    },
    /// `to` may hold what the location holds.
    Load {
        to: Node,
        wide: bool,
    },
    /// The location may hold what `from` holds.
    Store {
        from: Node,
        wide: bool,
    },
    CopyTo {
        copy: u32,
    },
    CopyFrom {
        copy: u32,
    },
    /// Functions in the set may be called from this site.
    Call {
        site: u32,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct MemoryCopy {
    pub to: Node,
    pub from: Node,
    /// Bytes, 0 when unknown.
    pub length: u64,
    /// Every source goes to every target, wherever in them: they are too many to pair.
    pub whole: bool,
}

/// Offset and stride.
pub type Key = (i64, u32);

#[derive(Debug, Default)]
struct Memory {
    /// Stored-to places and the node of what each may hold.
    cells: Vec<(Key, Node)>,
    loads: Vec<(Key, Node)>,
    load_set: FxHashSet<(Key, Node)>,
    copies: Vec<(Location, Location, u64)>,
    copy_set: FxHashSet<(Location, Location, u64)>,
}

#[derive(Debug, Default)]
pub struct Solver {
    pub locations: Locations,
    parent: Vec<Node>,
    sets: Vec<Set>,
    deltas: Vec<Vec<LocationId>>,
    edges: Vec<Vec<Node>>,
    watches: Vec<Vec<Watch>>,
    memory: FxHashMap<ObjectId, Memory>,
    pub copies: Vec<MemoryCopy>,
    queue: VecDeque<Node>,
    queued: Vec<bool>,
    /// Calls whose target set grew: taken out by the builder, which binds arguments.
    pub new_targets: Vec<(u32, LocationId)>,
    scratch: Vec<LocationId>,
    edge_set: FxHashSet<(Node, Node)>,
    blob: Option<Node>,
    /// Nodes that lead anywhere.
    filled: usize,
    /// Before this every set is all news: what is asked of it waits for the first run.
    started: bool,
    /// Objects that the blob leads to.
    blob_objects: FxHashSet<ObjectId>,
    swollen: Vec<Node>,
    /// Nodes that got places by a distance that mattered.
    moved: FxHashSet<Node>,
}

/// Places in one set before its node joins the blob.
const MAX_SET: usize = 400;

/// Pairs of source and target that a copy of memory follows byte by byte.
const MAX_COPIES: usize = 4096;

impl Solver {
    pub fn node(&mut self) -> Node {
        let node = self.parent.len() as Node;
        self.parent.push(node);
        self.sets.push(Set::default());
        self.deltas.push(Vec::new());
        self.edges.push(Vec::new());
        self.watches.push(Vec::new());
        self.queued.push(false);
        node
    }

    pub fn nodes(&mut self, count: usize) -> Node {
        let first = self.parent.len();
        let total = first + count;
        self.parent.extend(first as Node..total as Node);
        self.sets.resize_with(total, Set::default);
        self.deltas.resize_with(total, Vec::new);
        self.edges.resize_with(total, Vec::new);
        self.watches.resize_with(total, Vec::new);
        self.queued.resize(total, false);
        first as Node
    }

    pub fn find(&self, mut node: Node) -> Node {
        while self.parent[node as usize] != node {
            node = self.parent[node as usize];
        }
        node
    }

    pub fn set(&self, node: Node) -> &[LocationId] {
        self.sets[self.find(node) as usize].as_slice()
    }

    pub fn add(&mut self, node: Node, items: &[LocationId]) {
        let node = self.find(node);
        let mut fresh = std::mem::take(&mut self.scratch);
        self.filled += usize::from(self.sets[node as usize].items.is_empty() && !items.is_empty());
        self.sets[node as usize].insert_all(items, &mut fresh);
        if !fresh.is_empty() {
            self.deltas[node as usize].extend_from_slice(&fresh);
            if self.sets[node as usize].items.len() > MAX_SET && self.blob != Some(node) {
                self.swollen.push(node);
            }
            if !self.queued[node as usize] {
                self.queued[node as usize] = true;
                self.queue.push_back(node);
            }
        }
        self.scratch = fresh;
    }

    pub fn edge(&mut self, from: Node, to: Node) {
        let (from, to) = (self.find(from), self.find(to));
        // What the blob flows into leads to as much as the blob.
        if self.blob == Some(from) {
            if from != to {
                self.swollen.push(to);
            }
            return;
        }
        if from == to || !self.edge_set.insert((from, to)) {
            return;
        }
        self.edges[from as usize].push(to);
        if self.started && !self.sets[from as usize].items.is_empty() {
            let items = self.sets[from as usize].items.clone();
            self.add(to, &items);
        }
    }

    pub fn watch(&mut self, node: Node, watch: Watch) {
        let node = self.find(node);
        // Every other watch has its full effect on the blob the first time.
        if self.blob != Some(node) || matches!(watch, Watch::Call { .. }) {
            self.watches[node as usize].push(watch);
        }
        if !self.started {
            return;
        }
        let items = self.sets[node as usize].items.clone();
        if !items.is_empty() || self.blob == Some(node) {
            self.apply(watch, &items, node);
        }
    }

    pub fn copy_memory(&mut self, to: Node, from: Node, length: u64) {
        let copy = self.copies.len() as u32;
        self.copies.push(MemoryCopy { to, from, length, whole: false });
        self.watch(to, Watch::CopyTo { copy });
        self.watch(from, Watch::CopyFrom { copy });
    }

    /// Runs until nothing changes or a call has new targets to bind.
    pub fn run(&mut self) {
        self.started = true;
        let mut steps = 0usize;
        loop {
            while let Some(node) = self.swollen.pop() {
                self.join_blob(node);
            }
            let Some(node) = self.queue.pop_front() else { return };
            let node = node as usize;
            self.queued[node] = false;
            if self.parent[node] != node as Node {
                continue;
            }
            let mut delta = std::mem::take(&mut self.deltas[node]);
            if delta.is_empty() {
                continue;
            }
            // Sorted pieces, one behind the other: this sort takes them as they are.
            delta.sort();
            let targets = std::mem::take(&mut self.edges[node]);
            for &to in &targets {
                if self.find(to) != node as Node {
                    self.add(to, &delta);
                }
            }
            let added = std::mem::replace(&mut self.edges[node], targets);
            self.edges[node].extend(added);
            if self.blob == Some(node as Node) {
                for &item in &delta {
                    let object = self.locations.get(item).object;
                    self.absorb(object, node as Node);
                }
            }
            let watches = self.watches[node].clone();
            for watch in watches {
                self.apply(watch, &delta, node as Node);
            }
            steps += 1;
            if steps > 8 * self.filled + 10_000 {
                steps = 0;
                self.fold_cycles();
            }
        }
    }

    fn apply(&mut self, watch: Watch, items: &[LocationId], own: Node) {
        if self.blob == Some(own) {
            return self.apply_blob(watch, own, items);
        }
        match watch {
            Watch::Shift { to, offset, stride } => {
                if items.iter().any(|&item| self.locations.is_moved(item)) {
                    self.moved.insert(to);
                }
                let mut moved: Vec<LocationId> =
                    items.iter().map(|&item| self.locations.shift(item, offset, stride)).collect();
                moved.sort_unstable();
                moved.dedup();
                self.add(to, &moved);
            }
            Watch::Load { to, wide } => {
                for &item in items {
                    self.load(item, to, wide);
                }
            }
            Watch::Store { from, wide } => {
                for &item in items {
                    let cell = self.cell_at(item, wide);
                    self.edge(from, cell);
                }
            }
            Watch::CopyTo { copy } => {
                let MemoryCopy { from, length, .. } = self.copies[copy as usize];
                if self.copies_whole(copy) {
                    return;
                }
                let sources = self.set(from).to_vec();
                for &to in items {
                    for &from in &sources {
                        self.copy_cells(to, from, length);
                    }
                }
            }
            Watch::CopyFrom { copy } => {
                let MemoryCopy { to, length, .. } = self.copies[copy as usize];
                if self.copies_whole(copy) {
                    return;
                }
                let targets = self.set(to).to_vec();
                for &from in items {
                    for &to in &targets {
                        self.copy_cells(to, from, length);
                    }
                }
            }
            Watch::Call { site } => {
                self.new_targets.extend(items.iter().map(|&item| (site, item)));
            }
        }
    }

    /// Whether the copy has so many sources and targets that it is one load and one store of
    /// everything; sees to it when it has become so.
    fn copies_whole(&mut self, copy: u32) -> bool {
        let MemoryCopy { to, from, whole, .. } = self.copies[copy as usize];
        if !whole && self.set(to).len() * self.set(from).len() > MAX_COPIES {
            self.copies[copy as usize].whole = true;
            let contents = self.node();
            self.watch(from, Watch::Load { to: contents, wide: true });
            self.watch(to, Watch::Store { from: contents, wide: true });
        }
        self.copies[copy as usize].whole
    }

    fn key(&self, location: LocationId, wide: bool) -> (ObjectId, Key) {
        let Location { object, offset, stride } = self.locations.get(location);
        if wide {
            let stride = gcd(stride, 8);
            return (object, (offset.rem_euclid(i64::from(stride)), stride));
        }
        (object, (offset, stride))
    }

    fn load(&mut self, location: LocationId, to: Node, wide: bool) {
        let (object, key) = self.key(location, wide);
        if self.blob_objects.contains(&object)
            && let Some(blob) = self.blob
        {
            return self.edge(blob, to);
        }
        let memory = self.memory.entry(object).or_default();
        if !memory.load_set.insert((key, to)) {
            return;
        }
        memory.loads.push((key, to));
        let cells: Vec<Node> = memory
            .cells
            .iter()
            .filter(|(cell, _)| keys_meet(*cell, key))
            .map(|&(_, node)| node)
            .collect();
        for cell in cells {
            self.edge(cell, to);
        }
    }

    pub fn cell_at(&mut self, location: LocationId, wide: bool) -> Node {
        let (object, key) = self.key(location, wide);
        self.cell(object, key)
    }

    fn cell(&mut self, object: ObjectId, key: Key) -> Node {
        if self.blob_objects.contains(&object)
            && let Some(blob) = self.blob
        {
            return blob;
        }
        let memory = self.memory.entry(object).or_default();
        if let Some((_, node)) = memory.cells.iter().find(|(cell, _)| *cell == key) {
            return *node;
        }
        let node = self.node();
        let memory = self.memory.entry(object).or_default();
        memory.cells.push((key, node));
        let loads: Vec<Node> = memory
            .loads
            .iter()
            .filter(|(load, _)| keys_meet(key, *load))
            .map(|&(_, to)| to)
            .collect();
        let copies = memory.copies.clone();
        for to in loads {
            self.edge(node, to);
        }
        for (to, from, length) in copies {
            self.copy_cell(to, from, length, key, node);
        }
        node
    }

    fn copy_cells(&mut self, to: LocationId, from: LocationId, length: u64) {
        let (to, from) = (self.locations.get(to), self.locations.get(from));
        if self.blob_objects.contains(&from.object)
            && let Some(blob) = self.blob
        {
            let to = self.locations.intern(Location { stride: 1, ..to });
            let cell = self.cell_at(to, false);
            return self.edge(blob, cell);
        }
        let memory = self.memory.entry(from.object).or_default();
        if !memory.copy_set.insert((to, from, length)) {
            return;
        }
        memory.copies.push((to, from, length));
        for (key, node) in memory.cells.clone() {
            self.copy_cell(to, from, length, key, node);
        }
    }

    fn copy_cell(&mut self, to: Location, from: Location, length: u64, key: Key, node: Node) {
        let exact = to.stride == 0 && from.stride == 0 && key.1 == 0;
        let distance = key.0.wrapping_sub(from.offset);
        if exact && (distance < 0 || (length > 0 && distance >= length as i64)) {
            return;
        }
        let stride = gcd(gcd(to.stride, from.stride), key.1);
        let location = Location {
            object: to.object,
            offset: to.offset.wrapping_add(distance),
            stride: if exact { 0 } else { stride.max(1) },
        };
        let location = self.locations.intern(location);
        let target = self.cell_at(location, false);
        self.edge(node, target);
    }

    /// Moves everything a node has into the blob.
    fn join_blob(&mut self, node: Node) {
        let node = self.find(node);
        let blob = match self.blob {
            Some(blob) => self.find(blob),
            None => {
                let blob = self.node();
                self.blob = Some(blob);
                blob
            }
        };
        self.blob = Some(blob);
        if node == blob {
            return;
        }
        self.parent[node as usize] = blob;
        let items = std::mem::take(&mut self.sets[node as usize]).items;
        self.deltas[node as usize].clear();
        let edges = std::mem::take(&mut self.edges[node as usize]);
        let watches = std::mem::take(&mut self.watches[node as usize]);
        for to in edges {
            self.edge(blob, to);
        }
        self.add(blob, &items);
        for watch in watches {
            self.watch(blob, watch);
        }
    }

    /// From now on the object's memory holds what the blob holds.
    fn absorb(&mut self, object: ObjectId, blob: Node) {
        if !self.blob_objects.insert(object) {
            return;
        }
        let Some(memory) = self.memory.remove(&object) else { return };
        for (_, cell) in memory.cells {
            self.join_blob(cell);
        }
        for (_, to) in memory.loads {
            self.edge(blob, to);
        }
        for (to, _, _) in memory.copies {
            let to = self.locations.intern(Location { stride: 1, ..to });
            let cell = self.cell_at(to, false);
            self.edge(blob, cell);
        }
    }

    /// What a watch means when its pointer is the blob.
    fn apply_blob(&mut self, watch: Watch, blob: Node, items: &[LocationId]) {
        match watch {
            Watch::Shift { to, .. } | Watch::Load { to, .. } => self.edge(blob, to),
            Watch::Store { from, .. } => self.edge(from, blob),
            Watch::CopyTo { copy } => {
                let from = self.copies[copy as usize].from;
                let contents = self.node();
                self.watch(from, Watch::Load { to: contents, wide: true });
                self.edge(contents, blob);
            }
            Watch::CopyFrom { copy } => {
                let to = self.copies[copy as usize].to;
                self.watch(to, Watch::Store { from: blob, wide: true });
            }
            Watch::Call { site } => {
                self.new_targets.extend(items.iter().map(|&item| (site, item)));
            }
        }
    }

    /// Whether the node leads to more than can be told apart.
    pub fn is_blob(&self, node: Node) -> bool {
        self.blob.is_some_and(|blob| self.find(blob) == self.find(node))
    }

    /// Whether the node got places by a distance, and would have got others by another one.
    pub fn is_moved(&self, node: Node) -> bool {
        self.moved.contains(&node)
    }

    pub fn blob_objects(&self) -> &FxHashSet<ObjectId> {
        &self.blob_objects
    }

    /// Joins the nodes of each copy cycle.
    fn fold_cycles(&mut self) {
        let count = self.parent.len();
        let components = crate::scc::components(count, |node| {
            let list: &[Node] =
                if self.parent[node as usize] == node { &self.edges[node as usize] } else { &[] };
            list.iter().map(|&to| self.find(to)).collect::<Vec<_>>().into_iter()
        });
        for component in components.iter().filter(|c| c.len() > 1) {
            let blob = self.blob.map(|blob| self.find(blob));
            let head = match blob {
                Some(blob) if component.contains(&blob) => blob,
                _ => component[0],
            };
            let members: Vec<Node> =
                component.iter().copied().filter(|&member| member != head).collect();
            for &member in &members {
                self.parent[member as usize] = head;
            }
            for &member in &members {
                let items = std::mem::take(&mut self.sets[member as usize]).items;
                self.deltas[member as usize].clear();
                let edges = std::mem::take(&mut self.edges[member as usize]);
                let watches = std::mem::take(&mut self.watches[member as usize]);
                for to in edges {
                    self.edge(head, to);
                }
                self.add(head, &items);
                for watch in watches {
                    self.watch(head, watch);
                }
            }
            // Everything the members knew must reach everything the head now leads to.
            let all = self.sets[head as usize].items.clone();
            self.deltas[head as usize] = all;
            if !self.queued[head as usize] {
                self.queued[head as usize] = true;
                self.queue.push_back(head);
            }
        }
    }
}

/// Whether two eight-byte cells can meet.
pub fn keys_meet(a: Key, b: Key) -> bool {
    let stride = i64::from(gcd(a.1, b.1));
    let distance = b.0.wrapping_sub(a.0);
    if stride == 0 {
        return (-8 < distance) && (distance < 8);
    }
    let residue = distance.rem_euclid(stride);
    residue < 8 || stride - residue < 8
}

impl Solver {
    pub fn node_count(&self) -> usize {
        self.parent.len()
    }

    pub fn blob(&self) -> Option<Node> {
        self.blob
    }

    /// Each object's places that were stored to, with the node of what each may hold.
    pub fn cells(&self) -> impl Iterator<Item = (ObjectId, &[(Key, Node)])> {
        self.memory.iter().map(|(object, memory)| (*object, memory.cells.as_slice()))
    }
}
