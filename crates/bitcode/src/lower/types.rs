//! Types, each LLVM type once.

use racewarden_ir as ir;

use super::ModuleLowering;
use crate::raw::{LLVMTypeKind, Ty};

impl ModuleLowering {
    pub(super) fn type_id(&mut self, ty: Ty) -> ir::TypeId {
        if let Some(&id) = self.type_ids.get(&ty) {
            return id;
        }
        let lowered = self.lower_type(ty);
        let id = self.module.types.intern(lowered);
        self.type_ids.insert(ty, id);
        id
    }

    /// Pointers are opaque, so types nest but never recurse.
    fn lower_type(&mut self, ty: Ty) -> ir::Type {
        use LLVMTypeKind::*;
        match ty.kind() {
            LLVMVoidTypeKind => ir::Type::Void,
            LLVMIntegerTypeKind => ir::Type::Int { bits: ty.int_bits() },
            LLVMHalfTypeKind | LLVMBFloatTypeKind => ir::Type::Float { bits: 16 },
            LLVMFloatTypeKind => ir::Type::Float { bits: 32 },
            LLVMDoubleTypeKind => ir::Type::Float { bits: 64 },
            LLVMX86_FP80TypeKind => ir::Type::Float { bits: 80 },
            LLVMFP128TypeKind | LLVMPPC_FP128TypeKind => ir::Type::Float { bits: 128 },
            LLVMPointerTypeKind => ir::Type::Pointer,
            LLVMVectorTypeKind => match ty.element() {
                Some(element) => {
                    let element = self.type_id(element);
                    ir::Type::Vector { element, count: ty.vector_length() }
                }
                None => ir::Type::Opaque,
            },
            LLVMArrayTypeKind => match ty.element() {
                Some(element) => {
                    let element = self.type_id(element);
                    ir::Type::Array { element, count: ty.array_length() }
                }
                None => ir::Type::Opaque,
            },
            LLVMStructTypeKind if !ty.is_opaque_struct() && ty.is_sized() => {
                let fields = (0..ty.field_count())
                    .filter_map(|index| {
                        let field = self.type_id(ty.field(index)?);
                        Some((self.unit.field_offset(ty, index), field))
                    })
                    .collect();
                ir::Type::Struct { fields, size: self.unit.alloc_size(ty) }
            }
            LLVMFunctionTypeKind => {
                let result = ty.result().map_or(self.void, |result| self.type_id(result));
                let params = ty.params().into_iter().map(|param| self.type_id(param)).collect();
                ir::Type::Function { result, params, variadic: ty.is_variadic() }
            }
            _ => ir::Type::Opaque,
        }
    }
}
