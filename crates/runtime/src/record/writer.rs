//! The file, and each thread's buffer.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering, compiler_fence};

use racewarden_trace::binary::chunk::{CHUNK_HEADER, ChunkKind, header, write_plain_chunk};
use racewarden_trace::binary::derived::check_byte;
use racewarden_trace::binary::{ACCESS_ROOM, AccessTag, Encoder, Record, SyncOp};

use super::hot::Hot;
use super::places::Visitor;
use crate::common::futex::SpinLock;
use crate::common::output::write_all;

/// A buffer is written out when it holds this much: what a kill can cost a thread.
const FULL: usize = 32 << 10;

/// The descriptor of the trace, or -1 while nothing is recorded.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// Whether events are taken down; no more once the window is full, though buffers are still
/// written then.
static RECORDING: AtomicBool = AtomicBool::new(false);
/// The sequence number at which recording ends.
static LAST: AtomicU64 = AtomicU64::new(u64::MAX);
static FILE_LOCK: SpinLock = SpinLock::new();
/// Numbers the events of all threads in one order.
static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// What an access without a record counts, in bytes: a reader takes as long for it as for others.
const DERIVED_COST: u64 = 2;
/// A thread's accesses without records are counted all at once, in bytes.
const MOST_OWED: u64 = 1 << 20;
/// So many accesses without records are told even if no record follows.
const MOST_DERIVED: u64 = 1 << 18;

/// How many bytes more may be written before recording ends.
static ROOM_LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Records to the file, up to `window` events of all threads together or about `size` bytes.
pub fn open(descriptor: i32, window: u64, size: u64) {
    LAST.store(window, Ordering::Relaxed);
    ROOM_LEFT.store(i64::try_from(size).unwrap_or(i64::MAX), Ordering::Relaxed);
    FILE.store(descriptor, Ordering::Release);
    RECORDING.store(true, Ordering::Release);
}

pub fn stop() {
    RECORDING.store(false, Ordering::Release);
    FILE.store(-1, Ordering::Release);
}

/// Nothing is written any more: it is over, or this is a child.
pub fn is_stopped() -> bool {
    FILE.load(Ordering::Acquire) < 0
}

pub fn is_recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

fn next_sequence() -> u64 {
    let sequence = SEQUENCE.fetch_add(1, Ordering::SeqCst);
    if sequence >= LAST.load(Ordering::Relaxed) {
        RECORDING.store(false, Ordering::SeqCst);
    }
    sequence
}

/// Appends one chunk to the file.
pub fn write(kind: ChunkKind, thread: u32, content: &[u8]) {
    let mut chunk = Vec::with_capacity(content.len() + CHUNK_HEADER);
    write_plain_chunk(kind, thread, content, &mut chunk);
    append(&chunk);
}

fn append(chunk: &[u8]) {
    let descriptor = FILE.load(Ordering::Acquire);
    if descriptor >= 0 {
        let _guard = FILE_LOCK.lock();
        write_all(descriptor, chunk);
        spend(chunk.len() as u64);
    }
}

/// Takes from what may be written; recording ends when nothing is left.
fn spend(bytes: u64) {
    let left = ROOM_LEFT.fetch_sub(bytes as i64, Ordering::Relaxed);
    if left <= bytes as i64 {
        RECORDING.store(false, Ordering::SeqCst);
    }
}

/// One thread's buffer. It never holds `FULL` bytes between two records, and no record is longer
/// than what there is room for beyond that.
pub struct Buffer {
    /// What instrumented code counts with; nobody else's.
    hot: *mut Hot,
    pub thread: u32,
    pub visitor: Visitor,
    /// The number that the thread drew last.
    pub sequence: u64,
    /// What accesses without records cost and was not counted yet.
    owed: u64,
    encoder: Encoder,
    /// A chunk in the making: room for its header, and its content.
    bytes: Vec<u8>,
}

const ROOM: usize = 256;

fn empty_chunk() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FULL + ROOM);
    bytes.resize(CHUNK_HEADER, 0);
    bytes
}

impl Buffer {
    /// A buffer for the thread whose code counts with `hot`.
    pub fn new(thread: u32, hot: *mut Hot) -> Self {
        let precise = LAST.load(Ordering::Relaxed) != u64::MAX;
        let visitor = Visitor::new(thread, precise);
        // SAFETY: new, and this thread's alone.
        unsafe { (*hot).left = MOST_DERIVED };
        Buffer {
            hot,
            thread,
            visitor,
            sequence: 0,
            owed: 0,
            encoder: Encoder::default(),
            bytes: empty_chunk(),
        }
    }

    /// Draws a number.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.sequence = next_sequence();
        self.sequence
    }

    fn hot(&mut self) -> &mut Hot {
        // SAFETY: lives as long as the thread, and is its alone.
        unsafe { &mut *self.hot }
    }

    /// Keeps instrumented code from counting accesses on its own.
    #[inline]
    pub fn close(&mut self) {
        self.hot().close();
        compiler_fence(Ordering::SeqCst);
    }

    /// Lets it count again.
    #[inline]
    pub fn open(&mut self) {
        self.make_room();
        compiler_fence(Ordering::SeqCst);
        let (own, reads) = (self.visitor.free(), self.visitor.reads_until(self.sequence));
        let hot = self.hot();
        (hot.own, hot.reads) = (own, reads);
    }

    #[inline]
    pub fn push(&mut self, record: &Record) {
        self.tell_derived();
        self.encoder.encode(record, &mut self.bytes);
        self.flush_if_full();
    }

    /// A branch decided by a Boolean.
    #[inline]
    pub fn branch(&mut self, taken: bool) {
        self.tell_derived();
        self.bytes.push(Encoder::branch(taken));
        self.flush_if_full();
    }

    /// A load that is like the one before.
    #[inline]
    pub fn again(&mut self) {
        self.tell_derived();
        self.bytes.push(Encoder::again());
        self.flush_if_full();
    }

    /// What eight bytes hold, at first or before the next access.
    #[inline]
    pub fn content(&mut self, is_initial: bool, address: u64, value: u64) {
        self.encode(|encoder, room| encoder.content(room, is_initial, address, value));
    }

    /// What one access of a loop touched.
    pub fn range(&mut self, place: (u64, i64, u64), size: u32, write: bool, sequence: u64) {
        self.encode(|encoder, room| encoder.range(room, place, size, write, sequence));
    }

    /// A plain access with the number that was drawn last.
    #[inline]
    pub fn access(&mut self, tag: AccessTag, place: (u64, u32), values: [u64; 2]) {
        let sequence = self.sequence;
        self.encode(|encoder, room| encoder.access(room, tag, place, values, sequence));
    }

    /// Writes a record of known length in place.
    #[inline]
    fn encode(&mut self, write: impl FnOnce(&mut Encoder, &mut [u8; ACCESS_ROOM]) -> usize) {
        self.tell_derived();
        self.put(write);
        self.flush_if_full();
    }

    #[inline]
    fn put(&mut self, write: impl FnOnce(&mut Encoder, &mut [u8; ACCESS_ROOM]) -> usize) {
        let length = self.bytes.len();
        const { assert!(2 * ACCESS_ROOM <= ROOM) };
        // SAFETY: there is room for more than one access beyond what the buffer may hold.
        let room = unsafe { &mut *self.bytes.as_mut_ptr().add(length).cast::<[u8; ACCESS_ROOM]>() };
        let written = write(&mut self.encoder, room);
        // SAFETY: so many bytes have just been written.
        unsafe { self.bytes.set_len(length + written) };
    }

    /// Counts an access that the reader computes.
    pub fn count_derived(&mut self, word: u64) {
        self.make_room();
        self.hot().count(word);
    }

    /// Tells the accesses without records when they are many.
    #[inline]
    fn make_room(&mut self) {
        if self.hot().left == 0 {
            self.tell_derived();
            self.flush_if_full();
        }
    }

    /// Writes how many accesses had no record, before the next that has one.
    #[inline]
    fn tell_derived(&mut self) {
        let hot = self.hot();
        let count = MOST_DERIVED - hot.left;
        if count != 0 {
            hot.left = MOST_DERIVED;
            let check = check_byte(hot.check);
            self.put(|_, room| Encoder::derived(room, count, check));
            self.owed += count * DERIVED_COST;
            if self.owed > MOST_OWED {
                spend(std::mem::take(&mut self.owed));
            }
        }
    }

    pub fn sync(&mut self, op: SyncOp, object: u64, extra: u64) {
        let sequence = self.number();
        self.push(&Record::Sync { op, object, extra, sequence });
    }

    #[inline]
    fn flush_if_full(&mut self) {
        if self.bytes.len() >= FULL {
            self.flush();
        }
    }

    #[cold]
    pub fn flush(&mut self) {
        self.tell_derived();
        if self.bytes.len() > CHUNK_HEADER {
            let (place, content) = self.bytes.split_at_mut(CHUNK_HEADER);
            let length = content.len();
            place.copy_from_slice(&header(ChunkKind::Records, self.thread, length, content));
            append(&self.bytes);
            self.bytes.truncate(CHUNK_HEADER);
        }
    }
}
