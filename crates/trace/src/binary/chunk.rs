//! Chunks: compressed pieces of one thread's stream, each whole in itself.
//!
//! ```text
//! magic 4 | kind 1 | reserved 3 | thread 4 | plain length 4 | stored length 4 | checksum 4 | bytes
//! ```
//! All numbers are little-endian. The checksum covers the stored bytes, so that a chunk that was
//! cut off or damaged is told from a whole one; it goes by words, since the recorded program's
//! threads compute it. A stored length that is the plain one means that the bytes are not compressed:
//! what does not get smaller, as floating point, is not worth the time.

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
    let start = out.len();
    out.extend_from_slice(CHUNK_MAGIC);
    out.extend_from_slice(&[kind as u8, 0, 0, 0]);
    out.resize(start + CHUNK_HEADER, 0);
    let body = start + CHUNK_HEADER;
    let mut length = content.len();
    if is_worth_it(content) {
        out.resize(body + lz4_flex::block::get_maximum_output_size(content.len()), 0);
        length = lz4_flex::block::compress_into(content, &mut out[body..]).unwrap_or(usize::MAX);
    }
    if length >= content.len() {
        length = content.len();
        out.truncate(body);
        out.extend_from_slice(content);
    }
    out.truncate(body + length);
    let numbers = [thread, content.len() as u32, length as u32, checksum(&out[body..])];
    for (place, number) in out[start + 8..body].chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Whether a sample from the middle gets smaller.
fn is_worth_it(content: &[u8]) -> bool {
    const SAMPLE: usize = 2 << 10;
    if content.len() < 4 * SAMPLE {
        return true;
    }
    let from = content.len() / 2;
    let mut room = [0; SAMPLE + SAMPLE / 8];
    let stored = lz4_flex::block::compress_into(&content[from..from + SAMPLE], &mut room);
    stored.is_ok_and(|length| length < SAMPLE * 7 / 8)
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
