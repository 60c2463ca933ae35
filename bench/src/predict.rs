//! Order-only prediction over a generated trace of a million events, reading included.
//!
//! The trace is what a lock-based program gives: threads that mostly work on their own data, meet
//! in critical sections, read what others wrote there, and have a few unprotected accesses.

use std::fmt::Write;
use std::time::Instant;

use racewarden_predict::order::{self, Limits};
use racewarden_trace::text;

const EVENTS: usize = 1_000_000;
const THREADS: u64 = 16;

pub fn run() -> anyhow::Result<()> {
    let text = generate(EVENTS);
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &text)?;
    let start = Instant::now();
    let read = text::read(&std::fs::read(file.path())?)?;
    let reading = start.elapsed();
    let prediction = order::predict(&read.trace, &Limits::default());
    let total = start.elapsed();
    let events = read.trace.events.len();
    println!("events            {events}");
    println!("reading           {:.2} s", reading.as_secs_f64());
    println!("total             {:.2} s", total.as_secs_f64());
    println!("events per second {:.0}", events as f64 / total.as_secs_f64());
    println!("races             {}", prediction.races.len());
    println!("counts            {:?}", prediction.counts);
    Ok(())
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// `events` lines: turns of random threads, each a burst of private work or a critical section.
fn generate(events: usize) -> String {
    let mut random = Random(7);
    let mut text = String::with_capacity(events * 24);
    let mut count = 0;
    let mut emit = |thread: u64, operation: &str, object: u64, location: u64| {
        let prefix = if operation == "fork" { "T" } else { "" };
        let _ = writeln!(text, "T{thread}|{operation}({prefix}{object})|{location}");
        count += 1;
        count < events
    };
    for thread in 1..THREADS {
        emit(0, "fork", thread, 1);
    }
    loop {
        let thread = random.below(THREADS);
        let more = match random.below(10) {
            0..=5 => (0..10).all(|_| {
                let variable = 1_000_000 + thread * 10_000 + random.below(2_000);
                let operation = if random.below(3) == 0 { "w" } else { "r" };
                emit(thread, operation, variable, 100 + random.below(200))
            }),
            6..=8 => {
                let lock = random.below(64);
                emit(thread, "acq", lock, 400 + lock)
                    && (0..4).all(|_| {
                        let variable = 10_000 + lock * 100 + random.below(20);
                        let operation = if random.below(2) == 0 { "w" } else { "r" };
                        emit(thread, operation, variable, 500 + random.below(100))
                    })
                    && emit(thread, "rel", lock, 700 + lock)
            }
            _ => {
                let operation = if random.below(20) == 0 { "w" } else { "r" };
                emit(thread, operation, random.below(500), 800 + random.below(30))
            }
        };
        if !more {
            return text;
        }
    }
}
