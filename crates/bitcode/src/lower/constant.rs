//! Constants and global initialisers.

use racewarden_ir as ir;

use super::ModuleLowering;
use crate::raw::{LLVMOpcode, LLVMTypeKind, LLVMValueKind, Ty, Val};

/// Globals up to this size keep their initial bytes.
const SMALL_GLOBAL: u64 = 1024;

/// Constant aggregates longer than this are not spelled out as operands; no front end makes them.
const LONG_AGGREGATE: u32 = 4096;

/// Sums of sums of constants deeper than this are not folded.
const MAX_DEPTH: u32 = 8;

impl ModuleLowering {
    /// The constant as an address or address-sized integer: a symbol, an offset from one, null.
    pub(super) fn address_constant(&mut self, value: Val) -> Option<ir::Value> {
        use LLVMValueKind::*;
        match value.kind() {
            LLVMFunctionValueKind
            | LLVMGlobalVariableValueKind
            | LLVMGlobalAliasValueKind
            | LLVMGlobalIFuncValueKind => self.symbols.get(&value).cloned(),
            LLVMConstantPointerNullValueKind => Some(ir::Value::Null),
            LLVMConstantExprValueKind => match value.const_opcode() {
                LLVMOpcode::LLVMGetElementPtr => {
                    let gep = self.gep(value)?;
                    if !gep.is_constant() {
                        return None;
                    }
                    let base = self.address_constant(gep.base)?;
                    Some(offset(base, gep.offset()))
                }
                LLVMOpcode::LLVMBitCast
                | LLVMOpcode::LLVMAddrSpaceCast
                | LLVMOpcode::LLVMPtrToInt
                | LLVMOpcode::LLVMPtrToAddr => self.address_constant(value.operand(0)?),
                LLVMOpcode::LLVMIntToPtr => {
                    let operand = value.operand(0)?;
                    match operand.as_int() {
                        Some(address) => Some(offset(ir::Value::Null, address)),
                        None => self.address_constant(operand),
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn constant(&mut self, value: Val) -> ir::Value {
        use LLVMValueKind::*;
        let ty = value.ty();
        let type_id = ty.map_or(self.void, |ty| self.type_id(ty));
        match value.kind() {
            LLVMConstantIntValueKind => self.integer(value, ty, type_id),
            LLVMConstantFPValueKind => {
                let double = value.as_double();
                let is_single = ty.is_some_and(|ty| ty.kind() == LLVMTypeKind::LLVMFloatTypeKind);
                let bits =
                    if is_single { u64::from((double as f32).to_bits()) } else { double.to_bits() };
                ir::Value::Float { bits, ty: type_id }
            }
            LLVMUndefValueValueKind | LLVMPoisonValueKind | LLVMConstantTokenNoneValueKind => {
                ir::Value::Undef { ty: type_id }
            }
            LLVMConstantAggregateZeroValueKind | LLVMConstantTargetNoneValueKind => {
                ir::Value::Zero { ty: type_id }
            }
            LLVMConstantArrayValueKind
            | LLVMConstantStructValueKind
            | LLVMConstantVectorValueKind
            | LLVMConstantDataArrayValueKind
            | LLVMConstantDataVectorValueKind => self.aggregate(value, type_id),
            LLVMMetadataAsValueValueKind => ir::Value::Undef { ty: type_id },
            _ => match self.folded(value, 0) {
                Some(bits) => ir::Value::Int { bits, ty: type_id },
                None => match self.address_constant(value) {
                    Some(address) => address,
                    None => self.unknown_constant(value, type_id),
                },
            },
        }
    }

    /// An integer that is computed without any symbol, as `offsetof` is where it is spelled as a distance
    /// from a null pointer.
    fn folded(&mut self, value: Val, depth: u32) -> Option<u64> {
        let bits =
            value.ty().filter(|ty| ty.kind() == LLVMTypeKind::LLVMIntegerTypeKind)?.int_bits();
        if bits > 64 || depth > MAX_DEPTH {
            return None;
        }
        let result = match value.kind() {
            LLVMValueKind::LLVMConstantIntValueKind => value.zext(),
            LLVMValueKind::LLVMConstantExprValueKind => match value.const_opcode() {
                LLVMOpcode::LLVMPtrToInt | LLVMOpcode::LLVMPtrToAddr => {
                    match self.address_constant(value.operand(0)?)? {
                        ir::Value::Null => 0,
                        ir::Value::Offset { base, offset } if *base == ir::Value::Null => {
                            offset as u64
                        }
                        _ => return None,
                    }
                }
                LLVMOpcode::LLVMTrunc => self.folded(value.operand(0)?, depth + 1)?,
                opcode @ (LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub | LLVMOpcode::LLVMXor) => {
                    let left = self.folded(value.operand(0)?, depth + 1)?;
                    let right = self.folded(value.operand(1)?, depth + 1)?;
                    match opcode {
                        LLVMOpcode::LLVMAdd => left.wrapping_add(right),
                        LLVMOpcode::LLVMSub => left.wrapping_sub(right),
                        _ => left ^ right,
                    }
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(if bits < 64 { result & ((1 << bits) - 1) } else { result })
    }

    fn integer(&mut self, value: Val, ty: Option<Ty>, type_id: ir::TypeId) -> ir::Value {
        let is_scalar = ty.is_some_and(|ty| ty.kind() == LLVMTypeKind::LLVMIntegerTypeKind);
        let bits = ty.filter(|_| is_scalar).map_or(0, Ty::int_bits);
        if is_scalar && bits <= 64 {
            return ir::Value::Int { bits: value.zext(), ty: type_id };
        }
        match wide_words(&value.printed(), bits) {
            Some(words) => ir::Value::WideInt { words, ty: type_id },
            None => self.unknown_constant(value, type_id),
        }
    }

    fn aggregate(&mut self, value: Val, ty: ir::TypeId) -> ir::Value {
        let mut elements = Vec::new();
        for index in 0..=LONG_AGGREGATE {
            let Some(element) = value.element(index) else { break };
            if index == LONG_AGGREGATE {
                return self.unknown_constant(value, ty);
            }
            let element = self.constant(element);
            elements.push(element);
        }
        ir::Value::Aggregate { ty, elements: elements.into() }
    }

    fn unknown_constant(&mut self, value: Val, ty: ir::TypeId) -> ir::Value {
        let mut text = value.printed();
        if let Some((end, _)) = text.char_indices().nth(120) {
            text.truncate(end);
        }
        self.note(ir::NoteKind::UnknownConstant, format!("constant not modelled: {text}"));
        ir::Value::Unknown { ty }
    }

    pub(super) fn initializer(&mut self, constant: Val, size: u64) -> ir::Initializer {
        let length = if size <= SMALL_GLOBAL { size as usize } else { 0 };
        let mut initializer = ir::Initializer { pointers: Vec::new(), bytes: vec![0; length] };
        self.initialize_at(constant, 0, &mut initializer);
        initializer
    }

    fn initialize_at(&mut self, constant: Val, at: u64, into: &mut ir::Initializer) {
        use LLVMValueKind::*;
        match constant.kind() {
            LLVMConstantAggregateZeroValueKind
            | LLVMUndefValueValueKind
            | LLVMPoisonValueKind
            | LLVMConstantPointerNullValueKind
            | LLVMConstantTargetNoneValueKind
            | LLVMConstantTokenNoneValueKind => {}
            LLVMConstantDataArrayValueKind | LLVMConstantDataVectorValueKind => {
                if !into.bytes.is_empty() {
                    put(into, at, &constant.data_bytes());
                }
            }
            LLVMConstantIntValueKind => {
                let bytes = constant.ty().map_or(0, |ty| self.unit.store_size(ty)) as usize;
                if !into.bytes.is_empty() && bytes <= 8 {
                    put(into, at, &constant.zext().to_le_bytes()[..bytes]);
                }
            }
            LLVMConstantFPValueKind => {
                if !into.bytes.is_empty() {
                    let double = constant.as_double();
                    match constant.ty().map(Ty::kind) {
                        Some(LLVMTypeKind::LLVMFloatTypeKind) => {
                            put(into, at, &(double as f32).to_le_bytes());
                        }
                        Some(LLVMTypeKind::LLVMDoubleTypeKind) => {
                            put(into, at, &double.to_le_bytes());
                        }
                        _ => {}
                    }
                }
            }
            LLVMConstantStructValueKind => {
                let Some(ty) = constant.ty() else { return };
                for index in 0..ty.field_count() {
                    if let Some(element) = constant.element(index) {
                        self.initialize_at(element, at + self.unit.field_offset(ty, index), into);
                    }
                }
            }
            LLVMConstantArrayValueKind | LLVMConstantVectorValueKind => {
                let Some(element_type) = constant.ty().and_then(Ty::element) else { return };
                let stride = self.unit.alloc_size(element_type);
                let elements = (0..).map_while(|index| constant.element(index));
                for (index, element) in elements.enumerate() {
                    self.initialize_at(element, at + index as u64 * stride, into);
                }
            }
            _ => self.initialize_pointer(constant, at, into),
        }
    }

    fn initialize_pointer(&mut self, constant: Val, at: u64, into: &mut ir::Initializer) {
        if let Some(address) = self.address_constant(constant) {
            into.pointers.push((at, address));
            return;
        }
        // Differences of symbols (relative tables) still mention what they can reach.
        let mut work: Vec<Val> = vec![constant];
        let mut seen = 0;
        while let Some(value) = work.pop() {
            seen += 1;
            match self.address_constant(value) {
                Some(ir::Value::Null) => {}
                Some(address) => into.pointers.push((at, address)),
                None if seen < 64 => work.extend(value.operands()),
                None => {}
            }
        }
        let ty = constant.ty().map_or(self.void, |ty| self.type_id(ty));
        self.unknown_constant(constant, ty);
    }
}

/// `base + bytes`, flattened.
fn offset(base: ir::Value, bytes: i64) -> ir::Value {
    match base {
        base if bytes == 0 => base,
        ir::Value::Offset { base, offset } => {
            ir::Value::Offset { base, offset: offset.wrapping_add(bytes) }
        }
        base => ir::Value::Offset { base: Box::new(base), offset: bytes },
    }
}

fn put(into: &mut ir::Initializer, at: u64, bytes: &[u8]) {
    let start = at as usize;
    if let Some(target) = into.bytes.get_mut(start..start + bytes.len()) {
        target.copy_from_slice(bytes);
    }
}

/// Words of an integer that LLVM printed as `i128 -12`; its interface has no other way to them.
fn wide_words(printed: &str, bits: u32) -> Option<Box<[u64]>> {
    let digits = printed.rsplit(' ').next()?;
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits),
    };
    let mut words = vec![0u64; bits.div_ceil(64) as usize];
    for digit in digits.chars() {
        let mut carry = u128::from(digit.to_digit(10)?);
        for word in &mut words {
            carry += u128::from(*word) * 10;
            *word = carry as u64;
            carry >>= 64;
        }
    }
    if negative {
        let mut carry = true;
        for word in &mut words {
            let (sum, overflow) = (!*word).overflowing_add(u64::from(carry));
            (*word, carry) = (sum, overflow);
        }
    }
    if !bits.is_multiple_of(64) {
        *words.last_mut()? &= (1 << (bits % 64)) - 1;
    }
    (!words.is_empty()).then(|| words.into())
}

#[cfg(test)]
mod tests {
    use super::wide_words;

    #[test]
    fn wide_integers_are_read_from_their_decimal_form() {
        assert_eq!(wide_words("i128 18446744073709551617", 128).as_deref(), Some(&[1, 1][..]));
        assert_eq!(wide_words("i128 -1", 128).as_deref(), Some(&[u64::MAX, u64::MAX][..]));
        assert_eq!(wide_words("i65 -1", 65).as_deref(), Some(&[u64::MAX, 1][..]));
        assert_eq!(wide_words("i128 x", 128), None);
    }
}
