//! Ctrl-C: the first ends what is being run and lets the command report what it has; the second
//! ends the command at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// What a command that was interrupted twice ends with.
const AT_ONCE: i32 = 2;

/// Begins to heed Ctrl-C and SIGTERM. Programs under test run in groups of their own, so a signal
/// from the terminal reaches only this process, which has to end them.
pub fn heed() {
    REQUESTED.get_or_init(|| {
        let requested = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the shutdown is armed by an earlier signal only. Without handlers
            // a signal ends the command at once; nothing else depends on them.
            let armed = requested.clone();
            let _ = signal_hook::flag::register_conditional_shutdown(signal, AT_ONCE, armed);
            let _ = signal_hook::flag::register(signal, requested.clone());
        }
        requested
    });
}

/// Whether the user wants the command to come to an end.
pub fn requested() -> bool {
    REQUESTED.get().is_some_and(|requested| requested.load(Ordering::Relaxed))
}

/// The interrupt was meant for the program under test, and the command goes on.
pub fn dismiss() {
    if let Some(requested) = REQUESTED.get() {
        requested.store(false, Ordering::Relaxed);
    }
}
