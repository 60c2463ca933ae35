//! Moves the modules' contents into one module under new ids.
//!
//! A module *owns* what is private to it and the symbols that it won; owned things get ids in
//! order of modules, so that moving them over in the same order needs no sorting.

use rustc_hash::{FxHashMap, FxHashSet};

use super::symbols::{self, Entity, Winner};
use crate::{
    Callee, Function, FunctionId, Global, GlobalId, Linkage, Module, NameId, Note, NoteKind, Op,
    Program, SourceLoc, Type, TypeId, Value,
};

/// More alias-to-alias steps than any program has; a longer chain is a cycle.
const LONGEST_ALIAS_CHAIN: u32 = 16;

/// Where a module's ids go.
struct Mapping {
    names: Vec<NameId>,
    types: Vec<TypeId>,
    functions: Vec<Value>,
    globals: Vec<Value>,
}

/// The ids of what a module owns.
struct Owned {
    functions: Vec<Option<FunctionId>>,
    globals: Vec<Option<GlobalId>>,
}

struct Resolution<'m> {
    modules: &'m [Module],
    winners: FxHashMap<&'m str, Winner>,
    owned: Vec<Owned>,
}

pub(super) fn merge(modules: Vec<Module>) -> Program {
    let mut program = Program {
        units: modules.iter().map(|module| module.name.clone()).collect(),
        ..Program::default()
    };
    program.module.name = program.units.first().cloned().unwrap_or_default();
    program.module.intern("");

    let resolved = symbols::resolve(&modules);
    let owned = own(&modules, &resolved.winners);
    let resolution = Resolution { modules: &modules, winners: resolved.winners, owned };
    let mut conflicts = resolved.conflicts;
    let mut mappings = Vec::with_capacity(modules.len());
    for (index, module) in modules.iter().enumerate() {
        mappings.push(Mapping {
            names: module.names.iter().map(|name| program.module.intern(name)).collect(),
            types: map_types(module, &mut program.module),
            functions: (module.function_ids())
                .map(|id| resolution.value(index, Entity::Function(id), 0))
                .collect(),
            globals: (module.global_ids())
                .map(|id| resolution.value(index, Entity::Global(id), 0))
                .collect(),
        });
        resolution.check_signatures(index, &mut conflicts);
    }
    let owned = resolution.owned;

    let notes = modules.iter().flat_map(|module| module.notes.iter().cloned());
    let conflicts =
        conflicts.into_iter().map(|text| Note { kind: NoteKind::ConflictingDeclarations, text });
    let mut seen = FxHashSet::default();
    program.module.notes =
        notes.chain(conflicts).filter(|note| seen.insert(note.clone())).collect();

    for (index, (module, owned)) in modules.into_iter().zip(owned).enumerate() {
        mappings[index].move_module(module, &owned, &mut program.module);
        program.function_units.resize(program.module.functions.len(), index as u32);
        program.global_units.resize(program.module.globals.len(), index as u32);
    }
    program
}

fn own(modules: &[Module], winners: &FxHashMap<&str, Winner>) -> Vec<Owned> {
    let (mut functions, mut globals) = (0, 0);
    let owns = |index: usize, name: &str, linkage: Linkage, entity: Entity| {
        linkage == Linkage::Internal
            || winners.get(name).is_some_and(|w| w.module == index && w.entity == entity)
    };
    let next = |owned: bool, counter: &mut usize| {
        owned.then(|| {
            *counter += 1;
            *counter - 1
        })
    };
    let of_module = |(index, module): (usize, &Module)| Owned {
        functions: (module.function_ids())
            .map(|id| {
                let function = module.function(id);
                let name = module.name_text(function.name);
                let owned = owns(index, name, function.linkage, Entity::Function(id));
                next(owned, &mut functions).map(FunctionId::new)
            })
            .collect(),
        globals: (module.global_ids())
            .map(|id| {
                let global = module.global(id);
                let name = module.name_text(global.name);
                let owned = owns(index, name, global.linkage, Entity::Global(id));
                next(owned, &mut globals).map(GlobalId::new)
            })
            .collect(),
    };
    modules.iter().enumerate().map(of_module).collect()
}

impl Resolution<'_> {
    /// The program's value for a function or global of a module.
    fn value(&self, index: usize, entity: Entity, depth: u32) -> Value {
        let module = &self.modules[index];
        let (owned, name) = match entity {
            Entity::Function(id) => (
                self.owned[index].functions[id.index()].map(Value::Function),
                module.function(id).name,
            ),
            Entity::Global(id) => {
                (self.owned[index].globals[id.index()].map(Value::Global), module.global(id).name)
            }
            Entity::Alias(position) => {
                let target = &module.aliases[position].target;
                return self.target(index, target, depth + 1);
            }
        };
        if let Some(value) = owned {
            return value;
        }
        match self.winners.get(module.name_text(name)) {
            Some(winner) if depth < LONGEST_ALIAS_CHAIN => {
                self.value(winner.module, winner.entity, depth + 1)
            }
            _ => Value::Null,
        }
    }

    fn target(&self, index: usize, target: &Value, depth: u32) -> Value {
        match target {
            Value::Function(id) => self.value(index, Entity::Function(*id), depth),
            Value::Global(id) => self.value(index, Entity::Global(*id), depth),
            Value::Offset { base, offset } => {
                Value::Offset { base: Box::new(self.target(index, base, depth)), offset: *offset }
            }
            other => other.clone(),
        }
    }

    /// Notes declarations that disagree with the definition about the number of parameters.
    fn check_signatures(&self, index: usize, conflicts: &mut Vec<String>) {
        let module = &self.modules[index];
        for id in module.function_ids() {
            let function = module.function(id);
            let name = module.name_text(function.name);
            let Some(winner) = self.winners.get(name).filter(|winner| winner.module != index)
            else {
                continue;
            };
            let Entity::Function(defined) = winner.entity else { continue };
            let definition = self.modules[winner.module].function(defined);
            let agrees = definition.params.len() == function.params.len()
                || function.variadic
                || function.linkage == Linkage::Internal;
            if !agrees {
                conflicts.push(format!(
                    "{} declares {name} with {} parameters, {} defines it with {}",
                    module.name,
                    function.params.len(),
                    self.modules[winner.module].name,
                    definition.params.len()
                ));
            }
        }
    }
}

fn map_types(module: &Module, into: &mut Module) -> Vec<TypeId> {
    let mut types: Vec<TypeId> = Vec::with_capacity(module.types.len());
    // A type is made of earlier ones, so their new ids are known.
    for (_, ty) in module.types.iter() {
        let at = |id: &TypeId| types.get(id.index()).copied().unwrap_or(TypeId(0));
        let ty = match ty {
            Type::Vector { element, count } => Type::Vector { element: at(element), count: *count },
            Type::Array { element, count } => Type::Array { element: at(element), count: *count },
            Type::Struct { fields, size } => Type::Struct {
                fields: fields.iter().map(|(offset, ty)| (*offset, at(ty))).collect(),
                size: *size,
            },
            Type::Function { result, params, variadic } => Type::Function {
                result: at(result),
                params: params.iter().map(at).collect(),
                variadic: *variadic,
            },
            simple => simple.clone(),
        };
        types.push(into.types.intern(ty));
    }
    types
}

impl Mapping {
    fn name(&self, name: &mut NameId) {
        *name = self.names[name.index()];
    }

    fn ty(&self, ty: &mut TypeId) {
        *ty = self.types[ty.index()];
    }

    fn value(&self, value: &mut Value) {
        value.visit_mut(&mut |value| match value {
            Value::Function(id) => *value = self.functions[id.index()].clone(),
            Value::Global(id) => *value = self.globals[id.index()].clone(),
            other => {
                if let Some(ty) = other.type_mut() {
                    self.ty(ty);
                }
            }
        });
    }

    fn source(&self, source: &mut SourceLoc) {
        self.name(&mut source.file);
    }

    fn move_module(&self, module: Module, owned: &Owned, into: &mut Module) {
        for (mut function, owned) in module.functions.into_iter().zip(&owned.functions) {
            if owned.is_some() {
                self.function(&mut function);
                into.functions.push(function);
            }
        }
        for (mut global, owned) in module.globals.into_iter().zip(&owned.globals) {
            if owned.is_some() {
                self.global(&mut global);
                into.globals.push(global);
            }
        }
        for mut alias in module.aliases {
            self.name(&mut alias.name);
            self.value(&mut alias.target);
            into.aliases.push(alias);
        }
        let starts = |list: Vec<FunctionId>| {
            list.into_iter().filter_map(|id| match self.functions[id.index()] {
                Value::Function(id) => Some(id),
                _ => None,
            })
        };
        into.constructors.extend(starts(module.constructors));
        into.destructors.extend(starts(module.destructors));
    }

    fn function(&self, function: &mut Function) {
        self.name(&mut function.name);
        self.name(&mut function.display_name);
        self.ty(&mut function.result);
        for param in &mut function.params {
            self.name(&mut param.name);
            self.ty(&mut param.ty);
        }
        function.source.iter_mut().for_each(|source| self.source(source));
        function.sources.iter_mut().for_each(|source| self.source(source));
        for frame in function.inlined.iter_mut().flat_map(|inlined| &mut inlined.frames) {
            self.name(&mut frame.function);
            self.source(&mut frame.call);
        }
        for path in &mut function.paths {
            self.name(&mut path.text);
            self.name(&mut path.field);
            self.name(&mut path.inner);
        }
        for instruction in &mut function.instructions {
            self.ty(&mut instruction.ty);
            self.op(&mut instruction.op);
        }
    }

    fn op(&self, op: &mut Op) {
        for operand in op.operands_mut() {
            self.value(operand);
        }
        if let Some(name) = op.name_mut() {
            self.name(name);
        }
        if let Op::Call { callee, .. } = op
            && let Callee::Direct(id) = callee
        {
            *callee = match self.functions[id.index()].clone() {
                Value::Function(id) => Callee::Direct(id),
                elsewhere => Callee::Indirect(elsewhere),
            };
        }
    }

    fn global(&self, global: &mut Global) {
        self.name(&mut global.name);
        self.name(&mut global.display_name);
        self.ty(&mut global.ty);
        global.source.iter_mut().for_each(|source| self.source(source));
        for (_, value) in global.initializer.iter_mut().flat_map(|init| &mut init.pointers) {
            self.value(value);
        }
    }
}
