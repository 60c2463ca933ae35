//! Thread handles: where a join finds the thread it waits for, ranges of handles in arrays, and
//! how far apart the arguments of threads are.

use racewarden_ir::{Callee, InstId, Op, Value};

use super::Flow;
use crate::effects::Effect;
use crate::loops::{Induction, induction};
use crate::state::{HandleRange, Live, Path};
use crate::sym::{Atom, LOCAL, Sym};

/// Stands for a function's result among the arguments that a caller puts in its place.
pub(super) const RESULT: u32 = u32::MAX;

/// The name that a handle has for the caller: it is the result, or what the caller passed in.
pub(super) fn leaving(value: Sym, result: Option<&Sym>) -> Option<Sym> {
    if Some(&value) == result {
        return Some(Sym::atom(Atom::Argument(LOCAL, RESULT)));
    }
    let own = value.mentions(&|atom| matches!(atom, Atom::Inst(LOCAL, _) | Atom::Stack(LOCAL, _)));
    (!own).then_some(value)
}

impl Flow<'_> {
    /// What is loaded from the place where a handle is known to be is that handle.
    pub(super) fn load_handle(&self, inst: u32, address: &Value, paths: &mut [Path]) -> bool {
        let stored = |path: &Path| path.threads.values().any(|live| live.handle.is_some());
        if !paths.iter().any(stored) {
            return false;
        }
        let (Some(place), value) = (self.sym(address), self.syms.inst(inst)) else { return false };
        let mut changed = false;
        let named = |live: &Live| {
            live.handle.as_ref() == Some(&place) && !live.many && live.value.is_none()
        };
        for path in paths.iter_mut().filter(|path| path.threads.values().any(named)) {
            for live in path.threads.values_mut().filter(|live| named(live)) {
                live.value = Some(value.clone());
                changed = true;
            }
        }
        changed
    }

    pub(super) fn induction_of(&mut self, phi: u32) -> Option<Induction> {
        if let Some(known) = self.inductions.get(&phi) {
            return known.clone();
        }
        let types = &self.env.program.module.types;
        let found = induction(self.function, &self.cfg, &self.syms, types, phi);
        self.inductions.insert(phi, found.clone());
        found
    }

    /// `base + scale·phi` of a handle place, with the counter's range.
    pub(super) fn handle_range(
        &mut self,
        place: &Sym,
        joining: bool,
    ) -> Option<(u32, HandleRange)> {
        let candidates: Vec<(u32, i64)> = place
            .terms
            .iter()
            .filter_map(|(atom, scale)| match atom {
                Atom::Inst(LOCAL, inst) => Some((*inst, *scale)),
                _ => None,
            })
            .collect();
        for (phi, scale) in candidates {
            let Some(counter) = self.induction_of(phi) else { continue };
            let Some(bound) = counter.bound.clone() else { continue };
            if counter.step != 1 || (joining && !counter.single_exit) {
                continue;
            }
            let base = place.plus(&Sym::inst(LOCAL, phi).scaled(-scale));
            let body = &self.cfg.loops[counter.index as usize];
            let varies = |sym: &Sym| {
                sym.mentions(&|atom| match atom {
                    Atom::Inst(LOCAL, i) | Atom::Stack(LOCAL, i) => {
                        self.cfg.block_of.get(*i as usize).is_some_and(|b| body.contains(*b))
                    }
                    _ => false,
                })
            };
            if varies(&base) || varies(&bound) || varies(&counter.start) {
                continue;
            }
            let start = counter.start.clone();
            return Some((counter.index, HandleRange { base, scale, start, bound }));
        }
        None
    }

    pub(super) fn find_range_joins(&mut self) {
        for inst in 0..self.function.instructions.len() as u32 {
            let Op::Call { callee: Callee::Direct(target), arguments, .. } =
                &self.function.instructions[inst as usize].op
            else {
                continue;
            };
            let Some(effects) = self.env.effects.of(*target) else { continue };
            for effect in effects {
                let Effect::Join { handle, by_address, .. } = effect else { continue };
                let Some(value) = arguments.get(*handle as usize) else { continue };
                let Some(place) = self.handle_place(inst, value, *by_address) else { continue };
                let Some((index, range)) = self.handle_range(&place, true) else { continue };
                let body = &self.cfg.loops[index as usize];
                let block = self.cfg.block_of[inst as usize];
                if body.latches.iter().all(|&latch| self.cfg.dominates(block, latch)) {
                    self.range_joins.push((index, range));
                }
            }
        }
    }

    /// Where the handle that a join waits for is stored. By value it must be loaded right before
    /// the call, so that the place still holds the same handle.
    pub(super) fn handle_place(&self, inst: u32, value: &Value, by_address: bool) -> Option<Sym> {
        let place = if by_address {
            value
        } else {
            match value {
                Value::Inst(InstId(load)) => {
                    let Op::Load { address, .. } = &self.function.instructions[*load as usize].op
                    else {
                        return None;
                    };
                    let near = *load < inst
                        && self.cfg.block_of[*load as usize] == self.cfg.block_of[inst as usize]
                        && (*load + 1..inst).all(|between| {
                            !matches!(
                                self.function.instructions[between as usize].op,
                                Op::Call { .. } | Op::Store { .. } | Op::MemCopy { .. }
                            )
                        });
                    if !near {
                        return None;
                    }
                    address
                }
                _ => return None,
            }
        };
        let tainted = self
            .points(place)
            .iter()
            .any(|location| self.env.tainted_handles.contains(&location.object));
        if tainted || self.points(place).is_empty() { None } else { self.sym(place) }
    }

    /// How far apart the arguments of two threads of one create call are, if they differ.
    pub(super) fn apart(&mut self, argument: &Sym) -> Option<i64> {
        let atoms: Vec<(u32, i64)> = argument
            .terms
            .iter()
            .filter_map(|(atom, scale)| match atom {
                Atom::Inst(LOCAL, inst) => Some((*inst, *scale)),
                _ => None,
            })
            .collect();
        let [(inst, scale)] = atoms.as_slice() else { return None };
        if self.is_allocation(*inst) && *scale == 1 {
            return Some(i64::MAX);
        }
        let counter = self.induction_of(*inst)?;
        Some((counter.step.wrapping_mul(*scale)).wrapping_abs())
    }
}
