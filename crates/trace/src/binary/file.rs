//! Whole trace files.

use std::collections::BTreeMap;

use super::chunk::{ChunkKind, read_chunk, write_chunk};
use super::{Decoder, MAGIC, OLDEST_VERSION, Record, VERSION};

/// What the recorder's caller knew about the program: `key=value` lines, a key may repeat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    pub entries: Vec<(String, String)>,
}

impl Header {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries.iter().filter(move |(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let text: String = self
            .entries
            .iter()
            .map(|(key, value)| format!("{key}={}\n", value.replace(['\n', '\r'], " ")))
            .collect();
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    Function,
    /// A function whose start is not recorded: it is known where it is called.
    CalledFunction,
    /// A function whose start is followed by its argument, as what a call returned.
    EnteredFunction,
    Global,
    /// Not a symbol: its name lists the instructions of the function at its address that have no
    /// records.
    LeftOut,
}

/// A function or global of the program and where it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub kind: SymbolKind,
    /// Index of the unit within the target.
    pub unit: u32,
    pub address: u64,
    pub name: String,
}

/// One thread's stream.
#[derive(Debug, Clone, Default)]
pub struct RecordedThread {
    pub number: u32,
    /// Creation path: `main`, `main.2`, `main.2.1`.
    pub name: String,
    pub records: Vec<Record>,
}

impl RecordedThread {
    /// The thread with its stream left out.
    pub fn without_records(&self) -> Self {
        RecordedThread { number: self.number, name: self.name.clone(), records: Vec::new() }
    }
}

/// A trace as it was read.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The version of the format that it was read from.
    pub version: u16,
    pub header: Header,
    pub symbols: Vec<Symbol>,
    pub threads: Vec<RecordedThread>,
    /// Why the end of the file is missing, when it is.
    pub cut_short: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("not a racewarden trace")]
    Foreign,
    #[error("a trace of format version {0}; this program reads version {VERSION}")]
    Version(u16),
    #[error("the header is cut off or damaged")]
    Header,
}

impl Recording {
    /// Whether the bytes start like a trace.
    pub fn is_trace(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Accesses that are counted and have no record.
    pub fn derived_accesses(&self) -> u64 {
        let records = self.threads.iter().flat_map(|thread| &thread.records);
        let counts = records.map(|record| match record {
            Record::Derived { count, .. } => *count,
            _ => 0,
        });
        counts.fold(0, u64::saturating_add)
    }

    /// Reads a trace and numbers its events one by one.
    pub fn load(bytes: &[u8]) -> Result<Self, FileError> {
        let mut recording = Self::read(bytes)?;
        recording.number_events();
        Ok(recording)
    }

    /// Gives every event that has a place in the order of all threads a number of its own. As
    /// recorded, all events that a thread had between two draws share one.
    pub fn number_events(&mut self) {
        let mut order: Vec<(u64, u32, u32)> = Vec::new();
        for (thread, stream) in self.threads.iter_mut().enumerate() {
            for (number, record) in stream.records.iter_mut().enumerate() {
                if let Some(sequence) = record.sequence_mut() {
                    order.push((*sequence, thread as u32, number as u32));
                }
            }
        }
        order.sort_unstable();
        for (number, (_, thread, record)) in order.into_iter().enumerate() {
            let record = &mut self.threads[thread as usize].records[record as usize];
            if let Some(sequence) = record.sequence_mut() {
                *sequence = number as u64 + 1;
            }
        }
    }

    /// Reads everything up to the first damaged chunk.
    pub fn read(bytes: &[u8]) -> Result<Self, FileError> {
        let (version, header, mut rest) = read_header(bytes)?;
        let mut recording = Recording { version, header, ..Recording::default() };
        let mut streams: BTreeMap<u32, (Decoder, RecordedThread)> = BTreeMap::new();
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            let Some(chunk) = read_chunk(&mut rest) else {
                recording.cut_short = Some(format!("the chunk at byte {at} is cut off or damaged"));
                break;
            };
            let Some(content) = chunk.content() else {
                recording.cut_short = Some(format!("the chunk at byte {at} does not decompress"));
                break;
            };
            let (decoder, thread) = streams.entry(chunk.thread).or_default();
            thread.number = chunk.thread;
            match chunk.kind {
                ChunkKind::Symbols => recording.symbols.extend(symbols(&content)),
                ChunkKind::ThreadName => {
                    thread.name = String::from_utf8_lossy(&content).into_owned();
                }
                ChunkKind::Records => {
                    let mut bytes = content.as_slice();
                    while let Some(record) = decoder.decode(&mut bytes) {
                        thread.records.push(record);
                    }
                    if !bytes.is_empty() {
                        recording.cut_short =
                            Some(format!("the chunk at byte {at} holds what is no record"));
                        break;
                    }
                }
            }
        }
        recording.threads = streams
            .into_values()
            .map(|(_, thread)| thread)
            .filter(|thread| !thread.records.is_empty() || !thread.name.is_empty())
            .collect();
        Ok(recording)
    }
}

/// The same trace with its chunks compressed; what is damaged stays as it is.
pub fn compressed(bytes: &[u8]) -> Result<Vec<u8>, FileError> {
    let (_, _, mut rest) = read_header(bytes)?;
    let mut out = bytes[..bytes.len() - rest.len()].to_vec();
    loop {
        let before = rest;
        let Some(chunk) = read_chunk(&mut rest) else {
            out.extend_from_slice(before);
            return Ok(out);
        };
        match chunk.content() {
            Some(content) => write_chunk(chunk.kind, chunk.thread, &content, &mut out),
            None => out.extend_from_slice(&before[..before.len() - rest.len()]),
        }
    }
}

fn read_header(bytes: &[u8]) -> Result<(u16, Header, &[u8]), FileError> {
    if !Recording::is_trace(bytes) {
        return Err(FileError::Foreign);
    }
    let fixed = bytes.get(4..12).ok_or(FileError::Header)?;
    let version = u16::from_le_bytes([fixed[0], fixed[1]]);
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(FileError::Version(version));
    }
    let length = u32::from_le_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]) as usize;
    let text = bytes.get(12..12usize.saturating_add(length)).ok_or(FileError::Header)?;
    let text = std::str::from_utf8(text).map_err(|_| FileError::Header)?;
    let entries = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Ok((version, Header { entries }, &bytes[12 + length..]))
}

fn symbols(content: &[u8]) -> Vec<Symbol> {
    let text = String::from_utf8_lossy(content);
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(4, ' ');
            let kind = match fields.next()? {
                "f" => SymbolKind::Function,
                "c" => SymbolKind::CalledFunction,
                "e" => SymbolKind::EnteredFunction,
                "g" => SymbolKind::Global,
                "x" => SymbolKind::LeftOut,
                _ => return None,
            };
            let unit = fields.next()?.parse().ok()?;
            let address = u64::from_str_radix(fields.next()?, 16).ok()?;
            Some(Symbol { kind, unit, address, name: fields.next()?.to_owned() })
        })
        .collect()
}
