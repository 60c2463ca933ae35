//! From a capture and what to gate to a gated program.

use std::path::PathBuf;

use racewarden_capture::Capture;
use racewarden_finding::Race;
use racewarden_instrument::{BuildRequest, Gate, GateMap, GateRequest, build_target, survey};
use racewarden_schedule::{Schedule, Step};

use crate::runtime::{RuntimeMode, build_cache};

/// A program with gates at all that was asked for.
pub struct GatedProgram {
    pub path: PathBuf,
    pub map: GateMap,
}

/// Builds the first target of `capture` with gates at both sites of every race and at every step
/// of the schedules.
pub fn build_gated(
    capture: &Capture,
    races: &[Race],
    schedules: &[&Schedule],
) -> anyhow::Result<GatedProgram> {
    let request = GateRequest {
        sites: races.iter().flat_map(|race| race.sites.iter()).collect(),
        instructions: schedules
            .iter()
            .flat_map(|schedule| &schedule.steps)
            .map(|step| (step.function.clone(), step.instruction))
            .collect(),
    };
    let map = survey(capture, 0, &request)?;
    let pass = Gate::new(map);
    let archive = RuntimeMode::Gate.archive()?;
    let cache = build_cache();
    let path = build_target(&BuildRequest {
        capture,
        target: 0,
        pass: &pass,
        runtime: &archive,
        cache: &cache,
    })?;
    Ok(GatedProgram { path, map: pass.map().clone() })
}

impl GatedProgram {
    /// The gates of race `index`'s two sites, in the order the races were given.
    pub fn sides(&self, index: usize) -> [Vec<u32>; 2] {
        let gates = |site: usize| self.map.site_gates.get(2 * index + site).cloned();
        [gates(0).unwrap_or_default(), gates(1).unwrap_or_default()]
    }

    /// A visit to a gate as a step of a schedule.
    pub fn step(&self, visit: &racewarden_schedule::gate::Visit) -> Option<Step> {
        let gate = self.map.gates.get(visit.gate as usize)?;
        Some(Step {
            thread: visit.thread.clone(),
            function: gate.function.clone(),
            instruction: gate.instruction,
            occurrence: visit.occurrence,
        })
    }
}
