//! Local memory that the recorder left out: slots that only their own function reaches.
//!
//! Each frame keeps what its slots hold, word by word: numbers, or expressions over shared reads.
//! What is not known (it was never stored, or computed by what is not modelled) is opaque; an
//! expression that goes into something opaque is pinned.

use racewarden_ir::{InstId, Op, Value};

use super::super::expr::{ExprId, Val, mask};
use super::machine::Machine;

/// The slots' addresses are made up: nothing else lies there.
const BASE: u64 = 0xffff_9000_0000_0000;
const APART: u64 = 1 << 32;

/// Eight bytes of a slot.
#[derive(Debug, Clone, Default)]
struct Word {
    known: u64,
    /// Which bytes of `known` are.
    mask: u8,
    /// Offset and size of what holds an expression.
    symbolic: Vec<(u32, u32, ExprId)>,
}

#[derive(Debug, Clone)]
pub struct Slot {
    inst: InstId,
    words: Vec<Word>,
}

fn base_of(slot: InstId) -> u64 {
    BASE + u64::from(slot.0) * APART
}

fn byte_mask(offset: u32, size: u32) -> u8 {
    (((1u16 << size) - 1) << offset) as u8
}

impl Machine<'_> {
    /// The slot that an address of the current function lies in, if it is one that was left out.
    pub fn private_slot(&self, address: &Value) -> Option<InstId> {
        let frame = self.frames.last()?;
        let left_out = self.image.left_out(frame.function)?;
        let function = self.function(frame.function);
        let mut at = address;
        loop {
            let Value::Inst(inst) = at else { return None };
            match &function.inst(*inst).op {
                Op::Address { base, .. } => at = base,
                Op::Alloca { .. } => return left_out.contains(inst).then_some(*inst),
                _ => return None,
            }
        }
    }

    /// Whether the current instruction was left out.
    pub fn is_left_out(&self) -> bool {
        self.frames.last().is_some_and(|frame| {
            self.image.left_out(frame.function).is_some_and(|list| list.contains(&frame.inst))
        })
    }

    /// The slot comes into being; its address.
    pub fn open_slot(&mut self, inst: InstId) -> Val {
        let words = self.first_words(inst);
        if let Some(frame) = self.frames.last_mut() {
            frame.slots.retain(|slot| slot.inst != inst);
            frame.slots.push(Slot { inst, words });
        }
        Val::Known(base_of(inst))
    }

    /// The recorder lets small slots start as zero.
    fn first_words(&self, inst: InstId) -> Vec<Word> {
        const MOST_ZEROED: u64 = 256;
        let Some(frame) = self.frames.last() else { return Vec::new() };
        match self.function(frame.function).inst(inst).op {
            Op::Alloca { size, count: Value::Int { bits, .. }, .. }
                if size.saturating_mul(bits) <= MOST_ZEROED =>
            {
                let zero = Word { mask: u8::MAX, ..Word::default() };
                vec![zero; (size * bits).div_ceil(8) as usize]
            }
            _ => Vec::new(),
        }
    }

    fn slot_mut(&mut self, inst: InstId) -> Option<&mut Slot> {
        self.frames.last_mut()?.slots.iter_mut().find(|slot| slot.inst == inst)
    }

    /// The word and the offset in it, for an address that is known and does not cross words.
    fn place_in(&mut self, slot: InstId, address: &Value, size: u32) -> Option<(usize, u32)> {
        const MOST: u64 = 1 << 24;
        let address = self.operand(address);
        self.pin(address);
        let offset = self.arena.value_of(address)?.checked_sub(base_of(slot))?;
        let within = (offset % 8) as u32;
        (offset < MOST && matches!(size, 1 | 2 | 4 | 8) && within + size <= 8)
            .then_some(((offset / 8) as usize, within))
    }

    /// Everything in the slot keeps its value, and is not known any more.
    fn forget_slot(&mut self, slot: InstId, contents: bool) {
        let Some(found) = self.slot_mut(slot) else { return };
        let expressions: Vec<ExprId> =
            found.words.iter().flat_map(|word| &word.symbolic).map(|(.., expr)| *expr).collect();
        if contents {
            found.words.clear();
        }
        for expr in expressions {
            self.pin(Val::Symbolic(expr));
        }
    }

    pub fn private_load(&mut self, slot: InstId, address: &Value, size: u32) -> Val {
        let Some((number, offset)) = self.place_in(slot, address, size) else {
            self.forget_slot(slot, false);
            return Val::Opaque;
        };
        let Some(word) = self.slot_mut(slot).and_then(|slot| slot.words.get(number)) else {
            return Val::Opaque;
        };
        let overlapping: Vec<(u32, u32, ExprId)> = word
            .symbolic
            .iter()
            .copied()
            .filter(|(at, length, _)| *at < offset + size && offset < at + length)
            .collect();
        match overlapping[..] {
            [] => {
                let wanted = byte_mask(offset, size);
                let value = mask(word.known >> (offset * 8), size * 8);
                if word.mask & wanted == wanted { Val::Known(value) } else { Val::Opaque }
            }
            [(at, length, expr)] if at == offset && length == size => Val::Symbolic(expr),
            _ => {
                for (.., expr) in overlapping {
                    self.pin(Val::Symbolic(expr));
                }
                Val::Opaque
            }
        }
    }

    pub fn private_store(&mut self, slot: InstId, address: &Value, size: u32, val: Val) {
        let Some((number, offset)) = self.place_in(slot, address, size) else {
            self.pin(val);
            return self.forget_slot(slot, true);
        };
        let Some(found) = self.slot_mut(slot) else { return self.pin(val) };
        if found.words.len() <= number {
            found.words.resize_with(number + 1, Word::default);
        }
        let word = &mut found.words[number];
        let written = byte_mask(offset, size);
        word.mask &= !written;
        let mut cut = Vec::new();
        word.symbolic.retain(|&(at, length, expr)| {
            let overlaps = at < offset + size && offset < at + length;
            let covered = offset <= at && at + length <= offset + size;
            if overlaps && !covered {
                cut.push(expr);
            }
            !overlaps
        });
        match val {
            Val::Known(value) => {
                let bits = mask(u64::MAX, size * 8) << (offset * 8);
                word.known = word.known & !bits | value << (offset * 8) & bits;
                word.mask |= written;
            }
            Val::Symbolic(expr) => word.symbolic.push((offset, size, expr)),
            Val::Opaque => {}
        }
        for expr in cut {
            self.pin(Val::Symbolic(expr));
        }
    }
}
