//! Loops that were recorded as a whole: the walk comes to the header's branch and finds the record
//! of the loop there instead of a decision.
//!
//! Everything that goes into the loop keeps its value, since what the loop computes is not known;
//! its accesses become events whose values are not followed; counters get their last value, other
//! results are opaque.

use racewarden_ir::{BinaryOp, BlockId, Op, Value};
use racewarden_trace::binary::Record;

use super::super::expr::{Val, mask};
use super::super::path::Spot;
use super::replay::{Replay, Step, Stop};

impl Replay<'_> {
    /// At the branch of a loop's header, with the values of its first visit.
    pub(super) fn even_loop(
        &mut self,
        spot: Spot,
        [then, otherwise]: [BlockId; 2],
        rounds: u64,
    ) -> Step {
        let Some(header) = self.machine.frames.last().map(|frame| frame.block) else {
            return Err(Stop::End);
        };
        let Some((body, exit)) = self
            .way_back(spot, then, header)
            .map(|body| (body, otherwise))
            .or_else(|| Some((self.way_back(spot, otherwise, header)?, then)))
        else {
            return Err(Stop::Mismatch("a loop where the program has none".to_owned()));
        };
        self.pin_inputs(spot, header, &body);
        for &block in &body {
            self.accesses_of(spot, block, rounds)?;
        }
        if rounds > 0 {
            self.last_values(spot, header, rounds);
        }
        self.machine.jump(exit);
        Ok(())
    }

    /// The blocks from `first` back to the header, each with one way on.
    fn way_back(&self, spot: Spot, first: BlockId, header: BlockId) -> Option<Vec<BlockId>> {
        let function = self.machine.function(spot.function);
        let mut blocks = Vec::new();
        let mut at = first;
        while at != header {
            if blocks.len() > function.blocks.len() {
                return None;
            }
            blocks.push(at);
            match function.block_instructions(at).last()?.1.op {
                Op::Jump { to } => at = to,
                _ => return None,
            }
        }
        Some(blocks)
    }

    fn pin_inputs(&mut self, spot: Spot, header: BlockId, body: &[BlockId]) {
        let function = self.machine.function(spot.function);
        let inside = |value: &Value| match value {
            Value::Inst(inst) => body
                .iter()
                .chain([&header])
                .any(|block| function.block_instructions(*block).any(|(id, _)| id == *inst)),
            _ => false,
        };
        for &block in body.iter().chain([&header]) {
            for (id, instruction) in function.block_instructions(block) {
                if matches!(instruction.op, Op::Phi { .. }) {
                    let start = self.machine.operand(&Value::Inst(id));
                    self.machine.pin(start);
                    continue;
                }
                for value in instruction.op.operands() {
                    if !inside(value) {
                        let val = self.machine.operand(value);
                        self.machine.pin(val);
                    }
                }
            }
        }
    }

    fn accesses_of(&mut self, spot: Spot, block: BlockId, rounds: u64) -> Step {
        let function = self.machine.function(spot.function);
        for (inst, instruction) in function.block_instructions(block) {
            if !matches!(instruction.op, Op::Load { .. } | Op::Store { .. }) {
                continue;
            }
            let (number, record) = self.next()?;
            let Record::Range { write, sequence, .. } = *record else {
                return Err(self.mismatch("the accesses of a loop", record));
            };
            if rounds == 0 {
                continue;
            }
            let place = Spot { function: spot.function, inst };
            *self.machine.visits.entry(place).or_default() += rounds;
            // Events stand at the instruction that the frame is at.
            self.stand_at(inst);
            self.whole(number, sequence, write, false);
            self.stand_at(spot.inst);
        }
        Ok(())
    }

    fn stand_at(&mut self, inst: racewarden_ir::InstId) {
        if let Some(frame) = self.machine.frames.last_mut() {
            frame.inst = inst;
        }
    }

    /// What the header's values are when it is left.
    fn last_values(&mut self, spot: Spot, header: BlockId, rounds: u64) {
        let function = self.machine.function(spot.function);
        let mut phis = Vec::new();
        for (id, instruction) in function.block_instructions(header) {
            let Op::Phi { incoming } = &instruction.op else { break };
            let step = incoming.iter().find_map(|edge| match &edge.value {
                Value::Inst(next) => match &function.inst(*next).op {
                    Op::Binary { op: BinaryOp::Add, left, right: Value::Int { bits, .. } }
                        if *left == Value::Inst(id) =>
                    {
                        Some(*bits)
                    }
                    _ => None,
                },
                _ => None,
            });
            let start = self.machine.operand(&Value::Inst(id));
            let start = self.machine.arena.value_of(start);
            let width = self.machine.width(instruction.ty);
            let val = match (start, step, width) {
                (Some(start), Some(step), Some(width)) => {
                    Val::Known(mask(start.wrapping_add(step.wrapping_mul(rounds)), width))
                }
                _ => Val::Opaque,
            };
            phis.push((id, val));
        }
        for (id, val) in phis {
            self.machine.set(id, val);
        }
        for (id, instruction) in function.block_instructions(header) {
            if matches!(instruction.op, Op::Phi { .. }) {
                continue;
            }
            if let Some(val) = self.machine.compute(&instruction.op, instruction.ty) {
                self.machine.set(id, val);
            }
        }
    }
}
