//! Follows one thread's stream.

use racewarden_ir::{CompareOp, FunctionId, InstId, Op, RmwOp, Type, TypeId, Value};
use racewarden_trace::binary::{Record, Recording, SyncOp};
use rustc_hash::FxHashMap;

use super::super::expr::{ExprKind, Val, mask};
use super::super::locations::{PlaceId, Places, extent_of};
use super::super::path::{EventKind, Spot, ThreadPath};
use super::derive::Derivation;
use super::machine::Machine;
use super::{Image, explore};

/// Most dynamic instances of one side of one branch that are explored.
const MOST_DETOURS: u32 = 4;
/// Most branches in a row that have no records: the trace may end within a loop.
const MOST_UNRECORDED: u64 = 1 << 28;
/// Most sides explored in one thread.
const MOST_DETOURS_IN_ALL: usize = 400;

/// Ends a thread's path.
pub(super) enum Stop {
    /// The stream is over.
    End,
    /// Control went to an outer frame, which stands where it goes on.
    Left,
    Mismatch(String),
}

pub(super) type Step = Result<(), Stop>;

pub(super) fn walk_thread(
    image: &Image,
    recording: &Recording,
    places: &Places,
    thread: usize,
    detours: bool,
) -> ThreadPath {
    let stream = &recording.threads[thread];
    let mut replay = Replay::new(image, recording, places, thread, detours);
    let stop = replay.top_level();
    let cut = match stop {
        Err(Stop::Mismatch(text)) => Some(text),
        _ => None,
    };
    ThreadPath {
        name: stream.name.clone(),
        number: stream.number,
        arena: replay.machine.arena,
        events: replay.machine.events,
        detours: replay.detours,
        not_computed: replay.machine.not_computed,
        cut,
    }
}

/// A value that was not known is the recorded one.
fn fill(place: Option<&mut Val>, value: u64) {
    if let Some(val @ Val::Opaque) = place {
        *val = Val::Known(value);
    }
}

pub(super) struct Replay<'a> {
    pub(super) machine: Machine<'a>,
    pub(super) records: &'a [Record],
    pub(super) at: usize,
    pub(super) thread: usize,
    detours: Vec<super::super::path::Detour>,
    explored: FxHashMap<(Spot, bool), u32>,
    explores: bool,
    /// Where `setjmp` was called with each buffer: how many frames there were, and the call.
    pub(super) saved: FxHashMap<u64, (usize, Spot)>,
    /// Branches since the last record.
    unrecorded: u64,
    /// While records are made that were left out.
    pub(super) derivation: Option<Derivation>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        image: &'a Image,
        recording: &'a Recording,
        places: &'a Places,
        thread: usize,
        explores: bool,
    ) -> Self {
        Replay {
            machine: Machine::new(image, places, thread as u32),
            records: &recording.threads[thread].records,
            at: 0,
            thread,
            detours: Vec::new(),
            explored: FxHashMap::default(),
            explores,
            saved: FxHashMap::default(),
            unrecorded: 0,
            derivation: None,
        }
    }

    /// The next record that is not only about initial contents; none while accesses without records
    /// are to come.
    pub(super) fn peek(&mut self) -> Option<&'a Record> {
        if self.derivation.as_ref().is_some_and(Derivation::is_within) {
            return None;
        }
        while let Some(Record::Initial { address, value }) = self.records.get(self.at) {
            if let Some(derivation) = &mut self.derivation {
                derivation.learn(*address, *value);
            }
            self.at += 1;
        }
        self.records.get(self.at)
    }

    pub(super) fn next(&mut self) -> Result<(usize, &'a Record), Stop> {
        self.check_due()?;
        let record = self.peek().ok_or(Stop::End)?;
        self.at += 1;
        self.unrecorded = 0;
        Ok((self.at - 1, record))
    }

    /// The next record of the current function itself.
    pub(super) fn own(&mut self) -> Result<(usize, &'a Record), Stop> {
        self.interruptions()?;
        self.next()
    }

    /// A function that starts where none is called is a signal's handler.
    pub(super) fn interruptions(&mut self) -> Step {
        while let Some(record) = self.peek() {
            match *record {
                Record::Enter { function } => {
                    self.at += 1;
                    self.enter_from_outside(function, record)?;
                }
                // That it came after its sender.
                Record::Sync { op: op @ SyncOp::Got, object, extra, sequence } => {
                    self.at += 1;
                    self.machine.emit(sequence, EventKind::Sync { op, object, extra });
                }
                _ => break,
            }
        }
        Ok(())
    }

    pub(super) fn mismatch(&self, wanted: &str, found: &Record) -> Stop {
        Stop::Mismatch(format!("at {}: wanted {wanted}, the trace has {found:x?}", self.here()))
    }

    pub(super) fn stopped(&self, reason: &str) -> Stop {
        Stop::Mismatch(format!("at {}: {reason}", self.here()))
    }

    fn here(&self) -> String {
        match self.machine.spot() {
            Some(spot) => {
                let module = self.machine.module();
                let name = module.name_text(module.function(spot.function).name);
                format!("{name}+{}", spot.inst.0)
            }
            None => "the thread's start".to_owned(),
        }
    }

    /// Functions that are called by nobody in the program: main, constructors, thread starts.
    pub(super) fn top_level(&mut self) -> Step {
        loop {
            let (_, record) = self.next()?;
            match *record {
                Record::Enter { function } => self.enter_from_outside(function, record)?,
                Record::Sync { op, object, extra, sequence } => {
                    self.machine.emit(sequence, EventKind::Sync { op, object, extra });
                }
                _ => return Err(self.mismatch("a function", record)),
            }
        }
    }

    pub(super) fn enter_from_outside(&mut self, address: u64, record: &Record) -> Step {
        let Some(&function) = self.machine.image.functions.get(&address) else {
            return Err(self.mismatch("a known function", record));
        };
        let mut arguments = vec![Val::Opaque; self.machine.function(function).params.len()];
        self.arguments_of(function, &mut arguments)?;
        self.machine.push_frame(function, arguments);
        if let Some(frame) = self.machine.frames.last_mut() {
            frame.callback = true;
        }
        let depth = self.machine.frames.len();
        while self.machine.frames.len() >= depth {
            match self.step() {
                // An exception or a jump that ends within this function's frames goes on here.
                Err(Stop::Left) if self.machine.frames.len() >= depth => {}
                step => step?,
            }
        }
        Ok(())
    }

    /// Takes what is recorded of the arguments of a function that has just started: either all of
    /// the first few numbers and pointers, or none.
    pub(super) fn arguments_of(&mut self, function: FunctionId, values: &mut [Val]) -> Step {
        let params = &self.machine.function(function).params;
        if self.machine.image.entered.contains(&function) {
            let (_, record) = self.next()?;
            let Record::Return { value } = *record else {
                return Err(self.mismatch("an argument", record));
            };
            fill(values.first_mut(), value);
            return Ok(());
        }
        let types = &self.machine.module().types;
        let told = params.iter().enumerate().filter(|(_, param)| match *types.get(param.ty) {
            Type::Int { bits } => bits <= 64,
            Type::Float { bits } => matches!(bits, 32 | 64),
            Type::Pointer => true,
            _ => false,
        });
        for (index, param) in told {
            let Some(&Record::Argument { value }) = self.peek() else { break };
            self.at += 1;
            let width = self.machine.width(param.ty).unwrap_or(64);
            fill(values.get_mut(index), mask(value, width));
        }
        Ok(())
    }

    fn step(&mut self) -> Step {
        let Some(spot) = self.machine.spot() else { return Err(Stop::End) };
        let instruction = self.machine.function(spot.function).inst(spot.inst);
        if let Some(val) = self.machine.compute(&instruction.op, instruction.ty) {
            self.machine.set(spot.inst, val);
            self.machine.advance();
            return Ok(());
        }
        match &instruction.op {
            Op::Load { address, size, .. }
                if let Some(slot) = self.machine.private_slot(address) =>
            {
                let val = self.machine.private_load(slot, address, *size as u32);
                let val = self.machine.loaded(instruction.ty, *size as u32, val);
                self.machine.set(spot.inst, val);
                self.machine.advance();
                Ok(())
            }
            Op::Store { address, value, size, .. }
                if let Some(slot) = self.machine.private_slot(address) =>
            {
                let val = self.machine.stored(value, *size as u32);
                self.machine.private_store(slot, address, *size as u32, val);
                self.machine.advance();
                Ok(())
            }
            Op::Alloca { .. } if self.machine.is_left_out() => {
                let address = self.machine.open_slot(spot.inst);
                self.machine.set(spot.inst, address);
                self.machine.advance();
                Ok(())
            }
            Op::Load { address, size, .. }
                if self.may_be_made()
                    && self.make_load(spot.inst, instruction.ty, address, *size as u32)? =>
            {
                Ok(())
            }
            Op::Store { address, value, size, .. }
                if self.may_be_made() && self.make_store(address, value, *size as u32)? =>
            {
                Ok(())
            }
            Op::Load { address, order, .. } => {
                self.load(spot.inst, instruction.ty, address, order.is_some())
            }
            Op::Store { address, value, order, .. } => self.store(address, value, order.is_some()),
            Op::AtomicRmw { address, op, value, .. } => {
                self.update(spot.inst, instruction.ty, address, Some(*op), value)
            }
            Op::CompareExchange { address, expected, new, .. } => {
                let (expected, new) = (self.machine.operand(expected), self.machine.operand(new));
                self.machine.pin(expected);
                self.machine.pin(new);
                self.update(spot.inst, instruction.ty, address, None, &Value::Null)
            }
            Op::MemCopy { to, from, length, .. } => self.range(&[to, from, length]),
            Op::MemSet { to, byte, length } => self.range(&[to, byte, length]),
            Op::Alloca { count, .. } => {
                let count = self.machine.operand(count);
                self.machine.pin(count);
                let (_, record) = self.own()?;
                let Record::Slot { address, .. } = *record else {
                    return Err(self.mismatch("a stack slot", record));
                };
                self.machine.set(spot.inst, Val::Known(address));
                self.machine.advance();
                Ok(())
            }
            Op::Call { callee, arguments, invoke, .. } => {
                self.call(spot.inst, callee, arguments, invoke.is_some())
            }
            Op::Return { value } => {
                let val = value.as_ref().map_or(Val::Opaque, |value| self.machine.operand(value));
                self.return_from(val)
            }
            Op::Jump { to } => {
                self.machine.jump(*to);
                Ok(())
            }
            Op::Branch { condition, then, otherwise } => {
                self.branch(spot, condition, *then, *otherwise)
            }
            Op::Switch { value, cases, default } => self.switch(value, cases, *default),
            Op::Resume { .. } => self.unwind(),
            _ => Err(Stop::Mismatch("an instruction that the walk does not follow".to_owned())),
        }
    }

    /// The one place of a plain access, when its value is followed.
    fn single_place(&self, record: usize) -> Option<PlaceId> {
        match self.machine.places.of(self.thread, record) {
            [place] if !self.machine.places.get(*place).mixed => Some(*place),
            _ => None,
        }
    }

    /// An access whose value is not followed: it only takes part in the order.
    pub(super) fn whole(&mut self, record: usize, sequence: u64, writes: bool, atomic: bool) {
        let touched = self.machine.places.of(self.thread, record);
        self.whole_places(touched, record, sequence, writes, atomic);
    }

    fn whole_places(
        &mut self,
        touched: &[PlaceId],
        record: usize,
        sequence: u64,
        writes: bool,
        atomic: bool,
    ) {
        let Some(extent) = extent_of(&self.records[record], writes) else { return };
        let places = self.machine.places;
        let shared: Vec<PlaceId> =
            touched.iter().copied().filter(|place| places.get(*place).shared).collect();
        if !shared.is_empty() {
            let kind = EventKind::Whole { places: shared, extent, writes, atomic };
            self.machine.emit(sequence, kind);
        }
    }

    fn load(&mut self, inst: InstId, ty: TypeId, address: &Value, atomic: bool) -> Step {
        let address = self.machine.operand(address);
        self.machine.pin(address);
        self.machine.visit();
        let (number, record) = self.own()?;
        let (size, val) = match *record {
            Record::Load { size, value, sequence, .. } => match self.single_place(number) {
                Some(place) if self.machine.places.get(place).shared => {
                    let reads = self.machine.events.len() as u32;
                    let result = self.machine.arena.add(ExprKind::Read(reads), size * 8, value);
                    self.machine.emit(sequence, EventKind::Read { place, result, atomic });
                    (size, Val::Symbolic(result))
                }
                Some(place) => {
                    self.machine.memory.insert(place, value);
                    let known = self.machine.local.get(&place).copied();
                    let kept = known.filter(|expr| self.machine.arena.get(*expr).value == value);
                    (size, kept.map_or(Val::Known(value), Val::Symbolic))
                }
                None => {
                    self.whole(number, sequence, false, atomic);
                    (size, Val::Known(value))
                }
            },
            Record::Wide { sequence, write: false, .. } => {
                self.whole(number, sequence, false, atomic);
                (8, Val::Opaque)
            }
            Record::Again { value } => (8, value.map_or(Val::Opaque, Val::Known)),
            _ => return Err(self.mismatch("a load", record)),
        };
        let val = self.machine.loaded(ty, size, val);
        self.machine.set(inst, val);
        self.machine.advance();
        Ok(())
    }

    fn store(&mut self, address: &Value, value: &Value, atomic: bool) -> Step {
        let address = self.machine.operand(address);
        self.machine.pin(address);
        self.machine.visit();
        let (number, record) = self.own()?;
        match *record {
            Record::Store { size, value: recorded, sequence, .. } => {
                let val = self.machine.stored(value, size);
                self.write(number, val, recorded, sequence, atomic);
            }
            Record::Wide { sequence, write: true, .. } => {
                let val = self.machine.operand(value);
                self.machine.pin(val);
                self.whole(number, sequence, true, atomic);
            }
            _ => return Err(self.mismatch("a store", record)),
        }
        self.machine.advance();
        Ok(())
    }

    fn write(&mut self, record: usize, val: Val, recorded: u64, sequence: u64, atomic: bool) {
        let value = match val {
            Val::Symbolic(expr) if self.machine.arena.get(expr).value == recorded => val,
            _ => Val::Known(recorded),
        };
        if value != val {
            self.machine.pin(val);
        }
        match self.single_place(record) {
            Some(place) if self.machine.places.get(place).shared => {
                self.machine.emit(sequence, EventKind::Write { place, value, recorded, atomic });
            }
            Some(place) => {
                self.machine.memory.insert(place, recorded);
                match value {
                    Val::Symbolic(expr) => self.machine.local.insert(place, expr),
                    _ => self.machine.local.remove(&place),
                };
            }
            None => {
                self.machine.pin(value);
                self.whole(record, sequence, true, atomic);
            }
        }
    }

    /// `operation` is `None` for a compare-exchange, whose outcome is pinned with what it found.
    fn update(
        &mut self,
        inst: InstId,
        ty: TypeId,
        address: &Value,
        operation: Option<RmwOp>,
        value: &Value,
    ) -> Step {
        let address = self.machine.operand(address);
        self.machine.pin(address);
        self.machine.visit();
        let (number, record) = self.own()?;
        let Record::Update { size, old, new, sequence, .. } = *record else {
            return Err(self.mismatch("an atomic update", record));
        };
        let operand = self.machine.operand(value);
        let shared =
            self.single_place(number).filter(|place| self.machine.places.get(*place).shared);
        let Some(place) = shared else {
            self.machine.pin(operand);
            if let Some(place) = self.single_place(number) {
                if let Some(expr) = self.machine.local.remove(&place) {
                    self.machine.pin(Val::Symbolic(expr));
                }
                self.machine.memory.insert(place, new);
            }
            self.whole(number, sequence, true, true);
            let val = if operation.is_some() { Val::Known(old) } else { Val::Opaque };
            let val = self.machine.loaded(ty, size, val);
            self.machine.set(inst, val);
            self.machine.advance();
            return Ok(());
        };
        let reads = self.machine.events.len() as u32;
        let result = self.machine.arena.add(ExprKind::Read(reads), size * 8, old);
        let found = Val::Symbolic(result);
        let written = operation.and_then(|op| self.updated(op, size * 8, found, operand));
        let value = match written {
            Some(Val::Symbolic(expr)) if self.machine.arena.get(expr).value == new => {
                Val::Symbolic(expr)
            }
            _ => Val::Known(new),
        };
        let kind = EventKind::Update { place, result, value, recorded: new };
        self.machine.emit(sequence, kind);
        if written.is_none() {
            self.machine.pin(operand);
            self.machine.pin(found);
        }
        let val = match operation {
            Some(_) => self.machine.loaded(ty, size, found),
            None => Val::Opaque,
        };
        self.machine.set(inst, val);
        self.machine.advance();
        Ok(())
    }

    fn updated(&mut self, op: RmwOp, width: u32, old: Val, operand: Val) -> Option<Val> {
        use racewarden_ir::BinaryOp;
        let binary = match op {
            RmwOp::Xchg => return Some(operand),
            RmwOp::Add => BinaryOp::Add,
            RmwOp::Sub => BinaryOp::Sub,
            RmwOp::And => BinaryOp::And,
            RmwOp::Or => BinaryOp::Or,
            RmwOp::Xor => BinaryOp::Xor,
            _ => return None,
        };
        self.machine.arena.binary(binary, width, old, operand)
    }

    fn range(&mut self, operands: &[&Value]) -> Step {
        for operand in operands {
            let val = self.machine.operand(operand);
            self.machine.pin(val);
        }
        self.machine.visit();
        let (number, record) = self.own()?;
        match *record {
            Record::Copy { sequence, .. } => {
                let sources = self.machine.places.sources(self.thread, number);
                self.whole_places(sources, number, sequence, false, false);
                self.whole(number, sequence, true, false);
            }
            Record::Set { sequence, .. } => self.whole(number, sequence, true, false),
            _ => return Err(self.mismatch("a copy or fill", record)),
        }
        self.machine.advance();
        Ok(())
    }

    fn branch(
        &mut self,
        spot: Spot,
        condition: &Value,
        then: racewarden_ir::BlockId,
        otherwise: racewarden_ir::BlockId,
    ) -> Step {
        let value = if self.machine.is_left_out() || self.goes_round(spot) {
            self.computed(condition)?
        } else {
            let (_, record) = self.own()?;
            match *record {
                Record::Branch { value } => value,
                Record::Loop { rounds } => return self.even_loop(spot, [then, otherwise], rounds),
                _ => return Err(self.mismatch("a branch", record)),
            }
        };
        if let Val::Symbolic(condition) = self.machine.operand(condition) {
            if self.explores {
                let other = if value != 0 { otherwise } else { then };
                self.explore(spot, condition, value, other);
            }
            self.machine.emit(0, EventKind::Branch { condition, taken: value });
        }
        self.machine.jump(if value != 0 { then } else { otherwise });
        Ok(())
    }

    /// Whether it is the branch of a loop that is not just entered, and has no record then.
    fn goes_round(&self, spot: Spot) -> bool {
        let back = self.machine.image.rounds.get(&(spot.function, spot.inst));
        back.is_some()
            && self.machine.frames.last().and_then(|frame| frame.previous) == back.copied()
    }

    /// How a branch went that was not recorded.
    fn computed(&mut self, condition: &Value) -> Result<u64, Stop> {
        self.unrecorded += 1;
        if self.unrecorded > MOST_UNRECORDED {
            return Err(Stop::End);
        }
        let condition = self.machine.operand(condition);
        self.machine
            .arena
            .value_of(condition)
            .ok_or_else(|| self.stopped("a branch that cannot be computed was not recorded"))
    }

    fn explore(
        &mut self,
        spot: Spot,
        condition: super::super::expr::ExprId,
        taken: u64,
        other: racewarden_ir::BlockId,
    ) {
        let tried = self.explored.entry((spot, taken != 0)).or_default();
        if *tried >= MOST_DETOURS || self.detours.len() >= MOST_DETOURS_IN_ALL {
            return;
        }
        *tried += 1;
        let found = explore::explore(&mut self.machine, spot, condition, taken, other);
        self.detours.extend(found);
    }

    fn switch(
        &mut self,
        value: &Value,
        cases: &[racewarden_ir::Edge],
        default: racewarden_ir::BlockId,
    ) -> Step {
        let taken = if self.machine.is_left_out() {
            self.computed(value)?
        } else {
            match *self.own()?.1 {
                Record::Branch { value } => value,
                ref other => return Err(self.mismatch("a switch", other)),
            }
        };
        let number = |edge: &racewarden_ir::Edge| match edge.value {
            Value::Int { bits, .. } => Some(bits),
            _ => None,
        };
        let chosen = cases.iter().find(|edge| number(edge) == Some(taken));
        let operand = self.machine.operand(value);
        if let Val::Symbolic(_) = operand {
            let width = self.machine.width_of(value).unwrap_or(64);
            match chosen {
                Some(edge) => self.any_case(cases, edge.block, operand, width),
                None => {
                    for case in cases.iter().filter_map(number) {
                        let differs = self.machine.arena.compare(
                            CompareOp::Ne,
                            width,
                            operand,
                            Val::Known(case),
                        );
                        if let Some(Val::Symbolic(condition)) = differs {
                            self.machine.emit(0, EventKind::Branch { condition, taken: 1 });
                        }
                    }
                }
            }
        }
        self.machine.jump(chosen.map_or(default, |edge| edge.block));
        Ok(())
    }

    /// The value is one of those that lead to `block`.
    fn any_case(
        &mut self,
        cases: &[racewarden_ir::Edge],
        block: racewarden_ir::BlockId,
        operand: Val,
        width: u32,
    ) {
        use racewarden_ir::BinaryOp::Or;
        let mut any = Val::Known(0);
        for case in cases.iter().filter(|edge| edge.block == block) {
            let Value::Int { bits, .. } = case.value else { return self.machine.pin(operand) };
            let arena = &mut self.machine.arena;
            let equal = arena.compare(CompareOp::Eq, width, operand, Val::Known(bits));
            match equal.and_then(|equal| arena.binary(Or, 1, any, equal)) {
                Some(next) => any = next,
                None => return self.machine.pin(operand),
            }
        }
        if let Val::Symbolic(condition) = any {
            self.machine.emit(0, EventKind::Branch { condition, taken: 1 });
        }
    }
}
