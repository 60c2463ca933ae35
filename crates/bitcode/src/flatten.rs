//! The module as the static engine reads it: the C++ library's small functions, and lambdas, stand
//! where they are called.
//!
//! A header's `unique_lock::unlock`, `atomic::store` or `condition_variable::wait` with a predicate
//! is a handful of instructions behind several calls. Where they stand decides what can be known:
//! which mutex a guard holds, which memory order was asked for, what a branch has tested. So before
//! lowering for `check` they are put into their callers, and locals that only existed to be passed
//! by reference go into registers. The same is done to small functions of C and C++ that hand a
//! pointer back through a parameter, return new memory, or tell their caller something ([`conditions`]). Debug locations keep the way out (`inlinedAt`), so sites and
//! stacks name the lines of the program as before.
//!
//! Instruction ordinals are not those of the prepared module: whoever has to name instructions for
//! an instrumented build or a trace lowers the module without this.
//!
//! No access to memory that another thread could see is removed: the passes look at locals whose
//! address goes nowhere (`sroa`) and at branches on constants (`sccp`).

use inkwell::module::Module;
use rustc_hash::FxHashMap;

use crate::Error;
use crate::raw::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMValueKind, Unit, Val};
use crate::{conditions, once, policy, together};

/// Instructions of a function that is put into its callers, with what is put into it.
const MAX_OWN: usize = 100;
const MAX_EXPANDED: usize = 800;
/// What works on the states behind futures and on the counts of shared pointers is told by its name.
const KEPT: [&str; 4] = [
    "13__future_base",
    "16_Sp_counted_baseI",
    "10stop_token13_Stop_state_t",
    "10stop_token8_Stop_cb",
];
/// Functions this small cost more as a call than in place.
const TINY: usize = 32;
/// Instructions of a function that hands something back through a parameter.
const MAX_HANDING_BACK: usize = 40;

/// Puts the small functions of the C++ library into their callers, but for those that `modelled`
/// names: a model speaks for them.
pub fn flatten(module: &Module<'_>, modelled: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let prepare = |message: String| Error::Prepare {
        module: module.get_name().to_string_lossy().into_owned(),
        message,
    };
    once::give_callbacks(module).map_err(|error| prepare(error.to_string()))?;
    policy::settle(module);
    let mut given = conditions::give_bodies(module).map_err(|error| prepare(error.to_string()))?;
    given.extend(together::in_turn(module).map_err(|error| prepare(error.to_string()))?);
    let unit = Unit::new(module.as_mut_ptr());
    let (always, never) = (Unit::attribute_kind("alwaysinline"), Unit::attribute_kind("noinline"));
    let mut chosen = Survey::new(unit, modelled).chosen();
    let is_given = |function: &Val| given.contains(&function.name());
    chosen.extend(unit.functions().filter(|f| !given.is_empty() && is_given(f)));
    if chosen.is_empty() {
        return Ok(());
    }
    // The library asks for some itself.
    for function in unit.functions().filter(|f| f.function_has(always)) {
        if modelled(&function.name()) && !is_given(&function) {
            function.remove_function_attribute(always);
        }
    }
    for function in chosen {
        function.remove_function_attribute(never);
        function.add_function_attribute(unit, always);
    }
    unit.run_passes(c"always-inline,function(sroa,sccp,sroa)").map_err(prepare)
}

/// What is known of a function with a body.
struct Body {
    /// From the library, or a lambda.
    eligible: bool,
    own: usize,
    /// Functions with bodies that it calls, once for each call.
    calls: Vec<Val>,
    /// It synchronises, or calls what is not of the library.
    matters: bool,
}

struct Survey {
    order: Vec<Val>,
    bodies: FxHashMap<Val, Body>,
    /// Whether a function is put into its callers, and how many instructions it then has.
    decided: FxHashMap<Val, Option<usize>>,
    relevant: FxHashMap<Val, bool>,
}

impl Survey {
    fn new(unit: Unit, modelled: &dyn Fn(&str) -> bool) -> Self {
        let mut survey = Survey {
            order: Vec::new(),
            bodies: FxHashMap::default(),
            decided: FxHashMap::default(),
            relevant: FxHashMap::default(),
        };
        let names: FxHashMap<Val, String> = unit.functions().map(|f| (f, f.name())).collect();
        // To look a C++ symbol up is not cheap: only those are that it matters for.
        let mut known: FxHashMap<Val, bool> = FxHashMap::default();
        let mut has_model = |function: Val| {
            *known
                .entry(function)
                .or_insert_with(|| names.get(&function).is_some_and(|n| modelled(n)))
        };
        for function in unit.functions().filter(|function| !function.is_declaration()) {
            let name = &names[&function];
            let inner = is_library(name) || is_lambda(name) || is_capture(name);
            let mut decides = || conditions::decides(function, &names, &mut has_model);
            if !inner && !hands_back(function) && !makes_memory(function, &names) && !decides() {
                continue;
            }
            let mut body = Body {
                eligible: !has_model(function) && !KEPT.iter().any(|kept| name.contains(kept)),
                own: 0,
                calls: Vec::new(),
                matters: is_lambda(name) || is_capture(name) || !inner,
            };
            for instruction in function.blocks().flat_map(|block| block.instructions()) {
                body.own += 1;
                body.read(instruction, &names, &mut has_model);
            }
            survey.order.push(function);
            survey.bodies.insert(function, body);
        }
        survey
    }

    fn chosen(mut self) -> Vec<Val> {
        let order = std::mem::take(&mut self.order);
        order.into_iter().filter(|function| self.expanded(*function, 0).is_some()).collect()
    }

    /// How many instructions the function has when others were put into it; `None` when it stays
    /// a function.
    fn expanded(&mut self, function: Val, depth: usize) -> Option<usize> {
        if let Some(known) = self.decided.get(&function) {
            return *known;
        }
        // Whoever comes back here while this is being decided is in a recursion with it.
        self.decided.insert(function, None);
        let body = self.bodies.get(&function)?;
        if !body.eligible || body.own > MAX_OWN || depth > 64 {
            return None;
        }
        let (own, calls) = (body.own, body.calls.clone());
        let mut total = own;
        for callee in calls {
            total += self.expanded(callee, depth + 1).unwrap_or(1);
        }
        let limit = if self.is_relevant(function, 0) { MAX_EXPANDED } else { TINY };
        let decided = (total <= limit).then_some(total);
        self.decided.insert(function, decided);
        decided
    }

    /// Whether the function, or a library function that it calls, does more than to move data.
    fn is_relevant(&mut self, function: Val, depth: usize) -> bool {
        if let Some(known) = self.relevant.get(&function) {
            return *known;
        }
        self.relevant.insert(function, false);
        let Some(body) = self.bodies.get(&function) else { return false };
        let (matters, calls) = (body.matters, body.calls.clone());
        let relevant = matters
            || (depth < 64 && calls.into_iter().any(|callee| self.is_relevant(callee, depth + 1)));
        self.relevant.insert(function, relevant);
        relevant
    }
}

impl Body {
    fn read(
        &mut self,
        instruction: Val,
        names: &FxHashMap<Val, String>,
        has_model: &mut dyn FnMut(Val) -> bool,
    ) {
        use LLVMOpcode::*;
        match instruction.opcode() {
            LLVMAtomicCmpXchg | LLVMAtomicRMW | LLVMFence => self.matters = true,
            LLVMLoad | LLVMStore => self.matters |= instruction.is_atomic(),
            LLVMCall | LLVMInvoke => {
                let Some(callee) = instruction.called_value() else { return };
                if callee.kind() != LLVMValueKind::LLVMFunctionValueKind {
                    self.matters = true;
                    return;
                }
                let name = names.get(&callee).map(String::as_str).unwrap_or_default();
                if !callee.is_declaration() && !is_library(name) {
                    self.calls.push(callee);
                    self.matters = true;
                } else if has_model(callee) {
                    self.matters |= !PLAIN.iter().any(|plain| name.starts_with(plain));
                } else if !callee.is_declaration() {
                    self.calls.push(callee);
                }
            }
            _ => {}
        }
    }
}

/// Whether it is a small function of the unit's own that stores a pointer through a parameter:
/// what it makes is its caller's, which cannot be seen as long as it comes back through memory.
fn hands_back(function: Val) -> bool {
    if !matches!(
        function.linkage(),
        LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
    ) {
        return false;
    }
    let parameters: Vec<Val> = function.params().collect();
    let mut stores = false;
    let all = function.blocks().flat_map(|block| block.instructions());
    for (index, instruction) in all.enumerate() {
        if index >= MAX_HANDING_BACK {
            return false;
        }
        if instruction.opcode() == LLVMOpcode::LLVMStore
            && let (Some(value), Some(to)) = (instruction.operand(0), instruction.operand(1))
        {
            let is_pointer =
                value.ty().is_some_and(|ty| ty.kind() == LLVMTypeKind::LLVMPointerTypeKind);
            stores |= is_pointer && parameters.contains(&to);
        }
    }
    stores
}

/// Functions that return new memory.
const ALLOCATORS: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "memalign",
    "strdup",
    "strndup",
];

/// Whether it is a small function of the unit's own that returns what it has just allocated: what
/// its callers get would be one object for all of them.
fn makes_memory(function: Val, names: &FxHashMap<Val, String>) -> bool {
    if !matches!(
        function.linkage(),
        LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
    ) {
        return false;
    }
    let all: Vec<Val> = function.blocks().flat_map(|block| block.instructions()).collect();
    let allocates = |value: &Val| {
        let is_call = value.kind() == LLVMValueKind::LLVMInstructionValueKind
            && matches!(value.opcode(), LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke);
        let callee = if is_call { value.called_value() } else { None };
        let name = callee.and_then(|callee| names.get(&callee));
        name.is_some_and(|name| name.starts_with("_Zn") || ALLOCATORS.contains(&name.as_str()))
    };
    let returned = |instruction: &Val| match instruction.opcode() {
        LLVMOpcode::LLVMRet => instruction.operand(0),
        _ => None,
    };
    all.len() <= MAX_HANDING_BACK
        && all.iter().filter_map(returned).any(|value| {
            let merges = value.kind() == LLVMValueKind::LLVMInstructionValueKind
                && matches!(value.opcode(), LLVMOpcode::LLVMPHI | LLVMOpcode::LLVMSelect);
            allocates(&value) || (merges && value.operands().any(|own| allocates(&own)))
        })
}

/// Modelled functions that neither lock nor wait: allocation, memory, exceptions.
const PLAIN: [&str; 12] = [
    "_Zn",
    "_Zd",
    "llvm.",
    "__cxa_",
    "__clang_",
    "_ZSt9terminate",
    "_ZSt17__throw",
    "_ZSt20__throw",
    "_ZSt28__throw",
    "mem",
    "str",
    "__gxx",
];

/// Whether the symbol is of namespace `std` or `__gnu_cxx`.
fn is_library(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("_Z") else { return false };
    let rest = rest.strip_prefix('N').unwrap_or(rest);
    let rest = rest.trim_start_matches(['K', 'V', 'r', 'R', 'O']);
    rest.starts_with("St")
        || rest.starts_with("Sa")
        || rest.starts_with("9__gnu_cxx")
        || rest.starts_with("10__cxxabiv1")
}

/// Whether the symbol is a lambda's call operator, as clang names it inside and outside of a unit.
fn is_lambda(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("_ZZ") else { return false };
    rest.find("$_").is_some_and(|at| called(&rest[at + 2..]))
        || rest
            .find("Ul")
            .is_some_and(|at| rest[at..].find("E").is_some_and(|end| called(&rest[at + end + 1..])))
}

/// What follows a lambda's number: its call operator.
fn called(rest: &str) -> bool {
    numbered(rest).starts_with("cl")
}

fn numbered(rest: &str) -> &str {
    rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_')
}

/// Whether the symbol is the constructor or destructor of what a lambda has captured: it moves
/// pointers that have one owner from one place to the next.
fn is_capture(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("_ZZ") else { return false };
    let made = |rest: &str| {
        let rest = numbered(rest);
        ["C1", "C2", "D1", "D2"].iter().any(|form| rest.starts_with(form))
    };
    let after_types = |at: usize| rest[at..].find('E').map(|end| &rest[at + end + 1..]);
    rest.find("$_").is_some_and(|at| made(&rest[at + 2..]))
        || rest.find("Ul").and_then(after_types).is_some_and(made)
}

#[cfg(test)]
mod tests {
    use super::{is_capture, is_lambda, is_library};

    #[test]
    fn symbols_of_the_library_and_lambdas_are_told() {
        for name in [
            "_ZNSt11unique_lockISt5mutexE6unlockEv",
            "_ZNKSt6atomicIiE4loadESt12memory_order",
            "_ZSt4moveIRSt6threadEONSt16remove_referenceIT_E4typeEOS3_",
            "_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv",
            "_ZNSt3__16threadC2IZ4mainE3$_0JEEEOT_DpOT0_",
        ] {
            assert!(is_library(name), "{name}");
            assert!(!is_lambda(name), "{name}");
        }
        for name in ["_ZZ4mainENK3$_0clEv", "_ZZ4workvENKUlvE_clEv", "_ZZ4mainENK4$_12clEi"] {
            assert!(is_lambda(name), "{name}");
            assert!(!is_library(name), "{name}");
        }
        for name in ["_ZZ4mainEN3$_0C2EOS_", "_ZZ4workvENUlvE_D2Ev"] {
            assert!(is_capture(name) && !is_lambda(name) && !is_library(name), "{name}");
        }
        for name in ["main", "_ZN4Pool6submitEv", "_ZZ4mainE5table", "_Z3runSt6thread"] {
            assert!(!is_library(name) && !is_lambda(name), "{name}");
        }
    }
}
