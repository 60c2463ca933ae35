//! Of which types the program's mutexes may be, and those that lie in what they guard.

use racewarden_ir::{Callee, Op, Program, Value};

use crate::contexts::GuardedAccess;
use crate::digests::{Whole, fits};
use crate::pointsto::ObjectKind;
use crate::state::Held;
use crate::sym::{Atom, Sym};

/// Whether some mutex may be of the type that checks for errors (`PTHREAD_MUTEX_ERRORCHECK`, the
/// default type being the normal one, which waits for ever when its holder takes it again).
pub fn checks_errors(program: &Program) -> bool {
    const RECURSIVE_OR_WAITING: [u64; 3] = [0, 1, 3];
    let module = &program.module;
    let set_type = module.function_by_symbol("pthread_mutexattr_settype");
    let dynamic = set_type.is_some_and(|set_type| {
        module.functions.iter().flat_map(|function| &function.instructions).any(|instruction| {
            matches!(&instruction.op, Op::Call { callee: Callee::Direct(target), arguments, .. }
                if *target == set_type
                    && !matches!(arguments.get(1), Some(Value::Int { bits, .. })
                        if RECURSIVE_OR_WAITING.contains(bits)))
        })
    });
    dynamic || checks_by_initializer(program)
}

/// Whether some mutex may be one that tells of its holder's death.
pub fn may_be_robust(program: &Program) -> bool {
    const SETTERS: [&str; 2] = ["pthread_mutexattr_setrobust", "pthread_mutexattr_setrobust_np"];
    SETTERS.iter().any(|setter| program.module.function_by_symbol(setter).is_some())
}

/// A mutex initialised statically to check: zero but for its kind.
fn checks_by_initializer(program: &Program) -> bool {
    const KIND: usize = 16;
    program.module.globals.iter().filter_map(|global| global.initializer.as_ref()).any(|data| {
        data.bytes
            .windows(40)
            .step_by(8)
            .any(|mutex| (0..40).all(|at| mutex[at] == if at == KIND { 2 } else { 0 }))
    })
}

impl Whole<'_> {
    /// `locks[i]` guards `data[i]`.
    pub(crate) fn same_index(
        &self,
        a: &GuardedAccess,
        x: &Held,
        b: &GuardedAccess,
        y: &Held,
    ) -> bool {
        let (Some(at_a), Some(at_b)) = (&a.address, &b.address) else { return false };
        let (Some(p), Some(q)) = (indexed(at_a, &x.lock), indexed(at_b, &y.lock)) else {
            return false;
        };
        p.scale == q.scale
            && p.lock_scale == q.lock_scale
            && p.lock_base == q.lock_base
            && p.base.terms == q.base.terms
            && p.base
                .distance(&q.base)
                .is_some_and(|distance| fits(distance, a.size, b.size, p.scale.abs()))
    }

    /// `p->lock` guards `p->items[i]`, where `p` always leads to the start of an allocation: an index
    /// stays inside of it, so accesses that meet have the same `p`, and so the same lock.
    pub(crate) fn same_allocation(
        &self,
        a: &GuardedAccess,
        x: &Held,
        b: &GuardedAccess,
        y: &Held,
    ) -> bool {
        let objects = &self.instantiation.points.locations().objects;
        let is_start = |access: &GuardedAccess, held: &Held| {
            let [(pointer, 1)] = held.lock.terms.as_slice() else { return false };
            let derived =
                |address: &Sym| address.terms.iter().any(|term| *term == (pointer.clone(), 1));
            access.address.as_ref().is_some_and(derived)
                && !held.points.is_empty()
                && held.points.iter().all(|at| {
                    at.stride == 0
                        && at.offset == held.lock.offset
                        && matches!(objects[at.object as usize], ObjectKind::Heap(..))
                })
        };
        x.lock.offset == y.lock.offset && is_start(a, x) && is_start(b, y)
    }
}

/// An access `base + scale·i` under a lock `lock_base + lock_scale·i`.
struct Indexed {
    base: Sym,
    scale: i64,
    lock_base: Sym,
    lock_scale: i64,
}

fn indexed(address: &Sym, lock: &Sym) -> Option<Indexed> {
    let (atom, scale) = address.terms.iter().find(|(atom, _)| !matches!(atom, Atom::Global(_)))?;
    let (_, lock_scale) = lock.terms.iter().find(|(other, _)| other == atom)?;
    let base = address.plus(&Sym::atom(atom.clone()).scaled(-scale));
    let lock_base = lock.plus(&Sym::atom(atom.clone()).scaled(-lock_scale));
    (base.is_constant_address() && lock_base.is_constant_address() && !base.terms.is_empty())
        .then_some(Indexed { base, scale: *scale, lock_base, lock_scale: *lock_scale })
}
