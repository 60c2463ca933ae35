//! Follows one thread's stream.

use racewarden_ir::{Callee, CompareOp, FunctionId, InstId, Op, RmwOp, TypeId, Value};
use racewarden_trace::binary::{Record, Recording, SyncOp};
use rustc_hash::FxHashMap;

use super::super::expr::{ExprKind, Val};
use super::super::locations::{PlaceId, Places, extent_of, sequence_of};
use super::super::path::{EventKind, PathEvent, Spot, ThreadPath};
use super::machine::Machine;
use super::{Image, explore};

/// Most dynamic instances of one side of one branch that are explored.
const MOST_DETOURS: u32 = 4;
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
    let mut replay = Replay {
        machine: Machine::new(image, places, thread as u32),
        records: &stream.records,
        at: 0,
        thread,
        detours: Vec::new(),
        explored: FxHashMap::default(),
        explores: detours,
        saved: FxHashMap::default(),
    };
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

/// Functions outside that leave the program's own variables alone.
fn touches_nothing(name: &str) -> bool {
    explore::only_prints(name)
        || ["pthread_", "sem_", "thrd_", "mtx_", "cnd_"].iter().any(|p| name.starts_with(p))
        || matches!(
            name,
            "malloc"
                | "calloc"
                | "realloc"
                | "free"
                | "exit"
                | "abort"
                | "rand"
                | "random"
                | "time"
                | "clock"
                | "getpid"
                | "syscall"
                | "srand"
        )
}

fn is_setjmp(name: &str) -> bool {
    matches!(name, "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp")
}

pub(super) struct Replay<'a> {
    pub(super) machine: Machine<'a>,
    records: &'a [Record],
    at: usize,
    thread: usize,
    detours: Vec<super::super::path::Detour>,
    explored: FxHashMap<(Spot, bool), u32>,
    explores: bool,
    /// Where `setjmp` was called with each buffer: how many frames there were, and the call.
    saved: FxHashMap<u64, (usize, Spot)>,
}

impl<'a> Replay<'a> {
    /// The next record that is not only about initial contents.
    fn peek(&mut self) -> Option<&'a Record> {
        while let Some(Record::Initial { .. }) = self.records.get(self.at) {
            self.at += 1;
        }
        self.records.get(self.at)
    }

    pub(super) fn next(&mut self) -> Result<(usize, &'a Record), Stop> {
        let record = self.peek().ok_or(Stop::End)?;
        self.at += 1;
        Ok((self.at - 1, record))
    }

    /// The next record of the current function itself. A function that starts where none is called
    /// is a signal's handler.
    pub(super) fn own(&mut self) -> Result<(usize, &'a Record), Stop> {
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
        self.next()
    }

    pub(super) fn mismatch(&self, wanted: &str, found: &Record) -> Stop {
        let place = match self.machine.spot() {
            Some(spot) => {
                let module = self.machine.module();
                let name = module.name_text(module.function(spot.function).name);
                format!("{name}+{}", spot.inst.0)
            }
            None => "the thread's start".to_owned(),
        };
        Stop::Mismatch(format!("at {place}: wanted {wanted}, the trace has {found:x?}"))
    }

    /// Functions that are called by nobody in the program: main, constructors, thread starts.
    fn top_level(&mut self) -> Step {
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

    fn enter_from_outside(&mut self, address: u64, record: &Record) -> Step {
        let Some(&function) = self.machine.image.functions.get(&address) else {
            return Err(self.mismatch("a known function", record));
        };
        let count = self.machine.function(function).params.len();
        self.machine.push_frame(function, vec![Val::Opaque; count]);
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

    fn step(&mut self) -> Step {
        let Some(spot) = self.machine.spot() else { return Err(Stop::End) };
        let instruction = self.machine.function(spot.function).inst(spot.inst);
        if let Some(val) = self.machine.compute(&instruction.op, instruction.ty) {
            self.machine.set(spot.inst, val);
            self.machine.advance();
            return Ok(());
        }
        match &instruction.op {
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
        let (_, record) = self.own()?;
        let value = match *record {
            Record::Branch { value } => value,
            Record::Loop { rounds } => return self.even_loop(spot, [then, otherwise], rounds),
            _ => return Err(self.mismatch("a branch", record)),
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
        let (_, record) = self.own()?;
        let Record::Branch { value: taken } = *record else {
            return Err(self.mismatch("a switch", record));
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

    fn call(
        &mut self,
        inst: InstId,
        callee: &Callee,
        arguments: &[Value],
        is_invoke: bool,
    ) -> Step {
        self.machine.visit();
        let values: Vec<Val> = arguments.iter().map(|value| self.machine.operand(value)).collect();
        let target = match callee {
            Callee::Direct(id) => Some(*id),
            Callee::Asm { .. } => {
                // What a request to Valgrind's tools declares.
                while let Some(&Record::Sync { op, object, extra, sequence }) = self.peek() {
                    self.at += 1;
                    self.machine.emit(sequence, EventKind::Sync { op, object, extra });
                }
                let val = self.machine.or_opaque(None, &values);
                return self.called(inst, val);
            }
            Callee::Indirect(function) | Callee::Virtual { function, .. } => {
                let function = self.machine.operand(function);
                self.machine.pin(function);
                let (_, record) = self.next()?;
                let Record::Call { target } = *record else {
                    return Err(self.mismatch("a call", record));
                };
                self.machine.image.functions.get(&target).copied()
            }
        };
        let mut indirect = !matches!(callee, Callee::Direct(_));
        // A call by another name (an alias) is recorded as one through a pointer.
        if !indirect && matches!(self.peek(), Some(Record::Call { .. })) {
            self.at += 1;
            indirect = true;
        }
        let defined = target.filter(|id| !self.machine.function(*id).is_declaration());
        if let Some(function) = defined {
            return self.enter(function, values, indirect);
        }
        let name = target
            .map(|id| self.machine.module().name_text(self.machine.function(id).name))
            .unwrap_or("");
        if name.starts_with("llvm.") {
            let val = self.machine.or_opaque(None, &values);
            return self.called(inst, val);
        }
        if is_setjmp(name)
            && let Some(spot) = self.machine.spot()
            && let Some(buffer) = self.buffer_of(&values)
        {
            self.saved.insert(buffer, (self.machine.frames.len(), spot));
        }
        if !explore::only_prints(name) || self.is_used(inst) {
            for &value in &values {
                self.machine.pin(value);
            }
        }
        if touches_nothing(name) {
            return self.outside(inst, is_invoke);
        }
        // What it is pointed to, it may read and write: those places keep their order around it.
        let places: Vec<PlaceId> = values
            .iter()
            .filter_map(|value| self.machine.places.at(self.machine.arena.value_of(*value)?))
            .filter(|place| self.machine.places.is_foreign(*place, self.thread as u32))
            .collect();
        if places.is_empty() {
            return self.outside(inst, is_invoke);
        }
        let touched = EventKind::Outside { places };
        let before = self.records[..self.at].iter().rev().find_map(sequence_of).unwrap_or(0);
        self.machine.emit(before, touched.clone());
        let spot = self.machine.spot();
        let result = self.outside(inst, is_invoke);
        let after = self.records[self.at..].iter().find_map(sequence_of);
        if let (Some(after), Some(spot)) = (after, spot) {
            let occurrence = 0;
            self.machine.events.push(PathEvent {
                spot,
                occurrence,
                sequence: after,
                kind: touched,
            });
        }
        result
    }

    fn enter(&mut self, function: FunctionId, values: Vec<Val>, indirect: bool) -> Step {
        let (_, record) = self.next()?;
        let units = &self.machine.image.program.function_units;
        let unit = |id: FunctionId| units.get(id.index()).copied();
        let caller = self.machine.spot().map(|spot| spot.function);
        match *record {
            Record::Enter { function: address }
                if self.machine.image.functions.get(&address) == Some(&function) => {}
            _ => return Err(self.mismatch("the called function", record)),
        }
        self.machine.push_frame(function, values);
        if let Some(frame) = self.machine.frames.last_mut() {
            frame.returns = indirect || caller.and_then(unit) != unit(function);
        }
        Ok(())
    }

    /// Code outside runs until it returns; it may synchronise and call back.
    fn outside(&mut self, inst: InstId, is_invoke: bool) -> Step {
        loop {
            let record = self.peek().ok_or(Stop::End)?;
            match *record {
                Record::Sync { op: SyncOp::Free, sequence, .. } => {
                    self.at += 1;
                    self.free(sequence);
                }
                Record::Sync { op, object, extra, sequence } => {
                    self.at += 1;
                    self.machine.emit(sequence, EventKind::Sync { op, object, extra });
                }
                Record::Enter { function } => {
                    self.at += 1;
                    self.enter_from_outside(function, record)?;
                }
                Record::Return { value } => {
                    self.at += 1;
                    let ty = self
                        .machine
                        .spot()
                        .map(|spot| self.machine.function(spot.function).inst(spot.inst).ty);
                    let val = match ty.and_then(|ty| self.machine.width(ty)) {
                        Some(width) => Val::Known(super::super::expr::mask(value, width)),
                        None => Val::Opaque,
                    };
                    return self.called(inst, val);
                }
                Record::Unwind { .. } => return self.unwind(),
                Record::Jumped { buffer } => return self.jump_back(buffer, record),
                // An invoke whose normal block is shared has no return record.
                _ if is_invoke => return self.called(inst, Val::Opaque),
                _ => return Err(self.mismatch("the end of a call", record)),
            }
        }
    }

    /// Frees the block of the record that was just passed.
    fn free(&mut self, sequence: u64) {
        let places = self.machine.places;
        let touched = places.of(self.thread, self.at - 1).iter().copied();
        let shared: Vec<PlaceId> = touched.filter(|place| places.get(*place).shared).collect();
        if !shared.is_empty() {
            self.machine.emit(sequence, EventKind::Free { places: shared });
        }
    }

    /// The current call is over and gave `val`.
    fn called(&mut self, inst: InstId, val: Val) -> Step {
        self.machine.set(inst, val);
        let Some(spot) = self.machine.spot() else { return Err(Stop::End) };
        match &self.machine.function(spot.function).inst(spot.inst).op {
            Op::Call { invoke: Some((normal, _)), .. } => self.machine.jump(*normal),
            _ => self.machine.advance(),
        }
        Ok(())
    }

    fn return_from(&mut self, val: Val) -> Step {
        let Some(frame) = self.machine.frames.pop() else { return Err(Stop::End) };
        if frame.callback {
            return Ok(());
        }
        if frame.returns && matches!(self.peek(), Some(Record::Return { .. })) {
            self.at += 1;
        }
        let Some(spot) = self.machine.spot() else { return Err(Stop::End) };
        self.called(spot.inst, val)
    }

    /// An exception: frames end until the one whose landing pad it came to.
    fn unwind(&mut self) -> Step {
        let (_, record) = self.next()?;
        let Record::Unwind { function } = *record else {
            return Err(self.mismatch("a landing pad", record));
        };
        let function = self.machine.image.functions.get(&function).copied();
        // The landing pad of the frame that resumes is not asked again.
        let mut resuming = self.machine.spot().is_some_and(|spot| {
            matches!(self.machine.function(spot.function).inst(spot.inst).op, Op::Resume { .. })
        });
        while let Some(spot) = self.machine.spot() {
            let op = &self.machine.function(spot.function).inst(spot.inst).op;
            if let Op::Call { invoke: Some((_, pad)), .. } = op
                && !resuming
                && Some(spot.function) == function
            {
                self.machine.jump(*pad);
                return Err(Stop::Left);
            }
            resuming = false;
            self.machine.frames.pop();
        }
        Err(Stop::End)
    }

    /// `longjmp`: the frame that called `setjmp` with the buffer goes on behind that call.
    fn jump_back(&mut self, buffer: u64, record: &Record) -> Step {
        self.at += 1;
        let Some(&(depth, spot)) = self.saved.get(&buffer) else {
            return Err(self.mismatch("a known place to return to", record));
        };
        self.machine.frames.truncate(depth);
        let Some(frame) = self.machine.frames.last_mut().filter(|f| f.function == spot.function)
        else {
            return Err(self.mismatch("the function that called setjmp", record));
        };
        frame.inst = spot.inst;
        let function = self.machine.function(spot.function);
        let block = (0..function.blocks.len()).map(racewarden_ir::BlockId::new).find(|block| {
            let block = function.block(*block);
            block.start <= spot.inst && spot.inst < block.end
        });
        if let (Some(frame), Some(block)) = (self.machine.frames.last_mut(), block) {
            frame.block = block;
        }
        let (_, record) = self.next()?;
        let Record::Return { value } = *record else {
            return Err(self.mismatch("what setjmp returns", record));
        };
        self.called(spot.inst, Val::Known(super::super::expr::mask(value, 32)))?;
        Err(Stop::Left)
    }

    fn buffer_of(&self, values: &[Val]) -> Option<u64> {
        self.machine.arena.value_of(*values.first()?)
    }

    fn is_used(&self, inst: InstId) -> bool {
        let Some(spot) = self.machine.spot() else { return true };
        let function = self.machine.function(spot.function);
        function.instructions.iter().any(|instruction| {
            instruction.op.operands().iter().any(|value| **value == Value::Inst(inst))
        })
    }
}
