//! Tasks (OpenMP): which one call waits for.
//!
//! Whoever waits for its tasks waits for those that it made itself, not for those that they made. So
//! only tasks end here that the waiting function allocates in its own body: what a callee makes may be
//! a task's that runs at once, within the callee. The end of a group waits for what was made since the
//! group's beginning, which stands in the same function: the code between the two has one way in and
//! one way out (OpenMP 5.2, 1.2.2, structured block).
//!
//! Not followed: waiting for some tasks by what they depend on.

use racewarden_ir::{Callee, FunctionId, InstId, Op, Value};

use super::Flow;
use crate::effects::{Effect, Extent, Passed};
use crate::lives::Parts;
use crate::state::Path;
use crate::sym::{Atom, LOCAL};

impl Flow<'_> {
    /// Tasks that this function has made itself have ended.
    pub(super) fn end_tasks(&mut self, inst: u32, since: Option<FunctionId>, paths: &mut [Path]) {
        if paths.iter().all(|path| path.threads.is_empty()) {
            return;
        }
        let group = since.map(|opens| self.group_ended_by(inst, opens));
        for path in paths.iter_mut() {
            path.threads.revise(Parts::ANY, |id, live| {
                let here = id.site.0 == self.id && id.chain.is_empty() && !id.any_chain;
                let inside = group.as_ref().is_none_or(|group| group.contains(&id.site.1));
                let ends = here && inside && !live.ended && self.makes_task(id.site.1);
                ends.then(|| live.over())
            });
        }
    }

    fn makes_task(&self, inst: u32) -> bool {
        let Op::Call { callee: Callee::Direct(target), .. } =
            &self.function.instructions[inst as usize].op
        else {
            return false;
        };
        let effects = self.env.effects.of(*target).into_iter().flatten();
        effects
            .into_iter()
            .any(|effect| matches!(effect, Effect::Create { passed, .. } if is_task(passed)))
    }

    /// The task that a pointer leads into which was loaded from the task's first word: before others
    /// know of the task, nobody has put anything else there.
    pub(super) fn task_pointed_into(&self, inst: u32) -> Option<u32> {
        let Op::Load { address, .. } = &self.function.instructions[inst as usize].op else {
            return None;
        };
        let from = self.sym(address)?;
        let Some(Atom::Inst(LOCAL, made)) = from.as_atom() else { return None };
        let Op::Call { callee: Callee::Direct(target), .. } =
            &self.function.instructions[*made as usize].op
        else {
            return None;
        };
        let effects = self.env.effects.of(*target)?;
        effects.iter().any(|effect| matches!(effect, Effect::PointsIntoItself)).then_some(*made)
    }

    /// The calls between the beginning of a group and its end here; none where groups are nested.
    fn group_ended_by(&self, end: u32, opens: FunctionId) -> Vec<u32> {
        let Op::Call { callee: closes, .. } = &self.function.instructions[end as usize].op else {
            return Vec::new();
        };
        let mut found = Vec::new();
        // From the end backwards to where the group begins.
        let mut seen = vec![false; self.function.blocks.len()];
        let block = self.cfg.block_of[end as usize];
        let mut open: Vec<(u32, u32)> = vec![(block, end)];
        while let Some((block, before)) = open.pop() {
            let mut begun = false;
            for inst in (self.function.blocks[block as usize].start.0..before).rev() {
                let Op::Call { callee, .. } = &self.function.instructions[inst as usize].op else {
                    continue;
                };
                if callee == closes {
                    return Vec::new();
                }
                if matches!(callee, Callee::Direct(target) if *target == opens) {
                    begun = true;
                    break;
                }
                found.push(inst);
            }
            if begun {
                continue;
            }
            if block == 0 {
                return Vec::new();
            }
            for &from in &self.cfg.predecessors[block as usize] {
                if !std::mem::replace(&mut seen[from as usize], true) {
                    open.push((from, self.function.blocks[from as usize].end.0));
                }
            }
        }
        found
    }

    /// Whether the task that the call allocates is only run at once, by whoever makes it: it is begun and
    /// ended there, and handed to nobody.
    pub(super) fn runs_at_once(&self, made: u32) -> bool {
        let module = &self.env.program.module;
        let task = Value::Inst(InstId(made));
        let mut begun = false;
        let kept = self.function.instructions.iter().all(|instruction| {
            let op = &instruction.op;
            match op {
                Op::Call { callee: Callee::Direct(target), arguments, .. } => {
                    let name = module.name_text(module.function(*target).name);
                    let begins = name == "__kmpc_omp_task_begin_if0";
                    let mentions = arguments.contains(&task);
                    begun |= begins && mentions;
                    let is_entry = self.env.effects.of(*target).is_none()
                        && !module.function(*target).is_declaration();
                    !mentions || begins || name == "__kmpc_omp_task_complete_if0" || is_entry
                }
                Op::Store { value, .. } => *value != task,
                Op::Address { .. } | Op::Load { .. } => true,
                op => !op.operands().contains(&&task),
            }
        });
        kept && begun
    }

    /// How many tasks a call makes that makes tasks: what it returns is one, unless it is handed to a
    /// loop that makes many of it.
    pub(super) fn extent_of_task(&self, inst: u32, extent: Extent) -> Extent {
        let is_other = |value: Option<&Value>| matches!(value, Some(Value::Inst(made)) if made.0 != inst && self.makes_task(made.0));
        let one = self.function.instructions.iter().all(|instruction| {
            let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
                return true;
            };
            let module = &self.env.program.module;
            let name = module.name_text(module.function(*target).name);
            !name.starts_with("__kmpc_taskloop") || is_other(arguments.get(2))
        });
        Extent { many: extent.many && !one, ..extent }
    }
}

/// Whether what is made is a task: it gets the memory that the call returns.
pub fn is_task(passed: &Passed) -> bool {
    matches!(passed, Passed::Result { .. })
}
