//! Handles on LLVM objects: the only place of this crate that calls LLVM's C interface for reading.
//!
//! Each handle is a non-null pointer into a module that the caller of the lowering keeps borrowed
//! (`&inkwell::module::Module`) for as long as any handle is alive; handles never leave the crate.
//! The lowering only reads, so handles stay valid throughout.

use std::ffi::{CStr, c_char};
use std::ptr;

use inkwell::llvm_sys::core::*;
pub use inkwell::llvm_sys::debuginfo::LLVMMetadataKind;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::*;
use inkwell::llvm_sys::transforms::pass_builder::*;
pub use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMDbgRecordKind, LLVMIntPredicate, LLVMLinkage,
    LLVMOpcode, LLVMTypeKind, LLVMValueKind,
};

/// Calls LLVM on pointers that come from handles.
macro_rules! llvm {
    ($call:expr) => {{
        // SAFETY: handles point into a module that outlives them (see the module's comment), and
        // each call is made on the kind of object that it expects: the caller matched on the kind.
        unsafe { $call }
    }};
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name($raw);

        impl $name {
            pub fn from_raw(raw: $raw) -> Option<Self> {
                (!raw.is_null()).then_some(Self(raw))
            }
        }
    };
}

handle!(/// Any value: instruction, argument, constant, global.
    Val, LLVMValueRef);
handle!(/// A type.
    Ty, LLVMTypeRef);
handle!(/// A basic block.
    Bb, LLVMBasicBlockRef);
handle!(/// A metadata node.
    Md, LLVMMetadataRef);
handle!(/// A debug record (`#dbg_value`, `#dbg_declare`).
    Record, LLVMDbgRecordRef);

mod value;

/// Copies `length` bytes of LLVM-owned text.
fn text(data: *const c_char, length: usize) -> String {
    if data.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: LLVM returned this pointer together with its length.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Takes over a NUL-terminated message that LLVM allocated.
fn message(data: *mut c_char) -> String {
    if data.is_null() {
        return String::new();
    }
    // SAFETY: LLVM hands over a NUL-terminated string that we free exactly once.
    unsafe {
        let copy = CStr::from_ptr(data).to_string_lossy().into_owned();
        LLVMDisposeMessage(data);
        copy
    }
}

/// The module as a whole, with its context and data layout.
#[derive(Clone, Copy)]
pub struct Unit {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    layout: LLVMTargetDataRef,
}

impl Unit {
    pub fn new(module: LLVMModuleRef) -> Self {
        let context = llvm!(LLVMGetModuleContext(module));
        let layout = llvm!(LLVMGetModuleDataLayout(module));
        Self { module, context, layout }
    }

    /// Runs passes of the new pass manager; gives LLVM's message on failure.
    pub fn run_passes(self, passes: &CStr) -> Result<(), String> {
        // SAFETY: the module is alive, the options are disposed of once, no target machine is
        // needed by target-independent passes, and the error message is copied before it is freed.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.module, passes.as_ptr(), ptr::null_mut(), options);
            LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let raw = LLVMGetErrorMessage(error);
            let message = CStr::from_ptr(raw).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(raw);
            Err(message)
        }
    }

    pub fn source_name(self) -> String {
        let mut length = 0;
        let data = llvm!(LLVMGetSourceFileName(self.module, &mut length));
        text(data, length)
    }

    pub fn inline_asm(self) -> String {
        let mut length = 0;
        let data = llvm!(LLVMGetModuleInlineAsm(self.module, &mut length));
        text(data, length)
    }

    pub fn functions(self) -> impl Iterator<Item = Val> {
        let first = Val::from_raw(llvm!(LLVMGetFirstFunction(self.module)));
        std::iter::successors(first, |v| Val::from_raw(llvm!(LLVMGetNextFunction(v.0))))
    }

    pub fn globals(self) -> impl Iterator<Item = Val> {
        let first = Val::from_raw(llvm!(LLVMGetFirstGlobal(self.module)));
        std::iter::successors(first, |v| Val::from_raw(llvm!(LLVMGetNextGlobal(v.0))))
    }

    pub fn aliases(self) -> impl Iterator<Item = Val> {
        let first = Val::from_raw(llvm!(LLVMGetFirstGlobalAlias(self.module)));
        std::iter::successors(first, |v| Val::from_raw(llvm!(LLVMGetNextGlobalAlias(v.0))))
    }

    pub fn ifuncs(self) -> impl Iterator<Item = Val> {
        let first = Val::from_raw(llvm!(LLVMGetFirstGlobalIFunc(self.module)));
        std::iter::successors(first, |v| Val::from_raw(llvm!(LLVMGetNextGlobalIFunc(v.0))))
    }

    /// The nodes of a named metadata list (`llvm.dbg.cu`).
    pub fn named_metadata(self, name: &CStr) -> Vec<Md> {
        let count = llvm!(LLVMGetNamedMetadataNumOperands(self.module, name.as_ptr())) as usize;
        let mut values: Vec<LLVMValueRef> = vec![ptr::null_mut(); count];
        if count > 0 {
            llvm!(LLVMGetNamedMetadataOperands(self.module, name.as_ptr(), values.as_mut_ptr()));
        }
        values.into_iter().filter_map(|v| Val::from_raw(v)?.as_metadata()).collect()
    }

    pub fn attribute_kind(name: &str) -> u32 {
        llvm!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()))
    }

    pub fn metadata_kind(self, name: &str) -> u32 {
        let length = name.len() as u32;
        llvm!(LLVMGetMDKindIDInContext(self.context, name.as_ptr().cast(), length))
    }

    /// The empty `!DIExpression()`, a uniqued node, so that identity tells emptiness.
    pub fn empty_expression(self) -> Option<Md> {
        let builder = llvm!(LLVMCreateDIBuilderDisallowUnresolved(self.module));
        let node = llvm!(LLVMDIBuilderCreateExpression(builder, ptr::null_mut(), 0));
        llvm!(LLVMDisposeDIBuilder(builder));
        Md::from_raw(node)
    }

    /// Size with padding to alignment; zero for unsized types.
    pub fn alloc_size(self, ty: Ty) -> u64 {
        if ty.is_sized() { llvm!(LLVMABISizeOfType(self.layout, ty.0)) } else { 0 }
    }

    /// Bytes that a load or store touches.
    pub fn store_size(self, ty: Ty) -> u64 {
        if ty.is_sized() { llvm!(LLVMStoreSizeOfType(self.layout, ty.0)) } else { 0 }
    }

    pub fn field_offset(self, ty: Ty, field: u32) -> u64 {
        llvm!(LLVMOffsetOfElement(self.layout, ty.0, field))
    }

    /// Operands of a metadata node; absent ones are `None`.
    pub fn operands(self, node: Md) -> Vec<Option<Val>> {
        let value = llvm!(LLVMMetadataAsValue(self.context, node.0));
        let count = llvm!(LLVMGetMDNodeNumOperands(value)) as usize;
        let mut values: Vec<LLVMValueRef> = vec![ptr::null_mut(); count];
        if count > 0 {
            llvm!(LLVMGetMDNodeOperands(value, values.as_mut_ptr()));
        }
        values.into_iter().map(Val::from_raw).collect()
    }
}

impl Ty {
    pub fn kind(self) -> LLVMTypeKind {
        llvm!(LLVMGetTypeKind(self.0))
    }

    pub fn is_sized(self) -> bool {
        llvm!(LLVMTypeIsSized(self.0)) != 0
            && self.kind() != LLVMTypeKind::LLVMScalableVectorTypeKind
    }

    pub fn int_bits(self) -> u32 {
        llvm!(LLVMGetIntTypeWidth(self.0))
    }

    pub fn element(self) -> Option<Ty> {
        Ty::from_raw(llvm!(LLVMGetElementType(self.0)))
    }

    pub fn array_length(self) -> u64 {
        llvm!(LLVMGetArrayLength2(self.0))
    }

    pub fn vector_length(self) -> u64 {
        u64::from(llvm!(LLVMGetVectorSize(self.0)))
    }

    pub fn is_opaque_struct(self) -> bool {
        llvm!(LLVMIsOpaqueStruct(self.0)) != 0
    }

    /// The name of a named struct (`struct.conn`).
    pub fn struct_name(self) -> Option<String> {
        if self.kind() != LLVMTypeKind::LLVMStructTypeKind {
            return None;
        }
        let name = llvm!(LLVMGetStructName(self.0));
        if name.is_null() {
            return None;
        }
        // SAFETY: LLVM returned a NUL-terminated name that lives as long as the type.
        Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    pub fn field_count(self) -> u32 {
        llvm!(LLVMCountStructElementTypes(self.0))
    }

    pub fn field(self, index: u32) -> Option<Ty> {
        if index >= self.field_count() {
            return None;
        }
        Ty::from_raw(llvm!(LLVMStructGetTypeAtIndex(self.0, index)))
    }

    pub fn result(self) -> Option<Ty> {
        Ty::from_raw(llvm!(LLVMGetReturnType(self.0)))
    }

    pub fn is_variadic(self) -> bool {
        llvm!(LLVMIsFunctionVarArg(self.0)) != 0
    }

    pub fn params(self) -> Vec<Ty> {
        let count = llvm!(LLVMCountParamTypes(self.0)) as usize;
        let mut raw: Vec<LLVMTypeRef> = vec![ptr::null_mut(); count];
        if count > 0 {
            llvm!(LLVMGetParamTypes(self.0, raw.as_mut_ptr()));
        }
        raw.into_iter().filter_map(Ty::from_raw).collect()
    }
}

impl Bb {
    pub fn instructions(self) -> impl Iterator<Item = Val> {
        let first = Val::from_raw(llvm!(LLVMGetFirstInstruction(self.0)));
        std::iter::successors(first, |v| Val::from_raw(llvm!(LLVMGetNextInstruction(v.0))))
    }
}

impl Record {
    pub fn next(self) -> Option<Record> {
        Record::from_raw(llvm!(LLVMGetNextDbgRecord(self.0)))
    }

    pub fn kind(self) -> LLVMDbgRecordKind {
        llvm!(LLVMDbgRecordGetKind(self.0))
    }

    pub fn value(self) -> Option<Val> {
        Val::from_raw(llvm!(LLVMDbgVariableRecordGetValue(self.0, 0)))
    }

    pub fn variable(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMDbgVariableRecordGetVariable(self.0)))
    }

    pub fn expression(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMDbgVariableRecordGetExpression(self.0)))
    }
}

impl Md {
    pub fn kind(self) -> LLVMMetadataKind {
        llvm!(LLVMGetMetadataKind(self.0))
    }

    pub fn tag(self) -> u16 {
        llvm!(LLVMGetDINodeTag(self.0))
    }

    pub fn type_size_bits(self) -> u64 {
        llvm!(LLVMDITypeGetSizeInBits(self.0))
    }

    pub fn type_offset_bits(self) -> u64 {
        llvm!(LLVMDITypeGetOffsetInBits(self.0))
    }

    pub fn type_flags(self) -> i32 {
        llvm!(LLVMDITypeGetFlags(self.0))
    }

    pub fn location_line(self) -> u32 {
        llvm!(LLVMDILocationGetLine(self.0))
    }

    pub fn location_column(self) -> u32 {
        llvm!(LLVMDILocationGetColumn(self.0))
    }

    pub fn location_scope(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMDILocationGetScope(self.0)))
    }

    /// Where the function that the location is in was called, if it was put there.
    pub fn location_inlined_at(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMDILocationGetInlinedAt(self.0)))
    }

    pub fn scope_file(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMDIScopeGetFile(self.0)))
    }

    pub fn file_name(self) -> String {
        let mut length = 0;
        let data = llvm!(LLVMDIFileGetFilename(self.0, &mut length));
        text(data, length as usize)
    }

    pub fn file_directory(self) -> String {
        let mut length = 0;
        let data = llvm!(LLVMDIFileGetDirectory(self.0, &mut length));
        text(data, length as usize)
    }

    pub fn subprogram_line(self) -> u32 {
        llvm!(LLVMDISubprogramGetLine(self.0))
    }

    pub fn variable_line(self) -> u32 {
        llvm!(LLVMDIVariableGetLine(self.0))
    }

    pub fn variable_file(self) -> Option<Md> {
        Md::from_raw(llvm!(LLVMDIVariableGetFile(self.0)))
    }
}
