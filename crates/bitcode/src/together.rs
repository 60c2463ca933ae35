//! `std::lock` of guards, one after the other.
//!
//! `std::lock(first, second)` takes the locks of guards that were made with `std::defer_lock`, by
//! trying, giving up and trying again until it has all of them. What counts for its caller is that it
//! has: so the calls lead to a function that locks each of its arguments in turn, which
//! [`crate::flatten`] puts where it is called. That two threads may so wait for each other is of no
//! concern: nothing here looks for deadlocks, and whoever has taken several locks has had them all
//! at one moment, in whatever order they came. Mutexes that are passed themselves have a model.

use inkwell::AddressSpace;
use inkwell::builder::BuilderError;
use inkwell::module::{Linkage, Module};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue};
use racewarden_models::whole_name;
use rustc_hash::FxHashMap;

const LOCK: &str = "_ZSt4lockI";
const GUARD: &str = "_lockI";
const MEMBER: &str = "4lockEv";
const NAME: &str = "racewarden.lock.";

/// Lets calls of `std::lock` lead to functions that lock their arguments in turn: their names.
pub fn in_turn(module: &Module<'_>) -> Result<Vec<String>, BuilderError> {
    let name_of = |function: FunctionValue<'_>| function.get_name().to_string_lossy().into_owned();
    let is_lock = |name: &str| name.starts_with(LOCK) && name.contains(GUARD);
    let all: Vec<FunctionValue> =
        module.get_functions().filter(|f| is_lock(&name_of(*f))).collect();
    let mut given = Vec::new();
    if all.is_empty() {
        return Ok(given);
    }
    let members: FxHashMap<String, FunctionValue> = module
        .get_functions()
        .filter(|function| name_of(*function).ends_with(MEMBER))
        .filter_map(|function| Some((whole_name(&name_of(function))?, function)))
        .collect();
    for function in all {
        let whole = whole_name(&name_of(function)).unwrap_or_default();
        let locks = parameters(&whole).into_iter().map(|ty| members.get(&format!("{ty}::lock()")));
        let Some(locks) = locks.collect::<Option<Vec<_>>>() else { continue };
        if locks.len() != function.count_params() as usize || locks.is_empty() {
            continue;
        }
        let context = module.get_context();
        let pointer = context.ptr_type(AddressSpace::default()).into();
        let ty = context.void_type().fn_type(&vec![pointer; locks.len()], false);
        let name = format!("{NAME}{}", given.len());
        let taking = module.add_function(&name, ty, Some(Linkage::Internal));
        let builder = context.create_builder();
        builder.position_at_end(context.append_basic_block(taking, ""));
        for (lock, argument) in locks.into_iter().zip(taking.get_param_iter()) {
            let argument: BasicMetadataValueEnum = argument.into();
            builder.build_call(*lock, &[argument], "")?;
        }
        builder.build_return(None)?;
        function.replace_all_uses_with(taking);
        given.push(name);
    }
    Ok(given)
}

/// The types that a function gets references to.
fn parameters(whole: &str) -> Vec<&str> {
    let Some(list) = whole.strip_suffix(')') else { return Vec::new() };
    let (mut depth, mut end, mut found) = (0_u32, list.len(), Vec::new());
    for (at, c) in list.char_indices().rev() {
        match c {
            '>' | ')' => depth += 1,
            '<' => depth = depth.saturating_sub(1),
            '(' if depth > 0 => depth -= 1,
            '(' | ',' if depth == 0 => {
                found.push(list[at + 1..end].trim().trim_end_matches('&'));
                end = at;
                if c == '(' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.reverse();
    // An empty list of further parameters leaves its comma.
    found.retain(|ty| !ty.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::{LOCK, parameters};
    use racewarden_models::whole_name;

    #[test]
    fn guards_are_told_by_the_symbol() {
        let same = format!("{LOCK}St11unique_lockISt5mutexES2_JEEvRT_RT0_DpRT1_");
        let whole = whole_name(&same).expect("a symbol");
        assert_eq!(parameters(&whole), ["std::unique_lock<std::mutex>"; 2]);
        let mixed = format!("{LOCK}St11unique_lockISt5mutexES1_JEEvRT_RT0_DpRT1_");
        let whole = whole_name(&mixed).expect("a symbol");
        assert_eq!(parameters(&whole), ["std::unique_lock<std::mutex>", "std::mutex"]);
    }
}
