//! Which accesses a watched run need not look at: those that no other access can race with.
//!
//! An access is left out when every access that it could conflict with is excluded for a reason that
//! holds in every run: memory that no other thread can come to know, memory that is not written while
//! there are several threads, or a digest (thread order, ownership, barrier, lock and the others) for
//! each of its pairs. It must be so in every context that the code runs in. Where something was not
//! seen that may concern the memory the access stays watched ([`weak`]); where code may run that is not
//! seen at all, only the first reason counts.
//!
//! Allocating memory is a write to it here: a run tells of whoever uses memory without coming after that.
//!
//! Accesses that only a lock keeps apart are told apart from the others: engines that do not take the
//! order of critical sections for an order learn from those accesses which section came first.
//!
//! Places are named by file, line, column and kind, because that is what an instrumented build has of
//! the same instructions; a place is left out only if all instructions there can be. Calls are never
//! left out, nor atomic and volatile accesses, which synchronise or are meant to be seen.
//!
//! What may be missed: accesses to memory after the end of its life (a local of a function that has
//! returned), which are accesses to no object; and whatever `check` may miss by design.

mod weak;

use std::collections::{BTreeMap, BTreeSet};

use racewarden_finding::AccessKind;
use racewarden_ir::{Callee, FunctionId, InstId, Op, Program, Value};
use racewarden_models::Models;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::callgraph::{Phases, effects_of_call};
use crate::check::{Foundation, start_functions};
use crate::digests::{DIGESTS, Whole};
use crate::effects::Effect;
use crate::pairs::{self, Reasons};
use weak::{Ground, Weak};

/// The places of a program that need not be watched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unwatched {
    /// Apart from all others whatever engine watches.
    pub always: Places,
    /// Apart from all others, but from some by a lock alone.
    pub by_lock: Places,
    /// Places with plain accesses in code that may run.
    pub places: u64,
    /// How many of those are left out, by reason.
    pub reasons: BTreeMap<String, u64>,
    /// What keeps accesses watched that might be left out otherwise.
    pub limit: Option<String>,
}

/// Plain accesses, by the last name of the file.
pub type Places = BTreeMap<String, BTreeSet<PlainAccess>>;

/// A plain access at a place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PlainAccess {
    pub line: u32,
    pub column: u32,
    pub write: bool,
}

/// No other thread can come to know the memory.
const CONFINED: &str = "confined";
/// Nothing writes the memory while there are several threads.
const UNCHANGED: &str = "unchanged";
/// Nothing else that may touch the memory conflicts with the access.
const ALONE: &str = "alone";
/// Digests whose reason is that both hold a lock.
pub const BY_LOCK: [&str; 2] = ["lock", "history"];

/// Finds the places; `foreign` says that code is linked which the program does not have, and `entered`
/// hears the name of each stage as it begins.
pub fn unwatched(
    program: &Program,
    models: &Models,
    foreign: bool,
    entered: &dyn Fn(&'static str),
) -> Unwatched {
    let nothing = |why: &str| Unwatched { limit: Some(why.to_owned()), ..Unwatched::default() };
    if start_functions(program).is_empty() {
        return nothing("there is no main function");
    }
    let mut callable = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let foundation =
            Foundation::before_summaries(program, models, callable.clone(), None, entered);
        let weak = Weak::new(Ground {
            program,
            effects: &foundation.effects,
            points: &foundation.points,
            graph: &foundation.graph,
            reachable: &foundation.reachable,
            callable: &callable,
            foreign,
        });
        if weak.lost {
            return nothing(weak.unseen.as_deref().unwrap_or_default());
        }
        if weak.callable == callable {
            return found(foundation, weak, entered);
        }
        callable = weak.callable;
    }
    nothing("which functions are called from where is not known")
}

/// How often the program is looked at again because more of it may be called by code that is not seen.
const MOST_ROUNDS: usize = 4;

fn found(
    mut foundation: Foundation<'_>,
    mut weak: Weak,
    entered: &dyn Fn(&'static str),
) -> Unwatched {
    let mut judged = Judged::default();
    if weak.unseen.is_none() {
        entered("summaries");
        count_allocations(&mut foundation);
        foundation.summaries = foundation.summarise();
        judged = Judged::new(&foundation, &mut weak, entered);
    }
    entered("places");
    let mut survey =
        Survey { foundation: &foundation, weak: &weak, judged, verdicts: BTreeMap::new() };
    survey.run();
    survey.finish()
}

/// Allocating memory is a write from now on, also where nothing else writes while there are several threads.
fn count_allocations(foundation: &mut Foundation<'_>) {
    foundation.allocations = true;
    let Foundation { program, effects, points, graph, reachable, .. } = foundation;
    let outside = (foundation.exported.as_slice(), foundation.starts.as_slice());
    let phases = Phases::new(program, graph, points, outside, &foundation.cfgs);
    for id in program.module.function_ids().filter(|id| reachable[id.index()]) {
        for (inst, instruction) in (0..).zip(&program.module.function(id).instructions) {
            let Op::Call { callee, .. } = &instruction.op else { continue };
            let allocates = effects_of_call(effects, points, (id, inst), callee)
                .any(|effect| matches!(effect, Effect::Allocate { out: None, .. }));
            if allocates && phases.is_late(id, inst) {
                let made = points.value(*program, id, &Value::Inst(InstId(inst)));
                for object in made.iter().map(|at| at.object as usize) {
                    foundation.sharing.shared[object] |= foundation.sharing.escaped[object];
                }
            }
        }
    }
}

type Spot = (FunctionId, u32, AccessKind);

/// What the search of pairs says of the accesses to shared memory.
#[derive(Default)]
struct Judged {
    /// Of each place in the code, the digests that keep it apart; without those with a candidate.
    apart_by: FxHashMap<Spot, Reasons>,
    /// Accesses to objects that nobody else knows yet, whoever calls.
    private: FxHashSet<Spot>,
}

impl Judged {
    fn new(foundation: &Foundation<'_>, weak: &mut Weak, entered: &dyn Fn(&'static str)) -> Self {
        entered("contexts");
        let instantiation = foundation.instantiate();
        entered("digests");
        let whole = Whole::new(&instantiation);
        entered("pairs");
        let accesses = &instantiation.accesses;
        let pairs = pairs::find_with_reasons(accesses, &whole);
        pairs.left_out.iter().for_each(|(object, _)| weak.weaken(*object));
        let spot = |number: u32| {
            let access = &accesses[number as usize];
            (access.function, access.inst, access.kind)
        };
        let mut apart_by: FxHashMap<Spot, Reasons> = FxHashMap::default();
        for (number, reasons) in (0..).zip(&pairs.apart_by) {
            *apart_by.entry(spot(number)).or_default() |= reasons;
        }
        for (first, second, _) in &pairs.candidates {
            apart_by.remove(&spot(*first));
            apart_by.remove(&spot(*second));
        }
        let mut private = FxHashSet::default();
        let mut known = FxHashSet::default();
        for (function, summary) in (0..).map(FunctionId).zip(&foundation.summaries) {
            for access in &summary.accesses {
                let spot = (function, access.inst, access.kind);
                let into = if access.private { &mut private } else { &mut known };
                into.insert(spot);
            }
        }
        private.retain(|spot| !known.contains(spot) && apart_by.contains_key(spot));
        Judged { apart_by, private }
    }
}

/// What is known of a place so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Watched,
    ByLock(&'static str),
    Always(&'static str),
}

impl Verdict {
    /// What holds of both.
    fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Watched, _) | (_, Verdict::Watched) => Verdict::Watched,
            (Verdict::ByLock(reason), _) | (_, Verdict::ByLock(reason)) => Verdict::ByLock(reason),
            (own, _) => own,
        }
    }
}

struct Survey<'a> {
    foundation: &'a Foundation<'a>,
    weak: &'a Weak,
    judged: Judged,
    verdicts: BTreeMap<(String, PlainAccess), Verdict>,
}

impl Survey<'_> {
    fn run(&mut self) {
        let foundation = self.foundation;
        let unanalysed = self.unanalysed();
        for id in foundation.program.module.function_ids() {
            let runs = foundation.reachable[id.index()];
            if unanalysed[id.index()] {
                self.function(id, &|_, _, _| Verdict::Watched);
            } else if runs {
                let verdict = |inst, address: &_, kind| self.verdict((id, inst, kind), address);
                let found = self.found(id, &verdict);
                self.add(found);
            }
        }
    }

    /// Functions whose bodies run without being looked at, because a model speaks for them or for
    /// one that calls them.
    fn unanalysed(&self) -> Vec<bool> {
        let module = &self.foundation.program.module;
        let has_model = |id: &FunctionId| {
            self.foundation.effects.of(*id).is_some() && !module.function(*id).is_declaration()
        };
        let mut found = vec![false; module.functions.len()];
        let mut stack: Vec<FunctionId> = module.function_ids().filter(has_model).collect();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut found[id.index()], true) {
                continue;
            }
            for instruction in &module.function(id).instructions {
                if let Op::Call { callee: Callee::Direct(target), .. } = &instruction.op {
                    stack.push(*target);
                }
            }
        }
        found
    }

    fn function(&mut self, id: FunctionId, verdict: &Judge<'_>) {
        let found = self.found(id, verdict);
        self.add(found);
    }

    /// The plain accesses of the function, with their verdicts.
    fn found(&self, id: FunctionId, verdict: &Judge<'_>) -> Vec<((String, PlainAccess), Verdict)> {
        let module = &self.foundation.program.module;
        let body = module.function(id);
        let mut found = Vec::new();
        for (inst, instruction) in (0..).zip(&body.instructions) {
            let (address, kind) = match &instruction.op {
                Op::Load { address, order: None, volatile: false, .. } => {
                    (address, AccessKind::Read)
                }
                Op::Store { address, order: None, volatile: false, .. } => {
                    (address, AccessKind::Write)
                }
                _ => continue,
            };
            let Some(at) = instruction.source.map(|source| body.sources[source.0 as usize]) else {
                continue;
            };
            let file = last_name(module.name_text(at.file)).to_owned();
            let write = kind == AccessKind::Write;
            let place = PlainAccess { line: at.line, column: at.column, write };
            found.push(((file, place), verdict(inst, address, kind)));
        }
        found
    }

    fn add(&mut self, found: Vec<((String, PlainAccess), Verdict)>) {
        for (place, verdict) in found {
            self.verdicts
                .entry(place)
                .and_modify(|known| *known = known.and(verdict))
                .or_insert(verdict);
        }
    }

    fn verdict(&self, spot: Spot, address: &racewarden_ir::Value) -> Verdict {
        let Foundation { program, points, sharing, .. } = self.foundation;
        let places = points.value(*program, spot.0, address);
        if places.is_empty() {
            return Verdict::Watched;
        }
        let objects = || places.iter().map(|at| at.object);
        if objects().any(|object| self.weak.is_weak(object)) {
            let private = self.judged.private.contains(&spot);
            return if private { Verdict::Always("ownership") } else { Verdict::Watched };
        }
        if objects().all(|object| !sharing.escaped[object as usize]) {
            return Verdict::Always(CONFINED);
        }
        if self.weak.unseen.is_some() {
            return Verdict::Watched;
        }
        if objects().all(|object| !sharing.shared[object as usize]) {
            return Verdict::Always(UNCHANGED);
        }
        let Some(&reasons) = self.judged.apart_by.get(&spot) else { return Verdict::Watched };
        let mut names = DIGESTS
            .iter()
            .enumerate()
            .filter(|(number, _)| reasons & (1 << number) != 0)
            .map(|(_, digest)| digest.name());
        match names.clone().find(|name| BY_LOCK.contains(name)) {
            Some(lock) => Verdict::ByLock(lock),
            // That one thread makes both is true of some pair of almost every access; what comes
            // last says most.
            None => Verdict::Always(names.next_back().unwrap_or(ALONE)),
        }
    }

    fn finish(self) -> Unwatched {
        let mut result = Unwatched {
            places: self.verdicts.len() as u64,
            limit: self.weak.unseen.clone(),
            ..Unwatched::default()
        };
        for ((file, place), verdict) in self.verdicts {
            let (into, reason) = match verdict {
                Verdict::Watched => continue,
                Verdict::ByLock(reason) => (&mut result.by_lock, reason),
                Verdict::Always(reason) => (&mut result.always, reason),
            };
            // Code without a line in the source has no name here.
            if place.line > 0 {
                into.entry(file).or_default().insert(place);
                *result.reasons.entry(reason.to_owned()).or_default() += 1;
            }
        }
        result
    }
}

/// The verdict of a plain access, by its instruction's number, address and kind.
type Judge<'a> = dyn Fn(u32, &racewarden_ir::Value, AccessKind) -> Verdict + 'a;

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
