//! The last step: z3 decides the orders that the graph test leaves open, on the cone alone.
//!
//! The model is maximal: besides the order of the nodes, it may choose which critical sections
//! stay open. The cone is widened by everything that closing them could need; those events are
//! optional, each with a Boolean that says whether it happens.

use std::time::Duration;

use z3::ast::{Bool, Int};
use z3::{Params, SatResult, Solver};

use super::cone::{self, Candidate, Closing};
use super::index::{Index, NONE};
use super::problem::{Problem, Section};
use super::saturate::Clocks;
use super::witness::{Witness, from_nodes};

/// A query with more alternatives than this is not put to the solver: it would not come back.
const MOST_ALTERNATIVES: usize = 400_000;

pub enum Answer {
    Race(Witness),
    NoSchedule,
    Unknown,
}

/// Decides the candidate whose required cone is `required`.
pub fn solve(index: &Index, candidate: Candidate, required: &[u32], deadline: Duration) -> Answer {
    let prefix = widen(index, candidate, required);
    let problem = Problem::new(index, candidate, prefix);
    let Some(clocks) = super::saturate::clocks(&problem) else { return Answer::NoSchedule };
    let mut query = Query::new(&problem, &clocks, required);
    query.base_orders();
    query.reads();
    query.locks();
    if query.alternatives > MOST_ALTERNATIVES {
        return Answer::Unknown;
    }
    let mut params = Params::new();
    params.set_u32("timeout", u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX));
    query.solver.set_params(&params);
    match query.solver.check() {
        SatResult::Unsat => Answer::NoSchedule,
        SatResult::Unknown => Answer::Unknown,
        SatResult::Sat => match query.witness() {
            Some(witness) if witness.is_valid(index) => Answer::Race(witness),
            _ => Answer::Unknown,
        },
    }
}

/// Adds what closing any open section could need, as far as both accesses stay out.
fn widen(index: &Index, candidate: Candidate, required: &[u32]) -> Vec<u32> {
    let mut prefix = required.to_vec();
    loop {
        let before = prefix.clone();
        for thread in 0..index.thread_count() {
            for &acquire in cone::open_sections(index, &before, thread) {
                let release = index.partner[acquire as usize];
                if release == NONE {
                    continue;
                }
                let mut wider = prefix.clone();
                index.include(&mut wider, release);
                if cone::close(index, candidate, Closing::Required, &mut wider).is_ok() {
                    prefix = wider;
                }
            }
        }
        if prefix == before {
            return prefix;
        }
    }
}

struct Query<'q, 'i, 't> {
    problem: &'q Problem<'i, 't>,
    clocks: &'q Clocks,
    solver: Solver,
    order: Vec<Int>,
    /// Whether an optional node happens; `None` for those that must.
    happens: Vec<Option<Bool>>,
    alternatives: usize,
}

impl<'q, 'i, 't> Query<'q, 'i, 't> {
    fn new(problem: &'q Problem<'i, 't>, clocks: &'q Clocks, required: &[u32]) -> Self {
        let order = (0..problem.nodes.len()).map(|_| Int::fresh_const("o")).collect();
        let happens = problem
            .nodes
            .iter()
            .map(|&event| {
                let optional = problem.index.position[event as usize]
                    >= required[problem.index.thread_of(event)];
                optional.then(|| Bool::fresh_const("h"))
            })
            .collect();
        let solver = Solver::new_for_logic("QF_IDL").unwrap_or_default();
        Query { problem, clocks, solver, order, happens, alternatives: 0 }
    }

    fn before(&self, a: u32, b: u32) -> Bool {
        self.order[a as usize].lt(&self.order[b as usize])
    }

    /// Asserts that one of `choices` holds if all of `nodes` happen.
    fn assert_if(&mut self, nodes: &[u32], mut choices: Vec<Bool>) {
        for &node in nodes {
            if let Some(happens) = &self.happens[node as usize] {
                choices.push(happens.not());
            }
        }
        self.alternatives += 1;
        self.solver.assert(Bool::or(&choices));
    }

    fn base_orders(&mut self) {
        let problem = self.problem;
        for list in &problem.thread_nodes {
            for pair in list.windows(2) {
                let before = self.before(pair[0], pair[1]);
                self.solver.assert(before);
                self.depends(pair[1], pair[0]);
            }
        }
        for &(from, to) in &problem.edges {
            let before = self.before(from, to);
            self.solver.assert(before);
            self.depends(to, from);
        }
    }

    /// `node` happens only if `on` does.
    fn depends(&mut self, node: u32, on: u32) {
        if let (Some(node), Some(on)) = (&self.happens[node as usize], &self.happens[on as usize]) {
            self.solver.assert(node.implies(on));
        }
    }

    fn reads(&mut self) {
        let problem = self.problem;
        for variable in &problem.variables {
            for &(read, write) in &variable.reads {
                for &other in variable.writes.iter().flat_map(|(_, writes)| writes) {
                    if Some(other) == write || self.clocks.before(problem, read, other) {
                        continue;
                    }
                    let mut choices = vec![self.before(read, other)];
                    if let Some(write) = write {
                        if self.clocks.before(problem, other, write) {
                            continue;
                        }
                        choices.push(self.before(other, write));
                    }
                    self.assert_if(&[read, other], choices);
                    if self.alternatives > MOST_ALTERNATIVES {
                        return;
                    }
                }
            }
        }
    }

    fn locks(&mut self) {
        let problem = self.problem;
        for sections in &problem.locks {
            for (number, a) in sections.iter().enumerate() {
                for b in &sections[number + 1..] {
                    let exclusive = problem.index.exclusive(
                        problem.nodes[a.acquire as usize],
                        problem.nodes[b.acquire as usize],
                    );
                    if a.thread == b.thread || !exclusive {
                        continue;
                    }
                    let choices = [self.ends_before(a, b), self.ends_before(b, a)];
                    let choices = choices.into_iter().flatten().collect();
                    self.assert_if(&[a.acquire, b.acquire], choices);
                    if self.alternatives > MOST_ALTERNATIVES {
                        return;
                    }
                }
            }
        }
    }

    /// That `a` is over before `b` starts; `None` when it cannot end.
    fn ends_before(&self, a: &Section, b: &Section) -> Option<Bool> {
        let release = a.release?;
        let before = self.before(release, b.acquire);
        Some(match &self.happens[release as usize] {
            Some(happens) => Bool::and(&[happens.clone(), before]),
            None => before,
        })
    }

    /// The order of the model, with the cone cut to what happens in it.
    fn witness(&self) -> Option<Witness> {
        let model = self.solver.get_model()?;
        let mut nodes = Vec::new();
        let problem = self.problem;
        let mut prefix = problem.prefix.clone();
        for (thread, list) in problem.thread_nodes.iter().enumerate() {
            for &node in list {
                if let Some(happens) = &self.happens[node as usize]
                    && !model.eval(happens, true)?.as_bool()?
                {
                    let position = problem.index.position[problem.nodes[node as usize] as usize];
                    prefix[thread] = prefix[thread].min(position);
                    break;
                }
                let at = model.eval(&self.order[node as usize], true)?.as_i64()?;
                nodes.push((at, problem.nodes[node as usize], node));
            }
        }
        nodes.sort_unstable();
        let order: Vec<u32> = nodes.into_iter().map(|(.., node)| node).collect();
        Some(from_nodes(problem, &prefix, &order))
    }
}
