//! What the two threads of a proved race did, as the interleaving picture shows it, and code
//! addresses of a gated run as frames of the source.
//!
//! The steps are the schedule's: it was enforced, so their order is what happened. Locks are those
//! that the sites are known to hold. What the threads did besides is not recorded.

use std::path::Path;

use racewarden_capture::Unit;
use racewarden_finding::{Frame, Race};
use racewarden_schedule::{Schedule, Step};
use serde_json::{Value, json};

use super::build::GatedProgram;
use super::runner::Violation;
use crate::dynamic::{Place, Symbols};

/// Turns code addresses of one gated program into frames.
pub struct Frames<'a> {
    symbols: Symbols<'a>,
    module: String,
}

impl<'a> Frames<'a> {
    pub fn new(program: &Path, units: &'a [Unit]) -> Self {
        let module = program.to_string_lossy().into_owned();
        Frames { symbols: Symbols::new(units), module }
    }

    /// The frames that lie in the program's own source, innermost first. Frames of the runtime and
    /// of libraries are left out.
    pub fn of(&mut self, stack: &[u64]) -> Vec<Frame> {
        let mut frames = Vec::new();
        'stack: for &address in stack {
            // Addresses are told relative to the load address already.
            let place = Place { address, base: 0, module: self.module.clone() };
            for position in self.symbols.call(&place) {
                let ours = position.function.starts_with("__racewarden")
                    || position.function.contains("racewarden_runtime");
                if ours && position.function.ends_with("::born") {
                    // The runtime starts every thread: nothing of the program lies further out.
                    break 'stack;
                } else if ours {
                    // Whatever stands further in is the runtime's too.
                    frames.clear();
                } else if position.line > 0 {
                    let (function, file, line) = (position.function, position.file, position.line);
                    frames.push(Frame { function, file, line });
                }
            }
        }
        frames
    }
}

/// The timeline of an enforced schedule (docs/report-format.md). `leading` is the site whose
/// access the last step but one performs.
pub fn timeline(
    race: &Race,
    program: &GatedProgram,
    schedule: &Schedule,
    leading: usize,
    violation: Option<(&Violation, &[Frame])>,
) -> Value {
    let [before @ .., first, second] = schedule.steps.as_slice() else { return json!([]) };
    let lane_of = |thread: &str| match thread {
        _ if thread == first.thread => Some(leading),
        _ if thread == second.thread => Some(1 - leading),
        _ => None,
    };
    let mut steps = Vec::new();
    for (lane, site) in race.sites.iter().enumerate() {
        for lock in &site.locks {
            let (file, line) = lock.acquired_at.rsplit_once(':').unwrap_or_default();
            steps.push(json!({
                "thread": lane, "kind": "acquire", "text": lock.name,
                "file": file, "line": line.parse::<u32>().unwrap_or(0),
            }));
        }
    }
    for step in before {
        if let Some(lane) = lane_of(&step.thread) {
            steps.push(plain_step(program, step, lane));
        }
    }
    steps.push(json!({
        "thread": 1 - leading, "kind": "wait", "text": "right before its access",
        "file": race.sites[1 - leading].file, "line": race.sites[1 - leading].line,
    }));
    for lane in [leading, 1 - leading] {
        let site = &race.sites[lane];
        steps.push(json!({
            "thread": lane, "kind": site.access.to_string(), "text": site.lvalue,
            "file": site.file, "line": site.line, "racing": true,
        }));
    }
    if let Some((violation, frames)) = violation {
        let lane = lane_of(&violation.thread);
        let who = if lane.is_none() && !violation.thread.is_empty() {
            format!(" in {}", violation.thread)
        } else {
            String::new()
        };
        let top = frames.first();
        steps.push(json!({
            "thread": lane.unwrap_or(1 - leading), "kind": "other",
            "text": format!("{}{who}: {}", violation.kind.as_str(), violation.detail),
            "file": top.map_or("", |frame| &frame.file), "line": top.map_or(0, |frame| frame.line),
        }));
    }
    Value::Array(steps)
}

fn plain_step(program: &GatedProgram, step: &Step, lane: usize) -> Value {
    let gate = program
        .map
        .gates
        .iter()
        .find(|gate| gate.function == step.function && gate.instruction == step.instruction);
    json!({
        "thread": lane, "kind": "other", "text": format!("in {}", step.function),
        "file": gate.map_or("", |gate| &gate.file), "line": gate.map_or(0, |gate| gate.line),
    })
}

/// The site that a schedule's last step but one stands at, by its place in the source.
pub fn leading_site(race: &Race, program: &GatedProgram, schedule: &Schedule) -> usize {
    let [.., first, second] = schedule.steps.as_slice() else { return 0 };
    let stands_at = |step: &Step, site: usize| {
        program.map.gates.iter().any(|gate| {
            gate.function == step.function
                && gate.instruction == step.instruction
                && gate.line == race.sites[site].line
                && (gate.access == race.sites[site].access)
        })
    };
    usize::from(!(stands_at(first, 0) && stands_at(second, 1)) && stands_at(first, 1))
}
