//! The events of one thread as bytes.
//!
//! A record is a tag byte and its fields. Numbers are LEB128; what tends to be near the previous
//! one (addresses, sequence numbers) is a difference; what may be negative is zigzag-coded.
//!
//! Plain accesses are most records, so they are written in few instructions: their tag says whether
//! the sequence number is still the previous one and which of the last two addresses the difference
//! refers to (loops go through two arrays in turn), a second byte how many bytes follow for the
//! address and the value. [`Encoder::access`] writes them into a fixed room without asking for
//! memory.

/// What a synchronisation operation did. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SyncOp {
    /// `object` is the new thread's number.
    Fork = 1,
    /// `object` is the joined thread's number.
    Join = 2,
    Begin = 3,
    End = 4,
    Acquire = 5,
    Release = 6,
    AcquireShared = 7,
    ReleaseShared = 8,
    /// A try that failed because the lock was held.
    TryFailed = 9,
    /// Starts waiting for a condition; the release of the mutex is its own record.
    WaitBegin = 10,
    /// Was woken; the acquisition of the mutex is its own record.
    WaitEnd = 11,
    WaitTimeout = 12,
    Signal = 13,
    Broadcast = 14,
    /// `extra` is the barrier's count.
    BarrierInit = 15,
    BarrierArrive = 16,
    BarrierLeave = 17,
    /// `extra` is the semaphore's first value.
    SemInit = 18,
    SemPost = 19,
    SemWait = 20,
    SemTryFailed = 21,
    /// The thread has run the routine of a `pthread_once`; `OncePassed` follows for every caller.
    OnceDone = 22,
    OncePassed = 23,
    /// `extra` is the size.
    Alloc = 24,
    Free = 25,
    /// Something is handed over through `object`: a descriptor, or what the program declares. What
    /// is put keeps its order, unless `extra` is [`BESIDE`].
    Put = 26,
    /// May have got all that was put before.
    Got = 27,
}

/// Puts with this `extra` keep no order among themselves.
pub const BESIDE: u64 = 1;

/// What code that is neither instrumented nor known may hand over.
pub const UNKNOWN_CODE: u64 = (1 << 63) | 3;

/// Put when OpenMP's runtime begins to tell its order.
pub const OPENMP_TELLS: u64 = 7 << 61;

impl SyncOp {
    /// Whether `object` is a thread's number and not an address.
    pub fn names_thread(self) -> bool {
        matches!(self, SyncOp::Fork | SyncOp::Join | SyncOp::Begin | SyncOp::End)
    }

    pub fn from_number(number: u8) -> Option<Self> {
        use SyncOp::*;
        const ALL: [SyncOp; 27] = [
            Fork,
            Join,
            Begin,
            End,
            Acquire,
            Release,
            AcquireShared,
            ReleaseShared,
            TryFailed,
            WaitBegin,
            WaitEnd,
            WaitTimeout,
            Signal,
            Broadcast,
            BarrierInit,
            BarrierArrive,
            BarrierLeave,
            SemInit,
            SemPost,
            SemWait,
            SemTryFailed,
            OnceDone,
            OncePassed,
            Alloc,
            Free,
            Put,
            Got,
        ];
        ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// One event of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A function starts; by the address of its code.
    Enter {
        function: u64,
    },
    /// The value that a conditional branch or switch decides by.
    Branch {
        value: u64,
    },
    Load {
        address: u64,
        size: u32,
        value: u64,
        sequence: u64,
    },
    Store {
        address: u64,
        size: u32,
        value: u64,
        sequence: u64,
    },
    /// An atomic read-modify-write, or a compare-exchange that may have left the value alone.
    Update {
        address: u64,
        size: u32,
        old: u64,
        new: u64,
        sequence: u64,
    },
    /// An access of another size than 1, 2, 4 or 8 bytes; its content is kept up to 64 bytes.
    Wide {
        address: u64,
        size: u64,
        write: bool,
        sequence: u64,
    },
    Copy {
        to: u64,
        from: u64,
        size: u64,
        sequence: u64,
    },
    Set {
        to: u64,
        byte: u8,
        size: u64,
        sequence: u64,
    },
    /// A stack slot comes into being.
    Slot {
        address: u64,
        size: u64,
        sequence: u64,
    },
    /// The target of an indirect call.
    Call {
        target: u64,
    },
    /// An argument of the function that has just started, where its caller did not tell.
    Argument {
        value: u64,
    },
    /// What a call to code outside the unit returned.
    Return {
        value: u64,
    },
    /// What eight aligned bytes held before the first recorded access to any of them.
    Initial {
        address: u64,
        value: u64,
    },
    Sync {
        op: SyncOp,
        object: u64,
        extra: u64,
        sequence: u64,
    },
    /// An exception arrives at a landing pad of the function.
    Unwind {
        function: u64,
    },
    /// A call that saved its place in `buffer` (`setjmp`) returns once more; what it returns follows.
    Jumped {
        buffer: u64,
    },
    /// A loop ran to its end without single records; those of its accesses follow, in the order of
    /// the code.
    Loop {
        rounds: u64,
    },
    /// A load of a floating-point number that the same instruction loaded before from the same
    /// place, the thread having drawn no number since. What it found is not written, but a reader
    /// may know it.
    Again {
        value: Option<u64>,
    },
    /// So many accesses that the reader computes: where they go follows from what it walked, and
    /// what they find from what it knows of the thread's memory. `check` is of all of them since
    /// the thread began (see [`super::derived`]).
    Derived {
        count: u64,
        check: u8,
    },
    /// What eight aligned bytes hold before the next access, which the reader could not know.
    Content {
        address: u64,
        value: u64,
    },
    /// What one access of such a loop touched: `count` pieces, `stride` bytes apart. Their values
    /// are not kept.
    Range {
        address: u64,
        stride: i64,
        count: u64,
        size: u32,
        write: bool,
        sequence: u64,
    },
}

impl Record {
    /// The place in the order of all threads, for those that have one.
    pub fn sequence(&self) -> Option<u64> {
        match self {
            Record::Load { sequence, .. }
            | Record::Store { sequence, .. }
            | Record::Update { sequence, .. }
            | Record::Wide { sequence, .. }
            | Record::Copy { sequence, .. }
            | Record::Set { sequence, .. }
            | Record::Slot { sequence, .. }
            | Record::Range { sequence, .. }
            | Record::Sync { sequence, .. } => Some(*sequence),
            _ => None,
        }
    }

    pub(super) fn sequence_mut(&mut self) -> Option<&mut u64> {
        match self {
            Record::Load { sequence, .. }
            | Record::Store { sequence, .. }
            | Record::Update { sequence, .. }
            | Record::Wide { sequence, .. }
            | Record::Copy { sequence, .. }
            | Record::Set { sequence, .. }
            | Record::Slot { sequence, .. }
            | Record::Range { sequence, .. }
            | Record::Sync { sequence, .. } => Some(sequence),
            _ => None,
        }
    }
}

const ENTER: u8 = 1;
const BRANCH: u8 = 2;
const CALL: u8 = 3;
const RETURN: u8 = 4;
/// As [`INITIAL`] and [`CONTENT`] were before version 5.
const OLD_INITIAL: u8 = 5;
const OLD_CONTENT: u8 = 27;
const SYNC: u8 = 6;
const UNWIND: u8 = 7;
const WIDE_READ: u8 = 8;
const WIDE_WRITE: u8 = 9;
const COPY: u8 = 10;
const SET: u8 = 11;
const SLOT: u8 = 12;
const LOOP: u8 = 13;
const JUMPED: u8 = 24;
const AGAIN: u8 = 25;
const DERIVED: u8 = 26;
const ARGUMENT: u8 = 28;
const INITIAL: u8 = 29;
const CONTENT: u8 = 30;
/// Branches on a Boolean are most records: one byte each.
const FALSE: u8 = 14;
const TRUE: u8 = 15;
/// These carry the size's exponent in the two low bits.
const RANGE_READ: u8 = 16;
const RANGE_WRITE: u8 = 20;
/// Plain accesses: the kind, then how the fields are written, then the size's exponent.
const ACCESS: u8 = 0x80;
const KIND: u8 = 0x60;
const EARLIER_BASE: u8 = 0x08;
const SAME_SEQUENCE: u8 = 0x04;

/// What a plain access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AccessTag {
    Load = 0x00,
    Store = 0x20,
    Update = 0x40,
}

/// Room for any plain access.
pub const ACCESS_ROOM: usize = 64;

/// What differences refer to.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    address: u64,
    /// The one before it.
    earlier: u64,
    sequence: u64,
    function: u64,
}

impl Last {
    #[inline]
    fn come_to(&mut self, address: u64) {
        self.earlier = self.address;
        self.address = address;
    }
}

/// Turns records into bytes.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    last: Last,
}

impl Encoder {
    pub fn encode(&mut self, record: &Record, out: &mut Vec<u8>) {
        match *record {
            Record::Enter { function } => {
                out.push(ENTER);
                signed(out, function.wrapping_sub(self.last.function) as i64);
                self.last.function = function;
            }
            Record::Branch { value: 0 } => out.push(FALSE),
            Record::Branch { value: 1 } => out.push(TRUE),
            Record::Branch { value } => {
                out.push(BRANCH);
                unsigned(out, value);
            }
            Record::Load { address, size, value, sequence } => {
                self.append(out, AccessTag::Load, (address, size), [value, 0], sequence);
            }
            Record::Store { address, size, value, sequence } => {
                self.append(out, AccessTag::Store, (address, size), [value, 0], sequence);
            }
            Record::Update { address, size, old, new, sequence } => {
                self.append(out, AccessTag::Update, (address, size), [old, new], sequence);
            }
            Record::Wide { address, size, write, sequence } => {
                out.push(if write { WIDE_WRITE } else { WIDE_READ });
                self.place(out, address, sequence);
                unsigned(out, size);
            }
            Record::Copy { to, from, size, sequence } => {
                out.push(COPY);
                self.place(out, to, sequence);
                signed(out, from.wrapping_sub(to) as i64);
                unsigned(out, size);
            }
            Record::Set { to, byte, size, sequence } => {
                out.push(SET);
                self.place(out, to, sequence);
                out.push(byte);
                unsigned(out, size);
            }
            Record::Slot { address, size, sequence } => {
                out.push(SLOT);
                self.place(out, address, sequence);
                unsigned(out, size);
            }
            Record::Call { target } => {
                out.push(CALL);
                signed(out, target.wrapping_sub(self.last.function) as i64);
            }
            Record::Return { value } => {
                out.push(RETURN);
                signed(out, value as i64);
            }
            Record::Argument { value } => {
                out.push(ARGUMENT);
                signed(out, value as i64);
            }
            Record::Initial { address, value } => {
                let mut room = [0; ACCESS_ROOM];
                let length = self.content(&mut room, true, address, value);
                out.extend_from_slice(&room[..length]);
            }
            Record::Content { address, value } => {
                let mut room = [0; ACCESS_ROOM];
                let length = self.content(&mut room, false, address, value);
                out.extend_from_slice(&room[..length]);
            }
            Record::Derived { count, check } => {
                let mut room = [0; ACCESS_ROOM];
                let length = Self::derived(&mut room, count, check);
                out.extend_from_slice(&room[..length]);
            }
            Record::Sync { op, object, extra, sequence } => {
                out.push(SYNC);
                out.push(op as u8);
                unsigned(out, object);
                unsigned(out, extra);
                signed(out, sequence.wrapping_sub(self.last.sequence) as i64);
                self.last.sequence = sequence;
            }
            Record::Unwind { function } => {
                out.push(UNWIND);
                signed(out, function.wrapping_sub(self.last.function) as i64);
            }
            Record::Jumped { buffer } => {
                out.push(JUMPED);
                unsigned(out, buffer);
            }
            Record::Loop { rounds } => {
                out.push(LOOP);
                unsigned(out, rounds);
            }
            Record::Again { .. } => out.push(AGAIN),
            Record::Range { address, stride, count, size, write, sequence } => {
                let mut room = [0; ACCESS_ROOM];
                let place = (address, stride, count);
                let length = self.range(&mut room, place, size, write, sequence);
                out.extend_from_slice(&room[..length]);
            }
        }
    }

    fn append(
        &mut self,
        out: &mut Vec<u8>,
        tag: AccessTag,
        place: (u64, u32),
        values: [u64; 2],
        sequence: u64,
    ) {
        let mut room = [0; ACCESS_ROOM];
        let length = self.access(&mut room, tag, place, values, sequence);
        out.extend_from_slice(&room[..length]);
    }

    /// The one byte of a load that is like the one before.
    pub const fn again() -> u8 {
        AGAIN
    }

    /// The one byte of a branch decided by a Boolean.
    pub fn branch(taken: bool) -> u8 {
        if taken { TRUE } else { FALSE }
    }

    /// Writes a plain access (of 1, 2, 4 or 8 bytes) and says how long it is. An update has two
    /// values.
    #[inline]
    pub fn access(
        &mut self,
        room: &mut [u8; ACCESS_ROOM],
        tag: AccessTag,
        (address, size): (u64, u32),
        values: [u64; 2],
        sequence: u64,
    ) -> usize {
        let near = zigzag(address.wrapping_sub(self.last.address) as i64);
        let far = zigzag(address.wrapping_sub(self.last.earlier) as i64);
        let earlier = far < near;
        self.last.come_to(address);
        let step = sequence.wrapping_sub(self.last.sequence);
        self.last.sequence = sequence;
        let place = if earlier { far } else { near };
        let value = zigzag(extended(values[0], size));
        let (place_length, value_length) = (length_of(place), length_of(value));
        let mut flags = ACCESS | tag as u8 | exponent(size);
        flags |= if earlier { EARLIER_BASE } else { 0 };
        flags |= if step == 0 { SAME_SEQUENCE } else { 0 };
        room[0] = flags;
        room[1] = (place_length | value_length << 4) as u8;
        put_bytes(room, 2, place);
        put_bytes(room, 2 + place_length, value);
        let mut at = 2 + place_length + value_length;
        if step != 0 {
            at = put(room, at, zigzag(step as i64));
        }
        if tag == AccessTag::Update {
            at = put(room, at, zigzag(extended(values[1], size)));
        }
        at
    }

    /// Writes what one access of a loop touched and says how long that is.
    pub fn range(
        &mut self,
        room: &mut [u8; ACCESS_ROOM],
        (address, stride, count): (u64, i64, u64),
        size: u32,
        write: bool,
        sequence: u64,
    ) -> usize {
        room[0] = if write { RANGE_WRITE } else { RANGE_READ } | exponent(size);
        let at = put(room, 1, zigzag(address.wrapping_sub(self.last.address) as i64));
        let at = put(room, at, zigzag(sequence.wrapping_sub(self.last.sequence) as i64));
        self.last.come_to(address);
        self.last.sequence = sequence;
        let at = put(room, at, zigzag(stride));
        put(room, at, count)
    }

    /// Writes what eight bytes hold and says how long that is.
    #[inline]
    pub fn content(
        &mut self,
        room: &mut [u8; ACCESS_ROOM],
        is_initial: bool,
        address: u64,
        value: u64,
    ) -> usize {
        let place = zigzag(address.wrapping_sub(self.last.address) as i64);
        let value = zigzag(value as i64);
        self.last.come_to(address);
        let (place_length, value_length) = (length_of(place), length_of(value));
        room[0] = if is_initial { INITIAL } else { CONTENT };
        room[1] = (place_length | value_length << 4) as u8;
        put_bytes(room, 2, place);
        put_bytes(room, 2 + place_length, value);
        2 + place_length + value_length
    }

    /// Writes how many accesses have no record and says how long that is.
    #[inline]
    pub fn derived(room: &mut [u8; ACCESS_ROOM], count: u64, check: u8) -> usize {
        room[0] = DERIVED;
        let at = put(room, 1, count);
        room[at % ACCESS_ROOM] = check;
        at + 1
    }

    fn place(&mut self, out: &mut Vec<u8>, address: u64, sequence: u64) {
        signed(out, address.wrapping_sub(self.last.address) as i64);
        signed(out, sequence.wrapping_sub(self.last.sequence) as i64);
        self.last.come_to(address);
        self.last.sequence = sequence;
    }
}

/// The size's exponent.
#[inline]
fn exponent(size: u32) -> u8 {
    size.trailing_zeros() as u8 & 3
}

/// Writes a number at `at` and gives where the next goes. The mask keeps within the room, which is
/// more than all fields take.
#[inline]
fn put(room: &mut [u8; ACCESS_ROOM], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        room[at % ACCESS_ROOM] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    room[at % ACCESS_ROOM] = value as u8;
    at + 1
}

/// How many bytes hold the number; none for zero.
#[inline]
fn length_of(value: u64) -> usize {
    (71 - value.leading_zeros() as usize) / 8
}

/// Writes eight bytes, of which the caller counts those that matter.
#[inline]
fn put_bytes(room: &mut [u8; ACCESS_ROOM], at: usize, value: u64) {
    if let Some(place) = room.get_mut(at..at + 8) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Turns bytes into records.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    last: Last,
}

impl Decoder {
    /// The next record, taken off the front of `bytes`; `None` at the end or at bytes that are no
    /// record (then `bytes` is not empty).
    pub fn decode(&mut self, bytes: &mut &[u8]) -> Option<Record> {
        let before = *bytes;
        let record = self.record(bytes);
        if record.is_none() {
            *bytes = before;
        }
        record
    }

    fn record(&mut self, bytes: &mut &[u8]) -> Option<Record> {
        let tag = take(bytes)?;
        Some(match tag {
            ENTER => {
                self.last.function = self.last.function.wrapping_add(read_signed(bytes)? as u64);
                Record::Enter { function: self.last.function }
            }
            FALSE => Record::Branch { value: 0 },
            TRUE => Record::Branch { value: 1 },
            BRANCH => Record::Branch { value: read_unsigned(bytes)? },
            CALL => {
                Record::Call { target: self.last.function.wrapping_add(read_signed(bytes)? as u64) }
            }
            ARGUMENT => Record::Argument { value: read_signed(bytes)? as u64 },
            RETURN => Record::Return { value: read_signed(bytes)? as u64 },
            OLD_INITIAL | OLD_CONTENT => {
                let address = self.last.address.wrapping_add(read_signed(bytes)? as u64);
                self.last.come_to(address);
                let value = read_signed(bytes)? as u64;
                match tag {
                    OLD_INITIAL => Record::Initial { address, value },
                    _ => Record::Content { address, value },
                }
            }
            INITIAL | CONTENT => {
                let lengths = take(bytes)?;
                let step = read_bytes(bytes, lengths & 15)? as u64;
                let address = self.last.address.wrapping_add(step);
                self.last.come_to(address);
                let value = read_bytes(bytes, lengths >> 4)? as u64;
                match tag {
                    INITIAL => Record::Initial { address, value },
                    _ => Record::Content { address, value },
                }
            }
            DERIVED => Record::Derived { count: read_unsigned(bytes)?, check: take(bytes)? },
            SYNC => {
                let op = SyncOp::from_number(take(bytes)?)?;
                let (object, extra) = (read_unsigned(bytes)?, read_unsigned(bytes)?);
                let step = read_signed(bytes)? as u64;
                self.last.sequence = self.last.sequence.wrapping_add(step);
                Record::Sync { op, object, extra, sequence: self.last.sequence }
            }
            UNWIND => {
                let step = read_signed(bytes)? as u64;
                Record::Unwind { function: self.last.function.wrapping_add(step) }
            }
            JUMPED => Record::Jumped { buffer: read_unsigned(bytes)? },
            AGAIN => Record::Again { value: None },
            WIDE_READ | WIDE_WRITE => {
                let (address, sequence) = self.place(bytes)?;
                let size = read_unsigned(bytes)?;
                Record::Wide { address, size, write: tag == WIDE_WRITE, sequence }
            }
            COPY => {
                let (to, sequence) = self.place(bytes)?;
                let from = to.wrapping_add(read_signed(bytes)? as u64);
                Record::Copy { to, from, size: read_unsigned(bytes)?, sequence }
            }
            SET => {
                let (to, sequence) = self.place(bytes)?;
                Record::Set { to, byte: take(bytes)?, size: read_unsigned(bytes)?, sequence }
            }
            SLOT => {
                let (address, sequence) = self.place(bytes)?;
                Record::Slot { address, size: read_unsigned(bytes)?, sequence }
            }
            LOOP => Record::Loop { rounds: read_unsigned(bytes)? },
            RANGE_READ..0x18 => {
                let (address, sequence) = self.place(bytes)?;
                let (stride, count) = (read_signed(bytes)?, read_unsigned(bytes)?);
                let (size, write) = (1 << (tag & 3), tag >= RANGE_WRITE);
                Record::Range { address, stride, count, size, write, sequence }
            }
            ACCESS.. => return self.access(tag, bytes),
            _ => return None,
        })
    }

    fn access(&mut self, tag: u8, bytes: &mut &[u8]) -> Option<Record> {
        let size = 1u32 << (tag & 3);
        let base = if tag & EARLIER_BASE == 0 { self.last.address } else { self.last.earlier };
        let lengths = take(bytes)?;
        let address = base.wrapping_add(read_bytes(bytes, lengths & 15)? as u64);
        self.last.come_to(address);
        let value = truncated(read_bytes(bytes, lengths >> 4)? as u64, size);
        if tag & SAME_SEQUENCE == 0 {
            self.last.sequence = self.last.sequence.wrapping_add(read_signed(bytes)? as u64);
        }
        let sequence = self.last.sequence;
        Some(match tag & KIND {
            0x00 => Record::Load { address, size, value, sequence },
            0x20 => Record::Store { address, size, value, sequence },
            0x40 => {
                let new = truncated(read_signed(bytes)? as u64, size);
                Record::Update { address, size, old: value, new, sequence }
            }
            _ => return None,
        })
    }

    fn place(&mut self, bytes: &mut &[u8]) -> Option<(u64, u64)> {
        self.last.come_to(self.last.address.wrapping_add(read_signed(bytes)? as u64));
        self.last.sequence = self.last.sequence.wrapping_add(read_signed(bytes)? as u64);
        Some((self.last.address, self.last.sequence))
    }
}

/// The low `size` bytes.
pub fn truncated(value: u64, size: u32) -> u64 {
    if size >= 8 { value } else { value & ((1 << (size * 8)) - 1) }
}

/// Sign-extended from `size` bytes, so that small negative numbers stay short.
fn extended(value: u64, size: u32) -> i64 {
    let shift = 64 - size.min(8) * 8;
    ((value << shift) as i64) >> shift
}

fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn signed(out: &mut Vec<u8>, value: i64) {
    unsigned(out, zigzag(value));
}

#[inline]
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn take(bytes: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(first)
}

fn read_unsigned(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A zigzag-coded number of so many bytes.
fn read_bytes(bytes: &mut &[u8], length: u8) -> Option<i64> {
    let (number, rest) = bytes.split_at_checked(usize::from(length))?;
    if number.len() > 8 {
        return None;
    }
    *bytes = rest;
    let value = number.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn read_signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = read_unsigned(bytes)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}
