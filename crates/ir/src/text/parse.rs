//! Text to model.

use rustc_hash::FxHashMap;

use super::lex::{Line, Result, Token};
use super::operation::Operations;
use super::words::{LINKAGES, NOTES};
use super::{ParseError, operation};
use crate::{
    Alias, Block, FieldPath, FieldPathId, Function, FunctionId, Global, Initializer, InstId,
    Instruction, Linkage, Module, Note, OperandPath, Param, SourceId, SourceLoc, Type, TypeId,
    Value,
};

/// Reads the text form. Ids must count up from 0 in each table, as the printer writes them.
pub fn parse(text: &str) -> std::result::Result<Module, ParseError> {
    let mut parser = Parser::default();
    parser.module.intern("");
    for (index, line) in text.lines().enumerate() {
        let mut line = Line::new(index + 1, line)?;
        if !line.is_empty() {
            parser.line(&mut line)?;
            line.expect_end()?;
        }
    }
    match parser.open {
        Some(_) => Err(ParseError {
            line: text.lines().count(),
            message: "the last function is not closed".to_owned(),
        }),
        None => Ok(parser.module),
    }
}

#[derive(Default)]
struct Parser {
    module: Module,
    /// The function whose body is being read.
    open: Option<Function>,
    sources: FxHashMap<SourceLoc, SourceId>,
    paths: FxHashMap<FieldPath, FieldPathId>,
}

impl Parser {
    fn line(&mut self, line: &mut Line<'_>) -> Result<()> {
        if self.open.is_some() {
            return self.body_line(line);
        }
        match line.word()? {
            "module" => self.module.name = line.text()?,
            "note" => {
                let word = line.word()?;
                let kind = NOTES.value(word).map_or_else(|| line.fail("no such note"), Ok)?;
                self.module.notes.push(Note { kind, text: line.text()? });
            }
            "type" => self.type_line(line)?,
            "global" => self.global_line(line)?,
            "alias" => {
                let name = line.text()?;
                let name = self.module.intern(&name);
                let linkage = linkage(line)?;
                line.mark('=')?;
                let target = operation::value(line)?;
                self.module.aliases.push(Alias { name, linkage, target });
            }
            "constructors" => self.module.constructors = starts(line)?,
            "destructors" => self.module.destructors = starts(line)?,
            "function" => self.function_line(line)?,
            other => return line.fail(format!("no line starts with {other}")),
        }
        Ok(())
    }

    fn type_line(&mut self, line: &mut Line<'_>) -> Result<()> {
        let id = line.entity("ty")?;
        line.mark('=')?;
        let ty = type_body(line)?;
        let given = self.module.types.intern(ty);
        if given != TypeId(id) {
            return line.fail(format!("ty{id} is out of order or a repetition of {given}"));
        }
        Ok(())
    }

    fn source(&mut self, line: &mut Line<'_>) -> Result<Option<SourceLoc>> {
        if !line.take_word("at") {
            return Ok(None);
        }
        let file = line.text()?;
        line.mark(':')?;
        let row = line.number()?;
        line.mark(':')?;
        let column = line.number()?;
        Ok(Some(SourceLoc { file: self.module.intern(&file), line: row, column }))
    }

    fn global_line(&mut self, line: &mut Line<'_>) -> Result<()> {
        let id = line.entity("@g")?;
        if id as usize != self.module.globals.len() {
            return line.fail(format!("@g{id} is out of order"));
        }
        let name = line.text()?;
        let name = self.module.intern(&name);
        let linkage = linkage(line)?;
        let ty = TypeId(line.entity("ty")?);
        if line.word()? != "size" {
            return line.fail("the size is missing");
        }
        let size = line.number()?;
        let constant = line.take_word("constant");
        let thread_local = line.take_word("thread_local");
        let display_name = match line.take_word("as") {
            true => {
                let text = line.text()?;
                self.module.intern(&text)
            }
            false => name,
        };
        let source = self.source(line)?;
        let initializer = if line.take_mark('=') { Some(initializer(line)?) } else { None };
        self.module.globals.push(Global {
            name,
            display_name,
            ty,
            size,
            linkage,
            constant,
            thread_local,
            initializer,
            source,
        });
        Ok(())
    }

    fn function_line(&mut self, line: &mut Line<'_>) -> Result<()> {
        let id = line.entity("fn")?;
        if id as usize != self.module.functions.len() {
            return line.fail(format!("fn{id} is out of order"));
        }
        let name = line.text()?;
        let name = self.module.intern(&name);
        let linkage = linkage(line)?;
        let result = TypeId(line.entity("ty")?);
        let params = line.list(|line| {
            let ty = TypeId(line.entity("ty")?);
            let name = line.text()?;
            let by_value = line.take_word("by_value");
            Ok(Param { name: self.module.intern(&name), ty, by_value })
        })?;
        let variadic = line.take_word("variadic");
        let no_return = line.take_word("no_return");
        let display_name = match line.take_word("as") {
            true => {
                let text = line.text()?;
                self.module.intern(&text)
            }
            false => name,
        };
        let source = self.source(line)?;
        let function = Function {
            name,
            display_name,
            linkage,
            result,
            params,
            variadic,
            no_return,
            source,
            blocks: Vec::new(),
            instructions: Vec::new(),
            sources: Vec::new(),
            paths: Vec::new(),
            operand_paths: Vec::new(),
            inlined: Vec::new(),
        };
        if line.take_mark('{') {
            self.open = Some(function);
            self.sources.clear();
            self.paths.clear();
        } else {
            self.module.functions.push(function);
        }
        Ok(())
    }

    fn body_line(&mut self, line: &mut Line<'_>) -> Result<()> {
        let Some(mut function) = self.open.take() else { return Ok(()) };
        if line.take_mark('}') {
            self.module.functions.push(function);
            return Ok(());
        }
        let next = InstId::new(function.instructions.len());
        match line.peek() {
            Some(Token::Word(word)) if word.starts_with("bb") => {
                let id = line.entity("bb")?;
                line.mark(':')?;
                if id as usize != function.blocks.len() {
                    return line.fail(format!("bb{id} is out of order"));
                }
                function.blocks.push(Block { start: next, end: next });
            }
            _ => {
                let instruction = self.instruction(line, next, &mut function)?;
                function.instructions.push(instruction);
                match function.blocks.last_mut() {
                    Some(block) => block.end = InstId(next.0 + 1),
                    None => return line.fail("an instruction stands before the first block"),
                }
            }
        }
        self.open = Some(function);
        Ok(())
    }

    fn instruction(
        &mut self,
        line: &mut Line<'_>,
        next: InstId,
        function: &mut Function,
    ) -> Result<Instruction> {
        let id = line.entity("%")?;
        if id != next.0 {
            return line.fail(format!("%{id} is out of order"));
        }
        line.mark(':')?;
        let ty = TypeId(line.entity("ty")?);
        line.mark('=')?;
        let op = Operations { line, module: &mut self.module }.op()?;
        let source = self.source(line)?.map(|source| {
            *self.sources.entry(source).or_insert_with(|| {
                function.sources.push(source);
                SourceId::new(function.sources.len() - 1)
            })
        });
        let path = if line.take_word("path") { Some(self.path(line, function)?) } else { None };
        while line.take_word("operand") {
            let operand = line.number()?;
            let path = self.path(line, function)?;
            function.operand_paths.push(OperandPath { inst: next, operand, path });
        }
        Ok(Instruction { op, ty, source, path })
    }

    fn path(&mut self, line: &mut Line<'_>, function: &mut Function) -> Result<FieldPathId> {
        let (text, field) = (line.text()?, line.text()?);
        let text = self.module.intern(&text);
        let field = self.module.intern(&field);
        let inner = match line.peek() {
            Some(Token::Text(_)) => {
                let inner = line.text()?;
                self.module.intern(&inner)
            }
            _ => field,
        };
        let path = FieldPath { text, field, inner };
        Ok(*self.paths.entry(path.clone()).or_insert_with(|| {
            function.paths.push(path);
            FieldPathId::new(function.paths.len() - 1)
        }))
    }
}

fn linkage(line: &mut Line<'_>) -> Result<Linkage> {
    let word = line.word()?;
    LINKAGES.value(word).map_or_else(|| line.fail(format!("no linkage is called {word}")), Ok)
}

fn starts(line: &mut Line<'_>) -> Result<Vec<FunctionId>> {
    let mut list = Vec::new();
    while !line.is_empty() {
        list.push(FunctionId(line.entity("fn")?));
    }
    Ok(list)
}

fn initializer(line: &mut Line<'_>) -> Result<Initializer> {
    line.mark('[')?;
    let pointers = line.items(']', &mut |line: &mut Line<'_>| {
        let at: u64 = line.number()?;
        let value: Value = operation::value(line)?;
        Ok((at, value))
    })?;
    if line.word()? != "bytes" {
        return line.fail("the bytes are missing");
    }
    let hex = line.text()?;
    let digits = hex.as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.chunks(2) {
        let byte = std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok());
        match byte {
            Some(byte) if pair.len() == 2 => bytes.push(byte),
            _ => return line.fail("bytes are pairs of hexadecimal digits"),
        }
    }
    Ok(Initializer { pointers, bytes })
}

fn type_body(line: &mut Line<'_>) -> Result<Type> {
    Ok(match line.word()? {
        "void" => Type::Void,
        "int" => Type::Int { bits: line.number()? },
        "float" => Type::Float { bits: line.number()? },
        "pointer" => Type::Pointer,
        "vector" => Type::Vector { count: line.number()?, element: TypeId(line.entity("ty")?) },
        "array" => Type::Array { count: line.number()?, element: TypeId(line.entity("ty")?) },
        "struct" => Type::Struct {
            size: line.number()?,
            fields: line.list(|line| Ok((line.number()?, TypeId(line.entity("ty")?))))?,
        },
        "function" => Type::Function {
            result: TypeId(line.entity("ty")?),
            params: line.list(|line| Ok(TypeId(line.entity("ty")?)))?,
            variadic: line.take_word("variadic"),
        },
        "opaque" => Type::Opaque,
        other => return line.fail(format!("no type is called {other}")),
    })
}
