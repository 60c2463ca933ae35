//! Model to text.

use std::fmt::{self, Display, Formatter, Write};

use crate::{
    AtomicOrder, Callee, CompareOp, FieldPath, Function, FunctionId, Global, GlobalId, Instruction,
    Module, NameId, Op, SourceLoc, Type, Value,
};

/// The whole module as text.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(out, "{}", ModuleText(module));
    out
}

struct ModuleText<'m>(&'m Module);

/// A quoted string; the escapes are those of Rust.
struct Quoted<'t>(&'t str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl Display for ModuleText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let module = self.0;
        writeln!(f, "module {}", Quoted(&module.name))?;
        for note in &module.notes {
            writeln!(f, "note {} {}", note.kind.word(), Quoted(&note.text))?;
        }
        for (id, ty) in module.types.iter() {
            writeln!(f, "type {id} = {ty}")?;
        }
        for id in module.global_ids() {
            self.global(f, id, module.global(id))?;
        }
        for alias in &module.aliases {
            let name = Quoted(module.name_text(alias.name));
            writeln!(f, "alias {name} {} = {}", alias.linkage.word(), alias.target)?;
        }
        self.start_list(f, "constructors", &module.constructors)?;
        self.start_list(f, "destructors", &module.destructors)?;
        module.function_ids().try_for_each(|id| self.function(f, id, module.function(id)))
    }
}

impl ModuleText<'_> {
    fn name(&self, id: NameId) -> Quoted<'_> {
        Quoted(self.0.name_text(id))
    }

    fn start_list(&self, f: &mut Formatter<'_>, word: &str, list: &[FunctionId]) -> fmt::Result {
        if list.is_empty() {
            return Ok(());
        }
        write!(f, "{word}")?;
        list.iter().try_for_each(|id| write!(f, " {id}"))?;
        writeln!(f)
    }

    fn source(&self, f: &mut Formatter<'_>, source: SourceLoc) -> fmt::Result {
        write!(f, " at {}:{}:{}", self.name(source.file), source.line, source.column)
    }

    fn global(&self, f: &mut Formatter<'_>, id: GlobalId, global: &Global) -> fmt::Result {
        let name = self.name(global.name);
        write!(f, "global {id} {name} {} {}", global.linkage.word(), global.ty)?;
        write!(f, " size {}", global.size)?;
        flag(f, global.constant, "constant")?;
        flag(f, global.thread_local, "thread_local")?;
        if global.display_name != global.name {
            write!(f, " as {}", self.name(global.display_name))?;
        }
        if let Some(source) = global.source {
            self.source(f, source)?;
        }
        if let Some(initializer) = &global.initializer {
            f.write_str(" = [")?;
            for (index, (at, value)) in initializer.pointers.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{at} {value}")?;
            }
            f.write_str("] bytes \"")?;
            initializer.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
            f.write_char('"')?;
        }
        writeln!(f)
    }

    fn function(&self, f: &mut Formatter<'_>, id: FunctionId, function: &Function) -> fmt::Result {
        let name = self.name(function.name);
        write!(f, "function {id} {name} {} {} (", function.linkage.word(), function.result)?;
        for (index, param) in function.params.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", param.ty, self.name(param.name))?;
            flag(f, param.by_value, "by_value")?;
        }
        f.write_char(')')?;
        flag(f, function.variadic, "variadic")?;
        flag(f, function.no_return, "no_return")?;
        if function.display_name != function.name {
            write!(f, " as {}", self.name(function.display_name))?;
        }
        if let Some(source) = function.source {
            self.source(f, source)?;
        }
        if function.is_declaration() {
            return writeln!(f);
        }
        writeln!(f, " {{")?;
        let mut operand_paths = function.operand_paths.iter().peekable();
        for block in function.block_ids() {
            writeln!(f, "{block}:")?;
            for (id, instruction) in function.block_instructions(block) {
                write!(f, "  {id}: {} = ", instruction.ty)?;
                self.op(f, &instruction.op)?;
                self.position(f, function, instruction)?;
                while let Some(operand) = operand_paths.next_if(|next| next.inst == id) {
                    let path = &function.paths[operand.path.index()];
                    write!(f, " operand {}", operand.operand)?;
                    self.path(f, path)?;
                }
                self.remark(f, &instruction.op)?;
                writeln!(f)?;
            }
        }
        writeln!(f, "}}")
    }

    fn position(&self, f: &mut Formatter<'_>, fun: &Function, inst: &Instruction) -> fmt::Result {
        if let Some(source) = inst.source {
            self.source(f, fun.sources[source.index()])?;
        }
        if let Some(path) = inst.path {
            let path = &fun.paths[path.index()];
            write!(f, " path")?;
            self.path(f, path)?;
        }
        Ok(())
    }

    fn path(&self, f: &mut Formatter<'_>, path: &FieldPath) -> fmt::Result {
        write!(f, " {} {}", self.name(path.text), self.name(path.field))?;
        if path.inner != path.field {
            write!(f, " {}", self.name(path.inner))?;
        }
        Ok(())
    }

    /// A comment that names the callee, for the human reader.
    fn remark(&self, f: &mut Formatter<'_>, op: &Op) -> fmt::Result {
        match op {
            Op::Call { callee: Callee::Direct(id), .. } => {
                let name = self.0.name_text(self.0.function(*id).name);
                write!(f, " ; {}", name.escape_default())
            }
            _ => Ok(()),
        }
    }

    fn op(&self, f: &mut Formatter<'_>, op: &Op) -> fmt::Result {
        match op {
            Op::Load { address, size, order, volatile } => {
                write!(f, "load {address}, {size}")?;
                access(f, *volatile, *order)
            }
            Op::Store { address, value, size, order, volatile } => {
                write!(f, "store {address}, {value}, {size}")?;
                access(f, *volatile, *order)
            }
            Op::AtomicRmw { address, op, value, size, order } => {
                write!(f, "rmw {} {address}, {value}, {size} {}", op.word(), order.word())
            }
            Op::CompareExchange { address, expected, new, size, success, failure } => {
                write!(f, "cmpxchg {address}, {expected}, {new}, {size}")?;
                write!(f, " {} {}", success.word(), failure.word())
            }
            Op::Fence { order } => write!(f, "fence {}", order.word()),
            Op::MemCopy { to, from, length, overlapping } => {
                let word = if *overlapping { "memmove" } else { "memcpy" };
                write!(f, "{word} {to}, {from}, {length}")
            }
            Op::MemSet { to, byte, length } => write!(f, "memset {to}, {byte}, {length}"),
            Op::Alloca { size, count, name } => {
                write!(f, "alloca {size}, {count}, {}", self.name(*name))
            }
            Op::Address { base, offset, indices } => {
                write!(f, "address {base}, {offset}")?;
                indices.iter().try_for_each(|(index, scale)| write!(f, ", {index} * {scale}"))
            }
            Op::Call { .. } => self.call(f, op),
            Op::Unknown { name, operands } => {
                write!(f, "unknown {} (", self.name(*name))?;
                list(f, operands)?;
                f.write_char(')')
            }
            _ if op.is_terminator() => terminator(f, op),
            _ => scalar(f, op),
        }
    }

    fn call(&self, f: &mut Formatter<'_>, op: &Op) -> fmt::Result {
        let Op::Call { callee, arguments, invoke, no_return } = op else { return Ok(()) };
        match callee {
            Callee::Direct(id) => write!(f, "call {id}")?,
            Callee::Indirect(value) => write!(f, "call indirect {value}")?,
            Callee::Virtual { function, table, slot } => {
                write!(f, "call virtual {function}, {table}, {slot}")?;
            }
            Callee::Asm { text, clobbers_memory } => {
                write!(f, "call asm {}", self.name(*text))?;
                flag(f, *clobbers_memory, "memory")?;
            }
        }
        f.write_str(" (")?;
        list(f, arguments)?;
        f.write_char(')')?;
        if let Some((normal, unwind)) = invoke {
            write!(f, " to {normal} unwind {unwind}")?;
        }
        flag(f, *no_return, "no_return")
    }
}

fn flag(f: &mut Formatter<'_>, set: bool, word: &str) -> fmt::Result {
    if set { write!(f, " {word}") } else { Ok(()) }
}

fn access(f: &mut Formatter<'_>, volatile: bool, order: Option<AtomicOrder>) -> fmt::Result {
    flag(f, volatile, "volatile")?;
    order.map_or(Ok(()), |order| write!(f, " {}", order.word()))
}

fn list<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(index, item)| {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{item}")
    })
}

fn scalar(f: &mut Formatter<'_>, op: &Op) -> fmt::Result {
    match op {
        Op::Binary { op, left, right } => write!(f, "{} {left}, {right}", op.word()),
        Op::FNeg { value } => write!(f, "fneg {value}"),
        Op::Cast { op, value } => write!(f, "{} {value}", op.word()),
        Op::Compare { op: CompareOp::Float(predicate), left, right } => {
            write!(f, "fcmp {predicate}, {left}, {right}")
        }
        Op::Compare { op, left, right } => write!(f, "icmp {} {left}, {right}", op.word()),
        Op::Select { condition, then, otherwise } => {
            write!(f, "select {condition}, {then}, {otherwise}")
        }
        Op::Phi { incoming } => {
            f.write_str("phi")?;
            incoming.iter().try_for_each(|edge| write!(f, " [{}, {}]", edge.value, edge.block))
        }
        Op::ExtractValue { aggregate, path } => {
            write!(f, "extractvalue {aggregate}, (")?;
            list(f, path)?;
            f.write_char(')')
        }
        Op::InsertValue { aggregate, element, path } => {
            write!(f, "insertvalue {aggregate}, {element}, (")?;
            list(f, path)?;
            f.write_char(')')
        }
        Op::ExtractElement { vector, index } => write!(f, "extractelement {vector}, {index}"),
        Op::InsertElement { vector, element, index } => {
            write!(f, "insertelement {vector}, {element}, {index}")
        }
        Op::ShuffleVector { left, right, mask } => {
            write!(f, "shufflevector {left}, {right}, (")?;
            list(f, mask)?;
            f.write_char(')')
        }
        Op::Freeze { value } => write!(f, "freeze {value}"),
        Op::VaArg { list } => write!(f, "va_arg {list}"),
        Op::LandingPad { cleanup } => {
            f.write_str("landingpad")?;
            flag(f, *cleanup, "cleanup")
        }
        _ => f.write_str("nop"),
    }
}

fn terminator(f: &mut Formatter<'_>, op: &Op) -> fmt::Result {
    match op {
        Op::Return { value: Some(value) } => write!(f, "return {value}"),
        Op::Return { value: None } => f.write_str("return"),
        Op::Jump { to } => write!(f, "jump {to}"),
        Op::Branch { condition, then, otherwise } => {
            write!(f, "branch {condition}, {then}, {otherwise}")
        }
        Op::Switch { value, cases, default } => {
            write!(f, "switch {value}, {default}")?;
            cases.iter().try_for_each(|edge| write!(f, " [{}, {}]", edge.value, edge.block))
        }
        Op::IndirectJump { address, targets } => {
            write!(f, "indirectjump {address}, (")?;
            list(f, targets)?;
            f.write_char(')')
        }
        Op::Resume { value } => write!(f, "resume {value}"),
        _ => f.write_str("unreachable"),
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Inst(id) => write!(f, "{id}"),
            Value::Arg(id) => write!(f, "{id}"),
            Value::Global(id) => write!(f, "{id}"),
            Value::Function(id) => write!(f, "{id}"),
            Value::Int { bits, ty } => write!(f, "{bits}:{ty}"),
            Value::WideInt { words, ty } => {
                f.write_str("wide(")?;
                list(f, words)?;
                write!(f, "):{ty}")
            }
            Value::Float { bits, ty } => write!(f, "float {bits}:{ty}"),
            Value::Null => f.write_str("null"),
            Value::Undef { ty } => write!(f, "undef:{ty}"),
            Value::Zero { ty } => write!(f, "zero:{ty}"),
            Value::Offset { base, offset } => write!(f, "({base} + {offset})"),
            Value::Aggregate { ty, elements } => {
                f.write_char('{')?;
                list(f, elements)?;
                write!(f, "}}:{ty}")
            }
            Value::Unknown { ty } => write!(f, "unknown:{ty}"),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
            Type::Int { bits } => write!(f, "int {bits}"),
            Type::Float { bits } => write!(f, "float {bits}"),
            Type::Pointer => f.write_str("pointer"),
            Type::Vector { element, count } => write!(f, "vector {count} {element}"),
            Type::Array { element, count } => write!(f, "array {count} {element}"),
            Type::Struct { fields, size } => {
                write!(f, "struct {size} (")?;
                for (index, (offset, ty)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{offset} {ty}")?;
                }
                f.write_char(')')
            }
            Type::Function { result, params, variadic } => {
                write!(f, "function {result} (")?;
                list(f, params)?;
                f.write_char(')')?;
                flag(f, *variadic, "variadic")
            }
            Type::Opaque => f.write_str("opaque"),
        }
    }
}
