//! Which programs a build runs that a capture must see, told by their names.

/// What a tool does for the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `cc`, `x86_64-linux-gnu-g++-12`, `clang++-22`; it links too.
    Compiler { cxx: bool },
    /// `ar`, `gcc-ar-12`, `llvm-ar`.
    Archiver,
    /// `ld`, `ld.lld`, called by the build itself rather than by a compiler.
    Linker,
    /// `ccache`: its first argument is the compiler.
    Launcher,
}

/// The tool that a program called `name` is, version suffix and target prefix set aside.
pub fn tool_of(name: &str) -> Option<Tool> {
    let name = without_version(name);
    match name {
        "ccache" | "sccache" | "distcc" | "icecc" => return Some(Tool::Launcher),
        "c89" | "c99" => return Some(Tool::Compiler { cxx: false }),
        _ => {}
    }
    // The longest suffix wins: `gcc-ar` archives although it starts as a compiler's name does.
    let suffixes: [(&str, Tool); 13] = [
        ("ar", Tool::Archiver),
        ("ld", Tool::Linker),
        ("ld.bfd", Tool::Linker),
        ("ld.gold", Tool::Linker),
        ("ld.lld", Tool::Linker),
        ("cc", Tool::Compiler { cxx: false }),
        ("gcc", Tool::Compiler { cxx: false }),
        ("clang", Tool::Compiler { cxx: false }),
        ("c++", Tool::Compiler { cxx: true }),
        ("g++", Tool::Compiler { cxx: true }),
        ("clang++", Tool::Compiler { cxx: true }),
        ("icx", Tool::Compiler { cxx: false }),
        ("icpx", Tool::Compiler { cxx: true }),
    ];
    suffixes.into_iter().find_map(|(suffix, tool)| {
        let prefix = name.strip_suffix(suffix)?;
        (prefix.is_empty() || prefix.ends_with('-')).then_some(tool)
    })
}

/// `gcc-12` and `clang-22.1` without their version.
fn without_version(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, version))
            if version.starts_with(|first: char| first.is_ascii_digit())
                && version.chars().all(|c| c.is_ascii_digit() || c == '.') =>
        {
            stem
        }
        _ => name,
    }
}

/// Names that get a shim although they may not be on `PATH`: builds call them by absolute path.
pub(crate) fn usual_names() -> Vec<String> {
    let mut names = Vec::new();
    for prefix in ["", "x86_64-linux-gnu-", "aarch64-linux-gnu-"] {
        for stem in ["cc", "c++", "gcc", "g++", "clang", "clang++", "ar", "ld", "gcc-ar", "llvm-ar"]
        {
            names.push(format!("{prefix}{stem}"));
            if matches!(stem, "gcc" | "g++" | "clang" | "clang++" | "gcc-ar" | "llvm-ar") {
                names.extend((4..=25).map(|version| format!("{prefix}{stem}-{version}")));
            }
        }
    }
    for name in
        ["c89", "c99", "ld.bfd", "ld.gold", "ld.lld", "ccache", "sccache", "distcc", "icecc"]
    {
        names.push(name.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_tools_by_name() {
        let c = Some(Tool::Compiler { cxx: false });
        let cxx = Some(Tool::Compiler { cxx: true });
        for (name, tool) in [
            ("cc", c),
            ("gcc-12", c),
            ("x86_64-linux-gnu-gcc-12", c),
            ("clang-22", c),
            ("afl-clang", c),
            ("g++", cxx),
            ("x86_64-linux-gnu-g++", cxx),
            ("clang++-22", cxx),
            ("gcc-ar-12", Some(Tool::Archiver)),
            ("llvm-ar-22", Some(Tool::Archiver)),
            ("ld.lld-22", Some(Tool::Linker)),
            ("ccache", Some(Tool::Launcher)),
            ("make", None),
            ("tar", None),
            ("hicc", None),
            ("clang-format", None),
            ("gcc-ranlib", None),
        ] {
            assert_eq!(tool_of(name), tool, "{name}");
        }
    }

    #[test]
    fn every_usual_name_is_a_tool() {
        for name in usual_names() {
            assert!(tool_of(&name).is_some(), "{name}");
        }
    }
}
