//! Pointers that walk: which constant offsets are added again and again.
//!
//! `p++` over an array of structures, in a loop or to a pointer that is kept in memory (a vector's
//! end), adds the size of one element to what it has itself made. Followed one by one, its places
//! would use up an object's exact offsets and leave it without fields; taken as a stride they are
//! what they are, the same field of any element. A stride names more places than one step, so where
//! a walk is not noticed, or only seems to be one, nothing is lost but precision.

use racewarden_ir::{Function, InstId, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions that one search looks at before it gives up.
const MAX_SEARCH: usize = 64;

/// A place in memory as a function names it: the same value, so many bytes on.
type Place<'a> = (&'a Value, i64);

/// The address computations of a function whose result comes back as their base.
pub fn repeated(function: &Function) -> FxHashSet<u32> {
    let flowing = Flowing::new(function);
    let walks = |&index: &u32| match &function.instructions[index as usize].op {
        Op::Address { base, offset, indices } => {
            *offset != 0 && indices.is_empty() && flowing.comes_back(function, base, index)
        }
        _ => false,
    };
    let mut list = flowing.kept.iter().copied().filter(walks).collect::<Vec<_>>();
    list.sort_unstable();
    list.into_iter().collect()
}

/// What a function does with values beside computing with them.
struct Flowing<'a> {
    /// Results that are stored, or go where branches meet.
    kept: FxHashSet<u32>,
    stores: FxHashMap<Place<'a>, Vec<&'a Value>>,
}

impl<'a> Flowing<'a> {
    fn new(function: &'a Function) -> Self {
        let mut flowing = Flowing { kept: FxHashSet::default(), stores: FxHashMap::default() };
        for instruction in &function.instructions {
            match &instruction.op {
                Op::Store { address, value, size: 8, .. } => {
                    let is_computed = flowing.keep(value);
                    if is_computed {
                        let place = place(function, address);
                        flowing.stores.entry(place).or_default().push(value);
                    }
                }
                Op::Phi { incoming } => {
                    for edge in incoming {
                        flowing.keep(&edge.value);
                    }
                }
                Op::Select { then, otherwise, .. } => {
                    flowing.keep(then);
                    flowing.keep(otherwise);
                }
                _ => {}
            }
        }
        flowing
    }

    fn keep(&mut self, value: &Value) -> bool {
        if let Value::Inst(InstId(index)) = value {
            self.kept.insert(*index);
        }
        matches!(value, Value::Inst(_))
    }

    /// Whether a value may be what the instruction made before.
    fn comes_back(&self, function: &Function, from: &Value, to: u32) -> bool {
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut work = vec![from];
        while let Some(value) = work.pop() {
            let Value::Inst(InstId(index)) = value else { continue };
            if *index == to {
                return true;
            }
            if seen.len() >= MAX_SEARCH || !seen.insert(*index) {
                continue;
            }
            match &function.instructions[*index as usize].op {
                Op::Address { base, .. } => work.push(base),
                Op::Cast { value, .. } | Op::Freeze { value } => work.push(value),
                Op::Phi { incoming } => work.extend(incoming.iter().map(|edge| &edge.value)),
                Op::Select { then, otherwise, .. } => work.extend([then, otherwise]),
                Op::Load { address, size: 8, .. } => {
                    let stored = self.stores.get(&place(function, address));
                    work.extend(stored.into_iter().flatten());
                }
                _ => {}
            }
        }
        false
    }
}

fn place<'a>(function: &'a Function, address: &'a Value) -> Place<'a> {
    let (mut address, mut distance) = (address, 0i64);
    while let Value::Inst(InstId(index)) = address
        && let Op::Address { base, offset, indices } = &function.instructions[*index as usize].op
        && indices.is_empty()
    {
        address = base;
        distance = distance.wrapping_add(*offset);
    }
    (address, distance)
}
