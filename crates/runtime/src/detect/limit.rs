//! The cap on the runtime's memory.
//!
//! Nearly all of it is shadow, which grows with the memory the program touches; tables of sites,
//! contexts, locks and synchronisation objects have fixed sizes. When the process as a whole holds
//! more than the cap (`memory_limit_mb`, by default half of the machine's memory) no new shadow is
//! made: accesses to memory that has none are not watched, and their number is reported. What has
//! shadow stays watched, and synchronisation is always followed, so nothing is forgotten and no
//! false alarm arises.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::common::futex::raw_syscall;

static LIMIT_PAGES: AtomicUsize = AtomicUsize::new(usize::MAX);
static REACHED: AtomicBool = AtomicBool::new(false);
/// Accesses that found no shadow and got none.
pub static UNWATCHED: AtomicU64 = AtomicU64::new(0);

const PAGE: usize = 4096;

pub fn set_megabytes(megabytes: u64) {
    let pages = (megabytes as usize).saturating_mul((1 << 20) / PAGE);
    LIMIT_PAGES.store(pages.max(1), Ordering::Relaxed);
}

/// Half of what the machine has.
pub fn set_default() {
    // SAFETY: all zero is a valid `sysinfo`, which the call fills.
    let information = unsafe {
        let mut information: libc::sysinfo = std::mem::zeroed();
        let at = &raw mut information as usize;
        if raw_syscall(libc::SYS_sysinfo, at, 0, 0, 0, 0, 0) != 0 {
            return;
        }
        information
    };
    let bytes = (information.totalram as usize).saturating_mul(information.mem_unit as usize);
    LIMIT_PAGES.store(bytes / 2 / PAGE, Ordering::Relaxed);
}

/// Whether one more piece of shadow may be made. Asked once per 4 MiB of the program's memory.
pub fn allows_more() -> bool {
    if !REACHED.load(Ordering::Relaxed) {
        if resident_pages() < LIMIT_PAGES.load(Ordering::Relaxed) {
            return true;
        }
        REACHED.store(true, Ordering::Relaxed);
    }
    UNWATCHED.fetch_add(1, Ordering::Relaxed);
    false
}

/// The second field of `/proc/thread-self/statm`; 0 when it cannot be read, which allows all.
fn resident_pages() -> usize {
    let mut text = [0_u8; 128];
    let path = c"/proc/thread-self/statm";
    // SAFETY: plain system calls on our own buffer.
    let length = unsafe {
        let file = raw_syscall(libc::SYS_open, path.as_ptr() as usize, 0, 0, 0, 0, 0);
        if file < 0 {
            return 0;
        }
        let at = text.as_mut_ptr() as usize;
        let got = raw_syscall(libc::SYS_read, file as usize, at, text.len(), 0, 0, 0);
        raw_syscall(libc::SYS_close, file as usize, 0, 0, 0, 0, 0);
        usize::try_from(got).unwrap_or(0)
    };
    std::str::from_utf8(&text[..length])
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse().ok())
        .unwrap_or(0)
}
