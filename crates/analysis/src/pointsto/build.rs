//! Constraints from the program model, and the loop that binds calls as their targets are found.

use std::rc::Rc;

use racewarden_ir::{BinaryOp, Callee, FunctionId, Instruction, Op, Program, TypeId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::locations::{Location, LocationId, Locations, ObjectKind, gcd};
use super::solve::{Node, Solver, Watch};
use super::steps::repeated;
use super::tables::{Only, Tables};
use super::tasks::behind_asked;
use super::{CallSite, PointsTo, carries};
use crate::effects::{Effect, Effects, Inside, Passed};

mod starts;
mod wrappers;

use wrappers::Wrappers;

/// What to do with a function that reaches a site's target set.
#[derive(Debug)]
enum Binding {
    /// An indirect call: everything is passed on.
    Call { arguments: Vec<Option<Node>>, constants: Vec<Value>, result: Node },
    /// The callee is started or called back with these parameters.
    Entry { parameters: Vec<Option<Node>> },
    /// The same, when what was started has returned.
    End { parameters: Vec<Option<Node>> },
}

struct Site {
    place: CallSite,
    binding: Rc<Binding>,
    /// What the function is taken from.
    target: Node,
    /// Which functions can be meant.
    only: Only,
    /// Its arguments go to all functions that the blob leads to.
    in_hub: bool,
}

/// Where calls through the blob with one number of arguments meet the functions that they may run:
/// all of them pass to all, so each is joined to the hub instead of to each other.
struct Hub {
    arguments: Vec<Option<Node>>,
    result: Node,
}

struct Builder<'a> {
    program: &'a Program,
    effects: &'a Effects,
    solver: Solver,
    bases: Vec<Node>,
    globals: Vec<LocationId>,
    functions: Vec<LocationId>,
    constants: FxHashMap<LocationId, Node>,
    tables: Tables,
    wrappers: Wrappers,
    sites: Vec<Site>,
    /// By number of arguments.
    hubs: FxHashMap<usize, Rc<Hub>>,
    /// Functions that are joined to a hub.
    in_hubs: FxHashSet<(usize, FunctionId)>,
    /// Functions that are bound to a site.
    bound: FxHashSet<(u32, FunctionId)>,
    targets: FxHashMap<CallSite, Vec<FunctionId>>,
    entries: FxHashMap<CallSite, Vec<FunctionId>>,
    ends: FxHashMap<CallSite, Vec<FunctionId>>,
    unknown: LocationId,
    api: LocationId,
    exceptions: Node,
    /// Thread-specific data, whatever its key.
    specific: Node,
    /// What threads leave to those who wait for them, whichever thread it is.
    results: Node,
    /// Addresses that are written to a descriptor, whichever it is.
    sent: Node,
    /// Steps of pointers that walk, in the function that is looked at.
    repeated: FxHashSet<u32>,
    /// Nodes of computations that addresses may come out of.
    sums: Vec<Node>,
}

/// `api`: functions whose pointer parameters come from outside.
pub fn build(program: &Program, effects: &Effects, api: &[FunctionId]) -> PointsTo {
    let mut solver = Solver::default();
    let module = &program.module;
    let bases = module
        .functions
        .iter()
        .map(|f| solver.nodes(f.instructions.len() + f.params.len() + 2))
        .collect();
    let own_nodes = solver.nodes(0);
    let at = |solver: &mut Solver, kind, size, stride| {
        let object = solver.locations.object(kind, size);
        solver.locations.intern(Location { object, offset: 0, stride })
    };
    let globals = module
        .global_ids()
        .map(|id| at(&mut solver, ObjectKind::Global(id), module.global(id).size, 0))
        .collect();
    let functions =
        module.function_ids().map(|id| at(&mut solver, ObjectKind::Function(id), 0, 0)).collect();
    let unknown = at(&mut solver, ObjectKind::Unknown, 0, 1);
    let api_location = at(&mut solver, ObjectKind::Api, 0, 0);
    let blob = at(&mut solver, ObjectKind::Blob, 0, 1);
    let [exceptions, specific, results, sent] = std::array::from_fn(|_| solver.node());
    let mut builder = Builder {
        program,
        effects,
        solver,
        bases,
        globals,
        functions,
        constants: FxHashMap::default(),
        tables: Tables::new(program),
        wrappers: Wrappers::new(program, effects),
        sites: Vec::new(),
        hubs: FxHashMap::default(),
        in_hubs: FxHashSet::default(),
        bound: FxHashSet::default(),
        targets: FxHashMap::default(),
        entries: FxHashMap::default(),
        ends: FxHashMap::default(),
        unknown,
        api: api_location,
        exceptions,
        specific,
        results,
        sent,
        repeated: FxHashSet::default(),
        sums: Vec::new(),
    };
    builder.initializers();
    for function in module.function_ids() {
        builder.function(function);
    }
    builder.outside(api);
    builder.solve();
    let blob = builder.solver.locations.get(blob);
    let mut moved = std::mem::take(&mut builder.sums);
    moved.retain(|node| builder.solver.is_moved(*node));
    let mut result = PointsTo {
        locations: Locations::default(),
        nodes: vec![0; own_nodes as usize],
        sets: Vec::new(),
        blob_set: None,
        blob_objects: FxHashSet::default(),
        cells: FxHashMap::default(),
        blob,
        bases: builder.bases,
        globals: builder.globals,
        functions: builder.functions,
        moved,
        targets: builder.targets,
        entries: builder.entries,
        ends: builder.ends,
    };
    result.freeze(builder.solver);
    let started = result.entries.values_mut().chain(result.ends.values_mut());
    for list in result.targets.values_mut().chain(started) {
        list.sort_unstable();
        list.dedup();
    }
    result
}

impl Builder<'_> {
    fn solve(&mut self) {
        loop {
            self.solver.run();
            let mut found = std::mem::take(&mut self.solver.new_targets);
            if found.is_empty() {
                return;
            }
            // Of what the blob leads to few are functions.
            found.retain(|(_, location)| self.function_at(*location).is_some());
            found.sort_unstable();
            for (site, location) in found {
                if let Some(target) = self.function_at(location) {
                    self.bind(site, target);
                }
            }
        }
    }

    fn function_at(&self, location: LocationId) -> Option<FunctionId> {
        let object = self.solver.locations.get(location).object;
        match self.solver.locations.objects[object as usize] {
            ObjectKind::Function(target) => Some(target),
            _ => None,
        }
    }

    fn bind(&mut self, number: u32, target: FunctionId) {
        let site = &self.sites[number as usize];
        if !self.tables.admit(self.program, &site.only, target) {
            return;
        }
        let (place, binding) = (site.place, site.binding.clone());
        let callee = self.program.module.function(target);
        match &*binding {
            Binding::Call { arguments, constants, result } => {
                // A call with another number of arguments than the function has is undefined.
                if callee.params.len() > arguments.len()
                    || (callee.params.len() != arguments.len() && !callee.variadic)
                {
                    return;
                }
                if !self.bound.insert((number, target)) {
                    return;
                }
                self.targets.entry(place).or_default().push(target);
                let through_blob = self.solver.is_blob(self.sites[number as usize].target);
                if through_blob && self.effects.of(target).is_none() {
                    self.meet_in_hub(number, target, arguments, *result);
                } else {
                    self.pass(place, target, constants, arguments, *result);
                }
            }
            Binding::Entry { parameters } | Binding::End { parameters } => {
                if !self.bound.insert((number, target)) {
                    return;
                }
                let ends = matches!(&*binding, Binding::End { .. });
                let known = if ends { &mut self.ends } else { &mut self.entries };
                known.entry(place).or_default().push(target);
                for (index, node) in parameters.iter().enumerate().take(callee.params.len()) {
                    if let Some(node) = node {
                        let parameter = self.parameter(target, index);
                        self.solver.edge(*node, parameter);
                    }
                }
                // What is called back returns no address that anyone keeps; it does no harm here.
                let result = self.result(target);
                self.solver.edge(result, self.results);
            }
        }
    }

    fn meet_in_hub(
        &mut self,
        site: u32,
        target: FunctionId,
        arguments: &[Option<Node>],
        result: Node,
    ) {
        let count = arguments.len();
        let hub = match self.hubs.get(&count) {
            Some(hub) => hub.clone(),
            None => {
                let arguments = (0..count).map(|_| Some(self.solver.node())).collect();
                let hub = Rc::new(Hub { arguments, result: self.solver.node() });
                self.hubs.insert(count, hub.clone());
                hub
            }
        };
        if !std::mem::replace(&mut self.sites[site as usize].in_hub, true) {
            for (own, shared) in arguments.iter().zip(&hub.arguments) {
                if let (Some(own), Some(shared)) = (own, shared) {
                    self.solver.edge(*own, *shared);
                }
            }
            self.solver.edge(hub.result, result);
        }
        if self.in_hubs.insert((count, target)) {
            self.pass_to_body(target, &hub.arguments, hub.result);
        }
    }

    fn base(&self, function: FunctionId) -> Node {
        self.bases[function.index()]
    }

    fn parameter(&self, function: FunctionId, index: usize) -> Node {
        let count = self.program.module.function(function).instructions.len();
        self.base(function) + (count + index) as Node
    }

    fn result(&self, function: FunctionId) -> Node {
        let f = self.program.module.function(function);
        self.base(function) + (f.instructions.len() + f.params.len()) as Node
    }

    fn variadic(&self, function: FunctionId) -> Node {
        self.result(function) + 1
    }

    fn constant(&mut self, location: LocationId) -> Node {
        if let Some(&node) = self.constants.get(&location) {
            return node;
        }
        let node = self.solver.node();
        self.solver.add(node, &[location]);
        self.constants.insert(location, node);
        node
    }

    fn constant_locations(&mut self, value: &Value, out: &mut Vec<LocationId>) {
        match value {
            Value::Global(global) => out.push(self.globals[global.index()]),
            Value::Function(function) => out.push(self.functions[function.index()]),
            Value::Offset { base, offset } => {
                let mut inner = Vec::new();
                self.constant_locations(base, &mut inner);
                for location in inner {
                    out.push(self.solver.locations.shift(location, *offset, 0));
                }
            }
            Value::Aggregate { elements, .. } => {
                for element in elements {
                    self.constant_locations(element, out);
                }
            }
            Value::Unknown { .. } => out.push(self.unknown),
            _ => {}
        }
    }

    /// The node of a value; `None` when it holds no address.
    fn node(&mut self, function: FunctionId, value: &Value) -> Option<Node> {
        match value {
            Value::Inst(inst) => Some(self.base(function) + inst.0),
            Value::Arg(argument) => Some(self.parameter(function, argument.index())),
            _ => {
                let mut locations = Vec::new();
                self.constant_locations(value, &mut locations);
                match locations.as_slice() {
                    [] => None,
                    [one] => Some(self.constant(*one)),
                    _ => {
                        locations.sort_unstable();
                        locations.dedup();
                        let node = self.solver.node();
                        self.solver.add(node, &locations);
                        Some(node)
                    }
                }
            }
        }
    }

    fn initializers(&mut self) {
        let module = &self.program.module;
        for global in module.global_ids() {
            let Some(initializer) = &module.global(global).initializer else { continue };
            for (offset, value) in &initializer.pointers {
                let mut locations = Vec::new();
                self.constant_locations(value, &mut locations);
                let place =
                    self.solver.locations.shift(self.globals[global.index()], *offset as i64, 0);
                let cell = self.solver.cell_at(place, false);
                locations.sort_unstable();
                self.solver.add(cell, &locations);
            }
        }
    }

    /// Memory that callers outside the program pass in: one object that points to itself.
    fn outside(&mut self, api: &[FunctionId]) {
        let any = self.solver.locations.shift(self.api, 0, 1);
        let cell = self.solver.cell_at(any, false);
        self.solver.add(cell, &[self.api]);
        let unknown = self.unknown;
        let cell = self.solver.cell_at(unknown, false);
        self.solver.add(cell, &[unknown]);
        for &function in api {
            for index in 0..self.program.module.function(function).params.len() {
                let node = self.parameter(function, index);
                self.solver.add(node, &[self.api]);
            }
        }
    }

    fn function(&mut self, function: FunctionId) {
        let body = self.program.module.function(function);
        self.repeated = repeated(body);
        for (index, instruction) in body.instructions.iter().enumerate() {
            self.instruction(function, index as u32, instruction);
        }
    }

    fn carries(&self, ty: TypeId) -> bool {
        carries(&self.program.module, ty)
    }

    fn copy(&mut self, function: FunctionId, from: &Value, to: Node) {
        if let Some(from) = self.node(function, from) {
            self.solver.edge(from, to);
        }
    }

    fn instruction(&mut self, f: FunctionId, index: u32, instruction: &Instruction) {
        let own = self.base(f) + index;
        let carries = self.carries(instruction.ty);
        match &instruction.op {
            Op::Alloca { size, count, .. } => {
                let count = if let Value::Int { bits, .. } = count { *bits } else { 0 };
                let kind = ObjectKind::Stack(f, index);
                let object = self.solver.locations.object(kind, size.saturating_mul(count));
                let location = Location { object, offset: 0, stride: 0 };
                let location = self.solver.locations.intern(location);
                self.solver.add(own, &[location]);
            }
            Op::Load { address, size, .. } if carries && *size >= 8 => {
                if let Some(address) = self.node(f, address) {
                    self.solver.watch(address, Watch::Load { to: own, wide: *size > 8 });
                }
            }
            Op::Store { address, value, size, .. } if *size >= 8 => {
                self.store(f, address, value, *size > 8);
            }
            Op::Store { address, value, size: 1, .. } => self.copy_bytes(f, address, value),
            Op::AtomicRmw { address, value, size, .. } if *size >= 8 => {
                self.store(f, address, value, false);
                if let Some(address) = self.node(f, address) {
                    self.solver.watch(address, Watch::Load { to: own, wide: false });
                }
            }
            Op::CompareExchange { address, new, size, .. } if *size >= 8 => {
                self.store(f, address, new, false);
                if let Some(address) = self.node(f, address) {
                    self.solver.watch(address, Watch::Load { to: own, wide: false });
                }
            }
            Op::MemCopy { to, from, length, .. } => {
                let length = if let Value::Int { bits, .. } = length { *bits } else { 0 };
                if let (Some(to), Some(from)) = (self.node(f, to), self.node(f, from)) {
                    self.solver.copy_memory(to, from, length);
                }
            }
            Op::Address { base, offset, indices } => {
                if let Some(base) = self.node(f, base) {
                    let (offset, mut stride) = folded(*offset, indices);
                    if self.repeated.contains(&index) {
                        stride = u32::try_from(offset.unsigned_abs()).unwrap_or(1);
                    }
                    self.solver.watch(base, Watch::Shift { to: own, offset, stride });
                }
            }
            Op::Binary { op, left, right } if carries => self.binary(f, own, *op, left, right),
            Op::Cast { value, .. } if carries => self.copy(f, value, own),
            Op::Freeze { value } => self.copy(f, value, own),
            Op::Select { then, otherwise, .. } if carries => {
                self.copy(f, then, own);
                self.copy(f, otherwise, own);
            }
            Op::Phi { incoming } if carries => {
                for edge in incoming {
                    self.copy(f, &edge.value, own);
                }
            }
            Op::ExtractValue { aggregate, .. } if carries => self.copy(f, aggregate, own),
            Op::InsertValue { aggregate, element, .. } => {
                self.copy(f, aggregate, own);
                self.copy(f, element, own);
            }
            Op::ExtractElement { vector, .. } if carries => self.copy(f, vector, own),
            Op::InsertElement { vector, element, .. } => {
                self.copy(f, vector, own);
                self.copy(f, element, own);
            }
            Op::ShuffleVector { left, right, .. } => {
                self.copy(f, left, own);
                self.copy(f, right, own);
            }
            Op::VaArg { .. } => {
                let extra = self.variadic(f);
                self.solver.edge(extra, own);
            }
            Op::LandingPad { .. } => self.solver.edge(self.exceptions, own),
            Op::Return { value: Some(value) } => {
                let result = self.result(f);
                self.copy(f, value, result);
            }
            Op::Call { callee, arguments, .. } => self.call(f, index, callee, arguments),
            Op::Unknown { operands, .. } => {
                self.solver.add(own, &[self.unknown]);
                for operand in operands {
                    self.copy(f, operand, own);
                }
            }
            _ => {}
        }
    }

    fn store(&mut self, f: FunctionId, address: &Value, value: &Value, wide: bool) {
        if let (Some(address), Some(from)) = (self.node(f, address), self.node(f, value)) {
            self.solver.watch(address, Watch::Store { from, wide });
        }
    }

    fn binary(&mut self, f: FunctionId, own: Node, op: BinaryOp, left: &Value, right: &Value) {
        if !matches!(
            op,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor
        ) {
            return;
        }
        let shift = match (op, right) {
            (BinaryOp::Add, Value::Int { bits, .. }) => (*bits as i64, 0),
            (BinaryOp::Sub, Value::Int { bits, .. }) => ((*bits as i64).wrapping_neg(), 0),
            _ => (0, 1),
        };
        self.sums.push(own);
        for value in [left, right] {
            if let Some(from) = self.node(f, value) {
                let (offset, stride) = shift;
                self.solver.watch(from, Watch::Shift { to: own, offset, stride });
            }
        }
    }

    fn call(&mut self, f: FunctionId, index: u32, callee: &Callee, arguments: &[Value]) {
        let nodes: Vec<Option<Node>> = arguments.iter().map(|a| self.node(f, a)).collect();
        let own = self.base(f) + index;
        let target = match callee {
            Callee::Direct(target) => {
                self.pass_direct((f, index), *target, arguments, &nodes, own);
                return;
            }
            Callee::Indirect(function) | Callee::Virtual { function, .. } => function,
            Callee::Asm { .. } => {
                self.anything(&nodes, own);
                return;
            }
        };
        if let Some(target) = self.node(f, target) {
            let binding =
                Binding::Call { arguments: nodes, constants: arguments.to_vec(), result: own };
            let slot = match callee {
                Callee::Virtual { slot, .. } => Some(*slot),
                _ => None,
            };
            let caller = self.program.module.name_text(self.program.module.function(f).name);
            let only = Only { slot, ..Only::by(caller) };
            self.watch_some((f, index), binding, target, only);
        }
    }

    fn watch_site(&mut self, place: CallSite, binding: Binding, target: Node) {
        self.watch_some(place, binding, target, Only::default());
    }

    fn watch_some(&mut self, place: CallSite, binding: Binding, target: Node, only: Only) {
        let site = self.sites.len() as u32;
        self.sites.push(Site { place, binding: Rc::new(binding), target, only, in_hub: false });
        self.solver.watch(target, Watch::Call { site });
    }

    fn pass(
        &mut self,
        place: CallSite,
        target: FunctionId,
        arguments: &[Value],
        nodes: &[Option<Node>],
        own: Node,
    ) {
        let effects = self.effects;
        if let Some(effects) = effects.of(target) {
            for effect in effects {
                self.effect(place, target, effect, arguments, nodes, own);
            }
            self.exchange(effects, nodes);
            return;
        }
        self.pass_to_body(target, nodes, own);
    }

    /// Passes arguments to a function's formals, and its result back.
    fn pass_to_body(&mut self, target: FunctionId, nodes: &[Option<Node>], own: Node) {
        let callee = self.program.module.function(target);
        let fixed = callee.params.len();
        for (index, node) in nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            if index < fixed {
                let parameter = self.parameter(target, index);
                if callee.params[index].by_value {
                    self.private_copy(target, index, *node, parameter);
                } else {
                    self.solver.edge(*node, parameter);
                }
            } else {
                let extra = self.variadic(target);
                self.solver.edge(*node, extra);
            }
        }
        let result = self.result(target);
        self.solver.edge(result, own);
    }

    /// A by-value aggregate is the callee's own copy of what the caller's pointer leads to.
    fn private_copy(&mut self, target: FunctionId, index: usize, from: Node, parameter: Node) {
        let count = self.program.module.function(target).instructions.len();
        let kind = ObjectKind::Stack(target, (count + index) as u32);
        let object = self.solver.locations.object(kind, 0);
        let location = self.solver.locations.intern(Location { object, offset: 0, stride: 0 });
        self.solver.add(parameter, &[location]);
        self.solver.copy_memory(parameter, from, 0);
    }

    /// The worst a call can do to its pointers: store each through each, and return any.
    fn anything(&mut self, nodes: &[Option<Node>], own: Node) {
        let mixed = self.solver.node();
        self.solver.add(mixed, &[self.unknown]);
        for node in nodes.iter().flatten() {
            self.solver.watch(*node, Watch::Shift { to: mixed, offset: 0, stride: 1 });
        }
        self.solver.watch(mixed, Watch::Store { from: mixed, wide: true });
        self.solver.watch(mixed, Watch::Load { to: mixed, wide: true });
        self.solver.edge(mixed, own);
    }

    fn heap(&mut self, place: CallSite, size: u64) -> LocationId {
        let object = self.solver.locations.object(ObjectKind::Heap(place.0, place.1), size);
        self.solver.locations.intern(Location { object, offset: 0, stride: 0 })
    }

    fn effect(
        &mut self,
        place: CallSite,
        target: FunctionId,
        effect: &Effect,
        arguments: &[Value],
        nodes: &[Option<Node>],
        own: Node,
    ) {
        let argument = |index: u32| nodes.get(index as usize).copied().flatten();
        match effect {
            Effect::Allocate { out, size } => {
                let size = match size.and_then(|index| arguments.get(index as usize)) {
                    Some(Value::Int { bits, .. }) => *bits,
                    _ => 0,
                };
                let location = self.heap(place, size);
                match out {
                    None => self.solver.add(own, &[location]),
                    Some(index) => {
                        if let Some(address) = argument(*index) {
                            let from = self.constant(location);
                            self.solver.watch(address, Watch::Store { from, wide: false });
                        }
                    }
                }
            }
            Effect::Returns { argument: index, inside } => {
                if let Some(from) = argument(*index) {
                    let stride = u32::from(*inside);
                    self.solver.watch(from, Watch::Shift { to: own, offset: 0, stride });
                }
            }
            Effect::Copy { to, from } => {
                if let (Some(to), Some(from)) = (argument(*to), argument(*from)) {
                    self.solver.copy_memory(to, from, 0);
                }
            }
            Effect::Create { entry, argument: first, passed, .. } => {
                let mut parameters = vec![first.and_then(argument)];
                match *passed {
                    Passed::Nothing => {}
                    Passed::Arguments { first, parameter } => {
                        parameters.resize(parameter as usize, None);
                        parameters.extend(nodes.iter().skip(first as usize).copied());
                    }
                    Passed::Result { parameter } => {
                        parameters.resize(parameter as usize, None);
                        parameters.push(Some(own));
                    }
                }
                self.create(place, entry, parameters, nodes);
            }
            Effect::PointsIntoItself => {
                let location = self.heap(place, 0);
                let behind = match behind_asked(self.effects, target, arguments) {
                    Some(offset) => self.solver.locations.shift(location, offset, 0),
                    None => self.solver.locations.shift(location, 0, 1),
                };
                let from = self.constant(behind);
                self.solver.watch(own, Watch::Store { from, wide: false });
            }
            Effect::Once { function, .. } => {
                if let Some(target) = argument(*function) {
                    self.watch_site(place, Binding::Entry { parameters: Vec::new() }, target);
                }
            }
            Effect::Handler { function, by_address, passes, of_key, .. } => {
                let mut parameters = self.passed(nodes, passes);
                if *of_key {
                    parameters = vec![Some(self.specific)];
                }
                if let Some(mut target) = argument(*function) {
                    if let Some(bytes) = by_address {
                        target = self.loaded(target, *bytes);
                    }
                    self.watch_site(place, Binding::Entry { parameters }, target);
                }
            }
            Effect::CallBack { function, loaded, passes } => {
                let parameters = self.passed(nodes, passes);
                if let Some(mut target) = argument(*function) {
                    if let Some(bytes) = loaded {
                        target = self.loaded(target, *bytes);
                    }
                    self.watch_site(place, Binding::Entry { parameters }, target);
                }
            }
            Effect::CopyToResult { from } => {
                if let Some(from) = argument(*from) {
                    self.solver.copy_memory(own, from, 0);
                }
            }
            Effect::SetSpecific { value } => {
                if let Some(from) = argument(*value) {
                    self.solver.edge(from, self.specific);
                }
            }
            Effect::GetSpecific => self.solver.edge(self.specific, own),
            Effect::GiveResult { value } => {
                if let Some(from) = argument(*value) {
                    self.solver.edge(from, self.results);
                }
            }
            Effect::TakeResult { into: None } => self.solver.edge(self.results, own),
            Effect::TakeResult { into: Some(index) } => {
                if let Some(address) = argument(*index) {
                    let from = self.results;
                    self.solver.watch(address, Watch::Store { from, wide: false });
                }
            }
            Effect::ReturnsStatic => {
                let kind = ObjectKind::Library(target);
                let object = self.solver.locations.object(kind, 0);
                let location = Location { object, offset: 0, stride: 0 };
                let location = self.solver.locations.intern(location);
                self.solver.add(own, &[location]);
            }
            Effect::AccessInside { place: Inside { object: Some(kind), .. }, .. } => {
                let object = self.solver.locations.object(*kind, 0);
                self.solver.locations.intern(Location { object, offset: 0, stride: 0 });
            }
            Effect::ReturnsObject { object: kind } => {
                let object = self.solver.locations.object(*kind, 0);
                let place = Location { object, offset: 0, stride: 0 };
                let place = self.solver.locations.intern(place);
                self.solver.add(own, &[place]);
            }
            Effect::ReturnsLoaded { argument: index } => {
                if let Some(address) = argument(*index) {
                    self.solver.watch(address, Watch::Load { to: own, wide: false });
                }
            }
            Effect::VariadicStart { list } => {
                if let Some(list) = argument(*list) {
                    self.variadic_start(place.0, list);
                }
            }
            Effect::Throw { object } => {
                if let Some(from) = argument(*object) {
                    self.solver.edge(from, self.exceptions);
                }
            }
            Effect::StoreInto { value, into } => {
                if let (Some(value), Some(into)) = (argument(*value), argument(*into)) {
                    let from = self.anywhere(value);
                    self.solver.watch(into, Watch::Store { from, wide: false });
                }
            }
            Effect::KeepContent { of: index } | Effect::GiveContent { into: index } => {
                if let Some(buffer) = argument(*index) {
                    let gives = matches!(effect, Effect::GiveContent { .. });
                    self.pass_on(buffer, gives);
                }
            }
            Effect::Unknown => self.anything(nodes, own),
            _ => {}
        }
    }
}

/// Constant indices become part of the offset; the others give the stride.
fn folded(mut offset: i64, indices: &[(Value, i64)]) -> (i64, u32) {
    let mut stride = 0u32;
    for (index, scale) in indices {
        if let Value::Int { bits, .. } = index {
            offset = offset.wrapping_add((*bits as i64).wrapping_mul(*scale));
        } else {
            stride = gcd(stride, u32::try_from(scale.unsigned_abs()).unwrap_or(1));
        }
    }
    (offset, stride)
}
