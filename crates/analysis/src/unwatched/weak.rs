//! Memory that code may touch which the analysis does not see, and whether such code may run at all.
//!
//! Two answers. *Weak* objects are those that an unknown function, an unresolved call, inline
//! assembly or an unknown instruction gets a pointer to, directly or through memory; what a library
//! owns; what is stored where nothing is known of; and everything that pointers with too many targets
//! stand for. Nothing is concluded for them, wherever they are accessed.
//!
//! *Unseen code* is a function of the program that runs although nothing shows by whom it is called
//! (handed to a function without a model, called through a pointer that came from elsewhere), or code
//! that is not there to be looked at (loaded while the program runs, linked without its source). Such code
//! can do to globals and to whatever they lead to what it likes. Then only memory counts that no other
//! thread can come to know; and the functions that unseen code may call get anything as arguments, which
//! is why the program is to be looked at again with those as functions called from outside.

use racewarden_ir::{Callee, FunctionId, Op, Program, Value};

use crate::bodies::Bodies;
use crate::callgraph::{CallGraph, effects_of_call};
use crate::check::exported_functions;
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
    /// Functions that were taken to be called from outside.
    pub callable: &'a [FunctionId],
    /// Code is linked that is not there to be looked at.
    pub foreign: bool,
}

pub struct Weak {
    objects: Vec<bool>,
    /// Why code may run that is not seen.
    pub unseen: Option<String>,
    /// What unseen code may call, sorted.
    pub callable: Vec<FunctionId>,
    /// Whether unseen code may call any function at all.
    pub lost: bool,
}

/// Functions that load code.
const LOADERS: [&str; 2] = ["dlopen", "dlmopen"];

impl Weak {
    pub fn new(ground: Ground<'_>) -> Self {
        let mut scan = Scan { ground, roots: Vec::new(), unseen: None, by_name: ground.foreign };
        if ground.foreign {
            scan.note("objects are linked whose source was not captured");
        }
        let module = &ground.program.module;
        let runs = |id: &FunctionId| ground.reachable[id.index()];
        module.function_ids().filter(runs).for_each(|id| scan.function(id));
        let callable = scan.callable();
        if let Some(id) = callable.first() {
            let name = module.name_text(module.function(*id).name);
            scan.note(&format!("`{name}` may be called by code that is not seen"));
        }
        if ground.effects.jumps {
            scan.note("the program jumps out of functions");
        }
        let lost = scan.loses_calls();
        let objects = scan.reached(&|object| ground.points.in_blob(object));
        Weak { objects, unseen: scan.unseen, callable, lost }
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
    /// Unseen code knows functions by their names.
    by_name: bool,
}

impl Scan<'_> {
    fn note(&mut self, why: &str) {
        self.unseen.get_or_insert_with(|| why.to_owned());
    }

    /// The program's functions that unseen code is handed, or knows by their names.
    fn callable(&self) -> Vec<FunctionId> {
        let Ground { program, points, .. } = self.ground;
        let reached = self.reached(&|_| false);
        let mut found: Vec<FunctionId> =
            if self.by_name { exported_functions(program) } else { Vec::new() };
        found.extend(points.locations().objects.iter().zip(reached).filter_map(
            |(kind, reached)| match kind {
                ObjectKind::Function(id) if reached => Some(*id),
                _ => None,
            },
        ));
        found.retain(|id| !program.module.function(*id).is_declaration());
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether it cannot be told which functions are called from where.
    fn loses_calls(&mut self) -> bool {
        let Ground { program, effects, points, graph, reachable, .. } = self.ground;
        let bodies = Bodies::new(program, effects);
        let lost = graph.create_sites.iter().any(|site| {
            let empty = points.entries.get(site).is_none_or(Vec::is_empty);
            let nothing = || registers_nothing(&bodies, effects, points, *site);
            reachable[site.0.index()] && empty && !nothing()
        });
        if lost {
            self.note("a thread is created whose function is not known");
        }
        let streams = has_own_streams(&bodies);
        if streams {
            self.note("the library's streams call functions of the program");
        }
        lost || streams
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
        let goes_out = self.ground.callable.binary_search(&id).is_ok();
        for (inst, instruction) in (0..).zip(&program.module.function(id).instructions) {
            match &instruction.op {
                Op::Return { value: Some(value) } if goes_out => self.root(id, value),
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
            && is_foreign(&Bodies::unwatched(program, effects), effects, id, address, 0)
        {
            let name = program.module.name_text(program.module.function(id).name);
            let text =
                format!("`{name}` follows a pointer that was made from a number or by a library");
            self.note(&text);
        }
    }

    fn call(&mut self, site: CallSite, callee: &Callee, arguments: &[Value]) {
        let Ground { program, effects, points, graph, .. } = self.ground;
        let unknown = effects_of_call(effects, points, site, callee)
            .any(|effect| matches!(effect, Effect::Unknown | Effect::Partial));
        let unresolved = graph.unresolved.contains(&site);
        if unknown || unresolved || matches!(callee, Callee::Asm { .. }) {
            arguments.iter().for_each(|argument| self.root(site.0, argument));
        }
        if let Callee::Direct(target) = callee
            && LOADERS.contains(&program.module.name_text(program.module.function(*target).name))
        {
            self.by_name = true;
            self.note("the program loads code while it runs");
        }
        if let Callee::Indirect(value) | Callee::Virtual { function: value, .. } = callee
            && (unresolved || points.targets.get(&site).is_none_or(Vec::is_empty))
        {
            let targets = points.value(program, site.0, value);
            if targets.iter().any(|at| self.is_foreign_memory(*at))
                || is_foreign(&Bodies::unwatched(program, effects), effects, site.0, value, 0)
            {
                let name = program.module.name_text(program.module.function(site.0).name);
                self.by_name = true;
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

    /// Everything that unseen code gets to from what it is given; `also` is taken to be known to it.
    fn reached(&self, also: &dyn Fn(ObjectId) -> bool) -> Vec<bool> {
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
                _ => false,
            };
            if foreign || also(object) {
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
