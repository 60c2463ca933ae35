//! How far a capture has come, on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use racewarden_capture::Progress;

/// Shown on a terminal only; indicatif sees to that.
pub struct CaptureBar(ProgressBar);

impl CaptureBar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("capture {bar:32} {pos}/{len} units {elapsed}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        CaptureBar(bar)
    }
}

impl Progress for CaptureBar {
    fn seen(&self, commands: usize) {
        // A build that writes to the same terminal shows its own progress, and would be garbled.
        if !std::io::stdout().is_terminal() {
            self.0.set_style(ProgressStyle::default_spinner());
            self.0.set_message(format!("capture: {commands} commands captured"));
            self.0.tick();
        }
    }

    fn start(&self, total: usize) {
        self.0.set_length(total as u64);
        if total > 0 {
            self.0.enable_steady_tick(Duration::from_millis(100));
        }
    }

    fn step(&self) {
        self.0.inc(1);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
