//! Words of which threads set and clear bits (`fetch_or`, `fetch_and`).

use racewarden_ir::{RmwOp, Value};

use super::events::{Word, Write, WriteKind};
use super::values::Content;

/// A word that only ever has some bits set, all of them or none, holds one of two values: setting
/// and clearing the bits are stores of these.
pub fn settle(word: &mut Word) {
    let mut both = word.writes.iter().filter_map(|write| match write.kind {
        WriteKind::Set(bits) => Some(bits),
        _ => None,
    });
    let set = both.next().filter(|set| both.all(|other| other == *set));
    let set = set.filter(|_| word.initial == Some(Content::Bits(0)));
    let is_one = |write: &Write, set: u64| match write.kind {
        WriteKind::Set(_) => true,
        WriteKind::Keep(bits) => bits & set == 0,
        _ => [Some(Content::Bits(0)), Some(Content::Bits(set))].contains(&write.value),
    };
    let set = set.filter(|set| word.writes.iter().all(|write| is_one(write, *set)));
    for write in &mut word.writes {
        let kind = write.kind;
        match (kind, set) {
            (WriteKind::Set(_), Some(set)) => {
                (write.kind, write.value) = (WriteKind::Exchange, Some(Content::Bits(set)));
            }
            (WriteKind::Keep(_), Some(_)) => {
                (write.kind, write.value) = (WriteKind::Store, Some(Content::Bits(0)));
            }
            (WriteKind::Set(_) | WriteKind::Keep(_), None) => write.kind = WriteKind::Other,
            _ => {}
        }
    }
}

/// What an instruction that sets or clears bits does to a word.
pub fn kind(op: RmwOp, value: &Value) -> WriteKind {
    match (op, value) {
        (RmwOp::Or, Value::Int { bits, .. }) if *bits != 0 => WriteKind::Set(*bits),
        (RmwOp::And, Value::Int { bits, .. }) => WriteKind::Keep(*bits),
        _ => WriteKind::Other,
    }
}
