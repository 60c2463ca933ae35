//! What a function does, as far as races are concerned.

use serde::Deserialize;

use crate::Operand;

/// One thing that a call does. Arguments are named by [`Operand`]s.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    // Locks
    Acquire(Acquire),
    Release(Release),
    LockInit {
        lock: Operand,
    },
    LockDestroy {
        lock: Operand,
    },
    /// Interrupts (or preemption) are off on this processor until they are enabled again.
    DisableInterrupts,
    EnableInterrupts,
    /// All code up to the matching end runs as if under one program-wide lock.
    AtomicBegin,
    AtomicEnd,
    /// The whole body of the function runs as if under one program-wide lock.
    AtomicBody,

    // Threads
    CreateThread(CreateThread),
    Join {
        thread: Operand,
        #[serde(default)]
        success: Success,
    },
    Detach {
        thread: Operand,
    },
    /// Ends the program when the thread can still be joined.
    EndsIfJoinable {
        thread: Operand,
    },
    /// Returns whether the thread can still be joined.
    TellsJoinable {
        thread: Operand,
    },
    /// The thread whose handle is at `from` is henceforth known by the handle at `to`; when they
    /// are swapped, the other way round as well.
    MovesThread {
        to: Operand,
        from: Operand,
        #[serde(default)]
        swap: bool,
    },
    /// A member of a container that holds threads. What it does to memory is in its body; this
    /// says what it means for the threads.
    ThreadContainer {
        container: Operand,
        member: Member,
    },
    /// A function of a future, or of a vector of futures: what it means for the thread that the
    /// future stands for is read off its name, and what it does to memory is in its body.
    Future,
    ThreadExit,
    /// What whoever waits for the calling thread gets, when the thread ends here…
    GivesResult {
        value: Operand,
    },
    /// …and where that is put: what the operand points at, or the call's result.
    TakesResult {
        into: Operand,
    },
    Cancel {
        thread: Operand,
    },

    // Conditions, barriers, semaphores
    CondInit {
        cond: Operand,
    },
    CondDestroy {
        cond: Operand,
    },
    /// Releases `mutex`, waits, takes it again before it returns, signalled or timed out.
    CondWait {
        cond: Operand,
        #[serde(default)]
        mutex: Option<Operand>,
        #[serde(default)]
        timed: bool,
    },
    CondSignal {
        cond: Operand,
    },
    CondBroadcast {
        cond: Operand,
    },
    BarrierInit {
        barrier: Operand,
        #[serde(default)]
        count: Option<Operand>,
    },
    BarrierWait {
        barrier: Operand,
    },
    /// Returns when the tasks have ended that the caller made itself: all of them, or those since
    /// this function was called.
    AwaitsTasks {
        #[serde(default)]
        since: Option<String>,
    },
    BarrierDestroy {
        barrier: Operand,
    },
    SemInit {
        semaphore: Operand,
        #[serde(default)]
        value: Option<Operand>,
    },
    /// Adds an amount, by default one.
    SemPost {
        semaphore: Operand,
        #[serde(default)]
        amount: Option<Operand>,
    },
    SemWait {
        semaphore: Operand,
        #[serde(default)]
        success: Success,
        #[serde(default)]
        timed: bool,
        #[serde(default, rename = "try")]
        tries: bool,
    },
    SemDestroy {
        semaphore: Operand,
    },

    // Counts
    /// Takes an amount, by default one, off the count; the first word of the object is the count.
    CountsDown {
        count: Operand,
        #[serde(default)]
        amount: Option<Operand>,
    },
    /// Returns when the word holds something else than the value; `order` is the argument that
    /// holds the C11 memory order.
    AwaitsChange {
        word: Operand,
        value: Operand,
        order: Operand,
    },
    /// Returns when nothing is left of the count.
    AwaitsCount {
        count: Operand,
    },

    // Channels
    /// The result, or the two words at `ends`, are descriptors of a new channel that nobody
    /// outside the process knows. Bit 11 of `flags` makes reading not wait; `count` is how much
    /// there is to read at first.
    OpensChannel {
        ends: Operand,
        #[serde(default)]
        flags: Option<Operand>,
        #[serde(default)]
        count: Option<Operand>,
    },
    Sends {
        descriptor: Operand,
    },
    /// Waits for something to read; the result is zero when there will be nothing any more, and
    /// negative when reading failed.
    Receives {
        descriptor: Operand,
        #[serde(default)]
        length: Option<Operand>,
        /// Bit 6 makes the call not wait.
        #[serde(default)]
        flags: Option<Operand>,
    },
    ClosesDescriptor {
        #[serde(default)]
        descriptor: Option<Operand>,
    },
    /// Makes a process that goes on from here beside this one.
    Forks {},
    /// What it returns is shared with processes made later, unless bit 0 of `flags` is known not to be set.
    SharesMemory {
        #[serde(default)]
        flags: Option<Operand>,
    },
    /// Descriptors may mean something else from now on, or be used without being named: unless
    /// `number` is that of a system call which does not.
    MovesDescriptors {
        #[serde(default)]
        number: Option<Operand>,
    },

    // Once
    /// Runs `function` unless it ran before under `control`; returns when it has run.
    Once {
        control: Operand,
        function: Operand,
        #[serde(default)]
        data: Option<Operand>,
    },
    /// The caller initialises when the call succeeds; otherwise someone has, and it is visible.
    OnceBegin {
        control: Operand,
        success: Success,
    },
    OnceEnd {
        control: Operand,
    },

    /// What was done before this on `object`…
    SyncRelease {
        object: Operand,
    },
    /// …is visible after this on the same object.
    SyncAcquire {
        object: Operand,
    },
    Fence,
    /// Tells whoever awaits something, of all that is awaited in this way…
    Announces,
    /// …and this returns only when somebody has announced something.
    Awaits,

    // Thread-specific data
    TlsCreate {
        key: Operand,
        #[serde(default)]
        destructor: Option<Operand>,
    },
    TlsGet {
        key: Operand,
    },
    TlsSet {
        key: Operand,
        value: Operand,
    },

    // Memory
    /// The result (or what `into` points at) is memory that no one else knows yet.
    Alloc {
        #[serde(default)]
        size: Option<Operand>,
        /// Where the pointer is put when it is not the result.
        #[serde(default)]
        into: Option<Operand>,
        #[serde(default)]
        zeroed: bool,
    },
    /// The first word of the memory that is returned points into that memory.
    PointsIntoItself,
    Free {
        pointer: Operand,
    },
    Realloc {
        pointer: Operand,
        size: Operand,
    },
    Reads(Range),
    Writes(Range),
    /// Copies bytes, pointers among them; reads one range and writes the other.
    Copies {
        to: Operand,
        from: Operand,
        length: Length,
    },
    /// An atomic operation by library call (libatomic).
    Atomic(AtomicCall),
    ReturnsArg {
        arg: Operand,
    },
    /// The result points somewhere into the same object as the argument.
    ReturnsInto {
        arg: Operand,
    },
    /// The result points at memory that the library owns and that other threads share.
    ReturnsStatic,
    /// Returns the address of something that only the calling thread has (`errno`).
    ReturnsOwn,
    /// Other threads may come to see the object.
    Publishes {
        pointer: Operand,
    },
    /// A pointer somewhere into what `pointer` points at is put where `into` points (`strtol`).
    Stores {
        pointer: Operand,
        into: Operand,
    },
    /// The library keeps the pointers that are stored where `of` points…
    KeepsContent {
        of: Operand,
    },
    /// …and puts what it has kept where `into` points (`epoll_wait`).
    GivesContent {
        into: Operand,
    },
    /// Besides what is listed, it does something that cannot be said here: with memory behind what its
    /// arguments point at, or with pointers that it keeps.
    Partial,

    // Control
    /// What the argument points at goes to whoever catches it.
    Throws {
        object: Operand,
    },
    NoReturn,
    /// Touches no memory that the program can name, and synchronises nothing.
    Pure,
    /// Calls a function that it was given, on this thread, before it returns.
    Calls {
        function: Operand,
        #[serde(default)]
        arguments: Vec<Operand>,
    },
    /// Keeps a function to be called later.
    Registers {
        function: Operand,
        #[serde(default)]
        arguments: Vec<Operand>,
        at: Moment,
    },
    /// The path ends here when the argument is zero.
    Assume {
        condition: Operand,
    },
    /// Any value may be returned.
    Nondet,
    /// A property is violated when this is reached.
    Error,
}

/// Taking a lock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Acquire {
    pub lock: Operand,
    #[serde(default)]
    pub mode: Mode,
    #[serde(default)]
    pub kind: LockKind,
    /// What the result must be for the lock to be held.
    #[serde(default)]
    pub success: Success,
    /// Gives up at once when the lock is taken.
    #[serde(default, rename = "try")]
    pub tries: bool,
    #[serde(default)]
    pub timed: bool,
    /// The holder may take it again.
    #[serde(default)]
    pub reentrant: bool,
}

/// Giving up a lock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Release {
    pub lock: Operand,
    /// The mode that is given up; `None` for whichever is held.
    #[serde(default)]
    pub mode: Option<Mode>,
    #[serde(default)]
    pub kind: LockKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CreateThread {
    pub start: Start,
    /// Passed to the start function.
    #[serde(default)]
    pub data: Option<Operand>,
    /// The start function's parameter that gets the data (the first of several for `"3.."`).
    #[serde(default)]
    pub data_param: u32,
    /// Where the thread's name is put, for joining; `"return"` when the result is the name.
    #[serde(default)]
    pub handle: Option<Operand>,
    /// How many threads the call may start.
    #[serde(default)]
    pub count: ThreadCount,
    /// The threads have ended when the call returns (a parallel region).
    #[serde(default)]
    pub joins: bool,
    /// The caller itself runs the start function too.
    #[serde(default)]
    pub includes_caller: bool,
}

/// The function that a thread starts in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Start {
    Function(Operand),
    /// A virtual function of an object: the slot's byte offset in its table.
    Virtual {
        object: Operand,
        slot: u64,
        /// What the names of the classes that such objects may have begin with.
        #[serde(default)]
        class: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadCount {
    #[default]
    One,
    Many,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Read,
    #[default]
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    #[default]
    Mutex,
    RwLock,
    Spin,
    SeqLock,
    Rcu,
    File,
}

/// When a call with a result has done what the effect says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Success {
    #[default]
    Always,
    /// The result is zero.
    Zero,
    /// The result is zero, and `EBUSY` otherwise.
    ZeroOrBusy,
    NonZero,
    /// The result is zero or positive.
    NotNegative,
}

/// When a kept function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// At the end of the process.
    Exit,
    ThreadExit,
    /// In a signal handler, on any thread.
    Signal,
    /// On another thread or processor, any time later.
    Concurrent,
    Fork,
}

/// Bytes at an address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Range {
    pub pointer: Operand,
    #[serde(default)]
    pub length: Length,
}

/// How many bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// The object pointed at, whatever its size.
    #[default]
    Object,
    Bytes(u64),
    Arg(Operand),
    /// Two arguments multiplied.
    Product(Operand, Operand),
    /// Up to and with the terminating NUL.
    String,
    /// A string, but at most so many bytes.
    StringUpTo(Operand),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AtomicCall {
    pub address: Operand,
    #[serde(default)]
    pub length: Length,
    pub op: AtomicOp,
    /// The argument that holds the C11 memory order.
    #[serde(default)]
    pub order: Option<Operand>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomicOp {
    Load,
    Store,
    Rmw,
    CompareExchange,
}

/// What a member function of a container does with the threads that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Member {
    /// Puts a thread into it: one that the call starts, or one that it is given by address.
    Add,
    /// Moves its threads within it, or makes room.
    Arrange,
    /// Gives it elements that hold no thread yet.
    Resize,
    /// Returns only when all of its threads have been joined (or ends the program).
    End,
    /// Takes over all threads of the container that is the next argument.
    Move,
    /// Swaps all threads with the container that is the next argument.
    Swap,
    /// Where the first element is, and where the last one ends.
    First,
    Past,
    /// How many elements there are.
    Size,
    /// The element with the number that is the next argument.
    At,
    /// Some element.
    Some,
    /// Whether there are none.
    Empty,
    /// Takes threads out of it, or puts some in, in a way that is not followed.
    Lose,
}
