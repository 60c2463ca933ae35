//! Where a task (OpenMP) keeps the addresses of what it shares: in one block with the task, behind it.

use racewarden_ir::{FunctionId, Value};

use crate::effects::{Effect, Effects};

/// Bytes of a task with its own variables.
const MAX_TASK: u64 = 1 << 20;
const WORD: u64 = 8;

/// How far into the block that begins which is allocated beside the size that was asked for.
pub fn behind_asked(effects: &Effects, target: FunctionId, arguments: &[Value]) -> Option<i64> {
    let mut sizes = effects.of(target)?.iter().filter_map(|effect| match effect {
        Effect::Allocate { size: Some(index), .. } => arguments.get(*index as usize),
        _ => None,
    });
    match sizes.next_back()? {
        Value::Int { bits, .. } if *bits < MAX_TASK => Some(bits.next_multiple_of(WORD) as i64),
        _ => None,
    }
}
