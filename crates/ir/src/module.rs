//! Modules, functions, globals, and the linked program.

use serde::{Deserialize, Serialize};

use crate::{
    ArgId, BlockId, FieldPath, FieldPathId, FunctionId, GlobalId, Inlined, InlinedFrame, InstId,
    Instruction, NameId, SourceId, SourceLoc, TypeId, TypeTable, Value,
};

/// How a symbol takes part in linking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// Seen by other units; one definition.
    External,
    /// Seen by other units; any of several equal definitions (inline functions, templates, weak).
    Weak,
    /// Common and tentative definitions.
    Common,
    /// `static`.
    Internal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    pub name: NameId,
    /// The source name where it differs from the symbol (`Counter::total`).
    pub display_name: NameId,
    pub ty: TypeId,
    pub size: u64,
    pub linkage: Linkage,
    pub constant: bool,
    pub thread_local: bool,
    /// `None` for a declaration.
    pub initializer: Option<Initializer>,
    pub source: Option<SourceLoc>,
}

/// What a global holds at start: only the parts that are addresses, each with its byte offset
/// (tables of function pointers, virtual tables), and small integers where an analysis needs them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Initializer {
    pub pointers: Vec<(u64, Value)>,
    /// The initial bytes when the global is small (up to a kilobyte), pointers as zero.
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    pub name: NameId,
    pub ty: TypeId,
    /// A by-value aggregate passed as a pointer to a private copy.
    pub by_value: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Instructions `start..end` of the function, the last a terminator.
    pub start: InstId,
    pub end: InstId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The symbol.
    pub name: NameId,
    /// The name as the programmer wrote it (`Pool::submit`).
    pub display_name: NameId,
    pub linkage: Linkage,
    pub result: TypeId,
    pub params: Vec<Param>,
    pub variadic: bool,
    pub no_return: bool,
    pub source: Option<SourceLoc>,
    /// Empty for a declaration.
    pub blocks: Vec<Block>,
    pub instructions: Vec<Instruction>,
    pub sources: Vec<SourceLoc>,
    pub paths: Vec<FieldPath>,
    /// What pointer operands point at, in source terms, in order of instructions: for a copy its
    /// source (operand 1), for a call of a function without a body each pointer argument.
    pub operand_paths: Vec<OperandPath>,
    /// The sources of code that was put here from another function, in order; not part of the text
    /// form.
    pub inlined: Vec<Inlined>,
}

/// The object that an operand points at: `conn->lock` in `pthread_mutex_lock(&conn->lock)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperandPath {
    pub inst: InstId,
    /// The argument's number; for a copy 1, its source.
    pub operand: u32,
    pub path: FieldPathId,
}

impl Function {
    pub fn is_declaration(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn inst(&self, id: InstId) -> &Instruction {
        &self.instructions[id.index()]
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.blocks.len()).map(BlockId::new)
    }

    pub fn param_ids(&self) -> impl Iterator<Item = ArgId> + use<> {
        (0..self.params.len()).map(ArgId::new)
    }

    pub fn block_instructions(
        &self,
        id: BlockId,
    ) -> impl DoubleEndedIterator<Item = (InstId, &Instruction)> {
        let block = &self.blocks[id.index()];
        (block.start.0..block.end.0).map(InstId).map(|inst| (inst, self.inst(inst)))
    }

    pub fn source_of(&self, id: InstId) -> Option<SourceLoc> {
        self.inst(id).source.map(|SourceId(index)| self.sources[index as usize])
    }

    /// The functions that the instruction was written in, innermost first, where it was put here
    /// from another one.
    pub fn inlined_at(&self, id: InstId) -> &[InlinedFrame] {
        let Some(source) = self.instructions.get(id.index()).and_then(|i| i.source) else {
            return &[];
        };
        let found = self.inlined.binary_search_by_key(&source, |inlined| inlined.source);
        found.map_or(&[], |index| &self.inlined[index].frames)
    }

    pub fn path_of(&self, id: InstId) -> Option<&FieldPath> {
        self.inst(id).path.map(|FieldPathId(index)| &self.paths[index as usize])
    }

    /// What a pointer operand points at, where it is known (see [`Function::operand_paths`]).
    pub fn operand_path(&self, inst: InstId, operand: u32) -> Option<&FieldPath> {
        let key = (inst, operand);
        let found = self.operand_paths.binary_search_by_key(&key, |p| (p.inst, p.operand)).ok()?;
        self.paths.get(self.operand_paths[found].path.index())
    }
}

/// A second symbol for a definition (`__attribute__((alias))`, C++ constructor variants).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    pub name: NameId,
    pub linkage: Linkage,
    /// [`Value::Function`], [`Value::Global`] or an offset into one.
    pub target: Value,
}

/// What kept the model from being complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoteKind {
    InlineAssembly,
    UnknownInstruction,
    UnknownConstant,
    NoDebugInfo,
    ConflictingDeclarations,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
}

/// One translation unit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Module {
    pub name: String,
    pub names: indexmap::IndexSet<Box<str>, rustc_hash::FxBuildHasher>,
    pub types: TypeTable,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    /// Other names of definitions of this module; uses inside it are already resolved.
    pub aliases: Vec<Alias>,
    /// `llvm.global_ctors`, in order of priority.
    pub constructors: Vec<FunctionId>,
    pub destructors: Vec<FunctionId>,
    pub notes: Vec<Note>,
}

impl Module {
    pub fn intern(&mut self, text: &str) -> NameId {
        if let Some(index) = self.names.get_index_of(text) {
            return NameId::new(index);
        }
        NameId::new(self.names.insert_full(text.into()).0)
    }

    pub fn name_text(&self, id: NameId) -> &str {
        &self.names[id.index()]
    }

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    pub fn function_ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len()).map(FunctionId::new)
    }

    pub fn global_ids(&self) -> impl Iterator<Item = GlobalId> + use<> {
        (0..self.globals.len()).map(GlobalId::new)
    }

    pub fn function_by_symbol(&self, symbol: &str) -> Option<FunctionId> {
        let name = NameId::new(self.names.get_index_of(symbol)?);
        self.functions.iter().position(|f| f.name == name).map(FunctionId::new)
    }
}

/// A whole program: what [`crate::link`] makes of its modules. One flat module, every symbol
/// resolved, so that analyses see ids only.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub module: Module,
    /// The unit each function came from, for messages.
    pub units: Vec<String>,
    pub function_units: Vec<u32>,
    /// The unit each global came from.
    pub global_units: Vec<u32>,
}
