//! Calls: into functions of the program, which are followed, and out of it, where the recording says
//! what came of them; returns, exceptions and jumps.

use racewarden_ir::{Callee, FunctionId, InstId, Op, Value};
use racewarden_trace::binary::{Record, SyncOp};

use super::super::expr::Val;
use super::super::locations::{PlaceId, sequence_of};
use super::super::path::{EventKind, PathEvent};
use super::explore;
use super::replay::{Replay, Step, Stop};

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

/// No pointer is below this.
const LOWEST: u64 = 4096;

fn is_setjmp(name: &str) -> bool {
    matches!(name, "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp")
}

impl Replay<'_> {
    pub(super) fn call(
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
            let val = self.machine.intrinsic(name, &values);
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
        for &value in &values {
            self.pin_contents(value);
        }
        // What it is pointed to, it may read and write: those places keep their order around it.
        let mut places: Vec<PlaceId> = values
            .iter()
            .filter_map(|value| self.machine.arena.value_of(*value))
            .filter(|address| *address >= LOWEST)
            .filter_map(|address| self.machine.places.at(address))
            .filter(|place| self.machine.places.is_foreign(*place, self.thread as u32))
            .collect();
        places.sort_unstable();
        places.dedup();
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
        if self.machine.image.called.contains(&function) {
            self.machine.push_frame(function, values);
            return Ok(());
        }
        let (_, record) = self.next()?;
        let units = &self.machine.image.program.function_units;
        let unit = |id: FunctionId| units.get(id.index()).copied();
        let caller = self.machine.spot().map(|spot| spot.function);
        let is_own = caller
            .and_then(unit)
            .is_some_and(|unit| self.machine.image.defined.contains(&(unit, function)));
        match *record {
            Record::Enter { function: address }
                if self.machine.image.functions.get(&address) == Some(&function) => {}
            _ => return Err(self.mismatch("the called function", record)),
        }
        let mut values = values;
        self.arguments_of(function, &mut values)?;
        self.machine.push_frame(function, values);
        if let Some(frame) = self.machine.frames.last_mut() {
            frame.returns = indirect || !is_own;
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
    pub(super) fn called(&mut self, inst: InstId, val: Val) -> Step {
        self.machine.set(inst, val);
        let Some(spot) = self.machine.spot() else { return Err(Stop::End) };
        match &self.machine.function(spot.function).inst(spot.inst).op {
            Op::Call { invoke: Some((normal, _)), .. } => self.machine.jump(*normal),
            _ => self.machine.advance(),
        }
        Ok(())
    }

    /// Code outside may read what it is pointed to: that keeps its value.
    fn pin_contents(&mut self, pointer: Val) {
        const FAR: u64 = 4096;
        let Some(from) = self.machine.arena.value_of(pointer).filter(|from| *from >= LOWEST) else {
            return;
        };
        let places = self.machine.places;
        let object = places.at(from).map_or(0, |place| places.get(place).object);
        let mut contents: Vec<_> = self
            .machine
            .local
            .iter()
            .filter(|(place, _)| {
                let place = places.get(**place);
                let near = place.address >= from && place.address - from < FAR;
                if object != 0 { place.object == object } else { near }
            })
            .map(|(_, expr)| *expr)
            .collect();
        contents.sort_unstable();
        for expr in contents {
            self.machine.pin(Val::Symbolic(expr));
        }
    }

    pub(super) fn return_from(&mut self, val: Val) -> Step {
        let Some(frame) = self.machine.frames.pop() else { return Err(Stop::End) };
        if frame.callback {
            return Ok(());
        }
        let Some(spot) = self.machine.spot() else { return Err(Stop::End) };
        let mut val = val;
        if frame.returns
            && let Some(&Record::Return { value }) = self.peek()
        {
            self.at += 1;
            let ty = self.machine.function(spot.function).inst(spot.inst).ty;
            if let (Val::Opaque, Some(width)) = (val, self.machine.width(ty)) {
                val = Val::Known(super::super::expr::mask(value, width));
            }
        }
        self.called(spot.inst, val)
    }

    /// An exception: frames end until the one whose landing pad it came to.
    pub(super) fn unwind(&mut self) -> Step {
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
