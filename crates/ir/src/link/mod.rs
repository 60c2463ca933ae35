//! Joins modules into a program by the linker's rules.
//!
//! Symbols are resolved first (`symbols.rs`): a strong definition wins over a common one, a common
//! one over a weak one, the first of equals stays, and two strong ones are a conflict that becomes
//! a note. Internal symbols stay private to their unit. Then every module's ids are mapped to the
//! program's and its bodies are moved over (`merge.rs`), so the work is linear in the input.

mod merge;
mod symbols;

use crate::{Module, Program};

/// Joins `modules`. Never fails: a conflict becomes a note in the result.
pub fn link(mut modules: Vec<Module>) -> Program {
    if modules.len() == 1 {
        let module = modules.remove(0);
        let units = vec![module.name.clone()];
        let function_units = vec![0; module.functions.len()];
        let global_units = vec![0; module.globals.len()];
        return Program { module, units, function_units, global_units };
    }
    merge::merge(modules)
}
