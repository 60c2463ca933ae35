//! Objects of libraries that models speak of by name (`@strtok`): memory that all callers share.
//!
//! Where the program itself has a global of that name (`environ`), it is that global. Otherwise the
//! object stands for itself, under the first function of the program that speaks of it.

use racewarden_ir::Program;
use racewarden_models::{Effect, Models, Operand};
use rustc_hash::FxHashMap;

use crate::pointsto::ObjectKind;

#[derive(Debug, Default)]
pub struct Statics(FxHashMap<String, ObjectKind>);

impl Statics {
    pub fn new(program: &Program, models: &Models) -> Self {
        let module = &program.module;
        let mut statics = Statics::default();
        for id in module.function_ids() {
            let function = module.function(id);
            let symbol = module.name_text(function.name);
            let model = models.for_function(symbol, !function.is_declaration());
            let named = model.iter().flat_map(|model| &model.effects).filter_map(object);
            for name in named {
                statics.0.entry(name.clone()).or_insert(ObjectKind::Library(id));
            }
        }
        if !statics.0.is_empty() {
            for id in module.global_ids() {
                if let Some(kind) = statics.0.get_mut(module.name_text(module.global(id).name)) {
                    *kind = ObjectKind::Global(id);
                }
            }
        }
        statics
    }

    pub fn get(&self, name: &str) -> Option<ObjectKind> {
        self.0.get(name).copied()
    }
}

/// The object that an effect reads, writes or returns.
fn object(effect: &Effect) -> Option<&String> {
    let operand = match effect {
        Effect::Reads(range) | Effect::Writes(range) => &range.pointer,
        Effect::ReturnsArg { arg } => arg,
        _ => return None,
    };
    match operand {
        Operand::Global(name) => Some(name),
        _ => None,
    }
}
