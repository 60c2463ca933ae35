//! Programs written for verifiers: they call functions that no library has, `__VERIFIER_nondet_int`
//! for any value, `__VERIFIER_atomic_begin` for sections that exclude each other. To run such a
//! program, what its link does not find is supplied here.
//!
//! Any value is allowed, so any choice of values shows behaviour that is the program's own. Values
//! are small and depend on nothing but which thread asks for the how manieth time and the run's seed,
//! so that a replay gets what the recorded run got. The seed also chooses how they are spread: all
//! threads alike, at random, counting up from one, or few of them often.
//!
//! A function that is itself called `__VERIFIER_atomic_…` excludes all others of the kind by
//! agreement: [`guard_atomic_bodies`] makes that so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use inkwell::module::{Linkage, Module};
use inkwell::values::{FunctionValue, InstructionOpcode};
use racewarden_capture::Toolchain;
use sha2::{Digest, Sha256};

use crate::InstrumentError;
use crate::build::{hex, partial_in};

const PREFIX: &str = "__VERIFIER_";
const BEGIN: &str = "__VERIFIER_atomic_begin";
const END: &str = "__VERIFIER_atomic_end";

/// What every supplied function rests on.
const COMMON: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t section = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static unsigned long threads;
static __thread unsigned long number, calls;
static unsigned long mix(unsigned long x) {
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
  return x ^ x >> 32;
}
static unsigned long choose(void) {
  static const unsigned char values[] = {0, 1, 1, 0, 2, 1, 3, 0, 5, 1, 0, 7, 2, 0, 1, 4};
  const char *options = getenv("RACEWARDEN_OPTIONS");
  const char *given = options ? strstr(options, "seed=") : 0;
  unsigned long seed = given ? strtoul(given + 5, 0, 10) : 0;
  if (!number)
    number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  unsigned long call = calls++;
  switch (seed % 4) {
  case 1: return mix(mix(seed) + call) % 8;
  case 2: return mix(mix(mix(seed) + number) + call) % 4;
  case 3: return 1 + (number + call) % (seed + 2);
  default: return values[(seed * 5 + number * 3 + call) % sizeof values];
  }
}
"#;

/// The C type that `__VERIFIER_nondet_<name>` returns.
fn type_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" | "_Bool" => "_Bool",
        "char" => "char",
        "uchar" | "unsigned_char" => "unsigned char",
        "short" => "short",
        "ushort" | "unsigned_short" => "unsigned short",
        "int" => "int",
        "uint" | "unsigned" | "unsigned_int" | "U32" | "u32" => "unsigned",
        "long" | "loff_t" | "pthread_t" => "long",
        "ulong" | "unsigned_long" | "size_t" | "sector_t" => "unsigned long",
        "longlong" => "long long",
        "ulonglong" => "unsigned long long",
        "u8" | "U8" => "unsigned char",
        "u16" | "U16" => "unsigned short",
        "int128" => "__int128",
        "uint128" => "unsigned __int128",
        "float" => "float",
        "double" => "double",
        "pointer" | "pchar" | "charp" | "const_char_pointer" => "void *",
        _ => return None,
    })
}

/// The definition of one function that was not found.
fn definition(name: &str) -> Option<String> {
    if let Some(ty) = name.strip_prefix("__VERIFIER_nondet_").and_then(type_of) {
        let value = match ty {
            // No pointer of ours would be the program's; null is always allowed.
            "void *" => "0",
            "_Bool" => "choose() & 1",
            _ => "choose()",
        };
        return Some(format!("{ty} {name}(void) {{ return {value}; }}\n"));
    }
    Some(match name {
        BEGIN => format!("void {name}(void) {{ pthread_mutex_lock(&section); }}\n"),
        END => format!("void {name}(void) {{ pthread_mutex_unlock(&section); }}\n"),
        // A run that breaks an assumption is none of the program's: it ends without a trace.
        "__VERIFIER_assume" | "__CPROVER_assume" | "assume_abort_if_not" => {
            format!("void {name}(int holds) {{ if (!holds) _exit(0); }}\n")
        }
        "__VERIFIER_assert" => format!("void {name}(int holds) {{ if (!holds) abort(); }}\n"),
        "__VERIFIER_error" | "reach_error" => format!("void {name}(void) {{ abort(); }}\n"),
        _ => return None,
    })
}

/// An object with what a failed link did not find, if it is all of this kind.
pub(crate) fn supply(linker: &str, cache: &Path) -> Result<Option<PathBuf>, InstrumentError> {
    let missing: BTreeSet<&str> = linker
        .lines()
        .filter_map(|line| line.split_once("undefined symbol: "))
        .map(|(_, name)| name.trim())
        .collect();
    let definitions: Option<Vec<String>> = missing.iter().map(|name| definition(name)).collect();
    let Some(definitions) = definitions.filter(|all| !all.is_empty()) else { return Ok(None) };
    let text = format!("{COMMON}{}", definitions.concat());
    let object = cache.join(format!("{}-verifier.o", hex(&Sha256::digest(&text)[..16])));
    if crate::build::is_kept(&object) {
        return Ok(Some(object));
    }
    let toolchain = Toolchain::find()?;
    let source = partial_in(cache)?;
    std::fs::write(source.path(), &text).map_err(InstrumentError::io(source.path()))?;
    let partial = partial_in(cache)?;
    let output = Command::new(&toolchain.clang)
        .args(["-c", "-O1", "-fPIC", "-w", "-x", "c"])
        .arg(source.path())
        .arg("-o")
        .arg(partial.path())
        .output()
        .map_err(InstrumentError::io(&toolchain.clang))?;
    if !output.status.success() {
        return Ok(None);
    }
    partial.persist(&object).map_err(|error| InstrumentError::io(&object)(error.error))?;
    Ok(Some(object))
}

/// Lets every body named `__VERIFIER_atomic_…` begin and end a section. Runs after the mode's own
/// pass, so that ordinals are untouched.
pub(crate) fn guard_atomic_bodies(module: &Module) {
    let is_atomic = |function: &FunctionValue| {
        let name = function.get_name().to_string_lossy().into_owned();
        let atomic = name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with("atomic_"));
        atomic && name != BEGIN && name != END && function.count_basic_blocks() > 0
    };
    let bodies: Vec<FunctionValue> = module.get_functions().filter(is_atomic).collect();
    if bodies.is_empty() {
        return;
    }
    let context = module.get_context();
    let ty = context.void_type().fn_type(&[], false);
    let declared = |name: &str| {
        module
            .get_function(name)
            .unwrap_or_else(|| module.add_function(name, ty, Some(Linkage::External)))
    };
    let (begin, end) = (declared(BEGIN), declared(END));
    let builder = context.create_builder();
    for body in bodies {
        let first = body.get_first_basic_block().and_then(|block| block.get_first_instruction());
        if let Some(first) = first {
            builder.position_before(&first);
            // A call can only fail to be built where no block is; the position is in one.
            let _ = builder.build_call(begin, &[], "");
        }
        for block in body.get_basic_blocks() {
            let last = block.get_terminator();
            if let Some(last) = last.filter(|last| last.get_opcode() == InstructionOpcode::Return) {
                builder.position_before(&last);
                let _ = builder.build_call(end, &[], "");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_of_verifiers_are_supplied() {
        let cache = tempfile::tempdir().unwrap();
        let both = "ld.lld: error: undefined symbol: __VERIFIER_nondet_int\n>>> referenced by a.c\n\
                    ld.lld: error: undefined symbol: __VERIFIER_atomic_begin\n";
        assert!(supply(both, cache.path()).unwrap().is_some_and(|object| object.is_file()));
        let another = format!("{both}ld.lld: error: undefined symbol: frobnicate\n");
        assert!(supply(&another, cache.path()).unwrap().is_none());
        assert!(supply("ld.lld: error: out of luck", cache.path()).unwrap().is_none());
    }

    #[test]
    fn every_kind_has_a_definition() {
        for name in ["nondet_bool", "nondet_ulong", "nondet_pointer", "assume", "atomic_end"] {
            assert!(definition(&format!("{PREFIX}{name}")).is_some(), "{name}");
        }
        assert!(definition("__VERIFIER_nondet_struct_page").is_none());
    }
}
