//! Shared-variable discovery (paper 2, section 2): which memory two threads can reach and one of
//! them updates, from globals, escaping variables and parameters of exported functions.
//!
//! Algorithm 1 walks assignments from pointers to shared structures to genuine updates. Here the
//! propagation along assignments is the points-to analysis; what is left is to say which objects
//! can be reached from a shared root, and which of them a late store (one that may run beside
//! another thread) genuinely updates. Stores before the first thread starts are no update.

use std::borrow::Cow;

use racewarden_ir::{Callee, FunctionId, GlobalId, Op, Program, Value};
use racewarden_models::Models;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::{CallGraph, Phases, effects_of_call};
use crate::captures::base_of;
use crate::detached::Detached;
use crate::effects::{Effect, Effects, Entry, Length};
use crate::flow::kept_at;
use crate::late::Writes;
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind, PointsTo, may_overlap};

pub struct Sharing {
    /// Whether an object can take part in a race, by object.
    pub shared: Vec<bool>,
    /// Whether a second thread may reach it, by object.
    pub escaped: Vec<bool>,
    pub stable: FxHashSet<CallSite>,
    /// Where globals are written, each place once; one more than [`MOST_WRITES`] for too many.
    pub written: FxHashMap<ObjectId, Vec<CallSite>>,
    pub tainted_handles: FxHashSet<ObjectId>,
    /// Allocations that a thread's handle may be moved out of while there are several threads, by
    /// other code than that of containers.
    pub emptied_handles: FxHashSet<ObjectId>,
    /// Objects that one store instruction alone writes, with that store; constants do not count.
    pub copied_handles: FxHashMap<ObjectId, CallSite>,
    /// Objects with a lock that is made anew, ended or freed while there may be several threads.
    pub reset_locks: FxHashSet<ObjectId>,
    pub detached: Detached,
}

/// How the names of functions begin by which containers make room and put elements in place.
const CONTAINER_CODE: [&str; 8] = [
    "_ZNSt6vectorI",
    "_ZNSt5dequeI",
    "_ZNSt7__cxx114listI",
    "_ZSt19__relocate_object_a",
    "_ZSt14__relocate_a_1",
    "_ZSt12__relocate_a",
    "_ZNSt15__new_allocatorI",
    "_ZNSt16allocator_traitsI",
];

/// Places where a global is written of which each is kept.
pub const MOST_WRITES: usize = 8;

/// Writes that may run beside another thread, by object.
type LateWrites = FxHashMap<ObjectId, Writes>;

struct Scan<'a> {
    program: &'a Program,
    effects: &'a Effects,
    points: &'a PointsTo,
    phases: &'a Phases,
    late: LateWrites,
    written: FxHashMap<ObjectId, Vec<CallSite>>,
    /// Every write that may change a thread handle: all but constants and create calls.
    handle_writes: Vec<Location>,
    handles: Vec<Location>,
    roots: Vec<ObjectId>,
    reset_locks: FxHashSet<ObjectId>,
    emptied_handles: FxHashSet<ObjectId>,
    /// Something other than a constant is stored through the blob.
    blob_written: bool,
    /// Objects that threads are started with, which nobody else knows, and those of them that are
    /// written by more than who allocates them.
    started: FxHashSet<ObjectId>,
    soiled: FxHashSet<ObjectId>,
    /// The only write to each object that is no constant; `None` when there are more.
    only_write: FxHashMap<ObjectId, Option<CallSite>>,
}

/// Streams of the C++ library that all threads may use at once: the library's own objects, which the
/// program only declares. What a pointer to them says is another matter (`stdout` can be assigned).
pub fn synchronized(program: &Program, models: &Models) -> Vec<GlobalId> {
    let module = &program.module;
    let is_stream = |id: &GlobalId| {
        let global = module.global(*id);
        let name = module.name_text(global.name);
        global.initializer.is_none()
            && name.starts_with("_Z")
            && models.is_synchronized_global(name)
    };
    module.global_ids().filter(is_stream).collect()
}

pub fn discover(
    program: &Program,
    effects: &Effects,
    points: &PointsTo,
    graph: &CallGraph,
    phases: &Phases,
    reachable: &[bool],
) -> Sharing {
    let mut scan = Scan {
        program,
        effects,
        points,
        phases,
        late: FxHashMap::default(),
        written: FxHashMap::default(),
        handle_writes: Vec::new(),
        handles: Vec::new(),
        roots: Vec::new(),
        reset_locks: FxHashSet::default(),
        emptied_handles: FxHashSet::default(),
        blob_written: false,
        started: FxHashSet::default(),
        soiled: FxHashSet::default(),
        only_write: FxHashMap::default(),
    };
    for site in &graph.create_sites {
        scan.create(*site);
    }
    if effects.moves_handles() {
        let ids = program.module.function_ids();
        ids.filter(|id| reachable[id.index()]).for_each(|id| scan.moved_handles(id));
        scan.handles.sort_unstable();
        scan.handles.dedup();
    }
    for id in program.module.function_ids() {
        if reachable[id.index()] {
            scan.function(id);
        }
    }
    scan.spread_blob();
    let tainted = scan.tainted();
    let escaped = scan.escaped();
    let mut shared: Vec<bool> = (0..escaped.len())
        .map(|object| escaped[object] && scan.late.contains_key(&(object as ObjectId)))
        .collect();
    for global in &effects.synchronized {
        shared[points.global_object(*global) as usize] = false;
    }
    for (object, kind) in points.locations().objects.iter().enumerate() {
        // Nobody writes code or tables; pointers that may be anything seem to lead there.
        shared[object] &= match kind {
            ObjectKind::Function(_) => false,
            ObjectKind::Global(id) => {
                let global = program.module.global(*id);
                let name = program.module.name_text(global.name);
                !global.constant && !["_ZTV", "_ZTI"].iter().any(|table| name.starts_with(table))
            }
            _ => true,
        };
    }
    for state in effects.futures.states(program, points) {
        shared[state as usize] = false;
    }
    let stable = scan.stable(reachable);
    let copied_handles = scan.copied_handles();
    let (reset_locks, written) = (std::mem::take(&mut scan.reset_locks), scan.written);
    Sharing {
        shared,
        escaped,
        stable,
        written,
        tainted_handles: tainted,
        emptied_handles: scan.emptied_handles,
        copied_handles,
        reset_locks,
        detached: Detached::new(program, points, graph),
    }
}

impl<'a> Scan<'a> {
    fn points(&self, function: FunctionId, value: &Value) -> Cow<'a, [Location]> {
        self.points.value(self.program, function, value)
    }

    fn create(&mut self, site: CallSite) {
        let instruction = &self.program.module.function(site.0).instructions[site.1 as usize];
        let Op::Call { callee, arguments, .. } = &instruction.op else { return };
        for effect in effects_of_call(self.effects, self.points, site, callee) {
            let Effect::Create { handle, entry, argument, .. } = effect else { continue };
            let owner = match entry {
                Entry::Owned { argument, .. } => Some(*argument),
                Entry::Argument(_) => None,
            };
            if let Some(value) = owner.and_then(|index| arguments.get(index as usize)) {
                let owned = self.points.contents(&self.points(site.0, value));
                self.started.extend(owned.iter().map(|at| at.object));
            }
            for index in [*argument, owner].into_iter().flatten() {
                if let Some(value) = arguments.get(index as usize) {
                    self.roots.extend(self.points(site.0, value).iter().map(|at| at.object));
                }
            }
            if let Some(value) = handle.and_then(|index| arguments.get(index as usize)) {
                self.handles.extend(self.points(site.0, value).iter());
            }
        }
    }

    /// Where handles get that were created elsewhere.
    fn moved_handles(&mut self, id: FunctionId) {
        for instruction in &self.program.module.function(id).instructions {
            let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
                continue;
            };
            for effect in self.effects.of(*target).into_iter().flatten() {
                let Effect::MoveHandle { to, from, .. } = effect else { continue };
                for index in [*to, *from] {
                    if let Some(value) = arguments.get(index as usize) {
                        self.handles.extend(self.points(id, value).iter());
                    }
                }
            }
        }
    }

    fn function(&mut self, id: FunctionId) {
        let program = self.program;
        for (index, instruction) in program.module.function(id).instructions.iter().enumerate() {
            let inst = index as u32;
            match &instruction.op {
                Op::Store { address, value, size, .. } => {
                    let constant = matches!(
                        value,
                        Value::Int { .. } | Value::Null | Value::Zero { .. } | Value::Float { .. }
                    );
                    self.write(id, inst, address, *size, !constant);
                }
                Op::AtomicRmw { address, size, .. } | Op::CompareExchange { address, size, .. } => {
                    self.write(id, inst, address, *size, true);
                }
                Op::MemCopy { to, length, .. } => {
                    self.write(id, inst, to, length_of(length), true);
                    self.overwrite(id, inst, to, length_of(length));
                }
                Op::MemSet { to, length, .. } => {
                    self.write(id, inst, to, length_of(length), false);
                    self.overwrite(id, inst, to, length_of(length));
                }
                Op::Unknown { operands, .. } => {
                    for operand in operands {
                        self.write(id, inst, operand, OPEN, true);
                    }
                }
                Op::Call { callee, arguments, .. } => self.call(id, inst, callee, arguments),
                _ => {}
            }
        }
    }

    /// A handle is moved away from there.
    fn take_handle(&mut self, id: FunctionId, inst: u32, from: Option<&Value>) {
        let module = &self.program.module;
        let name = module.name_text(module.function(id).name);
        // Containers keep what they move within themselves.
        let arranges = CONTAINER_CODE.iter().any(|start| name.starts_with(start));
        if arranges || !self.phases.is_late(id, inst) {
            return;
        }
        let Some(from) = from else { return };
        let points = self.points(id, from);
        let elements = points.iter().filter(|at| !self.points.is_on_stack(**at));
        self.emptied_handles.extend(elements.map(|at| at.object));
    }

    fn call(&mut self, id: FunctionId, inst: u32, callee: &Callee, arguments: &[Value]) {
        if matches!(callee, Callee::Asm { .. }) {
            for argument in arguments {
                self.write(id, inst, argument, OPEN, true);
            }
            return;
        }
        let effects: Vec<Effect> =
            effects_of_call(self.effects, self.points, (id, inst), callee).cloned().collect();
        // What the library writes to a handle when it creates, joins or moves it keeps it true.
        let keeps = effects.iter().any(|effect| {
            matches!(
                effect,
                Effect::Join { .. } | Effect::Create { .. } | Effect::MoveHandle { .. }
            )
        });
        let sends = effects.iter().any(|effect| matches!(effect, Effect::Send { .. }));
        for effect in effects {
            match effect {
                // Whoever reads from a descriptor learns the addresses that were written to it.
                Effect::Access { pointer, write: false, .. } if sends => {
                    if let Some(value) = arguments.get(pointer as usize) {
                        let points = self.points(id, value);
                        let sent = points.iter().flat_map(|at| self.points.successors(at.object));
                        self.roots.extend(sent.collect::<Vec<_>>());
                    }
                }
                Effect::Access { pointer, write: true, length, .. } => {
                    let size = match length {
                        Length::Bytes(bytes) => bytes,
                        Length::Argument(index) => {
                            arguments.get(index as usize).map_or(OPEN, length_of)
                        }
                        Length::Open => OPEN,
                    };
                    if let Some(value) = arguments.get(pointer as usize) {
                        self.write(id, inst, value, size, !keeps);
                    }
                }
                Effect::AccessInside { place, write: true, .. } => {
                    let of = |value: &Value| self.points(id, value).into_owned();
                    let places = place.places(self.points, arguments, &of);
                    self.soiled.extend(places.iter().map(|at| at.object));
                    self.change_at(id, inst, &places, OPEN, true);
                }
                Effect::ResetLock { pointer } => {
                    if let Some(value) = arguments.get(pointer as usize) {
                        self.write(id, inst, value, 1, false);
                        if self.phases.is_late(id, inst) {
                            let points = self.points(id, value);
                            self.reset_locks.extend(points.iter().map(|at| at.object));
                        }
                    }
                }
                Effect::CloseDescriptor { descriptor: Some(index) } => {
                    let body = self.program.module.function(id);
                    if let Some(place) = kept_at(body, arguments.get(index as usize)) {
                        self.write(id, inst, place, 4, false);
                    }
                }
                Effect::Create { handle: Some(pointer), .. } => {
                    if let Some(value) = arguments.get(pointer as usize) {
                        self.write(id, inst, value, 8, false);
                    }
                }
                Effect::MoveHandle { to, from, swap } => {
                    self.take_handle(id, inst, arguments.get(from as usize));
                    if swap {
                        self.take_handle(id, inst, arguments.get(to as usize));
                    }
                }
                Effect::Free { pointer } => {
                    // Nobody joins by a handle that was freed, nor loads from what was.
                    if let Some(value) = arguments.get(pointer as usize) {
                        self.change(id, inst, value, OPEN, false);
                        if self.phases.is_late(id, inst) {
                            let points = self.points(id, value);
                            let freed = points.iter().filter(|at| !self.points.is_on_stack(**at));
                            self.reset_locks.extend(freed.map(|at| at.object));
                        }
                    }
                }
                Effect::Copy { to: pointer, .. } | Effect::Allocate { out: Some(pointer), .. } => {
                    if let Some(value) = arguments.get(pointer as usize) {
                        self.write(id, inst, value, OPEN, true);
                    }
                }
                Effect::KeepContent { of } => {
                    if let Some(value) = arguments.get(of as usize) {
                        let points = self.points(id, value);
                        let kept = points.iter().flat_map(|at| self.points.successors(at.object));
                        self.roots.extend(kept.collect::<Vec<_>>());
                    }
                }
                Effect::Throw { object } if self.effects.rethrows => {
                    if let Some(value) = arguments.get(object as usize) {
                        let points = self.points(id, value);
                        self.roots.extend(points.iter().map(|at| at.object));
                    }
                }
                Effect::Publish { argument } => {
                    if let Some(value) = arguments.get(argument as usize) {
                        let points = self.points(id, value);
                        self.roots.extend(points.iter().map(|at| at.object));
                    }
                }
                Effect::Unknown | Effect::Partial => {
                    for argument in arguments {
                        self.write(id, inst, argument, OPEN, true);
                        let points = self.points(id, argument);
                        self.roots.extend(points.iter().map(|at| at.object));
                    }
                }
                _ => {}
            }
        }
    }

    /// Locks in memory that is filled or copied over are others then.
    fn overwrite(&mut self, id: FunctionId, inst: u32, address: &Value, size: u64) {
        if size != OPEN && self.phases.is_late(id, inst) {
            let points = self.points(id, address);
            self.reset_locks.extend(points.iter().map(|at| at.object));
        }
    }

    fn write(&mut self, id: FunctionId, inst: u32, address: &Value, size: u64, handle: bool) {
        for &location in self.points(id, address).iter() {
            if self.started.contains(&location.object) && !self.allocates(id, address, location) {
                self.soiled.insert(location.object);
            }
        }
        self.change(id, inst, address, size, handle);
    }

    /// Memory is not what it was: written, or freed.
    fn change(&mut self, id: FunctionId, inst: u32, address: &Value, size: u64, handle: bool) {
        let places = self.points(id, address).into_owned();
        self.change_at(id, inst, &places, size, handle);
    }

    fn change_at(
        &mut self,
        id: FunctionId,
        inst: u32,
        places: &[Location],
        size: u64,
        handle: bool,
    ) {
        // A container of threads does nothing to its elements but what its members mean.
        let handle = handle && self.effects.member(id).is_none();
        let late = self.phases.is_late(id, inst);
        for &location in places {
            let kind = self.points.locations().objects[location.object as usize];
            if matches!(kind, ObjectKind::Global(_)) {
                let list = self.written.entry(location.object).or_default();
                if list.len() <= MOST_WRITES && !list.contains(&(id, inst)) {
                    list.push((id, inst));
                }
            }
            if late {
                self.late.entry(location.object).or_default().add(location, size);
            }
            if handle {
                let site = Some((id, inst));
                let only = self.only_write.entry(location.object).or_insert(site);
                *only = only.filter(|_| *only == site);
            }
            self.blob_written |= handle && location.object == self.points.blob().object;
            if handle && self.handles.iter().any(|at| at.object == location.object) {
                let size = size.min(OPEN);
                if self.handles.iter().any(|at| may_overlap(*at, 8, location, size)) {
                    self.handle_writes.push(location);
                }
            }
        }
    }

    /// Whether the address is in memory that the function itself has allocated there.
    fn allocates(&self, id: FunctionId, address: &Value, at: Location) -> bool {
        let base = base_of(self.program.module.function(id), address);
        let kind = self.points.locations().objects[at.object as usize];
        base.is_some_and(|(inst, _)| kind == ObjectKind::Heap(id, inst))
    }

    /// What is written through a pointer with too many targets may be any of its objects.
    fn spread_blob(&mut self) {
        let blob = self.points.blob();
        let late = self.late.contains_key(&blob.object);
        let handles = self.blob_written;
        for object in self.points.blob_objects() {
            self.soiled.insert(object);
            let anywhere = Location { object, offset: 0, stride: 1 };
            if late {
                self.late.entry(object).or_default().add(anywhere, OPEN);
            }
            if handles {
                self.handle_writes.push(anywhere);
            }
        }
    }

    fn copied_handles(&self) -> FxHashMap<ObjectId, CallSite> {
        let blob: FxHashSet<ObjectId> = match self.blob_written {
            true => self.points.blob_objects().into_iter().collect(),
            false => FxHashSet::default(),
        };
        let only = self.only_write.iter().filter_map(|(object, site)| Some((*object, (*site)?)));
        only.filter(|(object, site)| {
            let body = self.program.module.function(site.0);
            let is_store = matches!(body.instructions[site.1 as usize].op, Op::Store { .. });
            is_store && !blob.contains(object)
        })
        .collect()
    }

    fn tainted(&self) -> FxHashSet<ObjectId> {
        self.handle_writes.iter().map(|location| location.object).collect()
    }

    /// Objects that a second thread may reach.
    fn escaped(&self) -> Vec<bool> {
        let locations = self.points.locations();
        let mut escaped = vec![false; locations.objects.len()];
        let mut stack = self.roots.clone();
        for (index, kind) in locations.objects.iter().enumerate() {
            let root = match kind {
                ObjectKind::Global(global) => !self.program.module.global(*global).thread_local,
                ObjectKind::Api | ObjectKind::Unknown | ObjectKind::Library(_) => true,
                _ => false,
            };
            if root {
                stack.push(index as ObjectId);
            }
        }
        while let Some(object) = stack.pop() {
            if !std::mem::replace(&mut escaped[object as usize], true) {
                stack.extend(self.points.successors(object));
            }
        }
        escaped
    }

    /// Loads that always read the same value once a second thread exists.
    fn stable(&self, reachable: &[bool]) -> FxHashSet<CallSite> {
        let mut stable = FxHashSet::default();
        let objects = &self.points.locations().objects;
        for id in self.program.module.function_ids().filter(|id| reachable[id.index()]) {
            for (index, instruction) in
                self.program.module.function(id).instructions.iter().enumerate()
            {
                let Op::Load { address, size, order: None, .. } = &instruction.op else { continue };
                let points = self.points(id, address);
                let late = self.phases.is_late(id, index as u32);
                let unwritten = |at: &Location| {
                    self.late.get(&at.object).is_none_or(|writes| !writes.meet(*at, *size))
                };
                let unchanged = !points.is_empty()
                    && points.iter().all(|at| match objects[at.object as usize] {
                        ObjectKind::Global(global) => {
                            let global = self.program.module.global(global);
                            !global.thread_local && global.initializer.is_some() && unwritten(at)
                        }
                        // What is loaded late is loaded after it was made. Of numbers more is known
                        // by their places than by such names.
                        ObjectKind::Stack(owner, slot) => {
                            let body = self.program.module.function(owner);
                            let own = (slot as usize) < body.instructions.len();
                            late && own && *size == POINTER && unwritten(at)
                        }
                        ObjectKind::Heap(..) => {
                            self.started.contains(&at.object) && !self.soiled.contains(&at.object)
                        }
                        _ => false,
                    });
                if unchanged {
                    stable.insert((id, index as u32));
                }
            }
        }
        stable
    }
}

const OPEN: u64 = 1 << 40;
const POINTER: u64 = 8;

fn length_of(value: &Value) -> u64 {
    match value {
        Value::Int { bits, .. } => *bits,
        _ => OPEN,
    }
}
