//! Types: only what byte offsets, value widths and call signatures need.

use serde::{Deserialize, Serialize};

use crate::TypeId;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    Void,
    Int {
        bits: u32,
    },
    Float {
        bits: u32,
    },
    Pointer,
    Vector {
        element: TypeId,
        count: u64,
    },
    Array {
        element: TypeId,
        count: u64,
    },
    /// Byte offsets of the fields are kept, so that nobody computes a layout again.
    Struct {
        fields: Vec<(u64, TypeId)>,
        size: u64,
    },
    Function {
        result: TypeId,
        params: Vec<TypeId>,
        variadic: bool,
    },
    /// Labels, metadata, tokens, target types: never accessed in memory.
    Opaque,
}

/// The types of one module, each once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TypeTable {
    types: indexmap::IndexSet<Type, rustc_hash::FxBuildHasher>,
}

impl TypeTable {
    pub fn intern(&mut self, ty: Type) -> TypeId {
        TypeId::new(self.types.insert_full(ty).0)
    }

    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.index()]
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeId::new(index), ty))
    }

    /// The size in memory, in bytes (allocation size for scalars; x86-64 layout).
    pub fn size_of(&self, id: TypeId) -> u64 {
        match self.get(id) {
            Type::Void | Type::Opaque | Type::Function { .. } => 0,
            Type::Int { bits } | Type::Float { bits } => {
                let bytes = u64::from(*bits).div_ceil(8);
                if bytes <= 8 { bytes.next_power_of_two() } else { bytes.next_multiple_of(16) }
            }
            Type::Pointer => 8,
            Type::Vector { element, count } => {
                let bits = match self.get(*element) {
                    Type::Int { bits } | Type::Float { bits } => u64::from(*bits),
                    _ => self.size_of(*element) * 8,
                };
                (bits * count).div_ceil(8).next_power_of_two()
            }
            Type::Array { element, count } => self.size_of(*element).saturating_mul(*count),
            Type::Struct { size, .. } => *size,
        }
    }
}
