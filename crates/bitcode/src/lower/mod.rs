//! A prepared module becomes the model: declarations first, so that bodies and initialisers can
//! name anything, then initialisers, then bodies.

use inkwell::module::Module;
use racewarden_ir as ir;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::raw::{LLVMLinkage, Ty, Unit, Val};

mod address;
mod call;
mod constant;
mod debug;
mod function;
mod ifunc;
mod instruction;
mod paths;
mod records;
mod types;

use debug::DebugInfo;

/// Lowers a module that [`crate::prepare`] has prepared.
pub fn lower(module: &Module<'_>) -> ir::Module {
    let mut lowering = ModuleLowering::new(Unit::new(module.as_mut_ptr()));
    lowering.declare();
    lowering.initialize();
    lowering.bodies();
    lowering.finish()
}

/// Attribute kinds by number, looked up once.
struct Attributes {
    no_return: u32,
    by_value: u32,
}

struct ModuleLowering {
    unit: Unit,
    module: ir::Module,
    type_ids: FxHashMap<Ty, ir::TypeId>,
    /// What each global symbol stands for: a function, a global, or an alias's target.
    symbols: FxHashMap<Val, ir::Value>,
    functions: Vec<Val>,
    globals: Vec<Val>,
    noted: FxHashSet<ir::Note>,
    attributes: Attributes,
    debug: DebugInfo,
    void: ir::TypeId,
}

impl ModuleLowering {
    fn new(unit: Unit) -> Self {
        let mut module = ir::Module { name: unit.source_name(), ..ir::Module::default() };
        // The empty name is always there, so that "no name" has an id.
        module.intern("");
        let void = module.types.intern(ir::Type::Void);
        Self {
            unit,
            module,
            type_ids: FxHashMap::default(),
            symbols: FxHashMap::default(),
            functions: Vec::new(),
            globals: Vec::new(),
            noted: FxHashSet::default(),
            attributes: Attributes {
                no_return: Unit::attribute_kind("noreturn"),
                by_value: Unit::attribute_kind("byval"),
            },
            debug: DebugInfo::new(unit),
            void,
        }
    }

    fn note(&mut self, kind: ir::NoteKind, text: String) {
        let note = ir::Note { kind, text };
        if self.noted.insert(note.clone()) {
            self.module.notes.push(note);
        }
    }

    fn declare(&mut self) {
        for value in self.unit.functions() {
            let id = ir::FunctionId::new(self.functions.len());
            self.symbols.insert(value, ir::Value::Function(id));
            self.functions.push(value);
        }
        for value in self.unit.globals() {
            // `llvm.used`, `llvm.global_ctors` and the like are messages to the linker.
            if value.name().starts_with("llvm.") {
                continue;
            }
            let id = ir::GlobalId::new(self.globals.len());
            self.symbols.insert(value, ir::Value::Global(id));
            self.globals.push(value);
        }
        for index in 0..self.functions.len() {
            let function = self.declare_function(self.functions[index]);
            self.module.functions.push(function);
        }
        for index in 0..self.globals.len() {
            let global = self.declare_global(self.globals[index]);
            self.module.globals.push(global);
        }
        for ifunc in self.unit.ifuncs() {
            self.declare_ifunc(ifunc);
        }
        self.declare_aliases();
    }

    /// An alias may point at another alias that comes later, hence the rounds.
    fn declare_aliases(&mut self) {
        let mut pending: Vec<Val> = self.unit.aliases().collect();
        while !pending.is_empty() {
            let before = pending.len();
            pending.retain(|&alias| !self.declare_alias(alias));
            if pending.len() == before {
                for alias in pending {
                    let text = format!("alias {} has no known target", alias.name());
                    self.note(ir::NoteKind::UnknownConstant, text);
                }
                return;
            }
        }
    }

    fn declare_alias(&mut self, alias: Val) -> bool {
        let Some(target) = alias.aliasee() else { return false };
        let Some(value) = self.address_constant(target) else { return false };
        let name = self.module.intern(&alias.name());
        let linkage = linkage(alias.linkage());
        self.symbols.insert(alias, value.clone());
        self.module.aliases.push(ir::Alias { name, linkage, target: value });
        true
    }

    fn declare_function(&mut self, value: Val) -> ir::Function {
        let symbol = value.name();
        self.debug.is_cpp |= symbol.starts_with("_Z");
        let name = self.module.intern(&symbol);
        let subprogram = value.subprogram();
        let display = subprogram.and_then(|s| self.debug.subprogram_name(s));
        let display_name = display.map_or(name, |text| self.module.intern(&text));
        let source = subprogram.and_then(|s| self.debug.subprogram_source(s, &mut self.module));
        let ty = value.value_type();
        let result = ty.and_then(Ty::result).map_or(self.void, |ty| self.type_id(ty));
        let by_value = self.attributes.by_value;
        let params = value
            .params()
            .enumerate()
            .map(|(index, param)| ir::Param {
                name: self.module.intern(&param.name()),
                ty: param.ty().map_or(self.void, |ty| self.type_id(ty)),
                by_value: value.param_has(index as u32, by_value),
            })
            .collect();
        ir::Function {
            name,
            display_name,
            linkage: linkage(value.linkage()),
            result,
            params,
            variadic: ty.is_some_and(Ty::is_variadic),
            no_return: value.function_has(self.attributes.no_return),
            source,
            blocks: Vec::new(),
            instructions: Vec::new(),
            sources: Vec::new(),
            paths: Vec::new(),
            operand_paths: Vec::new(),
            inlined: Vec::new(),
        }
    }

    fn declare_global(&mut self, value: Val) -> ir::Global {
        let name = self.module.intern(&value.name());
        let variable = value.global_variable(self.debug.dbg_kind);
        let display = variable.and_then(|v| self.debug.global_name(v));
        let display_name = display.map_or(name, |text| self.module.intern(&text));
        let source = variable.and_then(|v| self.debug.variable_source(v, &mut self.module));
        let ty = value.value_type();
        ir::Global {
            name,
            display_name,
            ty: ty.map_or(self.void, |ty| self.type_id(ty)),
            size: ty.map_or(0, |ty| self.unit.alloc_size(ty)),
            linkage: linkage(value.linkage()),
            constant: value.is_constant_global(),
            thread_local: value.is_thread_local(),
            initializer: None,
            source,
        }
    }

    fn initialize(&mut self) {
        for index in 0..self.globals.len() {
            let Some(constant) = self.globals[index].initializer() else { continue };
            let size = self.module.globals[index].size;
            let initializer = self.initializer(constant, size);
            self.module.globals[index].initializer = Some(initializer);
        }
        self.module.constructors = self.start_list("llvm.global_ctors");
        self.module.destructors = self.start_list("llvm.global_dtors");
    }

    /// The functions of `llvm.global_ctors` or `llvm.global_dtors`, by priority, then by order.
    fn start_list(&mut self, name: &str) -> Vec<ir::FunctionId> {
        let list = self.unit.globals().find(|global| global.name() == name);
        let Some(list) = list.and_then(Val::initializer) else { return Vec::new() };
        let mut entries = Vec::new();
        for entry in (0..).map_while(|index| list.element(index)) {
            let priority = entry.element(0).and_then(Val::as_int).unwrap_or(65535);
            let function = entry.element(1).and_then(|f| self.address_constant(f));
            if let Some(ir::Value::Function(id)) = function {
                entries.push((priority, id));
            }
        }
        entries.sort_by_key(|&(priority, _)| priority);
        entries.into_iter().map(|(_, id)| id).collect()
    }

    fn bodies(&mut self) {
        for index in 0..self.functions.len() {
            let value = self.functions[index];
            if !value.is_declaration() {
                self.lower_body(ir::FunctionId::new(index), value);
            }
        }
    }

    fn finish(mut self) -> ir::Module {
        if !self.unit.inline_asm().trim().is_empty() {
            let text = "assembly at file scope is not modelled".to_owned();
            self.note(ir::NoteKind::InlineAssembly, text);
        }
        if !self.debug.present && self.module.functions.iter().any(|f| !f.is_declaration()) {
            let text = "no debug information: accesses have no source position".to_owned();
            self.note(ir::NoteKind::NoDebugInfo, text);
        }
        self.module
    }
}

fn linkage(linkage: LLVMLinkage) -> ir::Linkage {
    use LLVMLinkage::*;
    match linkage {
        LLVMInternalLinkage | LLVMPrivateLinkage | LLVMLinkerPrivateLinkage => {
            ir::Linkage::Internal
        }
        LLVMCommonLinkage => ir::Linkage::Common,
        // An available-externally body is a copy of a definition elsewhere: any definition wins.
        LLVMAvailableExternallyLinkage
        | LLVMLinkOnceAnyLinkage
        | LLVMLinkOnceODRLinkage
        | LLVMLinkOnceODRAutoHideLinkage
        | LLVMWeakAnyLinkage
        | LLVMWeakODRLinkage
        | LLVMExternalWeakLinkage
        | LLVMLinkerPrivateWeakLinkage => ir::Linkage::Weak,
        _ => ir::Linkage::External,
    }
}
