//! The one pipeline that every consumer of bitcode runs first.

use inkwell::module::Module;

use crate::Error;
use crate::raw::Unit;

/// Puts locals into registers (`mem2reg,sroa`) and does nothing else, so that each access of the
/// source that another thread could see is still there. Functions marked `optnone` (from `-O0`)
/// lose the mark, or the passes would skip them.
///
/// Deterministic: two calls on equal modules give equal instruction ordinals.
pub fn prepare(module: &Module<'_>) -> Result<(), Error> {
    let unit = Unit::new(module.as_mut_ptr());
    let optnone = Unit::attribute_kind("optnone");
    for function in unit.functions().filter(|f| f.function_has(optnone)) {
        function.remove_function_attribute(optnone);
    }
    unit.run_passes(c"function(mem2reg,sroa)").map_err(|message| Error::Prepare {
        module: module.get_name().to_string_lossy().into_owned(),
        message,
    })
}
