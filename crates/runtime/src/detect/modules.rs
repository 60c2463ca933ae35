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
/// lies in between is another instrumented library or nothing. A constructor that ends with the call, by a jump,
/// seems to have been called from whoever runs constructors: that says nothing about a module.
pub fn announce(pc: usize) {
    if is_instrumented(pc) || runs_constructors(pc) {
        return;
    }
    let at = COUNT.fetch_add(1, Ordering::Relaxed);
    if at < MOST {
        const REACH: usize = 1 << 20;
        RANGES[at].1.store(pc.saturating_add(REACH), Ordering::Relaxed);
        RANGES[at].0.store(pc.saturating_sub(REACH), Ordering::Release);
    }
}

/// Whether the C library or the loader is there.
fn runs_constructors(pc: usize) -> bool {
    let mut found = false;
    super::report::for_each_mapping(|start, end, path| {
        let is_one = path.contains("/libc.so") || path.contains("/ld-linux");
        found |= is_one && (start..end).contains(&pc);
    });
    found
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

/// The C++ runtime's code stands in for the program's own: a copy of a string happens in there.
const STANDING_IN: [&str; 3] = ["/libstdc++.so", "/libc++.so", "/libc++abi.so"];

static STANDING: [(AtomicUsize, AtomicUsize); 8] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 8];
static STANDING_READ: AtomicUsize = AtomicUsize::new(0);

/// Whether what the code at `pc` does to memory counts as the program's doing. A library like the
/// dynamic loader or an OpenMP runtime synchronises in ways that cannot be seen, so what it does
/// with its own memory says nothing.
pub fn is_watched(pc: usize) -> bool {
    if is_instrumented(pc) {
        return true;
    }
    if STANDING_READ.swap(1, Ordering::AcqRel) == 0 {
        let mut at = 0;
        super::report::for_each_mapping(|start, end, path| {
            if at < STANDING.len() && STANDING_IN.iter().any(|name| path.contains(name)) {
                STANDING[at].1.store(end, Ordering::Relaxed);
                STANDING[at].0.store(start, Ordering::Release);
                at += 1;
            }
        });
    }
    STANDING.iter().any(|(start, end)| {
        let start = start.load(Ordering::Acquire);
        start != 0 && start <= pc && pc < end.load(Ordering::Relaxed)
    })
}
