//! Operations and operands of the text form.

use super::lex::{Line, Result, Token};
use super::words::{BINARY, CASTS, COMPARE, ORDERS, RMW};
use crate::{
    ArgId, AtomicOrder, BlockId, Callee, CompareOp, Edge, FunctionId, GlobalId, InstId, Module,
    NameId, Op, TypeId, Value,
};

pub(super) struct Operations<'p, 't> {
    pub line: &'p mut Line<'t>,
    pub module: &'p mut Module,
}

impl Operations<'_, '_> {
    pub fn op(&mut self) -> Result<Op> {
        let word = self.line.word()?;
        if let Some(op) = BINARY.value(word) {
            let (left, right) = (self.first()?, self.next()?);
            return Ok(Op::Binary { op, left, right });
        }
        if let Some(op) = CASTS.value(word) {
            return Ok(Op::Cast { op, value: self.first()? });
        }
        if let Some(op) = self.memory(word)? {
            return Ok(op);
        }
        if let Some(op) = self.terminator(word)? {
            return Ok(op);
        }
        match self.scalar(word)? {
            Some(op) => Ok(op),
            None => self.line.fail(format!("no operation is called {word}")),
        }
    }

    fn first(&mut self) -> Result<Value> {
        value(self.line)
    }

    /// An operand after a comma.
    fn next(&mut self) -> Result<Value> {
        self.line.comma()?;
        value(self.line)
    }

    fn next_number<T: TryFrom<i128>>(&mut self) -> Result<T> {
        self.line.comma()?;
        self.line.number()
    }

    fn name(&mut self) -> Result<NameId> {
        let text = self.line.text()?;
        Ok(self.module.intern(&text))
    }

    fn block(&mut self) -> Result<BlockId> {
        self.line.entity("bb").map(BlockId)
    }

    fn next_block(&mut self) -> Result<BlockId> {
        self.line.comma()?;
        self.block()
    }

    fn order(&mut self) -> Result<AtomicOrder> {
        let word = self.line.word()?;
        ORDERS.value(word).map_or_else(|| self.line.fail(format!("no order is called {word}")), Ok)
    }

    fn optional_order(&mut self) -> Result<Option<AtomicOrder>> {
        let is_order =
            matches!(self.line.peek(), Some(Token::Word(word)) if ORDERS.value(word).is_some());
        if is_order { self.order().map(Some) } else { Ok(None) }
    }

    fn edges(&mut self) -> Result<Box<[Edge]>> {
        let mut edges = Vec::new();
        while self.line.take_mark('[') {
            let value = self.first()?;
            let block = self.next_block()?;
            self.line.mark(']')?;
            edges.push(Edge { value, block });
        }
        Ok(edges.into())
    }

    fn memory(&mut self, word: &str) -> Result<Option<Op>> {
        Ok(Some(match word {
            "load" => Op::Load {
                address: self.first()?,
                size: self.next_number()?,
                volatile: self.line.take_word("volatile"),
                order: self.optional_order()?,
            },
            "store" => Op::Store {
                address: self.first()?,
                value: self.next()?,
                size: self.next_number()?,
                volatile: self.line.take_word("volatile"),
                order: self.optional_order()?,
            },
            "rmw" => {
                let word = self.line.word()?;
                let op = RMW.value(word).map_or_else(|| self.line.fail("no such rmw"), Ok)?;
                Op::AtomicRmw {
                    op,
                    address: self.first()?,
                    value: self.next()?,
                    size: self.next_number()?,
                    order: self.order()?,
                }
            }
            "cmpxchg" => Op::CompareExchange {
                address: self.first()?,
                expected: self.next()?,
                new: self.next()?,
                size: self.next_number()?,
                success: self.order()?,
                failure: self.order()?,
            },
            "fence" => Op::Fence { order: self.order()? },
            "memcpy" | "memmove" => Op::MemCopy {
                to: self.first()?,
                from: self.next()?,
                length: self.next()?,
                overlapping: word == "memmove",
            },
            "memset" => Op::MemSet { to: self.first()?, byte: self.next()?, length: self.next()? },
            "alloca" => {
                let (size, count) = (self.line.number()?, self.next()?);
                self.line.comma()?;
                Op::Alloca { size, count, name: self.name()? }
            }
            "address" => {
                let (base, offset) = (self.first()?, self.next_number()?);
                let mut indices = Vec::new();
                while self.line.take_mark(',') {
                    let index = self.first()?;
                    self.line.mark('*')?;
                    indices.push((index, self.line.number()?));
                }
                Op::Address { base, offset, indices: indices.into() }
            }
            "call" => self.call()?,
            "unknown" => {
                Op::Unknown { name: self.name()?, operands: self.line.list(value)?.into() }
            }
            "nop" => Op::Nop,
            _ => return Ok(None),
        }))
    }

    fn call(&mut self) -> Result<Op> {
        let callee = if self.line.take_word("indirect") {
            Callee::Indirect(self.first()?)
        } else if self.line.take_word("virtual") {
            Callee::Virtual {
                function: self.first()?,
                table: self.next()?,
                slot: self.next_number()?,
            }
        } else if self.line.take_word("asm") {
            Callee::Asm { text: self.name()?, clobbers_memory: self.line.take_word("memory") }
        } else {
            Callee::Direct(FunctionId(self.line.entity("fn")?))
        };
        let arguments = self.line.list(value)?.into();
        let invoke = if self.line.take_word("to") {
            let normal = self.block()?;
            if self.line.word()? != "unwind" {
                return self.line.fail("the unwind block is missing");
            }
            Some((normal, self.block()?))
        } else {
            None
        };
        let no_return = self.line.take_word("no_return");
        Ok(Op::Call { callee, arguments, invoke, no_return })
    }

    fn terminator(&mut self, word: &str) -> Result<Option<Op>> {
        Ok(Some(match word {
            "return" => {
                let ends =
                    matches!(self.line.peek(), None | Some(Token::Word("at" | "path" | "operand")));
                Op::Return { value: if ends { None } else { Some(self.first()?) } }
            }
            "jump" => Op::Jump { to: self.block()? },
            "branch" => Op::Branch {
                condition: self.first()?,
                then: self.next_block()?,
                otherwise: self.next_block()?,
            },
            "switch" => Op::Switch {
                value: self.first()?,
                default: self.next_block()?,
                cases: self.edges()?,
            },
            "indirectjump" => {
                let address = self.first()?;
                self.line.comma()?;
                let targets = self.line.list(|line| line.entity("bb").map(BlockId))?.into();
                Op::IndirectJump { address, targets }
            }
            "resume" => Op::Resume { value: self.first()? },
            "unreachable" => Op::Unreachable,
            _ => return Ok(None),
        }))
    }

    fn scalar(&mut self, word: &str) -> Result<Option<Op>> {
        Ok(Some(match word {
            "fneg" => Op::FNeg { value: self.first()? },
            "icmp" => {
                let word = self.line.word()?;
                let op = COMPARE.value(word).map_or_else(|| self.line.fail("no such icmp"), Ok)?;
                Op::Compare { op, left: self.first()?, right: self.next()? }
            }
            "fcmp" => {
                let op = CompareOp::Float(self.line.number()?);
                Op::Compare { op, left: self.next()?, right: self.next()? }
            }
            "select" => {
                Op::Select { condition: self.first()?, then: self.next()?, otherwise: self.next()? }
            }
            "phi" => Op::Phi { incoming: self.edges()? },
            "extractvalue" => {
                let aggregate = self.first()?;
                self.line.comma()?;
                Op::ExtractValue { aggregate, path: self.line.list(Line::number)?.into() }
            }
            "insertvalue" => {
                let (aggregate, element) = (self.first()?, self.next()?);
                self.line.comma()?;
                Op::InsertValue { aggregate, element, path: self.line.list(Line::number)?.into() }
            }
            "extractelement" => Op::ExtractElement { vector: self.first()?, index: self.next()? },
            "insertelement" => Op::InsertElement {
                vector: self.first()?,
                element: self.next()?,
                index: self.next()?,
            },
            "shufflevector" => {
                let (left, right) = (self.first()?, self.next()?);
                self.line.comma()?;
                Op::ShuffleVector { left, right, mask: self.line.list(Line::number)?.into() }
            }
            "freeze" => Op::Freeze { value: self.first()? },
            "va_arg" => Op::VaArg { list: self.first()? },
            "landingpad" => Op::LandingPad { cleanup: self.line.take_word("cleanup") },
            _ => return Ok(None),
        }))
    }
}

/// Constants nest as types do; deeper text is not ours.
const DEEPEST_VALUE: u32 = 64;

pub(super) fn value(line: &mut Line<'_>) -> Result<Value> {
    nested_value(line, 0)
}

fn nested_value(line: &mut Line<'_>, depth: u32) -> Result<Value> {
    if depth > DEEPEST_VALUE {
        return line.fail("the value is nested too deeply");
    }
    match line.next() {
        Some(Token::Word(word)) => word_value(line, word),
        Some(Token::Number(number)) => {
            let Ok(bits) = u64::try_from(number) else {
                return line.fail(format!("{number} does not fit"));
            };
            Ok(Value::Int { bits, ty: colon_type(line)? })
        }
        Some(Token::Mark('(')) => {
            let base = Box::new(nested_value(line, depth + 1)?);
            line.mark('+')?;
            let offset = line.number()?;
            line.mark(')')?;
            Ok(Value::Offset { base, offset })
        }
        Some(Token::Mark('{')) => {
            let elements =
                line.items('}', &mut |line: &mut Line<'_>| nested_value(line, depth + 1))?.into();
            Ok(Value::Aggregate { elements, ty: colon_type(line)? })
        }
        other => line.fail(format!("an operand is missing, not {other:?}")),
    }
}

fn word_value(line: &mut Line<'_>, word: &str) -> Result<Value> {
    let index = |prefix: &str| word.strip_prefix(prefix).and_then(|digits| digits.parse().ok());
    if let Some(id) = index("%") {
        return Ok(Value::Inst(InstId(id)));
    }
    if let Some(id) = index("@g") {
        return Ok(Value::Global(GlobalId(id)));
    }
    if let Some(id) = index("fn") {
        return Ok(Value::Function(FunctionId(id)));
    }
    if let Some(id) = index("arg") {
        return Ok(Value::Arg(ArgId(id)));
    }
    match word {
        "null" => Ok(Value::Null),
        "undef" => Ok(Value::Undef { ty: colon_type(line)? }),
        "zero" => Ok(Value::Zero { ty: colon_type(line)? }),
        "unknown" => Ok(Value::Unknown { ty: colon_type(line)? }),
        "float" => Ok(Value::Float { bits: line.number()?, ty: colon_type(line)? }),
        "wide" => {
            let words = line.list(Line::number)?.into();
            Ok(Value::WideInt { words, ty: colon_type(line)? })
        }
        _ => line.fail(format!("no operand is called {word}")),
    }
}

fn colon_type(line: &mut Line<'_>) -> Result<TypeId> {
    line.mark(':')?;
    line.entity("ty").map(TypeId)
}
