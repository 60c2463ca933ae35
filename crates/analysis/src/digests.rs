//! Exclusion digests: each can show, alone, that two accesses never race, and says why.
//!
//! A pair is a candidate only if no digest excludes it. The order of [`DIGESTS`] is the order of
//! cost and of how much a reason tells; the first that applies gives the reason that is counted.

use std::sync::Arc;

use racewarden_finding::{AccessKind, LockMode};
use racewarden_ir::Op;

use crate::callgraph::effects_of_call;
use crate::contexts::{GuardedAccess, Instantiation};
use crate::dependences::Dependences;
use crate::effects::{Effect, HandlerKind};
use crate::order::{Barriers, Drawn, Draws, Exclusives, Handoffs, Interleavings, Orders};
use crate::owners::{LastOwner, Owners};
use crate::parts::{KnownWays, Parts};
use crate::pointsto::{Location, ObjectKind};
use crate::ranges::{Flows, Ranges};
use crate::shares::{Handed, Shares};
use crate::state::{Held, NOWHERE};
use crate::sym::{Atom, Frame, Sym};
use crate::tasks::TeamTasks;
use crate::team::TeamShare;
use crate::threads::{Gathered, MAIN, RootId, Standing};

pub trait Digest: Sync {
    /// The reason as reports count it.
    fn name(&self) -> &'static str;
    /// What the answer depends on: it is asked once for all accesses that share it.
    fn reads(&self) -> Reads {
        Reads::Access
    }
    /// Why the two cannot race, if this digest can tell.
    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String>;
}

/// The part of an access that a digest looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Whether it is atomic, private, and by a name of its own thread's memory.
    Flags,
    /// Its root, and all of its state but the locks held.
    Thread,
    /// The locks held.
    Locks,
    /// Anything.
    Access,
}

/// What digests may look at.
pub struct Whole<'a> {
    pub instantiation: &'a Instantiation<'a>,
    /// Contexts that are entered once in the program's whole run.
    pub unique: Vec<bool>,
    /// Objects that exist once.
    pub singletons: Vec<bool>,
    /// Where locks are that exclude nobody.
    pub broken: Vec<Location>,
    /// Where the handle of each root that was created once is stored.
    pub(crate) handles: Vec<Option<Sym>>,
    /// By root, those that it has waited for wherever it ends.
    pub(crate) waited: Vec<Vec<RootId>>,
    pub orders: Orders,
    pub flows: Flows,
    pub handed: Handed,
    pub drawn: Drawn,
    pub owners: Owners,
    pub(crate) ways: KnownWays,
}

pub const DIGESTS: &[&dyn Digest] = &[
    &BothAtomic,
    &SignalFlag,
    &LockWord,
    &ThreadOrder,
    &ThreadLocal,
    &Ownership,
    &NamedLock,
    &CreatorFrame,
    &ThreadArgument,
    &TeamShare,
    &TeamTasks,
    &Dependences,
    &CommonLock,
    &AcquisitionHistory,
    &LastOwner,
    &Ranges,
    &Shares,
    &Draws,
    &Exclusives,
    &Handoffs,
    &Barriers,
    &Interleavings,
    &Parts,
];

/// The first digest that excludes the pair, by its number in [`DIGESTS`], and why.
pub fn exclusion(
    a: &GuardedAccess,
    b: &GuardedAccess,
    whole: &Whole<'_>,
) -> Option<(usize, String)> {
    (0..)
        .zip(DIGESTS)
        .find_map(|(number, digest)| digest.excludes(a, b, whole).map(|why| (number, why)))
}

/// The number of the first digest that looks at this part of the accesses and excludes them.
pub fn exclusion_by(
    part: Reads,
    a: &GuardedAccess,
    b: &GuardedAccess,
    whole: &Whole<'_>,
) -> Option<usize> {
    DIGESTS
        .iter()
        .position(|digest| digest.reads() == part && digest.excludes(a, b, whole).is_some())
}

impl<'a> Whole<'a> {
    pub fn new(instantiation: &'a Instantiation<'a>) -> Self {
        let contexts = &instantiation.contexts;
        let mut unique = vec![false; contexts.len()];
        for (id, context) in contexts.iter().enumerate() {
            unique[id] = context.root == MAIN
                && context.entered == 1
                && context.parent.is_none_or(|(parent, _)| unique[parent as usize]);
        }
        // A function entered in two contexts runs twice, whatever each context's count.
        let mut activations: rustc_hash::FxHashMap<_, u32> = rustc_hash::FxHashMap::default();
        let mut first: rustc_hash::FxHashMap<_, usize> = rustc_hash::FxHashMap::default();
        for (id, context) in contexts.iter().enumerate() {
            *activations.entry(context.function).or_default() += context.entered;
            first.entry(context.function).or_insert(id);
        }
        let objects = &instantiation.points.locations().objects;
        let singletons = objects
            .iter()
            .map(|kind| match kind {
                ObjectKind::Global(global) => !instantiation.bodies.global(*global).thread_local,
                ObjectKind::Stack(function, inst) | ObjectKind::Heap(function, inst) => {
                    activations.get(function) == Some(&1)
                        && !instantiation.graph.is_in_cycle(*function, *inst)
                        && first.get(function).is_some_and(|&id| unique[id])
                }
                _ => false,
            })
            .collect();
        let mut broken = crate::misuse::foreign_releases(instantiation);
        broken.extend(crate::team::locks_of_leagues(instantiation));
        let (handles, orders) = (Vec::new(), Orders::default());
        let (flows, handed, drawn) = (Flows::default(), Handed::default(), Drawn::default());
        let mut whole = Whole {
            instantiation,
            unique,
            singletons,
            broken,
            handles,
            waited: Vec::new(),
            orders,
            flows,
            handed,
            drawn,
            owners: Owners::new(instantiation),
            ways: KnownWays::default(),
        };
        let roots = 0..instantiation.threads.roots.len() as RootId;
        whole.handles = roots.clone().map(|root| whole.find_handle(root)).collect();
        whole.waited = roots.map(|root| whole.waited_by(root)).collect();
        let reset = crate::misuse::reset_in_use(&whole);
        if !reset.is_empty() {
            whole.broken.extend(reset);
            // What was found by these locks is to be found anew.
            whole.orders = Orders::default();
        }
        whole
    }

    /// Whether the value is the same in every thread.
    pub fn is_invariant(&self, sym: &Sym) -> bool {
        let bodies = &self.instantiation.bodies;
        !sym.mentions(&|atom| match atom {
            Atom::Global(global) => bodies.global(*global).thread_local,
            Atom::Function(_) => false,
            Atom::Stack(frame, inst) | Atom::Inst(frame, inst) => {
                *frame == 0
                    || !self.unique[*frame as usize - 1]
                    || self
                        .instantiation
                        .graph
                        .is_in_cycle(self.instantiation.function_of(*frame), *inst)
            }
            Atom::Load(_) => false,
            Atom::Argument(..) | Atom::Expr(_) => true,
        })
    }

    pub(crate) fn root(&self, id: RootId) -> &crate::threads::Root {
        &self.instantiation.threads.roots[id as usize]
    }

    /// Whether the access is made by a name of memory that belongs to its own thread.
    pub fn is_own(&self, access: &GuardedAccess) -> bool {
        let Some(address) = &access.address else { return false };
        address.terms.iter().any(|(atom, scale)| {
            *scale == 1
                && match atom {
                    Atom::Global(global) => self.instantiation.bodies.global(*global).thread_local,
                    atom => self.instantiation.is_own_atom(access.root, atom),
                }
        })
    }

    /// Whether the access is made by a call with such an effect.
    pub fn calls(&self, access: &GuardedAccess, is: impl Fn(&Effect) -> bool) -> bool {
        let site = (access.function, access.inst);
        let Some(callee) = self.instantiation.bodies.callee(site) else { return false };
        let (effects, points) = (self.instantiation.effects, self.instantiation.points);
        effects_of_call(effects, points, site, callee).any(is)
    }
}

struct BothAtomic;

impl Digest for BothAtomic {
    fn name(&self) -> &'static str {
        "atomic"
    }

    fn reads(&self) -> Reads {
        Reads::Flags
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, _: &Whole<'_>) -> Option<String> {
        (a.atomic && b.atomic).then(|| "both accesses are atomic".to_owned())
    }
}

/// A flag between a thread and the signal handlers that interrupt it: C11 5.1.2.3 and C++
/// [intro.races] let both use an object of type `volatile sig_atomic_t`.
struct SignalFlag;

impl Digest for SignalFlag {
    fn name(&self) -> &'static str {
        "signal flag"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let bodies = &whole.instantiation.bodies;
        let is_flag = |access: &GuardedAccess| {
            matches!(
                bodies.op((access.function, access.inst)).as_deref(),
                Some(
                    Op::Load { volatile: true, size: SIG_ATOMIC, .. }
                        | Op::Store { volatile: true, size: SIG_ATOMIC, .. }
                )
            )
        };
        (is_flag(a) && is_flag(b) && whole.is_one_thread()).then(|| {
            "a signal handler and the only thread share a volatile word of one access".to_owned()
        })
    }
}

/// Bytes of `sig_atomic_t`.
const SIG_ATOMIC: u64 = 4;

impl Whole<'_> {
    /// Whether everything but signal handlers runs in one thread.
    fn is_one_thread(&self) -> bool {
        let instantiation = self.instantiation;
        instantiation.threads.roots.iter().skip(1).all(|root| {
            let Some(create) = &root.create else { return false };
            let Some(callee) = instantiation.bodies.callee(create.site) else { return false };
            let (effects, points) = (instantiation.effects, instantiation.points);
            effects_of_call(effects, points, create.site, callee).all(|effect| {
                !matches!(effect, Effect::Create { .. })
                    && !matches!(effect, Effect::Handler { kind, .. } if *kind != HandlerKind::Signal)
            })
        })
    }
}

/// Using a lock disturbs nothing but its being made anew.
struct LockWord;

impl Digest for LockWord {
    fn name(&self) -> &'static str {
        "lock word"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let apart = |user: &GuardedAccess, other: &GuardedAccess| {
            user.atomic
                && user.kind == AccessKind::Read
                && whole.calls(user, |effect| {
                    matches!(
                        effect,
                        Effect::Lock { .. }
                            | Effect::Unlock { .. }
                            | Effect::Barrier { .. }
                            | Effect::SemaphorePost { .. }
                            | Effect::SemaphoreWait { .. }
                    )
                })
                && !whole.calls(other, |effect| {
                    matches!(effect, Effect::ResetLock { .. } | Effect::Free { .. })
                })
                && !crate::misuse::overwrites(whole, other)
        };
        (apart(a, b) || apart(b, a)).then(|| "one of them only takes or releases a lock".to_owned())
    }
}

/// Created later, joined before, or one thread only.
struct ThreadOrder;

impl Digest for ThreadOrder {
    fn name(&self) -> &'static str {
        "order"
    }

    fn reads(&self) -> Reads {
        Reads::Thread
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let threads = &whole.instantiation.threads;
        let standing = |access: &GuardedAccess| {
            let alive = threads.all_alive(&access.state, &mut Gathered::default());
            whole.standing(access, Arc::new(alive))
        };
        whole.order(&standing(a), &standing(b)).map(str::to_owned)
    }
}

/// The number of the digest that keeps accesses with these standings apart: of those that look at
/// threads there is one.
pub fn exclusion_by_threads(x: &Standing, y: &Standing, whole: &Whole<'_>) -> Option<usize> {
    whole.order(x, y)?;
    DIGESTS.iter().position(|digest| digest.reads() == Reads::Thread)
}

impl Whole<'_> {
    /// Why accesses with these standings never happen at once.
    fn order(&self, x: &Standing, y: &Standing) -> Option<&'static str> {
        let threads = &self.instantiation.threads;
        if x.root == y.root {
            return (!self.root(x.root).many).then_some("one thread makes both accesses");
        }
        if !threads.runs_beside(x, y.root) && !threads.runs_beside(y, x.root) {
            return Some("the threads are never alive at the same time as these accesses");
        }
        (x.joined.contains(&y.root) || y.joined.contains(&x.root))
            .then_some("the other thread was joined before")
    }
}

/// Each thread has its own copy.
struct ThreadLocal;

impl Digest for ThreadLocal {
    fn name(&self) -> &'static str {
        "thread-local"
    }

    fn reads(&self) -> Reads {
        Reads::Flags
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        (whole.is_own(a) && whole.is_own(b))
            .then(|| "each thread accesses an object of its own".to_owned())
    }
}

/// Nobody else knows the object yet.
struct Ownership;

impl Digest for Ownership {
    fn name(&self) -> &'static str {
        "ownership"
    }

    fn reads(&self) -> Reads {
        Reads::Flags
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, _: &Whole<'_>) -> Option<String> {
        (a.private || b.private)
            .then(|| "one access is to an object that no other thread knows yet".to_owned())
    }
}

/// Objects of one activation of a thread's function, known to it and to threads it created and
/// handed them to: whatever other threads of the same kind do concerns other objects.
struct CreatorFrame;

impl Digest for CreatorFrame {
    fn name(&self) -> &'static str {
        "order"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let frame = whole.named_frame(a)?;
        if whole.named_frame(b) != Some(frame) {
            return None;
        }
        let family = whole.instantiation.root_of(frame);
        let threads = &whole.instantiation.threads;
        threads.apart_in_family(family, (a.root, &a.state), (b.root, &b.state)).then(|| {
            "the object belongs to one thread and those it created, which are ordered".to_owned()
        })
    }
}

impl Whole<'_> {
    /// The activation whose stack slot or allocation the access names.
    fn named_frame(&self, access: &GuardedAccess) -> Option<Frame> {
        access.address.as_ref()?.terms.iter().find_map(|(atom, scale)| match atom {
            Atom::Stack(frame, _) if *scale == 1 => Some(*frame),
            Atom::Inst(frame, inst)
                if *scale == 1
                    && self
                        .instantiation
                        .is_allocation(self.instantiation.function_of(*frame), *inst) =>
            {
                Some(*frame)
            }
            _ => None,
        })
    }
}

/// Threads of one create call that get different arguments work on different memory.
struct ThreadArgument;

impl Digest for ThreadArgument {
    fn name(&self) -> &'static str {
        "argument"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let disjoint = if a.root == b.root {
            whole.siblings_disjoint(a, b)
        } else {
            whole.creator_disjoint(a, b) || whole.creator_disjoint(b, a)
        };
        let disjoint = disjoint || whole.captures_disjoint(a, b);
        disjoint.then(|| "each thread works on the part that its argument names".to_owned())
    }
}

/// `constant + scale·argument` of a thread's entry.
struct ByArgument {
    rest: Sym,
    scale: i64,
    /// Only the argument's low half counts.
    half: bool,
}

impl ByArgument {
    /// Whether arguments in steps of so much stay different: half a word comes round.
    fn keeps_apart(&self, step: i64) -> bool {
        !self.half || step <= MAX_HALF_STEP
    }
}

/// Steps of a half word with which it does not come round for all the threads that there may be.
const MAX_HALF_STEP: i64 = 1 << 16;

impl Whole<'_> {
    fn by_argument(&self, access: &GuardedAccess) -> Option<ByArgument> {
        let address = access.address.as_ref()?;
        let mut found = None;
        for (atom, scale) in &address.terms {
            let inner = atom.truncated().and_then(Sym::as_atom).unwrap_or(atom);
            if let Atom::Argument(frame, 0) = inner {
                let context = &self.instantiation.contexts[*frame as usize - 1];
                let is_entry = context.parent.is_some_and(|(parent, _)| {
                    self.instantiation.contexts[parent as usize].root != context.root
                });
                if is_entry && context.root == access.root && found.is_none() {
                    let own = Sym::atom(atom.clone()).scaled(-scale);
                    let half = inner != atom;
                    found = Some(ByArgument { rest: address.plus(&own), scale: *scale, half });
                    continue;
                }
                return None;
            }
        }
        let found = found?;
        self.is_invariant(&found.rest).then_some(found)
    }

    fn siblings_disjoint(&self, a: &GuardedAccess, b: &GuardedAccess) -> bool {
        let root = self.root(a.root);
        let Some(apart) = root.apart.filter(|_| !root.repeated) else { return false };
        let (Some(x), Some(y)) = (self.by_argument(a), self.by_argument(b)) else { return false };
        if x.scale != y.scale || !x.keeps_apart(apart) || !y.keeps_apart(apart) {
            return false;
        }
        // Two allocations never meet, wherever in each the accesses are.
        if apart == i64::MAX {
            return x.scale == 1 && x.rest.terms.is_empty() && y.rest.terms.is_empty();
        }
        let Some(distance) = x.rest.distance(&y.rest) else { return false };
        let stride = apart.saturating_mul(x.scale.abs());
        fits(distance, a.size, b.size, stride)
    }

    /// The creator works on the part of the thread that it has not created yet.
    fn creator_disjoint(&self, creator: &GuardedAccess, thread: &GuardedAccess) -> bool {
        let root = self.root(thread.root);
        let Some(apart) = root.apart.filter(|_| !root.repeated) else { return false };
        if !root.births.iter().all(|(parent, _)| *parent == creator.root)
            || self.root(creator.root).many
        {
            return false;
        }
        let threads = &self.instantiation.threads;
        let Some(live) = threads.live_entry(&creator.state, thread.root) else { return false };
        if live.ended || live.current || live.repeated || apart == i64::MAX {
            return false;
        }
        let Some(by) = self.by_argument(thread).filter(|by| by.keeps_apart(apart)) else {
            return false;
        };
        let (Some(address), Some(argument)) = (&creator.address, &live.argument) else {
            return false;
        };
        let Some(distance) = address.distance(&argument.clone().scaled(by.scale).plus(&by.rest))
        else {
            return false;
        };
        fits(distance, creator.size, thread.size, apart.saturating_mul(by.scale.abs()))
    }
}

/// Whether two accesses `distance` bytes apart within parts of `stride` bytes stay in their parts.
pub fn fits(distance: i64, size_a: u64, size_b: u64, stride: i64) -> bool {
    let reach = distance.unsigned_abs().saturating_add(size_a.max(size_b));
    stride > 0 && reach <= stride as u64
}

/// Both hold a lock that is one and the same by its name, whatever is accessed.
struct NamedLock;

impl Digest for NamedLock {
    fn name(&self) -> &'static str {
        "lock"
    }

    fn reads(&self) -> Reads {
        Reads::Locks
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let common = a.state.held.iter().any(|x| {
            b.state.held.iter().any(|y| {
                (x.mode == LockMode::Write || y.mode == LockMode::Write) && whole.same_name(x, y)
            })
        });
        common.then(|| "both accesses hold the same lock".to_owned())
    }
}

/// Both hold a lock that lies at the same distance from what they access.
struct CommonLock;

impl Digest for CommonLock {
    fn name(&self) -> &'static str {
        "lock"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        for x in &a.state.held {
            for y in &b.state.held {
                let excludes = x.mode == LockMode::Write || y.mode == LockMode::Write;
                if excludes && whole.same_lock(a, x, b, y) {
                    return Some("both accesses hold the same lock".to_owned());
                }
            }
        }
        None
    }
}

impl Whole<'_> {
    /// Whether `x` held at `a` is `y` held at `b`, given that both accesses are to one place.
    fn same_lock(&self, a: &GuardedAccess, x: &Held, b: &GuardedAccess, y: &Held) -> bool {
        if self.is_broken(x) || self.is_broken(y) {
            return false;
        }
        self.same_distance(a, x, b, y)
            || self.same_index(a, x, b, y)
            || self.same_allocation(a, x, b, y)
    }

    /// The locks among these that digests know whatever is accessed, without what does not matter
    /// to those: accesses that hold the same ones are excluded by the same ones.
    pub fn named_locks(&self, held: &[Held]) -> Vec<Held> {
        let known = held.iter().filter_map(|held| {
            let invariant = self.is_invariant(&held.lock);
            let placed = self.is_one_place(&held.points);
            ((invariant || placed) && !self.is_broken(held)).then(|| Held {
                lock: if invariant { held.lock.clone() } else { Sym::constant(0) },
                points: if placed { held.points.clone() } else { Arc::from([]) },
                after: held.after.iter().filter(|lock| self.is_invariant(lock)).cloned().collect(),
                acquired_at: NOWHERE,
                count: 1,
                ..held.clone()
            })
        });
        known.collect()
    }

    /// Whether there is one place only that a pointer with these targets may lead to.
    pub fn is_one_place(&self, points: &[Location]) -> bool {
        matches!(points, [at] if at.stride == 0 && self.singletons[at.object as usize])
    }

    /// Whether the two are one lock, whatever is accessed.
    fn same_name(&self, x: &Held, y: &Held) -> bool {
        if self.is_broken(x) || self.is_broken(y) {
            return false;
        }
        if x.lock == y.lock && self.is_invariant(&x.lock) {
            return true;
        }
        x.points == y.points && self.is_one_place(&x.points)
    }

    /// Whether both accesses hold a lock that only one of them can.
    pub fn share_lock(&self, a: &GuardedAccess, b: &GuardedAccess) -> bool {
        NamedLock.excludes(a, b, self).is_some() || CommonLock.excludes(a, b, self).is_some()
    }

    /// The same, wherever the two accesses are made.
    pub fn share_named_lock(&self, a: &GuardedAccess, b: &GuardedAccess) -> bool {
        NamedLock.excludes(a, b, self).is_some()
    }

    /// Whether the root is an OpenMP team that is never two teams at once.
    pub fn is_flat_team(&self, root: RootId) -> bool {
        let data = self.root(root);
        let mut parents = data.births.iter().map(|(parent, _)| *parent);
        let first = parents.next();
        data.team
            && first.is_some_and(|first| !self.root(first).many)
            && parents.all(|parent| Some(parent) == first)
    }

    /// Whether the members of the root's teams have numbers of their own. Those of a league, who are the
    /// first threads of its teams, all have the same.
    pub fn has_members(&self, root: RootId) -> bool {
        self.is_flat_team(root) && !self.instantiation.is_league(root)
    }

    /// Whether some thread may release the lock although it never took it.
    fn is_broken(&self, held: &Held) -> bool {
        self.broken
            .iter()
            .any(|at| held.points.iter().any(|own| crate::pointsto::may_overlap(*own, 1, *at, 1)))
    }

    /// `p->lock` guards `p->data`: the lock is at the same distance from the accessed place on
    /// both sides. Accesses that meet at different bytes would need locks that overlap.
    fn same_distance(&self, a: &GuardedAccess, x: &Held, b: &GuardedAccess, y: &Held) -> bool {
        let (Some(at_a), Some(at_b)) = (&a.address, &b.address) else { return false };
        let (Some(from_a), Some(from_b)) = (x.lock.distance(at_a), y.lock.distance(at_b)) else {
            return false;
        };
        let apart = from_a.wrapping_sub(from_b);
        let lock = x.size.min(y.size);
        // The second address may lie from `-size_b` to `size_a` after the first.
        let (Ok(size_a), Ok(size_b)) = (i64::try_from(a.size), i64::try_from(b.size)) else {
            return false;
        };
        let (low, high) = (1 - size_b, size_a - 1);
        (apart - low).abs() < lock && (apart - high).abs() < lock
    }
}

/// Paper 2, stage I: both hold a lock that the other acquired after its own (Theorem 7).
struct AcquisitionHistory;

impl Digest for AcquisitionHistory {
    fn name(&self) -> &'static str {
        "history"
    }

    fn reads(&self) -> Reads {
        Reads::Locks
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        for x in a.state.held.iter().filter(|held| held.mode == LockMode::Write) {
            if !whole.is_invariant(&x.lock) || whole.is_broken(x) {
                continue;
            }
            for y in b.state.held.iter().filter(|held| held.mode == LockMode::Write) {
                if whole.is_invariant(&y.lock)
                    && !whole.is_broken(y)
                    && x.after.contains(&y.lock)
                    && y.after.contains(&x.lock)
                {
                    return Some(
                        "each holds a lock that the other had to acquire after its own".to_owned(),
                    );
                }
            }
        }
        None
    }
}

/// Whether the two accesses may touch a common byte.
pub fn may_meet(a: &GuardedAccess, b: &GuardedAccess) -> bool {
    a.locations.iter().any(|x| {
        b.locations.iter().any(|y: &Location| crate::pointsto::may_overlap(*x, a.size, *y, b.size))
    })
}
