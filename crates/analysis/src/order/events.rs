//! What threads do to barriers, semaphores and words that they tell each other something by.
//!
//! Only objects that exist once and that every use names exactly are followed. A word written
//! through a pointer with several targets, by a library function or in parts is not.

use racewarden_ir::{AtomicOrder, FunctionId, Op, RmwOp, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::effects_of_call;
use crate::contexts::Instantiation;
use crate::effects::Effect;
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Barrier(Location),
    Team,
    Post(Location),
    Wait(Location),
    /// The word's number in [`Events::words`].
    Write(u32),
    Read(u32),
}

#[derive(Debug, Clone)]
pub struct Write {
    pub site: CallSite,
    /// The value when it is a constant.
    pub value: Option<i64>,
    pub order: Option<AtomicOrder>,
    pub kind: WriteKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    Store,
    Exchange,
    /// With the value that must be there.
    CompareExchange(Option<i64>),
    Other,
}

/// A word of memory that is written in known places only.
#[derive(Debug)]
pub struct Word {
    pub place: Location,
    pub size: u64,
    pub initial: Option<i64>,
    pub writes: Vec<Write>,
    /// Loads of the whole word.
    pub loads: Vec<(CallSite, Option<AtomicOrder>)>,
}

/// A barrier or semaphore with the calls that set it up.
#[derive(Debug, Default)]
pub struct Setup {
    /// The call and the argument that holds the count.
    pub calls: Vec<(CallSite, Option<Value>)>,
    /// Some use gives up early, or looks at the result to see whether it waited.
    pub uncertain: bool,
}

#[derive(Debug, Default)]
pub struct Events {
    at: FxHashMap<CallSite, Event>,
    inside: Vec<bool>,
    callers: FxHashMap<FunctionId, Vec<FunctionId>>,
    pub words: Vec<Word>,
    pub setups: FxHashMap<Location, Setup>,
    /// A barrier or semaphore is used that cannot be told from others.
    pub vague: bool,
}

struct Scan<'a> {
    instantiation: &'a Instantiation<'a>,
    singletons: &'a [bool],
    events: Events,
    words: FxHashMap<(Location, u64), Word>,
    /// Objects that something writes which is not followed.
    tainted: FxHashSet<ObjectId>,
}

impl Events {
    pub fn new(instantiation: &Instantiation<'_>, singletons: &[bool]) -> Events {
        let mut functions: Vec<FunctionId> =
            instantiation.contexts.iter().map(|context| context.function).collect();
        functions.sort_unstable();
        functions.dedup();
        let mut scan = Scan {
            instantiation,
            singletons,
            events: Events::default(),
            words: FxHashMap::default(),
            tainted: FxHashSet::default(),
        };
        for &function in &functions {
            scan.function(function);
        }
        scan.keep_words();
        let mut events = scan.events;
        for &function in &functions {
            for &callee in &instantiation.graph.callees[function.index()] {
                events.callers.entry(callee).or_default().push(function);
            }
        }
        events.mark_inside(instantiation.program.module.functions.len());
        events
    }

    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub fn at(&self, function: FunctionId, inst: u32) -> Option<&Event> {
        self.at.get(&(function, inst))
    }

    /// Whether the function contains an event, or calls one that does.
    pub fn is_inside(&self, function: FunctionId) -> bool {
        self.inside[function.index()]
    }

    pub fn callers(&self, function: FunctionId) -> &[FunctionId] {
        self.callers.get(&function).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn sites(&self) -> impl Iterator<Item = (&CallSite, &Event)> {
        self.at.iter()
    }

    fn mark_inside(&mut self, count: usize) {
        self.inside = vec![false; count];
        let mut stack: Vec<FunctionId> = self.at.keys().map(|site| site.0).collect();
        while let Some(function) = stack.pop() {
            if !std::mem::replace(&mut self.inside[function.index()], true) {
                stack.extend(self.callers.get(&function).into_iter().flatten());
            }
        }
    }
}

impl Scan<'_> {
    fn points(&self, function: FunctionId, value: &Value) -> Vec<Location> {
        self.instantiation.points.value(self.instantiation.program, function, value)
    }

    /// The one place that the pointer leads to, in an object that exists once.
    fn exact(&self, function: FunctionId, value: &Value) -> Option<Location> {
        match self.points(function, value).as_slice() {
            [at] if at.stride == 0 && self.singletons[at.object as usize] => Some(*at),
            _ => None,
        }
    }

    fn function(&mut self, function: FunctionId) {
        let body = self.instantiation.program.module.function(function);
        for (inst, instruction) in (0u32..).zip(&body.instructions) {
            let site = (function, inst);
            match &instruction.op {
                Op::Load { address, size, order, .. } => {
                    if let Some(place) = self.exact(function, address) {
                        self.word(place, *size).loads.push((site, *order));
                    }
                }
                Op::Store { address, value, size, order, .. } => {
                    let value = self.constant(value);
                    let kind = WriteKind::Store;
                    self.write(address, *size, Write { site, value, order: *order, kind });
                }
                Op::AtomicRmw { address, op, value, size, order } => {
                    let (kind, value) = match op {
                        RmwOp::Xchg => (WriteKind::Exchange, self.constant(value)),
                        _ => (WriteKind::Other, None),
                    };
                    self.write(address, *size, Write { site, value, order: Some(*order), kind });
                }
                Op::CompareExchange { address, expected, new, size, success, .. } => {
                    let kind = WriteKind::CompareExchange(self.constant(expected));
                    let value = self.constant(new);
                    self.write(address, *size, Write { site, value, order: Some(*success), kind });
                }
                Op::MemCopy { to, .. } | Op::MemSet { to, .. } => self.taint(function, to),
                Op::Unknown { operands, .. } => {
                    for operand in operands {
                        self.taint(function, operand);
                    }
                }
                Op::Call { callee, arguments, .. } => {
                    if matches!(callee, racewarden_ir::Callee::Asm { .. }) {
                        for argument in arguments {
                            self.taint(function, argument);
                        }
                    }
                    let (effects, points) = (self.instantiation.effects, self.instantiation.points);
                    for effect in effects_of_call(effects, points, site, callee) {
                        self.effect(site, effect, arguments);
                    }
                }
                _ => {}
            }
        }
    }

    fn constant(&self, value: &Value) -> Option<i64> {
        match value {
            Value::Int { bits, .. } => i64::try_from(*bits).ok(),
            Value::Null => Some(0),
            _ => None,
        }
    }

    fn word(&mut self, place: Location, size: u64) -> &mut Word {
        let initial = self.initial(place, size);
        self.words.entry((place, size)).or_insert_with(|| Word {
            place,
            size,
            initial,
            writes: Vec::new(),
            loads: Vec::new(),
        })
    }

    fn write(&mut self, address: &Value, size: u64, mut write: Write) {
        write.value = write.value.filter(|value| is_plain(*value, size));
        if let WriteKind::CompareExchange(expected) = &mut write.kind {
            *expected = expected.filter(|value| is_plain(*value, size));
        }
        match self.exact(write.site.0, address) {
            Some(place) => self.word(place, size).writes.push(write),
            None => self.taint(write.site.0, address),
        }
    }

    fn taint(&mut self, function: FunctionId, pointer: &Value) {
        let points = self.points(function, pointer);
        let blob = self.instantiation.points.blob().object;
        if points.iter().any(|at| at.object == blob) {
            self.tainted.extend(self.instantiation.points.blob_objects());
        }
        self.tainted.extend(points.iter().map(|at| at.object));
    }

    fn initial(&self, place: Location, size: u64) -> Option<i64> {
        let objects = &self.instantiation.points.locations().objects;
        let ObjectKind::Global(global) = objects[place.object as usize] else { return None };
        let data = self.instantiation.program.module.global(global).initializer.as_ref()?;
        let start = usize::try_from(place.offset).ok()?;
        let bytes = data.bytes.get(start..start.checked_add(size as usize)?)?;
        if size > 8 || data.pointers.iter().any(|(at, _)| at.abs_diff(start as u64) < 8) {
            return None;
        }
        let value = bytes.iter().rev().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        i64::try_from(value).ok().filter(|value| is_plain(*value, size))
    }

    fn effect(&mut self, site: CallSite, effect: &Effect, arguments: &[Value]) {
        let value = |index: u32| arguments.get(index as usize);
        match effect {
            Effect::TeamBarrier => {
                self.events.at.insert(site, Event::Team);
            }
            Effect::Barrier { barrier: object }
            | Effect::BarrierInit { barrier: object, .. }
            | Effect::SemaphoreInit { semaphore: object, .. }
            | Effect::SemaphorePost { semaphore: object }
            | Effect::SemaphoreWait { semaphore: object, .. } => {
                let Some(place) = value(*object).and_then(|v| self.exact(site.0, v)) else {
                    self.events.vague = true;
                    return;
                };
                let setup = self.events.setups.entry(place).or_default();
                match effect {
                    Effect::BarrierInit { count, .. }
                    | Effect::SemaphoreInit { value: count, .. } => {
                        setup.calls.push((site, count.and_then(value).cloned()));
                    }
                    Effect::Barrier { .. } => {
                        self.events.at.insert(site, Event::Barrier(place));
                    }
                    Effect::SemaphorePost { .. } => {
                        self.events.at.insert(site, Event::Post(place));
                    }
                    Effect::SemaphoreWait { certain, .. } => {
                        setup.uncertain |= !certain;
                        self.events.at.insert(site, Event::Wait(place));
                    }
                    _ => {}
                }
            }
            Effect::Access { pointer, write: true, .. } | Effect::Free { pointer } => {
                if let Some(value) = value(*pointer) {
                    self.taint(site.0, value);
                }
            }
            Effect::Copy { to, .. } | Effect::Allocate { out: Some(to), .. } => {
                if let Some(value) = value(*to) {
                    self.taint(site.0, value);
                }
            }
            Effect::Create { handle: Some(handle), .. } => {
                if let Some(value) = value(*handle) {
                    self.taint(site.0, value);
                }
            }
            Effect::Unknown => {
                for argument in arguments {
                    self.taint(site.0, argument);
                }
            }
            _ => {}
        }
    }

    /// Keeps the words that threads can tell each other something by.
    fn keep_words(&mut self) {
        let mut words: Vec<Word> = std::mem::take(&mut self.words).into_values().collect();
        words.sort_by_key(|word| (word.place, word.size));
        let overlaps: Vec<bool> = words
            .iter()
            .map(|word| {
                words.iter().any(|other| {
                    (other.place, other.size) != (word.place, word.size)
                        && crate::pointsto::may_overlap(
                            word.place,
                            word.size,
                            other.place,
                            other.size,
                        )
                })
            })
            .collect();
        for (word, overlaps) in words.into_iter().zip(overlaps) {
            let tells = word.writes.iter().any(|write| write.order.is_some())
                || (!word.writes.is_empty() && word.writes.iter().all(|w| w.value.is_some()));
            if tells
                && !overlaps
                && word.writes.len() <= MAX_WRITES
                && word.initial.is_some()
                && !self.tainted.contains(&word.place.object)
            {
                let number = self.events.words.len() as u32;
                for (load, _) in &word.loads {
                    self.events.at.insert(*load, Event::Read(number));
                }
                for write in &word.writes {
                    self.events.at.insert(write.site, Event::Write(number));
                }
                self.events.words.push(word);
            }
        }
    }
}

/// Whether the value is the same read as signed and as unsigned.
fn is_plain(value: i64, size: u64) -> bool {
    (0..=i64::from(i32::MAX)).contains(&value) && (size >= 4 || value < 1 << (8 * size - 1))
}

/// Writes of a word that is still looked at.
const MAX_WRITES: usize = 16;
