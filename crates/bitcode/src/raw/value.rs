//! The handle on values: what the lowering reads of instructions, constants and globals.

use super::*;

/// Index by which LLVM names the attributes of a function itself.
const FUNCTION_ATTRIBUTES: u32 = u32::MAX;

impl Val {
    pub fn kind(self) -> LLVMValueKind {
        llvm!(LLVMGetValueKind(self.0))
    }

    pub fn ty(self) -> Option<Ty> {
        Ty::from_raw(llvm!(LLVMTypeOf(self.0)))
    }

    pub fn name(self) -> String {
        let mut length = 0;
        let data = llvm!(LLVMGetValueName2(self.0, &mut length));
        text(data, length)
    }

    pub fn printed(self) -> String {
        message(llvm!(LLVMPrintValueToString(self.0)))
    }

    pub fn operand_count(self) -> u32 {
        u32::try_from(llvm!(LLVMGetNumOperands(self.0))).unwrap_or(0)
    }

    pub fn operand(self, index: u32) -> Option<Val> {
        if index >= self.operand_count() {
            return None;
        }
        Val::from_raw(llvm!(LLVMGetOperand(self.0, index)))
    }

    pub fn operands(self) -> impl Iterator<Item = Val> {
        (0..self.operand_count()).filter_map(move |i| self.operand(i))
    }

    /// The single user, when there is exactly one.
    pub fn only_user(self) -> Option<Val> {
        let first = llvm!(LLVMGetFirstUse(self.0));
        if first.is_null() || !llvm!(LLVMGetNextUse(first)).is_null() {
            return None;
        }
        Val::from_raw(llvm!(LLVMGetUser(first)))
    }

    // Metadata

    pub fn as_metadata(self) -> Option<Md> {
        if self.kind() != LLVMValueKind::LLVMMetadataAsValueValueKind {
            return None;
        }
        Md::from_raw(llvm!(LLVMValueAsMetadata(self.0)))
    }

    /// The text when this wraps a metadata string.
    pub fn metadata_string(self) -> Option<String> {
        if self.kind() != LLVMValueKind::LLVMMetadataAsValueValueKind {
            return None;
        }
        let mut length = 0;
        let data = llvm!(LLVMGetMDString(self.0, &mut length));
        if data.is_null() { None } else { Some(text(data, length as usize)) }
    }

    pub fn metadata(self, kind: u32) -> Option<Md> {
        Val::from_raw(llvm!(LLVMGetMetadata(self.0, kind)))?.as_metadata()
    }

    pub fn debug_location(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMInstructionGetDebugLoc(self.0)))
    }

    pub fn first_record(self) -> Option<Record> {
        Record::from_raw(llvm!(LLVMGetFirstDbgRecord(self.0)))
    }

    // Globals and functions

    pub fn is_declaration(self) -> bool {
        llvm!(LLVMIsDeclaration(self.0)) != 0
    }

    pub fn linkage(self) -> LLVMLinkage {
        llvm!(LLVMGetLinkage(self.0))
    }

    pub fn value_type(self) -> Option<Ty> {
        Ty::from_raw(llvm!(LLVMGlobalGetValueType(self.0)))
    }

    pub fn initializer(self) -> Option<Val> {
        Val::from_raw(llvm!(LLVMGetInitializer(self.0)))
    }

    pub fn is_constant_global(self) -> bool {
        llvm!(LLVMIsGlobalConstant(self.0)) != 0
    }

    pub fn is_thread_local(self) -> bool {
        llvm!(LLVMIsThreadLocal(self.0)) != 0
    }

    pub fn aliasee(self) -> Option<Val> {
        Val::from_raw(llvm!(LLVMAliasGetAliasee(self.0)))
    }

    pub fn resolver(self) -> Option<Val> {
        Val::from_raw(llvm!(LLVMGetGlobalIFuncResolver(self.0)))
    }

    /// The debug variable attached to a global.
    pub fn global_variable(self, dbg_kind: u32) -> Option<Md> {
        let mut count = 0;
        let entries = llvm!(LLVMGlobalCopyAllMetadata(self.0, &mut count));
        let found = (0..count as u32)
            .find(|&i| llvm!(LLVMValueMetadataEntriesGetKind(entries, i)) == dbg_kind)
            .and_then(|i| Md::from_raw(llvm!(LLVMValueMetadataEntriesGetMetadata(entries, i))));
        llvm!(LLVMDisposeValueMetadataEntries(entries));
        Md::from_raw(llvm!(LLVMDIGlobalVariableExpressionGetVariable(found?.0)))
    }

    pub fn subprogram(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMGetSubprogram(self.0)))
    }

    pub fn function_has(self, attribute: u32) -> bool {
        !llvm!(LLVMGetEnumAttributeAtIndex(self.0, FUNCTION_ATTRIBUTES, attribute)).is_null()
    }

    pub fn remove_function_attribute(self, attribute: u32) {
        llvm!(LLVMRemoveEnumAttributeAtIndex(self.0, FUNCTION_ATTRIBUTES, attribute));
    }

    pub fn add_function_attribute(self, unit: Unit, attribute: u32) {
        let attribute = llvm!(LLVMCreateEnumAttribute(unit.context, attribute, 0));
        llvm!(LLVMAddAttributeAtIndex(self.0, FUNCTION_ATTRIBUTES, attribute));
    }

    pub fn param_has(self, param: u32, attribute: u32) -> bool {
        !llvm!(LLVMGetEnumAttributeAtIndex(self.0, param + 1, attribute)).is_null()
    }

    pub fn params(self) -> impl Iterator<Item = Val> {
        let first = Val::from_raw(llvm!(LLVMGetFirstParam(self.0)));
        std::iter::successors(first, |v| Val::from_raw(llvm!(LLVMGetNextParam(v.0))))
    }

    pub fn blocks(self) -> impl Iterator<Item = Bb> {
        let first = Bb::from_raw(llvm!(LLVMGetFirstBasicBlock(self.0)));
        std::iter::successors(first, |b| Bb::from_raw(llvm!(LLVMGetNextBasicBlock(b.0))))
    }

    // Instructions

    pub fn opcode(self) -> LLVMOpcode {
        llvm!(LLVMGetInstructionOpcode(self.0))
    }

    /// The opcode of a constant expression.
    pub fn const_opcode(self) -> LLVMOpcode {
        llvm!(LLVMGetConstOpcode(self.0))
    }

    pub fn is_volatile(self) -> bool {
        llvm!(LLVMGetVolatile(self.0)) != 0
    }

    pub fn ordering(self) -> LLVMAtomicOrdering {
        llvm!(LLVMGetOrdering(self.0))
    }

    pub fn is_atomic(self) -> bool {
        !matches!(self.ordering(), LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic)
    }

    /// Whether it orders one thread with itself only (`atomic_signal_fence`).
    pub fn is_single_thread(self) -> bool {
        llvm!(LLVMIsAtomicSingleThread(self.0)) != 0
    }

    pub fn rmw_op(self) -> LLVMAtomicRMWBinOp {
        llvm!(LLVMGetAtomicRMWBinOp(self.0))
    }

    pub fn cmpxchg_orderings(self) -> (LLVMAtomicOrdering, LLVMAtomicOrdering) {
        (llvm!(LLVMGetCmpXchgSuccessOrdering(self.0)), llvm!(LLVMGetCmpXchgFailureOrdering(self.0)))
    }

    pub fn int_predicate(self) -> LLVMIntPredicate {
        llvm!(LLVMGetICmpPredicate(self.0))
    }

    pub fn float_predicate(self) -> u8 {
        llvm!(LLVMGetFCmpPredicate(self.0)) as u8
    }

    pub fn allocated_type(self) -> Option<Ty> {
        Ty::from_raw(llvm!(LLVMGetAllocatedType(self.0)))
    }

    /// For a `getelementptr`, instruction or constant expression.
    pub fn source_element_type(self) -> Option<Ty> {
        Ty::from_raw(llvm!(LLVMGetGEPSourceElementType(self.0)))
    }

    pub fn incoming(self) -> impl Iterator<Item = (Val, Bb)> {
        (0..llvm!(LLVMCountIncoming(self.0))).filter_map(move |i| {
            let value = Val::from_raw(llvm!(LLVMGetIncomingValue(self.0, i)))?;
            Some((value, Bb::from_raw(llvm!(LLVMGetIncomingBlock(self.0, i)))?))
        })
    }

    /// Constant indices of `extractvalue` and `insertvalue`.
    pub fn indices(self) -> Box<[u32]> {
        let count = llvm!(LLVMGetNumIndices(self.0)) as usize;
        let data = llvm!(LLVMGetIndices(self.0));
        if count == 0 || data.is_null() {
            return Box::default();
        }
        // SAFETY: LLVM keeps `count` indices at `data` for as long as the instruction lives.
        unsafe { std::slice::from_raw_parts(data, count) }.into()
    }

    pub fn shuffle_mask(self) -> Box<[i32]> {
        let count = llvm!(LLVMGetNumMaskElements(self.0));
        (0..count).map(|i| llvm!(LLVMGetMaskValue(self.0, i))).collect()
    }

    pub fn is_cleanup(self) -> bool {
        llvm!(LLVMIsCleanup(self.0)) != 0
    }

    pub fn successors(self) -> impl Iterator<Item = Bb> {
        (0..llvm!(LLVMGetNumSuccessors(self.0)))
            .filter_map(move |i| Bb::from_raw(llvm!(LLVMGetSuccessor(self.0, i))))
    }

    /// Value of the switch case that leads to successor `index` (from 1; 0 is the default).
    pub fn case_value(self, index: u32) -> Option<Val> {
        Val::from_raw(llvm!(LLVMGetSwitchCaseValue(self.0, index)))
    }

    // Calls

    pub fn argument_count(self) -> u32 {
        llvm!(LLVMGetNumArgOperands(self.0))
    }

    pub fn called_value(self) -> Option<Val> {
        Val::from_raw(llvm!(LLVMGetCalledValue(self.0)))
    }

    pub fn call_has(self, attribute: u32) -> bool {
        !llvm!(LLVMGetCallSiteEnumAttribute(self.0, FUNCTION_ATTRIBUTES, attribute)).is_null()
    }

    pub fn asm_text(self) -> (String, String) {
        let (mut length, mut constraint_length) = (0, 0);
        let asm = llvm!(LLVMGetInlineAsmAsmString(self.0, &mut length));
        let constraints = llvm!(LLVMGetInlineAsmConstraintString(self.0, &mut constraint_length));
        (text(asm, length), text(constraints, constraint_length))
    }

    // Constants

    pub fn zext(self) -> u64 {
        llvm!(LLVMConstIntGetZExtValue(self.0))
    }

    /// The value of an integer constant of at most 64 bits.
    pub fn as_int(self) -> Option<i64> {
        let is_int = self.kind() == LLVMValueKind::LLVMConstantIntValueKind;
        let ty = self.ty()?;
        if !is_int || ty.kind() != LLVMTypeKind::LLVMIntegerTypeKind || ty.int_bits() > 64 {
            return None;
        }
        Some(llvm!(LLVMConstIntGetSExtValue(self.0)))
    }

    pub fn as_double(self) -> f64 {
        let mut lossy = 0;
        llvm!(LLVMConstRealGetDouble(self.0, &mut lossy))
    }

    /// Element of a constant aggregate; `None` past its end.
    pub fn element(self, index: u32) -> Option<Val> {
        Val::from_raw(llvm!(LLVMGetAggregateElement(self.0, index)))
    }

    /// The raw bytes of a constant data array or vector.
    pub fn data_bytes(self) -> Vec<u8> {
        let mut size = 0_usize;
        // The binding declares the out-parameter as an integer; it is a pointer in the C header.
        let data = llvm!(LLVMGetRawDataValues(self.0, (&raw mut size) as usize));
        if data.is_null() || size == 0 {
            return Vec::new();
        }
        // SAFETY: LLVM keeps `size` bytes at `data` for as long as the constant lives.
        unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) }.to_vec()
    }
}
