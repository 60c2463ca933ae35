//! Which definition each symbol means.

use rustc_hash::FxHashMap;

use crate::{FunctionId, GlobalId, Linkage, Module};

/// What stands behind a symbol in one module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    Function(FunctionId),
    Global(GlobalId),
    /// Index into the module's aliases.
    Alias(usize),
}

/// How strongly a mention claims its symbol, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Declaration,
    Weak,
    Common,
    Strong,
}

/// The mention that a symbol stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Winner {
    pub module: usize,
    pub entity: Entity,
    claim: Claim,
    size: u64,
}

/// The symbols of a program by name, and what the linker would have complained of.
pub(super) struct Symbols<'m> {
    pub winners: FxHashMap<&'m str, Winner>,
    pub conflicts: Vec<String>,
}

pub(super) fn resolve(modules: &[Module]) -> Symbols<'_> {
    let mut symbols = Symbols { winners: FxHashMap::default(), conflicts: Vec::new() };
    for (index, module) in modules.iter().enumerate() {
        symbols.add_module(modules, index, module);
    }
    symbols
}

impl<'m> Symbols<'m> {
    fn add_module(&mut self, modules: &[Module], index: usize, module: &'m Module) {
        for id in module.function_ids() {
            let function = module.function(id);
            let claim = claim(function.linkage, function.is_declaration());
            let mention =
                |claim| Winner { module: index, entity: Entity::Function(id), claim, size: 0 };
            if let Some(claim) = claim {
                self.add(modules, module.name_text(function.name), mention(claim));
            }
        }
        for id in module.global_ids() {
            let global = module.global(id);
            let entity = Entity::Global(id);
            if let Some(claim) = claim(global.linkage, global.initializer.is_none()) {
                let mention = Winner { module: index, entity, claim, size: global.size };
                self.add(modules, module.name_text(global.name), mention);
            }
        }
        for (position, alias) in module.aliases.iter().enumerate() {
            let entity = Entity::Alias(position);
            if let Some(claim) = claim(alias.linkage, false) {
                let mention = Winner { module: index, entity, claim, size: 0 };
                self.add(modules, module.name_text(alias.name), mention);
            }
        }
    }

    fn add(&mut self, modules: &[Module], name: &'m str, mention: Winner) {
        use std::collections::hash_map::Entry;
        match self.winners.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(mention);
            }
            Entry::Occupied(mut entry) => {
                let known = *entry.get();
                if known.claim == Claim::Strong && mention.claim == Claim::Strong {
                    self.conflicts.push(format!(
                        "{name} is defined in both {} and {}; the first is used",
                        modules[known.module].name, modules[mention.module].name
                    ));
                }
                let is_larger_common = known.claim == Claim::Common
                    && mention.claim == Claim::Common
                    && mention.size > known.size;
                if mention.claim > known.claim || is_larger_common {
                    entry.insert(mention);
                }
            }
        }
    }
}

/// `None` for symbols that other units cannot see.
fn claim(linkage: Linkage, is_declaration: bool) -> Option<Claim> {
    match linkage {
        Linkage::Internal => None,
        _ if is_declaration => Some(Claim::Declaration),
        Linkage::External => Some(Claim::Strong),
        Linkage::Common => Some(Claim::Common),
        Linkage::Weak => Some(Claim::Weak),
    }
}
