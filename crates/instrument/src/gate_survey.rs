//! Finds the instructions that candidate races and schedules name.
//!
//! A candidate names a site by file, line, column and kind of access, as the engine that found it
//! saw them: the static engine in this very bitcode, a run in optimised code. So an exact match is
//! taken first, then one on the line with the same kind of access, then any access on the line.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use inkwell::context::Context;
use inkwell::llvm_sys::core::{
    LLVMGetDebugLocColumn, LLVMGetDebugLocDirectory, LLVMGetDebugLocFilename, LLVMGetDebugLocLine,
};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue, InstructionOpcode, InstructionValue};
use racewarden_capture::Capture;
use racewarden_finding::{AccessKind, Site};

use crate::gate::MOST_GATES;
use crate::gate_access::access_of;
use crate::{InstrumentError, build};

/// One gate: a number for an instruction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateSite {
    pub number: u32,
    /// Index into the capture's units.
    pub unit: usize,
    /// The symbol of the function.
    pub function: String,
    /// The ordinal in the prepared function.
    pub instruction: u32,
    pub access: AccessKind,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// All gates of one build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateMap {
    pub gates: Vec<GateSite>,
    /// What could not be gated, in words.
    pub missing: Vec<String>,
    /// For each wanted site, in the order asked for, its gates.
    pub site_gates: Vec<Vec<u32>>,
    /// For each wanted instruction, its gate.
    pub step_gates: Vec<Option<u32>>,
}

/// What to gate.
#[derive(Debug, Clone, Default)]
pub struct GateRequest<'a> {
    pub sites: Vec<&'a Site>,
    /// Functions by symbol and instructions by ordinal, as schedules name them.
    pub instructions: Vec<(String, u32)>,
}

/// An access of the program with its place in the source.
struct Found {
    unit: usize,
    function: String,
    instruction: u32,
    access: AccessKind,
    file: String,
    directory: String,
    line: u32,
    column: u32,
}

/// Numbers the instructions that `request` names, in the units of one target.
pub fn survey(
    capture: &Capture,
    target: usize,
    request: &GateRequest,
) -> Result<GateMap, InstrumentError> {
    let target = capture.targets.get(target).ok_or(InstrumentError::NoSuchTarget(target))?;
    let mut found = Vec::new();
    for unit in target.units() {
        collect(capture, unit, request, &mut found)?;
    }
    let mut by_line: BTreeMap<u32, Vec<&Found>> = BTreeMap::new();
    for one in &found {
        by_line.entry(one.line).or_default().push(one);
    }
    let mut map = GateMap::default();
    let mut numbers = BTreeMap::new();
    for site in &request.sites {
        let on_line = by_line.get(&site.line).map(Vec::as_slice).unwrap_or_default();
        let gates = match_site(on_line, site);
        if gates.is_empty() {
            map.missing.push(format!(
                "no {} found at {}:{}:{}",
                site.access, site.file, site.line, site.column
            ));
        }
        let gates = gates.iter().filter_map(|one| number_of(&mut map, &mut numbers, one)).collect();
        map.site_gates.push(gates);
    }
    for (function, instruction) in &request.instructions {
        // A copy has two accesses, and which of them the schedule means shows only in the run.
        let mut gates = found
            .iter()
            .filter(|one| one.function == *function && one.instruction == *instruction)
            .map(|one| number_of(&mut map, &mut numbers, one))
            .collect::<Vec<_>>();
        if gates.is_empty() {
            map.missing.push(format!("no instruction {function}+{instruction}"));
        }
        map.step_gates.push(gates.pop().flatten());
    }
    Ok(map)
}

type Numbers = BTreeMap<(usize, String, u32, AccessKind), u32>;

fn number_of(map: &mut GateMap, numbers: &mut Numbers, one: &Found) -> Option<u32> {
    let key = (one.unit, one.function.clone(), one.instruction, one.access);
    if let Some(number) = numbers.get(&key) {
        return Some(*number);
    }
    if map.gates.len() >= MOST_GATES {
        map.missing.push(format!("{}:{}: more than {MOST_GATES} gates", one.file, one.line));
        return None;
    }
    let number = map.gates.len() as u32;
    numbers.insert(key, number);
    map.gates.push(GateSite {
        number,
        unit: one.unit,
        function: one.function.clone(),
        instruction: one.instruction,
        access: one.access,
        file: one.file.clone(),
        line: one.line,
        column: one.column,
    });
    Some(number)
}

fn match_site<'f>(found: &[&'f Found], site: &Site) -> Vec<&'f Found> {
    let on_line: Vec<&Found> =
        found.iter().copied().filter(|one| same_file(one, &site.file)).collect();
    let same_kind: Vec<&Found> =
        on_line.iter().copied().filter(|one| one.access == site.access).collect();
    let exact: Vec<&Found> =
        same_kind.iter().copied().filter(|one| one.column == site.column).collect();
    [exact, same_kind, on_line].into_iter().find(|tier| !tier.is_empty()).unwrap_or_default()
}

/// Engines write a file as the compiler was given it, or in full; debug information has both
/// halves.
fn same_file(one: &Found, wanted: &str) -> bool {
    if one.file == wanted {
        return true;
    }
    let full = normal(&Path::new(&one.directory).join(&one.file));
    full.ends_with(normal(Path::new(wanted)))
}

fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if result.file_name().is_some() => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

fn collect(
    capture: &Capture,
    unit: usize,
    request: &GateRequest,
    found: &mut Vec<Found>,
) -> Result<(), InstrumentError> {
    let context = Context::create();
    let module = build::open(&context, &capture.units[unit].bitcode)?;
    prepare(&module)?;
    for function in module.get_functions() {
        let name = function.get_name().to_string_lossy().into_owned();
        let steps: Vec<u32> = request
            .instructions
            .iter()
            .filter(|(wanted, _)| *wanted == name)
            .map(|(_, instruction)| *instruction)
            .collect();
        for (ordinal, place) in instructions(function).enumerate() {
            let ordinal = ordinal as u32;
            let mut kinds: Vec<AccessKind> =
                access_of(&module, place).into_iter().map(|access| access.kind).collect();
            if kinds.is_empty() && steps.contains(&ordinal) && can_stand_before(place) {
                kinds.push(AccessKind::Read);
            }
            if kinds.is_empty() {
                continue;
            }
            let place = location(place);
            if place.is_none() && !steps.contains(&ordinal) {
                continue;
            }
            let (file, directory, line, column) = place.unwrap_or_default();
            for access in kinds {
                let (file, directory) = (file.clone(), directory.clone());
                let function = name.clone();
                let instruction = ordinal;
                found.push(Found {
                    unit,
                    function,
                    instruction,
                    access,
                    file,
                    directory,
                    line,
                    column,
                });
            }
        }
    }
    Ok(())
}

/// Nothing can be put before these.
fn can_stand_before(place: InstructionValue) -> bool {
    !matches!(
        place.get_opcode(),
        InstructionOpcode::Phi | InstructionOpcode::LandingPad | InstructionOpcode::Alloca
    )
}

/// Brings the module into the form in which ordinals count.
pub(crate) fn prepare(module: &Module) -> Result<(), InstrumentError> {
    racewarden_bitcode::prepare(module).map_err(|error| InstrumentError::PassFailed {
        path: module.get_name().to_string_lossy().into_owned().into(),
        pass: "prepare".to_owned(),
        message: error.to_string(),
    })
}

/// All instructions in order: what ordinals count.
pub(crate) fn instructions<'c>(
    function: FunctionValue<'c>,
) -> impl Iterator<Item = InstructionValue<'c>> {
    function.get_basic_block_iter().flat_map(|block| {
        std::iter::successors(block.get_first_instruction(), |place| place.get_next_instruction())
    })
}

fn location(place: InstructionValue) -> Option<(String, String, u32, u32)> {
    let value = place.as_value_ref();
    let text = |pointer: *const std::ffi::c_char, length: u32| {
        if pointer.is_null() {
            return String::new();
        }
        // SAFETY: LLVM gives the length of a string that lives as long as the module.
        let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length as usize) };
        String::from_utf8_lossy(bytes).into_owned()
    };
    // SAFETY: the value is an instruction; one without a location gives zero and null.
    unsafe {
        let line = LLVMGetDebugLocLine(value);
        if line == 0 {
            return None;
        }
        let column = LLVMGetDebugLocColumn(value);
        let mut length = 0;
        let file = LLVMGetDebugLocFilename(value, &mut length);
        let file = text(file, length);
        let directory = LLVMGetDebugLocDirectory(value, &mut length);
        Some((file, text(directory, length), line, column))
    }
}
