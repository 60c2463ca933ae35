//! Which instructions of an edited function are those that it had before.
//!
//! Instructions are matched in order, by what they do without what they take (the longest common
//! subsequence); what is left is matched without the numbers that it takes, in between. That a match is right is not needed: what is asked of matched instructions is compared
//! by whoever takes something over.

use std::hash::{DefaultHasher, Hash, Hasher};

use racewarden_ir::{Callee, Function, InstId, Module, Op, Value};

use super::renaming::NONE;
use crate::cfg::Cfg;

/// Products of lengths past which the middle of a function is not matched.
const MOST: usize = 16_000_000;

/// The instruction in one number: what it does, names of what it mentions, and whether it is on a cycle.
/// Numbers of functions, globals, names and types depend on the module, so none of them is in it.
fn label(op: &Op, module: &Module, in_cycle: bool, numbers: bool) -> u64 {
    let mut hash = DefaultHasher::new();
    (std::mem::discriminant(op), in_cycle).hash(&mut hash);
    for operand in op.operands() {
        value(operand, module, numbers, &mut hash);
    }
    match op {
        Op::Load { size, order, volatile, .. } | Op::Store { size, order, volatile, .. } => {
            (size, order, volatile).hash(&mut hash);
        }
        Op::Alloca { size, name, .. } => (size, module.name_text(*name)).hash(&mut hash),
        Op::Address { offset, indices, .. } => {
            offset.hash(&mut hash);
            indices.iter().for_each(|(_, scale)| scale.hash(&mut hash));
        }
        Op::Call { callee, arguments, .. } => {
            arguments.len().hash(&mut hash);
            std::mem::discriminant(callee).hash(&mut hash);
            if let Callee::Direct(target) = callee {
                module.name_text(module.function(*target).name).hash(&mut hash);
            }
        }
        _ => {}
    }
    hash.finish()
}

fn value(value: &Value, module: &Module, numbers: bool, hash: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hash);
    match value {
        Value::Arg(argument) => argument.hash(hash),
        Value::Global(global) => module.name_text(module.global(*global).name).hash(hash),
        Value::Function(id) => module.name_text(module.function(*id).name).hash(hash),
        Value::Int { bits, .. } if numbers => bits.hash(hash),
        Value::Offset { base, offset } => {
            offset.hash(hash);
            self::value(base, module, numbers, hash);
        }
        _ => {}
    }
}

fn labels((function, module): (&Function, &Module), numbers: bool) -> Vec<u64> {
    let cfg = Cfg::new(function);
    (0..function.instructions.len())
        .map(|inst| {
            let in_cycle = cfg.in_cycle[cfg.block_of[inst] as usize];
            let mut hash = DefaultHasher::new();
            let op = &function.inst(InstId::new(inst)).op;
            label(op, module, in_cycle, numbers).hash(&mut hash);
            // Variables of one kind are told apart by what was written.
            let path = function.path_of(InstId::new(inst));
            path.map(|path| module.name_text(path.text)).hash(&mut hash);
            hash.finish()
        })
        .collect()
}

/// Numbers after the edit by those before it, and the other way round. Copies of parameters passed by
/// value are numbered after the instructions.
pub fn aligned(old: (&Function, &Module), new: (&Function, &Module)) -> (Vec<u32>, Vec<u32>) {
    let (before, after) = (labels(old, true), labels(new, true));
    let params = old.0.params.len().min(new.0.params.len());
    let mut forth = vec![NONE; before.len() + params];
    let mut back = vec![NONE; after.len() + params];
    let strict = common(&before, &after);
    // Between those that are the same, instructions that take other numbers.
    let (loose_before, loose_after) = (labels(old, false), labels(new, false));
    let mut matched = strict.clone();
    let mut start = (0, 0);
    for end in strict.into_iter().chain([(before.len(), after.len())]) {
        let (a, b) = (&loose_before[start.0..end.0], &loose_after[start.1..end.1]);
        matched.extend(common(a, b).into_iter().map(|(a, b)| (start.0 + a, start.1 + b)));
        start = (end.0 + 1, end.1 + 1);
    }
    matched.extend((0..params).map(|at| (before.len() + at, after.len() + at)));
    for (a, b) in matched {
        forth[a] = b as u32;
        back[b] = a as u32;
    }
    (forth, back)
}

/// What two lists have in common, in order: how they begin, how they end, and what is between.
fn common(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let rest = (&a[start..], &b[start..]);
    let end = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(a, b)| a == b).count();
    let between = middle(&rest.0[..rest.0.len() - end], &rest.1[..rest.1.len() - end]);
    let mut found: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    found.extend(between.into_iter().map(|(i, j)| (start + i, start + j)));
    found.extend((1..=end).rev().map(|at| (a.len() - at, b.len() - at)));
    found
}

/// The longest common subsequence.
fn middle(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    if a.len().saturating_mul(b.len()) > MOST {
        return Vec::new();
    }
    let width = b.len() + 1;
    // How much the parts from here on have in common.
    let mut common = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = match a[i] == b[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}
