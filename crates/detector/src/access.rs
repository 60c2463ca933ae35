//! What an access is and what a conflict says.

use crate::clock::Epoch;
use crate::lockset::LocksetId;
use crate::machine::Phase;

/// Names the place of an access; the caller maps it to a program counter or a stack. Stored with
/// every access, so that a race can be told even when the stack of the older access is gone.
/// Values below 2^21 fit the packed cell, larger ones cost a table entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId(pub u32);

/// Which of a granule's eight bytes, lowest address in bit 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteMask(pub u8);

impl ByteMask {
    pub const ALL: Self = Self(0xff);
    pub const NONE: Self = Self(0);

    /// `size` bytes from `offset` within the granule; what lies beyond it is cut off.
    #[inline]
    pub const fn span(offset: u32, size: u32) -> Self {
        let size = if size > 8 { 8 } else { size };
        Self((((1_u32 << size) - 1) << (offset & 7)) as u8)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::fmt::Debug for ByteMask {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "bytes {:08b}", self.0)
    }
}

/// Read or write, plain or atomic. A read-modify-write is an atomic write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Kind {
    pub write: bool,
    pub atomic: bool,
}

impl Kind {
    pub const READ: Self = Self { write: false, atomic: false };
    pub const WRITE: Self = Self { write: true, atomic: false };
    pub const ATOMIC_READ: Self = Self { write: false, atomic: true };
    pub const ATOMIC_WRITE: Self = Self { write: true, atomic: true };

    /// Whether two accesses of these kinds can race at all.
    pub fn conflicts(self, other: Self) -> bool {
        (self.write || other.write) && !(self.atomic && other.atomic)
    }

    /// Whether whatever conflicts with `other` conflicts with this kind too, so that a later
    /// access of this kind makes an ordered older one of kind `other` superfluous.
    pub fn subsumes(self, other: Self) -> bool {
        (self.write || !other.write) && (!self.atomic || other.atomic)
    }
}

/// One access to one granule; the caller cuts larger accesses at granule borders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub bytes: ByteMask,
    pub kind: Kind,
    pub site: SiteId,
}

/// How sure a conflict is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certainty {
    /// Suspected by the hybrid state machine only: full happens-before ordered the two in this run.
    Potential,
    /// Full happens-before leaves the two accesses unordered in this run: a proof.
    Observed,
}

/// The older access of a conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Earlier {
    pub epoch: Epoch,
    pub site: SiteId,
    pub kind: Kind,
}

/// A pair found by [`crate::Engine::access`]; the newer access is the one handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub certainty: Certainty,
    /// The bytes that both touch.
    pub bytes: ByteMask,
    pub earlier: Earlier,
    /// The state that the location was in, for the sentence in the report.
    pub phase: Phase,
    /// The candidate lockset of the location at that moment (empty outside the shared states).
    pub candidates: LocksetId,
}
