//! What each compiler flag is for: the repeated compilation, the link recipe, both or neither.
//!
//! Neither is for flags that only shape the user's own output (warnings, dependency files, debug
//! information: the repeated compilation chooses its own) and for
//! instrumentation that would stand between the bitcode and the programmer's accesses.

/// Where a flag goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Compile,
    Link,
    Both,
    /// Of no consequence to the capture.
    Drop,
    /// The same, but the program compiled differs from the user's in a way worth telling.
    DropTelling,
}

/// Flags whose value is the next word.
const SEPARATE: [&str; 42] = [
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "--sysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-L",
    "-l",
    "-T",
    "-u",
    "-z",
    "-e",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-aux-info",
    "-A",
    "--param",
    "-target",
    "-arch",
    "-B",
    "-wrapper",
    "-dumpbase",
    "-dumpdir",
    "-dumpbase-ext",
    "-rpath",
    "--entry",
    "-cxx-isystem",
];

pub(crate) fn takes_next(flag: &str) -> bool {
    SEPARATE.contains(&flag)
}

/// Flags by their whole text.
const EXACT: [(&str, Use); 41] = [
    ("-pg", Use::DropTelling),
    ("-p", Use::DropTelling),
    ("-finstrument-functions", Use::DropTelling),
    ("-pthread", Use::Both),
    ("-pthreads", Use::Both),
    ("-shared", Use::Link),
    ("-static", Use::Link),
    ("-static-pie", Use::Link),
    ("-pie", Use::Link),
    ("-no-pie", Use::Link),
    ("-nopie", Use::Link),
    ("-r", Use::Link),
    ("-rdynamic", Use::Link),
    ("-symbolic", Use::Link),
    ("-nostdlib", Use::Link),
    ("-nostdlib++", Use::Link),
    ("-nolibc", Use::Link),
    ("-nodefaultlibs", Use::Link),
    ("-nostartfiles", Use::Link),
    ("-static-libgcc", Use::Link),
    ("-shared-libgcc", Use::Link),
    ("-static-libstdc++", Use::Link),
    ("-static-libasan", Use::Drop),
    ("-s", Use::Drop),
    ("-T", Use::Link),
    ("-u", Use::Link),
    ("-z", Use::Link),
    ("-e", Use::Link),
    ("--entry", Use::Link),
    ("-rpath", Use::Link),
    ("-Xlinker", Use::Link),
    ("-B", Use::Drop),
    ("-wrapper", Use::Drop),
    ("-aux-info", Use::Drop),
    ("-Xassembler", Use::Drop),
    ("-mllvm", Use::Drop),
    ("-pipe", Use::Drop),
    ("-v", Use::Drop),
    ("-c", Use::Drop),
    ("-w", Use::Drop),
    ("--coverage", Use::DropTelling),
];

/// Flags by their beginning; the first that fits decides.
const PREFIX: [(&str, Use); 57] = [
    ("-fpatchable-function-entry", Use::Drop),
    ("-ftrivial-auto-var-init", Use::Drop),
    ("-fsplit-stack", Use::DropTelling),
    ("-Wl,", Use::Link),
    ("-Wp,-M", Use::Drop),
    ("-Wp,-D_FORTIFY_SOURCE", Use::Drop),
    ("-Wp,", Use::Compile),
    ("-W", Use::Drop),
    ("-pedantic", Use::Drop),
    // Kept for instrumented builds; the repeated compilation puts its own behind.
    ("-O", Use::Compile),
    ("-g", Use::Drop),
    ("-M", Use::Drop),
    ("-save-temps", Use::Drop),
    ("--save-temps", Use::Drop),
    ("-dump", Use::Drop),
    ("-d", Use::Drop),
    ("-L", Use::Link),
    ("-l", Use::Link),
    ("--param", Use::Drop),
    ("-D_FORTIFY_SOURCE", Use::Drop),
    ("-fopenmp", Use::Both),
    ("-stdlib=", Use::Both),
    ("-fuse-ld", Use::Drop),
    ("-flto", Use::Drop),
    ("-fno-lto", Use::Drop),
    ("-ffat-lto", Use::Drop),
    ("-fno-fat-lto", Use::Drop),
    ("-fuse-linker-plugin", Use::Drop),
    ("-fno-use-linker-plugin", Use::Drop),
    ("-fstack-protector", Use::Drop),
    ("-fno-stack-protector", Use::Drop),
    ("-fstack-clash-protection", Use::Drop),
    ("-fcf-protection", Use::Drop),
    ("-fdiagnostics", Use::Drop),
    ("-fno-diagnostics", Use::Drop),
    ("-fcolor-diagnostics", Use::Drop),
    ("-fno-color-diagnostics", Use::Drop),
    ("-fmessage-length", Use::Drop),
    ("-fdump-", Use::Drop),
    ("-fverbose-asm", Use::Drop),
    ("-fstack-usage", Use::Drop),
    ("-frecord-gcc-switches", Use::Drop),
    ("-fgnu89-inline", Use::Compile),
    ("-fno-sanitize", Use::Drop),
    ("-fsanitize", Use::DropTelling),
    ("-fprofile", Use::DropTelling),
    ("-fcoverage", Use::DropTelling),
    ("-ftest-coverage", Use::DropTelling),
    ("-fplugin", Use::DropTelling),
    ("-specs=", Use::DropTelling),
    // Paths stay as the compiler was given them.
    ("-ffile-prefix-map", Use::Drop),
    ("-fdebug-", Use::Drop),
    ("-fmacro-prefix-map", Use::Drop),
    ("-fmodules-ts", Use::DropTelling),
    ("-m", Use::Both),
    ("--sysroot", Use::Both),
    ("-target", Use::Both),
];

/// gcc's flags that clang 22 rejects, most of them about optimisation. Others are found out when
/// clang says so, at the price of a second try.
const GCC_ONLY: [&str; 29] = [
    "-fno-tree-",
    "-ftree-",
    "-fno-ipa-",
    "-fipa-",
    "-fno-var-tracking",
    "-fvar-tracking",
    "-fno-guess-branch",
    "-fconserve-stack",
    "-fno-code-hoisting",
    "-fno-gcse",
    "-fgcse",
    "-fno-allow-store-data-races",
    "-fallow-store-data-races",
    "-fno-jump-tables-",
    "-fno-reorder-",
    "-freorder-",
    "-fno-crossjumping",
    "-fno-thread-jumps",
    "-fno-ivopts",
    "-fno-move-loop",
    "-fno-partial-inlining",
    "-fno-caller-saves",
    "-floop-",
    "-fgraphite",
    "-fexcess-precision=",
    "-fno-peephole",
    "-fno-cse-",
    "-finline-limit",
    "-fno-printf-return",
];

/// What `flag` (without its value, when that is a word of its own) is for.
pub(crate) fn use_of(flag: &str) -> Use {
    if let Some((_, place)) = EXACT.iter().find(|(text, _)| *text == flag) {
        return *place;
    }
    if GCC_ONLY.iter().any(|prefix| flag.starts_with(prefix)) {
        return Use::Drop;
    }
    if let Some((_, place)) = PREFIX.iter().find(|(prefix, _)| flag.starts_with(prefix)) {
        return *place;
    }
    Use::Compile
}

/// Linker options that would write beside the user's own outputs, or that only GNU's linker knows.
pub(crate) fn is_linker_side_output(option: &str) -> bool {
    let option = option.trim_start_matches('-');
    ["Map", "dependency-file", "out-implib", "plugin", "print-map", "cref"]
        .iter()
        .any(|name| option == *name || option.starts_with(&format!("{name}=")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_flags() {
        for (flag, expected) in [
            ("-DX=1", Use::Compile),
            ("-D", Use::Compile),
            ("-std=gnu11", Use::Compile),
            ("-fPIC", Use::Compile),
            ("-fopenmp", Use::Both),
            ("-march=native", Use::Both),
            ("-pthread", Use::Both),
            ("-lz", Use::Link),
            ("-Wl,-rpath,/x", Use::Link),
            ("-Wall", Use::Drop),
            ("-O3", Use::Compile),
            ("-ggdb3", Use::Drop),
            ("-MMD", Use::Drop),
            ("-fsanitize=thread", Use::DropTelling),
            ("-fno-tree-vectorize", Use::Drop),
            ("-fdebug-prefix-map=a=b", Use::Drop),
        ] {
            assert_eq!(use_of(flag), expected, "{flag}");
        }
    }
}
