//! Debug types by name.
//!
//! Clang describes no `extern` variable, so what `settings.verbose` means is not to be had from
//! the variable `settings`. Its LLVM type still has the struct's name, and the struct is usually
//! described elsewhere in the unit: in a signature, a local or another global.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ModuleLowering;
use crate::raw::{LLVMMetadataKind, Md, Ty, Val};

/// Operand positions in LLVM 22's bitcode.
const SUBPROGRAM_RETAINED_NODES: usize = 7;
const COMPILE_UNIT_RETAINED_TYPES: usize = 5;

impl ModuleLowering {
    /// The debug type of a named LLVM struct.
    pub(super) fn record_of(&mut self, ty: Ty) -> Option<Md> {
        let name = ty.struct_name()?;
        let name = name
            .strip_prefix("struct.")
            .or_else(|| name.strip_prefix("class."))
            .or_else(|| name.strip_prefix("union."))?;
        if self.debug.records.is_none() {
            let records = self.read_records_by_name();
            self.debug.records = Some(records);
        }
        let records = self.debug.records.as_ref()?;
        // LLVM numbers structs that share a name: `struct.conn.12`.
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
        records.get(name).or_else(|| records.get(plain)).copied()
    }

    fn read_records_by_name(&mut self) -> FxHashMap<String, Md> {
        let mut work: Vec<Md> = self.unit.named_metadata(c"llvm.dbg.cu");
        for index in 0..self.functions.len() {
            work.extend(self.functions[index].subprogram());
        }
        for index in 0..self.globals.len() {
            work.extend(self.debug.global(self.globals[index]).and_then(|variable| variable.ty));
        }
        let mut seen: FxHashSet<Md> = FxHashSet::default();
        let mut records = FxHashMap::default();
        while let Some(node) = work.pop() {
            if seen.insert(node) {
                self.visit_record(node, &mut work, &mut records);
            }
        }
        records
    }

    fn visit_record(&mut self, node: Md, work: &mut Vec<Md>, records: &mut FxHashMap<String, Md>) {
        use LLVMMetadataKind::*;
        let metadata = |value: Option<Val>| value.and_then(Val::as_metadata);
        let unit = self.unit;
        let all = |list: Option<Md>| {
            let operands = list.map(|list| unit.operands(list)).unwrap_or_default();
            operands.into_iter().filter_map(metadata)
        };
        match node.kind() {
            LLVMDICompileUnitMetadataKind => {
                work.extend(all(metadata(self.debug.operand(node, COMPILE_UNIT_RETAINED_TYPES))));
            }
            LLVMDISubprogramMetadataKind => {
                work.extend(all(metadata(self.debug.operand(node, SUBPROGRAM_RETAINED_NODES))));
                work.extend(metadata(self.debug.operand(node, 4)));
            }
            LLVMDILocalVariableMetadataKind => work.extend(self.debug.variable(node).ty),
            LLVMDISubroutineTypeMetadataKind => {
                work.extend(all(metadata(self.debug.operand(node, 5))));
            }
            _ => {
                let Some(ty) = self.debug.ty(node) else { return };
                work.extend(ty.base);
                work.extend(ty.members.iter().copied());
                if ty.is_record() && !ty.members.is_empty() && !ty.name.is_empty() {
                    let name = self.debug.qualified(ty.scope, &ty.name);
                    records.entry(name).or_insert(node);
                }
            }
        }
    }
}
