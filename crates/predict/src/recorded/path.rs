//! What walking a recording gives: each thread's path program (paper 3, Table I and section
//! III.A), in the order of the thread.

use racewarden_ir::{FunctionId, InstId};
use racewarden_trace::binary::SyncOp;

use super::expr::{Arena, ExprId, Val};
use super::locations::PlaceId;

/// One instruction of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    pub function: FunctionId,
    pub inst: InstId,
}

/// A piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    pub address: u64,
    pub size: u64,
}

impl Bytes {
    pub fn overlaps(self, other: Bytes) -> bool {
        self.address < other.address.saturating_add(other.size)
            && other.address < self.address.saturating_add(self.size)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A shared read; `result` is its symbol.
    Read {
        place: PlaceId,
        result: ExprId,
        atomic: bool,
    },
    Write {
        place: PlaceId,
        value: Val,
        recorded: u64,
        atomic: bool,
    },
    /// A read-modify-write: both at once.
    Update {
        place: PlaceId,
        result: ExprId,
        value: Val,
        recorded: u64,
    },
    /// An access whose value is not followed.
    Whole {
        places: Vec<PlaceId>,
        /// The bytes it touches, of which the places are whole words.
        bytes: Bytes,
        writes: bool,
        atomic: bool,
    },
    /// Code outside may read and write these places.
    Outside {
        places: Vec<PlaceId>,
    },
    Sync {
        op: SyncOp,
        object: u64,
        extra: u64,
    },
    /// The condition keeps this truth value (or switch value).
    Branch {
        condition: ExprId,
        taken: u64,
    },
    /// The expression keeps the number it had: base addresses, indices, arguments of code outside.
    Pin {
        expr: ExprId,
    },
}

impl EventKind {
    /// Whether other threads can tell that it happened.
    pub fn is_visible(&self) -> bool {
        !matches!(self, EventKind::Branch { .. } | EventKind::Pin { .. })
    }
}

#[derive(Debug, Clone)]
pub struct PathEvent {
    pub spot: Spot,
    /// This thread's visits to the instruction so far, from 1.
    pub occurrence: u64,
    /// The place in the order of the run; 0 for what did not happen in it.
    pub sequence: u64,
    pub kind: EventKind,
}

/// A side of a branch that the run did not take (section IV).
#[derive(Debug, Clone)]
pub struct Detour {
    /// Events of the thread that come before the branch.
    pub after: usize,
    /// The branch: its condition must differ from what it was.
    pub condition: ExprId,
    pub taken: u64,
    pub spot: Spot,
    /// What the thread would do instead.
    pub events: Vec<PathEvent>,
}

#[derive(Debug, Clone, Default)]
pub struct ThreadPath {
    pub name: String,
    pub number: u32,
    pub arena: Arena,
    pub events: Vec<PathEvent>,
    pub detours: Vec<Detour>,
    /// What went into computations that keep their recorded operands.
    pub not_computed: super::walk::NotComputed,
    /// Why the path ends before the recording does.
    pub cut: Option<String>,
}

impl ThreadPath {
    /// The event that read the symbol.
    pub fn reads(&self) -> impl Iterator<Item = (ExprId, usize)> + '_ {
        self.events.iter().enumerate().filter_map(|(number, event)| match event.kind {
            EventKind::Read { result, .. } | EventKind::Update { result, .. } => {
                Some((result, number))
            }
            _ => None,
        })
    }
}
