//! What instrumented code itself looks at and counts: `record_fast.rs` of the instrumentation has the same
//! layout.

use std::arch::{asm, global_asm};

use racewarden_trace::binary::derived::next_check;

/// Words of a thread's table of what its reader knows: 32 MB, of which only what is used takes memory. As
/// many as there are cells in `places`, so that one index serves both.
pub const KNOWN: usize = super::places::CELLS;

/// One thread's.
#[repr(C)]
pub struct Hot {
    /// What the cells of the thread's own places have; what no cell has while nothing may be counted,
    /// because the thread is inside the runtime, nothing is recorded, or every access is to draw a
    /// number.
    pub own: u64,
    /// What all have been reading since this number or before can be read without a new one; zero as
    /// above.
    pub reads: u64,
    /// The check of all accesses that the reader computes.
    pub check: u64,
    /// How many more of them may be counted. Who counts the last one must say so.
    pub left: u64,
    /// A word for eight bytes of the program's memory.
    known: [u64; KNOWN],
}

/// The layout that instrumented code is made for, with that of the cells in `places`.
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Hot, own) == 0 && offset_of!(Hot, reads) == 8);
    assert!(offset_of!(Hot, check) == 16 && offset_of!(Hot, left) == 24);
    assert!(offset_of!(Hot, known) == 32 && KNOWN == 1 << 22);
};

/// What no cell has.
const NOBODY: u64 = u64::MAX;

impl Hot {
    /// All zero but closed, never freed before its thread ends.
    pub fn allocate() -> *mut Hot {
        let layout = std::alloc::Layout::new::<Hot>();
        // SAFETY: the layout is not empty; all-zero numbers are numbers.
        unsafe {
            let hot = std::alloc::alloc_zeroed(layout).cast::<Hot>();
            if hot.is_null() {
                std::alloc::handle_alloc_error(layout);
            }
            (*hot).close();
            hot
        }
    }

    /// # Safety
    /// The thread is at its end, and nobody counts with it any more.
    pub unsafe fn free(hot: *mut Hot) {
        // SAFETY: made by `allocate`.
        unsafe { std::alloc::dealloc(hot.cast(), std::alloc::Layout::new::<Hot>()) };
    }

    #[inline]
    pub fn close(&mut self) {
        (self.own, self.reads) = (NOBODY, 0);
    }

    /// Where the word of eight bytes is kept.
    #[inline]
    pub fn known_mut(&mut self, granule: u64) -> &mut u64 {
        &mut self.known[(granule >> 3) as usize % KNOWN]
    }

    #[inline]
    pub fn count(&mut self, word: u64) {
        self.check = next_check(self.check, word);
        self.left -= 1;
    }
}

/// What threads have that are not recorded. The table is not looked at while it is closed.
#[unsafe(export_name = "__racewarden_closed")]
static CLOSED: [u64; 4] = [NOBODY, 0, 0, 0];

// The runtime is only ever linked into executables, so the local-exec model is always right.
global_asm!(
    ".section .tdata.__racewarden_hot,\"awT\",@progbits",
    ".globl __racewarden_hot",
    ".hidden __racewarden_hot",
    ".p2align 3",
    ".type __racewarden_hot,@object",
    ".size __racewarden_hot, 8",
    "__racewarden_hot:",
    ".quad __racewarden_closed",
    ".text",
);

/// This thread's.
#[inline(always)]
pub fn current() -> *mut Hot {
    let hot: usize;
    // SAFETY: reads this thread's own variable.
    unsafe {
        asm!(
            "mov {}, qword ptr fs:[__racewarden_hot@TPOFF]",
            out(reg) hot,
            options(nostack, preserves_flags, readonly)
        );
    }
    hot as *mut Hot
}

/// Lets this thread count, or not any more.
pub fn set(hot: Option<*mut Hot>) {
    let hot = hot.map_or(&raw const CLOSED as usize, |hot| hot as usize);
    // SAFETY: writes this thread's own variable.
    unsafe {
        asm!(
            "mov qword ptr fs:[__racewarden_hot@TPOFF], {}",
            in(reg) hot,
            options(nostack, preserves_flags)
        );
    }
}
