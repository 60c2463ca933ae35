//! Locks that keep new threads waiting until their creator is ready.
//!
//! A thread starts others while it holds a lock, and each of them takes the lock before it goes on.
//! None of them gets it before the creator has let go of it for the first time, so what they do after
//! that comes after all that the creator did before: a hand-off, told by the first release.
//!
//! The lock must be one object that every release names exactly, and held at every call that creates
//! such a thread. Whoever only tries to take it, or looks at the result, is told nothing.

use racewarden_finding::LockMode;
use racewarden_ir::Value;
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Event, Scan};
use super::handoff::{Handoff, is_used};
use super::timeline::NodeId;
use super::{Facts, is_single};
use crate::contexts::Instantiation;
use crate::digests::Whole;
use crate::effects::{Effect, LockName, Success};
use crate::pointsto::{CallSite, Location, may_overlap};
use crate::threads::{MAIN, RootId};

/// Calls that take or release a lock before it counts as too busy to be a door.
const MAX_CALLS: usize = 32;

/// The locks that are held wherever threads of the root are created.
fn held_at_birth(
    instantiation: &Instantiation<'_>,
    singletons: &[bool],
    root: RootId,
) -> Vec<Location> {
    let mut common: Option<Vec<Location>> = None;
    for (_, state) in &instantiation.threads.roots[root as usize].births {
        let held = state.held.iter().filter(|held| held.mode == LockMode::Write);
        let places: Vec<Location> = held
            .filter_map(|held| match &*held.points {
                [at] if at.stride == 0 && singletons[at.object as usize] => Some(*at),
                _ => None,
            })
            .collect();
        match &mut common {
            None => common = Some(places),
            Some(common) => common.retain(|at| places.contains(at)),
        }
    }
    common.unwrap_or_default()
}

/// What is known of the locks that may be doors while events are gathered.
#[derive(Debug, Default)]
pub struct Doors {
    places: Vec<Location>,
    /// Some call may release it that cannot be told.
    open: FxHashSet<Location>,
    calls: FxHashMap<Location, Vec<CallSite>>,
}

impl Doors {
    pub fn new(instantiation: &Instantiation<'_>, singletons: &[bool]) -> Doors {
        let roots = 0..instantiation.threads.roots.len() as RootId;
        let mut places: Vec<Location> = roots
            .filter(|root| *root != MAIN)
            .flat_map(|root| held_at_birth(instantiation, singletons, root))
            .collect();
        places.sort_unstable();
        places.dedup();
        Doors { places, ..Doors::default() }
    }

    /// Locks that are not doors, with what was found to be done to them.
    pub fn give_up(&self) -> impl Iterator<Item = CallSite> + '_ {
        let busy = |at: &Location, calls: &Vec<CallSite>| {
            self.open.contains(at) || calls.len() > MAX_CALLS
        };
        self.calls
            .iter()
            .filter(move |(at, calls)| busy(at, calls))
            .flat_map(|(_, calls)| calls)
            .copied()
    }
}

impl Scan<'_> {
    /// Notes what a call does to a lock that may be a door.
    pub(super) fn door(&mut self, site: CallSite, effect: &Effect, arguments: &[Value]) {
        let (Effect::Lock { lock, .. } | Effect::Unlock { lock } | Effect::Wait { lock }) = effect
        else {
            return;
        };
        if self.doors.places.is_empty() {
            return;
        }
        let takes = matches!(effect, Effect::Lock { .. });
        let (index, bytes) = match lock {
            LockName::Argument(index) => (*index, 0),
            LockName::Field(index, bytes) => (*index, *bytes as i64),
            LockName::Program(_) | LockName::Global(_) => return,
            LockName::Loaded(..) => {
                if !takes {
                    self.doors.open.extend(self.doors.places.iter());
                }
                return;
            }
        };
        let Some(value) = arguments.get(index as usize) else { return };
        let mut points = self.points(site.0, value).to_vec();
        points.iter_mut().for_each(|at| at.offset += bytes);
        let blob = self.instantiation.points.blob().object;
        let vague = points.is_empty() || points.iter().any(|at| at.object == blob);
        let exact = match points.as_slice() {
            [at] if self.doors.places.contains(at) => Some(*at),
            _ => None,
        };
        match (exact, effect) {
            (Some(at), Effect::Lock { success, .. }) => {
                let certain = matches!(success, Success::Always | Success::ZeroIfChecked);
                if certain {
                    self.events_at(site, Event::Enter(at));
                    self.doors.calls.entry(at).or_default().push(site);
                }
            }
            (Some(at), _) => {
                self.events_at(site, Event::Leave(at));
                self.doors.calls.entry(at).or_default().push(site);
            }
            (None, Effect::Lock { .. }) => {}
            (None, _) => {
                let may_be = |at: &&Location| {
                    vague || points.iter().any(|own| may_overlap(*own, 1, **at, 1))
                };
                let open: Vec<Location> =
                    self.doors.places.iter().filter(may_be).copied().collect();
                self.doors.open.extend(open);
            }
        }
    }
}

pub fn find(whole: &Whole<'_>, facts: &Facts) -> Vec<Handoff> {
    let instantiation = whole.instantiation;
    let mut found = Vec::new();
    for root in 0..instantiation.threads.roots.len() as RootId {
        let births = &instantiation.threads.roots[root as usize].births;
        let Some((owner, _)) = births.first() else { continue };
        if births.iter().any(|(parent, _)| parent != owner) || !is_single(whole, *owner) {
            continue;
        }
        let (Some(own), Some(timeline)) = (facts.timelines.get(owner), facts.timelines.get(&root))
        else {
            continue;
        };
        for door in held_at_birth(instantiation, &whole.singletons, root) {
            let is_broken = whole.broken.iter().any(|at| may_overlap(*at, 1, door, 1));
            let enters = |id: NodeId| {
                let node = &timeline.nodes[id as usize];
                node.event == Some(Event::Enter(door))
                    && !is_used(whole, (node.function, node.start))
            };
            let leaves = own.events().filter(|(_, event)| **event == Event::Leave(door));
            let tells: Vec<NodeId> = leaves.map(|(id, _)| id).collect();
            // Without a release among the events the lock is none that was followed.
            if is_broken || tells.is_empty() {
                continue;
            }
            let start = (!enters(0)).then_some(0);
            let reached = timeline.reach(start, |_, _, to| !enters(to));
            let told: Vec<bool> = reached.into_iter().map(|reached| !reached).collect();
            let announced = own.reach(tells.iter().copied(), |_, _, _| true);
            let told = FxHashMap::from_iter([(root, told)]);
            found.push(Handoff { owner: Some(*owner), announced, told, tells });
        }
    }
    found
}
