//! The recorder's fast path, put into the instrumented code itself.
//!
//! Most accesses whose address the reader computes find what it knows them to find, at a place that
//! needs no new number: they are counted and no more. As a call this takes five nanoseconds, half of
//! them for the call and for what the caller keeps in registers meanwhile. So each call of such a hook
//! becomes the comparison, with the call behind it for everything else (`inline` does the same for the
//! detector).
//!
//! The text below and the runtime agree on: the thread's block (`common/tls.rs`), what its first word
//! points to (`Hot` in `record/writer.rs`), the cells (`record/places.rs`) and the table of what is known
//! (`record/known.rs`, which has the same in Rust for the units of libraries). Only executables hold the
//! runtime, so only their units get it.

use std::fmt::Write;

use inkwell::module::{Linkage, Module};

use crate::InstrumentError;
use crate::inline::link_text;

/// Offsets in what the thread's block points to.
const ROOM: u32 = 0;
const CHECK: u32 = 8;
const OWN: u32 = 16;
const READS: u32 = 24;
const KNOWN: u32 = 32;

/// Entries of the two tables, less one.
const LAST_CELL: u64 = (1 << 22) - 1;
const LAST_KNOWN: u64 = (1 << 20) - 1;

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
    paths.retain(|(name, _)| module.get_function(&format!("__racewarden_record_{name}")).is_some());
    if paths.is_empty() {
        return Ok(());
    }
    let text = preamble() + &paths.iter().map(|(_, text)| text.as_str()).collect::<String>();
    link_text(module, &text)?;
    for (name, _) in &paths {
        let hook = module.get_function(&format!("__racewarden_record_{name}"));
        let fast = module.get_function(&format!("__racewarden_fast_{name}"));
        let (Some(hook), Some(fast)) = (hook, fast) else { continue };
        // Linking leaves internal functions out that nobody calls yet.
        fast.set_linkage(Linkage::Internal);
        let fast = fast.as_global_value().as_pointer_value();
        hook.as_global_value().as_pointer_value().replace_all_uses_with(fast);
    }
    Ok(())
}

fn preamble() -> String {
    "@__racewarden_tls = external hidden thread_local(localexec) global [64 x i8]\n\
     @__racewarden_places = external hidden global [0 x i64]\n\
     declare i64 @__racewarden_record_slow_load(ptr, i64) #1\n\
     declare void @__racewarden_record_slow_store(ptr, i64, i64) #1\n\
     declare void @__racewarden_record_disturbed(ptr, i64, i64, i64) #1\n\
     !0 = !{!\"branch_weights\", i32 2000, i32 1}\n\
     attributes #0 = { alwaysinline nounwind }\n\
     attributes #1 = { nounwind }\n"
        .to_owned()
}

/// A field of what the thread's block points to: `%name`.
fn field(name: &str, offset: u32, kind: &str) -> String {
    format!(
        "  %{name}.at = getelementptr i8, ptr %hot, i64 {offset}\n  \
           %{name} = load {kind}, ptr %{name}.at, align 8\n"
    )
}

/// The start of every access: whether it may be counted at all, and where everything is. Goes on at
/// `look`, or at `slow`.
fn find(size: u64) -> String {
    let mut text = "start:\n  \
           %hot = load ptr, ptr @__racewarden_tls, align 8\n  \
           %there = icmp ugt ptr %hot, inttoptr (i64 1 to ptr)\n  \
           br i1 %there, label %open, label %slow, !prof !0\n\
         open:\n"
        .to_owned();
    text += &field("room", ROOM, "i64");
    let _ = write!(
        text,
        "  %may = icmp ugt i64 %room, 1\n  \
           br i1 %may, label %align, label %slow, !prof !0\n\
         align:\n  \
           %i = ptrtoint ptr %address to i64\n  \
           %low = and i64 %i, {}\n  \
           %aligned = icmp eq i64 %low, 0\n  \
           br i1 %aligned, label %look, label %slow, !prof !0\n\
         look:\n  \
           %granule = and i64 %i, -8\n  \
           %hash = mul i64 %granule, {}\n  \
           %whole.at = inttoptr i64 %granule to ptr\n  \
           %bytes = and i64 %i, 7\n  \
           %shift = shl i64 %bytes, 3\n  \
           %number = lshr i64 %i, 3\n  \
           %cell = and i64 %number, {LAST_CELL}\n  \
           %cell.at = getelementptr i64, ptr @__racewarden_places, i64 %cell\n  \
           %place = and i64 %number, {LAST_KNOWN}\n",
        size - 1,
        MIX.cast_signed(),
    );
    text += &field("table", KNOWN, "ptr");
    text += "  %known.at = getelementptr i64, ptr %table, i64 %place\n";
    text += &field("own", OWN, "i64");
    text
}

/// Counts an access that leaves `%now`.
fn count() -> String {
    // The room is loaded once more, so that it is changed in one instruction: a signal's handler may
    // count, too.
    let mut text = field("check", CHECK, "i64");
    let _ = write!(
        text,
        "  %next = add i64 %check, %now\n  \
           store i64 %next, ptr %check.at, align 8\n  \
           %room.now = load i64, ptr %room.at, align 8\n  \
           %room.next = add i64 %room.now, -1\n  \
           store i64 %room.next, ptr %room.at, align 8\n"
    );
    text
}

fn load(size: u64) -> String {
    let mut text = format!("define i64 @__racewarden_fast_known_load{size}(ptr %address) #0 {{\n");
    text += &find(size);
    let _ = write!(
        text,
        "  %whole = load atomic i64, ptr %whole.at acquire, align 8\n  \
           %state = load atomic i64, ptr %cell.at acquire, align 8\n  \
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
    text += &field("reads", READS, "i64");
    text += "  %old = icmp ule i64 %begin, %reads\n  \
               br i1 %old, label %compare, label %slow, !prof !0\n\
             compare:\n  \
               %now = xor i64 %whole, %hash\n  \
               %known = load i64, ptr %known.at, align 8\n  \
               %same = icmp eq i64 %known, %now\n  \
               br i1 %same, label %count, label %slow, !prof !0\n\
             count:\n";
    text += &count();
    let _ = write!(
        text,
        "  %part = lshr i64 %whole, %shift\n  \
           ret i64 %part\n\
         slow:\n  \
           %found = call i64 @__racewarden_record_slow_load(ptr %address, i64 {size}) #1\n  \
           ret i64 %found\n\
         }}\n"
    );
    text
}

fn store(size: u64) -> String {
    let bits = size * 8;
    let mut text = format!(
        "define void @__racewarden_fast_known_store{size}(ptr %address, i64 %value) #0 {{\n"
    );
    text += &find(size);
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
