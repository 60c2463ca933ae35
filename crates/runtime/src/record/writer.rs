//! The file, and each thread's buffer.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use racewarden_trace::binary::chunk::{ChunkKind, write_chunk};
use racewarden_trace::binary::{Encoder, Record, SyncOp};

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

/// Records to the file, up to `window` events of all threads together.
pub fn open(descriptor: i32, window: u64) {
    LAST.store(window, Ordering::Relaxed);
    FILE.store(descriptor, Ordering::Release);
    RECORDING.store(true, Ordering::Release);
}

pub fn stop() {
    RECORDING.store(false, Ordering::Release);
    FILE.store(-1, Ordering::Release);
}

pub fn is_recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

pub fn next_sequence() -> u64 {
    let sequence = SEQUENCE.fetch_add(1, Ordering::SeqCst);
    if sequence >= LAST.load(Ordering::Relaxed) {
        RECORDING.store(false, Ordering::SeqCst);
    }
    sequence
}

pub fn current_sequence() -> u64 {
    SEQUENCE.load(Ordering::SeqCst)
}

/// Appends one chunk to the file.
pub fn write(kind: ChunkKind, thread: u32, content: &[u8]) {
    let descriptor = FILE.load(Ordering::Acquire);
    if descriptor < 0 {
        return;
    }
    let mut chunk = Vec::with_capacity(content.len() / 2 + 64);
    write_chunk(kind, thread, content, &mut chunk);
    let _guard = FILE_LOCK.lock();
    write_all(descriptor, &chunk);
}

/// One thread's buffer.
pub struct Buffer {
    pub thread: u32,
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Buffer {
    pub fn new(thread: u32) -> Self {
        Buffer { thread, encoder: Encoder::default(), bytes: Vec::with_capacity(FULL + 256) }
    }

    #[inline]
    pub fn push(&mut self, record: &Record) {
        self.encoder.encode(record, &mut self.bytes);
        if self.bytes.len() >= FULL {
            self.flush();
        }
    }

    pub fn sync(&mut self, op: SyncOp, object: u64, extra: u64) {
        let sequence = next_sequence();
        self.push(&Record::Sync { op, object, extra, sequence });
    }

    #[cold]
    pub fn flush(&mut self) {
        if !self.bytes.is_empty() {
            write(ChunkKind::Records, self.thread, &self.bytes);
            self.bytes.clear();
        }
    }
}
