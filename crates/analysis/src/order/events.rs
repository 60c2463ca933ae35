//! What threads do to barriers, semaphores and words that they tell each other something by.
//!
//! Only objects that exist once and that every use names exactly are followed. A word written
//! through a pointer with several targets, by a library function or in parts is not.

use std::borrow::Cow;

use racewarden_ir::{AtomicOrder, Callee, FunctionId, Op, RmwOp, TypeId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::doors::Doors;
use super::values::Content;
use crate::bodies::Bodies;
use crate::callgraph::effects_of_call;
use crate::contexts::Instantiation;
use crate::effects::{Effect, RESULT, Success};
use crate::pointsto::{CallSite, Location, ObjectId, ObjectKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Barrier(Location),
    Team,
    Post(Location),
    Wait(Location),
    /// To the channel whose descriptor is kept there, if that is known.
    Send(Option<Location>),
    Receive(Location),
    /// Of any future.
    Announce,
    Await,
    /// Waits until the count with this number in [`Events::words`] is down to nothing.
    Full(u32),
    /// The word's number in [`Events::words`].
    Write(u32),
    Read(u32),
    Fence(AtomicOrder),
    /// Takes a lock that its thread's creator may hold, and lets go of one ([`super::doors`]).
    Enter(Location),
    Leave(Location),
}

#[derive(Debug, Clone)]
pub struct Write {
    pub site: CallSite,
    /// The value when it is a constant.
    pub value: Option<Content>,
    pub order: Option<AtomicOrder>,
    pub kind: WriteKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    Store,
    Exchange,
    /// With the value that must be there.
    CompareExchange(Option<Content>),
    /// So much is taken off by a library call.
    CountDown(u64),
    /// These bits are set, or all others cleared; only until it is known what the word may hold.
    Set(u64),
    Keep(u64),
    Other,
}

/// A word of memory that is written in known places only.
#[derive(Debug)]
pub struct Word {
    pub place: Location,
    pub size: u64,
    pub initial: Option<Content>,
    /// The initial value as the program has it.
    pub first: Option<Value>,
    pub writes: Vec<Write>,
    pub looks: Vec<Look>,
    /// Calls that return when something else is there, and acquire it.
    pub waits: Vec<(CallSite, Content)>,
}

/// An instruction whose result tells what was in the word.
#[derive(Debug, Clone)]
pub struct Look {
    /// The access itself.
    pub site: CallSite,
    /// The instruction that has the result.
    pub result: u32,
    pub order: Option<AtomicOrder>,
    pub kind: LookKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookKind {
    /// The result is the value.
    Value,
    /// The result is whether this value was there; it may be false all the same.
    Equals(Option<Content>),
}

impl Look {
    /// What the result may be when the word held this.
    pub fn results(&self, content: Content) -> Option<Vec<Content>> {
        match self.kind {
            LookKind::Value => Some(vec![content]),
            LookKind::Equals(expected) => match (expected?, content) {
                (Content::Address, Content::Address) => None,
                (expected, content) if expected == content => {
                    Some(vec![Content::Bits(0), Content::Bits(1)])
                }
                _ => Some(vec![Content::Bits(0)]),
            },
        }
    }
}

/// A barrier or semaphore with the calls that set it up.
#[derive(Debug, Default)]
pub struct Setup {
    /// The call and the argument that holds the count.
    pub calls: Vec<(CallSite, Option<Value>)>,
    /// Some use gives up early, or looks at the result to see whether it waited.
    pub uncertain: bool,
    /// Some post may add more than one.
    pub several: bool,
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
    /// How waits fail, for those whose result tells.
    pub waits: FxHashMap<CallSite, Waiting>,
    pub channels: Channels,
    /// Words that hold one number for as long as anybody but their maker knows them.
    pub constants: FxHashMap<(Location, u64), u64>,
}

/// When a call has waited, and what it says otherwise.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Who does not look at the result may rely on it.
    pub certain: bool,
    /// Results that say that nothing was waited for.
    pub failures: Vec<Content>,
}

/// What the program does with descriptors.
#[derive(Debug, Default)]
pub struct Channels {
    /// Calls that make a channel, by where they store its ends: the object or the word.
    pub opened: FxHashMap<ObjectId, Vec<Opening>>,
    /// The calls whose result is a channel.
    results: FxHashMap<CallSite, bool>,
    /// Something is done to descriptors that is not followed.
    pub moved: bool,
    pub closed: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Opening {
    pub site: CallSite,
    /// The channel can be read back from the same descriptor (`eventfd`).
    pub one_end: bool,
    /// Reading waits, and there is nothing to read at first.
    pub waits: bool,
}

pub(super) struct Scan<'a> {
    pub(super) instantiation: &'a Instantiation<'a>,
    singletons: &'a [bool],
    pub(super) events: Events,
    pub(super) words: FxHashMap<(Location, u64), Word>,
    /// Objects that something writes which is not followed.
    tainted: FxHashSet<ObjectId>,
    /// Calls that wait for a count, with where that is.
    pub(super) awaited: Vec<(CallSite, Location)>,
    /// Calls that wait for a word to change, with the value that must not be there.
    pub(super) changes: Vec<(CallSite, Location, Content)>,
    /// Instructions whose result is compared with a constant.
    pub(super) compared: FxHashSet<CallSite>,
    /// Semaphores that have a name outside of the program.
    named: u32,
    pub(super) doors: Doors,
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
            awaited: Vec::new(),
            changes: Vec::new(),
            compared: FxHashSet::default(),
            named: 0,
            doors: Doors::new(instantiation, singletons),
        };
        for &function in &functions {
            scan.function(function);
        }
        // Two names may be one semaphore's, and other processes may know it.
        scan.events.vague |= scan.named > 1 || (scan.named > 0 && scan.events.channels.moved);
        scan.keep_channels();
        scan.find_initial();
        scan.keep_words();
        for site in scan.doors.give_up() {
            scan.events.at.remove(&site);
        }
        let mut events = scan.events;
        events.words.iter_mut().for_each(super::bits::settle);
        for &function in &functions {
            for &callee in &instantiation.graph.callees[function.index()] {
                events.callers.entry(callee).or_default().push(function);
            }
        }
        events.mark_inside(instantiation.bodies.count());
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

impl<'a> Scan<'a> {
    pub(super) fn points(&self, function: FunctionId, value: &Value) -> Cow<'a, [Location]> {
        self.instantiation.points.value(&self.instantiation.bodies, function, value)
    }

    /// The one place that the pointer leads to, in an object that exists once.
    fn exact(&self, function: FunctionId, value: &Value) -> Option<Location> {
        match &*self.points(function, value) {
            [at] if at.stride == 0 && self.singletons[at.object as usize] => Some(*at),
            _ => None,
        }
    }

    fn function(&mut self, function: FunctionId) {
        let bodies = &self.instantiation.bodies;
        for (inst, op) in bodies.ops(function) {
            let site = (function, inst);
            match &*op {
                Op::Compare { left: Value::Inst(left), right: Value::Int { .. }, .. } => {
                    self.compared.insert((function, left.0));
                }
                Op::Load { address, size, order, .. } => {
                    if let Some(place) = self.exact(function, address) {
                        let (result, kind) = (inst, LookKind::Value);
                        self.word(place, *size).looks.push(Look {
                            site,
                            result,
                            order: *order,
                            kind,
                        });
                    }
                }
                Op::Store { address, value, size, order, .. } => {
                    // Which number it is gets found out when the word is kept.
                    let value = constant(bodies, value);
                    let kind = WriteKind::Store;
                    self.write(address, *size, Write { site, value, order: *order, kind });
                }
                Op::AtomicRmw { address, op, value, size, order } => {
                    let (kind, value) = match op {
                        RmwOp::Xchg => (WriteKind::Exchange, constant(bodies, value)),
                        RmwOp::Or | RmwOp::And => (super::bits::kind(*op, value), None),
                        _ => (WriteKind::Other, None),
                    };
                    self.write(address, *size, Write { site, value, order: Some(*order), kind });
                    if let Some(place) = self.exact(function, address) {
                        let (order, kind) = (Some(*order), LookKind::Value);
                        self.word(place, *size).looks.push(Look {
                            site,
                            result: inst,
                            order,
                            kind,
                        });
                    }
                }
                Op::CompareExchange { address, expected, new, size, success, failure } => {
                    let expected = constant(bodies, expected);
                    let kind = WriteKind::CompareExchange(expected);
                    let value = constant(bodies, new);
                    self.write(address, *size, Write { site, value, order: Some(*success), kind });
                    if let Some(place) = self.exact(function, address) {
                        let looks = exchange_looks(bodies, site, expected, (*success, *failure));
                        self.word(place, *size).looks.extend(looks);
                    }
                }
                Op::Fence { order } => {
                    self.events.at.insert(site, Event::Fence(*order));
                }
                Op::MemCopy { to, .. } | Op::MemSet { to, .. } => self.taint(function, to),
                Op::Unknown { operands, .. } => {
                    for operand in operands {
                        self.taint(function, operand);
                    }
                }
                Op::Call { callee, arguments, .. } => {
                    if matches!(callee, Callee::Asm { .. }) {
                        for argument in arguments {
                            self.taint(function, argument);
                        }
                    }
                    let (effects, points) = (self.instantiation.effects, self.instantiation.points);
                    let all: Vec<&Effect> =
                        effects_of_call(effects, points, site, callee).collect();
                    let certain = match callee {
                        Callee::Direct(_) => true,
                        _ => points.targets.get(&site).is_some_and(|targets| targets.len() == 1),
                    };
                    let ends = all.iter().find_map(|effect| match effect {
                        Effect::OpenChannel { ends, .. } => *ends,
                        _ => None,
                    });
                    for effect in all {
                        // What a call that makes a channel writes are the channel's ends.
                        let is_end = matches!(effect, Effect::Access { pointer, .. }
                            if Some(*pointer) == ends);
                        if !is_end && (certain || !self.perhaps(site, effect, arguments)) {
                            self.effect(site, effect, arguments);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn events_at(&mut self, site: CallSite, event: Event) {
        self.events.at.insert(site, event);
    }

    fn word(&mut self, place: Location, size: u64) -> &mut Word {
        let initial = self.initial(place, size);
        let first = self.first(place, initial);
        self.words.entry((place, size)).or_insert_with(|| Word {
            place,
            size,
            initial,
            first,
            writes: Vec::new(),
            looks: Vec::new(),
            waits: Vec::new(),
        })
    }

    fn write(&mut self, address: &Value, size: u64, write: Write) {
        match self.exact(write.site.0, address) {
            Some(place) => self.word(place, size).writes.push(write),
            None => self.taint(write.site.0, address),
        }
    }

    pub(super) fn taint(&mut self, function: FunctionId, pointer: &Value) {
        let points = self.points(function, pointer).to_vec();
        self.taint_places(&points);
    }

    fn taint_places(&mut self, points: &[Location]) {
        let blob = self.instantiation.points.blob().object;
        // Many writes may be to anything; once is enough.
        if !self.tainted.contains(&blob) && points.iter().any(|at| at.object == blob) {
            self.tainted.extend(self.instantiation.points.blob_objects());
        }
        self.tainted.extend(points.iter().map(|at| at.object));
    }

    fn initial(&self, place: Location, size: u64) -> Option<Content> {
        let objects = &self.instantiation.points.locations().objects;
        let ObjectKind::Global(global) = objects[place.object as usize] else { return None };
        let data = self.instantiation.bodies.global(global).initializer.as_ref()?;
        let start = usize::try_from(place.offset).ok()?;
        let bytes = data.bytes.get(start..start.checked_add(size as usize)?)?;
        if size > 8 {
            return None;
        }
        if data.pointers.iter().any(|(at, _)| at.abs_diff(start as u64) < 8) {
            let bodies = &self.instantiation.bodies;
            let whole = data.pointers.iter().find(|(at, _)| *at == start as u64)?;
            return constant(bodies, &whole.1).filter(|_| size == 8);
        }
        let value = bytes.iter().rev().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        Some(Content::Bits(value))
    }

    fn first(&self, place: Location, initial: Option<Content>) -> Option<Value> {
        match initial? {
            Content::Bits(0) => Some(Value::Null),
            Content::Bits(bits) => Some(Value::Int { bits, ty: TypeId(0) }),
            Content::Address => {
                let objects = &self.instantiation.points.locations().objects;
                let ObjectKind::Global(global) = objects[place.object as usize] else {
                    return None;
                };
                let data = self.instantiation.bodies.global(global).initializer.as_ref()?;
                let start = u64::try_from(place.offset).ok()?;
                data.pointers.iter().find(|(at, _)| *at == start).map(|(_, value)| value.clone())
            }
        }
    }

    fn effect(&mut self, site: CallSite, effect: &Effect, arguments: &[Value]) {
        let value = |index: u32| arguments.get(index as usize);
        match effect {
            Effect::Announce => {
                self.events.at.insert(site, Event::Announce);
            }
            Effect::Await => {
                self.events.at.insert(site, Event::Await);
                let waiting = Waiting { certain: true, failures: Vec::new() };
                self.events.waits.insert(site, waiting);
            }
            Effect::TeamBarrier => {
                self.events.at.insert(site, Event::Team);
            }
            Effect::Lock { .. } | Effect::Unlock { .. } | Effect::Wait { .. } => {
                self.door(site, effect, arguments);
            }
            Effect::OpenChannel { .. }
            | Effect::Send { .. }
            | Effect::Receive { .. }
            | Effect::CloseDescriptor { .. }
            | Effect::MoveDescriptors { .. } => self.descriptor(site, effect, arguments),
            Effect::CountDown { count, amount } => {
                let amount = match amount.map(value) {
                    None => Some(1),
                    Some(Some(Value::Int { bits, .. })) => Some(*bits),
                    Some(_) => None,
                };
                let Some(count) = value(*count) else { return };
                match (self.exact(site.0, count), amount) {
                    (Some(place), Some(amount)) => {
                        let (kind, order) =
                            (WriteKind::CountDown(amount), Some(AtomicOrder::Release));
                        let write = Write { site, value: None, order, kind };
                        self.word(place, COUNT_SIZE).writes.push(write);
                    }
                    _ => self.taint(site.0, count),
                }
            }
            Effect::AwaitCount { count } => {
                if let Some(place) = value(*count).and_then(|v| self.exact(site.0, v)) {
                    self.awaited.push((site, place));
                }
            }
            Effect::AwaitChange { word, value: old, order } => {
                let acquires = matches!(value(*order), Some(Value::Int { bits, .. })
                    if ACQUIRING.contains(bits));
                let place = value(*word).and_then(|v| self.exact(site.0, v));
                if let (Some(place), Some(Value::Int { bits, .. }), true) =
                    (place, value(*old), acquires)
                {
                    self.changes.push((site, place, Content::Bits(*bits)));
                }
            }
            Effect::SemaphoreInit { semaphore: RESULT, value: count } => {
                self.named += 1;
                let result = Value::Inst(racewarden_ir::InstId(site.1));
                let flags = match value(NAMED_FLAGS) {
                    Some(Value::Int { bits, .. }) => *bits,
                    _ => 0,
                };
                let count = count.filter(|_| flags & NEW == NEW).and_then(value).cloned();
                match self.exact(site.0, &result) {
                    Some(place) => {
                        self.events.setups.entry(place).or_default().calls.push((site, count));
                    }
                    None => self.events.vague = true,
                }
            }
            Effect::Barrier { barrier: object }
            | Effect::BarrierInit { barrier: object, .. }
            | Effect::SemaphoreInit { semaphore: object, .. }
            | Effect::SemaphorePost { semaphore: object, .. }
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
                    Effect::SemaphorePost { amount, .. } => {
                        let one = |value: &Value| matches!(value, Value::Int { bits: 1, .. });
                        setup.several |=
                            amount.is_some_and(|amount| !value(amount).is_some_and(one));
                        self.events.at.insert(site, Event::Post(place));
                    }
                    Effect::SemaphoreWait { certain, success, .. } => {
                        setup.uncertain |= !certain;
                        let failures = match success {
                            Success::NonZero => vec![Content::Bits(0)],
                            _ => vec![Content::Bits(u64::from(u32::MAX))],
                        };
                        self.events.waits.insert(site, Waiting { certain: *certain, failures });
                        self.events.at.insert(site, Event::Wait(place));
                    }
                    _ => {}
                }
            }
            // Who still uses what was freed has no order to lose.
            Effect::Access { pointer, write: true, .. } => {
                if let Some(value) = value(*pointer) {
                    self.taint(site.0, value);
                }
            }
            Effect::AccessInside { place, write: true, .. } => {
                let points = self.instantiation.points;
                let of = |value: &Value| self.points(site.0, value).to_vec();
                let places = place.places(points, arguments, &of);
                self.taint_places(&places);
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
            Effect::Unknown | Effect::Partial => {
                for argument in arguments {
                    self.taint(site.0, argument);
                }
            }
            _ => {}
        }
    }

    fn descriptor(&mut self, site: CallSite, effect: &Effect, arguments: &[Value]) {
        let value = |index: &Option<u32>| index.and_then(|index| arguments.get(index as usize));
        let number = |index: &Option<u32>| match value(index) {
            Some(Value::Int { bits, .. }) => Some(*bits),
            _ => None,
        };
        match effect {
            Effect::OpenChannel { ends, flags, count } => {
                let blocks = flags.is_none() || number(flags).is_some_and(|f| f & NO_WAIT == 0);
                let waits = blocks && (count.is_none() || number(count) == Some(0));
                match value(ends) {
                    None => {
                        self.events.channels.results.insert(site, waits);
                    }
                    Some(ends) => match self.exact(site.0, ends) {
                        Some(place) => {
                            let opening = Opening { site, one_end: false, waits };
                            self.events.channels.add(place.object, opening);
                        }
                        None => self.taint(site.0, ends),
                    },
                }
            }
            Effect::Send { descriptor } => {
                let place = self.descriptor_place(site.0, arguments.get(*descriptor as usize));
                self.events.at.insert(site, Event::Send(place));
            }
            Effect::Receive { descriptor, length, flags } => {
                let sized = number(length).is_some_and(|length| length > 0);
                let blocks = flags.is_none() || number(flags).is_some_and(|f| f & PEEK == 0);
                let place = self.descriptor_place(site.0, arguments.get(*descriptor as usize));
                if let Some(place) = place.filter(|_| blocks) {
                    self.events.at.insert(site, Event::Receive(place));
                    let mut failures = vec![Content::Bits(u64::MAX)];
                    // Added to when the program is seen to close anything.
                    if !sized {
                        failures.push(Content::Bits(0));
                    }
                    self.events.waits.insert(site, Waiting { certain: sized, failures });
                }
            }
            Effect::CloseDescriptor { .. } => self.events.channels.closed = true,
            Effect::MoveDescriptors { number: index } => {
                let harmless = number(index).is_some_and(|n| HARMLESS_CALLS.contains(&n));
                self.events.channels.moved |= !harmless;
            }
            _ => {}
        }
    }

    /// Where the descriptor is kept that was loaded just now.
    fn descriptor_place(&self, function: FunctionId, value: Option<&Value>) -> Option<Location> {
        let Value::Inst(inst) = value? else { return None };
        match self.instantiation.bodies.op((function, inst.0)).as_deref() {
            Some(Op::Load { address, size: 4, .. }) => self.exact(function, address),
            _ => None,
        }
    }

    /// Finds the words that hold a channel because a call's result was stored there.
    fn keep_channels(&mut self) {
        let bodies = &self.instantiation.bodies;
        let mut tainted: Vec<ObjectId> = Vec::new();
        for word in self.words.values() {
            for write in &word.writes {
                let opened = match bodies.op(write.site).as_deref() {
                    Some(Op::Store { value: Value::Inst(call), .. }) => {
                        let call = (write.site.0, call.0);
                        self.events.channels.results.get(&call).map(|waits| (call, *waits))
                    }
                    _ => None,
                };
                match opened {
                    Some((site, waits)) if word.place.offset == 0 => {
                        let opening = Opening { site, one_end: true, waits };
                        self.events.channels.add(word.place.object, opening);
                    }
                    _ => tainted.push(word.place.object),
                }
            }
        }
        let channels = &mut self.events.channels;
        channels.opened.retain(|object, openings| {
            openings.len() == 1 && !self.tainted.contains(object) && !tainted.contains(object)
        });
    }

    /// Which number a plain store writes, if it writes one.
    fn find_number(&self, write: &mut Write) {
        let bodies = &self.instantiation.bodies;
        let plain = write.kind == WriteKind::Store && write.order.is_none();
        if plain && matches!(write.value, Some(Content::Bits(_))) {
            let body = bodies.of(write.site.0);
            if let Op::Store { value, .. } = &body.instructions[write.site.1 as usize].op {
                write.value = constant(bodies, value);
            }
        }
    }

    fn keep_words(&mut self) {
        let mut words: Vec<Word> = std::mem::take(&mut self.words).into_values().collect();
        words.sort_by_key(|word| (word.place, word.size));
        let overlaps = super::overlaps::overlapping(&words);
        for (word, overlaps) in words.into_iter().zip(overlaps) {
            let objects = &self.instantiation.points.locations().objects;
            let local = !matches!(objects[word.place.object as usize], ObjectKind::Global(_));
            if let Some(Content::Bits(bits)) = word.initial
                && local
                && word.writes.is_empty()
                && !overlaps
                && !self.tainted.contains(&word.place.object)
            {
                self.events.constants.insert((word.place, word.size), bits);
            }
            let tells = word.writes.iter().any(|write| write.order.is_some())
                || (!word.writes.is_empty() && word.writes.iter().all(|w| w.value.is_some()))
                || self.counts(&word);
            if tells
                && !overlaps
                && word.writes.len() <= MAX_WRITES
                && word.initial.is_some()
                && !self.tainted.contains(&word.place.object)
            {
                let number = self.events.words.len() as u32;
                for look in &word.looks {
                    self.events.at.insert(look.site, Event::Read(number));
                }
                for write in &word.writes {
                    self.events.at.insert(write.site, Event::Write(number));
                }
                for (site, _) in self.awaited.iter().filter(|(_, place)| *place == word.place) {
                    self.events.at.insert(*site, Event::Full(number));
                }
                let mut word = word;
                word.writes.iter_mut().for_each(|write| self.find_number(write));
                for (site, _, old) in self.changes.iter().filter(|(_, at, _)| *at == word.place) {
                    word.waits.push((*site, *old));
                    self.events.at.insert(*site, Event::Read(number));
                }
                self.events.words.push(word);
            }
        }
    }
}

/// What makes a named semaphore new: `O_CREAT` and `O_EXCL`, in the call's second argument.
const NEW: u64 = 0o300;
const NAMED_FLAGS: u32 = 1;
/// `memory_order_acquire`, `acq_rel` and `seq_cst`, as numbers.
const ACQUIRING: [u64; 3] = [2, 4, 5];
/// Bytes of a latch's count.
const COUNT_SIZE: u64 = 4;

/// The value when it is a constant.
pub(super) fn constant(bodies: &Bodies<'_>, value: &Value) -> Option<Content> {
    match value {
        Value::Int { bits, .. } => Some(Content::Bits(*bits)),
        Value::Null => Some(Content::Bits(0)),
        // A symbol that is only declared may be weak, and null.
        Value::Global(global) if bodies.global(*global).initializer.is_some() => {
            Some(Content::Address)
        }
        _ => None,
    }
}

/// What the two parts of a compare-and-exchange's result tell.
fn exchange_looks(
    bodies: &Bodies<'_>,
    site: CallSite,
    expected: Option<Content>,
    (success, failure): (AtomicOrder, AtomicOrder),
) -> Vec<Look> {
    let mut looks = Vec::new();
    for (result, op) in bodies.ops(site.0) {
        if let Op::ExtractValue { aggregate: Value::Inst(from), path } = &*op
            && from.0 == site.1
        {
            let (kind, order) = match **path {
                [0] if failure.acquires() => (LookKind::Value, success),
                [0] => (LookKind::Value, failure),
                [1] => (LookKind::Equals(expected), success),
                _ => continue,
            };
            looks.push(Look { site, result, order: Some(order), kind });
        }
    }
    looks
}

impl Channels {
    fn add(&mut self, object: ObjectId, opening: Opening) {
        self.opened.entry(object).or_default().push(opening);
    }
}

/// `O_NONBLOCK`, `SOCK_NONBLOCK`, `EFD_NONBLOCK`.
const NO_WAIT: u64 = 0x800;
/// `MSG_PEEK` and `MSG_DONTWAIT`.
const PEEK: u64 = 0x42;
/// System calls of x86-64 that touch no descriptor: sched_yield, nanosleep, getpid, gettid, futex,
/// getcpu.
const HARMLESS_CALLS: [u64; 6] = [24, 35, 39, 186, 202, 309];

/// Writes of a word that is still looked at.
const MAX_WRITES: usize = 16;
