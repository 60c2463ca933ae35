//! OpenMP tasks that depend on each other (OpenMP 5.2, 15.9.5).
//!
//! Of two tasks that one task has made, the one made later begins when the one made earlier has ended, if
//! both name one address in their dependences and not just to read it (`in`), or in the same set
//! (`inoutset`). Tasks of one `mutexinoutset` run one at a time. So what such tasks do themselves is
//! ordered, or apart, whichever is made first, and as often as they are made; not what is done by
//! tasks that they make.
//!
//! Followed are tasks that one member alone makes in a team (in a `single`, `master` or `section`) with lists
//! of dependences that stand in the function. An address is taken for another one's when both are
//! made of globals, or of one activation's formals and variables.
//!
//! May leave as candidates: tasks made by tasks, dependences by iterators and `depobj`, waiting for some tasks
//! by their dependences.

use racewarden_ir::{Callee, FunctionId, InstId, Op, Value};

use crate::contexts::GuardedAccess;
use crate::digests::{Digest, Whole};
use crate::order::entered_once;
use crate::pointsto::CallSite;
use crate::sym::{Atom, LOCAL, Sym};
use crate::team::same_member;
use crate::threads::RootId;

pub struct Dependences;

impl Digest for Dependences {
    fn name(&self) -> &'static str {
        "dependence"
    }

    fn excludes(&self, a: &GuardedAccess, b: &GuardedAccess, whole: &Whole<'_>) -> Option<String> {
        let (team, first) = made_by_team(a.root, whole)?;
        let (other, second) = made_by_team(b.root, whole)?;
        let siblings = team == other
            && first.0 == second.0
            && whole.is_flat_team(team)
            && same_member((team, first), (team, second), whole);
        if !siblings {
            return None;
        }
        let (x, y) = (dependences(whole, first)?, dependences(whole, second)?);
        let once = entered_once(whole, team, (first.0, 0));
        let apart = x.iter().any(|one| {
            y.iter().any(|two| {
                one.at == two.at
                    && (once || one.at.is_constant_address())
                    && keep_apart(one.kind, two.kind)
            })
        });
        apart.then(|| "the tasks depend on each other".to_owned())
    }
}

/// The team whose member alone makes the task, and where.
fn made_by_team(root: RootId, whole: &Whole<'_>) -> Option<(RootId, CallSite)> {
    let data = whole.root(root);
    if !data.task {
        return None;
    }
    let ((team, _), others) = data.births.split_first()?;
    let alone = whole.root(*team).team && others.iter().all(|(parent, _)| parent == team);
    alone.then_some((*team, data.create.as_ref()?.site))
}

struct Dependence {
    at: Sym,
    kind: u64,
}

/// Kinds as the library numbers them.
const IN: u64 = 1;
const INOUT: u64 = 3;
const MUTEXINOUTSET: u64 = 4;
const INOUTSET: u64 = 8;

fn keep_apart(one: u64, two: u64) -> bool {
    let known = |kind: u64| [IN, INOUT, MUTEXINOUTSET, INOUTSET].contains(&kind);
    known(one) && known(two) && (one != two || [INOUT, MUTEXINOUTSET].contains(&one))
}

/// Bytes of an entry of a list: the address, the length, and the kind.
const ENTRY: i64 = 24;
const KIND: i64 = 16;
const MAX_ENTRIES: u64 = 16;

const LAUNCH: &str = "__kmpc_omp_task_with_deps";
/// Where the launching call gets the task, and the number and the list of its dependences.
const TASK: usize = 2;
const COUNT: usize = 3;
const LIST: usize = 4;

/// What the task depends on that is allocated at the site, if it is launched with its dependences
/// wherever it is not run at once.
fn dependences(whole: &Whole<'_>, site: CallSite) -> Option<Vec<Dependence>> {
    let (function, made) = site;
    let bodies = &whole.instantiation.bodies;
    let body = bodies.of(function);
    let mut launched: Option<&[Value]> = None;
    for instruction in &body.instructions {
        let Op::Call { callee: Callee::Direct(target), arguments, .. } = &instruction.op else {
            continue;
        };
        if !arguments.contains(&Value::Inst(InstId(made))) {
            continue;
        }
        let name = bodies.symbol(*target);
        if name == LAUNCH && arguments.get(TASK) == Some(&Value::Inst(InstId(made))) {
            if launched.replace(arguments).is_some() {
                return None;
            }
        } else if name.starts_with("__kmpc_omp_task") && !name.ends_with("_if0") {
            return None;
        }
    }
    let launched = launched?;
    let Value::Int { bits: count, .. } = launched.get(COUNT)? else { return None };
    if *count > MAX_ENTRIES {
        return None;
    }
    let flow = whole.flow(function);
    let value = |value: &Value| flow.1.value(value, bodies.types());
    let list = value(launched.get(LIST)?)?;
    let Some(Atom::Stack(LOCAL, slot)) = list.as_atom() else { return None };
    let (mut places, mut kinds) = (vec![None; *count as usize], vec![None; *count as usize]);
    for (inst, instruction) in (0u32..).zip(&body.instructions) {
        let touches = |operand: &Value| {
            value(operand).is_some_and(|sym| {
                sym.mentions(&|atom| matches!(atom, Atom::Stack(LOCAL, own) if own == slot))
            })
        };
        match &instruction.op {
            Op::Store { address, value: stored, order: None, .. } if touches(address) => {
                if touches(stored) {
                    return None;
                }
                let at = value(address)?.plus(&list.clone().scaled(-1)).as_constant()?;
                let entry = usize::try_from(at.div_euclid(ENTRY)).ok()?;
                let known = match at.rem_euclid(ENTRY) {
                    0 => places.get_mut(entry)?.replace(stored.clone()).is_some(),
                    KIND => kinds.get_mut(entry)?.replace(stored.clone()).is_some(),
                    _ => false,
                };
                if known {
                    return None;
                }
            }
            Op::Call { callee: Callee::Direct(target), arguments, .. }
                if arguments.iter().any(touches) =>
            {
                let name = bodies.symbol(*target);
                let reads = name.starts_with(LAUNCH)
                    || name == "__kmpc_omp_wait_deps"
                    || name.starts_with("llvm.lifetime");
                if !reads {
                    return None;
                }
            }
            // Addresses into the list are followed where they are used.
            Op::Address { .. } | Op::Alloca { .. } | Op::Cast { .. } => {}
            op if inst != *slot && op.operands().into_iter().any(touches) => return None,
            _ => {}
        }
    }
    let found = places.into_iter().zip(kinds).filter_map(|(place, kind)| {
        let Value::Int { bits, .. } = kind? else { return None };
        let at = value(&place?)?;
        is_fixed(whole, function, &at).then_some(Dependence { at, kind: bits })
    });
    Some(found.collect())
}

/// Whether the address is the same wherever it stands in one activation.
fn is_fixed(whole: &Whole<'_>, function: FunctionId, at: &Sym) -> bool {
    let in_cycle = |inst: u32| whole.instantiation.graph.is_in_cycle(function, inst);
    !at.terms.is_empty()
        && !at.mentions(&|atom| match atom {
            Atom::Global(global) => whole.instantiation.bodies.global(*global).thread_local,
            Atom::Argument(LOCAL, _) => false,
            Atom::Stack(LOCAL, inst) => in_cycle(*inst),
            _ => true,
        })
}
