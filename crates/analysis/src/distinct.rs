//! Guarded accesses without repetition: a function that many contexts enter makes most of its
//! accesses in the same way in many of them.
//!
//! What one thread does in one function is looked through on its own ([`Made`]), so that many of
//! them can be at once; what is left shares its equal parts with all the rest ([`Distinct`]).

use std::sync::Arc;

use racewarden_finding::AccessKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::contexts::GuardedAccess;
use crate::lives::Lives;
use crate::pointsto::Location;
use crate::shared::Pool;
use crate::state::Path;
use crate::sym::Sym;

type StateId = u32;

type AccessKey = ((u32, u8, AccessKind, bool, u64), Option<Sym>, StateId, bool);

/// The accesses that differ of those which one thread makes in one function.
#[derive(Default)]
pub struct Made {
    accesses: Vec<GuardedAccess>,
    seen: FxHashSet<AccessKey>,
    /// States by what excludes others in them.
    states: FxHashMap<Path, StateId>,
    /// The state of the access before, which mostly is this one's, too.
    last: Option<(Arc<Path>, StateId)>,
}

impl Made {
    /// Takes an access made through the given operand, unless it is known.
    pub fn add(&mut self, operand: u8, access: GuardedAccess) {
        let id = match &self.last {
            Some((seen, id)) if Arc::ptr_eq(seen, &access.state) => *id,
            _ => {
                let next = self.states.len() as StateId;
                *self.states.entry(access.state.guarding()).or_insert(next)
            }
        };
        self.last = Some((access.state.clone(), id));
        let key = (
            (access.inst, operand, access.kind, access.atomic, access.size),
            access.address.clone(),
            id,
            access.private,
        );
        if self.seen.insert(key) {
            self.accesses.push(access);
        }
    }

    pub fn into_accesses(self) -> Vec<GuardedAccess> {
        self.accesses
    }
}

/// A value, and the equal one that is kept for it.
type Became<T> = Option<(Arc<T>, Arc<T>)>;

/// Accesses with equal parts shared between them.
#[derive(Default)]
pub struct Distinct {
    pub accesses: Vec<GuardedAccess>,
    states: FxHashSet<Arc<Path>>,
    /// States that differ in their locks mostly have the same threads.
    threads: Pool<Lives>,
    locations: FxHashSet<Arc<[Location]>>,
    /// What the parts of the access before, which mostly are this one's, became.
    last_state: Became<Path>,
    last_locations: Became<[Location]>,
}

impl Distinct {
    /// States that are equal to this one are to be one with it in memory.
    pub fn know(&mut self, state: &Arc<Path>) {
        self.states.insert(state.clone());
    }

    pub fn add(&mut self, mut access: GuardedAccess) {
        let threads = &mut self.threads;
        access.state = shared(&mut self.states, &mut self.last_state, &access.state, |state| {
            let mut state = Path::clone(state);
            threads.share(&mut state.threads);
            Arc::new(state)
        });
        access.locations =
            shared(&mut self.locations, &mut self.last_locations, &access.locations, Arc::clone);
        self.accesses.push(access);
    }

    /// Lets go of what was only kept to be recognised.
    pub fn rest(&mut self) {
        (self.last_state, self.last_locations) = (None, None);
        self.threads.forget();
    }
}

/// The value that is equal to this one and known already, so that both are one in memory. `kept`
/// makes one to be known from now on.
fn shared<T: ?Sized + Eq + std::hash::Hash>(
    known: &mut FxHashSet<Arc<T>>,
    last: &mut Became<T>,
    value: &Arc<T>,
    kept: impl FnOnce(&Arc<T>) -> Arc<T>,
) -> Arc<T> {
    if let Some((seen, same)) = last
        && Arc::ptr_eq(seen, value)
    {
        return same.clone();
    }
    let same = match known.get(value) {
        Some(same) => same.clone(),
        None => {
            let kept = kept(value);
            known.insert(kept.clone());
            kept
        }
    };
    *last = Some((value.clone(), same.clone()));
    same
}
