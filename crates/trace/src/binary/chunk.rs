//! Chunks: compressed pieces of one thread's stream, each whole in itself.
//!
//! ```text
//! magic 4 | kind 1 | reserved 3 | thread 4 | plain length 4 | stored length 4 | checksum 4 | bytes
//! ```
//! All numbers are little-endian. The checksum covers the stored bytes, so that a chunk that was
//! cut off or damaged is told from a whole one; it goes by words, since the recorded program's
//! threads compute it. A stored length that is the plain one means that the bytes are not compressed:
//! the recorded program writes them so, and compressing is left to whoever comes after it.

pub const CHUNK_MAGIC: &[u8; 4] = b"RWc\n";
pub const CHUNK_HEADER: usize = 24;

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ChunkKind {
    /// Records of a thread.
    Records = 1,
    /// Lines `kind unit address name` of the program's functions and globals.
    Symbols = 2,
    /// The thread's creation path (`main.2`).
    ThreadName = 3,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    pub kind: ChunkKind,
    pub thread: u32,
    pub plain_length: u32,
    pub stored: &'a [u8],
}

/// Appends a chunk with the given content to `out`.
pub fn write_chunk(kind: ChunkKind, thread: u32, content: &[u8], out: &mut Vec<u8>) {
    let stored = lz4_flex::block::compress(content);
    let stored = if stored.len() < content.len() { &stored } else { content };
    append(kind, thread, content.len(), stored, out);
}

/// The same, without the time that compressing takes.
pub fn write_plain_chunk(kind: ChunkKind, thread: u32, content: &[u8], out: &mut Vec<u8>) {
    append(kind, thread, content.len(), content, out);
}

fn append(kind: ChunkKind, thread: u32, plain: usize, stored: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&header(kind, thread, plain, stored));
    out.extend_from_slice(stored);
}

/// What stands before the stored bytes of a chunk.
pub fn header(kind: ChunkKind, thread: u32, plain: usize, stored: &[u8]) -> [u8; CHUNK_HEADER] {
    let mut header = [0; CHUNK_HEADER];
    header[..4].copy_from_slice(CHUNK_MAGIC);
    header[4] = kind as u8;
    let numbers = [thread, plain as u32, stored.len() as u32, checksum(stored)];
    for (place, number) in header[8..].chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    header
}

/// The chunk at the front of `bytes`, taken off; `None` when there is no whole, sound one.
pub fn read_chunk<'a>(bytes: &mut &'a [u8]) -> Option<Chunk<'a>> {
    let header = bytes.get(..CHUNK_HEADER)?;
    if &header[..4] != CHUNK_MAGIC {
        return None;
    }
    let kind = match header[4] {
        1 => ChunkKind::Records,
        2 => ChunkKind::Symbols,
        3 => ChunkKind::ThreadName,
        _ => return None,
    };
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (thread, plain_length, length) = (number(8), number(12), number(16) as usize);
    let stored = bytes.get(CHUNK_HEADER..CHUNK_HEADER.checked_add(length)?)?;
    if checksum(stored) != number(20) {
        return None;
    }
    *bytes = &bytes[CHUNK_HEADER + length..];
    Some(Chunk { kind, thread, plain_length, stored })
}

impl Chunk<'_> {
    /// The content, or `None` when it does not decompress. The limit keeps a damaged length from
    /// claiming all memory.
    pub fn content(&self) -> Option<Vec<u8>> {
        if self.plain_length > 1 << 28 {
            return None;
        }
        let length = self.plain_length as usize;
        if self.stored.len() == length {
            return Some(self.stored.to_vec());
        }
        lz4_flex::block::decompress(self.stored, length).ok()
    }
}

/// FNV-1a over words of four bytes, in four lanes that do not wait for each other.
fn checksum(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 0x0100_0193;
    let mut lanes = [0x811c_9dc5u32; 4];
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(4)) {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            *lane = (*lane ^ word).wrapping_mul(PRIME);
        }
    }
    let rest = blocks.remainder().iter().map(|byte| u32::from(*byte));
    let words = lanes.into_iter().map(|lane| lane ^ lane >> 15).chain(rest);
    words.fold(0x811c_9dc5, |hash, word| (hash ^ word).wrapping_mul(PRIME))
}
