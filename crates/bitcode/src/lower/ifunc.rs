//! Indirect functions: the dynamic linker calls a resolver once at start and binds the symbol to
//! the function it returns. The model becomes a function of that name that goes on to any of the
//! functions that the resolver may return.

use racewarden_ir as ir;
use racewarden_ir::{Callee, Op, Value};
use rustc_hash::FxHashSet;

use super::{ModuleLowering, linkage};
use crate::raw::{LLVMValueKind, Ty, Val};

impl ModuleLowering {
    pub(super) fn declare_ifunc(&mut self, ifunc: Val) {
        let targets = self.ifunc_targets(ifunc);
        let name = self.module.intern(&ifunc.name());
        let ty = ifunc.value_type();
        let result = ty.and_then(Ty::result).map_or(self.void, |ty| self.type_id(ty));
        let empty = self.module.intern("");
        let params: Vec<ir::Param> = ty
            .map(Ty::params)
            .unwrap_or_default()
            .into_iter()
            .map(|param| ir::Param { name: empty, ty: self.type_id(param), by_value: false })
            .collect();
        let mut function = ir::Function {
            name,
            display_name: name,
            linkage: linkage(ifunc.linkage()),
            result,
            params,
            variadic: ty.is_some_and(Ty::is_variadic),
            no_return: false,
            source: None,
            blocks: Vec::new(),
            instructions: Vec::new(),
            sources: Vec::new(),
            paths: Vec::new(),
            operand_paths: Vec::new(),
            inlined: Vec::new(),
        };
        if targets.is_empty() {
            let text = format!("ifunc {}: its resolver is not understood", ifunc.name());
            self.note(ir::NoteKind::Other, text);
        } else {
            self.dispatch(&mut function, &targets);
        }
        let id = ir::FunctionId::new(self.module.functions.len());
        self.module.functions.push(function);
        self.symbols.insert(ifunc, Value::Function(id));
    }

    /// `goto` any of the targets: call it with the same arguments and return what it returns.
    fn dispatch(&mut self, function: &mut ir::Function, targets: &[ir::FunctionId]) {
        let blocks: Vec<ir::BlockId> = (1..=targets.len()).map(ir::BlockId::new).collect();
        let jump =
            Op::IndirectJump { address: Value::Undef { ty: self.void }, targets: blocks.into() };
        let mut add = |op: Op, ty: ir::TypeId| {
            function.instructions.push(ir::Instruction { op, ty, source: None, path: None });
            ir::InstId::new(function.instructions.len() - 1)
        };
        add(jump, self.void);
        let has_result = function.result != self.void;
        for &target in targets {
            let arguments =
                (0..function.params.len()).map(|index| Value::Arg(ir::ArgId::new(index))).collect();
            let callee = Callee::Direct(target);
            let call = Op::Call { callee, arguments, invoke: None, no_return: false };
            let call = add(call, function.result);
            add(Op::Return { value: has_result.then_some(Value::Inst(call)) }, self.void);
        }
        let block = |start: usize, end: usize| ir::Block {
            start: ir::InstId::new(start),
            end: ir::InstId::new(end),
        };
        function.blocks.push(block(0, 1));
        function.blocks.extend((0..targets.len()).map(|index| block(1 + 2 * index, 3 + 2 * index)));
    }

    /// The functions that flow into the resolver's result.
    fn ifunc_targets(&mut self, ifunc: Val) -> Vec<ir::FunctionId> {
        let resolver = ifunc.resolver();
        let mut work: Vec<Val> = resolver
            .into_iter()
            .flat_map(Val::blocks)
            .filter_map(|block| block.instructions().last()?.operand(0))
            .collect();
        let mut seen = FxHashSet::default();
        let mut targets = Vec::new();
        while let Some(value) = work.pop() {
            if !seen.insert(value) {
                continue;
            }
            match value.kind() {
                LLVMValueKind::LLVMFunctionValueKind => {
                    if let Some(Value::Function(id)) = self.symbols.get(&value) {
                        targets.push(*id);
                    }
                }
                LLVMValueKind::LLVMInstructionValueKind => work.extend(value.operands()),
                _ => {}
            }
        }
        targets.sort_unstable();
        targets
    }
}
