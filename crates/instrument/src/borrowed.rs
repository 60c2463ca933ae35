//! Library code whose bodies a unit has for inlining only.
//!
//! The C++ library's `std::string` is an `extern template`: the unit sees its functions, but calls
//! the library's copies, which nothing watches. Here they become definitions of the unit, so that a
//! string's length and pointer are watched like the program's own variables. Streams and locales
//! stay with the library: what they share inside is theirs to synchronise, and the language allows
//! concurrent use.

use inkwell::GlobalVisibility;
use inkwell::module::{Linkage, Module};

/// Makes the bodies of string functions this unit's own.
pub(crate) fn define_strings(module: &Module) {
    for function in module.get_functions() {
        let name = function.get_name().to_string_lossy();
        if function.get_linkage() == Linkage::AvailableExternally && is_string(&name) {
            function.set_linkage(Linkage::LinkOnceODR);
            // The library goes on with its own copies.
            function.as_global_value().set_visibility(GlobalVisibility::Hidden);
        }
    }
}

/// Functions of a library's headers that share memory between threads on purpose, although not by
/// the language's rules: libstdc++'s character tables fill their cache without a lock, with the same
/// values whoever comes first. The program cannot do anything about it.
pub(crate) fn is_shared_cache(name: &str) -> bool {
    name.starts_with("_ZNKSt5ctypeIcE")
}

/// Member functions of libstdc++'s and libc++'s `std::basic_string`.
fn is_string(name: &str) -> bool {
    let classes = ["St7__cxx1112basic_string", "St3__112basic_string", "Ss"];
    let member = name.strip_prefix("_ZNK").or_else(|| name.strip_prefix("_ZN"));
    member.is_some_and(|rest| classes.iter().any(|class| rest.starts_with(class)))
}

#[cfg(test)]
mod tests {
    use super::is_string;

    #[test]
    fn only_members_of_strings() {
        let append = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm";
        assert!(is_string(append));
        assert!(is_string("_ZNKSs4sizeEv"));
        assert!(!is_string("_ZNSolsEi"));
        assert!(!is_string("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc"));
        assert!(!is_string("_ZNSt7__cxx1118basic_stringstreamIcE4initEv"));
    }
}
