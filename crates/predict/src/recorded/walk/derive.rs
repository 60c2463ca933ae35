//! Makes the records that the recorder left to its reader.
//!
//! A load or store whose address can be computed has a record only where the recorder could not tell
//! what this reader knows (`racewarden_trace::binary::derived`). So before anything else, each thread is
//! walked with plain numbers, and every access gets its record. Everything behind this sees the
//! same records as if all had been written.
//!
//! What is known of memory is known per thread: what its own records and accesses left there. A check
//! in the trace covers all that is made here. Where it does not fit, which would be a mistake of the
//! recorder or of this walk, the recording is taken to end there, for all threads: what came before is
//! a run of the program.

use racewarden_ir::{InstId, Op, TypeId, Value};
use racewarden_trace::binary::derived::{
    check_byte, next_check, next_check_of_version_4, part, with_part, word,
};
use racewarden_trace::binary::{Record, Recording};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::expr::Val;
use super::super::locations::Places;
use super::super::path::Spot;
use super::Image;
use super::replay::{Replay, Step, Stop};

/// One thread's memory as its recorder knew it to be known here, and what was made.
#[derive(Default)]
pub(super) struct Derivation {
    known: FxHashMap<u64, u64>,
    /// Accesses to come that have no record.
    left: u64,
    check: u64,
    expected: u8,
    /// Whether the check is that of version 4.
    is_old: bool,
    /// The number that the thread drew last, and how many records were asked for it.
    sequence: u64,
    asked: usize,
    /// Before which record, and what.
    made: Vec<(usize, Record)>,
    /// Loads of floating-point numbers with this number: one stands for all.
    floats: FxHashSet<(Spot, u64)>,
    floats_at: u64,
}

impl Derivation {
    pub(super) fn is_within(&self) -> bool {
        self.left > 0
    }

    pub(super) fn learn(&mut self, address: u64, value: u64) {
        self.known.insert(address, value);
    }

    /// What an access with a record leaves known.
    fn follow(&mut self, record: &Record) {
        let (Record::Load { address, size, value, .. }
        | Record::Store { address, size, value, .. }) = *record
        else {
            return;
        };
        let (granule, offset, size) = (address & !7, address & 7, u64::from(size));
        if size == 8 && offset == 0 {
            self.known.insert(granule, value);
        } else if offset + size <= 8
            && let Some(whole) = self.known.get_mut(&granule)
        {
            *whole = with_part(*whole, offset, size, value);
        }
    }

    /// Counts an access; false when the check does not fit.
    fn count(&mut self, granule: u64, whole: u64) -> bool {
        let next = if self.is_old { next_check_of_version_4 } else { next_check };
        self.check = next(self.check, word(granule, whole));
        self.left -= 1;
        self.left > 0 || check_byte(self.check) == self.expected
    }

    fn sequence(&mut self, records: &[Record], at: usize) -> u64 {
        while self.asked < at {
            self.sequence = records[self.asked].sequence().unwrap_or(self.sequence);
            self.asked += 1;
        }
        self.sequence
    }
}

/// The recording with a record for every access; `None` when it has them already.
pub fn expanded(image: &Image, recording: &Recording) -> Option<(Recording, Vec<Option<String>>)> {
    let mut records = recording.threads.iter().flat_map(|thread| &thread.records);
    if !records.any(is_told) {
        return None;
    }
    let places = Places::default();
    let threads: Vec<Expanded> = (0..recording.threads.len())
        .into_par_iter()
        .map(|thread| expand(image, recording, &places, thread))
        .collect();
    let end = threads.iter().filter_map(|thread| thread.end).min().unwrap_or(u64::MAX);
    let mut whole = Recording {
        version: recording.version,
        header: recording.header.clone(),
        symbols: recording.symbols.clone(),
        threads: recording.threads.iter().map(|thread| thread.without_records()).collect(),
        cut_short: recording.cut_short.clone(),
    };
    let mut cuts = Vec::new();
    for (thread, mut found) in whole.threads.iter_mut().zip(threads) {
        let beyond = |record: &Record| record.sequence().is_some_and(|sequence| sequence > end);
        if let Some(at) = found.records.iter().position(beyond) {
            found.records.truncate(at);
        }
        thread.records = found.records;
        cuts.push(found.cut);
    }
    whole.number_events();
    Some((whole, cuts))
}

fn is_told(record: &Record) -> bool {
    matches!(record, Record::Derived { .. } | Record::Content { .. })
}

struct Expanded {
    records: Vec<Record>,
    /// The number after which nothing is known, where the walk ended too early, and why.
    end: Option<u64>,
    cut: Option<String>,
}

fn expand(image: &Image, recording: &Recording, places: &Places, thread: usize) -> Expanded {
    let records = &recording.threads[thread].records;
    let mut replay = Replay::new(image, recording, places, thread, false);
    let is_old = recording.version == 4;
    replay.derivation = Some(Derivation { is_old, ..Derivation::default() });
    let stop = replay.top_level();
    let mut at = replay.at;
    let mut derivation = replay.derivation.take().unwrap_or_default();
    let last = derivation.sequence(records, at);
    let mut out = Vec::with_capacity(records.len() + derivation.made.len());
    // Whatever has no accesses left to make is as it was written.
    let is_whole = derivation.left == 0 && !records[at..].iter().any(is_told);
    if is_whole {
        at = records.len();
    }
    let mut made = derivation.made.into_iter().peekable();
    for (number, record) in records[..at].iter().enumerate() {
        while let Some((_, record)) = made.next_if(|(before, _)| *before <= number) {
            out.push(record);
        }
        if !is_told(record) {
            out.push(record.clone());
        }
    }
    out.extend(made.map(|(_, record)| record));
    let cut = match stop {
        Err(Stop::Mismatch(text)) if !is_whole => Some(text),
        _ if !is_whole => Some("accesses that cannot be computed".to_owned()),
        _ => None,
    };
    Expanded { records: out, end: (!is_whole).then_some(last), cut }
}

/// What comes next at an access whose address is computed.
enum Next {
    Made,
    Recorded,
}

impl Replay<'_> {
    /// Whether the current access may have no record.
    pub(super) fn may_be_made(&self) -> bool {
        self.derivation.is_some()
            && (self.machine.is_left_out()
                || self.machine.spot().is_some_and(|spot| {
                    self.machine.image.repeated.contains_key(&(spot.function, spot.inst))
                }))
    }

    /// A load; true when its record was made and it is done.
    pub(super) fn make_load(
        &mut self,
        inst: InstId,
        ty: TypeId,
        address: &Value,
        size: u32,
    ) -> Result<bool, Stop> {
        let address = self.computed_address(address)?;
        let spot = Spot { function: self.function_here()?, inst };
        if let Some(&first) = self.machine.image.repeated.get(&(spot.function, inst)) {
            let value = self.repeated_value(spot, first)?;
            self.make(spot, ty, (address, size), part(value, 0, size.into()));
            return Ok(true);
        }
        if !self.machine.is_left_out() {
            return Ok(false);
        }
        if let Next::Recorded = self.next_access(address)? {
            return Ok(false);
        }
        let Some(derivation) = &mut self.derivation else { return Ok(false) };
        let (granule, offset) = (address & !7, address & 7);
        let Some(&whole) = derivation.known.get(&granule) else {
            return Err(self.stopped("a load of what is not known has no record"));
        };
        if !derivation.count(granule, whole) {
            return Err(self.stopped("what was computed is not what the program did"));
        }
        self.make(spot, ty, (address, size), part(whole, offset, size.into()));
        Ok(true)
    }

    /// Makes the record of a load, which is done with it.
    fn make(&mut self, spot: Spot, ty: TypeId, (address, size): (u64, u32), value: u64) {
        let is_float = self.machine.is_float(ty);
        let records = self.records;
        if let Some(derivation) = &mut self.derivation {
            let sequence = derivation.sequence(records, self.at);
            if derivation.floats_at != sequence {
                derivation.floats.clear();
                derivation.floats_at = sequence;
            }
            let again = is_float && !derivation.floats.insert((spot, address));
            let record = match again {
                true => Record::Again { value: Some(value) },
                false => Record::Load { address, size, value, sequence },
            };
            derivation.made.push((self.at, record));
        }
        let val = self.machine.loaded(ty, size, Val::Known(value));
        self.machine.set(spot.inst, val);
        self.machine.advance();
    }

    /// What an instruction of the current function loaded or stored.
    fn repeated_value(&mut self, spot: Spot, first: InstId) -> Result<u64, Stop> {
        let val = match &self.machine.function(spot.function).inst(first).op {
            Op::Store { value, size, .. } => self.machine.stored(value, *size as u32),
            _ => self.machine.operand(&Value::Inst(first)),
        };
        self.machine
            .arena
            .value_of(val)
            .ok_or_else(|| self.stopped("a load of what is not known has no record"))
    }

    /// A store; true when its record was made and it is done.
    pub(super) fn make_store(
        &mut self,
        address: &Value,
        value: &Value,
        size: u32,
    ) -> Result<bool, Stop> {
        let address = self.computed_address(address)?;
        if let Next::Recorded = self.next_access(address)? {
            return Ok(false);
        }
        let value = self.machine.stored(value, size);
        let Some(value) = self.machine.arena.value_of(value) else {
            return Err(self.stopped("a store of what is not known has no record"));
        };
        let records = self.records;
        let Some(derivation) = &mut self.derivation else { return Ok(false) };
        let sequence = derivation.sequence(records, self.at);
        let (granule, offset) = (address & !7, address & 7);
        let before = match derivation.known.get(&granule) {
            Some(&before) => before,
            None if size == 8 => 0,
            None => {
                return Err(self.stopped("a store into what is not known has no record"));
            }
        };
        let value = part(value, 0, size.into());
        let whole = with_part(before, offset, size.into(), value);
        derivation.known.insert(granule, whole);
        derivation.made.push((self.at, Record::Store { address, size, value, sequence }));
        if !derivation.count(granule, whole) {
            return Err(self.stopped("what was computed is not what the program did"));
        }
        self.machine.advance();
        Ok(true)
    }

    fn computed_address(&self, address: &Value) -> Result<u64, Stop> {
        let address = self.machine.operand(address);
        self.machine
            .arena
            .value_of(address)
            .ok_or_else(|| self.stopped("an address that cannot be computed was not recorded"))
    }

    fn function_here(&self) -> Result<racewarden_ir::FunctionId, Stop> {
        self.machine.spot().map(|spot| spot.function).ok_or(Stop::End)
    }

    fn next_access(&mut self, address: u64) -> Result<Next, Stop> {
        loop {
            if self.derivation.as_ref().is_some_and(Derivation::is_within) {
                return Ok(Next::Made);
            }
            self.interruptions()?;
            let record = self.peek().ok_or(Stop::End)?;
            let Some(derivation) = &mut self.derivation else { return Ok(Next::Recorded) };
            match *record {
                Record::Derived { count, check } if count > 0 => {
                    (derivation.left, derivation.expected) = (count, check);
                    self.at += 1;
                }
                Record::Content { address, value } => {
                    derivation.learn(address, value);
                    self.at += 1;
                }
                Record::Load { address: found, .. } | Record::Store { address: found, .. }
                    if found != address =>
                {
                    return Err(self.mismatch("an access of the computed address", record));
                }
                _ => {
                    derivation.follow(record);
                    return Ok(Next::Recorded);
                }
            }
        }
    }

    /// Steps must not ask for records while accesses without any are to come.
    pub(super) fn check_due(&self) -> Step {
        match self.derivation.as_ref().is_some_and(Derivation::is_within) {
            true => Err(self.stopped("accesses that the program did not make")),
            false => Ok(()),
        }
    }
}
