//! C++ symbols as plain qualified names.

/// `std::mutex::lock` for `_ZNSt5mutex4lockEv` and for libc++'s `_ZNSt3__15mutex4lockEv`: no
/// template arguments, no parameters, no inline namespaces. `None` for what is not mangled C++.
pub fn plain_name(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let demangled = cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()?;
    Some(strip(&demangled))
}

/// The function with its template arguments and parameters, without what it returns. `None` for what
/// is not mangled C++.
pub fn whole_name(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
}

fn strip(demangled: &str) -> String {
    let mut plain = String::with_capacity(demangled.len());
    let mut depth = 0_usize;
    let mut rest = demangled;
    while let Some(c) = rest.chars().next() {
        // `operator<`, `operator->` and the like are names, not brackets.
        if depth == 0 && rest.starts_with("operator") {
            let name = &rest["operator".len()..];
            let symbols = name.chars().take_while(|c| "<>=!+-*/%&|^~[]()".contains(*c)).count();
            let kept = "operator".len() + if name.starts_with("()") { 2 } else { symbols };
            plain.push_str(&rest[..kept]);
            rest = &rest[kept..];
            continue;
        }
        // libc++ tags its inline functions: `acquire[abi:ne220108]`.
        if rest.starts_with("[abi:") {
            rest = rest.find(']').map_or("", |end| &rest[end + 1..]);
            continue;
        }
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    for namespace in ["__1::", "__cxx11::", "_V2::", "__ndk1::"] {
        plain = plain.replace(namespace, "");
    }
    // `operator<< <char>` leaves a space.
    plain.truncate(plain.trim_end().len());
    // Symbols have short forms for these, which stand for the templates' most common instances.
    for stream in ["ostream", "istream", "iostream"] {
        if let Some(member) = plain.strip_prefix(&format!("std::{stream}::")) {
            return format!("std::basic_{stream}::{member}");
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn both_libraries_give_one_name() {
        assert_eq!(plain_name("_ZNSt5mutex4lockEv").as_deref(), Some("std::mutex::lock"));
        assert_eq!(plain_name("_ZNSt3__15mutex4lockEv").as_deref(), Some("std::mutex::lock"));
        assert_eq!(
            plain_name("_ZNSt11unique_lockISt5mutexE4lockEv").as_deref(),
            Some("std::unique_lock::lock")
        );
        assert_eq!(
            plain_name("_ZNSt3__118counting_semaphoreILl4EE7acquireB8ne220108Ev").as_deref(),
            Some("std::counting_semaphore::acquire")
        );
        assert_eq!(plain_name("_ZNSolsEi").as_deref(), Some("std::basic_ostream::operator<<"));
        assert_eq!(
            plain_name("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc").as_deref(),
            Some("std::operator<<")
        );
        assert_eq!(plain_name("main"), None);
        assert_eq!(plain_name("_Znot really mangled"), None);
    }
}
