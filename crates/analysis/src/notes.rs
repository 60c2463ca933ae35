//! What weakens the result: everything the engine could not see through, and that could matter.

use racewarden_finding::{Engine, Note};
use racewarden_ir::{Callee, NoteKind, Op, Program, Value};

use crate::contexts::Instantiation;
use crate::naming::Naming;

/// Notes about what the analysis of the reachable functions had to leave open.
pub fn collect(
    instantiation: &Instantiation<'_>,
    naming: &Naming<'_>,
    reachable: &[bool],
    threaded: bool,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let program = instantiation.program;
    // Without a second thread nothing that happens can race.
    if !threaded && !creates_unseen(instantiation, reachable) {
        return notes;
    }
    unknown_functions(naming, reachable, &mut notes);
    unresolved_calls(naming, reachable, &mut notes);
    unknown_pointers(naming, reachable, &mut notes);
    if instantiation.effects.jumps {
        let text = "setjmp is used: threads created before a jump back are not followed";
        notes.push(Note::weakens(Engine::Check, text));
    }
    for note in &program.module.notes {
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

/// Whether a thread could start where the analysis does not see it.
fn creates_unseen(instantiation: &Instantiation<'_>, reachable: &[bool]) -> bool {
    let unresolved = instantiation.graph.unresolved.iter().any(|site| reachable[site.0.index()]);
    unresolved || called_unknown(instantiation, reachable).next().is_some()
}

fn called_unknown<'a>(
    instantiation: &'a Instantiation<'_>,
    reachable: &'a [bool],
) -> impl Iterator<Item = racewarden_ir::FunctionId> + 'a {
    let program: &Program = instantiation.program;
    let mut called = vec![false; program.module.functions.len()];
    for id in program.module.function_ids().filter(|id| reachable[id.index()]) {
        for (index, instruction) in program.module.function(id).instructions.iter().enumerate() {
            let Op::Call { callee, .. } = &instruction.op else { continue };
            match callee {
                Callee::Direct(target) => called[target.index()] = true,
                _ => {
                    let targets = instantiation.points.targets.get(&(id, index as u32));
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
        notes.push(Note::weakens(
            Engine::Check,
            format!(
                "`{}` has no body and no model: what it does with its pointers is not known",
                naming.function(id)
            ),
        ));
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
        if reachable[site.0.index()] && empty {
            let at = naming.at(site.0, site.1);
            let text = format!("{at}: the function that the new thread runs is not known");
            notes.push(Note::weakens(Engine::Check, text));
        }
    }
}

/// Whether the pointer comes from an integer or from a library: elsewhere a pointer without a
/// target is never followed by a program without undefined behaviour.
fn is_foreign(
    instantiation: &Instantiation<'_>,
    function: racewarden_ir::FunctionId,
    value: &Value,
    depth: u32,
) -> bool {
    let body = instantiation.program.module.function(function);
    match value {
        Value::Offset { base, .. } => **base == Value::Null,
        Value::Unknown { .. } => true,
        Value::Inst(inst) if depth < 8 => match &body.inst(*inst).op {
            Op::Address { base, .. } => is_foreign(instantiation, function, base, depth + 1),
            Op::Cast { op: racewarden_ir::CastOp::IntToPtr, .. } => true,
            Op::Cast { value, .. } | Op::Freeze { value } => {
                is_foreign(instantiation, function, value, depth + 1)
            }
            Op::Select { then, otherwise, .. } => {
                is_foreign(instantiation, function, then, depth + 1)
                    || is_foreign(instantiation, function, otherwise, depth + 1)
            }
            Op::Call { callee: Callee::Direct(target), .. } => {
                instantiation.effects.of(*target).is_some()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Accesses whose pointer leads to no known object.
fn unknown_pointers(naming: &Naming<'_>, reachable: &[bool], notes: &mut Vec<Note>) {
    let instantiation = naming.instantiation;
    let program = instantiation.program;
    for id in program.module.function_ids().filter(|id| reachable[id.index()]) {
        for (index, instruction) in program.module.function(id).instructions.iter().enumerate() {
            let (Op::Load { address, .. }
            | Op::Store { address, .. }
            | Op::AtomicRmw { address, .. }
            | Op::CompareExchange { address, .. }
            | Op::MemSet { to: address, .. }
            | Op::MemCopy { to: address, .. }) = &instruction.op
            else {
                continue;
            };
            if is_foreign(instantiation, id, address, 0)
                && instantiation.points.value(program, id, address).is_empty()
            {
                let at = naming.at(id, index as u32);
                let text = format!("{at}: nothing is known of where this pointer leads");
                notes.push(Note::weakens(Engine::Check, text));
            }
        }
    }
}
