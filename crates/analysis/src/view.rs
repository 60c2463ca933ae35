//! What of a unit the engine can tell.
//!
//! Two versions of a unit with the same view lead to the same [`Draft`](crate::Draft), but for the
//! numbers of instructions: whoever keeps a draft need not check a program again whose units all
//! have the views that they had. The view has everything that any stage reads, except
//!
//! - where things stand in the source: a draft leaves places open;
//! - computations of small numbers that nothing but a plain store of less than eight bytes takes,
//!   unless it is a constant added to what the same place held.
//!   No address is made of them, no branch, call or return depends on them, and stores of that size
//!   publish nothing and hold no thread's handle. What is stored is then only known not to be a
//!   constant, which is all that the stages ask of it.
//!
//! So instructions have other numbers in the view than in the function, but the same order; no
//! stage reads more from their numbers than their order. Names are part of the view, because drafts
//! hold them.
//!
//! A view's *skeleton* leaves out more: operators and numbers in computations, comparisons and choices
//! (what is switched by, chosen by way of control or returned), numbers that are stored plainly, and
//! numbers that are passed to functions which no model speaks for, but not which values are taken. A check
//! that has not looked at these details of a function, and whose points-to sets and summaries are as
//! before, has the same result (see [`crate::again`]).
//!
//! May miss: nothing; a version that differs in more than this has another view, and is checked.

use std::hash::{Hash, Hasher};

use racewarden_ir::{
    BinaryOp, Callee, CompareOp, Function, FunctionId, Global, InstId, Module, NameId, Op,
    SourceLoc, Type, TypeId, Value,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::draft::Place;

/// A unit's view, and what is left out of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    pub digest: Digest,
    /// The digest of everything but details: operators and numbers in computations, comparisons and
    /// choices, and numbers passed. Instructions have their own numbers in it.
    pub skeleton: Digest,
    /// The digest of everything but what functions do.
    pub frame: Digest,
    pub places: Places,
}

pub type Digest = [u8; 32];

/// Where a unit's instructions stand in the source.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Places {
    unit: String,
    files: Vec<String>,
    functions: Vec<FunctionPlaces>,
}

/// A file's number, line and column.
type Position = (u32, u32, u32);

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct FunctionPlaces {
    symbol: String,
    own: Option<Position>,
    /// By the instruction's number in the view.
    instructions: Vec<Option<Position>>,
    /// Where the functions were called that an instruction was written in, innermost first, by
    /// its number, for those that were put here from other functions.
    inlined: Vec<(u32, Vec<Position>)>,
    details: Digest,
    body: Digest,
    sums: Digest,
}

impl Places {
    /// The digest of what the skeleton leaves out of the function.
    pub fn details(&self, symbol: &str) -> Option<Digest> {
        let found = self.functions.binary_search_by(|f| f.symbol.as_str().cmp(symbol)).ok()?;
        Some(self.functions[found].details)
    }

    /// The digest of all that the function does.
    pub fn body(&self, symbol: &str) -> Option<Digest> {
        let found = self.functions.binary_search_by(|f| f.symbol.as_str().cmp(symbol)).ok()?;
        Some(self.functions[found].body)
    }

    /// The digest of what the function computes: all that pointers depend on of what the skeleton leaves
    /// out.
    pub fn sums(&self, symbol: &str) -> Option<Digest> {
        let found = self.functions.binary_search_by(|f| f.symbol.as_str().cmp(symbol)).ok()?;
        Some(self.functions[found].sums)
    }

    /// Where the instruction with this number in the view stands, or so many calls further out; the
    /// function's own place when it has none.
    pub fn of(&self, symbol: &str, number: u32, level: u32) -> Option<Place> {
        let found = self.functions.binary_search_by(|f| f.symbol.as_str().cmp(symbol)).ok()?;
        let function = &self.functions[found];
        let own = match level.checked_sub(1) {
            None => function.instructions.get(number as usize).copied().flatten(),
            Some(outer) => {
                let at = function.inlined.binary_search_by_key(&number, |(own, _)| *own).ok()?;
                Some(*function.inlined[at].1.get(outer as usize)?)
            }
        };
        Some(match own.or(function.own) {
            Some((file, line, column)) => {
                Place { file: self.files.get(file as usize)?.clone(), line, column }
            }
            None => Place { file: self.unit.clone(), line: 0, column: 0 },
        })
    }
}

/// Collects what is hashed.
#[derive(Default)]
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    pub fn digest(&self) -> Digest {
        Sha256::digest(&self.0).into()
    }
}

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// The unit's view; `None` when its functions cannot be told apart by name. `modelled` says which
/// functions a model speaks for: what they are passed is no detail.
pub fn view(module: &Module, modelled: &(dyn Fn(&str) -> bool + Sync)) -> Option<View> {
    let plain = plain_functions(module, modelled);
    let mut symbols: Vec<&str> = module
        .functions
        .iter()
        .filter(|function| !function.is_declaration())
        .map(|function| module.name_text(function.name))
        .collect();
    symbols.sort_unstable();
    if symbols.first() == Some(&"") || symbols.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let mut places = Places { unit: module.name.clone(), ..Places::default() };
    let mut files = indexmap::IndexSet::<NameId, rustc_hash::FxBuildHasher>::default();
    for function in &module.functions {
        if !function.is_declaration() {
            let numbers = numbers(function, module);
            let mut position =
                |at: SourceLoc| (files.insert_full(at.file).0 as u32, at.line, at.column);
            let own = function.source.map(&mut position);
            let instructions = (0..function.instructions.len())
                .filter(|&inst| numbers[inst] != DROPPED)
                .map(|inst| function.source_of(InstId::new(inst)).map(&mut position))
                .collect();
            let inlined = (0..function.instructions.len())
                .filter(|&inst| numbers[inst] != DROPPED)
                .map(|inst| (numbers[inst], function.inlined_at(InstId::new(inst))))
                .filter(|(_, frames)| !frames.is_empty())
                .map(|(number, frames)| {
                    (number, frames.iter().map(|frame| position(frame.call)).collect())
                })
                .collect();
            let symbol = module.name_text(function.name).to_owned();
            let details = details(function, &|id| plain[id.index()]);
            let body = Viewer::new(module, None).body(function);
            let sums = sums(function);
            let own = FunctionPlaces { symbol, own, instructions, inlined, details, body, sums };
            places.functions.push(own);
        }
    }
    places.functions.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    places.files = files.iter().map(|file| module.name_text(*file).to_owned()).collect();
    let (digest, skeleton) = rayon::join(
        || Viewer::new(module, None).digest(&|function| numbers(function, module)),
        || Viewer::new(module, Some(&plain)).digest(&own_numbers),
    );
    let frame = Viewer::new(module, None).outline();
    Some(View { digest, skeleton, frame, places })
}

/// The numbers that the function itself has.
fn own_numbers(function: &Function) -> Vec<u32> {
    (0..function.instructions.len() as u32).collect()
}

/// Which functions no model speaks for, by number.
fn plain_functions(module: &Module, modelled: &dyn Fn(&str) -> bool) -> Vec<bool> {
    let plain = |function: &Function| !modelled(module.name_text(function.name));
    module.functions.iter().map(plain).collect()
}

/// The digest of what [`without_details`] takes away.
fn details(function: &Function, plain: &dyn Fn(FunctionId) -> bool) -> Digest {
    let mut bytes = Bytes::default();
    for instruction in function.instructions.iter().filter(|own| has_details(&own.op, plain)) {
        instruction.op.hash(&mut bytes);
    }
    bytes.digest()
}

/// The digest of operators and operands in computations.
fn sums(function: &Function) -> Digest {
    let mut bytes = Bytes::default();
    for instruction in &function.instructions {
        if let Op::Binary { .. } = &instruction.op {
            instruction.op.hash(&mut bytes);
        }
    }
    bytes.digest()
}

/// Whether the instruction has details: it computes or compares, or it chooses, plainly stores or passes
/// a number. `plain` says which functions no model speaks for.
pub fn has_details(op: &Op, plain: &dyn Fn(FunctionId) -> bool) -> bool {
    use Op::{Binary, Call, Compare, Phi, Return, Select, Store, Switch};
    let has_number = || op.operands().into_iter().any(is_constant_number);
    match op {
        Binary { .. } | Compare { .. } => true,
        Store { value, order: None, .. } => is_constant_number(value),
        Call { callee: Callee::Direct(target), .. } => has_number() && plain(*target),
        Phi { .. } | Return { .. } | Select { .. } | Switch { .. } => has_number(),
        _ => false,
    }
}

fn is_constant_number(value: &Value) -> bool {
    matches!(value, Value::Int { .. } | Value::Float { .. })
}

/// Which values the instruction takes, whatever it makes of them and of constants. Which operands are
/// constants stays.
pub fn without_details(op: &mut Op, plain: &dyn Fn(FunctionId) -> bool) {
    if !has_details(op, plain) {
        return;
    }
    let hide = |operand: &mut Value| {
        if let Value::Int { bits, .. } | Value::Float { bits, .. } = operand {
            *bits = 0;
        }
    };
    match op {
        // Where it is stored is no detail.
        Op::Store { value, .. } => return hide(value),
        Op::Binary { op, .. } => *op = BinaryOp::Add,
        Op::Compare { op, .. } => *op = CompareOp::Eq,
        _ => {}
    }
    op.operands_mut().into_iter().for_each(hide);
}

/// Whether a value of the type cannot be an address, nor hold one.
pub fn is_number(ty: &Type) -> bool {
    match ty {
        Type::Int { bits } => *bits < 64,
        Type::Float { .. } => true,
        _ => false,
    }
}

/// Not in the view.
pub const DROPPED: u32 = u32::MAX;

/// The number of each instruction in the view.
pub fn numbers(function: &Function, module: &Module) -> Vec<u32> {
    let count = function.instructions.len();
    let small = |ty: TypeId| is_number(module.types.get(ty));
    let is_small = |value: &Value| match value {
        Value::Inst(inst) => small(function.inst(*inst).ty),
        Value::Arg(argument) => function.params.get(argument.index()).is_some_and(|p| small(p.ty)),
        Value::Int { ty, .. } | Value::Float { ty, .. } | Value::Undef { ty } => small(*ty),
        _ => false,
    };
    let can_go = |inst: usize| {
        let instruction = &function.instructions[inst];
        match &instruction.op {
            Op::Nop => true,
            Op::Binary { .. }
            | Op::FNeg { .. }
            | Op::Compare { .. }
            | Op::Cast { .. }
            | Op::Select { .. } => {
                small(instruction.ty) && instruction.op.operands().into_iter().all(is_small)
            }
            _ => false,
        }
    };
    let mut kept: Vec<bool> = (0..count).map(|inst| !can_go(inst)).collect();
    let mut open: Vec<usize> = (0..count).filter(|&inst| kept[inst]).collect();
    while let Some(inst) = open.pop() {
        let op = &function.instructions[inst].op;
        let plain = matches!(op, Op::Store { size, order: None, .. } if *size < 8);
        for (position, operand) in op.operands().into_iter().enumerate() {
            if plain && position == 1 && !is_step(function, op) {
                continue;
            }
            operand.visit(&mut |value| {
                if let Value::Inst(used) = value
                    && !std::mem::replace(&mut kept[used.index()], true)
                {
                    open.push(used.index());
                }
            });
        }
    }
    let mut next = 0;
    kept.into_iter()
        .map(|kept| {
            if !kept {
                return DROPPED;
            }
            next += 1;
            next - 1
        })
        .collect()
}

/// Whether a store adds a constant to what is there: counts are told by how much.
fn is_step(function: &Function, store: &Op) -> bool {
    let Op::Store { address, value: Value::Inst(sum), .. } = store else { return false };
    let Op::Binary { left: Value::Inst(load), right: Value::Int { .. }, .. } =
        &function.inst(*sum).op
    else {
        return false;
    };
    matches!(&function.inst(*load).op, Op::Load { address: from, .. } if from == address)
}

struct Viewer<'a> {
    module: &'a Module,
    /// When details are left out, the functions that no model speaks for.
    bare: Option<&'a [bool]>,
    bytes: Bytes,
    hash: Sha256,
}

impl<'a> Viewer<'a> {
    fn new(module: &'a Module, bare: Option<&'a [bool]>) -> Self {
        Viewer { module, bare, bytes: Bytes::default(), hash: Sha256::new() }
    }

    fn digest(mut self, numbers: &dyn Fn(&Function) -> Vec<u32>) -> Digest {
        self.frame();
        let module = self.module;
        for function in &module.functions {
            self.function(function, &numbers(function));
        }
        self.flush();
        self.hash.finalize().into()
    }

    fn body(mut self, function: &Function) -> Digest {
        self.function(function, &own_numbers(function));
        self.hash.finalize().into()
    }

    /// The digest of everything but what functions do.
    fn outline(mut self) -> Digest {
        self.frame();
        for function in &self.module.functions {
            self.signature(function);
            self.add(function.is_declaration());
        }
        self.flush();
        self.hash.finalize().into()
    }

    fn flush(&mut self) {
        self.hash.update(&self.bytes.0);
        self.bytes.0.clear();
    }

    fn add(&mut self, part: impl Hash) {
        part.hash(&mut self.bytes);
    }

    /// Numbers of names depend on what else is named.
    fn name(&mut self, name: NameId) {
        self.add(self.module.name_text(name));
    }

    /// Everything but the functions.
    fn frame(&mut self) {
        // Taken apart so that a part added to the module is not forgotten here.
        let Module {
            name,
            names: _,
            types,
            globals,
            functions,
            aliases,
            constructors,
            destructors,
            notes,
        } = self.module;
        self.add(name);
        self.add(types.len());
        for (_, ty) in types.iter() {
            self.add(ty);
        }
        self.add((globals.len(), functions.len(), aliases.len()));
        for global in globals {
            self.global(global);
        }
        for alias in aliases {
            self.name(alias.name);
            self.add((alias.linkage, &alias.target));
        }
        self.add((constructors, destructors, notes));
        self.flush();
    }

    fn global(&mut self, global: &Global) {
        let Global {
            name,
            display_name,
            ty,
            size,
            linkage,
            constant,
            thread_local,
            initializer,
            source: _,
        } = global;
        self.name(*name);
        self.name(*display_name);
        self.add((ty, size, linkage, constant, thread_local));
        self.add(initializer.as_ref().map(|data| (&data.pointers, &data.bytes)));
    }

    fn function(&mut self, function: &Function, numbers: &[u32]) {
        let Function {
            name: _,
            display_name: _,
            linkage: _,
            result: _,
            params: _,
            variadic: _,
            no_return: _,
            source: _,
            blocks,
            instructions,
            sources: _,
            paths: _,
            operand_paths,
            inlined: _,
        } = function;
        self.signature(function);
        // Some stages leave very long functions alone.
        self.add(instructions.len() > crate::order::MAX_INSTRUCTIONS);
        self.add(blocks.len());
        for block in blocks {
            let inside = block.start.index()..block.end.index();
            self.add(inside.clone().filter(|&inst| numbers[inst] != DROPPED).count());
            for inst in inside.filter(|&inst| numbers[inst] != DROPPED) {
                let instruction = &instructions[inst];
                self.op(&instruction.op, numbers);
                self.add(instruction.ty);
                let path = function.path_of(InstId::new(inst));
                self.path(path);
                let frames = function.inlined_at(InstId::new(inst));
                self.add(frames.len());
                for frame in frames {
                    self.name(frame.function);
                }
            }
        }
        for operand in operand_paths {
            let number = numbers.get(operand.inst.index()).copied().unwrap_or(DROPPED);
            self.add((number, operand.operand));
            self.path(function.paths.get(operand.path.index()));
        }
        self.flush();
    }

    /// All but the body.
    fn signature(&mut self, function: &Function) {
        let Function { name, display_name, linkage, result, params, variadic, no_return, .. } =
            function;
        self.name(*name);
        self.name(*display_name);
        self.add((linkage, result, variadic, no_return, params.len()));
        for param in params {
            self.name(param.name);
            self.add((param.ty, param.by_value));
        }
    }

    fn path(&mut self, path: Option<&racewarden_ir::FieldPath>) {
        self.add(path.is_some());
        if let Some(path) = path {
            self.name(path.text);
            self.name(path.field);
            self.name(path.inner);
        }
    }

    fn op(&mut self, op: &Op, numbers: &[u32]) {
        let mut op = op.clone();
        if let Some(plain) = self.bare {
            without_details(&mut op, &|id| plain[id.index()]);
        }
        for operand in op.operands_mut() {
            operand.visit_mut(&mut |value| {
                if let Value::Inst(inst) = value {
                    inst.0 = numbers.get(inst.index()).copied().unwrap_or(DROPPED);
                }
            });
        }
        if let Some(name) = op.name_mut() {
            let text = std::mem::replace(name, NameId(0));
            self.name(text);
        }
        if let Op::Call { callee: Callee::Asm { .. }, .. } = &op {
            self.add("assembly");
        }
        self.add(op);
    }
}
