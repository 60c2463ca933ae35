//! Accesses, locks, threads and objects in the words of the source.

use racewarden_finding::LockMode;
use racewarden_ir::{FunctionId, Op};

use crate::bodies::Bodies;
use crate::callgraph::effects_of_call;
use crate::contexts::{ContextId, GuardedAccess, Instantiation};
use crate::draft::{DraftSite, Spot, Spots, Words, resolved};
use crate::effects::{Effect, LockName};
use crate::pointsto::{CallSite, Lengths, ObjectId, ObjectKind};
use crate::state::Held;
use crate::sym::{Atom, Sym};
use crate::threads::MAIN;

pub struct Naming<'a> {
    pub instantiation: &'a Instantiation<'a>,
    /// Places that were mentioned.
    pub spots: Spots,
}

impl<'a> Naming<'a> {
    pub fn new(instantiation: &'a Instantiation<'a>) -> Self {
        Naming { instantiation, spots: Spots::default() }
    }

    /// The field's name in the innermost type with a name: the same whether the access goes through that
    /// type or through one that it is part of or derived from.
    pub fn inner_field(&self, site: CallSite) -> Option<&'a str> {
        let bodies = &self.instantiation.bodies;
        let field = bodies.text(bodies.path(site)?.inner);
        (!field.is_empty()).then_some(field)
    }
}

impl Naming<'_> {
    fn bodies(&self) -> &Bodies<'_> {
        &self.instantiation.bodies
    }

    fn text(&self, name: racewarden_ir::NameId) -> String {
        self.bodies().text(name).to_owned()
    }

    pub fn function(&self, id: FunctionId) -> String {
        self.bodies().display_name(id).unwrap_or("the program").to_owned()
    }

    /// Where an instruction stands, as a mark that [`crate::draft`] replaces.
    pub fn at(&self, function: FunctionId, inst: u32) -> String {
        self.spots.mark(function, inst)
    }

    /// `file:line` of an instruction.
    pub fn line(&self, function: FunctionId, inst: u32) -> String {
        let place = self.bodies().place(Spot { function: function.0, inst, level: 0 });
        format!("{}:{}", place.file, place.line)
    }

    /// An access in words, for a text that is read now.
    pub fn in_words(&self, access: &GuardedAccess) -> String {
        let text = format!("{} {} [{}]", access.kind, self.lvalue(access), self.thread(access));
        resolved(&text, &self.spots, self.bodies())
    }

    pub fn site(&self, access: &GuardedAccess, words: &mut Words) -> DraftSite {
        DraftSite {
            spot: self.spots.id(access.function, access.inst),
            function: words.id(self.frames(access.function, access.inst).swap_remove(0)),
            access: access.kind,
            lvalue: words.id(self.lvalue(access)),
            atomic: access.atomic,
            locks: access
                .state
                .held
                .iter()
                .filter_map(|held| self.held(held))
                .map(|(name, mode, (function, inst))| {
                    (words.id(name), mode, self.spots.id(function, inst))
                })
                .collect(),
            thread: words.id(self.thread(access)),
            stack: self
                .stack(access)
                .into_iter()
                .flat_map(|(function, inst)| {
                    let spot = move |level| self.spots.id_at(function, inst, level);
                    let frames = self.frames(function, inst);
                    (0u32..).zip(frames).map(move |(level, name)| (name, spot(level)))
                })
                .map(|(name, spot)| (words.id(name), spot))
                .collect(),
        }
    }

    /// The functions that the instruction was written in, innermost first, the last being the one
    /// that it now stands in.
    fn frames(&self, function: FunctionId, inst: u32) -> Vec<String> {
        let inlined = self.bodies().inlined((function, inst));
        let mut names: Vec<String> =
            inlined.iter().map(|frame| self.text(frame.function)).collect();
        names.push(self.function(function));
        names
    }

    fn lvalue(&self, access: &GuardedAccess) -> String {
        let path = self.bodies().path((access.function, access.inst));
        let path = path.map(|path| self.text(path.text)).filter(|text| !text.is_empty());
        match path {
            Some(path) => path,
            None => access
                .locations
                .first()
                .map_or_else(|| "?".to_owned(), |location| self.object(location.object)),
        }
    }

    /// The field's name in its type when the access is to a field.
    pub fn field(&self, access: &GuardedAccess) -> Option<String> {
        let path = self.bodies().path((access.function, access.inst))?;
        let field = self.text(path.field);
        (!field.is_empty()).then_some(field)
    }

    pub fn object(&self, id: ObjectId) -> String {
        let bodies = self.bodies();
        match self.instantiation.points.locations().objects[id as usize] {
            ObjectKind::Global(global) => self.text(bodies.global(global).display_name),
            ObjectKind::Function(function) => self.function(function),
            ObjectKind::Stack(function, inst) => {
                let name = match bodies.op((function, inst)).as_deref() {
                    Some(Op::Alloca { name, .. }) => self.text(*name),
                    _ => bodies
                        .params(function)
                        .get(inst.saturating_sub(bodies.length(function)) as usize)
                        .map_or_else(String::new, |param| self.text(param.name)),
                };
                let name = if name.is_empty() { "a local".to_owned() } else { name };
                format!("{name} of {}", self.function(function))
            }
            ObjectKind::Heap(function, inst) => {
                format!("memory allocated at {}", self.at(function, inst))
            }
            ObjectKind::Variadic(function) => {
                format!("variadic arguments of {}", self.function(function))
            }
            ObjectKind::Library(function) => {
                format!("static memory of {}", self.function(function))
            }
            ObjectKind::Api => "memory passed in by callers".to_owned(),
            ObjectKind::Blob => "one of many objects".to_owned(),
            ObjectKind::Unknown => "memory of unknown origin".to_owned(),
        }
    }

    /// A held lock by the name that the programmer wrote; what has run once is no lock.
    fn held(&self, held: &Held) -> Option<(String, LockMode, CallSite)> {
        let (instantiation, bodies) = (self.instantiation, self.bodies());
        let once = instantiation.is_once(held.acquired_at);
        if once && held.mode == LockMode::Read {
            return None;
        }
        let lock_argument = match bodies.op(held.acquired_at).as_deref() {
            Some(Op::Call { callee, .. }) => {
                let (effects, points) = (instantiation.effects, instantiation.points);
                effects_of_call(effects, points, held.acquired_at, callee)
                    .filter_map(|effect| match effect {
                        Effect::Lock { lock: LockName::Argument(index), .. } => Some(*index),
                        _ => None,
                    })
                    .last()
            }
            _ => None,
        };
        let is_global = matches!(held.lock.as_atom(), Some(Atom::Global(_)));
        let written = lock_argument
            .filter(|_| !is_global)
            .and_then(|index| bodies.operand_path(held.acquired_at, index))
            .map(|path| self.text(path.text))
            .filter(|text| !text.is_empty());
        let name = written.unwrap_or_else(|| self.lock(&held.lock));
        let name = if once { format!("once of {name}") } else { name };
        Some((name, held.mode, held.acquired_at))
    }

    pub fn lock(&self, lock: &Sym) -> String {
        if lock.terms.is_empty() {
            return "atomic section".to_owned();
        }
        let mut text = String::new();
        for (atom, scale) in &lock.terms {
            if !text.is_empty() {
                text.push_str(" + ");
            }
            if *scale != 1 {
                text.push_str(&format!("{scale}*"));
            }
            text.push_str(&self.atom(atom));
        }
        if lock.offset != 0 {
            text.push_str(&format!("+{}", lock.offset));
        }
        text
    }

    fn atom(&self, atom: &Atom) -> String {
        let bodies = self.bodies();
        match atom {
            Atom::Global(global) => self.text(bodies.global(*global).display_name),
            Atom::Function(function) => self.function(*function),
            Atom::Argument(frame, index) => {
                let function = self.instantiation.function_of(*frame);
                match bodies.params(function).get(*index as usize) {
                    Some(param) if !self.text(param.name).is_empty() => self.text(param.name),
                    _ => format!("argument {index}"),
                }
            }
            Atom::Inst(frame, inst) => {
                let function = self.instantiation.function_of(*frame);
                match bodies.path((function, *inst)) {
                    Some(path) => self.text(path.text),
                    None => format!("value of {}", self.at(function, *inst)),
                }
            }
            Atom::Stack(frame, inst) => {
                let function = self.instantiation.function_of(*frame);
                let params = bodies.params(function);
                let slot = inst.checked_sub(bodies.length(function)).map(|slot| slot as usize);
                match (bodies.op((function, *inst)).as_deref(), slot) {
                    (Some(Op::Alloca { name, .. }), _) => self.text(*name),
                    (None, Some(slot)) if slot < params.len() => self.text(params[slot].name),
                    _ => "local".to_owned(),
                }
            }
            Atom::Load(address) => format!("*({})", self.lock(address)),
            Atom::Expr(_) => "expression".to_owned(),
        }
    }

    fn thread(&self, access: &GuardedAccess) -> String {
        let root = access.root;
        let data = &self.instantiation.threads.roots[root as usize];
        if root == MAIN {
            return "main".to_owned();
        }
        let many = if data.many { ", many" } else { "" };
        if data.outside {
            let called = self.function(self.entry_of(access));
            return format!("{called} (called from outside{many})");
        }
        let name = self.function(data.function);
        let site =
            data.create.as_ref().map(|create| create.chain.first().copied().unwrap_or(create.site));
        match site {
            Some((function, inst)) => {
                let inlined = self.bodies().inlined((function, inst));
                let at = self.spots.mark_at(function, inst, inlined.len() as u32);
                format!("{name} (created at {at}{many})")
            }
            None => format!("{name} ({})", many.trim_start_matches(", ")),
        }
    }

    /// The function that the access's thread ran first, by the way that its stack shows.
    fn entry_of(&self, access: &GuardedAccess) -> FunctionId {
        let contexts = &self.instantiation.contexts;
        let mut context = &contexts[access.context as usize];
        while let Some((parent, _)) = context.parent
            && contexts[parent as usize].root == access.root
        {
            context = &contexts[parent as usize];
        }
        context.function
    }

    /// The calls that led to the access, innermost first.
    fn stack(&self, access: &GuardedAccess) -> Vec<CallSite> {
        let mut frames = vec![(access.function, access.inst)];
        let mut context: ContextId = access.context;
        while let Some((parent, inst)) = self.instantiation.contexts[context as usize].parent {
            let caller = &self.instantiation.contexts[parent as usize];
            if caller.root != access.root || frames.len() > 64 {
                break;
            }
            frames.push((caller.function, inst));
            context = parent;
        }
        frames
    }
}
