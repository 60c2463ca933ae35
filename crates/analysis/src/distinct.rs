//! Guarded accesses without repetition: a function that many contexts enter makes most of its
//! accesses in the same way in many of them.

use std::sync::Arc;

use racewarden_finding::AccessKind;
use racewarden_ir::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contexts::GuardedAccess;
use crate::pointsto::Location;
use crate::state::Path;
use crate::sym::Sym;
use crate::threads::RootId;

type StateId = u32;

type AccessKey = ((u32, u8, AccessKind, bool, u64), Option<Sym>, StateId, bool);

/// Accesses that differ, with equal parts shared between them.
#[derive(Default)]
pub struct Distinct {
    pub accesses: Vec<GuardedAccess>,
    /// Who makes the accesses that are taken in now, and which of them are known.
    maker: Option<(RootId, FunctionId)>,
    seen: FxHashSet<AccessKey>,
    /// States by what excludes others in them.
    states: FxHashMap<Path, StateId>,
    whole_states: FxHashSet<Arc<Path>>,
    locations: FxHashSet<Arc<[Location]>>,
    /// The state of the access before, which mostly is this one's, too.
    last: Option<(Arc<Path>, Arc<Path>, StateId)>,
}

impl Distinct {
    /// Takes an access made through the given operand, unless it is known. All accesses that one
    /// thread makes in one function come one after the other.
    pub fn add(&mut self, operand: u8, mut access: GuardedAccess) {
        let (state, id) = match &self.last {
            Some((seen, state, id)) if Arc::ptr_eq(seen, &access.state) => (state.clone(), *id),
            _ => self.state(&access.state),
        };
        self.last = Some((access.state.clone(), state.clone(), id));
        let maker = Some((access.root, access.function));
        if self.maker != maker {
            self.maker = maker;
            self.seen.clear();
        }
        let key = (
            (access.inst, operand, access.kind, access.atomic, access.size),
            access.address.clone(),
            id,
            access.private,
        );
        if !self.seen.insert(key) {
            return;
        }
        access.state = state;
        access.locations = match self.locations.get(&access.locations) {
            Some(known) => known.clone(),
            None => {
                self.locations.insert(access.locations.clone());
                access.locations
            }
        };
        self.accesses.push(access);
    }

    fn state(&mut self, state: &Arc<Path>) -> (Arc<Path>, StateId) {
        let next = self.states.len() as StateId;
        let id = *self.states.entry(state.guarding()).or_insert(next);
        match self.whole_states.get(state) {
            Some(known) => (known.clone(), id),
            None => {
                self.whole_states.insert(state.clone());
                (state.clone(), id)
            }
        }
    }
}
