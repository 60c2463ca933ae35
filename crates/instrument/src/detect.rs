//! The detect mode: LLVM's own `tsan` instrumentation.
//!
//! Functions get `sanitize_thread` before any optimisation, so that the optimiser invents no racy
//! access. How much is optimised before the accesses are instrumented follows the user's own
//! flags: what was built with `-O1` or more is optimised first, as it ships; what was not is
//! instrumented right after promotion to registers, so that every access the programmer wrote is
//! watched, and optimised afterwards.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use racewarden_capture::Unit;

use crate::{InstrumentError, UnitPass};

/// Instruments for the race-detecting runtime.
#[derive(Debug, Clone, Default)]
pub struct Detect {}

impl UnitPass for Detect {
    fn name(&self) -> &'static str {
        "detect"
    }

    fn key(&self, _unit_index: usize) -> String {
        String::new()
    }

    fn apply(&self, module: &Module, _unit_index: usize) -> Result<(), InstrumentError> {
        let context = module.get_context();
        let kind = Attribute::get_named_enum_kind_id("sanitize_thread");
        let disabled = Attribute::get_named_enum_kind_id("disable_sanitizer_instrumentation");
        let attribute = context.create_enum_attribute(kind, 0);
        for function in module.get_functions() {
            let excluded = function.get_enum_attribute(AttributeLoc::Function, disabled).is_some();
            if function.count_basic_blocks() > 0 && !excluded {
                function.add_attribute(AttributeLoc::Function, attribute);
            }
        }
        Ok(())
    }

    fn pipeline(&self, unit: &Unit) -> String {
        match optimisation(&unit.arguments) {
            Some(level) => format!("default<{level}>,tsan-module,function(tsan)"),
            None => "function(sroa,mem2reg),tsan-module,function(tsan),default<O1>".to_owned(),
        }
    }
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
