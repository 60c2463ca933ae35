//! Calls, invokes and intrinsics.

use racewarden_ir as ir;
use racewarden_ir::{Callee, CastOp, Op, Value};

use super::ModuleLowering;
use super::function::Body;
use crate::raw::{Bb, LLVMOpcode, LLVMValueKind, Val};

impl ModuleLowering {
    pub(super) fn call(&mut self, call: Val, opcode: LLVMOpcode, body: &mut Body) -> Option<Op> {
        let callee = call.called_value()?;
        if opcode == LLVMOpcode::LLVMCallBr {
            return Some(self.asm_goto(call, callee, body));
        }
        if callee.kind() == LLVMValueKind::LLVMFunctionValueKind {
            let name = callee.name();
            if let Some(op) = name
                .strip_prefix("llvm.")
                .and_then(|intrinsic| self.intrinsic(call, intrinsic, body))
            {
                return Some(op);
            }
        }
        let arguments = self.arguments(call, body);
        let invoke = match opcode {
            LLVMOpcode::LLVMInvoke => {
                let targets: Vec<Bb> = call.successors().collect();
                let [normal, unwind] = targets[..] else { return None };
                Some((body.block(normal), body.block(unwind)))
            }
            _ => None,
        };
        let callee_value = self.callee(call, callee, body);
        let no_return = call.call_has(self.attributes.no_return)
            || matches!(callee_value, Callee::Direct(id)
                if self.module.functions[id.index()].no_return);
        Some(Op::Call { callee: callee_value, arguments, invoke, no_return })
    }

    fn arguments(&mut self, call: Val, body: &Body) -> Box<[Value]> {
        let operands = (0..call.argument_count()).filter_map(|index| call.operand(index));
        operands.map(|operand| self.value(operand, body)).collect()
    }

    fn callee(&mut self, call: Val, callee: Val, body: &Body) -> Callee {
        if callee.kind() == LLVMValueKind::LLVMInlineAsmValueKind {
            let (text, constraints) = callee.asm_text();
            return self.asm(&text, &constraints);
        }
        match self.value(callee, body) {
            Value::Function(id) => Callee::Direct(id),
            function => match self.virtual_slot(call, callee, body) {
                Some((table, slot)) => Callee::Virtual { function, table, slot },
                None => Callee::Indirect(function),
            },
        }
    }

    fn asm(&mut self, text: &str, constraints: &str) -> Callee {
        let clobbers_memory = constraints.contains("~{memory}") || constraints.contains("=*m");
        if ir::Assembly::of(text) == ir::Assembly::Unknown {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = format!("inline assembly is not modelled: {line}");
            self.note(ir::NoteKind::InlineAssembly, text);
        }
        Callee::Asm { text: self.module.intern(text), clobbers_memory }
    }

    /// `asm goto`: control may go on at any of its labels.
    fn asm_goto(&mut self, call: Val, callee: Val, body: &Body) -> Op {
        if callee.kind() == LLVMValueKind::LLVMInlineAsmValueKind {
            let (text, constraints) = callee.asm_text();
            self.asm(&text, &constraints);
        }
        let targets = call.successors().map(|block| body.block(block)).collect();
        Op::IndirectJump { address: Value::Undef { ty: self.void }, targets }
    }

    /// Recognises `table = *object; function = *(table + slot); function(object, …)`. With type
    /// tags (`-O1` and up) the first load says so itself; without them the shape must do.
    fn virtual_slot(&mut self, call: Val, callee: Val, body: &Body) -> Option<(Value, u64)> {
        let is_load = |v: Val| body.values.contains_key(&v) && v.opcode() == LLVMOpcode::LLVMLoad;
        if !is_load(callee) {
            return None;
        }
        let address = callee.operand(0)?;
        let is_gep = body.values.contains_key(&address)
            && address.kind() == LLVMValueKind::LLVMInstructionValueKind
            && address.opcode() == LLVMOpcode::LLVMGetElementPtr;
        let (table, slot) = if is_gep {
            let gep = self.gep(address)?;
            if !gep.is_constant() {
                return None;
            }
            (gep.base, u64::try_from(gep.offset()).ok()?)
        } else {
            (address, 0)
        };
        if table.kind() != LLVMValueKind::LLVMInstructionValueKind || !is_load(table) {
            return None;
        }
        let tagged = table.metadata(self.debug.tbaa_kind).map(|tag| self.debug.is_vtable_tag(tag));
        let is_table = tagged.unwrap_or_else(|| {
            self.debug.is_cpp && call.argument_count() > 0 && call.operand(0) == table.operand(0)
        });
        is_table.then(|| (self.value(table, body), slot))
    }

    /// Intrinsics with a meaning of their own in the model. `None`: an ordinary call to a function
    /// of that name, which the `models` crate knows.
    fn intrinsic(&mut self, call: Val, name: &str, body: &mut Body) -> Option<Op> {
        let is = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let copies = ["memcpy", "memcpy.inline", "memcpy.element.unordered.atomic"];
        let moves = ["memmove", "memmove.element.unordered.atomic"];
        let sets = ["memset", "memset.inline", "memset.pattern", "memset.element.unordered.atomic"];
        if moves.iter().any(|m| is(m)) || copies.iter().any(|m| is(m)) {
            return Some(Op::MemCopy {
                to: self.operand(call, 0, body)?,
                from: self.operand(call, 1, body)?,
                length: self.operand(call, 2, body)?,
                overlapping: moves.iter().any(|m| is(m)),
            });
        }
        if sets.iter().any(|m| is(m)) {
            return Some(Op::MemSet {
                to: self.operand(call, 0, body)?,
                byte: self.operand(call, 1, body)?,
                length: self.operand(call, 2, body)?,
            });
        }
        if NO_EFFECT.iter().any(|no_effect| is(no_effect)) {
            return Some(Op::Nop);
        }
        if is("threadlocal.address") {
            let base = self.operand(call, 0, body)?;
            return Some(Op::Address { base, offset: 0, indices: Box::default() });
        }
        if IDENTITY.iter().any(|identity| is(identity)) {
            return Some(Op::Cast { op: CastOp::BitCast, value: self.operand(call, 0, body)? });
        }
        None
    }
}

/// Intrinsics that do nothing a thread could see.
const NO_EFFECT: &[&str] = &[
    "assume",
    "dbg",
    "donothing",
    "experimental.noalias.scope.decl",
    "fake.use",
    "invariant.end",
    "lifetime",
    "prefetch",
    "pseudoprobe",
    "sideeffect",
    "var.annotation",
];

/// Intrinsics whose result is their first argument.
const IDENTITY: &[&str] = &[
    "annotation",
    "arithmetic.fence",
    "expect",
    "expect.with.probability",
    "launder.invariant.group",
    "preserve.static.offset",
    "ptr.annotation",
    "ssa.copy",
    "strip.invariant.group",
];
