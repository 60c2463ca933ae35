//! What a call to a function without a body does, in the terms of this engine.
//!
//! The `models` table is the source; here each function of the program is looked up once, so
//! that the passes index by [`FunctionId`] and never compare names.

use std::sync::Arc;

use racewarden_finding::LockMode;
use racewarden_ir::{FunctionId, GlobalId, Program, Type};
use racewarden_models as models;
use racewarden_models::{Models, Operand};

/// Stands for a call's result among its arguments.
pub const RESULT: u32 = u32::MAX - 1;

/// When the lock is held after the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    Always,
    /// The call returned zero (`pthread_mutex_trylock`).
    Zero,
    /// The call returned zero, and nothing but misuse makes it return anything else: a caller
    /// that does not look at the result may rely on it (`pthread_mutex_lock`).
    ZeroIfChecked,
    /// The call returned something else (`try_lock`, `spin_trylock`).
    NonZero,
}

/// Which lock a call speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockName {
    /// The object that this argument points to.
    Argument(u32),
    /// The object so many bytes into what this argument points to.
    Field(u32, u64),
    /// The object that a pointer leads to, stored so many bytes into what this argument points to.
    Loaded(u32, u64),
    /// The program's global of that name.
    Global(GlobalId),
    /// One lock for the whole program, without an object (`__VERIFIER_atomic_begin`, the
    /// unnamed OpenMP critical section).
    Program(u32),
}

/// Where a new thread starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The function that this argument points to.
    Argument(u32),
    /// The virtual function at `slot` of the object owned by the pointer that this argument
    /// points to (`std::thread::_M_start_thread`).
    Owned { argument: u32, slot: u64, class: Option<Arc<str>> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// `size` is the least number of bytes between two different locks of this kind. `counts`:
    /// a holder that takes it again must release it as often.
    Lock {
        lock: LockName,
        mode: LockMode,
        success: Success,
        size: i64,
        counts: bool,
    },
    /// Makes a lock new or ends its life: a plain write, whoever uses it meanwhile.
    ResetLock {
        pointer: u32,
    },
    Unlock {
        lock: LockName,
    },
    /// Releases the lock and takes it again before it returns.
    Wait {
        lock: LockName,
    },
    /// `argument` is passed as the entry's first parameter.
    Create {
        handle: Option<u32>,
        entry: Entry,
        argument: Option<u32>,
        extent: Extent,
        passed: Passed,
    },
    /// The first word of the returned memory points into that memory (an OpenMP task's).
    PointsIntoItself,
    /// `by_address`: the handle is so many bytes into what the argument points to; otherwise the
    /// argument is the handle.
    Join {
        handle: u32,
        by_address: Option<u64>,
        success: Success,
    },
    /// Ends the program when the thread whose handle the argument points to was not waited for.
    EndsIfJoinable {
        handle: u32,
    },
    /// Returns when the word holds something else than this value; `order` is the argument that
    /// holds the memory order.
    AwaitChange {
        word: u32,
        value: u32,
        order: u32,
    },
    /// Runs the function at most once per control object; done when it returns.
    Once {
        control: u32,
        function: u32,
    },
    /// The caller runs the initialisation when the call succeeds; otherwise it is done.
    OnceBegin {
        control: u32,
        success: Success,
    },
    OnceEnd {
        control: u32,
    },
    /// Waits at the barrier.
    Barrier {
        barrier: u32,
    },
    /// Waits for all threads of the OpenMP team.
    TeamBarrier,
    /// `count` is the argument that says how many threads wait for each other.
    BarrierInit {
        barrier: u32,
        count: Option<u32>,
    },
    SemaphoreInit {
        semaphore: u32,
        value: Option<u32>,
    },
    SemaphorePost {
        semaphore: u32,
    },
    /// `certain`: it gives up for no reason but misuse or a signal.
    SemaphoreWait {
        semaphore: u32,
        certain: bool,
        success: Success,
    },
    /// Takes an amount (one, unless an argument says it) off the count.
    CountDown {
        count: u32,
        amount: Option<u32>,
    },
    /// Returns when the count is down to nothing.
    AwaitCount {
        count: u32,
    },
    /// A new channel whose descriptors are the two words at `ends`, or the result.
    OpenChannel {
        ends: Option<u32>,
        flags: Option<u32>,
        count: Option<u32>,
    },
    Send {
        descriptor: u32,
    },
    Receive {
        descriptor: u32,
        length: Option<u32>,
        flags: Option<u32>,
    },
    /// Tells those who await anything of the kind that futures are made of.
    Announce,
    Await,
    /// Which argument, if it is one.
    CloseDescriptor {
        descriptor: Option<u32>,
    },
    /// Descriptors may be used in a way that cannot be told; `number` is a system call's.
    MoveDescriptors {
        number: Option<u32>,
    },
    /// Returns new memory; `out` when it is stored through that argument instead.
    Allocate {
        out: Option<u32>,
        size: Option<u32>,
    },
    Free {
        pointer: u32,
    },
    /// Accesses the memory that the argument points to; `length` in bytes when known.
    Access {
        pointer: u32,
        write: bool,
        length: Length,
        atomic: bool,
    },
    /// Copies what one argument points to (pointers included) to where another does.
    Copy {
        to: u32,
        from: u32,
    },
    /// Copies what the argument points to (pointers included) to the returned memory.
    CopyToResult {
        from: u32,
    },
    /// Returns this argument, moved by an unknown number of bytes when `inside`.
    Returns {
        argument: u32,
        inside: bool,
    },
    /// Calls the function with these of its own arguments, before it returns.
    CallBack {
        function: u32,
        passes: Vec<u32>,
    },
    /// Registers a function that runs later, at any time (signal handlers) or at exit.
    /// It gets these of the call's arguments; a key's destructor gets the thread's value.
    /// `by_address`: the argument points to where the function's address is.
    Handler {
        function: u32,
        by_address: bool,
        kind: HandlerKind,
        passes: Vec<u32>,
        of_key: bool,
    },
    /// Keeps the pointer: it may be accessed by others from now on.
    Publish {
        argument: u32,
    },
    /// Stores the value where the same thread finds it again.
    SetSpecific {
        value: u32,
    },
    GetSpecific,
    /// Returns memory of the library that all callers share.
    ReturnsStatic,
    /// The path ends here when the argument is zero.
    Assume {
        condition: u32,
    },
    /// The argument list of a variadic function starts at what this argument points to.
    VariadicStart {
        list: u32,
    },
    /// Returns again, after anything that the thread has done meanwhile.
    ReturnsTwice,
    /// Ends the program, or leaves the function for good.
    NoReturn,
    /// Ends the calling thread.
    ThreadExit,
    /// Nothing is known: every pointer it gets may be used in any way.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerKind {
    /// At any time from now on.
    Concurrent,
    /// The same, but on a thread that there is, in between what it does.
    Signal,
    /// When the program ends.
    Exit,
    /// When a thread ends, on that thread.
    ThreadExit,
}

/// How many threads a create call starts, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    pub many: bool,
    /// They have ended when the call returns.
    ///
    /// Where the caller is one of the team, its part is that of any other member: a member's
    /// accesses and locks are the team's, so the caller's own run adds nothing.
    pub joins: bool,
}

/// What a create call hands to parameters of the start function beyond its one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passed {
    #[default]
    Nothing,
    /// Its own arguments from `first` on, to the start function's parameters from `parameter` on.
    Arguments { first: u32, parameter: u32 },
    /// The memory that it returns, to this parameter.
    Result { parameter: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Bytes(u64),
    /// The value of this argument.
    Argument(u32),
    /// Up to the end of the object (strings).
    Open,
}

/// The effects of every function of a program that has no body of its own to look at.
#[derive(Debug, Default)]
pub struct Effects {
    table: Vec<Option<Vec<Effect>>>,
    atomic_bodies: Vec<bool>,
    /// Threads may be cancelled.
    pub cancels: bool,
    /// The program jumps out of functions (`longjmp`).
    pub jumps: bool,
    /// The program ends nowhere but where `main` returns, so that what is registered for the end
    /// runs after it.
    pub ends_in_main: bool,
    /// A mutex may check for errors: taking it twice fails, and one release frees it.
    pub checks_errors: bool,
    /// Functions that nothing is known about and that get or return pointers.
    pub unknown: Vec<FunctionId>,
    /// Objects of libraries that all threads may use at once (`std::cout`).
    pub synchronized: Vec<GlobalId>,
}

impl Effects {
    pub fn new(program: &Program, models: &Models) -> Self {
        let module = &program.module;
        let mut effects = Effects {
            synchronized: crate::sharing::synchronized(program, models),
            checks_errors: crate::mutexes::checks_errors(program),
            ends_in_main: true,
            ..Effects::default()
        };
        for id in module.function_ids() {
            let function = module.function(id);
            let symbol = module.name_text(function.name);
            let model = models.for_function(symbol, !function.is_declaration());
            let atomic =
                model.is_some_and(|model| model.effects.contains(&models::Effect::AtomicBody));
            effects.atomic_bodies.push(atomic);
            effects.cancels |= model.is_some_and(|model| {
                model.effects.iter().any(|e| matches!(e, models::Effect::Cancel { .. }))
            });
            let has_body = !function.is_declaration();
            effects.jumps |= symbol.contains("setjmp");
            effects.ends_in_main &= !ENDS.contains(&symbol);
            let own = match model {
                Some(_) if symbol.contains("setjmp") => Some(vec![Effect::ReturnsTwice]),
                Some(model) if !(has_body && atomic) => {
                    let mut own = convert(program, model, effects.checks_errors);
                    // What runs when a round is complete is in the body.
                    if model.name.starts_with("std::barrier::")
                        && symbol.contains("arrive")
                        && !symbol.contains("empty_completion")
                    {
                        effects.unknown.push(id);
                        own.push(Effect::Unknown);
                    }
                    // Given guards, it takes their mutexes, which have no name here.
                    if model.name == "std::lock" && symbol.contains("_lockI") {
                        own.retain(|effect| !matches!(effect, Effect::Lock { .. }));
                    }
                    Some(own)
                }
                _ if has_body => None,
                _ if symbol.starts_with("llvm.") => Some(Vec::new()),
                _ if effects.is_harmless(program, id) => Some(Vec::new()),
                _ => {
                    effects.unknown.push(id);
                    Some(vec![Effect::Unknown])
                }
            };
            effects.table.push(own);
        }
        effects
    }

    /// A function that gets and returns numbers only has nothing to access or to call back.
    fn is_harmless(&self, program: &Program, id: FunctionId) -> bool {
        let module = &program.module;
        let function = module.function(id);
        let plain =
            |ty| matches!(module.types.get(ty), Type::Int { .. } | Type::Float { .. } | Type::Void);
        !function.variadic
            && plain(function.result)
            && function.params.iter().all(|param| plain(param.ty))
    }

    /// The effects of a function; `None` when its body is to be analysed.
    pub fn of(&self, function: FunctionId) -> Option<&[Effect]> {
        self.table.get(function.index())?.as_deref()
    }

    /// Whether the whole body runs as if under one program-wide lock.
    pub fn is_atomic_body(&self, function: FunctionId) -> bool {
        self.atomic_bodies.get(function.index()).copied().unwrap_or(false)
    }
}

/// Functions that end the program, or `main`'s thread before it.
const ENDS: [&str; 10] = [
    "exit",
    "quick_exit",
    "pthread_exit",
    "thrd_exit",
    "pthread_cancel",
    "err",
    "errx",
    "verr",
    "verrx",
    "error",
];

/// Arguments of one call that effects with an open list are spelled out for.
const MAX_LISTED: u32 = 16;

fn convert(program: &Program, model: &models::Model, checks_errors: bool) -> Vec<Effect> {
    let mut out = Vec::new();
    if model.name.starts_with("llvm.va_start") {
        out.push(Effect::VariadicStart { list: 0 });
    }
    for effect in &model.effects {
        convert_one(program, model, effect, checks_errors, &mut out);
    }
    // Memory accesses come before the synchronisation that the call does afterwards.
    out.sort_by_key(|effect| match effect {
        Effect::Assume { .. } => 0,
        Effect::Access { .. } | Effect::Free { .. } => 1,
        Effect::NoReturn | Effect::ThreadExit => 3,
        _ => 2,
    });
    out
}

fn argument(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Arg(index) => Some(*index),
        _ => None,
    }
}

fn listed(operand: &Operand) -> Vec<u32> {
    match operand {
        Operand::Arg(index) => vec![*index],
        Operand::From(first) => (*first..*first + MAX_LISTED).collect(),
        Operand::Offset(inner, _) => listed(inner),
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

/// `gives_up`: the call may fail although everything is in order.
fn success_of(success: models::Success, gives_up: bool) -> Option<Success> {
    match success {
        models::Success::Zero if !gives_up => Some(Success::ZeroIfChecked),
        models::Success::Always => Some(Success::Always),
        models::Success::Zero => Some(Success::Zero),
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
    checks_errors: bool,
    out: &mut Vec<Effect>,
) {
    use models::Effect as M;
    let access = |range: &models::Range, write: bool, out: &mut Vec<Effect>| {
        for pointer in listed(&range.pointer) {
            let length = length_of(&range.length);
            out.push(Effect::Access { pointer, write, length, atomic: false });
        }
    };
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
        M::SemPost { semaphore } => {
            if let Some(semaphore) = argument(semaphore) {
                out.push(Effect::SemaphorePost { semaphore });
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
                let (by_address, of_key) = (false, true);
                out.push(Effect::Handler { function, by_address, kind, passes, of_key });
            }
        }
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
        M::Free { pointer } => {
            if let Some(pointer) = argument(pointer) {
                out.push(Effect::Free { pointer });
            }
        }
        M::Realloc { pointer, size } => {
            if let Some(pointer) = argument(pointer) {
                out.push(Effect::Free { pointer });
                out.push(Effect::Allocate { out: None, size: argument(size) });
                out.push(Effect::CopyToResult { from: pointer });
            }
        }
        M::Reads(range) => access(range, false, out),
        M::Writes(range) => access(range, true, out),
        M::Copies { to, from, length } => {
            let (Some(to), Some(from)) = (argument(to), argument(from)) else { return };
            let length = length_of(length);
            out.push(Effect::Access { pointer: to, write: true, length, atomic: false });
            out.push(Effect::Access { pointer: from, write: false, length, atomic: false });
            out.push(Effect::Copy { to, from });
        }
        M::Atomic(call) => {
            if let Some(pointer) = argument(&call.address) {
                let write = call.op != models::AtomicOp::Load;
                let length = length_of(&call.length);
                out.push(Effect::Access { pointer, write, length, atomic: true });
            }
        }
        M::ReturnsArg { arg } => {
            if let Some(argument) = argument(arg) {
                out.push(Effect::Returns { argument, inside: false });
            }
        }
        M::ReturnsInto { arg } => {
            if let Some(argument) = argument(arg) {
                out.push(Effect::Returns { argument, inside: true });
            }
        }
        M::ReturnsStatic => out.push(Effect::ReturnsStatic),
        M::Publishes { pointer } => {
            out.extend(listed(pointer).into_iter().map(|argument| Effect::Publish { argument }));
        }
        M::NoReturn => out.push(Effect::NoReturn),
        M::ThreadExit => out.push(Effect::ThreadExit),
        M::Calls { function, arguments } => {
            if let Some(function) = argument(function) {
                let passes = arguments.iter().map(|a| argument(a).unwrap_or(u32::MAX)).collect();
                out.push(Effect::CallBack { function, passes });
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
                Operand::Load(inner) => (argument(inner), true),
                function => (argument(function), false),
            };
            if let Some(function) = function {
                let passes = arguments.iter().map(|a| argument(a).unwrap_or(u32::MAX)).collect();
                let of_key = false;
                out.push(Effect::Handler { function, by_address, kind, passes, of_key });
            }
        }
        M::Assume { condition } => {
            if let Some(condition) = argument(condition) {
                out.push(Effect::Assume { condition });
            }
        }
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
