//! The order-only ladder: races that another order of the same events shows.
//!
//! A reordering is *correct* when every thread runs a prefix of what it ran, every read in it sees
//! the write it saw, and locks, forks and joins are respected; then any program that gave the
//! trace can also give the reordering. A pair of accesses is a predicted race when a correct
//! reordering leads to a state in which both can go next. Finding all of them is NP-hard, but most
//! pairs are decided by cheap steps. Per candidate, until one step decides:
//!
//! 1. a common lock or a clock rules it out (`candidates`),
//! 2. its required cone swallows one of the accesses (`cone`),
//! 3. the cone in the observed order is a witness: linear time (`cone`, `witness`),
//! 4. the same steps and the next one after a cut shortly before it (`near`),
//! 5. the orders that the cone forces have a cycle (`saturate`), or can be simulated (`greedy`),
//! 6. z3 on the cone alone, widened by what closing open sections may need (`solve`).
//!
//! Steps 2 and 5 are exact where they say no and the witness is checked where they say yes, so
//! what is missed is only what runs into a limit, and that is counted as unknown.

mod candidates;
mod cone;
mod greedy;
mod index;
mod near;
mod problem;
mod report;
mod saturate;
mod solve;
mod witness;

use std::time::{Duration, Instant};

use racewarden_trace::OrderTrace;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub use cone::Candidate;
pub use report::report;
pub use witness::Witness;

use candidates::{LocationPair, SetAside};
use cone::Closing;
use index::{Index, NONE};
use problem::Problem;
use saturate::Saturation;
use solve::Answer;

/// How much work to spend.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Per solver query.
    pub query: Duration,
    /// For all steps after the linear ones; what is left then is unknown.
    pub total: Duration,
    /// Candidates tried per pair of locations.
    pub per_location_pair: usize,
    /// Candidates looked at per variable.
    pub candidates: u64,
    /// Puts every candidate to the solver, to measure the other steps against it.
    pub solver_only: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            query: Duration::from_secs(5),
            total: Duration::from_secs(60),
            per_location_pair: 256,
            candidates: 2_000_000,
            solver_only: false,
        }
    }
}

/// Which step decided a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    ObservedOrder,
    GraphTest,
    Solver,
}

impl Step {
    pub fn as_str(self) -> &'static str {
        match self {
            Step::ObservedOrder => "observed order of the cone",
            Step::GraphTest => "graph test",
            Step::Solver => "solver",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRace {
    pub witness: Witness,
    pub step: Step,
}

/// What was done, for the report.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    pub candidates: u64,
    pub common_lock: u64,
    pub ordered: u64,
    /// Pairs of locations that no correct reordering brings together.
    pub no_schedule: u64,
    /// Pairs of locations that a limit left undecided.
    pub unknown: u64,
    pub solver_queries: u64,
    /// Whether the limit on candidates cut the search short.
    pub cut_short: bool,
}

#[derive(Debug, Default)]
pub struct Prediction {
    /// One race per pair of locations, in the order of the trace.
    pub races: Vec<OrderRace>,
    pub counts: Counts,
}

/// Pairs of locations that the linear steps did not decide, with the candidates to try.
#[derive(Default)]
struct Undecided {
    candidates: Vec<Candidate>,
    left_out: bool,
}

/// Finds every predictable race of the trace, one per pair of locations.
pub fn predict(trace: &OrderTrace, limits: &Limits) -> Prediction {
    predict_bytes(trace, limits, &|_| None)
}

/// The bytes of a variable that an access touches, as address and size; `None` for all of them.
pub type BytesOf<'b> = dyn Fn(u32) -> Option<(u64, u64)> + 'b;

/// The same, for accesses that touch only some bytes of their variable: those that share none do
/// not race.
pub fn predict_bytes(trace: &OrderTrace, limits: &Limits, bytes: &BytesOf) -> Prediction {
    let index = Index::new(trace);
    let mut prediction = Prediction::default();
    let end = Instant::now() + limits.total;
    let undecided = linear_steps(&index, limits, bytes, end, &mut prediction);
    let decided: Vec<Decision> =
        undecided.into_par_iter().map(|group| decide(&index, group, limits, end)).collect();
    for decision in decided {
        prediction.counts.solver_queries += decision.queries;
        match decision.outcome {
            Outcome::Race(race) => prediction.races.push(race),
            Outcome::NoSchedule => prediction.counts.no_schedule += 1,
            Outcome::Unknown => prediction.counts.unknown += 1,
        }
    }
    prediction.races.sort_by_key(|race| race.witness.candidate);
    prediction
}

/// Steps 1 to 3, over all candidates.
fn linear_steps(
    index: &Index,
    limits: &Limits,
    bytes: &BytesOf,
    end: Instant,
    prediction: &mut Prediction,
) -> Vec<Undecided> {
    let meet = |candidate: Candidate| match (bytes(candidate.first), bytes(candidate.second)) {
        (Some((x, xs)), Some((y, ys))) => x < y.saturating_add(ys) && y < x.saturating_add(xs),
        _ => true,
    };
    let mut found: FxHashSet<LocationPair> = FxHashSet::default();
    let mut undecided: FxHashMap<LocationPair, Undecided> = FxHashMap::default();
    let mut ruled_out: FxHashSet<LocationPair> = FxHashSet::default();
    let mut aside = SetAside::default();
    let Prediction { races, counts } = prediction;
    for accesses in candidates::shared_variables(index) {
        let mut of_variable = 0;
        let mut visit = |candidate: Candidate| {
            of_variable += 1;
            let late = counts.candidates % 1024 == 1023 && Instant::now() > end;
            if of_variable > limits.candidates || late {
                counts.cut_short = true;
                return false;
            }
            counts.candidates += 1;
            let pair = candidates::location_pair(index, candidate);
            if found.contains(&pair) || !meet(candidate) {
                return true;
            }
            let Ok(required) = cone::cone(index, candidate, Closing::Required) else {
                ruled_out.insert(pair);
                return true;
            };
            let mut prefix = required;
            if !limits.solver_only
                && cone::close(index, candidate, Closing::ObservedOrder, &mut prefix).is_ok()
            {
                let witness = witness::in_observed_order(candidate, prefix);
                races.push(OrderRace { witness, step: Step::ObservedOrder });
                found.insert(pair);
                undecided.remove(&pair);
                return true;
            }
            let group = undecided.entry(pair).or_default();
            if group.candidates.len() < limits.per_location_pair {
                group.candidates.push(candidate);
            } else {
                group.left_out = true;
            }
            true
        };
        candidates::for_each(index, &accesses, bytes, &mut aside, &mut visit);
    }
    counts.common_lock = aside.common_lock;
    counts.ordered = aside.ordered;
    counts.no_schedule = ruled_out
        .iter()
        .filter(|pair| !found.contains(*pair) && !undecided.contains_key(*pair))
        .count() as u64;
    let mut groups: Vec<Undecided> = undecided.into_values().collect();
    groups.sort_by_key(|group| group.candidates[0]);
    groups
}

enum Outcome {
    Race(OrderRace),
    NoSchedule,
    Unknown,
}

struct Decision {
    outcome: Outcome,
    queries: u64,
}

/// Steps 4 to 6 for one pair of locations: its candidates until one succeeds. The solver only
/// comes in when the graph test decided none of them.
fn decide(index: &Index, group: Undecided, limits: &Limits, end: Instant) -> Decision {
    let mut open = Vec::new();
    let mut unknown = group.left_out;
    if !limits.solver_only
        && let Some(witness) = near_race(index, &group.candidates, end)
    {
        let outcome = Outcome::Race(OrderRace { witness, step: Step::GraphTest });
        return Decision { outcome, queries: 0 };
    }
    for candidate in group.candidates {
        if Instant::now() > end {
            return Decision { outcome: Outcome::Unknown, queries: 0 };
        }
        match graph_test(index, candidate, limits.solver_only, end) {
            GraphAnswer::Late => return Decision { outcome: Outcome::Unknown, queries: 0 },
            GraphAnswer::Race(witness) => {
                let outcome = Outcome::Race(OrderRace { witness, step: Step::GraphTest });
                return Decision { outcome, queries: 0 };
            }
            GraphAnswer::NoSchedule => {}
            GraphAnswer::Open(required) => open.push((candidate, required)),
        }
    }
    let mut queries = 0;
    for (candidate, required) in open {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            unknown = true;
            break;
        }
        queries += 1;
        match solve::solve(index, candidate, &required, limits.query.min(left)) {
            Answer::Race(witness) => {
                let outcome = Outcome::Race(OrderRace { witness, step: Step::Solver });
                return Decision { outcome, queries };
            }
            Answer::NoSchedule => {}
            Answer::Unknown => unknown = true,
        }
    }
    let outcome = if unknown { Outcome::Unknown } else { Outcome::NoSchedule };
    Decision { outcome, queries }
}

/// How far before the earlier access a part starts, and how many candidates are tried so.
const LOOK_BACK: [(u32, usize); 2] = [(1_000, 64), (15_000, 8)];

/// Tries the candidates after cuts that are not far before them.
fn near_race(index: &Index, candidates: &[Candidate], end: Instant) -> Option<Witness> {
    for (look_back, most) in LOOK_BACK {
        for &candidate in candidates.iter().take(most) {
            if Instant::now() > end {
                return None;
            }
            let Some(part) = near::Part::new(index, candidate, look_back) else { continue };
            let inner = Index::new(part.trace());
            let found = match observed_order(&inner, part.candidate()) {
                Some(witness) => Some(witness),
                None => match graph_test(&inner, part.candidate(), false, end) {
                    GraphAnswer::Race(witness) => Some(witness),
                    _ => None,
                },
            };
            let witness = found.and_then(|found| part.witness(index, candidate, &found));
            if witness.is_some() {
                return witness;
            }
        }
    }
    None
}

/// Step 3 for one candidate.
fn observed_order(index: &Index, candidate: Candidate) -> Option<Witness> {
    let prefix = cone::cone(index, candidate, Closing::ObservedOrder).ok()?;
    Some(witness::in_observed_order(candidate, prefix))
}

enum GraphAnswer {
    Race(Witness),
    NoSchedule,
    /// The time is over.
    Late,
    /// Not decided; the events that every reordering needs.
    Open(Vec<u32>),
}

fn graph_test(index: &Index, candidate: Candidate, solver_only: bool, end: Instant) -> GraphAnswer {
    let Ok(mut prefix) = cone::cone(index, candidate, Closing::Required) else {
        return GraphAnswer::NoSchedule;
    };
    if solver_only {
        return GraphAnswer::Open(prefix);
    }
    let problem = loop {
        let mut problem = Problem::new(index, candidate, prefix);
        match saturate::saturate(&mut problem, end) {
            Saturation::Cycle => return GraphAnswer::NoSchedule,
            Saturation::Late => return GraphAnswer::Late,
            Saturation::Stable => break problem,
            Saturation::Grow(acquires) => {
                prefix = problem.prefix;
                if !grow(index, candidate, &mut prefix, &acquires) {
                    return GraphAnswer::NoSchedule;
                }
            }
        }
    };
    let required = problem.prefix.clone();
    match simulate(problem, end) {
        Some(witness) => GraphAnswer::Race(witness),
        None => GraphAnswer::Open(required),
    }
}

/// Closes the sections and what follows from that; false when that is impossible.
fn grow(index: &Index, candidate: Candidate, prefix: &mut [u32], acquires: &[u32]) -> bool {
    for &acquire in acquires {
        match index.partner[acquire as usize] {
            NONE => return false,
            release => index.include(prefix, release),
        }
    }
    cone::close(index, candidate, Closing::Required, prefix).is_ok()
}

/// Chooses which sections stay open, then simulates. A failure proves nothing: the choice may
/// have been wrong.
fn simulate(mut problem: Problem, end: Instant) -> Option<Witness> {
    let (index, candidate) = (problem.index, problem.candidate);
    for _ in 0..16 {
        if let Some(order) = greedy::linearize(&problem) {
            let witness = witness::from_nodes(&problem, &problem.prefix, &order);
            if witness.is_valid(index) {
                return Some(witness);
            }
        }
        let mut prefix = problem.prefix.clone();
        let close = rival_open_sections(&problem);
        let before = problem.edges.len();
        if close.is_empty() {
            keep_open_sections_last(&mut problem);
            if problem.edges.len() == before {
                return None;
            }
        } else if !close.iter().any(|&acquire| {
            let mut wider = prefix.clone();
            let possible = grow(index, candidate, &mut wider, &[acquire]);
            if possible {
                prefix = wider;
            }
            possible
        }) {
            return None;
        } else {
            problem = Problem::new(index, candidate, prefix);
        }
        match saturate::saturate(&mut problem, end) {
            Saturation::Cycle | Saturation::Late => return None,
            Saturation::Stable => {}
            Saturation::Grow(acquires) => {
                let mut prefix = problem.prefix.clone();
                if !grow(index, candidate, &mut prefix, &acquires) {
                    return None;
                }
                problem = Problem::new(index, candidate, prefix);
            }
        }
    }
    None
}

/// The open sections of the first lock that has several, in the order of the trace: all but one
/// must be closed, and the earliest is the likeliest.
fn rival_open_sections(problem: &Problem) -> Vec<u32> {
    for sections in &problem.locks {
        let mut open: Vec<u32> = sections
            .iter()
            .filter(|section| section.release.is_none())
            .map(|section| problem.nodes[section.acquire as usize])
            .collect();
        let exclusive =
            open.iter().any(|&a| open.iter().any(|&b| a != b && problem.index.exclusive(a, b)));
        if open.len() > 1 && exclusive {
            open.sort_unstable();
            return open;
        }
    }
    Vec::new()
}

fn keep_open_sections_last(problem: &mut Problem) {
    let mut edges = Vec::new();
    for sections in &problem.locks {
        for open in sections.iter().filter(|section| section.release.is_none()) {
            for other in sections.iter().filter(|other| other.thread != open.thread) {
                let exclusive = problem.index.exclusive(
                    problem.nodes[open.acquire as usize],
                    problem.nodes[other.acquire as usize],
                );
                if let Some(release) = other.release.filter(|_| exclusive) {
                    edges.push((release, open.acquire));
                }
            }
        }
    }
    edges.retain(|edge| !problem.edges.contains(edge));
    problem.edges.extend(edges);
}
