//! Accesses that cannot race are not watched: they get `!nosanitize`, which the tsan pass heeds.
//!
//! Which they are is known of the code as it was written, but it is watched after it was optimised.
//! `!nosanitize` does not come that far: whoever combines, widens or splits an access drops it. So the
//! accesses are first put into an access group (`!llvm.access.group`), of which passes take care: what
//! becomes of several accesses is in a group only if all of them were. The group means nothing to
//! anyone, because no loop names it. Before the tsan pass runs, `!nosanitize` takes its place.
//!
//! Where straight code is made a vector's, the group is lost although all accesses were in it. So they get
//! a memory model's annotation (`!mmra`) of our own as well, of which passes say the same: two accesses
//! that become one keep what both have. No memory model knows it; it is taken away at the end.
//!
//! Only plain loads and stores are marked. An atomic access synchronises, and is always seen.

use std::collections::{BTreeMap, BTreeSet};

use inkwell::context::ContextRef;
use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::AsValueRef;

/// Plain accesses, by the last name of the file.
pub type Places = BTreeMap<String, BTreeSet<PlainAccess>>;

/// A plain access at a place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlainAccess {
    pub line: u32,
    pub column: u32,
    pub write: bool,
}

/// Where a module keeps the group of the accesses that are left out.
const GROUP: &str = "racewarden.unwatched";

/// The annotation: a kind of tag, and the tag.
const TAG: [&str; 2] = ["racewarden", "unwatched"];

/// The annotation as metadata of an instruction.
fn tag(context: &ContextRef<'_>) -> LLVMValueRef {
    let words = TAG.map(|word| context.metadata_string(word).into());
    context.metadata_node(&words).as_value_ref()
}

/// Marks the accesses at these places in a module that is not optimised yet.
pub(crate) fn mark(module: &Module, places: &Places) -> Option<()> {
    let context = module.get_context();
    // Only the text form makes a node that is not shared with equal ones.
    let text = format!("!{GROUP} = !{{!0}}\n!0 = distinct !{{}}\n");
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "group");
    let made = context.create_module_from_ir(buffer).ok()?;
    let group = made.get_global_metadata(GROUP).pop()?;
    let kind = context.get_kind_id("llvm.access.group");
    let (tag_kind, tag) = (context.get_kind_id("mmra"), tag(&context));
    let mut any = false;
    each_instruction(module, |instruction| {
        // SAFETY: the instruction is alive; metadata changes no instruction.
        unsafe {
            if is_plain_access(instruction)
                && LLVMGetMetadata(instruction, kind).is_null()
                && let Some((file, place)) = place_of(instruction)
                && places.get(&file).is_some_and(|places| places.contains(&place))
            {
                LLVMSetMetadata(instruction, kind, group.as_value_ref());
                if LLVMGetMetadata(instruction, tag_kind).is_null() {
                    LLVMSetMetadata(instruction, tag_kind, tag);
                }
                any = true;
            }
        }
    });
    if any {
        module.add_global_metadata(GROUP, &group).ok()?;
    }
    Some(())
}

/// Takes the marks for what they mean, in a module that is optimised.
pub(crate) fn settle(module: &Module) {
    let context = module.get_context();
    let own = module.get_global_metadata(GROUP).pop().map(|group| group.as_value_ref());
    let group_kind = context.get_kind_id("llvm.access.group");
    let invariant = context.get_kind_id("invariant.load");
    let (tag_kind, tag) = (context.get_kind_id("mmra"), tag(&context));
    let kind = context.get_kind_id("nosanitize");
    let mark = context.metadata_node(&[]);
    each_instruction(module, |instruction| {
        // SAFETY: the instruction is alive; metadata changes no instruction.
        unsafe {
            if !is_plain_access(instruction) {
                return;
            }
            let groups = LLVMGetMetadata(instruction, group_kind);
            let tags = LLVMGetMetadata(instruction, tag_kind);
            let is_tagged = own.is_some() && is_in(tags, tag);
            if is_tagged {
                LLVMSetMetadata(instruction, tag_kind, std::ptr::null_mut());
            }
            let is_left_out = is_tagged || own.is_some_and(|own| is_in(groups, own));
            if is_left_out || !LLVMGetMetadata(instruction, invariant).is_null() {
                LLVMSetMetadata(instruction, kind, mark.as_value_ref());
            }
        }
    });
}

/// Whether the group is the one that is named, or in the list of those that are.
///
/// # Safety
/// `groups` is null or a live metadata node as a value, and so is `own`.
unsafe fn is_in(groups: LLVMValueRef, own: LLVMValueRef) -> bool {
    if groups.is_null() {
        return false;
    }
    // SAFETY: both are nodes; the list has as many operands as are asked for.
    unsafe {
        let node = |value| LLVMValueAsMetadata(value);
        if node(groups) == node(own) {
            return true;
        }
        let count = LLVMGetMDNodeNumOperands(groups) as usize;
        let mut operands: Vec<LLVMValueRef> = vec![std::ptr::null_mut(); count];
        LLVMGetMDNodeOperands(groups, operands.as_mut_ptr());
        operands.into_iter().any(|operand| !operand.is_null() && node(operand) == node(own))
    }
}

fn each_instruction(module: &Module, mut visit: impl FnMut(LLVMValueRef)) {
    for function in module.get_functions() {
        // SAFETY: walks the instructions of a live function, which visits do not change.
        unsafe {
            let mut block = LLVMGetFirstBasicBlock(function.as_value_ref());
            while !block.is_null() {
                let mut instruction = LLVMGetFirstInstruction(block);
                while !instruction.is_null() {
                    visit(instruction);
                    instruction = LLVMGetNextInstruction(instruction);
                }
                block = LLVMGetNextBasicBlock(block);
            }
        }
    }
}

/// # Safety
/// The instruction is alive.
unsafe fn is_plain_access(instruction: LLVMValueRef) -> bool {
    use inkwell::llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
    // SAFETY: the ordering and volatility are asked of loads and stores only.
    unsafe {
        let opcode = LLVMGetInstructionOpcode(instruction);
        matches!(opcode, LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore)
            && LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic
            && LLVMGetVolatile(instruction) == 0
    }
}

/// The last name of the file and the place of the access, when the instruction has them.
///
/// # Safety
/// The instruction is a live load or store.
unsafe fn place_of(instruction: LLVMValueRef) -> Option<(String, PlainAccess)> {
    let mut length = 0;
    // SAFETY: the file name belongs to the debug information and is copied at once.
    let path = unsafe {
        let name = LLVMGetDebugLocFilename(instruction, &mut length);
        if name.is_null() {
            return None;
        }
        let bytes = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
        String::from_utf8_lossy(bytes).into_owned()
    };
    // SAFETY: as above.
    let place = unsafe {
        PlainAccess {
            line: LLVMGetDebugLocLine(instruction),
            column: LLVMGetDebugLocColumn(instruction),
            write: LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMStore,
        }
    };
    let file = path.rsplit('/').next()?.to_owned();
    (place.line != 0).then_some((file, place))
}
