//! What a function without a body may do to the order of threads, as far as the recorder cannot see
//! it.
//!
//! The recorder takes the C library's synchronisation where it is called, also by libraries that
//! are not instrumented. A function that no table knows may have its own: it may wait for a value in
//! memory or ask the system to. So whatever came before such a call is taken to be handed over to
//! whoever comes back from one later. That rules schedules out and makes none up.

use inkwell::llvm_sys::core::{LLVMGetInlineAsmAsmString, LLVMGetInlineAsmConstraintString};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use racewarden_models::{Effect, Models};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// Does not synchronise, or is recorded as what it is.
    Quiet,
    /// May hand something over.
    Unknown,
    /// Puts into a stream.
    Prints,
    /// Gets from a stream.
    Reads,
}

const RECORDED: [&str; 8] =
    ["pthread_", "sem_", "thrd_", "mtx_", "cnd_", "omp_", "__kmpc_", "Annotate"];

impl Outside {
    pub(crate) fn of(name: &str) -> Self {
        // glibc's other names for what newer standards changed.
        let plain = name.strip_prefix("__isoc99_").or_else(|| name.strip_prefix("__isoc23_"));
        let name = plain.unwrap_or(name);
        match name {
            "printf" | "fprintf" | "vprintf" | "vfprintf" | "dprintf" | "vdprintf"
            | "__printf_chk" | "__fprintf_chk" | "__vfprintf_chk" | "puts" | "putchar"
            | "fputs" | "fputc" | "putc" | "fwrite" | "fflush" | "fclose" | "pclose"
            | "puts_unlocked" | "putc_unlocked" | "fwrite_unlocked" => return Outside::Prints,
            "fgets" | "fgetc" | "getc" | "getchar" | "fread" | "fscanf" | "scanf" | "vfscanf"
            | "vscanf" | "getline" | "getdelim" | "__getdelim" | "getc_unlocked"
            | "fread_unlocked" => return Outside::Reads,
            // Locks on files.
            "flock" | "lockf" | "lockf64" | "fcntl" | "fcntl64" => return Outside::Unknown,
            _ => {}
        }
        if name.starts_with("__racewarden_")
            || name.starts_with("__tsan_")
            || RECORDED.iter().any(|prefix| name.starts_with(prefix))
        {
            return Outside::Quiet;
        }
        match Models::builtin().lookup(name) {
            // The C++ library locks by the C library's functions, or by atomics in headers.
            Some(model) if model.family == "cxx" => Outside::Quiet,
            Some(model) if !model.effects.iter().any(synchronises) => Outside::Quiet,
            _ => Outside::Unknown,
        }
    }
}

/// Whether the OpenMP library calls the function, made by the compiler, to begin or to add up the parts of a
/// reduction by tasks. It does so before it tells anyone that the tasks have ended, although they have.
pub(crate) fn combines_parts(name: &str) -> bool {
    name.starts_with(".red_init.") || adds_parts(name)
}

/// Whether it is called for the parts only once all of the tasks have ended.
pub(crate) fn adds_parts(name: &str) -> bool {
    name.starts_with(".red_comb.") || name.starts_with(".red_fini.")
}

/// Whether the assembly accesses memory, by an operand or in ways it does not say, and is more than
/// a hint to the processor or the compiler.
///
/// # Safety
/// The value is inline assembly.
pub(crate) unsafe fn assembly_may_synchronise(assembly: LLVMValueRef) -> bool {
    // SAFETY: as the caller says; both texts live as long as the assembly.
    let (code, operands) = unsafe {
        let mut length = 0;
        let code = LLVMGetInlineAsmAsmString(assembly, &mut length);
        let code = std::slice::from_raw_parts(code.cast::<u8>(), length);
        let operands = LLVMGetInlineAsmConstraintString(assembly, &mut length);
        (code, std::slice::from_raw_parts(operands.cast::<u8>(), length))
    };
    let (code, operands) = (String::from_utf8_lossy(code), String::from_utf8_lossy(operands));
    let is_hint = code.split([';', '\n']).all(|part| {
        let hints = ["", "pause", "rep", "nop", "rep nop", "yield", "mfence", "lfence", "sfence"];
        hints.contains(&part.trim())
    });
    !is_hint && (operands.contains("~{memory}") || operands.contains("*m"))
}

fn synchronises(effect: &Effect) -> bool {
    use Effect::*;
    matches!(
        effect,
        Acquire(_)
            | Release(_)
            | CreateThread(_)
            | Join { .. }
            | CondWait { .. }
            | CondSignal { .. }
            | CondBroadcast { .. }
            | BarrierWait { .. }
            | SemPost { .. }
            | SemWait { .. }
            | SyncRelease { .. }
            | SyncAcquire { .. }
            | Once { .. }
            | Atomic(_)
            | AtomicBegin
            | AtomicEnd
    )
}

#[cfg(test)]
mod tests {
    use super::Outside;

    #[test]
    fn what_no_table_knows_may_synchronise() {
        for (name, outside) in [
            ("pthread_mutex_lock", Outside::Quiet),
            ("strlen", Outside::Quiet),
            ("malloc", Outside::Quiet),
            ("sqrt", Outside::Quiet),
            ("__isoc99_fscanf", Outside::Reads),
            ("fputs", Outside::Prints),
            ("g_mutex_lock", Outside::Unknown),
            ("some_library_wait", Outside::Unknown),
        ] {
            assert_eq!(Outside::of(name), outside, "{name}");
        }
    }
}
