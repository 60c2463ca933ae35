//! Floating-point arithmetic on recorded numbers.
//!
//! The program rounded as the standard says (the recorder asks for no more where it may not have), so
//! the same operations here give the same bits. Only numbers are computed: no expression over shared
//! reads goes through floating point.

use racewarden_ir::{BinaryOp, CastOp};

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// `None` for whole numbers and for widths that are not computed.
pub fn binary(op: BinaryOp, width: u32, a: u64, b: u64) -> Option<u64> {
    macro_rules! compute {
        ($read:ident, $write:expr) => {{
            let (a, b) = ($read(a), $read(b));
            let result = match op {
                BinaryOp::FAdd => a + b,
                BinaryOp::FSub => a - b,
                BinaryOp::FMul => a * b,
                BinaryOp::FDiv => a / b,
                _ => return None,
            };
            Some($write(result))
        }};
    }
    match width {
        64 => compute!(double, f64::to_bits),
        32 => compute!(single, |result: f32| u64::from(result.to_bits())),
        _ => None,
    }
}

/// By LLVM's number of the predicate: its bits are unordered, less, greater, equal.
pub fn compare(predicate: u8, width: u32, a: u64, b: u64) -> Option<bool> {
    let order = match width {
        64 => double(a).partial_cmp(&double(b)),
        32 => single(a).partial_cmp(&single(b)),
        _ => return None,
    };
    let bit = match order {
        None => 8,
        Some(std::cmp::Ordering::Less) => 4,
        Some(std::cmp::Ordering::Greater) => 2,
        Some(std::cmp::Ordering::Equal) => 1,
    };
    Some(predicate & bit != 0)
}

/// Conversions from and to floating point.
pub fn cast(op: CastOp, from: u32, to: u32, value: u64) -> Option<u64> {
    use super::super::expr::{mask, sign_extend};
    let written = |value: f64, exact: f32| match to {
        64 => Some(value.to_bits()),
        32 => Some(u64::from(exact.to_bits())),
        _ => None,
    };
    let read = || match from {
        64 => Some(double(value)),
        32 => Some(f64::from(single(value))),
        _ => None,
    };
    match op {
        CastOp::FpExt if (from, to) == (32, 64) => Some(f64::from(single(value)).to_bits()),
        CastOp::FpTrunc if (from, to) == (64, 32) => {
            Some(u64::from((double(value) as f32).to_bits()))
        }
        CastOp::SiToFp => {
            let number = sign_extend(value, from);
            written(number as f64, number as f32)
        }
        CastOp::UiToFp => written(value as f64, value as f32),
        // What does not fit has no defined result; the program does not depend on it.
        CastOp::FpToSi => Some(mask(read()? as i64 as u64, to)),
        CastOp::FpToUi => Some(mask(read()? as u64, to)),
        _ => None,
    }
}

pub fn negated(width: u32, value: u64) -> Option<u64> {
    matches!(width, 32 | 64).then(|| value ^ 1 << (width - 1))
}

/// An intrinsic of numbers, by its name.
pub fn intrinsic(name: &str, arguments: &[u64]) -> Option<u64> {
    let (operation, ty) = name.strip_prefix("llvm.")?.split_once('.')?;
    macro_rules! compute {
        ($read:ident) => {{
            match (operation, arguments) {
                ("fabs", [a]) => $read(*a).abs(),
                ("floor", [a]) => $read(*a).floor(),
                ("ceil", [a]) => $read(*a).ceil(),
                ("trunc", [a]) => $read(*a).trunc(),
                ("sqrt", [a]) => $read(*a).sqrt(),
                ("rint" | "nearbyint", [a]) => $read(*a).round_ties_even(),
                ("copysign", [a, b]) => $read(*a).copysign($read(*b)),
                ("fmuladd", [a, b, c]) => $read(*a) * $read(*b) + $read(*c),
                _ => return None,
            }
        }};
    }
    match ty {
        "f64" => Some(compute!(double).to_bits()),
        "f32" => Some(u64::from(compute!(single).to_bits())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{BinaryOp, CastOp, binary, cast, compare, intrinsic, negated};

    #[test]
    fn numbers_are_computed_as_the_processor_does() {
        let (a, b) = (0.1f64.to_bits(), 0.2f64.to_bits());
        assert_eq!(binary(BinaryOp::FAdd, 64, a, b), Some((0.1f64 + 0.2).to_bits()));
        assert_eq!(binary(BinaryOp::Add, 64, a, b), None);
        let (a, b) = (u64::from(1.5f32.to_bits()), u64::from((-3f32).to_bits()));
        assert_eq!(binary(BinaryOp::FMul, 32, a, b), Some(u64::from((-4.5f32).to_bits())));
        assert_eq!(negated(32, a), Some(u64::from((-1.5f32).to_bits())));
        assert_eq!(cast(CastOp::FpExt, 32, 64, a), Some(1.5f64.to_bits()));
        assert_eq!(cast(CastOp::FpToSi, 32, 32, b), Some(0xffff_fffd));
        assert_eq!(cast(CastOp::SiToFp, 32, 64, 0xffff_ffff), Some((-1f64).to_bits()));
        assert_eq!(cast(CastOp::UiToFp, 32, 64, 0xffff_ffff), Some(4294967295f64.to_bits()));
        assert_eq!(intrinsic("llvm.sqrt.f64", &[9f64.to_bits()]), Some(3f64.to_bits()));
        assert_eq!(intrinsic("llvm.cos.f64", &[0]), None);
    }

    #[test]
    fn comparisons_follow_the_numbers_of_their_predicates() {
        let (one, two, not) = (1f64.to_bits(), 2f64.to_bits(), f64::NAN.to_bits());
        // oeq 1, ogt 2, olt 4, ord 7, uno 8, une 14.
        for (predicate, less, unordered) in
            [(1, false, false), (2, false, false), (4, true, false), (7, true, false)]
        {
            assert_eq!(compare(predicate, 64, one, two), Some(less));
            assert_eq!(compare(predicate, 64, one, not), Some(unordered));
        }
        assert_eq!(compare(8, 64, one, not), Some(true));
        assert_eq!(compare(14, 64, one, one), Some(false));
        assert_eq!(compare(14, 64, one, not), Some(true));
    }
}
