//! `getelementptr` as bytes: a constant offset and scaled indices.

use super::ModuleLowering;
use crate::raw::{LLVMTypeKind, Ty, Val};

/// `base + offset + Σ index·scale`; the steps stay in source order for the field path.
pub(super) struct Gep {
    pub base: Val,
    pub steps: Vec<Step>,
}

pub(super) enum Step {
    Bytes(i64),
    Index { value: Val, scale: i64 },
}

impl Gep {
    /// The sum of the constant steps.
    pub fn offset(&self) -> i64 {
        self.steps.iter().fold(0, |sum, step| match step {
            Step::Bytes(bytes) => sum.wrapping_add(*bytes),
            Step::Index { .. } => sum,
        })
    }

    pub fn is_constant(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Bytes(_)))
    }
}

impl ModuleLowering {
    /// Reads a `getelementptr`, instruction or constant expression; `None` for vectors of
    /// pointers and scalable types.
    pub(super) fn gep(&self, value: Val) -> Option<Gep> {
        let base = value.operand(0)?;
        if base.ty()?.kind() != LLVMTypeKind::LLVMPointerTypeKind {
            return None;
        }
        let mut ty = value.source_element_type()?;
        let mut steps = Vec::new();
        for index in 1..value.operand_count() {
            let operand = value.operand(index)?;
            if operand.ty()?.kind() != LLVMTypeKind::LLVMIntegerTypeKind {
                return None;
            }
            if index == 1 {
                steps.push(self.index_step(operand, ty)?);
                continue;
            }
            match ty.kind() {
                LLVMTypeKind::LLVMStructTypeKind => {
                    let field = u32::try_from(operand.as_int()?).ok()?;
                    let next = ty.field(field)?;
                    steps.push(Step::Bytes(self.unit.field_offset(ty, field) as i64));
                    ty = next;
                }
                LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                    ty = ty.element()?;
                    steps.push(self.index_step(operand, ty)?);
                }
                _ => return None,
            }
        }
        Some(Gep { base, steps })
    }

    fn index_step(&self, operand: Val, element: Ty) -> Option<Step> {
        if !element.is_sized() {
            return None;
        }
        let scale = self.unit.alloc_size(element) as i64;
        Some(match operand.as_int() {
            Some(constant) => Step::Bytes(constant.wrapping_mul(scale)),
            None => Step::Index { value: operand, scale },
        })
    }
}
