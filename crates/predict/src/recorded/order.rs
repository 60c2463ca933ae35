//! A recording as an order of events, for the order-only ladder and the STD export.
//!
//! Locks, forks, joins and accesses map to themselves. The other synchronisation keeps its
//! observed order through tokens: a wait comes after the signal that woke it, which comes after
//! the wait began; whoever leaves a barrier, after all who arrived for it; the nth semaphore wait
//! after the post that allowed it; a `pthread_once` after its routine; a read of a descriptor after
//! what was written to it; a failed try while the lock is held.

use racewarden_ir::Program;
use racewarden_trace::binary::{BESIDE, Record, Recording, SyncOp, UNKNOWN_CODE};
use racewarden_trace::{Event, Kind, Location, OrderTrace, ThreadId};
use rustc_hash::FxHashMap;

use super::locations::{PlaceId, Places, sequence_of};
use super::walk::{Image, expanded};

/// The order, and which record each event came from.
#[derive(Debug, Default)]
pub struct RecordedOrder {
    pub trace: OrderTrace,
    /// Per event: thread and record.
    pub origin: Vec<(u32, u32)>,
    /// Per event: the sequence number of its record.
    pub sequences: Vec<u64>,
}

/// The order of a recording that has a record for every access.
pub fn recorded_order(recording: &Recording) -> RecordedOrder {
    let places = Places::new(recording);
    order_with(recording, &places, &[], &mut |_, record| {
        Location::number(record as u32 & 0x7fff_ffff)
    })
}

/// The recording with the records that were left to the reader, if there are any.
pub fn with_all_records(program: &Program, recording: Recording) -> Recording {
    let whole = expanded(&Image::new(program, &recording), &recording);
    whole.map_or(recording, |(whole, _)| whole)
}

/// The order with locations as `locate(thread, record)` gives them; an access without one is kept
/// for what others read from it but is no candidate. `outside` lists what code outside may have
/// read and written, in the order of the run.
pub fn order_with(
    recording: &Recording,
    places: &Places,
    outside: &[(u64, usize, PlaceId)],
    locate: &mut dyn FnMut(usize, usize) -> Option<Location>,
) -> RecordedOrder {
    let mut order: Vec<(u64, usize, usize)> = Vec::new();
    for (thread, stream) in recording.threads.iter().enumerate() {
        for (number, record) in stream.records.iter().enumerate() {
            if let Some(sequence) = sequence_of(record) {
                order.push((sequence, thread, number));
            }
        }
    }
    order.sort_unstable();
    let mut builder = Builder::new(recording, places);
    builder.find_failed_tries();
    let mut outside = outside.iter().peekable();
    for (sequence, thread, number) in order {
        // A touch carries the number of the thread's record before or after the call, so it
        // stands right before or right after that record.
        while let Some((_, owner, place)) = outside.next_if(|(at, ..)| *at < sequence) {
            builder.outside(*owner, thread, number, *place);
        }
        let record = &recording.threads[thread].records[number];
        let location = locate(thread, number);
        builder.record(thread, number, record, location);
    }
    builder.finish()
}

#[derive(Default)]
struct Condition {
    /// Waits that have begun, with the token of their beginning.
    waiting: Vec<(usize, u32)>,
    /// Tokens of signals, with whether they wake all.
    signals: Vec<(u32, bool)>,
}

/// Something that things are put into and got from.
#[derive(Default)]
struct Channel {
    /// The token of the last thing that was put in order.
    last: Option<u32>,
    /// Tokens of what was put without an order; all that is put between two gets shares one.
    beside: Vec<u32>,
    /// Nothing was got since the last of them was made.
    is_open: bool,
    /// How many of them each thread has waited for.
    awaited: FxHashMap<usize, usize>,
}

struct Builder<'r> {
    recording: &'r Recording,
    places: &'r Places,
    result: RecordedOrder,
    locks: FxHashMap<u64, u32>,
    holders: FxHashMap<u64, Vec<(usize, Kind)>>,
    depth: FxHashMap<(u64, usize), u32>,
    threads: FxHashMap<u64, u32>,
    conditions: FxHashMap<u64, Condition>,
    barriers: FxHashMap<u64, (u64, u64, FxHashMap<usize, u32>)>,
    barrier_tokens: FxHashMap<(u64, u64), u32>,
    semaphores: FxHashMap<u64, (u64, u64, u64)>,
    semaphore_tokens: FxHashMap<(u64, u64), u32>,
    onces: FxHashMap<u64, u32>,
    channels: FxHashMap<u64, Channel>,
    /// Objects that a try failed on, each with the token of the last operation. A failure depends
    /// on the state of the object, so all its operations keep their order.
    chained: FxHashMap<u64, Option<u32>>,
}

impl<'r> Builder<'r> {
    fn new(recording: &'r Recording, places: &'r Places) -> Self {
        let mut result = RecordedOrder::default();
        let mut threads = FxHashMap::default();
        for (index, thread) in recording.threads.iter().enumerate() {
            threads.insert(u64::from(thread.number), index as u32);
            result.trace.threads.push(thread.name.as_str().into());
        }
        for place in &places.places {
            let name = match place.object {
                0 => format!("{:#x}", place.address),
                object => format!("o{object}:{:#x}", place.address),
            };
            result.trace.variables.push(name.into());
        }
        Builder {
            recording,
            places,
            result,
            locks: FxHashMap::default(),
            holders: FxHashMap::default(),
            depth: FxHashMap::default(),
            threads,
            conditions: FxHashMap::default(),
            barriers: FxHashMap::default(),
            barrier_tokens: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            semaphore_tokens: FxHashMap::default(),
            onces: FxHashMap::default(),
            channels: FxHashMap::default(),
            chained: FxHashMap::default(),
        }
    }

    fn find_failed_tries(&mut self) {
        for record in self.recording.threads.iter().flat_map(|thread| &thread.records) {
            if let Record::Sync { op: SyncOp::TryFailed | SyncOp::SemTryFailed, object, .. } =
                record
            {
                self.chained.insert(*object, None);
            }
        }
    }

    fn finish(self) -> RecordedOrder {
        self.result
    }

    fn push(
        &mut self,
        origin: (usize, usize),
        kind: Kind,
        object: u32,
        location: Option<Location>,
    ) {
        let location = location.or_else(|| Location::number(0)).unwrap_or(Location::named(0));
        let thread = ThreadId(origin.0 as u32);
        self.result.trace.events.push(Event { thread, kind, object, location });
        self.result.origin.push((origin.0 as u32, origin.1 as u32));
        let record = &self.recording.threads[origin.0].records[origin.1];
        self.result.sequences.push(sequence_of(record).unwrap_or(0));
    }

    fn token(&mut self) -> u32 {
        self.result.trace.tokens += 1;
        self.result.trace.tokens - 1
    }

    fn record(&mut self, thread: usize, number: usize, record: &Record, at: Option<Location>) {
        let origin = (thread, number);
        match *record {
            Record::Load { .. } => self.accesses(origin, true, false, at),
            Record::Store { .. } => self.accesses(origin, false, true, at),
            Record::Update { .. } => self.accesses(origin, true, true, at),
            Record::Wide { write, .. } | Record::Range { write, .. } => {
                self.accesses(origin, !write, write, at);
            }
            Record::Copy { .. } => {
                let sources = self.places.sources(origin.0, origin.1).to_vec();
                self.access_places(origin, &sources, (true, false), at);
                self.accesses(origin, false, true, at);
            }
            Record::Set { .. } => self.accesses(origin, false, true, at),
            Record::Sync { op, object, extra, .. } => self.sync(origin, op, object, extra, at),
            _ => {}
        }
    }

    /// An access without a location is one that cannot race: an atomic one.
    fn accesses(
        &mut self,
        origin: (usize, usize),
        reads: bool,
        writes: bool,
        at: Option<Location>,
    ) {
        let places = self.places.of(origin.0, origin.1).to_vec();
        self.access_places(origin, &places, (reads, writes), at);
    }

    fn access_places(
        &mut self,
        origin: (usize, usize),
        places: &[PlaceId],
        (reads, writes): (bool, bool),
        at: Option<Location>,
    ) {
        let atomic = at.is_none() || (reads && writes);
        for place in places.iter().copied() {
            if !self.places.get(place).shared {
                continue;
            }
            if reads {
                let kind = if atomic { Kind::AtomicRead } else { Kind::Read };
                self.push(origin, kind, place.0, at);
            }
            if writes {
                let kind = if atomic { Kind::AtomicWrite } else { Kind::Write };
                self.push(origin, kind, place.0, at);
            }
        }
    }

    fn outside(&mut self, owner: usize, thread: usize, number: usize, place: PlaceId) {
        for kind in [Kind::AtomicRead, Kind::AtomicWrite] {
            self.push((thread, number), kind, place.0, None);
            if let Some(event) = self.result.trace.events.last_mut() {
                event.thread = ThreadId(owner as u32);
            }
            if let Some(origin) = self.result.origin.last_mut() {
                origin.0 = owner as u32;
            }
            if let Some(sequence) = self.result.sequences.last_mut() {
                *sequence = 0;
            }
        }
    }

    fn lock(&mut self, address: u64) -> u32 {
        let names = &mut self.result.trace.locks;
        *self.locks.entry(address).or_insert_with(|| {
            names.push(format!("{address:#x}").into());
            names.len() as u32 - 1
        })
    }

    fn sync(
        &mut self,
        origin: (usize, usize),
        op: SyncOp,
        object: u64,
        extra: u64,
        at: Option<Location>,
    ) {
        let thread = origin.0;
        let is_chained = self.chained.contains_key(&object) && !op.names_thread();
        if let Some(Some(token)) = self.chained.get(&object).copied().filter(|_| is_chained) {
            self.push(origin, Kind::Await, token, at);
        }
        match op {
            SyncOp::Fork | SyncOp::Join => {
                let Some(&other) = self.threads.get(&object) else { return };
                let kind = if op == SyncOp::Fork { Kind::Fork } else { Kind::Join };
                self.push(origin, kind, other, at);
            }
            SyncOp::Begin => self.push(origin, Kind::Begin, thread as u32, at),
            SyncOp::End => self.push(origin, Kind::End, thread as u32, at),
            SyncOp::Acquire | SyncOp::AcquireShared => self.acquire(origin, op, object, at),
            SyncOp::Release | SyncOp::ReleaseShared => self.release(origin, object, at),
            SyncOp::TryFailed => {}
            SyncOp::WaitBegin => {
                let token = self.token();
                self.push(origin, Kind::Notify, token, at);
                self.conditions.entry(object).or_default().waiting.push((thread, token));
            }
            SyncOp::Signal | SyncOp::Broadcast => self.signal(origin, op, object, at),
            SyncOp::WaitEnd | SyncOp::WaitTimeout => self.wait_end(origin, op, object, at),
            SyncOp::BarrierInit => {
                self.barriers.insert(object, (extra.max(1), 0, FxHashMap::default()));
            }
            SyncOp::BarrierArrive | SyncOp::BarrierLeave => self.barrier(origin, op, object, at),
            SyncOp::SemInit => {
                self.semaphores.insert(object, (extra, 0, 0));
            }
            SyncOp::SemPost | SyncOp::SemWait => self.semaphore(origin, op, object, at),
            SyncOp::OnceDone => {
                let token = self.token();
                self.onces.insert(object, token);
                self.push(origin, Kind::Notify, token, at);
            }
            SyncOp::OncePassed => {
                if let Some(&token) = self.onces.get(&object) {
                    self.push(origin, Kind::Await, token, at);
                }
            }
            SyncOp::Put => self.put(origin, object, extra, at),
            SyncOp::Got => self.got(origin, object, at),
            // Whoever accesses the block must have done so before.
            SyncOp::Free => self.accesses(origin, false, true, at),
            SyncOp::SemTryFailed | SyncOp::Alloc => {}
        }
        if is_chained {
            let token = self.token();
            self.push(origin, Kind::Notify, token, at);
            self.chained.insert(object, Some(token));
        }
    }

    /// All that is put in order keeps it, so the last stands for all.
    fn put(&mut self, origin: (usize, usize), object: u64, extra: u64, at: Option<Location>) {
        let last = self.channels.entry(object).or_default().last;
        // Whoever calls unknown code also gets from it when the call returns. So in order the calls
        // mean the same as beside each other, and each waits for one other instead of one a thread.
        if extra != BESIDE || object == UNKNOWN_CODE {
            if let Some(token) = last {
                self.push(origin, Kind::Await, token, at);
            }
            let token = self.token();
            self.push(origin, Kind::Notify, token, at);
            self.channels.entry(object).or_default().last = Some(token);
            return;
        }
        let fresh = self.result.trace.tokens;
        let channel = self.channels.entry(object).or_default();
        let token = match channel.beside.last() {
            Some(token) if channel.is_open => *token,
            _ => {
                channel.beside.push(fresh);
                channel.is_open = true;
                self.result.trace.tokens += 1;
                fresh
            }
        };
        self.push(origin, Kind::Notify, token, at);
    }

    fn got(&mut self, origin: (usize, usize), object: u64, at: Option<Location>) {
        let Some(channel) = self.channels.get_mut(&object) else { return };
        channel.is_open = false;
        let seen = channel.awaited.insert(origin.0, channel.beside.len()).unwrap_or(0);
        let tokens: Vec<u32> = channel.beside[seen..].iter().copied().chain(channel.last).collect();
        for token in tokens {
            self.push(origin, Kind::Await, token, at);
        }
    }

    fn acquire(&mut self, origin: (usize, usize), op: SyncOp, object: u64, at: Option<Location>) {
        let depth = self.depth.entry((object, origin.0)).or_default();
        *depth += 1;
        if *depth > 1 {
            return;
        }
        let kind = if op == SyncOp::Acquire { Kind::Acquire } else { Kind::AcquireShared };
        self.holders.entry(object).or_default().push((origin.0, kind));
        let lock = self.lock(object);
        self.push(origin, kind, lock, at);
    }

    fn release(&mut self, origin: (usize, usize), object: u64, at: Option<Location>) {
        let Some(depth) = self.depth.get_mut(&(object, origin.0)) else { return };
        if *depth == 0 {
            return;
        }
        *depth -= 1;
        if *depth > 0 {
            return;
        }
        let holders = self.holders.entry(object).or_default();
        let Some(place) = holders.iter().position(|(thread, _)| *thread == origin.0) else {
            return;
        };
        let (_, kind) = holders.remove(place);
        let lock = self.lock(object);
        let kind = if kind == Kind::Acquire { Kind::Release } else { Kind::ReleaseShared };
        self.push(origin, kind, lock, at);
    }

    /// A signal comes after the beginning of every wait that it may have ended.
    fn signal(&mut self, origin: (usize, usize), op: SyncOp, object: u64, at: Option<Location>) {
        let waiting: Vec<u32> = self
            .conditions
            .entry(object)
            .or_default()
            .waiting
            .iter()
            .map(|(_, token)| *token)
            .collect();
        for token in waiting {
            self.push(origin, Kind::Await, token, at);
        }
        let token = self.token();
        self.push(origin, Kind::Notify, token, at);
        if let Some(condition) = self.conditions.get_mut(&object) {
            condition.signals.push((token, op == SyncOp::Broadcast));
        }
    }

    fn wait_end(&mut self, origin: (usize, usize), op: SyncOp, object: u64, at: Option<Location>) {
        let condition = self.conditions.entry(object).or_default();
        condition.waiting.retain(|(thread, _)| *thread != origin.0);
        if op == SyncOp::WaitEnd
            && let Some(&(token, _)) = condition.signals.last()
        {
            self.push(origin, Kind::Await, token, at);
        }
    }

    fn barrier(&mut self, origin: (usize, usize), op: SyncOp, object: u64, at: Option<Location>) {
        let (count, arrived, rounds) =
            self.barriers.entry(object).or_insert_with(|| (u64::MAX, 0, FxHashMap::default()));
        let round = if op == SyncOp::BarrierArrive {
            let round = *arrived / *count;
            *arrived += 1;
            rounds.insert(origin.0, round as u32);
            round
        } else {
            rounds.get(&origin.0).copied().map_or(0, u64::from)
        };
        let token = match self.barrier_tokens.get(&(object, round)) {
            Some(token) => *token,
            None => {
                let token = self.token();
                self.barrier_tokens.insert((object, round), token);
                token
            }
        };
        let kind = if op == SyncOp::BarrierArrive { Kind::Notify } else { Kind::Await };
        self.push(origin, kind, token, at);
    }

    fn semaphore(&mut self, origin: (usize, usize), op: SyncOp, object: u64, at: Option<Location>) {
        let (initial, posts, waits) = self.semaphores.entry(object).or_default();
        if op == SyncOp::SemPost {
            let number = *posts;
            *posts += 1;
            let token = self.token();
            self.semaphore_tokens.insert((object, number), token);
            self.push(origin, Kind::Notify, token, at);
            return;
        }
        let number = *waits;
        *waits += 1;
        if let Some(needed) = number.checked_sub(*initial)
            && let Some(&token) = self.semaphore_tokens.get(&(object, needed))
        {
            self.push(origin, Kind::Await, token, at);
        }
    }
}
