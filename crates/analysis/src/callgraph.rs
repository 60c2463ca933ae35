//! Who calls whom, in which order to analyse (RELAY 4.1), and what runs before the first thread.

use racewarden_ir::{Callee, FunctionId, Op, Program};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::Cfg;
use crate::effects::{Effect, Effects};
use crate::pointsto::{CallSite, Location, PointsTo};

#[derive(Debug, Default)]
pub struct CallGraph {
    /// Functions with a body that a function calls before it returns, sorted, with the calls.
    pub callees: Vec<Vec<FunctionId>>,
    /// Calls with their synchronous targets, in order.
    pub calls: Vec<Vec<(u32, Vec<FunctionId>)>>,
    /// Components, callees first; `level` of a component is one more than its callees'.
    pub levels: Vec<Vec<Vec<FunctionId>>>,
    pub create_sites: Vec<CallSite>,
    creates: FxHashSet<CallSite>,
    /// Whether a function may create a thread, or register a handler, before it returns.
    pub may_create: Vec<bool>,
    /// Whether it may create a thread: who called it tells such threads apart, but not handlers,
    /// which get nothing from who registers them.
    pub may_start: Vec<bool>,
    /// Instructions on cycles, sorted, of functions that have any.
    cyclic: FxHashMap<FunctionId, Vec<u32>>,
    /// Indirect calls that lead nowhere.
    pub unresolved: Vec<CallSite>,
}

pub fn effects_of_call<'a>(
    effects: &'a Effects,
    points: &'a PointsTo,
    site: CallSite,
    callee: &Callee,
) -> impl Iterator<Item = &'a Effect> {
    let direct = match callee {
        Callee::Direct(target) => Some(*target),
        _ => None,
    };
    let indirect = if direct.is_none() { points.targets.get(&site) } else { None };
    direct
        .into_iter()
        .chain(indirect.into_iter().flatten().copied())
        .filter_map(|target| effects.of(target))
        .flatten()
}

impl CallGraph {
    pub fn new(program: &Program, effects: &Effects, points: &PointsTo, cfgs: &[Cfg]) -> Self {
        let module = &program.module;
        let mut graph = CallGraph {
            callees: vec![Vec::new(); module.functions.len()],
            calls: vec![Vec::new(); module.functions.len()],
            ..CallGraph::default()
        };
        for id in module.function_ids() {
            if effects.of(id).is_some() {
                continue;
            }
            for (index, instruction) in module.function(id).instructions.iter().enumerate() {
                if let Op::Call { callee, arguments, .. } = &instruction.op {
                    let places = |number: u32| {
                        let value = arguments.get(number as usize);
                        value.map_or_else(Vec::new, |value| {
                            points.value(program, id, value).into_owned()
                        })
                    };
                    graph.add_call(effects, points, (id, index as u32), callee, &places);
                }
            }
            graph.find_cycles(&cfgs[id.index()], id);
            let callees = &mut graph.callees[id.index()];
            callees.sort_unstable();
            callees.dedup();
        }
        graph.sort_levels(module.functions.len());
        graph.may_create = may_reach(&graph, &graph.create_sites);
        let starts = |site: &CallSite| {
            let call = &module.function(site.0).instructions[site.1 as usize].op;
            let Op::Call { callee, .. } = call else { return false };
            effects_of_call(effects, points, *site, callee)
                .any(|effect| matches!(effect, Effect::Create { .. }))
        };
        let sites: Vec<CallSite> = graph.create_sites.iter().copied().filter(starts).collect();
        graph.may_start = may_reach(&graph, &sites);
        graph
    }

    fn find_cycles(&mut self, cfg: &Cfg, id: FunctionId) {
        if !cfg.in_cycle.contains(&true) {
            return;
        }
        let list = (0..cfg.block_of.len() as u32)
            .filter(|&inst| cfg.in_cycle[cfg.block_of[inst as usize] as usize])
            .collect();
        self.cyclic.insert(id, list);
    }

    fn add_call(
        &mut self,
        effects: &Effects,
        points: &PointsTo,
        site: CallSite,
        callee: &Callee,
        places: &dyn Fn(u32) -> Vec<Location>,
    ) {
        let mut targets: Vec<FunctionId> = match callee {
            Callee::Direct(target) => vec![*target],
            Callee::Indirect(_) | Callee::Virtual { .. } => {
                let found = points.targets.get(&site).cloned().unwrap_or_default();
                // Blocks that count references are made by the library alone, in code that is seen:
                // where there is none, nothing is called.
                if found.is_empty() && !effects.futures.counts_references(site.0) {
                    self.unresolved.push(site);
                }
                found
            }
            Callee::Asm { .. } => return,
        };
        let mut creates = false;
        let mut runs_entries = false;
        for effect in effects_of_call(effects, points, site, callee) {
            match effect {
                Effect::Create { .. } | Effect::Handler { .. } => creates = true,
                // Where nothing was ever put, there is no function to call.
                Effect::CallBack { function, loaded: Some(bytes), .. } => {
                    let at = places(*function)
                        .into_iter()
                        .map(|at| Location { offset: at.offset.wrapping_add(*bytes as i64), ..at });
                    runs_entries |= !points.contents(&at.collect::<Vec<_>>()).is_empty();
                }
                Effect::Once { .. } | Effect::CallBack { .. } => runs_entries = true,
                _ => {}
            }
        }
        if creates {
            self.creates.insert(site);
            self.create_sites.push(site);
        }
        if runs_entries {
            let entries = points.entries.get(&site).map_or(&[][..], Vec::as_slice);
            if entries.is_empty() {
                self.unresolved.push(site);
            }
            targets.extend(entries);
        }
        targets.retain(|target| effects.of(*target).is_none());
        self.callees[site.0.index()].extend(&targets);
        if !targets.is_empty() {
            self.calls[site.0.index()].push((site.1, targets));
        }
    }

    fn sort_levels(&mut self, count: usize) {
        let components = crate::scc::components(count, |node| {
            self.callees[node as usize].iter().map(|callee| callee.0)
        });
        let mut level_of = vec![0usize; count];
        for component in components {
            let level = component
                .iter()
                .flat_map(|&member| &self.callees[member as usize])
                .filter(|callee| !component.contains(&callee.0))
                .map(|callee| level_of[callee.index()] + 1)
                .max()
                .unwrap_or(0);
            for &member in &component {
                level_of[member as usize] = level;
            }
            if self.levels.len() <= level {
                self.levels.resize_with(level + 1, Vec::new);
            }
            self.levels[level].push(component.into_iter().map(FunctionId).collect());
        }
    }

    /// Everything reachable from `roots` by calls.
    pub fn reachable(&self, roots: impl IntoIterator<Item = FunctionId>) -> Vec<bool> {
        let mut seen = vec![false; self.callees.len()];
        let mut stack: Vec<FunctionId> = roots.into_iter().collect();
        while let Some(function) = stack.pop() {
            if !std::mem::replace(&mut seen[function.index()], true) {
                stack.extend(&self.callees[function.index()]);
            }
        }
        seen
    }
}

/// Which instructions run while there may be more than one thread.
pub struct Phases {
    late_functions: Vec<bool>,
    late_blocks: FxHashMap<FunctionId, Vec<bool>>,
    /// First create call of each block that has one, where only what follows is late.
    first_create: FxHashMap<(FunctionId, u32), u32>,
}

impl Phases {
    pub fn new(
        program: &Program,
        graph: &CallGraph,
        points: &PointsTo,
        (parallel_roots, starts): (&[FunctionId], &[FunctionId]),
        cfgs: &[Cfg],
    ) -> Self {
        let may_create = &graph.may_create;
        let mut phases = Phases {
            late_functions: graph.reachable(
                graph
                    .create_sites
                    .iter()
                    .flat_map(|site| points.started(site))
                    .chain(parallel_roots.iter().copied())
                    // Whoever calls from outside may do so while the program itself runs.
                    .chain(starts.iter().copied().filter(|_| !parallel_roots.is_empty())),
            ),
            late_blocks: FxHashMap::default(),
            first_create: FxHashMap::default(),
        };
        let mut stack: Vec<FunctionId> = starts.to_vec();
        let mut seen = vec![false; program.module.functions.len()];
        let mut late_roots = Vec::new();
        while let Some(function) = stack.pop() {
            if std::mem::replace(&mut seen[function.index()], true) {
                continue;
            }
            stack.extend(&graph.callees[function.index()]);
            if may_create[function.index()] {
                phases.split(&cfgs[function.index()], graph, function, &mut late_roots);
            }
        }
        for (index, late) in graph.reachable(late_roots).into_iter().enumerate() {
            phases.late_functions[index] |= late;
        }
        phases
    }

    fn split(
        &mut self,
        cfg: &Cfg,
        graph: &CallGraph,
        function: FunctionId,
        late_roots: &mut Vec<FunctionId>,
    ) {
        let may_create = &graph.may_create;
        let creates_here = |inst: u32, targets: Option<&Vec<FunctionId>>| {
            graph.creates.contains(&(function, inst))
                || targets.is_some_and(|list| list.iter().any(|t| may_create[t.index()]))
        };
        let calls: FxHashMap<u32, &Vec<FunctionId>> =
            graph.calls[function.index()].iter().map(|(inst, list)| (*inst, list)).collect();
        let mut late = vec![false; cfg.successors.len()];
        let mut stack = Vec::new();
        for (inst, &block) in cfg.block_of.iter().enumerate() {
            let inst = inst as u32;
            if creates_here(inst, calls.get(&inst).copied()) {
                self.first_create.entry((function, block)).or_insert(inst);
                stack.extend(cfg.successors[block as usize].iter().copied());
            }
        }
        while let Some(block) = stack.pop() {
            if !std::mem::replace(&mut late[block as usize], true) {
                stack.extend(cfg.successors[block as usize].iter().copied());
            }
        }
        for (inst, targets) in &calls {
            let block = cfg.block_of[*inst as usize];
            let after = self.first_create.get(&(function, block)).is_some_and(|at| inst > at);
            if late[block as usize] || after {
                late_roots.extend(targets.iter());
            }
        }
        let blocks = cfg.block_of.iter().map(|&block| late[block as usize]).collect();
        self.late_blocks.insert(function, blocks);
        for (inst, &block) in cfg.block_of.iter().enumerate() {
            let after =
                self.first_create.get(&(function, block)).is_some_and(|at| inst as u32 >= *at);
            if after && let Some(blocks) = self.late_blocks.get_mut(&function) {
                blocks[inst] = true;
            }
        }
    }

    pub fn is_late(&self, function: FunctionId, inst: u32) -> bool {
        self.late_functions[function.index()]
            || self.late_blocks.get(&function).is_some_and(|late| late[inst as usize])
    }
}

/// The functions that may come to one of the sites before they return.
fn may_reach(graph: &CallGraph, sites: &[CallSite]) -> Vec<bool> {
    let mut result = vec![false; graph.callees.len()];
    for site in sites {
        result[site.0.index()] = true;
    }
    for component in graph.levels.iter().flatten() {
        let creates = component.iter().any(|member| {
            result[member.index()]
                || graph.callees[member.index()].iter().any(|callee| result[callee.index()])
        });
        if creates {
            for member in component {
                result[member.index()] = true;
            }
        }
    }
    result
}

impl CallGraph {
    /// Whether the instruction lies on a cycle of its function.
    pub fn is_in_cycle(&self, function: FunctionId, inst: u32) -> bool {
        self.cyclic.get(&function).is_some_and(|list| list.binary_search(&inst).is_ok())
    }
}
