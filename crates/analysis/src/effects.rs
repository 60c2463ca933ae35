//! What a call to a function without a body does, in the terms of this engine.
//!
//! The `models` table is the source; here each function of the program is looked up once, so
//! that the passes index by [`FunctionId`] and never compare names.

use std::sync::Arc;

use racewarden_finding::LockMode;
use racewarden_ir::{FunctionId, GlobalId, Program, Type, Value};
use racewarden_models as models;
use racewarden_models::{Member, Models, Operand};
use rustc_hash::FxHashMap;

use crate::futures::{self, Futures, Role};
use crate::pointsto::{Location, ObjectKind, PointsTo};

mod convert;

mod statics;

use convert::convert;
use statics::Statics;

/// Stands for a call's result among its arguments.
pub const RESULT: u32 = u32::MAX - 1;

/// Marks an argument of a callback that is the first word of what an argument of the call points to.
pub const LOADED: u32 = 1 << 30;

/// When the lock is held after the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    Always,
    /// The call returned zero (`pthread_mutex_trylock`).
    Zero,
    /// The call returned zero; where it did not, it returned this number, or the lock is misused.
    ZeroOr(i64),
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
    /// The thread whose handle the argument is cannot be waited for any more.
    Detach {
        handle: u32,
    },
    /// Ends the program when the thread whose handle the argument points to was not waited for.
    EndsIfJoinable {
        handle: u32,
    },
    /// Returns whether the thread whose handle the argument points to was not waited for.
    TellJoinable {
        handle: u32,
    },
    /// The handle at `from` goes to `to`, and the other way round when they are swapped.
    MoveHandle {
        to: u32,
        from: u32,
        swap: bool,
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
    /// Waits for the tasks that the caller made, all of them or those since it called a function.
    AwaitTasks {
        since: Option<FunctionId>,
    },
    /// `count` is the argument that says how many threads wait for each other.
    BarrierInit {
        barrier: u32,
        count: Option<u32>,
    },
    SemaphoreInit {
        semaphore: u32,
        value: Option<u32>,
    },
    /// Adds one, or what an argument says.
    SemaphorePost {
        semaphore: u32,
        amount: Option<u32>,
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
    /// Makes a process that goes on from here beside this one.
    Fork,
    /// What it returns is shared with processes made later, unless bit 0 of this argument is known not to be set.
    ShareMemory {
        flags: Option<u32>,
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
    /// Accesses memory that is found from the argument: see [`Inside`].
    AccessInside {
        place: Inside,
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
    /// Returns an object of the library's that all its callers share.
    ReturnsObject {
        object: ObjectKind,
    },
    /// Returns what is stored where this argument points.
    ReturnsLoaded {
        argument: u32,
    },
    /// Calls the function with these of its own arguments, before it returns. `loaded`: its address
    /// is so many bytes into what the argument points to.
    CallBack {
        function: u32,
        loaded: Option<u64>,
        passes: Vec<u32>,
    },
    /// Registers a function that runs later, at any time (signal handlers) or at exit.
    /// It gets these of the call's arguments; a key's destructor gets the thread's value.
    /// `by_address`: the function's address is so many bytes into what the argument points to.
    Handler {
        function: u32,
        by_address: Option<u64>,
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
    /// Whoever waits for the calling thread gets this value…
    GiveResult {
        value: u32,
    },
    /// …where this argument points, or as the call's result.
    TakeResult {
        into: Option<u32>,
    },
    /// Returns memory of the library that all callers share.
    ReturnsStatic,
    /// Returns the address of something that only the calling thread has.
    ReturnsOwn,
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
    /// Stores a pointer into what one argument points to where another does.
    StoreInto {
        value: u32,
        into: u32,
    },
    /// Keeps the pointers that are stored where the argument points, for whoever asks…
    KeepContent {
        of: u32,
    },
    /// …and stores what was kept where this argument points.
    GiveContent {
        into: u32,
    },
    /// What the argument points to goes to whoever catches it.
    Throw {
        object: u32,
    },
    /// Does more than the other effects say: a result that rests on them is weaker.
    Partial,
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

/// A place so many bytes into what an argument points to, or what is pointed at from there; or an
/// object of the library's that all its callers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside {
    pub argument: u32,
    pub object: Option<ObjectKind>,
    pub bytes: u64,
    pub loaded: bool,
    /// Tells it from the other such places of the function.
    pub number: u8,
}

/// Marks the operand of an access to a place [`Inside`], whose number the other bits are.
pub const INSIDE: u8 = 0x40;

impl Inside {
    /// The operand of accesses there.
    pub fn operand(&self) -> u8 {
        INSIDE | self.number
    }

    /// Where it may be, given where the call's arguments point.
    pub fn places(
        &self,
        points: &PointsTo,
        arguments: &[Value],
        of: &dyn Fn(&Value) -> Vec<Location>,
    ) -> Vec<Location> {
        if let Some(kind) = self.object {
            let object = points.locations().find_object(kind);
            let place = |object| Location { object, offset: 0, stride: 0 };
            return object.map(place).into_iter().collect();
        }
        let mut places = arguments.get(self.argument as usize).map(of).unwrap_or_default();
        for place in &mut places {
            place.offset = place.offset.wrapping_add(self.bytes as i64);
        }
        if self.loaded { points.contents(&places) } else { places }
    }
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
    /// Members of containers of threads, with which argument the container is.
    members: FxHashMap<FunctionId, (Member, u32)>,
    pub futures: Futures,
    /// Threads may be cancelled.
    pub cancels: bool,
    /// What was thrown may be thrown again by another thread (`std::rethrow_exception`).
    pub rethrows: bool,
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
            futures: Futures::new(program),
            ..Effects::default()
        };
        let statics = Statics::new(program, models);
        for id in module.function_ids() {
            let function = module.function(id);
            let symbol = module.name_text(function.name);
            let model = models.for_function(symbol, !function.is_declaration());
            let atomic =
                model.is_some_and(|model| model.effects.contains(&models::Effect::AtomicBody));
            effects.atomic_bodies.push(atomic);
            let has_body = !function.is_declaration();
            let of_futures = || futures::member(symbol).map(|member| (member, 0));
            let member = model.and_then(member).or_else(of_futures);
            if let Some(member) = member.filter(|_| has_body) {
                effects.members.insert(id, member);
            }
            effects.cancels |= model.is_some_and(|model| {
                model.effects.iter().any(|e| matches!(e, models::Effect::Cancel { .. }))
            });
            effects.rethrows |= symbol.contains("rethrow_exception");
            effects.jumps |= symbol.contains("setjmp");
            effects.ends_in_main &= !ENDS.contains(&symbol);
            let own = match model {
                // What goes on where a coroutine was left is not followed.
                _ if RESUMES.iter().any(|prefix| symbol.starts_with(prefix)) => {
                    effects.unknown.push(id);
                    Some(vec![Effect::Unknown])
                }
                Some(_) if symbol.contains("setjmp") => Some(vec![Effect::ReturnsTwice]),
                Some(model) if !(has_body && model.marks_body()) => {
                    let mut own = convert(program, model, &statics, effects.checks_errors);
                    // The table says more than can be followed.
                    if own.contains(&Effect::Unknown) || own.contains(&Effect::Partial) {
                        effects.unknown.push(id);
                    }
                    // What runs when a round is complete is in the body.
                    if model.name.starts_with("std::barrier::")
                        && symbol.contains("arrive")
                        && !symbol.contains("empty_completion")
                        && !own.contains(&Effect::Unknown)
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

    /// What the function does as a member of a container of threads, and which argument is that.
    pub fn member(&self, function: FunctionId) -> Option<(Member, u32)> {
        self.members.get(&function).copied()
    }

    /// What a call of the function, which has a body, means for futures.
    pub fn future_role(&self, function: FunctionId) -> Option<Role> {
        self.futures.role(function)
    }

    /// Whether threads' handles go from one object to another anywhere.
    pub fn moves_handles(&self) -> bool {
        let moves = |effect: &Effect| matches!(effect, Effect::MoveHandle { .. });
        self.table.iter().flatten().any(|effects| effects.iter().any(moves))
    }

    /// Whether the whole body runs as if under one program-wide lock.
    pub fn is_atomic_body(&self, function: FunctionId) -> bool {
        self.atomic_bodies.get(function.index()).copied().unwrap_or(false)
    }
}

fn member(model: &models::Model) -> Option<(Member, u32)> {
    model.effects.iter().find_map(|effect| match effect {
        models::Effect::ThreadContainer { container: Operand::Arg(index), member } => {
            Some((*member, *index))
        }
        _ => None,
    })
}

/// Intrinsic functions that run parts of coroutines.
const RESUMES: [&str; 3] = ["llvm.coro.resume", "llvm.coro.destroy", "llvm.coro.await.suspend"];

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
