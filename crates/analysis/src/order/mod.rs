//! Order between threads that is neither creation, joining nor a lock: barrier phases, semaphores,
//! flags that are set after and seen before, and words or semaphores that serve as locks.
//!
//! RELAY and paper 2 leave all of these out. Each is decided on the whole control flow of the
//! threads concerned ([`timeline`]); where one of the conditions stated there does not hold, nothing
//! is excluded.

mod barriers;
mod bits;
mod crew;
mod doors;
mod draws;
mod events;
mod exclusive;
mod flags;
mod guarded;
mod handoff;
mod initial;
mod interleaving;
mod monitors;
mod overlaps;
mod perhaps;
mod sections;
mod settled;
mod steps;
mod tally;
mod tickets;
mod timeline;
mod values;

use std::sync::{Arc, OnceLock, RwLock};

use racewarden_ir::FunctionId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callgraph::effects_of_call;
use crate::contexts::{Context, GuardedAccess, Instantiation};
use crate::digests::{Digest, Whole};
use crate::effects::Effect;
use crate::pointsto::{CallSite, Location};
use crate::state::CreateId;
use crate::sym::Sym;
use crate::threads::{MAIN, RootId};
use events::{Event, Events};
use timeline::{NodeId, Timeline};
pub use values::MAX_INSTRUCTIONS;

/// What is known of the order of threads, computed when a pair first asks.
#[derive(Default)]
pub struct Orders {
    facts: OnceLock<Facts>,
}

#[derive(Default)]
struct Facts {
    events: Events,
    timelines: FxHashMap<RootId, Timeline>,
    /// Roots that run an event and could not be laid out.
    lost: FxHashSet<RootId>,
    runners: FxHashMap<FunctionId, Vec<RootId>>,
    /// The accesses that one instruction makes.
    accesses: FxHashMap<CallSite, Vec<u32>>,
    handoffs: Vec<handoff::Handoff>,
    tallies: Vec<tally::Tally>,
    exclusives: Vec<exclusive::Exclusive>,
    monitors: Vec<monitors::Monitor>,
    barriers: Vec<barriers::Phases>,
    places: Places,
    interleavings: interleaving::Known,
}

/// Where accesses stand on their thread's timeline, as far as it was asked for; `None` for those
/// that have no certain place.
type Places = RwLock<FxHashMap<(RootId, FunctionId, u32), Option<Arc<[NodeId]>>>>;

impl Orders {
    /// Words that hold one number for as long as anybody but their maker knows them.
    pub fn constants(&self, whole: &Whole<'_>) -> &FxHashMap<(Location, u64), u64> {
        &self.facts.get_or_init(|| Facts::new(whole)).events.constants
    }

    /// Whether a barrier lies between the two places, to which the threads of one root come by these
    /// calls.
    pub fn in_phases(
        &self,
        whole: &Whole<'_>,
        root: RootId,
        a: &[CallSite],
        b: &[CallSite],
    ) -> bool {
        let facts = self.facts.get_or_init(|| Facts::new(whole));
        !facts.barriers.is_empty() && steps::are_in_phases(facts, root, a, b)
    }

    /// Whether two threads of the root that are at these places at once are in one round of the loop
    /// that begins there, in the function that they start in.
    pub fn in_step(
        &self,
        whole: &Whole<'_>,
        root: RootId,
        header: CallSite,
        is_in_loop: &dyn Fn(u32) -> bool,
        (a, b): (&[CallSite], &[CallSite]),
    ) -> bool {
        let facts = self.facts.get_or_init(|| Facts::new(whole));
        !facts.barriers.is_empty() && steps::are_in_step(facts, root, header, is_in_loop, (a, b))
    }

    /// The two accesses on their threads' timelines, with what is known of those.
    fn stands(
        &self,
        a: &GuardedAccess,
        b: &GuardedAccess,
        whole: &Whole<'_>,
        concerns: impl Fn(&Facts) -> bool,
    ) -> Option<(&Facts, Stand, Stand)> {
        let facts = self.facts.get_or_init(|| Facts::new(whole));
        // Where an access stands is not cheap to find.
        if !concerns(facts) {
            return None;
        }
        Some((facts, facts.stand(a)?, facts.stand(b)?))
    }
}

/// Words and semaphores that serve as locks.
pub struct Exclusives;

impl Digest for Exclusives {
    fn name(&self) -> &'static str {
        "exclusive"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let any = |facts: &Facts| !facts.exclusives.is_empty() || !facts.monitors.is_empty();
        let (facts, x, y) = whole.orders.stands(a, b, whole, any)?;
        if facts.exclusives.iter().any(|word| word.covers(&x) && word.covers(&y)) {
            return Some(
                "both accesses are made while holding a word or semaphore that only one thread can \
                 hold"
                    .to_owned(),
            );
        }
        facts.monitors.iter().any(|monitor| monitor.excludes(&x, &y)).then(|| {
            "one thread has to wait while a word or count says that the other is there".to_owned()
        })
    }
}

pub use draws::{Drawn, Draws};

/// Told by a semaphore or a flag.
pub struct Handoffs;

impl Digest for Handoffs {
    fn name(&self) -> &'static str {
        "hand-off"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let (facts, x, y) = whole.orders.stands(a, b, whole, |_| true)?;
        if facts.handoffs.iter().any(|h| h.orders(&x, &y) || h.orders(&y, &x)) {
            return Some(
                "one thread goes on to its access only when told to, after the other's".to_owned(),
            );
        }
        let through = |x: &Stand, y: &Stand| {
            let late: Vec<_> = facts.handoffs.iter().filter(|h| h.passes_on_to(y)).collect();
            let is_first =
                |first: &handoff::Handoff| late.iter().any(|later| first.orders_through(later, x));
            !late.is_empty() && facts.handoffs.iter().any(is_first)
        };
        if through(&x, &y) || through(&y, &x) {
            return Some("a third thread comes between, told and telling".to_owned());
        }
        if facts.tallies.iter().any(|tally| tally.orders(&x, &y) || tally.orders(&y, &x)) {
            return Some("one thread goes on to its access only when all have counted".to_owned());
        }
        let published = handoff::is_published(whole, facts, (&x, a), b)
            || handoff::is_published(whole, facts, (&y, b), a);
        published.then(|| "one thread learns of the place only after the other's access".to_owned())
    }
}

/// Two threads that keep each other out by words that they set and look at in turn.
pub struct Interleavings;

impl Digest for Interleavings {
    fn name(&self) -> &'static str {
        "exclusive"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let many = |access: &GuardedAccess| whole.root(access.root).many;
        if a.root == b.root || many(a) || many(b) {
            return None;
        }
        let looks = |facts: &Facts| facts.events.words.iter().any(|word| !word.looks.is_empty());
        let (facts, x, y) = whole.orders.stands(a, b, whole, looks)?;
        interleaving::never_meet(whole, facts, &x, &y)
            .then(|| "no order of what the two threads do to words has both there".to_owned())
    }
}

/// In different phases of a barrier.
pub struct Barriers;

impl Digest for Barriers {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let (facts, x, y) = whole.orders.stands(a, b, whole, |facts| !facts.barriers.is_empty())?;
        facts
            .barriers
            .iter()
            .any(|phases| phases.separates(&x, &y))
            .then(|| "a barrier lies between the two accesses".to_owned())
    }
}

/// Whether the team of both accesses waits for all of its members between them.
pub fn team_waits_between(a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> bool {
    let of_team = |facts: &Facts| facts.barriers.iter().any(|phases| phases.of_team);
    let Some((facts, x, y)) = whole.orders.stands(a, b, whole, of_team) else { return false };
    facts.barriers.iter().any(|phases| phases.of_team && phases.separates(&x, &y))
}

/// An access on its thread's timeline.
struct Stand {
    root: RootId,
    site: CallSite,
    nodes: Arc<[NodeId]>,
    /// It is part of a call that waits or tells.
    at_event: bool,
}

impl Facts {
    fn new(whole: &Whole<'_>) -> Facts {
        let instantiation = whole.instantiation;
        let mut facts = Facts::default();
        if instantiation.effects.jumps {
            return facts;
        }
        // What they are depends on what is done to words anywhere.
        instantiation.all_accesses();
        facts.events = Events::new(instantiation, &whole.singletons);
        if facts.events.is_empty() {
            return facts;
        }
        for context in &instantiation.contexts {
            let list = facts.runners.entry(context.function).or_default();
            if !list.contains(&context.root) {
                list.push(context.root);
            }
        }
        for (number, access) in (0u32..).zip(instantiation.all_accesses()) {
            facts.accesses.entry((access.function, access.inst)).or_default().push(number);
        }
        let concerned: FxHashSet<RootId> = facts
            .events
            .sites()
            .flat_map(|(site, _)| facts.runners.get(&site.0).into_iter().flatten().copied())
            .collect();
        for root in concerned {
            let starts = starts(instantiation, root);
            let runs = |function| facts.runners(function).contains(&root);
            match Timeline::new(instantiation, &facts.events, &starts, &runs) {
                Some(timeline) => {
                    facts.timelines.insert(root, timeline);
                }
                None => {
                    facts.lost.insert(root);
                }
            }
        }
        facts.handoffs = handoff::find(whole, &facts);
        facts.handoffs.extend(doors::find(whole, &facts));
        facts.tallies = tally::find(whole, &facts);
        facts.tallies.extend(crew::find(whole, &facts));
        facts.exclusives = exclusive::find(whole, &facts);
        facts.monitors = monitors::find(whole, &facts);
        facts.barriers = barriers::find(whole, &facts);
        facts
    }

    fn stand(&self, access: &GuardedAccess) -> Option<Stand> {
        let timeline = self.timelines.get(&access.root)?;
        let at_event = matches!(
            self.events.at(access.function, access.inst),
            Some(
                Event::Wait(_)
                    | Event::Post(_)
                    | Event::Send(_)
                    | Event::Receive(_)
                    | Event::Announce
                    | Event::Await
                    | Event::Barrier(_)
                    | Event::Team
                    | Event::Enter(_)
                    | Event::Leave(_)
            )
        );
        let inst = if timeline.lays_out(access.function) { access.inst } else { u32::MAX };
        let key = (access.root, access.function, inst);
        let known = self.places.read().ok().and_then(|places| places.get(&key).cloned());
        let nodes = known.unwrap_or_else(|| {
            let nodes = timeline.positions(&self.events, access.function, access.inst);
            let live = nodes.iter().all(|node| timeline.live[*node as usize]);
            let nodes: Option<Arc<[NodeId]>> = (live && !nodes.is_empty()).then(|| nodes.into());
            if let Ok(mut places) = self.places.write() {
                places.insert(key, nodes.clone());
            }
            nodes
        });
        let site = (access.function, access.inst);
        Some(Stand { root: access.root, site, nodes: nodes?, at_event })
    }

    /// The roots that run the function.
    fn runners(&self, function: FunctionId) -> &[RootId] {
        self.runners.get(&function).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What the root's thread runs first, one after the other.
fn starts(instantiation: &Instantiation<'_>, root: RootId) -> Vec<FunctionId> {
    let mut starts = Vec::new();
    for context in instantiation.contexts.iter().filter(|context| context.root == root) {
        let is_entry = context
            .parent
            .is_none_or(|(parent, _)| instantiation.contexts[parent as usize].root != root);
        if is_entry && !starts.contains(&context.function) {
            starts.push(context.function);
        }
    }
    starts
}

/// Whether just one thread ever runs this root, and once.
fn is_single(whole: &Whole<'_>, root: RootId) -> bool {
    let roots = &whole.instantiation.threads.roots;
    let mut root = root;
    // A thread that starts its own kind would go round for ever.
    for _ in 0..roots.len() {
        if root == MAIN {
            return true;
        }
        let data = &roots[root as usize];
        let (Some(create), [(parent, _)]) = (&data.create, data.births.as_slice()) else {
            return false;
        };
        if data.many || !starts_one(whole, create.site) || !is_created_once(whole, *parent, create)
        {
            return false;
        }
        root = *parent;
    }
    false
}

/// Whether the call starts one thread, and is not the registration of a handler.
fn starts_one(whole: &Whole<'_>, site: CallSite) -> bool {
    let instantiation = whole.instantiation;
    let Some(callee) = instantiation.bodies.callee(site) else { return false };
    effects_of_call(instantiation.effects, instantiation.points, site, callee)
        .any(|effect| matches!(effect, Effect::Create { extent, .. } if !extent.many))
}

/// Whether a thread of the root runs the instruction at most once.
pub fn entered_once(whole: &Whole<'_>, root: RootId, site: CallSite) -> bool {
    let contexts = &whole.instantiation.contexts;
    let own = contexts.iter().filter(|c| c.function == site.0 && c.root == root);
    !whole.instantiation.graph.is_in_cycle(site.0, site.1) && is_one(whole, own)
}

/// The same for a create call, which the calls that lead to it tell apart.
fn is_created_once(whole: &Whole<'_>, root: RootId, create: &CreateId) -> bool {
    let (contexts, site) = (&whole.instantiation.contexts, create.site);
    let own = contexts.iter().filter(|context| {
        context.function == site.0
            && context.root == root
            && CreateId::new(site).called_from(&context.chain) == *create
    });
    !whole.instantiation.graph.is_in_cycle(site.0, site.1) && is_one(whole, own)
}

/// Whether there is just one context, entered once, as are those that lead to it.
fn is_one<'a>(whole: &Whole<'_>, mut own: impl Iterator<Item = &'a Context>) -> bool {
    let contexts = &whole.instantiation.contexts;
    let (Some(first), None) = (own.next(), own.next()) else { return false };
    let mut context = first;
    loop {
        if context.entered != 1 || context.merged {
            return false;
        }
        match context.parent {
            Some((parent, _)) if contexts[parent as usize].root == first.root => {
                context = &contexts[parent as usize];
            }
            _ => return true,
        }
    }
}

/// Whether only the program's first thread runs the instruction, and once.
fn runs_once(whole: &Whole<'_>, facts: &Facts, site: CallSite) -> bool {
    facts.runners(site.0) == [MAIN] && entered_once(whole, MAIN, site)
}

/// The count that a barrier or semaphore is set up with, where that happens once.
fn set_up_count(whole: &Whole<'_>, facts: &Facts, place: Location) -> Option<Sym> {
    let [(site, Some(count))] = facts.events.setups.get(&place)?.calls.as_slice() else {
        return None;
    };
    if !runs_once(whole, facts, *site) {
        return None;
    }
    barriers::count_of(whole, site.0, count)
}
