//! Checks that a module is well formed. What every consumer may rely on:
//!
//! 1. Every id (name, type, function, global, block, instruction, argument, source, path) is in
//!    its table.
//! 2. A type is made of types with smaller ids.
//! 3. A global's initial bytes are either absent or as many as its size; pointers lie inside it.
//! 4. A function's blocks partition its instructions in order, and none is empty.
//! 5. A block's last instruction is a terminator, and no other one is.
//! 6. No branch leads to the entry block.
//! 7. Phis stand at the start of their block and name exactly the block's predecessors.
//! 8. An operand that is an instruction has a result; in one block it stands before its use,
//!    unless the use is a phi.
//! 9. Only operations that touch memory have a path; operand paths are sorted.
//! 10. A load does not release, a store does not acquire, a failed compare-exchange does not
//!     release.
//! 11. A program knows the unit of each of its functions.

use crate::{
    AtomicOrder, BlockId, Callee, Function, FunctionId, InstId, Module, Op, Program, Type, TypeId,
    Value,
};

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct VerifyError {
    /// The function (and instruction) or table where it is broken.
    pub place: String,
    pub message: String,
}

/// Checks a module; gives every broken invariant found.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier { module, errors: Vec::new() };
    verifier.types();
    verifier.globals();
    verifier.starts();
    for id in module.function_ids() {
        verifier.function(id, module.function(id));
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

/// Checks a linked program.
pub fn verify_program(program: &Program) -> Result<(), Vec<VerifyError>> {
    verify(&program.module)?;
    let known = program.function_units.iter().all(|&unit| (unit as usize) < program.units.len());
    if !known || program.function_units.len() != program.module.functions.len() {
        let message = "not every function has a unit".to_owned();
        return Err(vec![VerifyError { place: "program".to_owned(), message }]);
    }
    Ok(())
}

struct Verifier<'m> {
    module: &'m Module,
    errors: Vec<VerifyError>,
}

impl Verifier<'_> {
    fn check(&mut self, holds: bool, place: impl FnOnce() -> String, message: &str) {
        if !holds {
            self.errors.push(VerifyError { place: place(), message: message.to_owned() });
        }
    }

    fn has_type(&self, ty: TypeId) -> bool {
        ty.index() < self.module.types.len()
    }

    fn types(&mut self) {
        for (id, ty) in self.module.types.iter() {
            let holds = match ty {
                Type::Vector { element, .. } | Type::Array { element, .. } => *element < id,
                Type::Struct { fields, .. } => fields.iter().all(|(_, field)| *field < id),
                Type::Function { result, params, .. } => {
                    *result < id && params.iter().all(|param| *param < id)
                }
                _ => true,
            };
            self.check(holds, || id.to_string(), "is made of types with larger ids");
        }
    }

    fn globals(&mut self) {
        let module = self.module;
        let names = module.names.len();
        for id in module.global_ids() {
            let global = module.global(id);
            let has_names = global.name.index() < names && global.display_name.index() < names;
            self.check(has_names, || id.to_string(), "has no name");
            self.check(self.has_type(global.ty), || id.to_string(), "has no type");
            let Some(initializer) = &global.initializer else { continue };
            let whole =
                initializer.bytes.is_empty() || initializer.bytes.len() as u64 == global.size;
            self.check(whole, || id.to_string(), "has more or fewer bytes than its size");
            for (at, value) in &initializer.pointers {
                self.check(*at < global.size, || id.to_string(), "has a pointer past its end");
                self.constant(value, &|| id.to_string());
            }
        }
        for alias in &module.aliases {
            let place = || "alias".to_owned();
            self.check(alias.name.index() < names, place, "has no name");
            self.constant(&alias.target, &place);
        }
    }

    fn constant(&mut self, value: &Value, place: &dyn Fn() -> String) {
        self.value(value, None, place);
        let mut is_constant = true;
        value.visit(&mut |part| {
            is_constant &= !matches!(part, Value::Inst(_) | Value::Arg(_));
        });
        self.check(is_constant, place, "is not a constant");
    }

    fn starts(&mut self) {
        let module = self.module;
        for id in module.constructors.iter().chain(&module.destructors) {
            let holds = id.index() < module.functions.len();
            self.check(holds, || id.to_string(), "runs at start or end but does not exist");
        }
    }

    fn function(&mut self, id: FunctionId, function: &Function) {
        let place = || id.to_string();
        let names = self.module.names.len();
        let named = [function.name, function.display_name];
        let param_names = function.params.iter().map(|param| param.name);
        let has_names = named.into_iter().chain(param_names).all(|name| name.index() < names);
        self.check(has_names, place, "has no name");
        let types = function.params.iter().map(|param| param.ty).chain([function.result]);
        let has_types = types.into_iter().all(|ty| self.has_type(ty));
        self.check(has_types, place, "has no type");
        let sources = function.sources.iter().chain(&function.source);
        let has_files = sources.into_iter().all(|source| source.file.index() < names);
        self.check(has_files, place, "has a source without a file");
        let has_paths = function.paths.iter().all(|path| {
            [path.text, path.field, path.inner].iter().all(|name| name.index() < names)
        });
        self.check(has_paths, place, "has a path without a name");
        let operands = &function.operand_paths;
        let has_operand_paths = operands.iter().all(|o| {
            o.inst.index() < function.instructions.len() && o.path.index() < function.paths.len()
        });
        let is_sorted = operands.is_sorted_by_key(|o| (o.inst, o.operand));
        self.check(has_operand_paths && is_sorted, place, "has operand paths of nothing");
        let inlined = &function.inlined;
        let has_inlined = inlined.iter().all(|own| {
            let named =
                |f: &crate::InlinedFrame| f.function.index() < names && f.call.file.index() < names;
            own.source.index() < function.sources.len()
                && !own.frames.is_empty()
                && own.frames.iter().all(named)
        });
        let is_sorted = inlined.is_sorted_by_key(|own| own.source);
        self.check(has_inlined && is_sorted, place, "has code from nowhere");
        if !self.layout(id, function) {
            return;
        }
        let predecessors = predecessors(function);
        for block in function.block_ids() {
            self.block(id, function, block, &predecessors[block.index()]);
        }
    }

    /// Invariants 4 to 6; the rest of the checks rely on them.
    fn layout(&mut self, id: FunctionId, function: &Function) -> bool {
        let before = self.errors.len();
        let place = || id.to_string();
        let mut next = 0;
        for block in &function.blocks {
            self.check(block.start.0 == next, place, "has a gap between blocks");
            self.check(block.end > block.start, place, "has an empty block");
            next = block.end.0;
        }
        let covers = next as usize == function.instructions.len();
        self.check(covers, place, "has instructions outside of blocks");
        if self.errors.len() > before {
            return false;
        }
        for block in function.block_ids() {
            let last = InstId(function.block(block).end.0 - 1);
            for (inst, instruction) in function.block_instructions(block) {
                let ends = instruction.op.is_terminator();
                let place = || format!("{id} {inst}");
                self.check(ends == (inst == last), place, "ends its block in the wrong place");
                for target in instruction.op.successors() {
                    let holds = target.index() < function.blocks.len();
                    self.check(holds, place, "leads to no block");
                    self.check(target != BlockId(0), place, "leads to the entry block");
                }
            }
        }
        self.errors.len() == before
    }

    fn block(&mut self, id: FunctionId, fun: &Function, block: BlockId, preds: &[BlockId]) {
        let mut in_phis = true;
        for (inst, instruction) in fun.block_instructions(block) {
            let place = || format!("{id} {inst}");
            self.check(self.has_type(instruction.ty), place, "has no type");
            let has_source = instruction.source.is_none_or(|s| s.index() < fun.sources.len());
            self.check(has_source, place, "has no such source");
            let has_path = instruction.path.is_none_or(|p| p.index() < fun.paths.len());
            self.check(has_path, place, "has no such path");
            let may_have_path = instruction.path.is_none() || touches_memory(&instruction.op);
            self.check(may_have_path, place, "has a path but touches no memory");
            self.check(has_sound_order(&instruction.op), place, "has an order it cannot have");
            if let Op::Phi { incoming } = &instruction.op {
                self.check(in_phis, place, "is a phi after other instructions");
                let mut blocks: Vec<BlockId> = incoming.iter().map(|edge| edge.block).collect();
                blocks.sort_unstable();
                blocks.dedup();
                self.check(blocks == preds, place, "does not name the block's predecessors");
            } else {
                // Nops may stand among phis: they are debug intrinsics that became nothing.
                in_phis &= matches!(instruction.op, Op::Nop);
            }
            self.operands(id, fun, block, inst);
        }
    }

    fn operands(&mut self, id: FunctionId, function: &Function, block: BlockId, inst: InstId) {
        let op = &function.inst(inst).op;
        let place = || format!("{id} {inst}");
        if let Op::Call { callee: Callee::Direct(callee), .. } = op {
            let holds = callee.index() < self.module.functions.len();
            self.check(holds, place, "calls no function");
        }
        let is_phi = matches!(op, Op::Phi { .. });
        let start = function.block(block).start;
        for operand in op.operands() {
            self.value(operand, Some(function), &place);
            if let Value::Inst(used) = operand
                && used.index() < function.instructions.len()
            {
                let ty = function.inst(*used).ty;
                let has_result = self.has_type(ty) && *self.module.types.get(ty) != Type::Void;
                self.check(has_result, place, "uses an instruction without a result");
                let is_later =
                    *used >= inst && *used >= start && used.0 < function.block(block).end.0;
                self.check(is_phi || !is_later, place, "uses a result before it is there");
            }
        }
    }

    fn value(&mut self, value: &Value, function: Option<&Function>, place: &dyn Fn() -> String) {
        let mut holds = true;
        value.visit(&mut |part| {
            holds &= match part {
                Value::Inst(id) => function.is_some_and(|f| id.index() < f.instructions.len()),
                Value::Arg(id) => function.is_some_and(|f| id.index() < f.params.len()),
                Value::Global(id) => id.index() < self.module.globals.len(),
                Value::Function(id) => id.index() < self.module.functions.len(),
                Value::Int { ty, .. }
                | Value::WideInt { ty, .. }
                | Value::Float { ty, .. }
                | Value::Undef { ty }
                | Value::Zero { ty }
                | Value::Aggregate { ty, .. }
                | Value::Unknown { ty } => ty.index() < self.module.types.len(),
                Value::Null | Value::Offset { .. } => true,
            };
        });
        self.check(holds, place, "uses a value that does not exist");
    }
}

fn predecessors(function: &Function) -> Vec<Vec<BlockId>> {
    let mut predecessors = vec![Vec::new(); function.blocks.len()];
    for block in function.block_ids() {
        let last = InstId(function.block(block).end.0 - 1);
        for target in function.inst(last).op.successors() {
            predecessors[target.index()].push(block);
        }
    }
    for list in &mut predecessors {
        list.sort_unstable();
        list.dedup();
    }
    predecessors
}

fn touches_memory(op: &Op) -> bool {
    matches!(
        op,
        Op::Load { .. }
            | Op::Store { .. }
            | Op::AtomicRmw { .. }
            | Op::CompareExchange { .. }
            | Op::MemCopy { .. }
            | Op::MemSet { .. }
    )
}

fn has_sound_order(op: &Op) -> bool {
    use AtomicOrder::{AcqRel, Acquire, Release};
    match op {
        Op::Load { order: Some(order), .. } => !matches!(order, Release | AcqRel),
        Op::Store { order: Some(order), .. } => !matches!(order, Acquire | AcqRel),
        Op::CompareExchange { failure, .. } => !matches!(failure, Release | AcqRel),
        _ => true,
    }
}
