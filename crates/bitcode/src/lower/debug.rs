//! Debug information: files, names and types, each node read once.

use std::path::Path;
use std::rc::Rc;

use racewarden_ir as ir;
use rustc_hash::FxHashMap;

use crate::raw::{LLVMMetadataKind, Md, Unit, Val};

/// DWARF tags that the model tells apart.
pub(super) mod tag {
    pub const ARRAY: u16 = 0x01;
    pub const CLASS: u16 = 0x02;
    pub const MEMBER: u16 = 0x0d;
    pub const POINTER: u16 = 0x0f;
    pub const REFERENCE: u16 = 0x10;
    pub const STRUCT: u16 = 0x13;
    pub const TYPEDEF: u16 = 0x16;
    pub const UNION: u16 = 0x17;
    pub const INHERITANCE: u16 = 0x1c;
    pub const CONST: u16 = 0x26;
    pub const VARIANT_PART: u16 = 0x33;
    pub const VOLATILE: u16 = 0x35;
    pub const RESTRICT: u16 = 0x37;
    pub const RVALUE_REFERENCE: u16 = 0x42;
    pub const ATOMIC: u16 = 0x47;
}

const FLAG_STATIC_MEMBER: i32 = 1 << 12;
const FLAG_BIT_FIELD: i32 = 1 << 19;

/// Operand positions of debug nodes in LLVM 22's bitcode.
mod operand {
    pub const TYPE_SCOPE: usize = 1;
    pub const TYPE_NAME: usize = 2;
    pub const TYPE_BASE: usize = 5;
    pub const COMPOSITE_ELEMENTS: usize = 6;
    pub const SUBROUTINE_TYPES: usize = 5;
    pub const VARIABLE_SCOPE: usize = 0;
    pub const VARIABLE_NAME: usize = 1;
    pub const VARIABLE_TYPE: usize = 3;
    pub const GLOBAL_MEMBER: usize = 6;
    pub const SUBPROGRAM_TYPE: usize = 4;
}

/// A debug type, read once.
pub(super) struct DebugType {
    pub tag: u16,
    pub name: Rc<str>,
    pub size_bits: u64,
    pub offset_bits: u64,
    pub is_bit_field: bool,
    pub is_static: bool,
    pub base: Option<Md>,
    /// Members and bases, of a struct, class or union.
    pub members: Rc<[Md]>,
    pub scope: Option<Md>,
}

impl DebugType {
    pub fn size(&self) -> u64 {
        self.size_bits.div_ceil(8)
    }

    pub fn is_record(&self) -> bool {
        matches!(self.tag, tag::STRUCT | tag::CLASS | tag::UNION | tag::VARIANT_PART)
    }

    pub fn is_reference(&self) -> bool {
        matches!(self.tag, tag::REFERENCE | tag::RVALUE_REFERENCE)
    }
}

/// A variable of the source: its name and type.
#[derive(Clone)]
pub(super) struct Variable {
    pub name: Rc<str>,
    pub ty: Option<Md>,
}

pub(super) struct DebugInfo {
    pub(super) unit: Unit,
    pub present: bool,
    pub dbg_kind: u32,
    pub tbaa_kind: u32,
    /// A mangled C++ (or Rust) symbol was seen.
    pub is_cpp: bool,
    pub empty_expression: Option<Md>,
    /// The main file as the compiler was given it, and the folder it ran in.
    main_file: String,
    directory: String,
    files: FxHashMap<Md, ir::NameId>,
    scope_files: FxHashMap<Md, Option<ir::NameId>>,
    types: FxHashMap<Md, Rc<DebugType>>,
    variables: FxHashMap<Md, Variable>,
    globals: FxHashMap<Val, Option<Variable>>,
    vtable_tags: FxHashMap<Md, bool>,
    /// Records by name, read when first asked for (`records.rs`).
    pub(super) records: Option<FxHashMap<String, Md>>,
}

impl DebugInfo {
    pub fn new(unit: Unit) -> Self {
        let compile_units = unit.named_metadata(c"llvm.dbg.cu");
        let file = compile_units.first().and_then(|cu| cu.scope_file());
        Self {
            unit,
            present: !compile_units.is_empty(),
            dbg_kind: unit.metadata_kind("dbg"),
            tbaa_kind: unit.metadata_kind("tbaa"),
            is_cpp: false,
            empty_expression: unit.empty_expression(),
            main_file: file.map(Md::file_name).unwrap_or_default(),
            directory: file.map(Md::file_directory).unwrap_or_default(),
            files: FxHashMap::default(),
            scope_files: FxHashMap::default(),
            types: FxHashMap::default(),
            variables: FxHashMap::default(),
            globals: FxHashMap::default(),
            vtable_tags: FxHashMap::default(),
            records: None,
        }
    }

    /// The file as the compiler was given it. Clang splits absolute paths at the folder they share
    /// with the working directory; the parts are joined again, and the main file gets back the
    /// spelling of the command line.
    fn file(&mut self, file: Md, module: &mut ir::Module) -> ir::NameId {
        if let Some(&name) = self.files.get(&file) {
            return name;
        }
        let (name, directory) = (file.file_name(), file.file_directory());
        let absolute = Path::new(&directory).join(&name);
        let text = if absolute == Path::new(&self.directory).join(&self.main_file) {
            self.main_file.clone()
        } else if directory == self.directory || directory.is_empty() {
            name
        } else {
            absolute.to_string_lossy().into_owned()
        };
        let id = module.intern(&text);
        self.files.insert(file, id);
        id
    }

    fn scope_file(&mut self, scope: Md, module: &mut ir::Module) -> Option<ir::NameId> {
        if let Some(&file) = self.scope_files.get(&scope) {
            return file;
        }
        let file = scope.scope_file().map(|file| self.file(file, module));
        self.scope_files.insert(scope, file);
        file
    }

    /// The position of a `!DILocation`; line 0 stands for code that no line of source asked for.
    pub fn location(&mut self, location: Md, module: &mut ir::Module) -> Option<ir::SourceLoc> {
        let line = location.location_line();
        let file = self.scope_file(location.location_scope()?, module)?;
        (line > 0).then(|| ir::SourceLoc { file, line, column: location.location_column() })
    }

    /// The functions that the code at a `!DILocation` was written in, innermost first, when it was
    /// put into a caller.
    pub fn inlined_frames(&mut self, at: Md, module: &mut ir::Module) -> Vec<ir::InlinedFrame> {
        let mut frames = Vec::new();
        let mut at = at;
        while let Some(call) = at.location_inlined_at() {
            let name = at.location_scope().and_then(|scope| self.subprogram_of(scope));
            let name = name.and_then(|subprogram| self.subprogram_name(subprogram));
            let function = module.intern(&name.unwrap_or_default());
            let Some(scope) = call.location_scope() else { break };
            let Some(file) = self.scope_file(scope, module) else { break };
            let (line, column) = (call.location_line(), call.location_column());
            frames.push(ir::InlinedFrame { function, call: ir::SourceLoc { file, line, column } });
            at = call;
        }
        frames
    }

    /// The function around a scope.
    fn subprogram_of(&self, scope: Md) -> Option<Md> {
        let mut scope = scope;
        for _ in 0..256 {
            use LLVMMetadataKind::*;
            match scope.kind() {
                LLVMDISubprogramMetadataKind => return Some(scope),
                LLVMDILexicalBlockMetadataKind | LLVMDILexicalBlockFileMetadataKind => {
                    scope = self.operand(scope, operand::TYPE_SCOPE)?.as_metadata()?;
                }
                _ => return None,
            }
        }
        None
    }

    pub fn subprogram_source(&mut self, sub: Md, module: &mut ir::Module) -> Option<ir::SourceLoc> {
        let file = self.scope_file(sub, module)?;
        Some(ir::SourceLoc { file, line: sub.subprogram_line(), column: 0 })
    }

    pub fn variable_source(&mut self, var: Md, module: &mut ir::Module) -> Option<ir::SourceLoc> {
        let file = self.file(var.variable_file()?, module);
        Some(ir::SourceLoc { file, line: var.variable_line(), column: 0 })
    }

    pub(super) fn operand(&self, node: Md, index: usize) -> Option<Val> {
        self.unit.operands(node).into_iter().nth(index).flatten()
    }

    /// `Pool::submit` for a function; `None` when it is nameless.
    pub fn subprogram_name(&mut self, subprogram: Md) -> Option<String> {
        let operands = self.unit.operands(subprogram);
        let get = |index: usize| operands.get(index).copied().flatten();
        let name = get(operand::TYPE_NAME)?.metadata_string()?;
        let scope = get(operand::TYPE_SCOPE).and_then(Val::as_metadata);
        Some(self.qualified(scope, &name))
    }

    /// The result's type of a function with debug information.
    pub fn subprogram_result(&mut self, subprogram: Md) -> Option<Md> {
        let signature = self.operand(subprogram, operand::SUBPROGRAM_TYPE)?.as_metadata()?;
        let types = self.operand(signature, operand::SUBROUTINE_TYPES)?.as_metadata()?;
        self.operand(types, 0)?.as_metadata()
    }

    /// `Counter::total` for a global; a local static keeps its plain name.
    pub fn global_name(&mut self, variable: Md) -> Option<String> {
        let operands = self.unit.operands(variable);
        let get = |index: usize| operands.get(index).copied().flatten();
        let name = get(operand::VARIABLE_NAME)?.metadata_string()?;
        // The definition of a static member stands at file scope; its declaration has the class.
        let member = get(operand::GLOBAL_MEMBER).and_then(Val::as_metadata);
        let scope = match member {
            Some(member) => self.ty(member).and_then(|member| member.scope),
            None => get(operand::VARIABLE_SCOPE).and_then(Val::as_metadata),
        };
        (!name.is_empty()).then(|| self.qualified(scope, &name))
    }

    pub fn variable(&mut self, variable: Md) -> Variable {
        if let Some(known) = self.variables.get(&variable) {
            return known.clone();
        }
        let operands = self.unit.operands(variable);
        let get = |index: usize| operands.get(index).copied().flatten();
        let read = Variable {
            name: get(operand::VARIABLE_NAME)
                .and_then(Val::metadata_string)
                .unwrap_or_default()
                .into(),
            ty: get(operand::VARIABLE_TYPE).and_then(Val::as_metadata),
        };
        self.variables.insert(variable, read.clone());
        read
    }

    /// The source variable that a global is, under its qualified name.
    pub fn global(&mut self, global: Val) -> Option<Variable> {
        if let Some(known) = self.globals.get(&global) {
            return known.clone();
        }
        let read = global.global_variable(self.dbg_kind).and_then(|node| {
            let name = self.global_name(node)?.into();
            Some(Variable { name, ty: self.variable(node).ty })
        });
        self.globals.insert(global, read.clone());
        read
    }

    /// Whether a type tag of a load says that it loads the address of a virtual table.
    pub fn is_vtable_tag(&mut self, tag: Md) -> bool {
        if let Some(&known) = self.vtable_tags.get(&tag) {
            return known;
        }
        let access = self.operand(tag, 1).and_then(Val::as_metadata);
        let name = access.and_then(|node| self.operand(node, 0)?.metadata_string());
        let is_vtable = name.as_deref() == Some("vtable pointer");
        self.vtable_tags.insert(tag, is_vtable);
        is_vtable
    }

    /// The element counts of an array type, outermost first; `None` where unknown.
    pub fn array_counts(&mut self, array: Md) -> Rc<[Option<u64>]> {
        let Some(list) =
            self.operand(array, operand::COMPOSITE_ELEMENTS).and_then(Val::as_metadata)
        else {
            return Rc::new([None]);
        };
        let ranges: Vec<Option<Md>> =
            self.unit.operands(list).into_iter().map(|node| node?.as_metadata()).collect();
        ranges
            .into_iter()
            .map(|range| {
                let range = range
                    .filter(|r| matches!(r.kind(), LLVMMetadataKind::LLVMDISubrangeMetadataKind))?;
                u64::try_from(self.operand(range, 0)?.as_int()?).ok()
            })
            .collect()
    }

    /// `name` under the namespaces and classes around it.
    pub fn qualified(&mut self, scope: Option<Md>, name: &str) -> String {
        let mut parts = vec![name.to_owned()];
        let mut scope = scope;
        while let Some(node) = scope {
            use LLVMMetadataKind::*;
            if !matches!(node.kind(), LLVMDINamespaceMetadataKind | LLVMDICompositeTypeMetadataKind)
                || parts.len() > 32
            {
                break;
            }
            let operands = self.unit.operands(node);
            let get = |index: usize| operands.get(index).copied().flatten();
            let part = get(operand::TYPE_NAME).and_then(Val::metadata_string);
            parts.extend(part.filter(|part| !part.is_empty()));
            scope = get(operand::TYPE_SCOPE).and_then(Val::as_metadata);
        }
        parts.reverse();
        parts.join("::")
    }

    pub fn ty(&mut self, node: Md) -> Option<Rc<DebugType>> {
        if let Some(known) = self.types.get(&node) {
            return Some(Rc::clone(known));
        }
        use LLVMMetadataKind::*;
        let kind = node.kind();
        if !matches!(
            kind,
            LLVMDIBasicTypeMetadataKind
                | LLVMDIDerivedTypeMetadataKind
                | LLVMDICompositeTypeMetadataKind
                | LLVMDISubroutineTypeMetadataKind
        ) {
            return None;
        }
        let operands = self.unit.operands(node);
        let get = |index: usize| operands.get(index).copied().flatten();
        let has_base =
            matches!(kind, LLVMDIDerivedTypeMetadataKind | LLVMDICompositeTypeMetadataKind);
        let is_composite = matches!(kind, LLVMDICompositeTypeMetadataKind);
        let flags = node.type_flags();
        let mut read = DebugType {
            tag: node.tag(),
            name: get(operand::TYPE_NAME).and_then(Val::metadata_string).unwrap_or_default().into(),
            size_bits: node.type_size_bits(),
            offset_bits: node.type_offset_bits(),
            is_bit_field: flags & FLAG_BIT_FIELD != 0,
            is_static: flags & FLAG_STATIC_MEMBER != 0,
            base: if has_base { get(operand::TYPE_BASE).and_then(Val::as_metadata) } else { None },
            members: Rc::new([]),
            scope: get(operand::TYPE_SCOPE).and_then(Val::as_metadata),
        };
        if is_composite && read.is_record() {
            let elements = get(operand::COMPOSITE_ELEMENTS).and_then(Val::as_metadata);
            read.members =
                elements.map_or_else(|| Rc::new([]) as Rc<[Md]>, |list| self.members(list));
        }
        let read = Rc::new(read);
        self.types.insert(node, Rc::clone(&read));
        Some(read)
    }

    /// Data members and bases of a record's element list, in order of offset; functions, static
    /// members and nested types take no room.
    fn members(&mut self, list: Md) -> Rc<[Md]> {
        let nodes: Vec<Md> =
            self.unit.operands(list).into_iter().filter_map(|node| node?.as_metadata()).collect();
        let mut members: Vec<(u64, Md)> = Vec::new();
        for node in nodes {
            let Some(member) = self.ty(node) else { continue };
            let has_room = match member.tag {
                tag::MEMBER => !member.is_static,
                tag::INHERITANCE | tag::VARIANT_PART => true,
                _ => false,
            };
            if has_room {
                members.push((member.offset_bits, node));
            }
        }
        members.sort_by_key(|&(offset, _)| offset);
        members.into_iter().map(|(_, node)| node).collect()
    }

    /// The type below typedefs and qualifiers, with the last typedef's name for nameless records.
    pub fn strip(&mut self, node: Md) -> Option<(Md, Rc<DebugType>, Option<Rc<str>>)> {
        let mut node = node;
        let mut alias = None;
        for _ in 0..64 {
            let ty = self.ty(node)?;
            match ty.tag {
                tag::TYPEDEF => alias = Some(Rc::clone(&ty.name)),
                tag::CONST | tag::VOLATILE | tag::RESTRICT | tag::ATOMIC => {}
                _ => return Some((node, ty, alias)),
            }
            node = ty.base?;
        }
        None
    }

    /// What a pointer or reference type points at, and whether it is a reference.
    pub fn pointee(&mut self, node: Md) -> Option<(Option<Md>, bool)> {
        let (_, ty, _) = self.strip(node)?;
        match ty.tag {
            tag::POINTER => Some((ty.base, false)),
            _ if ty.is_reference() => Some((ty.base, true)),
            _ => None,
        }
    }

    /// Size in bytes below typedefs.
    pub fn size_of(&mut self, node: Md) -> u64 {
        self.strip(node).map_or(0, |(_, ty, _)| ty.size())
    }
}
