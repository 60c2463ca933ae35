//! Which code is instrumented: the executable, and every library that announced itself.

use std::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    static __executable_start: u8;
    static etext: u8;
}

const MOST: usize = 64;
static RANGES: [(AtomicUsize, AtomicUsize); MOST] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A module's constructor called `__tsan_init` from `pc`: code near there is instrumented.
///
/// The module's exact extent is not known here, so 1 MiB around the call counts as its own; what
/// lies in between is another instrumented library or nothing.
pub fn announce(pc: usize) {
    if is_instrumented(pc) {
        return;
    }
    let at = COUNT.fetch_add(1, Ordering::Relaxed);
    if at < MOST {
        const REACH: usize = 1 << 20;
        RANGES[at].1.store(pc.saturating_add(REACH), Ordering::Relaxed);
        RANGES[at].0.store(pc.saturating_sub(REACH), Ordering::Release);
    }
}

pub fn is_instrumented(pc: usize) -> bool {
    let (start, end) = (&raw const __executable_start as usize, &raw const etext as usize);
    if (start..end).contains(&pc) {
        return true;
    }
    let count = COUNT.load(Ordering::Relaxed).min(MOST);
    RANGES[..count].iter().any(|(start, end)| {
        let start = start.load(Ordering::Acquire);
        start != 0 && start <= pc && pc < end.load(Ordering::Relaxed)
    })
}

/// Whether `pc` lies in the dynamic loader, which is mapped as one small piece.
pub fn is_loader(pc: usize) -> bool {
    const SIZE: usize = 0x38000;
    // SAFETY: only reads the auxiliary vector.
    let base = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    base != 0 && (base..base + SIZE).contains(&pc)
}
