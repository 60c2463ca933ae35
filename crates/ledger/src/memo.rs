//! What was recorded of each race last, in few bytes.
//!
//! A check after an edit reports almost what the one before it did. Comparing it race by race with
//! the tables costs more than the check; so for each race the ledger keeps a digest of everything
//! that its last report said. A race that is reported again with the same digest has nothing to
//! write. The digests of many neighbouring rows are one blob, as rows of their own would cost more
//! to read than all the rest.
//!
//! It is a cache: a race without a memo, or with a damaged one, is compared by the tables.

use std::collections::BTreeMap;

use racewarden_finding::{Engine, Evidence, HeldLock, Race, Site, Stack};
use rustc_hash::FxHashMap;
use sqlx::Row;
use twox_hash::xxhash3_128::Hasher;

use crate::Result;
use crate::places::Pair;
use crate::store::Writer;

/// Changes with what recording a race writes, so that every race is written anew.
const VERSION: u8 = 1;

/// Rows per blob: an edit rewrites few, and reading all takes few statements.
const ROWS: i64 = 512;
const SIZE: usize = 52;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memo {
    /// Of all that the last report said; never 0.
    pub content: u128,
    /// Of the places that are stored.
    pub pair: Pair,
    /// The ordinal under which the reported fingerprint names the race.
    pub ordinal: u32,
    pub number: i64,
}

impl Memo {
    fn encode(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..16].copy_from_slice(&self.content.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.pair.places.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.pair.columns[0].to_le_bytes());
        bytes[36..40].copy_from_slice(&self.pair.columns[1].to_le_bytes());
        bytes[40..44].copy_from_slice(&self.ordinal.to_le_bytes());
        bytes[44..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// `None` for a row that nothing was noted of.
    fn decode(bytes: &[u8]) -> Option<Memo> {
        let mut rest = bytes;
        let memo = Memo {
            content: u128::from_le_bytes(take(&mut rest)?),
            pair: Pair {
                places: u128::from_le_bytes(take(&mut rest)?),
                columns: [
                    u32::from_le_bytes(take(&mut rest)?),
                    u32::from_le_bytes(take(&mut rest)?),
                ],
            },
            ordinal: u32::from_le_bytes(take(&mut rest)?),
            number: i64::from_le_bytes(take(&mut rest)?),
        };
        (memo.content != 0).then_some(memo)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

/// The memos of all races.
#[derive(Debug, Default)]
pub(crate) struct Memos {
    chunks: BTreeMap<i64, Chunk>,
}

#[derive(Debug, Default)]
struct Chunk {
    body: Vec<u8>,
    changed: bool,
}

impl Memos {
    pub async fn load(writer: &mut Writer) -> Result<Memos> {
        let rows = sqlx::query("SELECT chunk, body FROM memos").fetch_all(&mut **writer).await?;
        let mut chunks = BTreeMap::new();
        for row in rows {
            let chunk = Chunk { body: row.try_get("body")?, changed: false };
            chunks.insert(row.try_get("chunk")?, chunk);
        }
        Ok(Memos { chunks })
    }

    pub fn get(&self, row: i64) -> Option<Memo> {
        let body = &self.chunks.get(&row.div_euclid(ROWS))?.body;
        Memo::decode(body.get(offset(row)..)?)
    }

    pub fn set(&mut self, row: i64, memo: &Memo) {
        let chunk = self.chunks.entry(row.div_euclid(ROWS)).or_default();
        let start = offset(row);
        if chunk.body.len() < start + SIZE {
            chunk.body.resize(start + SIZE, 0);
        }
        chunk.body[start..start + SIZE].copy_from_slice(&memo.encode());
        chunk.changed = true;
    }

    pub async fn store(&self, writer: &mut Writer) -> Result<()> {
        for (number, chunk) in self.chunks.iter().filter(|(_, chunk)| chunk.changed) {
            sqlx::query(
                "INSERT INTO memos (chunk, body) VALUES ($1, $2) \
                 ON CONFLICT (chunk) DO UPDATE SET body = excluded.body",
            )
            .bind(*number)
            .bind(chunk.body.as_slice())
            .execute(&mut **writer)
            .await?;
        }
        Ok(())
    }
}

fn offset(row: i64) -> usize {
    row.rem_euclid(ROWS) as usize * SIZE
}

/// Makes digests of races; the accesses of a report share stacks, each of which is read once.
pub(crate) struct Digester {
    engine: Engine,
    stacks: FxHashMap<(*const racewarden_finding::Frame, usize), u128>,
    text: Vec<u8>,
}

impl Digester {
    pub fn new(engine: Engine) -> Self {
        Digester { engine, stacks: FxHashMap::default(), text: Vec::new() }
    }

    /// Of everything that recording `race` by this engine depends on. The races of one digester
    /// must outlive it, as their stacks are told apart by where they are.
    pub fn digest(&mut self, race: &Race) -> u128 {
        // A field that is added must be thought about here.
        let Race { id: _, fingerprint, verdict, rank, object, sites, evidence, reasons } = race;
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.extend([VERSION, self.engine as u8, *verdict as u8]);
        text.extend(rank.to_le_bytes());
        put(&mut text, &fingerprint.0);
        put(&mut text, object);
        sites.iter().for_each(|site| self.put_site(&mut text, site));
        put_count(&mut text, reasons.len());
        reasons.iter().for_each(|reason| put(&mut text, reason));
        put_count(&mut text, evidence.len());
        for Evidence { engine, detail } in evidence {
            text.push(*engine as u8);
            put(&mut text, &crate::rows::to_json(detail));
        }
        let digest = Hasher::oneshot(&text);
        self.text = text;
        digest.max(1)
    }

    fn put_site(&mut self, text: &mut Vec<u8>, site: &Site) {
        let Site { file, line, column, function, access, lvalue, atomic, locks, thread, stack } =
            site;
        [file, function, lvalue, thread].into_iter().for_each(|part| put(text, part));
        text.extend(line.to_le_bytes());
        text.extend(column.to_le_bytes());
        text.extend([*access as u8, u8::from(*atomic)]);
        put_count(text, locks.len());
        for HeldLock { name, mode, acquired_at } in locks {
            put(text, name);
            text.push(*mode as u8);
            put(text, acquired_at);
        }
        let key = (stack.as_ptr(), stack.len());
        let digest = *self.stacks.entry(key).or_insert_with(|| digest_of_stack(stack));
        text.extend(digest.to_le_bytes());
    }
}

fn digest_of_stack(stack: &Stack) -> u128 {
    let mut text = Vec::new();
    for frame in stack {
        put(&mut text, &frame.function);
        put(&mut text, &frame.file);
        text.extend(frame.line.to_le_bytes());
    }
    Hasher::oneshot(&text)
}

fn put_count(text: &mut Vec<u8>, count: usize) {
    text.extend((count as u64).to_le_bytes());
}

fn put(text: &mut Vec<u8>, part: &str) {
    put_count(text, part.len());
    text.extend(part.as_bytes());
}
