//! What weakens the result: everything the engine could not see through, and that could matter.

use racewarden_finding::{Engine, Note};
use racewarden_ir::{Callee, FunctionId, NoteKind, Op, Value};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::bodies::Bodies;
use crate::callgraph::effects_of_call;
use crate::contexts::Instantiation;
use crate::effects::{Effect, Effects};
use crate::naming::Naming;
use crate::pointsto::{CallSite, PointsTo};
use crate::threads::RootId;

/// Notes about what the analysis of the reachable functions had to leave open.
pub fn collect(
    instantiation: &Instantiation<'_>,
    naming: &Naming<'_>,
    reachable: &[bool],
    threaded: bool,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let bodies = &instantiation.bodies;
    if shares_with_processes(instantiation, reachable) {
        let text = "memory is shared with a process that `fork` makes: what that does there is not followed";
        notes.push(Note::weakens(Engine::Check, text));
    }
    // Without a second thread nothing that happens can race.
    if !threaded && !creates_unseen(instantiation, reachable) {
        return notes;
    }
    unknown_functions(naming, reachable, &mut notes);
    unresolved_calls(naming, reachable, &mut notes);
    unknown_pointers(naming, reachable, &mut notes);
    own_passed_on(naming, reachable, &mut notes);
    if has_own_streams(bodies) {
        let text = "a class is derived from a stream buffer or a part of a locale: what the library's \
                    streams call of it is not followed";
        notes.push(Note::weakens(Engine::Check, text));
    }
    if instantiation.effects.jumps && jumps_past_creation(instantiation) {
        let text = "setjmp is used: threads created before a jump back are not followed";
        notes.push(Note::weakens(Engine::Check, text));
    }
    for note in bodies.notes() {
        let weakens = matches!(
            note.kind,
            NoteKind::InlineAssembly | NoteKind::UnknownInstruction | NoteKind::UnknownConstant
        );
        notes.push(if weakens {
            Note::weakens(Engine::Check, note.text.clone())
        } else {
            Note::info(Engine::Check, note.text.clone())
        });
    }
    notes
}

/// Classes of the library whose virtual functions its streams call, as symbols begin after `_ZTI` and
/// after `_ZN` or `_ZNK`.
const STREAM_PARTS: &[&str] = &[
    "St15basic_streambuf",
    "St13basic_filebuf",
    "St15basic_stringbuf",
    "NSt7__cxx1115basic_stringbuf",
    "NSt6locale5facet",
    "St5ctype",
    "St7codecvt",
    "St8numpunct",
    "NSt7__cxx118numpunct",
    "St7num_put",
    "St7num_get",
    "NSt3__115basic_streambuf",
    "NSt3__113basic_filebuf",
    "NSt3__115basic_stringbuf",
    "NSt3__16locale5facet",
];
/// Virtual functions of stream buffers: only a table of a derived class names them.
const BUFFER_FUNCTIONS: &[&str] =
    &["overflow", "underflow", "uflow", "xsputn", "xsgetn", "showmanyc", "pbackfail", "seekpos"];

/// Whether the program has a class that the library's streams call back into. A table of a derived
/// class names functions of its base, and its type information that of the base.
pub(crate) fn has_own_streams(bodies: &Bodies<'_>) -> bool {
    bodies.names().any(|name| {
        let begins = |rest: &str| STREAM_PARTS.iter().any(|part| rest.starts_with(part));
        if let Some(rest) = name.strip_prefix("_ZTI") {
            return begins(rest);
        }
        name.starts_with("_ZN")
            && name.contains("buf")
            && racewarden_models::plain_name(name).is_some_and(|plain| {
                plain
                    .strip_prefix("std::basic_")
                    .and_then(|rest| rest.split_once("buf::"))
                    .is_some_and(|(_, function)| BUFFER_FUNCTIONS.contains(&function))
            })
    })
}

/// Whether other processes of the program's own may have its memory.
fn shares_with_processes(instantiation: &Instantiation<'_>, reachable: &[bool]) -> bool {
    let Instantiation { bodies, effects, points, .. } = instantiation;
    let has = |is: &dyn Fn(CallSite, &Effect) -> bool| {
        bodies.ids().filter(|id| reachable[id.index()]).any(|id| {
            bodies.calls(id).any(|(inst, callee)| {
                effects_of_call(effects, points, (id, inst), callee)
                    .any(|effect| is((id, inst), effect))
            })
        })
    };
    let may_share = |site: CallSite, flags: &Option<u32>| {
        let (Some(flags), Some(op)) = (flags, bodies.op(site)) else { return true };
        let Op::Call { arguments, .. } = &*op else { return true };
        !matches!(arguments.get(*flags as usize), Some(Value::Int { bits, .. }) if bits & 1 == 0)
    };
    has(&|_, effect| *effect == Effect::Fork)
        && has(
            &|site, effect| matches!(effect, Effect::ShareMemory { flags } if may_share(site, flags)),
        )
}

/// Whether a thread that calls `setjmp` may create others.
fn jumps_past_creation(instantiation: &Instantiation<'_>) -> bool {
    let returns_twice = |id: &FunctionId| {
        instantiation.bodies.calls(*id).any(|(_, callee)| {
            matches!(callee, Callee::Direct(target)
                if instantiation.effects.of(*target).into_iter().flatten()
                    .any(|effect| *effect == Effect::ReturnsTwice))
        })
    };
    let jumping: FxHashSet<FunctionId> = instantiation.bodies.ids().filter(returns_twice).collect();
    let jumpers: FxHashSet<RootId> = instantiation
        .contexts
        .iter()
        .filter(|context| jumping.contains(&context.function))
        .map(|context| context.root)
        .collect();
    let creates = |id: FunctionId| instantiation.graph.create_sites.iter().any(|s| s.0 == id);
    instantiation
        .contexts
        .iter()
        .any(|context| jumpers.contains(&context.root) && creates(context.function))
}

/// Whether a thread could start where the analysis does not see it.
fn creates_unseen(instantiation: &Instantiation<'_>, reachable: &[bool]) -> bool {
    let unresolved = instantiation.graph.unresolved.iter().any(|site| reachable[site.0.index()]);
    unresolved || called_unknown(instantiation, reachable).next().is_some()
}

fn called_unknown<'a>(
    instantiation: &'a Instantiation<'_>,
    reachable: &'a [bool],
) -> impl Iterator<Item = racewarden_ir::FunctionId> + 'a {
    let bodies = &instantiation.bodies;
    let mut called = vec![false; bodies.count()];
    for id in bodies.ids().filter(|id| reachable[id.index()]) {
        for (inst, callee) in bodies.calls(id) {
            match callee {
                Callee::Direct(target) => called[target.index()] = true,
                _ => {
                    let targets = instantiation.points.targets.get(&(id, inst));
                    for target in targets.into_iter().flatten() {
                        called[target.index()] = true;
                    }
                }
            }
        }
    }
    instantiation.effects.unknown.iter().copied().filter(move |id| called[id.index()])
}

fn unknown_functions(naming: &Naming<'_>, reachable: &[bool], notes: &mut Vec<Note>) {
    let instantiation = naming.instantiation;
    for id in called_unknown(instantiation, reachable) {
        let effects = instantiation.effects.of(id).unwrap_or_default();
        let known = if effects.contains(&Effect::Unknown) {
            "has no body and no model: what it does with its pointers is not known"
        } else {
            "does more with its pointers than the model of it says"
        };
        let text = format!("`{}` {known}", naming.function(id));
        notes.push(Note::weakens(Engine::Check, text));
    }
}

fn unresolved_calls(naming: &Naming<'_>, reachable: &[bool], notes: &mut Vec<Note>) {
    let instantiation = naming.instantiation;
    for site in &instantiation.graph.unresolved {
        if reachable[site.0.index()] {
            let at = naming.at(site.0, site.1);
            let text = format!("{at}: no function is known that this indirect call reaches");
            notes.push(Note::weakens(Engine::Check, text));
        }
    }
    for site in &instantiation.graph.create_sites {
        let empty = instantiation.points.entries.get(site).is_none_or(Vec::is_empty);
        let Instantiation { bodies, effects, points, .. } = instantiation;
        if reachable[site.0.index()] && empty && !registers_nothing(bodies, effects, points, *site)
        {
            let at = naming.at(site.0, site.1);
            let text = format!("{at}: the function that the new thread runs is not known");
            notes.push(Note::weakens(Engine::Check, text));
        }
    }
}

/// Whether the call registers a handler that is no function (`SIG_IGN`, a key without destructor).
pub(crate) fn registers_nothing(
    bodies: &Bodies<'_>,
    effects: &Effects,
    points: &PointsTo,
    site: CallSite,
) -> bool {
    let op = bodies.op(site);
    let Some(Op::Call { callee, arguments, .. }) = op.as_deref() else { return false };
    let fixed = |value: &Value| match value {
        Value::Null => true,
        Value::Offset { base, .. } => **base == Value::Null,
        _ => false,
    };
    let mut effects = effects_of_call(effects, points, site, callee);
    effects.all(|effect| match effect {
        Effect::Create { .. } => false,
        Effect::Handler { function, by_address: None, .. } => {
            arguments.get(*function as usize).is_some_and(fixed)
        }
        // A known place that holds no function holds `SIG_IGN` or `SIG_DFL`.
        Effect::Handler { function, by_address: Some(bytes), .. } => {
            let Some(value) = arguments.get(*function as usize) else { return false };
            let mut places = points.value(bodies, site.0, value).into_owned();
            for place in &mut places {
                place.offset = place.offset.wrapping_add(*bytes as i64);
            }
            let blob = points.blob().object;
            !places.is_empty()
                && !places.iter().any(|at| at.object == blob)
                && points.contents(&places).is_empty()
        }
        _ => true,
    })
}

/// Whether the pointer comes from an integer or from a library: elsewhere a pointer without a
/// target is never followed by a program without undefined behaviour.
pub(crate) fn is_foreign(
    bodies: &Bodies<'_>,
    effects: &Effects,
    function: racewarden_ir::FunctionId,
    value: &Value,
    depth: u32,
) -> bool {
    let is_foreign = |value: &Value| is_foreign(bodies, effects, function, value, depth + 1);
    match value {
        Value::Offset { base, .. } => **base == Value::Null,
        Value::Unknown { .. } => true,
        Value::Inst(inst) if depth < 8 => match bodies.scanned_op((function, inst.0)).as_deref() {
            Some(Op::Address { base, .. }) => is_foreign(base),
            Some(Op::Cast { op: racewarden_ir::CastOp::IntToPtr, .. }) => true,
            Some(Op::Cast { value, .. } | Op::Freeze { value }) => is_foreign(value),
            Some(Op::Select { then, otherwise, .. }) => is_foreign(then) || is_foreign(otherwise),
            Some(Op::Call { callee: Callee::Direct(target), .. }) => {
                let effects = effects.of(*target);
                effects.is_some_and(|effects| !effects.contains(&Effect::ReturnsOwn))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Addresses of a thread's own memory that go further than to the next access.
fn own_passed_on(naming: &Naming<'_>, reachable: &[bool], notes: &mut Vec<Note>) {
    let instantiation = naming.instantiation;
    let bodies = &instantiation.bodies;
    let returns_own = |target: racewarden_ir::FunctionId| {
        let effects = instantiation.effects.of(target);
        effects.is_some_and(|effects| effects.contains(&Effect::ReturnsOwn))
    };
    if !bodies.ids().any(returns_own) {
        return;
    }
    for id in bodies.ids().filter(|id| reachable[id.index()]) {
        let is_own = |value: &Value| match value {
            Value::Inst(inst) => matches!(bodies.scanned_op((id, inst.0)).as_deref(),
                Some(Op::Call { callee: Callee::Direct(target), .. }) if returns_own(*target)),
            _ => false,
        };
        for (inst, op) in bodies.scan(id) {
            let address = match &*op {
                Op::Load { address, .. } | Op::Store { address, .. } => Some(address),
                _ => None,
            };
            let goes_on = |value: &&Value| is_own(value) && address.is_none_or(|a| a != *value);
            let stored = matches!(&*op, Op::Store { value, .. } if is_own(value));
            if stored || op.operands().iter().any(goes_on) {
                let at = naming.at(id, inst);
                let text = format!("{at}: who uses this address of the thread's own is not known");
                notes.push(Note::weakens(Engine::Check, text));
            }
        }
    }
}

/// Accesses whose pointer leads to no known object.
fn unknown_pointers(naming: &Naming<'_>, reachable: &[bool], notes: &mut Vec<Note>) {
    let instantiation = naming.instantiation;
    let bodies = &instantiation.bodies;
    let ids: Vec<FunctionId> = bodies.ids().filter(|id| reachable[id.index()]).collect();
    let of = |&id: &FunctionId| {
        bodies.scan(id).filter_map(move |(inst, op)| {
            let (Op::Load { address, .. }
            | Op::Store { address, .. }
            | Op::AtomicRmw { address, .. }
            | Op::CompareExchange { address, .. }
            | Op::MemSet { to: address, .. }
            | Op::MemCopy { to: address, .. }) = &*op
            else {
                return None;
            };
            let is_unknown = is_foreign(bodies, instantiation.effects, id, address, 0)
                && instantiation.points.value(bodies, id, address).is_empty();
            is_unknown.then_some((id, inst))
        })
    };
    let found: Vec<CallSite> = ids.par_iter().flat_map_iter(of).collect();
    for (id, inst) in found {
        let at = naming.at(id, inst);
        let text = format!("{at}: nothing is known of where this pointer leads");
        notes.push(Note::weakens(Engine::Check, text));
    }
}
