//! How much of their arguments `printf` and `scanf` touch, as far as a constant format tells.
//!
//! The models say that the whole string or object may be accessed. A precision, a fixed-size
//! conversion or a conversion that never takes place says less; the accesses shrink to that. What
//! the format does not tell stays as the model has it.

use racewarden_ir::{Module, Type, Value};

/// What a call accesses at most, by argument.
pub type Bounds = Vec<(u32, u64)>;

struct Kind {
    names: &'static [&'static str],
    format: u32,
    /// The first argument that a conversion consumes.
    first: u32,
    scans: bool,
    /// Where the text goes to or comes from.
    text: Option<u32>,
}

const KINDS: &[Kind] = &[
    Kind { names: &["printf"], format: 0, first: 1, scans: false, text: None },
    Kind { names: &["fprintf", "dprintf"], format: 1, first: 2, scans: false, text: None },
    Kind { names: &["__printf_chk"], format: 1, first: 2, scans: false, text: None },
    Kind { names: &["__fprintf_chk"], format: 2, first: 3, scans: false, text: None },
    Kind { names: &["sprintf"], format: 1, first: 2, scans: false, text: Some(0) },
    Kind { names: &["snprintf"], format: 2, first: 3, scans: false, text: Some(0) },
    Kind { names: &["__sprintf_chk"], format: 3, first: 4, scans: false, text: Some(0) },
    Kind { names: &["__snprintf_chk"], format: 4, first: 5, scans: false, text: Some(0) },
    Kind {
        names: &["scanf", "__isoc99_scanf", "__isoc23_scanf"],
        format: 0,
        first: 1,
        scans: true,
        text: None,
    },
    Kind {
        names: &["fscanf", "__isoc99_fscanf", "__isoc23_fscanf"],
        format: 1,
        first: 2,
        scans: true,
        text: None,
    },
    Kind {
        names: &["sscanf", "__isoc99_sscanf", "__isoc23_sscanf"],
        format: 1,
        first: 2,
        scans: true,
        text: Some(0),
    },
];

/// One conversion of a format.
#[derive(Debug, Clone, Copy)]
struct Conversion {
    letter: u8,
    /// Bytes of an integer, by its length modifier.
    integer: u64,
    long: bool,
    wide: bool,
    width: Option<Amount>,
    precision: Option<Amount>,
    signs: bool,
    /// The value is read but not stored (`%*d` of `scanf`).
    dropped: bool,
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Number(u64),
    /// The next argument's value.
    Argument,
}

enum Piece {
    Literal(u8),
    Conversion(Conversion),
}

/// What a call of this function accesses at most; empty where nothing more is known.
pub fn bounds(module: &Module, name: &str, arguments: &[Value]) -> Bounds {
    let Some(kind) = KINDS.iter().find(|kind| kind.names.contains(&name)) else {
        return Vec::new();
    };
    let format = arguments.get(kind.format as usize).and_then(|value| text(module, value));
    let Some(pieces) = format.and_then(|format| parse(&format, kind.scans)) else {
        return Vec::new();
    };
    if kind.scans {
        let input = kind.text.and_then(|index| text(module, arguments.get(index as usize)?));
        scanned(&pieces, kind.first, input.as_deref())
    } else {
        printed(module, &pieces, kind, arguments)
    }
}

/// The constant string that the value points at.
fn text(module: &Module, value: &Value) -> Option<Vec<u8>> {
    let (global, offset) = match value {
        Value::Global(global) => (*global, 0),
        Value::Offset { base, offset } => match **base {
            Value::Global(global) => (global, usize::try_from(*offset).ok()?),
            _ => return None,
        },
        _ => return None,
    };
    let data = module.global(global);
    let bytes = &data.initializer.as_ref().filter(|_| data.constant)?.bytes;
    let end = bytes.get(offset..)?.iter().position(|byte| *byte == 0)?;
    Some(bytes[offset..offset + end].to_vec())
}

fn parse(format: &[u8], scans: bool) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            pieces.push(Piece::Literal(byte));
            continue;
        }
        if let Some(tail) = rest.strip_prefix(b"%") {
            pieces.push(Piece::Literal(b'%'));
            rest = tail;
            continue;
        }
        let (conversion, tail) = conversion(rest, scans)?;
        pieces.push(Piece::Conversion(conversion));
        rest = tail;
    }
    Some(pieces)
}

fn conversion(mut rest: &[u8], scans: bool) -> Option<(Conversion, &[u8])> {
    let mut found = Conversion {
        letter: 0,
        integer: 4,
        long: false,
        wide: false,
        width: None,
        precision: None,
        signs: false,
        dropped: false,
    };
    if scans {
        if let Some(tail) = rest.strip_prefix(b"*") {
            (found.dropped, rest) = (true, tail);
        }
    } else {
        while let Some(tail) = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"0")) {
            rest = tail;
        }
        while let Some((b'+' | b' ' | b'#' | b'-' | b'0', tail)) = rest.split_first() {
            (found.signs, rest) = (true, tail);
        }
    }
    (found.width, rest) = amount(rest, !scans);
    if let Some(tail) = rest.strip_prefix(b".") {
        (found.precision, rest) = amount(tail, !scans);
        found.precision = found.precision.or(Some(Amount::Number(0)));
    }
    loop {
        let (&byte, tail) = rest.split_first()?;
        match byte {
            b'h' => found.integer /= 2,
            b'l' => (found.integer, found.long, found.wide) = (8, true, true),
            b'j' | b'z' | b't' | b'q' => found.integer = 8,
            b'L' => found.wide = true,
            _ => {
                found.letter = byte;
                rest = tail;
                break;
            }
        }
        rest = tail;
    }
    if scans && found.letter == b'[' {
        let skip = usize::from(rest.first() == Some(&b'^'));
        let skip = skip + usize::from(rest.get(skip) == Some(&b']'));
        let end = skip + rest.get(skip..)?.iter().position(|byte| *byte == b']')?;
        rest = &rest[end + 1..];
    }
    let known: &[u8] = if scans { b"diuoxXnpcs[fFeEgGaA" } else { b"diuoxXcspfFeEgGaA" };
    known.contains(&found.letter).then_some((found, rest))
}

fn amount(rest: &[u8], by_argument: bool) -> (Option<Amount>, &[u8]) {
    if by_argument && let Some(tail) = rest.strip_prefix(b"*") {
        return (Some(Amount::Argument), tail);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 9 {
        return (None, rest);
    }
    let number = rest[..digits].iter().fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    (Some(Amount::Number(number)), &rest[digits..])
}

fn printed(module: &Module, pieces: &[Piece], kind: &Kind, arguments: &[Value]) -> Bounds {
    let mut bounds = Vec::new();
    let mut next = kind.first;
    // Bytes of output, as long as they are bounded.
    let mut length = Some(0u64);
    for piece in pieces {
        let Piece::Conversion(conversion) = piece else {
            length = length.map(|sum| sum + 1);
            continue;
        };
        let mut take = |amount: Option<Amount>| match amount {
            None => Some(None),
            Some(Amount::Number(number)) => Some(Some(number)),
            Some(Amount::Argument) => {
                let value = arguments.get(next as usize);
                next += 1;
                match value {
                    // A negative one counts as none, and as a width on the other side.
                    Some(Value::Int { bits, .. }) if *bits < 1 << 31 => Some(Some(*bits)),
                    _ => None,
                }
            }
        };
        let (width, precision) = (take(conversion.width), take(conversion.precision));
        let argument = next;
        next += 1;
        let value = arguments.get(argument as usize);
        let most = match conversion.letter {
            b's' => {
                let most = precision.flatten().filter(|_| !conversion.wide);
                bounds.extend(most.map(|most| (argument, most)));
                let own = value.and_then(|value| text(module, value)).map(|text| text.len() as u64);
                most.or(own)
            }
            b'p' => {
                bounds.push((argument, 0));
                Some(20)
            }
            b'c' => Some(if conversion.wide { 8 } else { 1 }),
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
                let digits = integer_length(module, conversion, value);
                precision.map(|p| digits.max(p.unwrap_or(0) + 1) + 2 * u64::from(conversion.signs))
            }
            _ => None,
        };
        length = match (length, most, width) {
            (Some(sum), Some(most), Some(width)) => Some(sum + most.max(width.unwrap_or(0))),
            _ => None,
        };
    }
    if let (Some(text), Some(length)) = (kind.text, length) {
        bounds.push((text, length + 1));
    }
    bounds
}

/// Characters of an integer, with its sign.
fn integer_length(module: &Module, conversion: &Conversion, value: Option<&Value>) -> u64 {
    let known = match value {
        Some(Value::Int { bits, ty }) if matches!(conversion.letter, b'd' | b'i' | b'u') => {
            match module.types.get(*ty) {
                Type::Int { bits: width } if u64::from(*width) == 8 * conversion.integer => {
                    let unused = 64 - width;
                    Some(((bits << unused) as i64 >> unused).unsigned_abs())
                        .filter(|_| conversion.letter != b'u')
                        .or(Some(*bits))
                }
                _ => None,
            }
        }
        _ => None,
    };
    match (known, conversion.integer) {
        (Some(value), _) => 2 + value.checked_ilog10().map_or(0, u64::from),
        (None, 0..=4) => 12,
        (None, _) => 23,
    }
}

fn scanned(pieces: &[Piece], first: u32, input: Option<&[u8]>) -> Bounds {
    let mut bounds = Vec::new();
    let mut next = first;
    let mut input = input;
    // Once a conversion has failed nothing more is stored.
    let mut failed = false;
    for piece in pieces {
        let conversion = match piece {
            Piece::Literal(byte) => {
                match input.map(|rest| literal(rest, *byte)) {
                    None => {}
                    Some(Some(rest)) => input = Some(rest),
                    Some(None) => failed = true,
                }
                continue;
            }
            Piece::Conversion(conversion) => conversion,
        };
        let number = match conversion.width {
            Some(Amount::Number(number)) => Some(number),
            _ => None,
        };
        if !failed && let Some(rest) = input {
            if conversion.letter == b'd' && number.is_none() {
                match decimal(rest) {
                    Some(rest) => input = Some(rest),
                    None => failed = true,
                }
            } else {
                input = None;
            }
        }
        if conversion.dropped {
            continue;
        }
        let size = match conversion.letter {
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'n' => Some(conversion.integer),
            b'p' => Some(8),
            b'c' if !conversion.wide => Some(number.unwrap_or(1)),
            b's' | b'[' if !conversion.wide => number.map(|number| number + 1),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                Some(match (conversion.wide, conversion.long) {
                    (false, _) => 4,
                    (true, true) => 8,
                    (true, false) => 16,
                })
            }
            _ => None,
        };
        let size = if failed { Some(0) } else { size };
        bounds.extend(size.map(|size| (next, size)));
        next += 1;
    }
    bounds
}

/// The input after a literal of the format; white space stands for any amount of it.
fn literal(input: &[u8], byte: u8) -> Option<&[u8]> {
    if byte.is_ascii_whitespace() {
        return Some(input.trim_ascii_start());
    }
    input.split_first().filter(|(first, _)| **first == byte).map(|(_, rest)| rest)
}

fn decimal(input: &[u8]) -> Option<&[u8]> {
    let input = input.trim_ascii_start();
    let unsigned = input.strip_prefix(b"-").or_else(|| input.strip_prefix(b"+")).unwrap_or(input);
    let digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &unsigned[digits..])
}

#[cfg(test)]
mod tests {
    use racewarden_ir::{Global, Initializer, Linkage, Module, Type, Value};

    use super::bounds;

    fn module(texts: &[&str]) -> Module {
        let mut module = Module::default();
        let name = module.intern("");
        let ty = module.types.intern(Type::Int { bits: 32 });
        for text in texts {
            let mut bytes = text.as_bytes().to_vec();
            bytes.push(0);
            module.globals.push(Global {
                name,
                display_name: name,
                ty,
                size: bytes.len() as u64,
                linkage: Linkage::Internal,
                constant: true,
                thread_local: false,
                initializer: Some(Initializer { pointers: Vec::new(), bytes }),
                source: None,
            });
        }
        module
    }

    #[test]
    fn a_constant_format_bounds_what_is_read_and_written() {
        let mut module =
            module(&["%.*s %.2s %s", "%ld", "42 words", "%d %d", "%5s%lf%hd", "%p!%5d"]);
        let ty = module.types.intern(Type::Int { bits: 32 });
        let long = module.types.intern(Type::Int { bits: 64 });
        let global = |index: u32| Value::Global(racewarden_ir::GlobalId(index));
        let int = |bits: u64| Value::Int { bits, ty };
        let any = || Value::Undef { ty };

        let printf = [global(0), int(4), any(), any(), any()];
        assert_eq!(bounds(&module, "printf", &printf), [(2, 4), (3, 2)]);
        let unknown = [global(0), any(), any(), any(), any()];
        assert_eq!(bounds(&module, "printf", &unknown), [(3, 2)]);
        let number = Value::Int { bits: 123, ty: long };
        let snprintf = [any(), int(64), global(1), number];
        assert_eq!(bounds(&module, "snprintf", &snprintf), [(0, 5)]);
        let snprintf = [any(), int(64), global(1), any()];
        assert_eq!(bounds(&module, "snprintf", &snprintf), [(0, 24)]);
        let sprintf = [any(), global(5), any(), any()];
        assert_eq!(bounds(&module, "sprintf", &sprintf), [(2, 0), (0, 34)]);

        let sscanf = [global(2), global(3), any(), any()];
        assert_eq!(bounds(&module, "sscanf", &sscanf), [(2, 4), (3, 0)]);
        let sscanf = [any(), global(3), any(), any()];
        assert_eq!(bounds(&module, "sscanf", &sscanf), [(2, 4), (3, 4)]);
        let scanf = [global(4), any(), any(), any()];
        assert_eq!(bounds(&module, "scanf", &scanf), [(1, 6), (2, 8), (3, 2)]);
        assert_eq!(bounds(&module, "puts", &[global(0)]), []);
    }
}
