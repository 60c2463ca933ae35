//! Which value of a call an effect speaks of.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// A value of a call: an argument, the result, what one of them points at, a global.
///
/// In the tables an argument is its number (`0`), the result is `"return"`, a global's address is
/// `"@name"`; each `*` in front loads through the value (`"*1"`), and `"&0+8"` is an address that
/// many bytes into what argument 0 points at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    Arg(u32),
    /// All arguments from this one on (`printf`'s).
    From(u32),
    Return,
    Global(String),
    /// What is stored where the operand points.
    Load(Box<Operand>),
    /// An address some bytes past the operand.
    Offset(Box<Operand>, u64),
}

impl Operand {
    fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('*') {
            return Some(Operand::Load(Box::new(Self::parse(rest)?)));
        }
        if let Some(rest) = text.strip_prefix('&') {
            let (base, bytes) = rest.rsplit_once('+')?;
            return Some(Operand::Offset(Box::new(Self::parse(base)?), bytes.parse().ok()?));
        }
        if let Some(global) = text.strip_prefix('@') {
            return (!global.is_empty()).then(|| Operand::Global(global.to_owned()));
        }
        if let Some(first) = text.strip_suffix("..") {
            return first.parse().ok().map(Operand::From);
        }
        if text == "return" {
            return Some(Operand::Return);
        }
        text.parse().ok().map(Operand::Arg)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Arg(index) => write!(f, "{index}"),
            Operand::From(first) => write!(f, "{first}.."),
            Operand::Return => f.write_str("return"),
            Operand::Global(name) => write!(f, "@{name}"),
            Operand::Load(inner) => write!(f, "*{inner}"),
            Operand::Offset(base, bytes) => write!(f, "&{base}+{bytes}"),
        }
    }
}

impl<'de> Deserialize<'de> for Operand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OperandVisitor;

        impl Visitor<'_> for OperandVisitor {
            type Value = Operand;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an argument number, \"return\", \"@global\", \"*operand\" or \"&operand+bytes\"")
            }

            fn visit_i64<E: de::Error>(self, index: i64) -> Result<Operand, E> {
                let index = u32::try_from(index);
                index.map(Operand::Arg).map_err(|_| E::custom("arguments count from 0"))
            }

            fn visit_u64<E: de::Error>(self, index: u64) -> Result<Operand, E> {
                let index = u32::try_from(index);
                index.map(Operand::Arg).map_err(|_| E::custom("no call has that many arguments"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Operand, E> {
                Operand::parse(text)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(OperandVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Operand;

    #[test]
    fn the_text_form_reads_back() {
        for text in ["0", "return", "@errno", "*1", "**0", "*@_ZSt11__once_call", "&0+8", "2.."] {
            let operand = Operand::parse(text).expect("a valid operand");
            assert_eq!(operand.to_string(), text);
        }
        for text in ["", "*", "x", "-1", "&0", "@"] {
            assert_eq!(Operand::parse(text), None, "{text}");
        }
    }
}
