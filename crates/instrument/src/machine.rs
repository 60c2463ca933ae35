//! The target machine that optimises and emits.

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::targets::{
    InitializationConfig, RelocMode, Target, TargetMachine, TargetMachineOptions,
};

use crate::InstrumentError;

static INITIALIZED: Once = Once::new();

/// A machine for the module's own triple. Per-function attributes in the bitcode carry the CPU and
/// the features that the user's flags chose, so the machine itself stays generic.
pub(crate) fn machine_for(module: &Module) -> Result<TargetMachine, InstrumentError> {
    INITIALIZED.call_once(|| Target::initialize_x86(&InitializationConfig::default()));
    let triple = module.get_triple();
    let failed = |message: String| InstrumentError::NoMachine(message);
    let target = Target::from_triple(&triple).map_err(|error| failed(error.to_string()))?;
    // Position-independent always: the same object serves executables and shared libraries.
    let options = TargetMachineOptions::new()
        .set_level(OptimizationLevel::Default)
        .set_reloc_mode(RelocMode::PIC);
    target
        .create_target_machine_from_options(&triple, options)
        .ok_or_else(|| failed(triple.to_string()))
}
