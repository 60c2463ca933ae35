//! A thread's own block, one `fs:` load away.
//!
//! The runtime is only ever linked into executables, so the local-exec model is always right. The
//! block is defined in assembly because stable Rust has no `#[thread_local]`, and because the entry
//! stubs write the caller's address into it before any Rust code runs.

use std::arch::{asm, global_asm};

// Layout: 0 the mode's thread state, 8 the caller's address as the last entry stub saw it,
// 16 nesting depth inside the runtime, 24 free for the mode. The detect mode's inline code uses
// the rest: 32 the epoch of now, 40 the top of the stack of call sites, 48 its limit, 56 its base. 64 is
// where the thread says which shadow it changes.
global_asm!(
    ".section .tbss.__racewarden_tls,\"awT\",@nobits",
    ".globl __racewarden_tls",
    ".hidden __racewarden_tls",
    ".p2align 4",
    ".type __racewarden_tls,@object",
    ".size __racewarden_tls, 80",
    "__racewarden_tls:",
    ".zero 80",
    ".text",
);

macro_rules! slot {
    ($get:ident, $set:ident, $offset:literal) => {
        #[inline(always)]
        pub fn $get() -> usize {
            let value: usize;
            // SAFETY: reads this thread's own block.
            unsafe {
                asm!(
                    concat!("mov {}, qword ptr fs:[__racewarden_tls@TPOFF + ", $offset, "]"),
                    out(reg) value,
                    options(nostack, preserves_flags, readonly)
                );
            }
            value
        }

        #[inline(always)]
        pub fn $set(value: usize) {
            // SAFETY: writes this thread's own block.
            unsafe {
                asm!(
                    concat!("mov qword ptr fs:[__racewarden_tls@TPOFF + ", $offset, "], {}"),
                    in(reg) value,
                    options(nostack, preserves_flags)
                );
            }
        }
    };
}

slot!(state, set_state, "0");
slot!(caller, set_caller, "8");
slot!(depth, set_depth, "16");
slot!(extra, set_extra, "24");
slot!(now, set_now, "32");
slot!(top, set_top, "40");
slot!(limit, set_limit, "48");
slot!(base, set_base, "56");
slot!(presence, set_presence, "64");

/// `interceptor! { fn name(a: A, …) -> R { … } }` defines the C symbol `name`. The symbol is a stub
/// that leaves its return address where [`caller`] finds it and goes on to the body.
#[macro_export]
macro_rules! interceptor {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident : $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        const _: () = {
            $(#[$meta])*
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn body($($argument: $type),*) $(-> $result)? {
                // The body is that of an unsafe function, as it is written.
                #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
                unsafe { $body }
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "mov r11, qword ptr [rsp]",
                    "mov qword ptr fs:[__racewarden_tls@TPOFF + 8], r11",
                    "jmp {body}",
                    body = sym body,
                )
            }
        };
    )*};
}
