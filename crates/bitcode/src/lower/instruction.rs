//! Instructions other than calls.

use racewarden_ir as ir;
use racewarden_ir::{BinaryOp, CastOp, CompareOp, Op, Value};

use super::ModuleLowering;
use super::address::Step;
use super::function::Body;
use super::paths::Access;
use crate::raw::{
    Bb, LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMOpcode, LLVMTypeKind,
    LLVMValueKind, Val,
};

impl ModuleLowering {
    pub(super) fn instruction(
        &mut self,
        value: Val,
        id: ir::InstId,
        body: &mut Body,
    ) -> ir::Instruction {
        let op = match self.op(value, body) {
            Some(op) => op,
            None => self.unknown(value, body),
        };
        let ty = value.ty().map_or(self.void, |ty| self.type_id(ty));
        let source = self.source(value, body);
        let path = self.access_path(value, &op, body);
        self.operand_paths(value, id, &op, body);
        ir::Instruction { op, ty, source, path }
    }

    pub(super) fn value(&mut self, value: Val, body: &Body) -> Value {
        match value.kind() {
            LLVMValueKind::LLVMInstructionValueKind | LLVMValueKind::LLVMArgumentValueKind => {
                match body.values.get(&value) {
                    Some(known) => known.clone(),
                    None => self.constant(value),
                }
            }
            _ => self.constant(value),
        }
    }

    pub(super) fn operand(&mut self, value: Val, index: u32, body: &Body) -> Option<Value> {
        value.operand(index).map(|operand| self.value(operand, body))
    }

    /// Anything the model has no word for: its operands may be read, written and published.
    pub(super) fn unknown(&mut self, value: Val, body: &Body) -> Op {
        let name = format!("{:?}", value.opcode()).trim_start_matches("LLVM").to_lowercase();
        self.note(ir::NoteKind::UnknownInstruction, format!("instruction not modelled: {name}"));
        let successors: Vec<Bb> =
            if is_terminator(value.opcode()) { value.successors().collect() } else { Vec::new() };
        if is_terminator(value.opcode()) {
            let address = Value::Undef { ty: self.void };
            let targets = successors.into_iter().map(|block| body.block(block)).collect();
            return Op::IndirectJump { address, targets };
        }
        let operands: Vec<Val> = value
            .operands()
            .filter(|operand| operand.kind() != LLVMValueKind::LLVMBasicBlockValueKind)
            .collect();
        let operands = operands.into_iter().map(|operand| self.value(operand, body)).collect();
        Op::Unknown { name: self.module.intern(&name), operands }
    }

    fn op(&mut self, value: Val, body: &mut Body) -> Option<Op> {
        use LLVMOpcode::*;
        let opcode = value.opcode();
        if let Some(op) = binary(opcode) {
            let (left, right) = (self.operand(value, 0, body)?, self.operand(value, 1, body)?);
            return Some(Op::Binary { op, left, right });
        }
        if let Some(op) = cast(opcode) {
            return Some(Op::Cast { op, value: self.operand(value, 0, body)? });
        }
        match opcode {
            LLVMLoad | LLVMStore | LLVMAtomicRMW | LLVMAtomicCmpXchg | LLVMFence | LLVMAlloca => {
                self.memory(value, opcode, body)
            }
            LLVMRet | LLVMBr | LLVMSwitch | LLVMIndirectBr | LLVMResume | LLVMUnreachable => {
                self.terminator(value, opcode, body)
            }
            LLVMCall | LLVMInvoke | LLVMCallBr => self.call(value, opcode, body),
            LLVMGetElementPtr => self.address(value, body),
            _ => self.scalar(value, opcode, body),
        }
    }

    fn memory(&mut self, value: Val, opcode: LLVMOpcode, body: &mut Body) -> Option<Op> {
        use LLVMOpcode::*;
        Some(match opcode {
            LLVMLoad => Op::Load {
                address: self.operand(value, 0, body)?,
                size: self.unit.store_size(value.ty()?),
                order: order(value.ordering()),
                volatile: value.is_volatile(),
            },
            LLVMStore => Op::Store {
                size: self.unit.store_size(value.operand(0)?.ty()?),
                value: self.operand(value, 0, body)?,
                address: self.operand(value, 1, body)?,
                order: order(value.ordering()),
                volatile: value.is_volatile(),
            },
            LLVMAtomicRMW => Op::AtomicRmw {
                address: self.operand(value, 0, body)?,
                op: rmw(value.rmw_op()),
                value: self.operand(value, 1, body)?,
                size: self.unit.store_size(value.operand(1)?.ty()?),
                order: order(value.ordering())?,
            },
            LLVMAtomicCmpXchg => {
                let (success, failure) = value.cmpxchg_orderings();
                Op::CompareExchange {
                    address: self.operand(value, 0, body)?,
                    expected: self.operand(value, 1, body)?,
                    new: self.operand(value, 2, body)?,
                    size: self.unit.store_size(value.operand(1)?.ty()?),
                    success: order(success)?,
                    failure: order(failure)?,
                }
            }
            LLVMFence if value.is_single_thread() => Op::Nop,
            LLVMFence => Op::Fence { order: order(value.ordering())? },
            LLVMAlloca => {
                let name = match body.declared.get(&value) {
                    Some(&variable) => self.debug.variable(variable).name.to_string(),
                    None => value.name(),
                };
                Op::Alloca {
                    size: self.unit.alloc_size(value.allocated_type()?),
                    count: self.operand(value, 0, body)?,
                    name: self.module.intern(&name),
                }
            }
            _ => return None,
        })
    }

    fn address(&mut self, value: Val, body: &mut Body) -> Option<Op> {
        let gep = self.gep(value)?;
        let mut indices = Vec::new();
        for step in &gep.steps {
            if let Step::Index { value, scale } = step {
                indices.push((self.value(*value, body), *scale));
            }
        }
        let base = self.value(gep.base, body);
        Some(Op::Address { base, offset: gep.offset(), indices: indices.into() })
    }

    fn terminator(&mut self, value: Val, opcode: LLVMOpcode, body: &mut Body) -> Option<Op> {
        use LLVMOpcode::*;
        let targets: Vec<ir::BlockId> = match opcode {
            LLVMBr | LLVMSwitch | LLVMIndirectBr => {
                value.successors().map(|block| body.block(block)).collect()
            }
            _ => Vec::new(),
        };
        Some(match opcode {
            LLVMRet => Op::Return { value: self.operand(value, 0, body) },
            LLVMBr => match targets[..] {
                [to] => Op::Jump { to },
                [then, otherwise] => {
                    Op::Branch { condition: self.operand(value, 0, body)?, then, otherwise }
                }
                _ => return None,
            },
            LLVMSwitch => {
                let mut cases = Vec::with_capacity(targets.len().saturating_sub(1));
                for (index, &block) in targets.iter().enumerate().skip(1) {
                    let case = value.case_value(index as u32)?;
                    cases.push(ir::Edge { value: self.constant(case), block });
                }
                Op::Switch {
                    value: self.operand(value, 0, body)?,
                    cases: cases.into(),
                    default: *targets.first()?,
                }
            }
            LLVMIndirectBr => {
                Op::IndirectJump { address: self.operand(value, 0, body)?, targets: targets.into() }
            }
            LLVMResume => Op::Resume { value: self.operand(value, 0, body)? },
            LLVMUnreachable => Op::Unreachable,
            _ => return None,
        })
    }

    fn scalar(&mut self, value: Val, opcode: LLVMOpcode, body: &mut Body) -> Option<Op> {
        use LLVMOpcode::*;
        Some(match opcode {
            LLVMFNeg => Op::FNeg { value: self.operand(value, 0, body)? },
            LLVMICmp => Op::Compare {
                op: compare(value.int_predicate()),
                left: self.operand(value, 0, body)?,
                right: self.operand(value, 1, body)?,
            },
            LLVMFCmp => Op::Compare {
                op: CompareOp::Float(value.float_predicate()),
                left: self.operand(value, 0, body)?,
                right: self.operand(value, 1, body)?,
            },
            LLVMSelect => Op::Select {
                condition: self.operand(value, 0, body)?,
                then: self.operand(value, 1, body)?,
                otherwise: self.operand(value, 2, body)?,
            },
            LLVMPHI => Op::Phi {
                incoming: value
                    .incoming()
                    .map(|(incoming, block)| ir::Edge {
                        value: self.value(incoming, body),
                        block: body.block(block),
                    })
                    .collect(),
            },
            LLVMExtractValue => {
                Op::ExtractValue { aggregate: self.operand(value, 0, body)?, path: value.indices() }
            }
            LLVMInsertValue => Op::InsertValue {
                aggregate: self.operand(value, 0, body)?,
                element: self.operand(value, 1, body)?,
                path: value.indices(),
            },
            LLVMExtractElement => Op::ExtractElement {
                vector: self.operand(value, 0, body)?,
                index: self.operand(value, 1, body)?,
            },
            LLVMInsertElement => Op::InsertElement {
                vector: self.operand(value, 0, body)?,
                element: self.operand(value, 1, body)?,
                index: self.operand(value, 2, body)?,
            },
            LLVMShuffleVector => Op::ShuffleVector {
                left: self.operand(value, 0, body)?,
                right: self.operand(value, 1, body)?,
                mask: value.shuffle_mask(),
            },
            LLVMFreeze => Op::Freeze { value: self.operand(value, 0, body)? },
            LLVMVAArg => Op::VaArg { list: self.operand(value, 0, body)? },
            LLVMLandingPad => Op::LandingPad { cleanup: value.is_cleanup() },
            _ => return None,
        })
    }

    /// The source path of a memory operation: for a copy, that of the destination.
    fn access_path(&mut self, value: Val, op: &Op, body: &mut Body) -> Option<ir::FieldPathId> {
        let (address, access) = match op {
            Op::Load { size, .. } => (value.operand(0)?, Access::scalar(*size, value)),
            Op::Store { size, .. } => (value.operand(1)?, Access::scalar(*size, value)),
            Op::AtomicRmw { size, .. } | Op::CompareExchange { size, .. } => {
                (value.operand(0)?, Access::scalar(*size, value))
            }
            Op::MemCopy { length, .. } | Op::MemSet { length, .. } => {
                (value.operand(0)?, Access::range(length))
            }
            _ => return None,
        };
        let path = self.field_path(address, access, body)?;
        Some(body.path_id(path))
    }
}

impl ModuleLowering {
    /// Names what the other pointers of an operation point at: a copy's source, and the arguments
    /// of functions whose bodies are elsewhere, which the models speak of.
    fn operand_paths(&mut self, value: Val, inst: ir::InstId, op: &Op, body: &mut Body) {
        let mut add = |lowering: &mut Self, operand: u32, access: Access| {
            let address = value.operand(operand)?;
            let path = lowering.field_path(address, access, body)?;
            let path = body.path_id(path);
            body.operand_paths.push(ir::OperandPath { inst, operand, path });
            Some(())
        };
        match op {
            Op::MemCopy { length, .. } => {
                add(self, 1, Access::range(length));
            }
            Op::Call { callee: ir::Callee::Direct(id), arguments, .. } if self.is_outside(*id) => {
                for index in 0..arguments.len() as u32 {
                    let is_pointer = value
                        .operand(index)
                        .and_then(Val::ty)
                        .is_some_and(|ty| ty.kind() == LLVMTypeKind::LLVMPointerTypeKind);
                    if is_pointer {
                        add(self, index, Access::whole_object());
                    }
                }
            }
            _ => {}
        }
    }

    /// A function without a body, intrinsics aside.
    fn is_outside(&self, id: ir::FunctionId) -> bool {
        let declared = self.functions.get(id.index()).is_some_and(|value| value.is_declaration());
        let name = self.module.function(id).name;
        declared && !self.module.name_text(name).starts_with("llvm.")
    }
}

fn is_terminator(opcode: LLVMOpcode) -> bool {
    use LLVMOpcode::*;
    matches!(
        opcode,
        LLVMRet
            | LLVMBr
            | LLVMSwitch
            | LLVMIndirectBr
            | LLVMInvoke
            | LLVMUnreachable
            | LLVMCallBr
            | LLVMResume
            | LLVMCleanupRet
            | LLVMCatchRet
            | LLVMCatchSwitch
    )
}

fn binary(opcode: LLVMOpcode) -> Option<BinaryOp> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMAdd => BinaryOp::Add,
        LLVMSub => BinaryOp::Sub,
        LLVMMul => BinaryOp::Mul,
        LLVMUDiv => BinaryOp::UDiv,
        LLVMSDiv => BinaryOp::SDiv,
        LLVMURem => BinaryOp::URem,
        LLVMSRem => BinaryOp::SRem,
        LLVMShl => BinaryOp::Shl,
        LLVMLShr => BinaryOp::LShr,
        LLVMAShr => BinaryOp::AShr,
        LLVMAnd => BinaryOp::And,
        LLVMOr => BinaryOp::Or,
        LLVMXor => BinaryOp::Xor,
        LLVMFAdd => BinaryOp::FAdd,
        LLVMFSub => BinaryOp::FSub,
        LLVMFMul => BinaryOp::FMul,
        LLVMFDiv => BinaryOp::FDiv,
        LLVMFRem => BinaryOp::FRem,
        _ => return None,
    })
}

fn cast(opcode: LLVMOpcode) -> Option<CastOp> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMTrunc => CastOp::Trunc,
        LLVMZExt => CastOp::ZExt,
        LLVMSExt => CastOp::SExt,
        LLVMFPTrunc => CastOp::FpTrunc,
        LLVMFPExt => CastOp::FpExt,
        LLVMFPToUI => CastOp::FpToUi,
        LLVMFPToSI => CastOp::FpToSi,
        LLVMUIToFP => CastOp::UiToFp,
        LLVMSIToFP => CastOp::SiToFp,
        LLVMPtrToInt | LLVMPtrToAddr => CastOp::PtrToInt,
        LLVMIntToPtr => CastOp::IntToPtr,
        LLVMBitCast => CastOp::BitCast,
        LLVMAddrSpaceCast => CastOp::AddrSpaceCast,
        _ => return None,
    })
}

fn compare(predicate: LLVMIntPredicate) -> CompareOp {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => CompareOp::Eq,
        LLVMIntNE => CompareOp::Ne,
        LLVMIntUGT => CompareOp::Ugt,
        LLVMIntUGE => CompareOp::Uge,
        LLVMIntULT => CompareOp::Ult,
        LLVMIntULE => CompareOp::Ule,
        LLVMIntSGT => CompareOp::Sgt,
        LLVMIntSGE => CompareOp::Sge,
        LLVMIntSLT => CompareOp::Slt,
        LLVMIntSLE => CompareOp::Sle,
    }
}

fn rmw(op: LLVMAtomicRMWBinOp) -> ir::RmwOp {
    use LLVMAtomicRMWBinOp::*;
    match op {
        LLVMAtomicRMWBinOpXchg => ir::RmwOp::Xchg,
        LLVMAtomicRMWBinOpAdd => ir::RmwOp::Add,
        LLVMAtomicRMWBinOpSub => ir::RmwOp::Sub,
        LLVMAtomicRMWBinOpAnd => ir::RmwOp::And,
        LLVMAtomicRMWBinOpNand => ir::RmwOp::Nand,
        LLVMAtomicRMWBinOpOr => ir::RmwOp::Or,
        LLVMAtomicRMWBinOpXor => ir::RmwOp::Xor,
        LLVMAtomicRMWBinOpMax => ir::RmwOp::Max,
        LLVMAtomicRMWBinOpMin => ir::RmwOp::Min,
        LLVMAtomicRMWBinOpUMax => ir::RmwOp::UMax,
        LLVMAtomicRMWBinOpUMin => ir::RmwOp::UMin,
        _ => ir::RmwOp::Other,
    }
}

fn order(ordering: LLVMAtomicOrdering) -> Option<ir::AtomicOrder> {
    use LLVMAtomicOrdering::*;
    Some(match ordering {
        LLVMAtomicOrderingNotAtomic => return None,
        LLVMAtomicOrderingUnordered => ir::AtomicOrder::Unordered,
        LLVMAtomicOrderingMonotonic => ir::AtomicOrder::Relaxed,
        LLVMAtomicOrderingAcquire => ir::AtomicOrder::Acquire,
        LLVMAtomicOrderingRelease => ir::AtomicOrder::Release,
        LLVMAtomicOrderingAcquireRelease => ir::AtomicOrder::AcqRel,
        LLVMAtomicOrderingSequentiallyConsistent => ir::AtomicOrder::SeqCst,
    })
}
