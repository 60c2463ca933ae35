//! The program model's integer operators as bit-vector terms.

use racewarden_ir::{BinaryOp, CastOp, CompareOp};
use z3::ast::{BV, Bool};

pub fn binary(op: BinaryOp, a: &BV, b: &BV) -> BV {
    match op {
        BinaryOp::Add => a.bvadd(b),
        BinaryOp::Sub => a.bvsub(b),
        BinaryOp::Mul => a.bvmul(b),
        BinaryOp::UDiv => a.bvudiv(b),
        BinaryOp::SDiv => a.bvsdiv(b),
        BinaryOp::URem => a.bvurem(b),
        BinaryOp::SRem => a.bvsrem(b),
        BinaryOp::Shl => a.bvshl(b),
        BinaryOp::LShr => a.bvlshr(b),
        BinaryOp::AShr => a.bvashr(b),
        BinaryOp::And => a.bvand(b),
        BinaryOp::Or => a.bvor(b),
        BinaryOp::Xor => a.bvxor(b),
        // The walk makes floating results opaque.
        BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem => {
            BV::fresh_const("f", a.get_size())
        }
    }
}

pub fn compare(op: CompareOp, a: &BV, b: &BV) -> Bool {
    match op {
        CompareOp::Eq => a.eq(b),
        CompareOp::Ne => a.eq(b).not(),
        CompareOp::Ugt => a.bvugt(b),
        CompareOp::Uge => a.bvuge(b),
        CompareOp::Ult => a.bvult(b),
        CompareOp::Ule => a.bvule(b),
        CompareOp::Sgt => a.bvsgt(b),
        CompareOp::Sge => a.bvsge(b),
        CompareOp::Slt => a.bvslt(b),
        CompareOp::Sle => a.bvsle(b),
        CompareOp::Float(_) => Bool::fresh_const("f"),
    }
}

pub fn cast(op: CastOp, a: &BV, width: u32) -> BV {
    let from = a.get_size();
    match width.cmp(&from) {
        std::cmp::Ordering::Less => a.extract(width - 1, 0),
        std::cmp::Ordering::Equal => a.clone(),
        std::cmp::Ordering::Greater if op == CastOp::SExt => a.sign_ext(width - from),
        std::cmp::Ordering::Greater => a.zero_ext(width - from),
    }
}
