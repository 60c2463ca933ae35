//! What inline assembly does to memory, as far as its text tells.
//!
//! Two kinds are told from the rest: text that touches no memory (fences, pauses, counters, and
//! moves between registers, such as the marks by which a program talks to Valgrind), and one
//! instruction under a `lock` prefix, which is an atomic update of memory that the operands name.
//! Everything else stays unknown. x86-64 in AT&T syntax only; other text is unknown.

/// What a piece of inline assembly does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assembly {
    /// Nothing that another thread sees.
    NoMemory,
    /// One atomic read-modify-write of so many bytes, at an address among the operands.
    Locked {
        size: u64,
    },
    Unknown,
}

/// Instructions that touch no memory whatever their operands.
const HARMLESS: [&str; 11] = [
    "nop",
    "pause",
    "mfence",
    "lfence",
    "sfence",
    "rdtsc",
    "rdtscp",
    "cpuid",
    "rdpmc",
    "serialize",
    "xgetbv",
];
/// Instructions that touch no memory when all their operands are registers and numbers.
const REGISTERS: [&str; 14] = [
    "rol", "ror", "mov", "xchg", "add", "sub", "and", "or", "xor", "shl", "shr", "bswap", "test",
    "cmp",
];
/// Instructions that a `lock` prefix makes atomic.
const LOCKABLE: [&str; 15] = [
    "xadd", "cmpxchg", "inc", "dec", "add", "sub", "and", "or", "xor", "bts", "btr", "btc", "neg",
    "not", "adc",
];

impl Assembly {
    /// Reads the text as LLVM keeps it (`$0` for an operand, `$$1` for a number).
    pub fn of(text: &str) -> Assembly {
        // Alternatives for several dialects are not taken apart.
        if text.contains(['{', '|', '}']) {
            return Assembly::Unknown;
        }
        let mut locked = None;
        let mut prefix = false;
        for instruction in text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
            let mut rest = instruction;
            if let Some(after) = rest.strip_prefix("lock") {
                prefix |= after.is_empty() || after.starts_with(char::is_whitespace);
                rest = if prefix { after.trim() } else { rest };
            }
            if rest.is_empty() {
                continue;
            }
            let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let exchange = stem(name, &["xchg"]).filter(|_| operands.contains('$'));
            let lockable = stem(name, &LOCKABLE).filter(|_| prefix);
            if let Some(size) = exchange.or(lockable) {
                if locked.replace(size).is_some() {
                    return Assembly::Unknown;
                }
                prefix = false;
            } else if !(is_harmless(name, operands) || between_registers(name, operands)) {
                return Assembly::Unknown;
            }
        }
        match locked {
            Some(size) => Assembly::Locked { size },
            None => Assembly::NoMemory,
        }
    }
}

/// `rep nop` and `rep; nop` are old spellings of `pause`.
fn is_harmless(name: &str, operands: &str) -> bool {
    HARMLESS.contains(&name) || (name == "rep" && matches!(operands.trim(), "" | "nop"))
}

/// The bytes that `name` works on, if it is one of `stems` with or without a size letter.
fn stem(name: &str, stems: &[&str]) -> Option<u64> {
    stems.iter().find_map(|stem| match name.strip_prefix(stem)? {
        "b" => Some(1),
        "w" => Some(2),
        "l" => Some(4),
        // Without a letter the operands decide; the widest is the safe guess.
        "" | "q" => Some(8),
        "16b" => Some(16),
        "8b" => Some(8),
        _ => None,
    })
}

fn between_registers(name: &str, operands: &str) -> bool {
    let plain = |operand: &str| {
        let operand = operand.trim();
        let register = operand.strip_prefix('%').is_some_and(|register| {
            !register.is_empty() && register.chars().all(|c| c.is_ascii_alphanumeric())
        });
        let number = operand.strip_prefix("$$").is_some_and(|number| {
            !number.is_empty() && number.chars().all(|c| c.is_ascii_alphanumeric())
        });
        register || number
    };
    stem(name, &REGISTERS).is_some() && operands.split(',').all(plain)
}

#[cfg(test)]
mod tests {
    use super::Assembly;

    #[test]
    fn fences_and_marks_touch_no_memory() {
        let valgrind = "rolq $$3,  %rdi ; rolq $$13, %rdi\n\t\
                        rolq $$61, %rdi ; rolq $$51, %rdi\n\txchgq %rbx,%rbx";
        for text in ["", "mfence", "pause", "rep; nop", "rep nop", "rdtsc", valgrind] {
            assert_eq!(Assembly::of(text), Assembly::NoMemory, "{text}");
        }
    }

    #[test]
    fn one_locked_instruction_is_an_atomic_update() {
        for (text, size) in [
            ("lock xaddl $0, $1", 4),
            ("lock; incl $0", 4),
            ("lock\n\tcmpxchgq $2, $1", 8),
            ("xchgb $0, $1", 1),
            ("lock; addl $$0, 0(%rsp)", 4),
        ] {
            assert_eq!(Assembly::of(text), Assembly::Locked { size }, "{text}");
        }
    }

    #[test]
    fn the_rest_is_unknown() {
        for text in [
            "movl $1, $0",
            "incl $0",
            "lock incl $0; movl $2, $1",
            "lock incl $0; lock incl $1",
            "call f",
            "mov %rax, (%rdi)",
            "lock{; addl|add} $0, $1",
            "rep movsb",
            "syscall",
            "lockstep",
            "push %rax",
        ] {
            assert_eq!(Assembly::of(text), Assembly::Unknown, "{text}");
        }
    }
}
