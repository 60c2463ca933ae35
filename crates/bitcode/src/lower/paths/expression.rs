//! Values in source terms: the pointers and indices that a path is made of.

use std::rc::Rc;

use super::{Access, DEEPEST, Expression, PlaceType};
use crate::lower::ModuleLowering;
use crate::lower::function::Body;
use crate::raw::{LLVMOpcode, LLVMValueKind, Val};

impl ModuleLowering {
    pub(super) fn expression(
        &mut self,
        value: Val,
        body: &mut Body,
        depth: u32,
    ) -> Option<Rc<Expression>> {
        if let Some(known) = body.paths.expressions.get(&value) {
            return known.clone();
        }
        if depth > DEEPEST {
            return None;
        }
        let found = self.find_expression(value, body, depth).map(Rc::new);
        body.paths.expressions.insert(value, found.clone());
        found
    }

    fn find_expression(&mut self, value: Val, body: &mut Body, depth: u32) -> Option<Expression> {
        if let Some(constant) = value.as_int() {
            return Some(Expression { text: constant.to_string(), ty: PlaceType::Unknown });
        }
        if let Some(&variable) = body.typed.get(&value).or_else(|| body.holds.get(&value)) {
            let variable = self.debug.variable(variable);
            return Some(Expression { text: variable.name.to_string(), ty: variable.ty.into() });
        }
        match value.kind() {
            LLVMValueKind::LLVMInstructionValueKind if body.values.contains_key(&value) => {}
            LLVMValueKind::LLVMArgumentValueKind => {
                let name = value.name();
                let ty = PlaceType::Unknown;
                return (!name.is_empty()).then_some(Expression { text: name, ty });
            }
            _ => return None,
        }
        use LLVMOpcode::*;
        match value.opcode() {
            LLVMLoad => self.loaded(value, body, depth),
            LLVMCall | LLVMInvoke => self.returned(value),
            LLVMSExt | LLVMZExt | LLVMTrunc | LLVMBitCast | LLVMFreeze | LLVMPtrToInt
            | LLVMIntToPtr | LLVMAddrSpaceCast => {
                let inner = self.expression(value.operand(0)?, body, depth + 1)?;
                Some(Expression { text: inner.text.clone(), ty: inner.ty.clone() })
            }
            LLVMAdd => self.binary(value, " + ", body, depth),
            LLVMSub => self.binary(value, " - ", body, depth),
            LLVMMul => self.binary(value, " * ", body, depth),
            LLVMUDiv | LLVMSDiv => self.binary(value, " / ", body, depth),
            LLVMURem | LLVMSRem => self.binary(value, " % ", body, depth),
            LLVMAnd => self.binary(value, " & ", body, depth),
            LLVMOr => self.binary(value, " | ", body, depth),
            LLVMXor => self.binary(value, " ^ ", body, depth),
            LLVMShl => self.binary(value, " << ", body, depth),
            LLVMLShr | LLVMAShr => self.binary(value, " >> ", body, depth),
            _ => None,
        }
    }

    fn loaded(&mut self, load: Val, body: &mut Body, depth: u32) -> Option<Expression> {
        let size = self.unit.store_size(load.ty()?);
        let place = self.place(load.operand(0)?, body, depth + 1)?;
        let place = self.descend_to_access((*place).clone(), Access::scalar(size, load));
        Some(Expression { text: place.rendered(), ty: place.ty })
    }

    fn returned(&mut self, call: Val) -> Option<Expression> {
        let callee = call.called_value()?;
        if callee.kind() != LLVMValueKind::LLVMFunctionValueKind {
            return None;
        }
        let subprogram = callee.subprogram();
        let name = subprogram.and_then(|node| self.debug.subprogram_name(node));
        let ty = subprogram.and_then(|node| self.debug.subprogram_result(node));
        let name = name.unwrap_or_else(|| callee.name());
        Some(Expression { text: super::clipped(format!("{name}()")), ty: ty.into() })
    }

    fn binary(
        &mut self,
        value: Val,
        operator: &str,
        body: &mut Body,
        depth: u32,
    ) -> Option<Expression> {
        let left = self.expression(value.operand(0)?, body, depth + 1)?;
        let right = self.expression(value.operand(1)?, body, depth + 1)?;
        let nested = |text: &str| {
            if text.contains(' ') { format!("({text})") } else { text.to_owned() }
        };
        let mut text = format!("{}{operator}{}", nested(&left.text), nested(&right.text));
        if text.len() > super::LONGEST_PATH {
            text = "…".to_owned();
        }
        Some(Expression { text, ty: PlaceType::Unknown })
    }
}
