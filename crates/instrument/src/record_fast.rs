//! The recorder's fast path, put into the instrumented code itself.
//!
//! Most accesses whose address the reader computes find what it knows them to find, at a place that
//! needs no new number: they are counted and no more. As a call this takes five nanoseconds, half of
//! them for the call and for what the caller keeps in registers meanwhile. So each call of such a hook
//! becomes the comparison, with the call behind it for everything else (`inline` does the same for the
//! detector).
//!
//! The text below and the runtime agree on: what a thread counts with (`record/hot.rs`), the cells
//! (`record/places.rs`) and the words (`derived` of the trace). `record/known.rs` has the same in Rust for
//! the units of libraries: only executables hold the runtime, so only their units get it in place.

use std::collections::HashSet;
use std::fmt::Write;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::module::{Linkage, Module};
use inkwell::values::AsValueRef;

use crate::InstrumentError;
use crate::inline::link_text;

/// Offsets in what a thread counts with.
const OWN: u32 = 0;
const READS: u32 = 8;
const CHECK: u32 = 16;
const LEFT: u32 = 24;
const KNOWN: u32 = 32;

/// Entries of both tables, less one.
const LAST: u64 = (1 << 22) - 1;

/// A cell: who has it, and what it is when all read it.
const OWNER_BITS: u32 = 22;
const OWNER: u64 = (1 << OWNER_BITS) - 1;
const KIND: u64 = 3;
const READ: u64 = 2;

/// What an address is multiplied by (`derived::word` of the trace).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Replaces the calls; `inline::PIPELINE` must run afterwards.
pub(crate) fn inline_known(module: &Module) -> Result<(), InstrumentError> {
    let mut paths = Vec::new();
    for size in [1, 2, 4, 8] {
        paths.push((format!("known_load{size}"), load(size)));
        paths.push((format!("known_store{size}"), store(size)));
    }
    paths.push(("entered".to_owned(), entered()));
    paths.retain(|(name, _)| module.get_function(&format!("__racewarden_record_{name}")).is_some());
    if paths.is_empty() {
        return Ok(());
    }
    let text = preamble() + &paths.iter().map(|(_, text)| text.as_str()).collect::<String>();
    link_text(module, &text)?;
    let mut calls = Vec::new();
    for (name, _) in &paths {
        let hook = module.get_function(&format!("__racewarden_record_{name}"));
        let fast = module.get_function(&format!("__racewarden_fast_{name}"));
        let (Some(hook), Some(fast)) = (hook, fast) else { continue };
        // Linking leaves internal functions out that nobody calls yet.
        fast.set_linkage(Linkage::Internal);
        // SAFETY: uses of a live function.
        unsafe {
            let mut next = LLVMGetFirstUse(hook.as_value_ref());
            while !next.is_null() {
                calls.push((LLVMGetUser(next), fast.as_value_ref()));
                next = LLVMGetNextUse(next);
            }
        }
    }
    let is_large = calls.len() > MOST_IN_PLACE;
    for (call, fast) in calls {
        // SAFETY: the callee is a call's last operand, and both functions are of one type.
        unsafe {
            let is_call = !LLVMIsACallInst(call).is_null();
            if is_call && (!is_large || goes_round(LLVMGetInstructionParent(call))) {
                LLVMSetOperand(call, LLVMGetNumOperands(call) as u32 - 1, fast);
            }
        }
    }
    Ok(())
}

/// A unit with more such accesses gets the comparison within short loops alone: code that is a multiple
/// of what it was takes the compiler as much longer.
const MOST_IN_PLACE: usize = 2_000;
/// What a short loop is, in blocks.
const SHORT: u32 = 8;

/// Whether the block is part of a short loop without switches.
///
/// # Safety
/// The block is alive.
unsafe fn goes_round(block: LLVMBasicBlockRef) -> bool {
    let mut seen = HashSet::new();
    let mut reached = vec![block];
    for _ in 0..SHORT {
        let mut next = Vec::new();
        for at in reached {
            // SAFETY: blocks of a live function; a branch has one or two successors.
            unsafe {
                let end = LLVMGetBasicBlockTerminator(at);
                if end.is_null() || LLVMIsABranchInst(end).is_null() {
                    continue;
                }
                for index in 0..LLVMGetNumSuccessors(end) {
                    let successor = LLVMGetSuccessor(end, index);
                    if successor == block {
                        return true;
                    }
                    if seen.insert(successor) {
                        next.push(successor);
                    }
                }
            }
        }
        reached = next;
    }
    false
}

fn preamble() -> String {
    "@__racewarden_hot = external hidden thread_local(localexec) global ptr\n\
     @__racewarden_places = external hidden global [0 x i64]\n\
     declare void @__racewarden_record_counted() #1\n\
     declare i64 @__racewarden_record_slow_load(ptr, i64) #1\n\
     declare void @__racewarden_record_slow_store(ptr, i64, i64) #1\n\
     declare void @__racewarden_record_branch(i64) #1\n\
     declare void @__racewarden_record_disturbed(ptr, i64, i64, i64) #1\n\
     !0 = !{!\"branch_weights\", i32 2000, i32 1}\n\
     !1 = !{!\"branch_weights\", i32 1, i32 2000}\n\
     attributes #0 = { alwaysinline nounwind }\n\
     attributes #1 = { nounwind }\n"
        .to_owned()
}

/// A field of what the thread counts with: `%name`.
fn field(name: &str, offset: u32) -> String {
    format!(
        "  %{name}.at = getelementptr i8, ptr %hot, i64 {offset}\n  \
           %{name} = load i64, ptr %{name}.at, align 8\n"
    )
}

/// Whether the bytes lie where `find` expects them; goes on at `look`, or at `slow`.
fn align(size: u64) -> String {
    format!(
        "  %low = and i64 %i, {}\n  \
           %aligned = icmp eq i64 %low, 0\n  \
           br i1 %aligned, label %look, label %slow, !prof !0\n\
         look:\n",
        size - 1
    )
}

/// Where everything is that belongs to the eight bytes.
fn find(size: u64) -> String {
    let mut text = String::new();
    // With eight bytes there is nothing to cut out.
    let granule = match size {
        8 => "%i",
        _ => {
            text += "  %granule = and i64 %i, -8\n  \
                       %bytes = and i64 %i, 7\n  \
                       %shift = shl i64 %bytes, 3\n  \
                       %whole.at = inttoptr i64 %granule to ptr\n";
            "%granule"
        }
    };
    let _ = write!(
        text,
        "  %hot = load ptr, ptr @__racewarden_hot, align 8\n  \
           %hash = mul i64 {granule}, {}\n  \
           %number = lshr i64 %i, 3\n  \
           %index = and i64 %number, {LAST}\n  \
           %cell.at = getelementptr i64, ptr @__racewarden_places, i64 %index\n  \
           %table = getelementptr i8, ptr %hot, i64 {KNOWN}\n  \
           %known.at = getelementptr i64, ptr %table, i64 %index\n",
        MIX.cast_signed(),
    );
    text
}

/// Counts an access that leaves `%now`, each number by one instruction, since a signal's handler may
/// count, too. Goes on at `done`.
fn count() -> String {
    let mut text = field("check", CHECK);
    text += "  %next = add i64 %check, %now\n  \
               store i64 %next, ptr %check.at, align 8\n";
    text += &field("left", LEFT);
    text += "  %fewer = add i64 %left, -1\n  \
               store i64 %fewer, ptr %left.at, align 8\n  \
               %last = icmp eq i64 %fewer, 0\n  \
               br i1 %last, label %counted, label %done, !prof !1\n\
             counted:\n  \
               call void @__racewarden_record_counted() #1\n  \
               br label %done\n\
             done:\n";
    text
}

fn load(size: u64) -> String {
    let mut text = format!(
        "define i64 @__racewarden_fast_known_load{size}(ptr %address) #0 {{\n  \
           %i = ptrtoint ptr %address to i64\n"
    );
    if matches!(size, 2 | 4) {
        text += &align(size);
    }
    text += &find(size);
    text += match size {
        // Where they lie across two words, the word that is compared is one that no store leaves.
        8 => "  %whole = load volatile i64, ptr %address, align 1\n",
        _ => "  %whole = load atomic i64, ptr %whole.at acquire, align 8\n",
    };
    text += &field("own", OWN);
    let _ = write!(
        text,
        "  %state = load atomic i64, ptr %cell.at acquire, align 8\n  \
           %owner = and i64 %state, {OWNER}\n  \
           %mine = icmp eq i64 %owner, %own\n  \
           br i1 %mine, label %compare, label %shared\n\
         shared:\n  \
           %kind = and i64 %state, {KIND}\n  \
           %read = icmp eq i64 %kind, {READ}\n  \
           br i1 %read, label %since, label %slow, !prof !0\n\
         since:\n  \
           %begin = lshr i64 %state, {OWNER_BITS}\n"
    );
    text += &field("reads", READS);
    text += "  %old = icmp ule i64 %begin, %reads\n  \
               br i1 %old, label %compare, label %slow, !prof !0\n\
             compare:\n  \
               %now = xor i64 %whole, %hash\n  \
               %known = load i64, ptr %known.at, align 8\n  \
               %same = icmp eq i64 %known, %now\n  \
               br i1 %same, label %count, label %slow, !prof !0\n\
             count:\n";
    text += &count();
    text += match size {
        8 => "  ret i64 %whole\n",
        _ => "  %part = lshr i64 %whole, %shift\n  ret i64 %part\n",
    };
    let _ = write!(
        text,
        "slow:\n  \
           %found = call i64 @__racewarden_record_slow_load(ptr %address, i64 {size}) #1\n  \
           ret i64 %found\n\
         }}\n"
    );
    text
}

fn store(size: u64) -> String {
    let bits = size * 8;
    let mut text = format!(
        "define void @__racewarden_fast_known_store{size}(ptr %address, i64 %value) #0 {{\n  \
           %i = ptrtoint ptr %address to i64\n"
    );
    if size > 1 {
        text += &align(size);
    }
    text += &find(size);
    text += &field("own", OWN);
    let _ = write!(
        text,
        "  %state = load atomic i64, ptr %cell.at acquire, align 8\n  \
           %owner = and i64 %state, {OWNER}\n  \
           %mine = icmp eq i64 %owner, %own\n  \
           br i1 %mine, label %compare, label %slow, !prof !0\n\
         compare:\n"
    );
    if size == 8 {
        text += "  br label %put\n\
                 put:\n  \
                   %now = xor i64 %value, %hash\n  \
                   store atomic i64 %value, ptr %address release, align 8\n";
    } else {
        let mask = (1u64 << bits) - 1;
        let _ = write!(
            text,
            "  %before = load atomic i64, ptr %whole.at acquire, align 8\n  \
               %old = xor i64 %before, %hash\n  \
               %known = load i64, ptr %known.at, align 8\n  \
               %same = icmp eq i64 %known, %old\n  \
               br i1 %same, label %put, label %slow, !prof !0\n\
             put:\n  \
               %narrow = trunc i64 %value to i{bits}\n  \
               %part = and i64 %value, {mask}\n  \
               %mask = shl i64 {mask}, %shift\n  \
               %rest = xor i64 %mask, -1\n  \
               %kept = and i64 %before, %rest\n  \
               %moved = shl i64 %part, %shift\n  \
               %whole = or i64 %kept, %moved\n  \
               %now = xor i64 %whole, %hash\n  \
               store atomic i{bits} %narrow, ptr %address release, align {size}\n"
        );
    }
    text += "  fence syncscope(\"singlethread\") seq_cst\n  \
               %state.now = load atomic i64, ptr %cell.at acquire, align 8\n  \
               %still = icmp eq i64 %state.now, %state\n  \
               br i1 %still, label %count, label %disturbed, !prof !0\n\
             count:\n  \
               store i64 %now, ptr %known.at, align 8\n";
    text += &count();
    let whole = if size == 8 { "%value" } else { "%whole" };
    let _ = write!(
        text,
        "  ret void\n\
         disturbed:\n  \
           call void @__racewarden_record_disturbed(ptr %address, i64 {size}, i64 %value, \
             i64 {whole}) #1\n  \
           ret void\n\
         slow:\n  \
           call void @__racewarden_record_slow_store(ptr %address, i64 {size}, i64 %value) #1\n  \
           ret void\n\
         }}\n"
    );
    text
}

/// The branch of a loop: recorded where the loop is entered.
fn entered() -> String {
    "define void @__racewarden_fast_entered(i64 %value, i64 %first) #0 {\n  \
       %is = icmp ne i64 %first, 0\n  \
       br i1 %is, label %tell, label %done\n\
     tell:\n  \
       call void @__racewarden_record_branch(i64 %value) #1\n  \
       br label %done\n\
     done:\n  \
       ret void\n\
     }\n"
    .to_owned()
}
