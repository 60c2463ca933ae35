//! Sides of branches that the run did not take (paper 3, section IV and Table II).
//!
//! The state σ of the table is the machine itself: registers, the places that only this thread
//! uses, and an overlay of what the side writes. From the branch, the other side is executed
//! symbolically: a condition that is known is followed, one over shared reads goes both ways, each
//! loop is entered once, calls are followed, and the side ends where its function returns or where
//! something is not modelled. What a shared read would give is a symbol; where an address depends
//! on it, it is pinned to a guess, which the solver must then justify.

use racewarden_ir::{BlockId, Callee, FunctionId, InstId, Op, Value};
use racewarden_trace::binary::SyncOp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::expr::{Arena, ExprId, ExprKind, Val};
use super::super::locations::PlaceId;
use super::super::path::{Detour, EventKind, Extent, PathEvent, Spot};
use super::machine::Machine;

const MOST_STEPS: u32 = 3_000;
const MOST_PATHS: u32 = 8;
const MOST_DEPTH: usize = 12;
/// Stack slots of a side lie where no program has memory.
const FAKE_SLOTS: u64 = 1 << 62;

/// Functions whose only effect is output: what they are given changes nothing that is predicted.
pub(super) fn only_prints(name: &str) -> bool {
    matches!(
        name,
        "printf"
            | "puts"
            | "putchar"
            | "fprintf"
            | "fputs"
            | "fputc"
            | "putc"
            | "vprintf"
            | "vfprintf"
            | "perror"
            | "fflush"
            | "fwrite"
            | "write"
            | "__printf_chk"
            | "__fprintf_chk"
            | "usleep"
            | "sleep"
            | "nanosleep"
            | "sched_yield"
            | "puts_unlocked"
    )
}

/// Executes the side that starts at `other`.
pub(super) fn explore(
    machine: &mut Machine,
    spot: Spot,
    condition: ExprId,
    taken: u64,
    other: BlockId,
) -> Vec<Detour> {
    let after = machine.events.len();
    let mut side = Side {
        machine: Machine {
            image: machine.image,
            places: machine.places,
            frames: machine.frames.clone(),
            arena: std::mem::take(&mut machine.arena),
            events: Vec::new(),
            local: machine.local.clone(),
            memory: machine.memory.clone(),
            pinned: machine.pinned.clone(),
            visits: machine.visits.clone(),
            thread: machine.thread,
            not_computed: machine.not_computed,
        },
        overlay: FxHashMap::default(),
        entered: FxHashSet::default(),
        base: machine.frames.len(),
        first_read: after as u32,
        slots: 0,
    };
    side.machine.jump(other);
    let mut budget = Budget { steps: MOST_STEPS, paths: MOST_PATHS };
    let mut found = Vec::new();
    let arena = side.run(&mut budget, &mut found);
    machine.arena = arena;
    found
        .into_iter()
        .filter(|events| events.iter().any(|event| event.kind.is_visible()))
        .map(|events| Detour { after, condition, taken, spot, events })
        .collect()
}

struct Budget {
    steps: u32,
    paths: u32,
}

struct Side<'a> {
    machine: Machine<'a>,
    /// What the side stored where nobody else looks.
    overlay: FxHashMap<(u64, u64), Val>,
    /// Blocks entered, by depth: a second visit is a loop.
    entered: FxHashSet<(usize, FunctionId, BlockId)>,
    base: usize,
    first_read: u32,
    slots: u64,
}

/// Whether the side goes on.
enum Next {
    On,
    Over,
    /// Both ways, on this condition.
    Fork {
        condition: ExprId,
        then: BlockId,
        otherwise: BlockId,
    },
}

impl Side<'_> {
    /// Runs to the end and through every fork; gives the arena back.
    fn run(mut self, budget: &mut Budget, found: &mut Vec<Vec<PathEvent>>) -> Arena {
        loop {
            if budget.steps == 0 {
                break;
            }
            budget.steps -= 1;
            match self.step() {
                Next::On => {}
                Next::Over => break,
                Next::Fork { condition, then, otherwise } => {
                    if budget.paths == 0 {
                        break;
                    }
                    budget.paths -= 1;
                    let mut second = self.fork();
                    self.machine.emit(0, EventKind::Branch { condition, taken: 1 });
                    second.machine.emit(0, EventKind::Branch { condition, taken: 0 });
                    let ways = (self.go(then), second.go(otherwise));
                    let arena = if ways.0 {
                        self.run(budget, found)
                    } else {
                        found.push(self.machine.events);
                        self.machine.arena
                    };
                    second.machine.arena = arena;
                    if ways.1 {
                        return second.run(budget, found);
                    }
                    found.push(second.machine.events);
                    return second.machine.arena;
                }
            }
        }
        found.push(self.machine.events);
        self.machine.arena
    }

    /// A copy without the arena, which only one path has at a time.
    fn fork(&mut self) -> Self {
        let arena = std::mem::take(&mut self.machine.arena);
        let machine = self.machine.clone();
        self.machine.arena = arena;
        Side {
            machine,
            overlay: self.overlay.clone(),
            entered: self.entered.clone(),
            base: self.base,
            first_read: self.first_read,
            slots: self.slots,
        }
    }

    /// Goes to a block; false when that would go round a loop again.
    fn go(&mut self, block: BlockId) -> bool {
        let depth = self.machine.frames.len();
        let Some(spot) = self.machine.spot() else { return false };
        if !self.entered.insert((depth, spot.function, block)) {
            return false;
        }
        self.machine.jump(block);
        true
    }

    fn go_on(&mut self, block: BlockId) -> Next {
        if self.go(block) { Next::On } else { Next::Over }
    }

    fn done(&mut self, inst: InstId, val: Val) -> Next {
        self.machine.set(inst, val);
        self.machine.advance();
        Next::On
    }

    fn step(&mut self) -> Next {
        let Some(spot) = self.machine.spot() else { return Next::Over };
        let instruction = self.machine.function(spot.function).inst(spot.inst);
        if let Some(val) = self.machine.compute(&instruction.op, instruction.ty) {
            return self.done(spot.inst, val);
        }
        match &instruction.op {
            Op::Load { address, size, .. }
                if let Some(slot) = self.machine.private_slot(address) =>
            {
                let val = self.machine.private_load(slot, address, *size as u32);
                let val = self.machine.loaded(instruction.ty, *size as u32, val);
                self.done(spot.inst, val)
            }
            Op::Store { address, value, size, .. }
                if let Some(slot) = self.machine.private_slot(address) =>
            {
                let val = self.machine.stored(value, *size as u32);
                self.machine.private_store(slot, address, *size as u32, val);
                self.machine.advance();
                Next::On
            }
            Op::Alloca { .. } if self.machine.is_left_out() => {
                let address = self.machine.open_slot(spot.inst);
                self.done(spot.inst, address)
            }
            Op::Load { address, size, order, .. } => {
                self.machine.visit();
                match self.load(address, *size, order.is_some()) {
                    Some(val) => {
                        let val = self.machine.loaded(instruction.ty, *size as u32, val);
                        self.done(spot.inst, val)
                    }
                    None => Next::Over,
                }
            }
            Op::Store { address, value, size, order, .. } => {
                self.machine.visit();
                self.store(address, value, *size, order.is_some())
            }
            Op::Alloca { .. } => {
                self.slots += 1;
                self.done(spot.inst, Val::Known(FAKE_SLOTS + self.slots * 4096))
            }
            Op::Call { callee, arguments, invoke, .. } if invoke.is_none() => {
                self.machine.visit();
                self.call(spot.inst, callee, arguments)
            }
            Op::Return { value } => {
                let val = value.as_ref().map_or(Val::Opaque, |value| self.machine.operand(value));
                if self.machine.frames.len() <= self.base {
                    return Next::Over;
                }
                self.machine.frames.pop();
                match self.machine.spot() {
                    Some(caller) => self.done(caller.inst, val),
                    None => Next::Over,
                }
            }
            Op::Jump { to } => self.go_on(*to),
            Op::Branch { condition, then, otherwise } => match self.machine.operand(condition) {
                Val::Known(value) => self.go_on(if value != 0 { *then } else { *otherwise }),
                Val::Symbolic(condition) => {
                    Next::Fork { condition, then: *then, otherwise: *otherwise }
                }
                Val::Opaque => Next::Over,
            },
            Op::Switch { value, cases, default } => match self.machine.operand(value) {
                Val::Known(value) => {
                    let chosen = cases.iter().find(
                        |edge| matches!(edge.value, Value::Int { bits, .. } if bits == value),
                    );
                    self.go_on(chosen.map_or(*default, |edge| edge.block))
                }
                _ => Next::Over,
            },
            _ => Next::Over,
        }
    }

    /// The address as a number; one that depends on shared reads is pinned to what it is guessed.
    fn address(&mut self, address: &Value) -> Option<u64> {
        let val = self.machine.operand(address);
        self.machine.pin(val);
        self.machine.arena.value_of(val)
    }

    fn load(&mut self, address: &Value, size: u64, atomic: bool) -> Option<Val> {
        let address = self.address(address)?;
        if let Some(val) = self.overlay.get(&(address, size)) {
            return Some(*val);
        }
        let Some(place) = self.machine.places.find(address, size) else {
            return Some(Val::Opaque);
        };
        let places = self.machine.places;
        if !places.is_foreign(place, self.machine.thread) {
            if let Some(expr) = self.machine.local.get(&place) {
                return Some(Val::Symbolic(*expr));
            }
            let known = self.machine.memory.get(&place).copied().or(places.get(place).initial);
            return Some(known.map_or(Val::Opaque, Val::Known));
        }
        if places.get(place).mixed {
            let extent = Extent::one(address, size);
            let kind = EventKind::Whole { places: vec![place], extent, writes: false, atomic };
            self.machine.emit(0, kind);
            return Some(Val::Opaque);
        }
        let guess = places.get(place).initial.unwrap_or(0);
        let number = self.first_read + 1 + self.machine.events.len() as u32;
        let result = self.machine.arena.add(ExprKind::Read(number), size as u32 * 8, guess);
        self.machine.emit(0, EventKind::Read { place, result, atomic });
        Some(Val::Symbolic(result))
    }

    fn store(&mut self, address: &Value, value: &Value, size: u64, atomic: bool) -> Next {
        let Some(address) = self.address(address) else { return Next::Over };
        if !matches!(size, 1 | 2 | 4 | 8) {
            return Next::Over;
        }
        let val = self.machine.stored(value, size as u32);
        let found = self.machine.places.find(address, size);
        let foreign =
            found.filter(|place| self.machine.places.is_foreign(*place, self.machine.thread));
        match foreign {
            Some(place) => self.shared_store(place, Extent::one(address, size), val, atomic),
            None => {
                self.overlay.insert((address, size), val);
                self.machine.advance();
                Next::On
            }
        }
    }

    fn shared_store(&mut self, place: PlaceId, extent: Extent, val: Val, atomic: bool) -> Next {
        let whole = self.machine.places.get(place).mixed || val == Val::Opaque;
        let kind = if whole {
            EventKind::Whole { places: vec![place], extent, writes: true, atomic }
        } else {
            let recorded = self.machine.arena.value_of(val).unwrap_or(0);
            EventKind::Write { place, value: val, recorded, atomic }
        };
        self.machine.emit(0, kind);
        if whole {
            // What others would read from it is not known, so nothing may follow.
            return Next::Over;
        }
        self.machine.advance();
        Next::On
    }

    fn call(&mut self, inst: InstId, callee: &Callee, arguments: &[Value]) -> Next {
        let Callee::Direct(target) = callee else { return Next::Over };
        let values: Vec<Val> = arguments.iter().map(|value| self.machine.operand(value)).collect();
        let function = self.machine.function(*target);
        if !function.is_declaration() {
            if self.machine.frames.len() >= self.base + MOST_DEPTH {
                return Next::Over;
            }
            self.machine.push_frame(*target, values);
            return Next::On;
        }
        let name = self.machine.module().name_text(function.name);
        let op = match name {
            "pthread_mutex_lock" => Some(SyncOp::Acquire),
            "pthread_mutex_unlock" => Some(SyncOp::Release),
            _ => None,
        };
        if let Some(op) = op {
            let Some(lock) = values.first().and_then(|val| self.machine.arena.value_of(*val))
            else {
                return Next::Over;
            };
            self.machine.pin(values[0]);
            self.machine.emit(0, EventKind::Sync { op, object: lock, extra: 0 });
            return self.done(inst, Val::Known(0));
        }
        if name.starts_with("llvm.") || only_prints(name) {
            let val = self.machine.or_opaque(None, if only_prints(name) { &[] } else { &values });
            return self.done(inst, val);
        }
        Next::Over
    }
}
