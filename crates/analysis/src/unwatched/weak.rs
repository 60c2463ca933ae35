//! Memory that code may touch which the analysis does not see, and whether such code may run at all.
//!
//! Two answers. *Weak* objects are those that an unknown function, an unresolved call, inline
//! assembly or an unknown instruction gets a pointer to, directly or through memory; what a library
//! owns; what is stored where nothing is known of; and everything that pointers with too many targets
//! stand for. Nothing is concluded for them, wherever they are accessed.
//!
//! *Unseen code* is a function of the program that runs although nothing shows by whom it is called:
//! handed to a function without a model, called through a pointer that came from elsewhere, or loaded
//! while the program runs. Such code can do to globals and to whatever they lead to what it likes. Then
//! only memory counts that no other thread can come to know.

use racewarden_ir::{Callee, FunctionId, Op, Program, Value};

use crate::callgraph::{CallGraph, effects_of_call};
use crate::effects::{Effect, Effects};
use crate::notes::{has_own_streams, is_foreign, registers_nothing};
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind, PointsTo};

/// What to look at.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub program: &'a Program,
    pub effects: &'a Effects,
    pub points: &'a PointsTo,
    pub graph: &'a CallGraph,
    pub reachable: &'a [bool],
}

pub struct Weak {
    objects: Vec<bool>,
    /// Why code may run that is not seen.
    pub unseen: Option<String>,
}

/// Functions that load code.
const LOADERS: [&str; 2] = ["dlopen", "dlmopen"];

impl Weak {
    pub fn new(ground: Ground<'_>) -> Self {
        let mut scan = Scan { ground, roots: Vec::new(), unseen: None };
        let module = &ground.program.module;
        let runs = |id: &FunctionId| ground.reachable[id.index()];
        module.function_ids().filter(runs).for_each(|id| scan.function(id));
        let mut objects = scan.reached();
        let called_back = |(object, kind): (usize, &ObjectKind)| match kind {
            ObjectKind::Function(id) if objects[object] => {
                let function = module.function(*id);
                (!function.is_declaration()).then(|| module.name_text(function.name))
            }
            _ => None,
        };
        let kinds = ground.points.locations().objects.iter().enumerate();
        if let Some(name) = kinds.filter_map(called_back).min() {
            scan.note(&format!("`{name}` may be called by a function that has no model"));
        }
        for site in ground.graph.create_sites.iter().filter(|site| runs(&site.0)) {
            let empty = ground.points.entries.get(site).is_none_or(Vec::is_empty);
            if empty && !registers_nothing(ground.program, ground.effects, ground.points, *site) {
                scan.note("a thread is created whose function is not known");
            }
        }
        if has_own_streams(ground.program) {
            scan.note("the library's streams call functions of the program");
        }
        if ground.effects.jumps {
            scan.note("the program jumps out of functions");
        }
        // What is not reached by any call that is seen may run now, too.
        if scan.unseen.is_some() {
            module.function_ids().for_each(|id| scan.function(id));
            objects = scan.reached();
        }
        Weak { objects, unseen: scan.unseen }
    }

    pub fn is_weak(&self, object: ObjectId) -> bool {
        self.objects[object as usize]
    }

    /// For what the search of pairs could not look at.
    pub fn weaken(&mut self, object: ObjectId) {
        self.objects[object as usize] = true;
    }
}

struct Scan<'a> {
    ground: Ground<'a>,
    roots: Vec<ObjectId>,
    unseen: Option<String>,
}

impl Scan<'_> {
    fn note(&mut self, why: &str) {
        self.unseen.get_or_insert_with(|| why.to_owned());
    }

    fn root(&mut self, id: FunctionId, value: &Value) {
        let points = self.ground.points.value(self.ground.program, id, value);
        self.roots.extend(points.iter().map(|at| at.object));
    }

    fn function(&mut self, id: FunctionId) {
        let Ground { program, effects, points, .. } = self.ground;
        if effects.of(id).is_some() {
            return;
        }
        for (inst, instruction) in (0..).zip(&program.module.function(id).instructions) {
            match &instruction.op {
                Op::Unknown { operands, .. } => {
                    operands.iter().for_each(|operand| self.root(id, operand));
                }
                Op::Call { callee, arguments, .. } => self.call((id, inst), callee, arguments),
                Op::Load { address, .. } => self.follow(id, address),
                // Where it is stored nobody looks, so who finds it there is not known.
                Op::Store { address, value, .. }
                | Op::AtomicRmw { address, value, .. }
                | Op::CompareExchange { address, new: value, .. } => {
                    if points.value(program, id, address).is_empty() {
                        self.root(id, value);
                    }
                    self.follow(id, address);
                }
                Op::MemCopy { to, from, .. } => {
                    self.follow(id, from);
                    if points.value(program, id, to).is_empty() {
                        let held = points.contents(&points.value(program, id, from));
                        self.roots.extend(held.iter().map(|at| at.object));
                    }
                    self.follow(id, to);
                }
                Op::MemSet { to, .. } => self.follow(id, to),
                _ => {}
            }
        }
    }

    /// An access by a pointer from elsewhere that leads to no known object may lead to any.
    fn follow(&mut self, id: FunctionId, address: &Value) {
        let Ground { program, effects, points, .. } = self.ground;
        if points.value(program, id, address).is_empty()
            && is_foreign(program, effects, id, address, 0)
        {
            let name = program.module.name_text(program.module.function(id).name);
            let text =
                format!("`{name}` follows a pointer that was made from a number or by a library");
            self.note(&text);
        }
    }

    fn call(&mut self, site: CallSite, callee: &Callee, arguments: &[Value]) {
        let Ground { program, effects, points, graph, .. } = self.ground;
        let unknown = effects_of_call(effects, points, site, callee).any(|e| *e == Effect::Unknown);
        let unresolved = graph.unresolved.contains(&site);
        if unknown || unresolved || matches!(callee, Callee::Asm { .. }) {
            arguments.iter().for_each(|argument| self.root(site.0, argument));
        }
        if let Callee::Direct(target) = callee
            && LOADERS.contains(&program.module.name_text(program.module.function(*target).name))
        {
            self.note("the program loads code while it runs");
        }
        if let Callee::Indirect(value) | Callee::Virtual { function: value, .. } = callee
            && (unresolved || points.targets.get(&site).is_none_or(Vec::is_empty))
        {
            let targets = points.value(program, site.0, value);
            if targets.iter().any(|at| self.is_foreign_memory(*at))
                || is_foreign(program, effects, site.0, value, 0)
            {
                let name = program.module.name_text(program.module.function(site.0).name);
                self.note(&format!("`{name}` calls a function that a library has found"));
            }
        }
    }

    fn is_foreign_memory(&self, at: Location) -> bool {
        let points = self.ground.points;
        let kind = points.locations().objects[at.object as usize];
        points.in_blob(at.object)
            || matches!(kind, ObjectKind::Api | ObjectKind::Unknown | ObjectKind::Library(_))
    }

    /// Everything that unseen code gets to from what it is given.
    fn reached(&self) -> Vec<bool> {
        let Ground { program, effects, points, .. } = self.ground;
        let kinds = &points.locations().objects;
        let mut stack = self.roots.clone();
        for (object, kind) in (0..).zip(kinds) {
            let foreign = match kind {
                ObjectKind::Global(global) => {
                    program.module.global(*global).initializer.is_none()
                        || effects.synchronized.contains(global)
                }
                ObjectKind::Api | ObjectKind::Unknown | ObjectKind::Library(_) => true,
                _ => points.in_blob(object),
            };
            if foreign {
                stack.push(object);
            }
        }
        let mut reached = vec![false; kinds.len()];
        while let Some(object) = stack.pop() {
            if !std::mem::replace(&mut reached[object as usize], true) {
                stack.extend(points.successors(object));
            }
        }
        reached
    }
}
