//! Thread handles: where a join finds the thread it waits for, ranges of handles in arrays, and
//! how far apart the arguments of threads are.

use racewarden_ir::{Callee, FunctionId, InstId, Op, Value};

use super::Flow;
use crate::cfg::Loop;
use crate::detached::is_itself;
use crate::effects::{Effect, Entry};
use crate::futures::Role;
use crate::lives::Parts;
use crate::loops::{Induction, induction};
use crate::state::{CreateId, HandleRange, Live, Path};
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
        let stored = |path: &Path| path.threads.iter_with(Parts::HANDLE).next().is_some();
        if !paths.iter().any(stored) {
            return false;
        }
        let (Some(place), value) = (self.sym(address), self.syms.inst(inst)) else { return false };
        let mut changed = false;
        let named = |live: &Live| {
            live.handle.as_ref() == Some(&place)
                && (!live.many || live.loose)
                && live.value.is_none()
        };
        for path in paths.iter_mut() {
            path.threads.revise(Parts::HANDLE, |_, live| {
                changed |= named(live);
                named(live).then(|| Live { value: Some(value.clone()), ..live.clone() })
            });
        }
        changed
    }

    /// A handle is put into an array that is written nowhere else.
    pub(super) fn store_handle(
        &mut self,
        inst: u32,
        (address, value): (&Value, &Value),
        paths: &mut [Path],
    ) -> bool {
        let valued = |path: &Path| path.threads.iter_with(Parts::VALUE).next().is_some();
        if !paths.iter().any(valued) {
            return false;
        }
        let Some(handle) = self.sym(value) else { return false };
        let named = |live: &Live| live.value.as_ref() == Some(&handle) && !live.ended;
        let names = |path: &Path| path.threads.iter_with(Parts::VALUE).any(|(_, live)| named(live));
        if !paths.iter().any(names) {
            return false;
        }
        let site = (self.id, inst);
        let points = self.points(address);
        let alone = !points.is_empty()
            && points.iter().all(|at| self.env.copied_handles.get(&at.object) == Some(&site));
        let place = self.sym(address).filter(|_| alone);
        let range = place.and_then(|place| self.handle_range(&place));
        let range = range.filter(|(index, _)| self.once_per_round(*index, inst));
        for path in paths.iter_mut() {
            path.threads.revise(Parts::VALUE, |id, live| {
                let mut live = Some(live).filter(|live| named(live))?.clone();
                let own = range.clone().filter(|(index, _)| {
                    let call = id.chain.first().unwrap_or(&id.site);
                    call.0 == self.id && self.once_per_round(*index, call.1)
                });
                live.put_away(own.map(|(_, range)| range));
                Some(live)
            });
        }
        true
    }

    /// Whether the instruction is part of the loop and made at most once in each of its rounds.
    pub(super) fn once_per_round(&self, index: u32, inst: u32) -> bool {
        self.cfg.once_per_round(index, self.cfg.block_of[inst as usize])
    }

    /// Whether the thread may be created in a round of the loop.
    pub(super) fn is_created_in(&self, body: &Loop, id: &CreateId) -> bool {
        let call = id.chain.first().unwrap_or(&id.site);
        id.any_chain
            || call.0 != self.id
            || self.cfg.block_of.get(call.1 as usize).is_some_and(|b| body.contains(*b))
    }

    /// A loop is entered again: the handles that it stored before will be overwritten.
    pub(super) fn lose_ranges(&self, header: u32, path: &mut Path) {
        let Some(body) = self.cfg.loop_at(header) else { return };
        let inside = |id: &CreateId| self.is_created_in(body, id);
        let arrayed = |live: &Live| live.range.as_ref().is_some_and(|range| !range.is_container());
        path.threads.revise(Parts::RANGE, |id, live| {
            (arrayed(live) && inside(id)).then(|| Live { range: None, ..live.clone() })
        });
    }

    pub(super) fn induction_of(&mut self, phi: u32) -> Option<Induction> {
        if let Some(known) = self.inductions.get(&phi) {
            return known.clone();
        }
        let types = &self.env.program.module.types;
        let found = induction(self.function, self.cfg, &self.syms, types, phi);
        self.inductions.insert(phi, found.clone());
        found
    }

    /// `base + scale·phi` of a handle place, with the counter's range.
    pub(super) fn handle_range(&mut self, place: &Sym) -> Option<(u32, HandleRange)> {
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
            // One that goes down step by step has had all from its floor up to its start.
            let (start, bound) = match (counter.step, &counter.floor, &counter.bound) {
                (-1, Some(floor), _) => (floor.clone(), counter.start.clone().shifted(1)),
                (1.., _, Some(bound)) => (counter.start.clone(), bound.clone()),
                _ => continue,
            };
            let stride = scale.wrapping_mul(counter.step.wrapping_abs());
            if stride <= 0 || scale <= 0 {
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
            if varies(&base) || varies(&bound) || varies(&start) {
                continue;
            }
            let first = base.plus(&start.scaled(scale));
            let end = base.plus(&bound.scaled(scale));
            return Some((counter.index, HandleRange { first, end, stride }));
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
            for (handle, by_address) in self.joins_of(*target) {
                let Some(value) = arguments.get(handle as usize) else { continue };
                let Some(place) = self.handle_place(inst, value, by_address) else { continue };
                let all = self
                    .joins_all(&place)
                    .or_else(|| self.joins_as_many(&place))
                    .or_else(|| self.handle_range(&place));
                let Some((index, range)) = all else { continue };
                if self.joins_each_round(index, inst, &place) {
                    let tested = self.tested(index, &place);
                    self.range_joins.push((index, tested, range));
                }
            }
        }
    }

    /// The block where the loop is left that makes all rounds of the counter in the place.
    fn tested(&mut self, index: u32, place: &Sym) -> u32 {
        let counters: Vec<u32> = place
            .terms
            .iter()
            .filter_map(|(atom, _)| match atom {
                Atom::Inst(LOCAL, inst) => Some(*inst),
                _ => None,
            })
            .collect();
        let mut found = counters.into_iter().filter_map(|phi| self.induction_of(phi));
        let own = found.find(|counter| counter.index == index).map(|counter| counter.tested);
        own.unwrap_or(self.cfg.loops[index as usize].header)
    }

    /// The arguments of a function that it waits for, and whether they are handles' addresses.
    fn joins_of(&self, target: FunctionId) -> Vec<(u32, bool)> {
        if let Some(effects) = self.env.effects.of(target) {
            let joins = effects.iter().filter_map(|effect| match effect {
                Effect::Join { handle, by_address: None, .. } => Some((*handle, false)),
                Effect::Join { handle, by_address: Some(0), .. } => Some((*handle, true)),
                _ => None,
            });
            return joins.collect();
        }
        if let Some(Role::Awaits(future)) = self.future_role(target) {
            return vec![(future, true)];
        }
        let Some(summary) = (self.summaries)(target) else { return Vec::new() };
        let Some((first, rest)) = summary.exits.split_first() else { return Vec::new() };
        let argument = |sym: &Sym| match sym.as_atom() {
            Some(Atom::Argument(LOCAL, index)) => Some(*index),
            _ => None,
        };
        let mut found = Vec::new();
        for value in first.path.joined_values.iter() {
            if let Some(index) = argument(value)
                && rest.iter().all(|exit| exit.path.joined_values.contains(value))
            {
                found.push((index, false));
            }
        }
        for place in first.path.joined.iter() {
            if let Some(index) = argument(place)
                && rest.iter().all(|exit| exit.path.joined.contains(place))
            {
                found.push((index, true));
            }
        }
        found
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

    /// Whether a thread that the call creates may never be joinable, or not remain so.
    pub(super) fn is_detached(&self, inst: u32, entry: &Entry, arguments: &[Value]) -> bool {
        let detached = self.env.detached;
        let targets = self.env.points.entries.get(&(self.id, inst)).into_iter().flatten();
        let mut others = arguments.iter().take(match entry {
            Entry::Argument(index) => *index as usize,
            Entry::Owned { .. } => 0,
        });
        let by_attribute = |value: &Value| {
            self.points(value).iter().any(|at| detached.attributes.contains(&at.object))
        };
        targets.into_iter().any(|target| detached.starts.contains(target))
            || (!detached.attributes.is_empty() && others.any(by_attribute))
    }

    /// The thread cannot be waited for any more by this handle. Which one that is need not be known
    /// where a thread detaches itself: then nothing was told apart by it.
    pub(super) fn detach(&mut self, inst: u32, handle: &Value, paths: &mut [Path]) {
        if is_itself(self.env.program, self.function, handle) {
            return;
        }
        let place = self.handle_place(inst, handle, false);
        for path in paths {
            path.overwrite(place.as_ref(), None);
            path.threads.revise(Parts::VALUE, |_, live| {
                live.value.is_some().then(|| Live { value: None, ..live.clone() })
            });
        }
    }

    /// How far apart the arguments are with which the same call is made twice, if they differ.
    pub(super) fn apart(&mut self, call: u32, argument: &Sym) -> Option<i64> {
        let atoms: Vec<(u32, i64)> = argument
            .terms
            .iter()
            .filter_map(|(atom, scale)| match atom {
                Atom::Inst(LOCAL, inst) => Some((*inst, *scale)),
                _ => None,
            })
            .collect();
        if let [(inst, 1)] = atoms.as_slice()
            && self.is_allocation(*inst)
            && self.is_anew(*inst, call)
        {
            return Some(i64::MAX);
        }
        let mut counters = atoms.iter().filter_map(|(inst, scale)| {
            let counter = self.induction_of(*inst)?;
            Some((*inst, counter.step.wrapping_mul(*scale).wrapping_abs(), counter.index))
        });
        let (Some((phi, apart, index)), None) = (counters.next(), counters.next()) else {
            return None;
        };
        drop(counters);
        // An array that was allocated before the loop is the same in all of its rounds.
        let body = &self.cfg.loops[index as usize];
        let varies = |inst: u32| body.contains(self.cfg.block_of[inst as usize]);
        let others_vary = argument.terms.iter().any(|(atom, _)| match atom {
            Atom::Inst(LOCAL, inst) => *inst != phi && varies(*inst),
            atom => Sym::atom(atom.clone())
                .mentions(&|inner| matches!(inner, Atom::Inst(_, inst) if varies(*inst))),
        });
        (!others_vary).then_some(apart)
    }

    /// Whether the instruction is executed between any two executions of the call.
    fn is_anew(&self, inst: u32, call: u32) -> bool {
        let (blocks, cfg) = (&self.function.blocks, self.cfg);
        let mut seen = vec![false; blocks.len()];
        let mut open = vec![call + 1];
        while let Some(from) = open.pop() {
            let block = cfg.block_of[from as usize];
            let rest = from..blocks[block as usize].end.0;
            if rest.contains(&inst) && !(rest.contains(&call) && call < inst) {
                continue;
            }
            if rest.contains(&call) {
                return false;
            }
            for &to in &cfg.successors[block as usize] {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    open.push(blocks[to as usize].start.0);
                }
            }
        }
        true
    }
}
