//! A trace as a total order of events: threads, accesses and synchronisation, without values.

/// A thread of the trace, by its index in [`OrderTrace::threads`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

impl ThreadId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an event does to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A plain read of a variable.
    Read,
    /// A plain write of a variable.
    Write,
    /// An atomic read: sees its write like any read, but never races.
    AtomicRead,
    /// An atomic write; a read-modify-write is an atomic read followed by one of these.
    AtomicWrite,
    /// Takes a lock alone.
    Acquire,
    Release,
    /// Takes a lock together with other readers.
    AcquireShared,
    ReleaseShared,
    /// Starts the thread `object`.
    Fork,
    /// Waits for the thread `object` to end.
    Join,
    Begin,
    End,
    /// Lets every later [`Kind::Await`] of the same token pass.
    Notify,
    /// Passes because of every earlier [`Kind::Notify`] of the same token; that order is kept.
    Await,
}

impl Kind {
    pub fn is_access(self) -> bool {
        matches!(self, Kind::Read | Kind::Write)
    }

    pub fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::AtomicRead)
    }

    pub fn writes(self) -> bool {
        matches!(self, Kind::Write | Kind::AtomicWrite)
    }

    pub fn acquires(self) -> bool {
        matches!(self, Kind::Acquire | Kind::AcquireShared)
    }

    pub fn releases(self) -> bool {
        matches!(self, Kind::Release | Kind::ReleaseShared)
    }
}

/// Where in the program an event stands: a number as it is, any other text through the table of
/// names, told apart by the highest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(u32);

const NAMED: u32 = 1 << 31;

impl Location {
    /// A location that is a number below 2^31.
    pub fn number(number: u32) -> Option<Self> {
        (number < NAMED).then_some(Location(number))
    }

    /// The `index`th name of [`OrderTrace::location_names`].
    pub fn named(index: u32) -> Self {
        Location(index | NAMED)
    }

    fn name_index(self) -> Option<usize> {
        (self.0 & NAMED != 0).then_some((self.0 & !NAMED) as usize)
    }
}

/// One event. `object` is a variable, a lock, a thread or a token, by the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    pub thread: ThreadId,
    pub kind: Kind,
    pub object: u32,
    pub location: Location,
}

/// One observed run.
///
/// Invariants, which the readers establish: a lock is taken only when it is free (or shared), and
/// released only by its holder, once per acquisition (inner acquisitions of a re-entrant lock are
/// left out); a thread that is forked has no event before its fork and none after its join.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderTrace {
    pub threads: Vec<Box<str>>,
    pub variables: Vec<Box<str>>,
    pub locks: Vec<Box<str>>,
    pub location_names: Vec<Box<str>>,
    pub tokens: u32,
    pub events: Vec<Event>,
}

impl OrderTrace {
    /// The location as it stood in the trace.
    pub fn location_text(&self, location: Location) -> String {
        match location.name_index() {
            Some(index) => self.location_names[index].to_string(),
            None => location.0.to_string(),
        }
    }

    pub fn thread_name(&self, thread: ThreadId) -> &str {
        &self.threads[thread.index()]
    }

    /// The event as a line of the STD format. Kinds that STD does not know are written as the
    /// nearest ones it has: atomics as plain accesses, shared locks as locks, tokens as accesses
    /// of a variable of their own.
    pub fn event_text(&self, event: &Event) -> String {
        let object = event.object as usize;
        let operation = match event.kind {
            Kind::Read | Kind::AtomicRead => format!("r({})", self.variables[object]),
            Kind::Write | Kind::AtomicWrite => format!("w({})", self.variables[object]),
            Kind::Acquire | Kind::AcquireShared => format!("acq({})", self.locks[object]),
            Kind::Release | Kind::ReleaseShared => format!("rel({})", self.locks[object]),
            Kind::Fork => format!("fork({})", self.threads[object]),
            Kind::Join => format!("join({})", self.threads[object]),
            Kind::Begin => format!("begin({})", self.thread_name(event.thread)),
            Kind::End => format!("end({})", self.thread_name(event.thread)),
            Kind::Notify => format!("w(token{object})"),
            Kind::Await => format!("r(token{object})"),
        };
        let thread = self.thread_name(event.thread);
        format!("{thread}|{operation}|{}", self.location_text(event.location))
    }
}
