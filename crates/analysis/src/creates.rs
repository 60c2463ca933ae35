//! Threads as the contexts create them: what each starts, with which argument, beside what.

use std::sync::Arc;

use racewarden_ir::{ArgId, Callee, FunctionId, Op, Value};

use crate::actuals::Actuals;
use crate::callgraph::effects_of_call;
use crate::contexts::{ContextId, Instantiation};
use crate::effects::{Effect, Entry, Passed};
use crate::entry::{entry_state, without_handles};
use crate::pointsto::{CallSite, Location};
use crate::state::{CreateId, Live, MAX_CHAIN, Path};
use crate::summary::Create;
use crate::sym::{Atom, LOCAL, Sym};
use crate::threads::RootId;

impl Instantiation<'_> {
    pub(crate) fn create(&mut self, id: ContextId, create: &Create) {
        let function = self.contexts[id as usize].function;
        let mut state = entry_state(self.absolute(id, &create.state));
        without_handles(&mut state);
        let state = Arc::new(state);
        let parent = self.contexts[id as usize].root;
        let targets = match self.start_of(id, create.inst) {
            Some(start) => vec![start],
            None => self.points.entries.get(&(function, create.inst)).cloned().unwrap_or_default(),
        };
        let argument =
            create.argument.as_ref().and_then(|sym| sym.substitute(&|atom| self.bind(id, atom)));
        let context = &self.contexts[id as usize];
        let merged = context.merged;
        let created = if merged || create.any_chain {
            CreateId::any((function, create.inst))
        } else {
            CreateId::new((function, create.inst)).called_from(&context.chain)
        };
        let alive: Vec<&Live> = state
            .threads
            .of_site(created.site)
            .filter(|(id, live)| id.may_be(&created) && !live.ended)
            .map(|(_, live)| live)
            .collect();
        let again = merged || !alive.is_empty();
        let repeated = merged || alive.iter().any(|live| live.current || live.repeated);
        let kind = self.team_or_task((function, create.inst));
        let apart = create.apart.or_else(|| self.apart_by_caller(id, create.argument.as_ref()?));
        for target in targets {
            let root = self.threads.root(Some(created.clone()), target);
            let entry = &mut self.threads.roots[root as usize];
            entry.many |= again || create.many;
            entry.repeated |= repeated || create.many;
            entry.apart = apart;
            (entry.team, entry.task) = kind;
            let birth = (parent, state.clone());
            if !entry.births.contains(&birth) {
                entry.births.push(birth);
            }
            if self.effects.of(target).is_some() {
                continue;
            }
            let exact =
                argument.clone().filter(|sym| self.is_fixed(sym) && !self.mentions_root(sym, root));
            let points = if exact.is_some() { None } else { self.argument_points(id, create) };
            let mut arguments = vec![exact];
            if !create.passed.is_empty() {
                let fixed = |sym: &Sym| self.is_fixed(sym) && !self.mentions_root(sym, root);
                arguments = create
                    .passed
                    .iter()
                    .map(|sym| sym.as_ref()?.substitute(&|atom| self.bind(id, atom)))
                    .map(|sym| sym.filter(fixed))
                    .collect();
            }
            let actuals =
                Actuals { arguments, points: vec![points.map(Arc::from)], ..Actuals::default() };
            self.enter(root, target, actuals, Path::default(), Some((id, create.inst)));
        }
    }

    /// How far apart the arguments of threads are that a helper creates, when it was given them.
    fn apart_by_caller(&self, id: ContextId, argument: &Sym) -> Option<i64> {
        let (mut id, mut argument, mut factor) = (id, argument, 1i64);
        for _ in 0..MAX_CHAIN {
            let [(Atom::Argument(LOCAL, index), scale)] = argument.terms.as_slice() else {
                return None;
            };
            let context = &self.contexts[id as usize];
            if context.merged || context.chain.len() >= MAX_CHAIN {
                return None;
            }
            let (parent, inst) = context.parent?;
            let caller = &self.contexts[parent as usize];
            if caller.root != context.root {
                return None;
            }
            let summary = &self.summaries[caller.function.index()];
            let call = summary
                .calls
                .iter()
                .find(|call| call.inst == inst && call.callee == context.function)?;
            factor = factor.checked_mul(*scale)?;
            match call.apart.get(*index as usize)? {
                Some(i64::MAX) => return (factor == 1).then_some(i64::MAX),
                Some(apart) => return apart.checked_mul(factor)?.checked_abs(),
                None => (id, argument) = (parent, call.arguments.get(*index as usize)?.as_ref()?),
            }
        }
        None
    }

    /// The start function, when the create call gets it from its caller and the context knows it:
    /// a wrapper round `pthread_create` starts in each call what it was given there.
    fn start_of(&self, id: ContextId, inst: u32) -> Option<FunctionId> {
        let context = &self.contexts[id as usize];
        let op = self.bodies.op((context.function, inst))?;
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &*op else { return None };
        let entry = self.effects.of(*target)?.iter().find_map(|effect| match effect {
            Effect::Create { entry: Entry::Argument(index), .. } => Some(*index),
            _ => None,
        })?;
        let Value::Arg(ArgId(index)) = arguments.get(entry as usize)? else { return None };
        let sym = context.arguments.get(*index as usize)?.as_ref()?;
        match (sym.as_atom(), sym.offset) {
            (Some(Atom::Function(function)), 0) => Some(*function),
            _ => None,
        }
    }

    /// Whether the call starts an OpenMP team, or a task.
    fn team_or_task(&self, site: CallSite) -> (bool, bool) {
        let Some(callee) = self.bodies.callee(site) else { return (false, false) };
        let mut kind = (false, false);
        for effect in effects_of_call(self.effects, self.points, site, callee) {
            if let Effect::Create { extent, passed, .. } = effect {
                kind.0 |= extent.many && extent.joins;
                kind.1 |= matches!(passed, Passed::Result { .. });
            }
        }
        kind
    }

    /// Whether the value is the same each time its instructions run once.
    fn is_fixed(&self, sym: &Sym) -> bool {
        !sym.mentions(&|atom| match atom {
            Atom::Global(global) => self.bodies.global(*global).thread_local,
            Atom::Function(_) => false,
            Atom::Stack(frame, inst) => {
                *frame == LOCAL || self.is_repeated(self.function_of(*frame), *inst)
            }
            Atom::Inst(frame, inst) => {
                *frame == LOCAL
                    || !self.is_allocation(self.function_of(*frame), *inst)
                    || self.is_repeated(self.function_of(*frame), *inst)
            }
            Atom::Load(_) => false,
            _ => true,
        })
    }

    /// Whether the value names memory of a thread of this root: a thread that creates one of its
    /// own kind must not pass its memory off as the new thread's.
    fn mentions_root(&self, sym: &Sym, root: RootId) -> bool {
        sym.mentions(&|atom| match atom {
            Atom::Stack(frame, _) | Atom::Inst(frame, _) => self.root_of(*frame) == root,
            _ => false,
        })
    }

    fn argument_points(&self, id: ContextId, create: &Create) -> Option<Vec<Location>> {
        let function = self.contexts[id as usize].function;
        let op = self.bodies.op((function, create.inst))?;
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &*op else { return None };
        let effects = self.effects.of(*target)?;
        let owner = effects.iter().find_map(|effect| match effect {
            Effect::Create { entry: Entry::Owned { argument, .. }, .. } => Some(*argument),
            _ => None,
        });
        if let Some(owner) = owner {
            let places = self.points.value(&self.bodies, function, arguments.get(owner as usize)?);
            let owned = self.points.contents(&places);
            return (!owned.is_empty()).then_some(owned);
        }
        let index = effects.iter().find_map(|effect| match effect {
            Effect::Create { argument, .. } => *argument,
            _ => None,
        })?;
        let value = arguments.get(index as usize)?;
        let bound = match value {
            Value::Arg(ArgId(index)) => {
                self.contexts[id as usize].arguments.get(*index as usize).cloned().flatten()
            }
            _ => None,
        };
        match bound {
            Some(sym) => self.locations_of(&sym),
            None => Some(self.points.value(&self.bodies, function, value).into_owned()),
        }
    }
}
