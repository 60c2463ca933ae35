//! The detect mode: LLVM's own `tsan` instrumentation.
//!
//! Functions get `sanitize_thread` before any optimisation, so that the optimiser invents no racy
//! access. How much is optimised before the accesses are instrumented follows the user's own
//! flags: what was built with `-O1` or more is optimised first, as it ships; what was not is
//! instrumented right after promotion to registers, so that every access the programmer wrote is
//! watched, and optimised afterwards.

use std::collections::BTreeSet;
use std::process::Command;

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::{CallSiteValue, LLVMTailCallKind};
use racewarden_capture::{Language, Toolchain, Unit};

use crate::assembly::expose;
use crate::borrowed::{define_strings, is_shared_cache};
use crate::coalesce::coalesce;
use crate::containers::tell;
use crate::covered::leave_out_covered;
use crate::fetch::fetch_cells;
use crate::inline::{PIPELINE, inline};
use crate::loops::hoist;
use crate::outside::combines_parts;
use crate::prune::{Places, mark, settle};
use crate::wide::check_odd_sizes;
use crate::{InstrumentError, Optimise, UnitPass};

/// Instruments for the race-detecting runtime.
#[derive(Debug, Clone, Default)]
pub struct Detect {
    /// The capture's units: their sources say which functions must stay uninstrumented.
    pub units: Vec<Unit>,
    /// Accesses that are known to race with nothing.
    pub unwatched: Places,
}

impl UnitPass for Detect {
    fn name(&self) -> &'static str {
        "detect"
    }

    fn key(&self, _unit_index: usize) -> String {
        // The name changes whenever the same unit is instrumented differently than before.
        format!(
            "assembly strings containers, lock in the cell, cells fetched, second cells of ranges, columns, tags {:?}",
            self.unwatched
        )
    }

    fn apply(&self, module: &Module, unit_index: usize) -> Result<(), InstrumentError> {
        let unsanitized = self.units.get(unit_index).map(unsanitized).unwrap_or_default();
        define_strings(module);
        let exposed = expose(module).and_then(|()| tell(module));
        exposed.map_err(|error| InstrumentError::PassFailed {
            path: module.get_name().to_string_lossy().into_owned().into(),
            pass: "detect".to_owned(),
            message: error.to_string(),
        })?;
        let context = module.get_context();
        let kind = Attribute::get_named_enum_kind_id("sanitize_thread");
        let disabled = Attribute::get_named_enum_kind_id("disable_sanitizer_instrumentation");
        let attribute = context.create_enum_attribute(kind, 0);
        for function in module.get_functions() {
            let name = function.get_name().to_string_lossy();
            let excluded = function.get_enum_attribute(AttributeLoc::Function, disabled).is_some()
                || unsanitized.contains(name.as_ref())
                || is_shared_cache(&name)
                || combines_parts(&name);
            if function.count_basic_blocks() > 0 && !excluded {
                function.add_attribute(AttributeLoc::Function, attribute);
            }
        }
        if !self.unwatched.is_empty() {
            mark(module, &self.unwatched);
        }
        Ok(())
    }

    fn build<'c>(
        &self,
        module: &Module<'c>,
        unit_index: usize,
        optimise: Optimise<'_, 'c>,
    ) -> Result<(), InstrumentError> {
        self.apply(module, unit_index)?;
        optimise(module, None)?;
        settle(module);
        keep_own_calls(module);
        let level = self.units.get(unit_index).and_then(|unit| optimisation(&unit.arguments));
        if check_odd_sizes(module)? {
            optimise(module, Some("always-inline"))?;
        }
        // The last pass gives every loop a block before it, where its checks can go.
        let rest = match level {
            Some(_) => "tsan-module,function(tsan,loop-simplify)",
            None => "tsan-module,function(tsan),default<O1>,function(loop-simplify)",
        };
        optimise(module, Some(rest))
    }

    fn pipeline(&self, unit: &Unit) -> String {
        // What comes before the tsan pass.
        match optimisation(&unit.arguments) {
            Some(level) => format!("default<{level}>"),
            None => "function(sroa,mem2reg)".to_owned(),
        }
    }

    fn finish(
        &self,
        module: &Module,
        executable: bool,
    ) -> Result<Option<&'static str>, InstrumentError> {
        coalesce(module);
        hoist(module);
        leave_out_covered(module);
        call_from_module(module);
        if !executable {
            return Ok(None);
        }
        fetch_cells(module)?;
        inline(module)?;
        Ok(Some(PIPELINE))
    }
}

/// A program that translates code itself says of that code when a function is entered and left. Those calls stay
/// calls: only what the tsan pass puts into a function speaks for that function.
fn keep_own_calls(module: &Module) {
    for name in ["func_entry", "func_exit"] {
        if let Some(declared) = module.get_function(&format!("__tsan_{name}")) {
            declared.as_global_value().set_name(&format!("__racewarden_own_{name}"));
        }
    }
}

/// The runtime takes the place that `__tsan_init` is called from for a place in the module: the constructor must not
/// end with a jump there.
fn call_from_module(module: &Module) {
    let constructor = module.get_function("tsan.module_ctor");
    let blocks = constructor.into_iter().flat_map(|function| function.get_basic_blocks());
    for instruction in blocks.flat_map(|block| block.get_instructions()) {
        if let Ok(call) = CallSiteValue::try_from(instruction) {
            call.set_tail_call_kind(LLVMTailCallKind::LLVMTailCallKindNoTail);
        }
    }
}

/// The functions that the source excludes by `no_sanitize("thread")`.
///
/// The attribute only reaches the bitcode when clang is told to sanitize, and then it also changes
/// what `__has_feature` says, so the pristine bitcode is without it. A unit whose preprocessed text
/// has the attribute is compiled once more, only to see which functions are left out.
fn unsanitized(unit: &Unit) -> BTreeSet<String> {
    if unit.language == Language::Bitcode {
        return BTreeSet::new();
    }
    let Ok(toolchain) = Toolchain::find() else { return BTreeSet::new() };
    let driver = if unit.language == Language::Cxx { &toolchain.clangxx } else { &toolchain.clang };
    let output = |extra: &[&str]| {
        let mut command = Command::new(driver);
        command.current_dir(&unit.directory).args(&unit.arguments).arg("-w").args(extra);
        command.arg(&unit.source).output().map(|output| output.stdout).unwrap_or_default()
    };
    let text = output(&["-E", "-P"]);
    if !text.windows(b"no_sanitize".len()).any(|window| window == b"no_sanitize") {
        return BTreeSet::new();
    }
    let assembly = output(&[
        "-fsanitize=thread",
        "-O2",
        "-Xclang",
        "-disable-llvm-passes",
        "-emit-llvm",
        "-c",
        "-o",
        "-",
    ]);
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(&assembly, "sanitized");
    let Ok(module) = context.create_module_from_ir(buffer) else { return BTreeSet::new() };
    let kind = Attribute::get_named_enum_kind_id("sanitize_thread");
    module
        .get_functions()
        .filter(|function| function.count_basic_blocks() > 0)
        .filter(|function| function.get_enum_attribute(AttributeLoc::Function, kind).is_none())
        .map(|function| function.get_name().to_string_lossy().into_owned())
        .collect()
}

/// The level that the flags ask for, the last one winning as in the compiler.
pub(crate) fn optimisation(arguments: &[String]) -> Option<&'static str> {
    let last = arguments.iter().rev().find(|flag| flag.starts_with("-O"))?;
    match last.as_str() {
        "-O0" => None,
        "-O" | "-O1" | "-Og" => Some("O1"),
        "-Os" => Some("Os"),
        "-Oz" => Some("Oz"),
        "-O3" | "-Ofast" | "-O4" => Some("O3"),
        _ => Some("O2"),
    }
}

#[cfg(test)]
mod tests {
    use super::optimisation;

    #[test]
    fn the_last_level_wins_and_none_means_every_access() {
        let level = |flags: &[&str]| {
            optimisation(&flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(level(&[]), None);
        assert_eq!(level(&["-O2", "-O0"]), None);
        assert_eq!(level(&["-O0", "-g", "-O3"]), Some("O3"));
        assert_eq!(level(&["-O"]), Some("O1"));
    }
}
