//! Globals that have their last value: a number of threads is mostly one.
//!
//! A program reads how many threads it is to start, sets a barrier up for as many and starts them. The
//! two counts are loads of one global, which are equal if nothing is written to it in between. Nothing
//! is while threads run (the loads are stable). Of what comes before, two things are asked: a load must
//! not come before a write of its own function, which runs once, and no other function writes; or it
//! stands in the very loop that creates the threads. In such a loop only the first load comes before the
//! first thread, and if a write came after that load it would come while there are threads.

use racewarden_ir::{FunctionId, Op};

use crate::cfg::Cfg;
use crate::contexts::Instantiation;
use crate::pointsto::{Location, ObjectKind};
use crate::sharing::MOST_WRITES;
use crate::sym::{Oracle, Sym};

/// Knows the loads of one function that read a global's last value.
pub struct Settled<'a> {
    pub instantiation: &'a Instantiation<'a>,
    /// Runs once.
    pub function: FunctionId,
    pub cfg: &'a Cfg,
    /// A block of the loop that creates the threads.
    pub creating: Option<u32>,
}

impl Oracle for Settled<'_> {
    fn is_stable(&self, inst: u32) -> bool {
        let instantiation = self.instantiation;
        let Some(sharing) = instantiation.sharing else { return false };
        let op = instantiation.bodies.op((self.function, inst));
        let Some(Op::Load { address, .. }) = op.as_deref() else { return false };
        let places = instantiation.points.value(&instantiation.bodies, self.function, address);
        let [Location { object, stride: 0, .. }] = &*places else { return false };
        let kind = instantiation.points.locations().objects[*object as usize];
        matches!(kind, ObjectKind::Global(_))
            && sharing.stable.contains(&(self.function, inst))
            && !instantiation.points.in_blob(*object)
            && (self.is_creating(inst)
                || instantiation.writes_of(*object).is_none_or(|writes| {
                    writes.len() <= MOST_WRITES
                        && writes.iter().all(|write| {
                            write.0 == self.function && !self.comes_after(write.1, inst)
                        })
                }))
    }

    fn result_of(&self, _: u32) -> Option<Sym> {
        None
    }

    fn is_fresh(&self, _: u32) -> bool {
        false
    }
}

impl Settled<'_> {
    /// Whether the instruction stands in the innermost loop that creates the threads.
    fn is_creating(&self, inst: u32) -> bool {
        let block = self.cfg.block_of[inst as usize];
        self.creating.is_some_and(|creating| {
            let mut loops = self.cfg.loops.iter().filter(|own| own.contains(creating));
            loops.next().is_some_and(|own| own.contains(block)) && loops.next().is_none()
        })
    }

    /// Whether the one instruction may run after the other.
    fn comes_after(&self, later: u32, earlier: u32) -> bool {
        let block = |inst: u32| self.cfg.block_of[inst as usize];
        if block(later) == block(earlier) && later > earlier {
            return true;
        }
        let mut seen = vec![false; self.cfg.successors.len()];
        let mut stack = self.cfg.successors[block(earlier) as usize].clone();
        while let Some(own) = stack.pop() {
            if own == block(later) {
                return true;
            }
            if !std::mem::replace(&mut seen[own as usize], true) {
                stack.extend(self.cfg.successors[own as usize].iter().copied());
            }
        }
        false
    }
}
