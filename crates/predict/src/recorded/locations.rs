//! Which recorded accesses touch the same place.
//!
//! An address alone does not name a place: the heap and the stacks hand the same bytes out again.
//! So blocks and stack slots become objects, found by the order of the recording, and a place is
//! an object with an offset and a size. Places that are accessed in overlapping pieces of
//! different sizes are *mixed*: they are kept as whole words, and no value is derived from them;
//! whether two accesses to such a word meet is decided by their bytes.

use std::collections::BTreeMap;

use racewarden_trace::binary::{Record, Recording, SyncOp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::path::{Bytes, Extent};

/// A place in memory, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(pub u32);

#[derive(Debug, Clone)]
pub struct Place {
    pub address: u64,
    pub size: u32,
    /// Heap block or stack slot, counted from 1; 0 for everything else.
    pub object: u32,
    /// Touched by more than one thread, one of them writing.
    pub shared: bool,
    /// Touched in pieces that overlap without being equal.
    pub mixed: bool,
    /// What it held before its first recorded access.
    pub initial: Option<u64>,
    first_thread: u32,
    several: bool,
    written: bool,
    last: Option<u64>,
}

impl Place {
    pub fn bytes(&self) -> Bytes {
        Bytes { address: self.address, size: u64::from(self.size) }
    }

    /// A value that nobody stored shows that code outside writes here: then no value is derived
    /// from the place.
    fn follow_value(&mut self, touch: &Touch) {
        if self.mixed {
            return;
        }
        if let Some(found) = touch.found {
            match self.last {
                Some(last) if last != found => self.mixed = true,
                Some(_) => {}
                None if !self.written => self.initial = Some(found),
                None => self.mixed = true,
            }
            self.last = Some(found);
        }
        if touch.left.is_some() {
            self.last = touch.left;
        }
    }
}

/// The places of a recording. `touched[thread][record]` lists the places of that record.
#[derive(Debug, Default)]
pub struct Places {
    pub places: Vec<Place>,
    touched: FxHashMap<(u32, u32), Vec<PlaceId>>,
    /// What copies read; `touched` has what they write.
    sources: FxHashMap<(u32, u32), Vec<PlaceId>>,
    by_address: FxHashMap<(u64, u32), PlaceId>,
}

impl Places {
    /// The places that a copy reads.
    pub fn sources(&self, thread: usize, record: usize) -> &[PlaceId] {
        self.sources.get(&(thread as u32, record as u32)).map_or(&[], Vec::as_slice)
    }

    /// The places that a record touches; those that it writes, if it is a copy.
    pub fn of(&self, thread: usize, record: usize) -> &[PlaceId] {
        self.touched.get(&(thread as u32, record as u32)).map_or(&[], Vec::as_slice)
    }

    pub fn get(&self, place: PlaceId) -> &Place {
        &self.places[place.0 as usize]
    }

    pub fn new(recording: &Recording) -> Self {
        Builder::default().build(recording)
    }

    /// The place of exactly these bytes; the youngest object's when several had them.
    pub fn find(&self, address: u64, size: u64) -> Option<PlaceId> {
        let exact = self.by_address.get(&(address, size as u32));
        let word = || self.by_address.get(&(address & !7, 8)).filter(|p| self.get(**p).mixed);
        exact.or_else(word).copied()
    }

    /// A place that starts at the address, whatever its size.
    pub fn at(&self, address: u64) -> Option<PlaceId> {
        [8, 4, 2, 1].iter().find_map(|size| self.by_address.get(&(address, *size)).copied())
    }

    /// Whether a thread other than `thread` touches the place.
    pub fn is_foreign(&self, place: PlaceId, thread: u32) -> bool {
        let place = self.get(place);
        place.several || place.first_thread != thread
    }

    /// Makes a place shared that a side not taken touches: its accesses become events.
    pub fn share(&mut self, place: PlaceId) -> bool {
        let place = &mut self.places[place.0 as usize];
        !std::mem::replace(&mut place.shared, true)
    }
}

/// More words than this in one copy or fill are not followed one by one.
const MOST_WORDS: u64 = 1 << 12;
/// More pieces of a loop that was recorded as a whole.
const MOST_PIECES: u64 = 1 << 22;

#[derive(Default)]
struct Builder {
    places: Places,
    /// Live objects by start: end and number.
    objects: BTreeMap<u64, (u64, u32)>,
    object_count: u32,
    /// Per object and word: the pieces in which it is accessed.
    pieces: FxHashMap<(u32, u64), FxHashSet<(u32, u32)>>,
    ids: FxHashMap<(u32, u64, u32), PlaceId>,
    /// The records that free a block, with its object.
    frees: Vec<(u32, u32, u32)>,
}

struct Touch {
    thread: u32,
    record: u32,
    address: u64,
    size: u32,
    object: u32,
    write: bool,
    /// Part of a copy, fill or wide access: always a whole word.
    word: bool,
    /// Read by a copy.
    source: bool,
    /// What it found and what it left, where that is known.
    found: Option<u64>,
    left: Option<u64>,
}

impl Builder {
    fn build(mut self, recording: &Recording) -> Places {
        let mut order: Vec<(u64, u32, u32)> = Vec::new();
        let mut initial: FxHashMap<u64, u64> = FxHashMap::default();
        for (thread, stream) in recording.threads.iter().enumerate() {
            for (number, record) in stream.records.iter().enumerate() {
                if let Record::Initial { address, value } = record {
                    initial.entry(*address).or_insert(*value);
                }
                if let Some(sequence) = sequence_of(record) {
                    order.push((sequence, thread as u32, number as u32));
                }
            }
        }
        order.sort_unstable();
        let mut touches = Vec::new();
        for (_, thread, number) in order {
            let record = &recording.threads[thread as usize].records[number as usize];
            self.visit(thread, number, record, &mut touches);
        }
        let mixed: FxHashSet<(u32, u64)> = self
            .pieces
            .iter()
            .filter(|(_, pieces)| overlaps(pieces))
            .map(|(word, _)| *word)
            .collect();
        for touch in touches {
            self.place(&touch, &mixed, &initial);
        }
        self.free_places();
        for (number, place) in self.places.places.iter_mut().enumerate() {
            place.shared = place.several && place.written;
            self.places.by_address.insert((place.address, place.size), PlaceId(number as u32));
        }
        self.places
    }

    fn visit(&mut self, thread: u32, number: u32, record: &Record, touches: &mut Vec<Touch>) {
        match *record {
            Record::Sync { op: SyncOp::Alloc, object, extra, .. } => self.new_object(object, extra),
            Record::Sync { op: SyncOp::Free, object, .. } => {
                let block = self.objects.get(&object).map(|(_, number)| *number);
                self.frees.extend(block.map(|block| (thread, number, block)));
            }
            Record::Slot { address, size, .. } => self.new_object(address, size),
            Record::Load { address, size, value, .. } => {
                self.touch(thread, number, (address, size), false, touches);
                known(touches, Some(value), None);
            }
            Record::Store { address, size, value, .. } => {
                self.touch(thread, number, (address, size), true, touches);
                known(touches, None, Some(value));
            }
            Record::Update { address, size, old, new, .. } => {
                self.touch(thread, number, (address, size), true, touches);
                known(touches, Some(old), Some(new));
            }
            Record::Wide { address, size, write, .. } => {
                self.range((thread, number), (address, size), write, false, touches);
            }
            Record::Copy { to, from, size, .. } => {
                self.range((thread, number), (from, size), false, true, touches);
                self.range((thread, number), (to, size), true, false, touches);
            }
            Record::Set { to, size, .. } => {
                self.range((thread, number), (to, size), true, false, touches);
            }
            Record::Range { address, stride, count, size, write, .. } => {
                let pieces = if stride == 0 { count.min(1) } else { count.min(MOST_PIECES) };
                for piece in 0..pieces {
                    let at = address.wrapping_add_signed(stride.wrapping_mul(piece as i64));
                    let bytes = (at, u64::from(size));
                    self.range((thread, number), bytes, write, false, touches);
                }
            }
            _ => {}
        }
    }

    /// A block that is freed is written to as a whole.
    fn free_places(&mut self) {
        let mut of_object: FxHashMap<u32, Vec<PlaceId>> = FxHashMap::default();
        for (number, place) in self.places.places.iter().enumerate() {
            if place.object > 0 {
                of_object.entry(place.object).or_default().push(PlaceId(number as u32));
            }
        }
        for &(thread, record, object) in &self.frees {
            let Some(places) = of_object.remove(&object) else { continue };
            for id in &places {
                let place = &mut self.places.places[id.0 as usize];
                place.several |= place.first_thread != thread;
                place.written = true;
            }
            self.places.touched.insert((thread, record), places);
        }
    }

    fn new_object(&mut self, address: u64, size: u64) {
        let end = address.saturating_add(size.max(1));
        // Whatever overlaps is gone: the allocator would not hand it out otherwise.
        let gone: Vec<u64> = self
            .objects
            .range(..end)
            .rev()
            .take_while(|(_, (other_end, _))| *other_end > address)
            .map(|(start, _)| *start)
            .collect();
        for start in gone {
            self.objects.remove(&start);
        }
        self.object_count += 1;
        self.objects.insert(address, (end, self.object_count));
    }

    fn object_at(&self, address: u64) -> u32 {
        match self.objects.range(..=address).next_back() {
            Some((_, (end, object))) if address < *end => *object,
            _ => 0,
        }
    }

    fn touch(
        &mut self,
        thread: u32,
        record: u32,
        (address, size): (u64, u32),
        write: bool,
        touches: &mut Vec<Touch>,
    ) {
        let object = self.object_at(address);
        let word = address & !7;
        let pieces = self.pieces.entry((object, word)).or_default();
        pieces.insert(((address - word) as u32, size));
        let crosses = address - word + u64::from(size) > 8;
        let touch = Touch {
            thread,
            record,
            address,
            size,
            object,
            write,
            word: crosses,
            source: false,
            found: None,
            left: None,
        };
        if crosses {
            let next = word + 8;
            self.pieces.entry((object, next)).or_default().extend([(0, 8), (0, 4)]);
            self.pieces.entry((object, word)).or_default().extend([(0, 8), (0, 4)]);
            touches.push(Touch { address: next, size: 8, word: true, ..touch });
        }
        touches.push(touch);
    }

    fn range(
        &mut self,
        (thread, record): (u32, u32),
        (address, size): (u64, u64),
        write: bool,
        source: bool,
        touches: &mut Vec<Touch>,
    ) {
        if size == 0 {
            return;
        }
        let object = self.object_at(address);
        let first = address & !7;
        let words = ((address + size - 1 - first) / 8 + 1).min(MOST_WORDS);
        for word in (0..words).map(|number| first + number * 8) {
            // Always mixed: the content is not followed.
            self.pieces.entry((object, word)).or_default().extend([(0, 8), (0, 4)]);
            touches.push(Touch {
                thread,
                record,
                address: word,
                size: 8,
                object,
                write,
                word: true,
                source,
                found: None,
                left: None,
            });
        }
    }

    fn place(
        &mut self,
        touch: &Touch,
        mixed: &FxHashSet<(u32, u64)>,
        initial: &FxHashMap<u64, u64>,
    ) {
        let word = touch.address & !7;
        let is_mixed = touch.word || mixed.contains(&(touch.object, word));
        let (address, size) = if is_mixed { (word, 8) } else { (touch.address, touch.size) };
        let places = &mut self.places.places;
        let id = *self.ids.entry((touch.object, address, size)).or_insert_with(|| {
            let first = initial.get(&word).filter(|_| touch.object == 0);
            places.push(Place {
                address,
                size,
                object: touch.object,
                shared: false,
                mixed: is_mixed,
                initial: first.map(|value| part_of(*value, address - word, size)),
                first_thread: touch.thread,
                several: false,
                written: false,
                last: first.map(|value| part_of(*value, address - word, size)),
            });
            PlaceId(places.len() as u32 - 1)
        });
        let place = &mut places[id.0 as usize];
        place.follow_value(touch);
        place.several |= place.first_thread != touch.thread;
        place.written |= touch.write;
        let by_record = match touch.source {
            true => &mut self.places.sources,
            false => &mut self.places.touched,
        };
        let list = by_record.entry((touch.thread, touch.record)).or_default();
        // Neighbouring pieces may share a word; others are apart.
        if list.last() != Some(&id) && (list.len() > 2 || !list.contains(&id)) {
            list.push(id);
        }
    }
}

/// Fills in what the touch that was just made found and left.
fn known(touches: &mut [Touch], found: Option<u64>, left: Option<u64>) {
    if let Some(touch) = touches.last_mut() {
        (touch.found, touch.left) = (found, left);
    }
}

/// `size` bytes at `offset` of a word.
fn part_of(word: u64, offset: u64, size: u32) -> u64 {
    racewarden_trace::binary::record::truncated(word >> (offset * 8), size)
}

fn overlaps(pieces: &FxHashSet<(u32, u32)>) -> bool {
    pieces.iter().any(|a| pieces.iter().any(|b| a != b && a.0 < b.0 + b.1 && b.0 < a.0 + a.1))
}

/// What an access reads or writes.
pub fn extent_of(record: &Record, writes: bool) -> Option<Extent> {
    let (address, size) = match *record {
        Record::Load { address, size, .. }
        | Record::Store { address, size, .. }
        | Record::Update { address, size, .. } => (address, u64::from(size)),
        Record::Wide { address, size, .. } => (address, size),
        Record::Copy { to, size, .. } if writes => (to, size),
        Record::Copy { from, size, .. } => (from, size),
        Record::Set { to, size, .. } => (to, size),
        Record::Range { address, stride, count, size, .. } => {
            return Some(Extent { address, size: size.into(), stride, count });
        }
        _ => return None,
    };
    Some(Extent::one(address, size))
}

/// The place of a record in the order of the run, for those that have one.
pub fn sequence_of(record: &Record) -> Option<u64> {
    record.sequence()
}
