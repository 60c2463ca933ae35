//! Of which types the program's mutexes may be.

use racewarden_ir::{Callee, Op, Program, Value};

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
