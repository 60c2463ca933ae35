//! One function's body: numbering, then instruction by instruction.

use racewarden_ir as ir;
use rustc_hash::FxHashMap;

use super::ModuleLowering;
use super::paths::PathCache;
use crate::raw::{Bb, LLVMDbgRecordKind, LLVMOpcode, LLVMValueKind, Md, Val};

/// What is known while a body is being lowered.
#[derive(Default)]
pub(super) struct Body {
    /// Instructions and arguments by handle.
    pub values: FxHashMap<Val, ir::Value>,
    pub blocks: FxHashMap<Bb, ir::BlockId>,
    /// Values that hold a source variable (`#dbg_value`), first holder's name first.
    pub holds: FxHashMap<Val, Md>,
    /// Later holders of a value whose first one, a `void *`, cannot be what the code dereferences.
    pub typed: FxHashMap<Val, Md>,
    /// Stack slots that are a source variable (`#dbg_declare`).
    pub declared: FxHashMap<Val, Md>,
    pub paths: PathCache,
    sources: Vec<ir::SourceLoc>,
    inlined: Vec<ir::Inlined>,
    source_ids: FxHashMap<Md, Option<ir::SourceId>>,
    pub operand_paths: Vec<ir::OperandPath>,
    field_paths: Vec<ir::FieldPath>,
    field_path_ids: FxHashMap<ir::FieldPath, ir::FieldPathId>,
}

impl Body {
    pub fn block(&self, block: Bb) -> ir::BlockId {
        // Every block of the function was numbered before any instruction was lowered.
        self.blocks.get(&block).copied().unwrap_or(ir::BlockId(0))
    }

    pub fn path_id(&mut self, path: ir::FieldPath) -> ir::FieldPathId {
        if let Some(&id) = self.field_path_ids.get(&path) {
            return id;
        }
        let id = ir::FieldPathId::new(self.field_paths.len());
        self.field_paths.push(path.clone());
        self.field_path_ids.insert(path, id);
        id
    }
}

impl ModuleLowering {
    pub(super) fn lower_body(&mut self, id: ir::FunctionId, function: Val) {
        let mut body = Body::default();
        for (index, param) in function.params().enumerate() {
            body.values.insert(param, ir::Value::Arg(ir::ArgId::new(index)));
        }
        let blocks = self.number(function, &mut body);
        self.name_params(id, function, &body);

        let count = blocks.last().map_or(0, |block| block.end.index());
        let mut instructions = Vec::with_capacity(count);
        for block in function.blocks() {
            for value in block.instructions() {
                let id = ir::InstId::new(instructions.len());
                let instruction = self.instruction(value, id, &mut body);
                instructions.push(instruction);
            }
        }
        let lowered = &mut self.module.functions[id.index()];
        lowered.blocks = blocks;
        lowered.instructions = instructions;
        lowered.sources = body.sources;
        lowered.inlined = body.inlined;
        lowered.paths = body.field_paths;
        lowered.operand_paths = body.operand_paths;
    }

    /// Numbers blocks and instructions, and reads which values hold which source variable.
    fn number(&mut self, function: Val, body: &mut Body) -> Vec<ir::Block> {
        let mut blocks = Vec::new();
        let mut next = 0;
        for block in function.blocks() {
            body.blocks.insert(block, ir::BlockId::new(blocks.len()));
            let start = ir::InstId::new(next);
            for value in block.instructions() {
                body.values.insert(value, ir::Value::Inst(ir::InstId::new(next)));
                next += 1;
                self.read_records(value, body);
            }
            blocks.push(ir::Block { start, end: ir::InstId::new(next) });
        }
        blocks
    }

    fn read_records(&mut self, instruction: Val, body: &mut Body) {
        let mut record = instruction.first_record();
        while let Some(current) = record {
            record = current.next();
            let kind = current.kind();
            if kind == LLVMDbgRecordKind::LLVMDbgRecordLabel
                || current.expression() != self.debug.empty_expression
            {
                continue;
            }
            let (Some(value), Some(variable)) = (current.value(), current.variable()) else {
                continue;
            };
            match value.kind() {
                LLVMValueKind::LLVMInstructionValueKind | LLVMValueKind::LLVMArgumentValueKind => {}
                _ => continue,
            }
            if kind == LLVMDbgRecordKind::LLVMDbgRecordDeclare {
                body.declared.entry(value).or_insert(variable);
            } else {
                let first = *body.holds.entry(value).or_insert(variable);
                if first != variable && self.is_untyped(first) && !self.is_untyped(variable) {
                    body.typed.entry(value).or_insert(variable);
                }
            }
        }
    }

    /// Whether the variable is a pointer to nothing in particular.
    fn is_untyped(&mut self, variable: Md) -> bool {
        let ty = self.debug.variable(variable).ty;
        ty.and_then(|ty| self.debug.pointee(ty)).is_some_and(|(pointee, _)| pointee.is_none())
    }

    /// Parameters lose their names in release builds of the front end; the debug information
    /// still has them, by the value itself or by the stack slot it is stored in at once.
    fn name_params(&mut self, id: ir::FunctionId, function: Val, body: &Body) {
        let mut slots: FxHashMap<Val, Md> = FxHashMap::default();
        let entry = function.blocks().next().into_iter().flat_map(Bb::instructions);
        for store in entry.filter(|v| v.opcode() == LLVMOpcode::LLVMStore) {
            let (Some(value), Some(slot)) = (store.operand(0), store.operand(1)) else { continue };
            if let Some(&variable) = body.declared.get(&slot) {
                slots.entry(value).or_insert(variable);
            }
        }
        for (index, param) in function.params().enumerate() {
            let variable = body
                .holds
                .get(&param)
                .or_else(|| body.declared.get(&param))
                .or_else(|| slots.get(&param));
            if let Some(&variable) = variable {
                let name = self.debug.variable(variable).name;
                let name = self.module.intern(&name);
                self.module.functions[id.index()].params[index].name = name;
            }
        }
    }

    pub(super) fn source(&mut self, instruction: Val, body: &mut Body) -> Option<ir::SourceId> {
        let mut location = instruction.debug_location()?;
        // Code that no line asked for stands where its function was called.
        while location.location_line() == 0
            && let Some(call) = location.location_inlined_at()
        {
            location = call;
        }
        if let Some(&id) = body.source_ids.get(&location) {
            return id;
        }
        let id = self.debug.location(location, &mut self.module).map(|source| {
            body.sources.push(source);
            ir::SourceId::new(body.sources.len() - 1)
        });
        if let Some(source) = id {
            let frames = self.debug.inlined_frames(location, &mut self.module);
            if !frames.is_empty() {
                body.inlined.push(ir::Inlined { source, frames });
            }
        }
        body.source_ids.insert(location, id);
        id
    }
}
