//! From the table's words to the engine's: what a model says, as [`Effect`]s.

use std::sync::Arc;

use racewarden_finding::LockMode;
use racewarden_ir::{Function, FunctionId, Program};
use racewarden_models as models;
use racewarden_models::Operand;

use super::statics::Statics;
use super::{
    Effect, Entry, Extent, HandlerKind, Inside, LOADED, Length, LockName, Passed, RESULT, Success,
};

/// Arguments of one call that effects with an open list are spelled out for.
const MAX_LISTED: u32 = 16;

pub(super) fn convert(
    program: &Program,
    model: &models::Model,
    statics: &Statics,
    checks_errors: bool,
) -> Vec<Effect> {
    let mut out = Vec::new();
    if model.name.starts_with("llvm.va_start") {
        out.push(Effect::VariadicStart { list: 0 });
    }
    for effect in &model.effects {
        convert_one(program, model, effect, (statics, checks_errors), &mut out);
    }
    // Memory accesses come before the synchronisation that the call does afterwards.
    out.sort_by_key(|effect| match effect {
        Effect::Assume { .. } => 0,
        Effect::Access { .. } | Effect::AccessInside { .. } | Effect::Free { .. } => 1,
        Effect::NoReturn | Effect::ThreadExit => 3,
        _ => 2,
    });
    let inside = out.iter_mut().filter_map(|effect| match effect {
        Effect::AccessInside { place, .. } => Some(place),
        _ => None,
    });
    for (number, place) in (0..).zip(inside) {
        place.number = number;
    }
    out
}

/// An access by the operand, wherever it leads.
fn access(
    statics: &Statics,
    operand: &Operand,
    (write, length, atomic): (bool, Length, bool),
    out: &mut Vec<Effect>,
) {
    let inside = |base: &Operand, bytes: u64, loaded: bool| {
        let argument = argument(base)?;
        let place = Inside { argument, object: None, bytes, loaded, number: 0 };
        Some(Effect::AccessInside { place, write, length, atomic })
    };
    let found = match operand {
        Operand::Arg(_) | Operand::From(_) => {
            let all = listed(operand).into_iter();
            out.extend(all.map(|pointer| Effect::Access { pointer, write, length, atomic }));
            return;
        }
        Operand::Offset(base, bytes) => inside(base, *bytes, false),
        Operand::Load(inner) => match &**inner {
            Operand::Offset(base, bytes) => inside(base, *bytes, true),
            base => inside(base, 0, true),
        },
        Operand::Global(name) => statics.get(name).map(|object| {
            let object = Some(object);
            let place = Inside { argument: 0, object, bytes: 0, loaded: false, number: 0 };
            Effect::AccessInside { place, write, length, atomic }
        }),
        Operand::Return => None,
    };
    out.push(found.unwrap_or(Effect::Unknown));
}

fn argument(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Arg(index) => Some(*index),
        _ => None,
    }
}

/// What a callback gets.
fn passed(operand: &Operand) -> u32 {
    match operand {
        Operand::Load(inner) => argument(inner).map_or(u32::MAX, |index| index | LOADED),
        operand => argument(operand).unwrap_or(u32::MAX),
    }
}

fn listed(operand: &Operand) -> Vec<u32> {
    match operand {
        Operand::Arg(index) => vec![*index],
        Operand::From(first) => (*first..*first + MAX_LISTED).collect(),
        _ => Vec::new(),
    }
}

fn lock_name(program: &Program, operand: &Operand) -> Option<LockName> {
    match operand {
        Operand::Arg(index) => Some(LockName::Argument(*index)),
        Operand::Offset(inner, bytes) => Some(LockName::Field(argument(inner)?, *bytes)),
        Operand::Load(inner) => match &**inner {
            Operand::Arg(index) => Some(LockName::Loaded(*index, 0)),
            Operand::Offset(base, bytes) => Some(LockName::Loaded(argument(base)?, *bytes)),
            _ => None,
        },
        Operand::Global(name) => {
            let module = &program.module;
            let found =
                module.global_ids().find(|id| module.name_text(module.global(*id).name) == name);
            Some(found.map_or(LockName::Program(name_number(name)), LockName::Global))
        }
        _ => None,
    }
}

/// A number for a lock that has a name but no object in this program.
fn name_number(name: &str) -> u32 {
    name.bytes().fold(17u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) | 1
}

/// `EBUSY` of POSIX systems.
const BUSY: i64 = 16;

/// `gives_up`: the call may fail although everything is in order.
fn success_of(success: models::Success, gives_up: bool) -> Option<Success> {
    match success {
        models::Success::Zero if !gives_up => Some(Success::ZeroIfChecked),
        models::Success::Always => Some(Success::Always),
        models::Success::Zero => Some(Success::Zero),
        models::Success::ZeroOrBusy => Some(Success::ZeroOr(BUSY)),
        models::Success::NonZero => Some(Success::NonZero),
        models::Success::NotNegative => None,
    }
}

fn length_of(length: &models::Length) -> Length {
    match length {
        models::Length::Bytes(bytes) => Length::Bytes(*bytes),
        models::Length::Arg(Operand::Arg(index)) => Length::Argument(*index),
        _ => Length::Open,
    }
}

fn lock_size(kind: models::LockKind, family: &str) -> i64 {
    match (kind, family) {
        (models::LockKind::Mutex, "pthread" | "c11" | "cxx") => 40,
        (models::LockKind::RwLock, "pthread" | "c11" | "cxx") => 56,
        _ => 4,
    }
}

fn convert_one(
    program: &Program,
    model: &models::Model,
    effect: &models::Effect,
    (statics, checks_errors): (&Statics, bool),
    out: &mut Vec<Effect>,
) {
    use models::Effect as M;
    match effect {
        M::Acquire(acquire) => {
            let optimistic =
                acquire.kind == models::LockKind::SeqLock && acquire.mode == models::Mode::Read;
            let locks: Vec<LockName> = match &acquire.lock {
                // All of them are held when the call returns.
                Operand::From(_) => {
                    listed(&acquire.lock).into_iter().map(LockName::Argument).collect()
                }
                lock => lock_name(program, lock).into_iter().collect(),
            };
            if let Some(success) = success_of(acquire.success, acquire.tries || acquire.timed)
                && !optimistic
            {
                // Whoever finds that the holder of a robust mutex has died has an answer more.
                let success = match success {
                    Success::ZeroOr(_) if crate::mutexes::may_be_robust(program) => Success::Zero,
                    success => success,
                };
                let mode = match acquire.mode {
                    models::Mode::Read => LockMode::Read,
                    models::Mode::Write => LockMode::Write,
                };
                let size = lock_size(acquire.kind, &model.family);
                let counts = acquire.reentrant
                    || (acquire.kind == models::LockKind::Mutex && !checks_errors);
                for lock in locks {
                    out.push(Effect::Lock { lock, mode, success, size, counts });
                }
            }
        }
        M::Release(release) => match lock_name(program, &release.lock) {
            Some(lock) => out.push(Effect::Unlock { lock }),
            None => out.push(Effect::Unlock { lock: LockName::Loaded(u32::MAX, 0) }),
        },
        M::LockInit { lock: object }
        | M::LockDestroy { lock: object }
        | M::BarrierDestroy { barrier: object }
        | M::SemDestroy { semaphore: object } => {
            if let Some(pointer) = argument(object) {
                out.push(Effect::ResetLock { pointer });
            }
        }
        M::AtomicBegin => out.push(Effect::Lock {
            lock: LockName::Program(0),
            mode: LockMode::Write,
            success: Success::Always,
            size: 1,
            counts: false,
        }),
        M::AtomicEnd => out.push(Effect::Unlock { lock: LockName::Program(0) }),
        M::CreateThread(create) => convert_create(create, out),
        M::Detach { thread: Operand::Arg(handle) } => out.push(Effect::Detach { handle: *handle }),
        M::Join { thread, success } => {
            let (handle, by_address) = match thread {
                Operand::Arg(index) => (*index, None),
                Operand::Load(inner) => match &**inner {
                    Operand::Arg(index) => (*index, Some(0)),
                    Operand::Offset(base, bytes) => match argument(base) {
                        Some(index) => (index, Some(*bytes)),
                        None => return,
                    },
                    _ => return,
                },
                _ => return,
            };
            let gives_up = ["try", "timed", "clock"].iter().any(|part| model.name.contains(part));
            if let Some(success) = success_of(*success, gives_up) {
                out.push(Effect::Join { handle, by_address, success });
            }
        }
        M::CondWait { mutex: Some(mutex), .. } => {
            if let Some(lock) = lock_name(program, mutex) {
                out.push(Effect::Wait { lock });
            }
        }
        M::BarrierWait { barrier } => match argument(barrier) {
            Some(barrier) => out.push(Effect::Barrier { barrier }),
            None => out.push(Effect::TeamBarrier),
        },
        M::AwaitsTasks { since: None } => out.push(Effect::AwaitTasks { since: None }),
        M::AwaitsTasks { since: Some(name) } => {
            let is_it = |function: &Function| program.module.name_text(function.name) == name;
            if let Some(number) = program.module.functions.iter().position(is_it) {
                let since = Some(FunctionId(number as u32));
                out.push(Effect::AwaitTasks { since });
            }
        }
        M::BarrierInit { barrier, count } => {
            if let Some(barrier) = argument(barrier) {
                let count = count.as_ref().and_then(argument);
                out.push(Effect::BarrierInit { barrier, count });
                out.push(Effect::ResetLock { pointer: barrier });
            }
        }
        M::SemInit { semaphore: Operand::Return, value } => {
            let value = value.as_ref().and_then(argument);
            out.push(Effect::SemaphoreInit { semaphore: RESULT, value });
        }
        M::CountsDown { count, amount } => {
            if let Some(count) = argument(count) {
                let amount = amount.as_ref().and_then(argument);
                out.push(Effect::CountDown { count, amount });
            }
        }
        M::EndsIfJoinable { thread: Operand::Load(inner) } => {
            if let Some(handle) = argument(inner) {
                out.push(Effect::EndsIfJoinable { handle });
            }
        }
        M::TellsJoinable { thread: Operand::Load(inner) } => {
            if let Some(handle) = argument(inner) {
                out.push(Effect::TellJoinable { handle });
            }
        }
        M::MovesThread { to, from, swap } => {
            if let (Some(to), Some(from)) = (argument(to), argument(from)) {
                out.push(Effect::MoveHandle { to, from, swap: *swap });
            }
        }
        M::AwaitsChange { word, value, order } => {
            if let (Some(word), Some(value), Some(order)) =
                (argument(word), argument(value), argument(order))
            {
                out.push(Effect::AwaitChange { word, value, order });
            }
        }
        M::AwaitsCount { count } => {
            if let Some(count) = argument(count) {
                out.push(Effect::AwaitCount { count });
            }
        }
        M::SemInit { semaphore, value } => {
            if let Some(semaphore) = argument(semaphore) {
                let value = value.as_ref().and_then(argument);
                out.push(Effect::SemaphoreInit { semaphore, value });
                out.push(Effect::ResetLock { pointer: semaphore });
            }
        }
        M::SemPost { semaphore, amount } => {
            if let Some(semaphore) = argument(semaphore) {
                let amount = amount.as_ref().map(|amount| argument(amount).unwrap_or(u32::MAX));
                out.push(Effect::SemaphorePost { semaphore, amount });
            }
        }
        M::SemWait { semaphore, timed, tries, success } => {
            if let Some(semaphore) = argument(semaphore) {
                let certain = !timed && !tries;
                let success = success_of(*success, !certain).unwrap_or(Success::Zero);
                out.push(Effect::SemaphoreWait { semaphore, certain, success });
            }
        }
        M::OpensChannel { ends, flags, count } => out.push(Effect::OpenChannel {
            ends: argument(ends),
            flags: flags.as_ref().and_then(argument),
            count: count.as_ref().and_then(argument),
        }),
        M::Sends { descriptor } => {
            out.push(Effect::Send { descriptor: argument(descriptor).unwrap_or(u32::MAX) });
        }
        M::Receives { descriptor, length, flags } => {
            if let Some(descriptor) = argument(descriptor) {
                let length = length.as_ref().and_then(argument);
                let flags = flags.as_ref().and_then(argument);
                out.push(Effect::Receive { descriptor, length, flags });
            }
        }
        M::Announces => out.push(Effect::Announce),
        M::Awaits => out.push(Effect::Await),
        M::ClosesDescriptor { descriptor } => {
            let descriptor = descriptor.as_ref().and_then(argument);
            out.push(Effect::CloseDescriptor { descriptor });
        }
        M::Forks {} => out.push(Effect::Fork),
        M::SharesMemory { flags } => {
            let flags = flags.as_ref().and_then(argument);
            out.push(Effect::ShareMemory { flags });
        }
        M::MovesDescriptors { number } => {
            let number = number.as_ref().and_then(argument);
            out.push(Effect::MoveDescriptors { number });
        }
        M::Once { control, function, .. } => {
            if let (Some(control), Some(function)) = (argument(control), argument(function)) {
                out.push(Effect::Once { control, function });
            } else {
                out.push(Effect::Unknown);
            }
        }
        M::OnceBegin { control, success } => {
            if let (Some(control), Some(success)) = (argument(control), success_of(*success, true))
            {
                out.push(Effect::OnceBegin { control, success });
            }
        }
        M::OnceEnd { control } => {
            if let Some(control) = argument(control) {
                out.push(Effect::OnceEnd { control });
            }
        }
        M::TlsCreate { destructor: Some(function), .. } => {
            if let Some(function) = argument(function) {
                let (kind, passes) = (HandlerKind::ThreadExit, Vec::new());
                let (by_address, of_key) = (None, true);
                out.push(Effect::Handler { function, by_address, kind, passes, of_key });
            }
        }
        M::GivesResult { value } => {
            if let Some(value) = argument(value) {
                out.push(Effect::GiveResult { value });
            }
        }
        M::TakesResult { into } => out.push(Effect::TakeResult { into: argument(into) }),
        M::TlsGet { .. } => out.push(Effect::GetSpecific),
        M::TlsSet { value, .. } => {
            if let Some(value) = argument(value) {
                out.push(Effect::SetSpecific { value });
            }
        }
        M::Alloc { size, into, .. } => out.push(Effect::Allocate {
            out: into.as_ref().and_then(argument),
            size: size.as_ref().and_then(argument),
        }),
        M::PointsIntoItself => out.push(Effect::PointsIntoItself),
        M::Free { pointer } => match argument(pointer) {
            Some(pointer) => out.push(Effect::Free { pointer }),
            None => out.push(Effect::Unknown),
        },
        M::Realloc { pointer, size } => match argument(pointer) {
            Some(pointer) => {
                out.push(Effect::Free { pointer });
                out.push(Effect::Allocate { out: None, size: argument(size) });
                out.push(Effect::CopyToResult { from: pointer });
            }
            None => out.push(Effect::Unknown),
        },
        M::Reads(range) => {
            access(statics, &range.pointer, (false, length_of(&range.length), false), out);
        }
        M::Writes(range) => {
            access(statics, &range.pointer, (true, length_of(&range.length), false), out);
        }
        M::Copies { to, from, length } => {
            let (Some(to), Some(from)) = (argument(to), argument(from)) else {
                return out.push(Effect::Unknown);
            };
            let length = length_of(length);
            out.push(Effect::Access { pointer: to, write: true, length, atomic: false });
            out.push(Effect::Access { pointer: from, write: false, length, atomic: false });
            out.push(Effect::Copy { to, from });
        }
        M::Atomic(call) => {
            let write = call.op != models::AtomicOp::Load;
            access(statics, &call.address, (write, length_of(&call.length), true), out);
        }
        M::ReturnsArg { arg } => {
            let returned = match arg {
                Operand::Global(name) => {
                    statics.get(name).map(|object| Effect::ReturnsObject { object })
                }
                Operand::Load(inner) => {
                    argument(inner).map(|argument| Effect::ReturnsLoaded { argument })
                }
                arg => argument(arg).map(|argument| Effect::Returns { argument, inside: false }),
            };
            out.push(returned.unwrap_or(Effect::Unknown));
        }
        M::ReturnsInto { arg } => {
            if let Some(argument) = argument(arg) {
                out.push(Effect::Returns { argument, inside: true });
            }
        }
        M::ReturnsStatic => out.push(Effect::ReturnsStatic),
        M::ReturnsOwn => out.push(Effect::ReturnsOwn),
        M::Publishes { pointer } => {
            out.extend(listed(pointer).into_iter().map(|argument| Effect::Publish { argument }));
        }
        M::Stores { pointer, into } => match (argument(pointer), argument(into)) {
            (Some(value), Some(into)) => out.push(Effect::StoreInto { value, into }),
            _ => out.push(Effect::Unknown),
        },
        M::KeepsContent { of } => {
            out.push(argument(of).map_or(Effect::Unknown, |of| Effect::KeepContent { of }));
        }
        M::GivesContent { into } => {
            out.push(argument(into).map_or(Effect::Unknown, |into| Effect::GiveContent { into }));
        }
        M::Throws { object } => {
            out.extend(argument(object).map(|object| Effect::Throw { object }));
        }
        M::Partial => out.push(Effect::Partial),
        M::NoReturn => out.push(Effect::NoReturn),
        M::ThreadExit => out.push(Effect::ThreadExit),
        M::Calls { function, arguments } => {
            let (function, loaded) = match function {
                Operand::Load(inner) => match &**inner {
                    Operand::Offset(base, bytes) => (argument(base), Some(*bytes)),
                    base => (argument(base), Some(0)),
                },
                function => (argument(function), None),
            };
            let passes = arguments.iter().map(passed).collect();
            match function {
                Some(function) => out.push(Effect::CallBack { function, loaded, passes }),
                None => out.push(Effect::Unknown),
            }
        }
        M::Registers { function, at, arguments } => {
            let kind = match at {
                models::Moment::Exit => HandlerKind::Exit,
                models::Moment::ThreadExit => HandlerKind::ThreadExit,
                models::Moment::Signal => HandlerKind::Signal,
                models::Moment::Concurrent | models::Moment::Fork => HandlerKind::Concurrent,
            };
            let (function, by_address) = match function {
                Operand::Load(inner) => match &**inner {
                    Operand::Offset(base, bytes) => (argument(base), Some(*bytes)),
                    base => (argument(base), Some(0)),
                },
                function => (argument(function), None),
            };
            if let Some(function) = function {
                let passes = arguments.iter().map(passed).collect();
                let of_key = false;
                out.push(Effect::Handler { function, by_address, kind, passes, of_key });
            }
        }
        M::Assume { condition } => {
            if let Some(condition) = argument(condition) {
                out.push(Effect::Assume { condition });
            }
        }
        // Nothing is known but by its body.
        M::Future => out.push(Effect::Unknown),
        _ => {}
    }
}

fn convert_create(create: &models::CreateThread, out: &mut Vec<Effect>) {
    let entry = match &create.start {
        models::Start::Function(Operand::Arg(index)) => Entry::Argument(*index),
        models::Start::Virtual { object: Operand::Load(inner), slot, class } => match &**inner {
            Operand::Arg(argument) => {
                let class = class.as_deref().map(Arc::from);
                Entry::Owned { argument: *argument, slot: *slot, class }
            }
            _ => return out.push(Effect::Unknown),
        },
        _ => return out.push(Effect::Unknown),
    };
    let handle = create.handle.as_ref().and_then(argument);
    let argument = create.data.as_ref().and_then(argument);
    let extent = Extent { many: create.count == models::ThreadCount::Many, joins: create.joins };
    let parameter = create.data_param;
    let passed = match create.data.as_ref() {
        Some(Operand::From(first)) => Passed::Arguments { first: *first, parameter },
        Some(Operand::Return) => Passed::Result { parameter },
        Some(Operand::Arg(first)) if parameter > 0 => {
            Passed::Arguments { first: *first, parameter }
        }
        _ => Passed::Nothing,
    };
    let argument = argument.filter(|_| passed == Passed::Nothing);
    out.push(Effect::Create { handle, entry, argument, extent, passed });
    if let Passed::Arguments { first, .. } = passed {
        out.extend((first..first + MAX_LISTED).map(|argument| Effect::Publish { argument }));
    }
}
