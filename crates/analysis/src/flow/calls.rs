//! Calls: locks, threads and other effects of modelled functions, summaries of analysed ones.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use racewarden_finding::{AccessKind, LockMode};
use racewarden_ir::{ArgId, Assembly, Callee, Function, FunctionId, InstId, Op, Value};

use super::edges::assume;
use super::handles::RESULT;
use super::{Flow, MAX_PATHS, OPEN, compose, constant_length, shown_state};
use crate::effects::{Effect, Entry, Extent, HandlerKind, Length, LockName, Passed, Success};
use crate::formats;
use crate::lives::Parts;
use crate::pointsto::{CallSite, Location, ObjectKind};
use crate::state::{CreateId, Fact, Held, Live, Path, Released, reduce};
use crate::summary::{Call, CallKind, Create};
use crate::sym::{Atom, LOCAL, Sym};

impl Flow<'_> {
    // Locks

    pub(super) fn program_lock(&self, number: u32, mode: LockMode, inst: u32) -> Held {
        Held {
            lock: Sym::constant(i64::MIN + i64::from(number)),
            points: Arc::from([]),
            mode,
            size: 1,
            count: 1,
            counts: false,
            after: BTreeSet::new(),
            acquired_at: (self.id, inst),
        }
    }

    pub(super) fn lock(
        &self,
        inst: u32,
        name: LockName,
        arguments: &[Value],
        mode: LockMode,
        size: i64,
    ) -> Option<Held> {
        let (sym, points) = match name {
            LockName::Program(number) => return Some(self.program_lock(number, mode, inst)),
            LockName::Global(global) => {
                let value = Value::Global(global);
                (self.sym(&value)?, self.points(&value).into_owned())
            }
            LockName::Argument(index) => {
                let value = arguments.get(index as usize)?;
                (self.sym(value)?, self.points(value).into_owned())
            }
            LockName::Field(index, bytes) => {
                let value = arguments.get(index as usize)?;
                let mut points = self.points(value).into_owned();
                for location in &mut points {
                    location.offset += bytes as i64;
                }
                (self.sym(value)?.shifted(bytes as i64), points)
            }
            LockName::Loaded(index, bytes) => {
                let mut places = self.points(arguments.get(index as usize)?).into_owned();
                for location in &mut places {
                    location.offset += bytes as i64;
                }
                // The library loads the pointer: it has no name here, only its targets.
                (Sym::inst(LOCAL, inst), self.env.points.contents(&places))
            }
        };
        // A pointer with too many targets may lead to any lock.
        let anywhere = points.iter().any(|at| self.env.points.in_blob(at.object));
        let points: Arc<[Location]> = if anywhere { Arc::from([]) } else { points.into() };
        let lock = self.canonical(sym, &points);
        let after = BTreeSet::new();
        let acquired_at = (self.id, inst);
        Some(Held { lock, points, mode, size, count: 1, counts: false, after, acquired_at })
    }

    /// A pointer that can only lead to one place in a global is that place's address.
    pub(super) fn canonical(&self, sym: Sym, points: &[Location]) -> Sym {
        if sym.is_constant_address() {
            return sym;
        }
        if let [Location { object, offset, stride: 0 }] = points
            && let ObjectKind::Global(global) =
                self.env.points.locations().objects[*object as usize]
            && !self.env.program.module.global(global).thread_local
        {
            return Sym::atom(Atom::Global(global)).shifted(*offset);
        }
        sym
    }

    /// Where a lock may be that is named by this value, if that is known.
    pub(super) fn lock_targets(&self, lock: &Sym) -> Option<Vec<Location>> {
        let [(atom, 1)] = lock.terms.as_slice() else { return None };
        let value = match atom {
            Atom::Inst(LOCAL, inst) => Value::Inst(InstId(*inst)),
            Atom::Argument(LOCAL, index) if (*index as usize) < self.function.params.len() => {
                Value::Arg(ArgId(*index))
            }
            _ => return None,
        };
        let mut points = self.points(&value).into_owned();
        for location in &mut points {
            location.offset = location.offset.wrapping_add(lock.offset);
        }
        let known = !points.iter().any(|at| self.env.points.in_blob(at.object));
        (known && !points.is_empty()).then_some(points)
    }

    pub(super) fn released(&self, held: Option<Held>) -> Released {
        match held {
            Some(held) => Released { lock: Some(held.lock), points: held.points, any: false },
            None => Released { lock: None, points: Arc::from([]), any: true },
        }
    }

    // Calls

    pub(super) fn call(
        &mut self,
        inst: u32,
        callee: &Callee,
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        match callee {
            Callee::Direct(target) => self.call_one(inst, *target, arguments, paths),
            Callee::Indirect(_) | Callee::Virtual { .. } => {
                let targets = self.env.points.callees((self.id, inst)).to_vec();
                if targets.is_empty() {
                    for argument in arguments {
                        self.escape_value(argument, paths);
                    }
                    return;
                }
                let before = paths.clone();
                let mut all = Vec::new();
                for target in targets {
                    let mut own = before.clone();
                    self.call_one(inst, target, arguments, &mut own);
                    all.extend(own);
                }
                *paths = all;
                reduce(paths, MAX_PATHS);
            }
            Callee::Asm { text, .. } => {
                let text = self.env.program.module.name_text(*text);
                let updated = match Assembly::of(text) {
                    Assembly::Locked { size } => Some(size),
                    _ => None,
                };
                for (index, argument) in (0..).zip(arguments) {
                    if let Some(size) = updated {
                        self.access(inst, index, argument, size, AccessKind::Write, true);
                    }
                    self.escape_value(argument, paths);
                }
            }
        }
    }

    pub(super) fn call_one(
        &mut self,
        inst: u32,
        target: FunctionId,
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        match self.env.effects.of(target) {
            Some(effects) => {
                if self.recording.is_some() {
                    let module = &self.env.program.module;
                    let name = module.name_text(module.function(target).name);
                    self.bounds = formats::bounds(module, name, arguments);
                }
                for effect in effects {
                    self.effect(inst, effect, arguments, paths);
                }
            }
            None => {
                if let Some(role) = self.future_role(target) {
                    return self.call_future(inst, (target, role), arguments, paths);
                }
                if let Some(member) = self.env.effects.member(target) {
                    return self.call_member(inst, target, member, arguments, paths);
                }
                let syms: Vec<Option<Sym>> = arguments.iter().map(|a| self.sym(a)).collect();
                self.apply(inst, target, syms, CallKind::Plain, paths);
            }
        }
    }

    pub(super) fn apply(
        &mut self,
        inst: u32,
        callee: FunctionId,
        arguments: Vec<Option<Sym>>,
        kind: CallKind,
        paths: &mut Vec<Path>,
    ) {
        if let Some(state) = self.recording.clone() {
            let arguments = arguments.clone();
            let state = if kind == CallKind::Once { Arc::new(shown_state(paths)) } else { state };
            let creates = (self.summaries)(callee).is_some_and(|s| !s.possible.threads.is_empty());
            let apart = match creates {
                true => arguments.iter().map(|sym| self.apart(inst, sym.as_ref()?)).collect(),
                false => Vec::new(),
            };
            self.summary.calls.push(Call { inst, callee, arguments, state, apart });
        }
        let Some(summary) = (self.summaries)(callee) else {
            // Not analysed yet: a call back into the component being solved.
            paths.clear();
            return;
        };
        self.summary.ends_thread |= summary.ends_thread;
        let result = self.syms.inst(inst);
        let bind = |atom: &Atom| match atom {
            Atom::Argument(LOCAL, RESULT) => Some(result.clone()),
            Atom::Argument(LOCAL, index) => arguments.get(*index as usize)?.clone(),
            _ => None,
        };
        let called = [(self.id, inst)];
        // What the library calls to start a future's thread tells no threads apart.
        let inside = self.env.effects.futures.is_machinery(self.id);
        let callers: &[CallSite] = if inside { &[] } else { &called };
        let mut after = Vec::new();
        for path in paths.iter() {
            for exit in &summary.exits {
                let mut path = path.clone();
                let mut effect = Cow::Borrowed(&exit.path);
                if kind == CallKind::Member && !effect.overwritten.is_empty() {
                    effect.to_mut().leave_elements();
                }
                let targets = |lock: &Sym| self.lock_targets(lock);
                compose(&mut path, &effect, callers, &bind, &targets);
                for index in &exit.path.escaped_arguments {
                    if let Some(Some(sym)) = arguments.get(*index as usize) {
                        self.escape(sym, std::slice::from_mut(&mut path));
                    }
                }
                if let Some(fact) = exit.result
                    && !path.assume(&result, fact)
                {
                    continue;
                }
                after.push(path);
            }
        }
        *paths = after;
        // The result is a pointer that was passed in, under a name of its own here.
        if let Some(result) = summary.result.as_ref().filter(|_| self.syms.is_opaque(inst)) {
            result.visit(&mut |atom| {
                if let Atom::Argument(LOCAL, index) = atom
                    && let Some(Some(sym)) = arguments.get(*index as usize)
                {
                    self.escape(sym, paths);
                }
            });
        }
        // Threads that a member has put into its container are told from others first.
        if kind != CallKind::Member {
            reduce(paths, MAX_PATHS);
        }
    }

    pub(super) fn effect(
        &mut self,
        inst: u32,
        effect: &Effect,
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        match effect {
            Effect::Lock { lock, mode, success, size, counts } => {
                self.touch_lock(inst, *lock, arguments);
                let held = self.lock(inst, *lock, arguments, *mode, *size);
                let held = held.map(|held| Held { counts: *counts, ..held });
                self.acquire(inst, held, *success, paths);
            }
            Effect::Unlock { lock } => {
                self.touch_lock(inst, *lock, arguments);
                let held = self.lock(inst, *lock, arguments, LockMode::Write, 1);
                let released = self.released(held);
                for path in paths.iter_mut() {
                    path.release(released.clone());
                }
            }
            Effect::Wait { lock } => {
                let held = self.lock(inst, *lock, arguments, LockMode::Write, 1);
                let released = self.released(held.clone());
                for path in paths.iter_mut() {
                    wait(path, &released, held.as_ref());
                }
            }
            Effect::Create { handle, entry, argument, extent, passed } => {
                if let Some(place) = handle.and_then(|index| arguments.get(index as usize)) {
                    let operand = handle.unwrap_or_default() as u8;
                    self.access(inst, operand, place, 8, AccessKind::Write, false);
                }
                let is_task = super::tasks::is_task(passed);
                if is_task && self.runs_at_once(inst) {
                    return;
                }
                let extent = if is_task { self.extent_of_task(inst, *extent) } else { *extent };
                let passed = self.passed(*passed, arguments);
                self.create(inst, (*handle, entry, *argument, extent), passed, arguments, paths);
            }
            Effect::Join { handle, by_address, success } => {
                let Some(handle) = arguments.get(*handle as usize) else { return };
                let bytes = by_address.unwrap_or_default() as i64;
                let place = self.handle_place(inst, handle, by_address.is_some());
                let place = place.map(|place| place.shifted(bytes));
                let value = if by_address.is_some() { None } else { self.sym(handle) };
                if place.is_some() || value.is_some() {
                    self.split(inst, *success, paths, &|path, done| {
                        if !done {
                            return;
                        }
                        if let Some(place) = &place {
                            path.join_thread(place);
                        }
                        if let Some(value) = &value {
                            path.join_value(value);
                        }
                    });
                }
            }
            Effect::Detach { handle } => {
                if let Some(handle) = arguments.get(*handle as usize) {
                    self.detach(inst, handle, paths);
                }
            }
            Effect::MoveHandle { to, from, swap } => {
                let of = |index: u32| arguments.get(index as usize);
                if let (Some(to), Some(from)) = (of(*to), of(*from)) {
                    self.move_handle(inst, (to, from), *swap, paths);
                }
            }
            Effect::EndsIfJoinable { handle } => {
                let handle = arguments.get(*handle as usize);
                if let Some(place) = handle.and_then(|h| self.handle_place(inst, h, true)) {
                    let joinable = |(_, live): (&CreateId, &Live)| {
                        live.handle.as_ref() == Some(&place) && !live.ended && !live.many
                    };
                    paths.retain(|path| !path.threads.iter_with(Parts::HANDLE).any(joinable));
                }
            }
            Effect::Once { control, .. } => self.once(inst, *control, arguments, paths),
            Effect::OnceBegin { control, success } => {
                let name = LockName::Argument(*control);
                if let Some(held) = self.lock(inst, name, arguments, LockMode::Write, 1) {
                    self.split(inst, *success, paths, &|path, runs| {
                        let mode = if runs { LockMode::Write } else { LockMode::Read };
                        path.acquire(Held { mode, ..held.clone() });
                    });
                }
            }
            Effect::OnceEnd { control } => {
                let name = LockName::Argument(*control);
                if let Some(held) = self.lock(inst, name, arguments, LockMode::Read, 1) {
                    for path in paths.iter_mut() {
                        path.held.keep_items(|other| other.lock != held.lock);
                        path.acquire(held.clone());
                    }
                }
            }
            Effect::Assume { condition } => {
                if let Some(sym) = arguments.get(*condition as usize).and_then(|v| self.sym(v)) {
                    paths.retain_mut(|path| assume(path, &sym, true));
                }
            }
            Effect::CallBack { .. } => self.run_entries(inst, paths),
            Effect::Free { pointer } => {
                if let Some(value) = arguments.get(*pointer as usize) {
                    self.access(inst, *pointer as u8, value, 1 << 40, AccessKind::Write, false);
                }
            }
            // Where the address is not the result, it is not known here what is allocated.
            Effect::Allocate { out, .. } => {
                if self.env.allocations && out.is_none() {
                    let value = Value::Inst(InstId(inst));
                    self.access(inst, MADE, &value, OPEN, AccessKind::Write, false);
                }
            }
            Effect::AccessInside { place, write, length, atomic } => {
                let kind = if *write { AccessKind::Write } else { AccessKind::Read };
                let size = length_in(*length, arguments);
                self.access_inside(inst, place, arguments, size, kind, *atomic);
            }
            Effect::Access { pointer, write, length, atomic } => {
                let Some(value) = arguments.get(*pointer as usize) else { return };
                let size = length_in(*length, arguments);
                let bound = self.bounds.iter().find(|(index, _)| index == pointer);
                let size = bound.map_or(size, |(_, most)| size.min(*most));
                let kind = if *write { AccessKind::Write } else { AccessKind::Read };
                if size > 0 {
                    self.access(inst, *pointer as u8, value, size, kind, *atomic);
                }
            }
            Effect::Publish { argument }
            | Effect::SetSpecific { value: argument }
            | Effect::Throw { object: argument }
            | Effect::StoreInto { value: argument, .. } => {
                if let Some(value) = arguments.get(*argument as usize) {
                    self.escape_value(value, paths);
                }
            }
            Effect::Handler { kind, .. } => self.handler(inst, *kind, paths),
            Effect::ReturnsTwice => self.return_twice(inst, paths),
            Effect::NoReturn => paths.clear(),
            Effect::ThreadExit => {
                self.summary.ends_thread = true;
                paths.clear();
            }
            Effect::Unknown | Effect::Partial => {
                for argument in arguments {
                    self.escape_value(argument, paths);
                }
            }
            Effect::ResetLock { pointer } => {
                if let Some(value) = arguments.get(*pointer as usize) {
                    self.access(inst, *pointer as u8, value, 1, AccessKind::Write, false);
                }
            }
            Effect::Barrier { barrier: object }
            | Effect::SemaphorePost { semaphore: object, .. }
            | Effect::SemaphoreWait { semaphore: object, .. } => {
                self.touch_lock(inst, LockName::Argument(*object), arguments);
            }
            // A number that is closed means nothing any more where it is kept.
            Effect::CloseDescriptor { descriptor: Some(index) } => {
                if let Some(place) = kept_at(self.function, arguments.get(*index as usize)) {
                    self.access(inst, *index as u8 | KEPT, place, 4, AccessKind::Write, false);
                }
            }
            Effect::TeamBarrier => self.end_tasks(inst, None, paths),
            Effect::AwaitTasks { since } => self.end_tasks(inst, *since, paths),
            Effect::BarrierInit { .. }
            | Effect::SemaphoreInit { .. }
            | Effect::CountDown { .. }
            | Effect::AwaitCount { .. }
            | Effect::AwaitChange { .. }
            | Effect::TellJoinable { .. }
            | Effect::Announce
            | Effect::Await
            | Effect::OpenChannel { .. }
            | Effect::Send { .. }
            | Effect::Receive { .. }
            | Effect::CloseDescriptor { descriptor: None }
            | Effect::MoveDescriptors { .. }
            | Effect::Fork
            | Effect::ShareMemory { .. }
            | Effect::PointsIntoItself
            | Effect::Copy { .. }
            | Effect::CopyToResult { .. }
            | Effect::GetSpecific
            // What a thread hands to whoever waits for it is its own until it has ended.
            | Effect::GiveResult { .. }
            | Effect::TakeResult { .. }
            | Effect::ReturnsStatic
            | Effect::ReturnsOwn
            | Effect::ReturnsObject { .. }
            | Effect::ReturnsLoaded { .. }
            | Effect::KeepContent { .. }
            | Effect::GiveContent { .. }
            | Effect::VariadicStart { .. } => {}
            Effect::Returns { argument, inside } => {
                if (*inside || self.syms.is_opaque(inst))
                    && let Some(value) = arguments.get(*argument as usize)
                {
                    self.escape_value(value, paths);
                }
            }
        }
    }

    /// Using a lock is an atomic access to it: it races with making it anew.
    fn touch_lock(&mut self, inst: u32, name: LockName, arguments: &[Value]) {
        if let LockName::Argument(index) = name
            && let Some(value) = arguments.get(index as usize)
            && !self.env.reset_locks.is_empty()
            && self.points(value).iter().any(|at| self.env.reset_locks.contains(&at.object))
        {
            self.access(inst, index as u8, value, 1, AccessKind::Read, true);
        }
    }

    pub(super) fn acquire(
        &self,
        inst: u32,
        held: Option<Held>,
        success: Success,
        paths: &mut Vec<Path>,
    ) {
        let Some(held) = held else { return };
        self.split(inst, success, paths, &|path, locked| {
            if locked {
                path.acquire(held.clone());
            }
        });
    }

    /// Parts each path by whether the call succeeded, as its result will tell.
    pub(super) fn split(
        &self,
        inst: u32,
        success: Success,
        paths: &mut Vec<Path>,
        change: &dyn Fn(&mut Path, bool),
    ) {
        let checked = self.used.contains(&inst);
        let (yes, no) = match success {
            Success::ZeroIfChecked | Success::Always if !checked || success == Success::Always => {
                for path in paths.iter_mut() {
                    change(path, true);
                }
                return;
            }
            Success::Zero | Success::ZeroIfChecked | Success::Always => {
                (Fact::Equals(0), Fact::Differs(0))
            }
            Success::NonZero => (Fact::Differs(0), Fact::Equals(0)),
            Success::ZeroOr(failed) => (Fact::Equals(0), Fact::Equals(failed)),
        };
        let result = self.syms.inst(inst);
        for path in std::mem::take(paths) {
            for (fact, succeeded) in [(yes, true), (no, false)] {
                let mut path = path.clone();
                if path.assume(&result, fact) {
                    change(&mut path, succeeded);
                    paths.push(path);
                }
            }
        }
        reduce(paths, MAX_PATHS);
    }

    /// After `once` returns, its body is over: as if the control object were read-locked for
    /// good, while the body holds it for writing.
    pub(super) fn once(
        &mut self,
        inst: u32,
        control: u32,
        arguments: &[Value],
        paths: &mut Vec<Path>,
    ) {
        let name = LockName::Argument(control);
        let Some(mut held) = self.lock(inst, name, arguments, LockMode::Read, 1) else { return };
        // Whoever makes the control object anew lets the function run again.
        if let Some(value) = arguments.get(control as usize) {
            self.access(inst, control as u8, value, 4, AccessKind::Read, true);
        }
        let targets = self.env.points.entries.get(&(self.id, inst)).cloned().unwrap_or_default();
        let before = paths.clone();
        for target in targets {
            if self.env.effects.of(target).is_some() {
                continue;
            }
            let mut own = before.clone();
            held.mode = LockMode::Write;
            for path in &mut own {
                path.acquire(held.clone());
            }
            self.apply(inst, target, Vec::new(), CallKind::Once, &mut own);
            for path in &mut own {
                path.held.keep_items(|other| other.lock != held.lock);
            }
            paths.extend(own);
        }
        held.mode = LockMode::Read;
        for path in paths.iter_mut() {
            path.acquire(held.clone());
        }
        reduce(paths, MAX_PATHS);
    }

    /// The start function's parameters as a call that hands on its own arguments gives them.
    fn passed(&self, passed: Passed, arguments: &[Value]) -> Vec<Option<Sym>> {
        let Passed::Arguments { first, parameter } = passed else { return Vec::new() };
        let mut result = vec![None; parameter as usize];
        result.extend(arguments.iter().skip(first as usize).map(|value| self.sym(value)));
        result
    }

    pub(super) fn create(
        &mut self,
        inst: u32,
        (handle, entry, argument, extent): (Option<u32>, &Entry, Option<u32>, Extent),
        passed: Vec<Option<Sym>>,
        arguments: &[Value],
        paths: &mut [Path],
    ) {
        let id = CreateId::new((self.id, inst));
        let value = |index: Option<u32>| index.and_then(|i| arguments.get(i as usize));
        let place = value(handle).and_then(|value| {
            let points = self.points(value);
            let tainted = points.iter().any(|at| self.env.tainted_handles.contains(&at.object));
            if tainted { None } else { self.sym(value) }
        });
        let place = place.filter(|_| !self.is_detached(inst, entry, arguments));
        let argument = value(argument).and_then(|value| self.sym(value));
        let range = place
            .as_ref()
            .and_then(|place| self.handle_range(place))
            .filter(|(index, _)| self.once_per_round(*index, inst));
        let apart = argument.as_ref().and_then(|argument| self.apart(inst, argument));
        if self.recording.is_some() {
            let state = Arc::new(shown_state(paths));
            let (argument, handle, many) = (argument.clone(), place.clone(), extent.many);
            let any_chain = false;
            let create = Create { inst, argument, passed, handle, state, apart, many, any_chain };
            self.summary.creates.push(create);
        }
        if let Some(argument) = &argument {
            self.escape(argument, paths);
        }
        if let Entry::Owned { argument, .. } = entry
            && let Some(value) = arguments.get(*argument as usize)
        {
            self.escape_value(value, paths);
        }
        for path in paths.iter_mut() {
            let live = Live {
                handle: place.clone().filter(|_| !extent.many),
                value: None,
                argument: argument.clone(),
                many: extent.many,
                current: true,
                repeated: extent.many,
                ended: false,
                range: range.clone().map(|(_, range)| Arc::new(range)),
                loose: false,
            };
            path.create(id.clone(), live);
            // What was loaded from unchanging memory may have been loaded before it was final.
            path.held.keep_items(|held| !held.lock.mentions(&|atom| matches!(atom, Atom::Load(_))));
        }
        if extent.joins {
            for path in paths.iter_mut() {
                if let Some(live) = path.threads.get(&id).map(Live::over) {
                    path.threads.insert(id.clone(), live);
                }
            }
        }
    }

    /// Functions that a modelled call runs on this thread.
    pub(super) fn run_entries(&mut self, inst: u32, paths: &mut Vec<Path>) {
        let targets = self.env.points.entries.get(&(self.id, inst)).cloned().unwrap_or_default();
        let before = paths.clone();
        for target in targets {
            if self.env.effects.of(target).is_some() {
                continue;
            }
            let mut own = before.clone();
            self.apply(inst, target, Vec::new(), CallKind::Plain, &mut own);
            paths.extend(own);
        }
        reduce(paths, MAX_PATHS);
    }

    /// When it returns again, with another result than zero, whoever jumped may have released any
    /// lock, and told others of whatever this function has.
    fn return_twice(&self, inst: u32, paths: &mut Vec<Path>) {
        let own = (0u32..).zip(&self.function.instructions).filter(|(inst, instruction)| {
            matches!(instruction.op, Op::Alloca { .. }) || self.is_allocation(*inst)
        });
        let own: Vec<u32> = own.map(|(inst, _)| inst).collect();
        let result = self.syms.inst(inst);
        for mut first in std::mem::take(paths) {
            let mut again = first.clone();
            if first.assume(&result, Fact::Equals(0)) {
                paths.push(first);
            }
            if again.assume(&result, Fact::Differs(0)) {
                again.release(self.released(None));
                again.escaped.extend(own.iter().copied());
                again.escaped_arguments.extend(0..self.function.params.len() as u32);
                paths.push(again);
            }
        }
        reduce(paths, MAX_PATHS);
    }

    /// A handler may run from now on, as a thread that nobody joins.
    pub(super) fn handler(&mut self, inst: u32, kind: HandlerKind, paths: &mut Vec<Path>) {
        if kind == HandlerKind::Exit && self.env.effects.ends_in_main {
            // It comes after `main`, as one of the program's start functions.
            return;
        }
        if kind == HandlerKind::ThreadExit {
            // It runs on threads that the program creates, at their end.
            return;
        }
        // Nothing of it depends on who registers it.
        let inst = self.first_registration(inst);
        let id = CreateId::any((self.id, inst));
        let many = false;
        if self.recording.is_some() {
            let state = Arc::new(shown_state(paths));
            let (argument, passed, handle, apart) = (None, Vec::new(), None, None);
            let any_chain = true;
            let create = Create { inst, argument, passed, handle, state, apart, many, any_chain };
            self.summary.creates.push(create);
        }
        for path in paths {
            path.create(id.clone(), Live { current: true, many, ..Live::default() });
        }
    }

    /// The function's first call that registers the same handlers by the same means. They are
    /// followed as one thread, of which there are many where both calls are made: redis has two
    /// handlers for seven signals, and half the functions of the program below each.
    fn first_registration(&self, inst: u32) -> u32 {
        let registers = |inst: u32| match &self.function.instructions[inst as usize].op {
            Op::Call { callee: Callee::Direct(callee), .. } => {
                Some((*callee, self.env.points.entries.get(&(self.id, inst))?))
            }
            _ => None,
        };
        let Some(own) = registers(inst) else { return inst };
        (0..inst).find(|other| registers(*other) == Some(own)).unwrap_or(inst)
    }
}

/// Bytes of a call's access.
fn length_in(length: Length, arguments: &[Value]) -> u64 {
    match length {
        Length::Bytes(bytes) => bytes,
        Length::Argument(index) => arguments.get(index as usize).map_or(OPEN, constant_length),
        Length::Open => OPEN,
    }
}

/// Marks the operand of an access to where an argument is kept.
pub const KEPT: u8 = 0x80;

/// Stands for a call's result among its operands.
pub const MADE: u8 = 0xff;

/// Where the descriptor is kept that a call gets.
pub fn kept_at<'a>(function: &'a Function, value: Option<&Value>) -> Option<&'a Value> {
    let Value::Inst(load) = value? else { return None };
    kept_by(&function.inst(*load).op)
}

pub fn kept_by(load: &Op) -> Option<&Value> {
    match load {
        Op::Load { address, size: 4, .. } => Some(address),
        _ => None,
    }
}

/// Released and acquired again: its history starts anew, and the others' histories gain it.
///
/// Whoever waits holds the lock, before and after: a lock held that may be this one is still held,
/// be it this one or another.
fn wait(path: &mut Path, released: &Released, lock: Option<&Held>) {
    if !path.held.iter().any(|held| released.may_be(held)) {
        // The caller's lock: it is not the acquisition that the caller knows any more.
        path.release(released.clone());
        if let Some(lock) = lock {
            path.acquire(lock.clone());
        }
        return;
    }
    for held in &mut path.held {
        if released.may_be(held) {
            held.after.clear();
        } else if let Some(lock) = &released.lock {
            held.after.insert(lock.clone());
        }
    }
}
