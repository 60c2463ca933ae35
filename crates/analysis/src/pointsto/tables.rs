//! Virtual tables: which functions a virtual call can mean by where they stand in some table.
//!
//! Points-to loses objects' classes where many share one allocation site (everything that
//! `std::allocator` gives). A virtual call still names a slot, and only functions that stand in
//! this slot of a table can be meant.

use std::sync::Arc;

use racewarden_ir::{FunctionId, Program, Value};
use racewarden_models::plain_name;
use rustc_hash::{FxHashMap, FxHashSet};

/// Which functions a site can mean.
#[derive(Debug, Clone, Default)]
pub struct Only {
    /// Bytes from the address that objects hold of their table.
    pub slot: Option<u64>,
    /// What the names of their classes begin with.
    pub class: Option<Arc<str>>,
    /// The call is the C++ library's, which knows no tables but those of classes.
    pub listed: bool,
}

impl Only {
    /// What a function of this name can mean by a virtual call.
    pub fn by(caller: &str) -> Self {
        let member = caller.strip_prefix("_ZNKSt").or_else(|| caller.strip_prefix("_ZNSt"));
        let Some(member) = member else { return Self::default() };
        // Nobody but the library derives from these.
        let own = OWN.iter().find(|(class, _)| member.starts_with(class));
        Only { slot: None, class: own.map(|(_, derived)| Arc::from(*derived)), listed: true }
    }
}

/// Classes of the C++ library, and what the names of those derived from them begin with.
const OWN: [(&str, &str); 2] =
    [("16_Sp_counted_baseI", "std::_Sp_counted"), ("13__future_base", "std::__future_base::")];

pub struct Tables {
    slots: FxHashSet<(FunctionId, u64)>,
    /// Functions in tables; whether all of their slots are known.
    listed: FxHashMap<FunctionId, bool>,
}

impl Tables {
    pub fn new(program: &Program) -> Self {
        let module = &program.module;
        let mut tables = Tables { slots: FxHashSet::default(), listed: FxHashMap::default() };
        for id in module.global_ids() {
            let global = module.global(id);
            let name = module.name_text(global.name);
            let Some(initializer) = &global.initializer else { continue };
            // Tables of classes, and those that objects have while they are constructed.
            if !name.starts_with("_ZTV") && !name.starts_with("_ZTC") {
                continue;
            }
            // Objects hold the address after the word that leads to the type's description.
            let mut start = None;
            let mut pointers: Vec<&(u64, Value)> = initializer.pointers.iter().collect();
            pointers.sort_by_key(|(offset, _)| *offset);
            for (offset, value) in pointers {
                match value {
                    Value::Function(function) => {
                        let slot = start.and_then(|start| offset.checked_sub(start));
                        *tables.listed.entry(*function).or_insert(true) &= slot.is_some();
                        tables.slots.extend(slot.map(|slot| (*function, slot)));
                    }
                    Value::Global(described)
                        if module.name_text(module.global(*described).name).starts_with("_ZTI") =>
                    {
                        start = Some(offset + 8);
                    }
                    // Whatever else stands there, what follows is no slot that is known.
                    _ => start = None,
                }
            }
        }
        tables
    }

    /// Whether a call or start at such a site can mean the function.
    pub fn admit(&self, program: &Program, only: &Only, function: FunctionId) -> bool {
        let Some(slot) = only.slot else { return true };
        match self.listed.get(&function) {
            Some(true) if !self.slots.contains(&(function, slot)) => return false,
            None if only.listed => return false,
            _ => {}
        }
        let Some(class) = &only.class else { return true };
        let symbol = program.module.name_text(program.module.function(function).name);
        plain_name(symbol).is_none_or(|name| name.starts_with(&**class))
    }
}
