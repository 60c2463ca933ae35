//! The detector's fast path, put into the instrumented code itself.
//!
//! Nine accesses in ten find that their thread touched the same bytes since its last release, and
//! end there. That comparison is a dozen instructions; as a call it costs twice as much. So each
//! call of a TSan entry point becomes the comparison, with the call behind it for everything else.
//! Calls and returns of functions push and pop the thread's own stack of call sites in place, too.
//!
//! The same is possible by linking the runtime as bitcode (ThinLTO across languages); done here,
//! per unit, objects stay cacheable and links stay quick.
//!
//! The text below and the runtime agree on: the thread's block (`common/tls.rs`), the shadow's two
//! levels (`detect/shadow.rs`) and the cell (`detect/cell.rs`). Only executables hold the runtime,
//! so only their units get the inline path: its thread-local access is wrong elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use inkwell::builder::BuilderError;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::values::{CallSiteValue, FunctionValue, GlobalValue, InstructionValue};

use crate::InstrumentError;

/// Offsets in the thread's block.
const NOW: u32 = 32;
const TOP: u32 = 40;
const LIMIT: u32 = 48;
const BASE: u32 = 56;

/// The cell: see `detect/cell.rs` of the runtime.
const ATOMIC: u64 = 1 << 8;
const TAG: u64 = 1 << 9;
const WRITE: u64 = 1 << 10;
const EPOCH: u64 = 0x3fff << 49 | 0x3fff << 11;

/// Bytes of the program under one entry of the shadow's table, as a shift.
pub(crate) const CHUNK_SHIFT: u32 = 22;
/// An address's place in its chunk's cells: 16 bytes for 8.
const PLACE: u64 = (1 << (CHUNK_SHIFT + 1)) - 16;

/// What runs after [`inline`] put its functions in.
pub(crate) const PIPELINE: &str = "always-inline,globaldce,function(early-cse,simplifycfg)";

/// An entry point that gets an inline path.
struct Entry {
    /// After `__tsan_`.
    name: String,
    text: String,
    /// Whether it accesses memory, and is told the place.
    is_access: bool,
}

/// Replaces the calls that the tsan pass made; [`PIPELINE`] must run afterwards.
pub(crate) fn inline(module: &Module) -> Result<(), InstrumentError> {
    let entries: Vec<Entry> = entries()
        .into_iter()
        .filter(|entry| module.get_function(&format!("__tsan_{}", entry.name)).is_some())
        .collect();
    inline_ranges(module, false)?;
    inline_ranges(module, true)?;
    if entries.is_empty() {
        return Ok(());
    }
    let text = preamble() + &entries.iter().map(|entry| entry.text.as_str()).collect::<String>();
    link_text(module, &text)?;
    let mut accesses = HashMap::new();
    let mut described = Described::new();
    for entry in &entries {
        let out_of_line = format!("__tsan_{}", entry.name);
        let (Some(declared), Some(fast)) = (
            module.get_function(&out_of_line),
            module.get_function(&format!("__racewarden_fast_{}", entry.name)),
        ) else {
            continue;
        };
        // Linking leaves internal functions out that nobody calls yet.
        fast.set_linkage(Linkage::Internal);
        if entry.is_access {
            accesses.insert(declared, fast);
            continue;
        }
        if entry.name == "func_entry" {
            described = describe(module, declared, &entries);
            name_callees(module, declared, fast, &described)
                .map_err(|error| failed(module, error.to_string()))?;
        }
        let declared = declared.as_global_value();
        declared
            .as_pointer_value()
            .replace_all_uses_with(fast.as_global_value().as_pointer_value());
        // The name passes to what the inline path calls.
        declared.set_name(&format!("__racewarden_unused_{}", entry.name));
        if let Some(slow) = module.get_function(&format!("__racewarden_slow_{}", entry.name)) {
            slow.as_global_value().set_name(&out_of_line);
        }
    }
    number_places(module, &accesses, &described).map_err(|error| failed(module, error.to_string()))
}

/// What stands for each function that says when it is entered: a count of its places that access memory, and
/// a byte for each of them, whose address stands for the place. See `detect/chains.rs` of the runtime.
type Described<'c> = HashMap<FunctionValue<'c>, GlobalValue<'c>>;

/// The calls of one of these functions, in the order of the code.
fn calls_of<'c>(
    function: FunctionValue<'c>,
    is_one: impl Fn(&FunctionValue<'c>) -> bool,
) -> Vec<(InstructionValue<'c>, FunctionValue<'c>)> {
    let called = |instruction: InstructionValue<'c>| {
        let called = CallSiteValue::try_from(instruction).ok()?.get_called_fn_value()?;
        is_one(&called).then_some((instruction, called))
    };
    function
        .get_basic_block_iter()
        .flat_map(|block| block.get_instructions())
        .filter_map(called)
        .collect()
}

fn describe<'c>(
    module: &Module<'c>,
    entered: FunctionValue<'c>,
    entries: &[Entry],
) -> Described<'c> {
    let context = module.get_context();
    let number = context.i64_type();
    let accesses: HashSet<FunctionValue> = entries
        .iter()
        .filter(|entry| entry.is_access)
        .filter_map(|entry| module.get_function(&format!("__tsan_{}", entry.name)))
        .collect();
    let mut described = Described::new();
    for function in module.get_functions() {
        if calls_of(function, |called| *called == entered).is_empty() {
            continue;
        }
        let places = calls_of(function, |called| accesses.contains(called)).len();
        let room = context.i8_type().array_type(places as u32).const_zero();
        let value = context
            .const_struct(&[number.const_int(places as u64, false).into(), room.into()], false);
        let global = module.add_global(value.get_type(), None, "__racewarden_places");
        global.set_initializer(&value);
        global.set_linkage(Linkage::Internal);
        global.set_constant(true);
        global.set_alignment(8);
        described.insert(function, global);
    }
    described
}

/// Puts the inline path before each access, and tells it which of its function's places it is.
fn number_places(
    module: &Module,
    accesses: &HashMap<FunctionValue, FunctionValue>,
    described: &Described,
) -> Result<(), BuilderError> {
    let context = module.get_context();
    let builder = context.create_builder();
    let (byte, number) = (context.i8_type(), context.i64_type());
    for function in module.get_functions() {
        let Some(global) = described.get(&function) else { continue };
        let calls = calls_of(function, |called| accesses.contains_key(called));
        for (place, (call, called)) in calls.into_iter().enumerate() {
            let address = call.get_operand(0).and_then(|operand| operand.value());
            let (Some(fast), Some(address)) = (accesses.get(&called), address) else { continue };
            builder.position_before(&call);
            let offset = number.const_int(COUNT + place as u64, false);
            // SAFETY: inside the global, which has a byte for each place behind the count.
            let place = unsafe { global.as_pointer_value().const_gep(byte, &[offset]) };
            builder.build_call(*fast, &[address.into(), place.into()], "")?;
            call.erase_from_basic_block();
        }
    }
    Ok(())
}

pub(crate) fn failed(module: &Module, message: String) -> InstrumentError {
    InstrumentError::PassFailed {
        path: module.get_name().to_string_lossy().into_owned().into(),
        pass: "inlining the fast path".to_owned(),
        message,
    }
}

/// Adds functions given as text.
pub(crate) fn link_text(module: &Module, text: &str) -> Result<(), InstrumentError> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "fast path");
    let paths = module
        .get_context()
        .create_module_from_ir(buffer)
        .map_err(|error| failed(module, error.to_string()))?;
    paths.set_triple(&module.get_triple());
    paths.set_data_layout(&module.get_data_layout());
    module.link_in_module(paths).map_err(|error| failed(module, error.to_string()))
}

/// Sizes of ranges, in granules, that are looked at in place.
const SHORT_RANGES: std::ops::RangeInclusive<u64> = 2..=8;

/// Ranges of up to so many granules have their second cells looked at in place, too.
const MOST_TWICE: u64 = 4;

/// Puts the look in place before checks of ranges whose short length the code itself tells.
fn inline_ranges(module: &Module, write: bool) -> Result<(), InstrumentError> {
    let kind = if write { "write" } else { "read" };
    let Some(declared) = module.get_function(&format!("__tsan_{kind}_range")) else {
        return Ok(());
    };
    let calls: Vec<(InstructionValue, u64)> = module
        .get_functions()
        .flat_map(|function| function.get_basic_blocks())
        .flat_map(|block| block.get_instructions())
        .filter(|instruction| calls(*instruction, declared))
        .filter_map(|call| Some((call, short_length(call)?)))
        .collect();
    let lengths: BTreeSet<u64> = calls.iter().map(|(_, length)| *length).collect();
    if lengths.is_empty() {
        return Ok(());
    }
    let mut text = preamble() + &format!("declare void @__tsan_{kind}_range(ptr, i64) #1\n");
    for length in &lengths {
        text += &several(kind, *length, write);
    }
    link_text(module, &text)?;
    let builder = module.get_context().create_builder();
    for (call, length) in calls {
        let fast = module.get_function(&format!("__racewarden_fast_{kind}_range{length}"));
        let address = call.get_operand(0).and_then(|operand| operand.value());
        let (Some(fast), Some(address)) = (fast, address) else { continue };
        fast.set_linkage(Linkage::Internal);
        builder.position_before(&call);
        builder
            .build_call(fast, &[address.into()], "")
            .map_err(|error| failed(module, error.to_string()))?;
        call.erase_from_basic_block();
    }
    Ok(())
}

/// How many granules a call with a range has, when that is a short constant.
fn short_length(call: InstructionValue) -> Option<u64> {
    let size = call.get_operand(1)?.value()?.into_int_value().get_zero_extended_constant()?;
    (size % 8 == 0 && SHORT_RANGES.contains(&(size / 8))).then_some(size / 8)
}

/// Tells each function's entry which function that is: the address behind its description's.
fn name_callees(
    module: &Module,
    declared: FunctionValue,
    fast: FunctionValue,
    described: &Described,
) -> Result<(), BuilderError> {
    let byte = module.get_context().i8_type();
    let one = module.get_context().i64_type().const_int(1, false);
    let builder = module.get_context().create_builder();
    for function in module.get_functions() {
        // Where another function was put in place, its accesses are among this one's.
        let entries = calls_of(function, |called| *called == declared);
        for (entry, _) in entries {
            let call_site = entry.get_operand(0).and_then(|operand| operand.value());
            let Some(call_site) = call_site else { continue };
            builder.position_before(&entry);
            let Some(global) = described.get(&function) else { continue };
            // SAFETY: inside the global, which has more than a byte.
            let callee = unsafe { global.as_pointer_value().const_gep(byte, &[one]) };
            builder.build_call(fast, &[call_site.into(), callee.into()], "")?;
            entry.erase_from_basic_block();
        }
    }
    Ok(())
}

pub(crate) fn calls(instruction: InstructionValue, function: FunctionValue) -> bool {
    CallSiteValue::try_from(instruction)
        .is_ok_and(|call| call.get_called_fn_value() == Some(function))
}

pub(crate) fn preamble() -> String {
    "@__racewarden_tls = external hidden thread_local(localexec) global [64 x i8]\n\
     @__racewarden_table = external hidden global [33554432 x ptr]\n\
     !0 = !{!\"branch_weights\", i32 2000, i32 1}\n\
     attributes #0 = { alwaysinline nounwind sanitize_thread }\n\
     attributes #1 = { nounwind }\n"
        .to_owned()
}

fn entries() -> Vec<Entry> {
    let mut entries = vec![function_entry(), function_exit()];
    for kind in ["read", "write", "volatile_read", "volatile_write", "read_write"] {
        let write = kind.ends_with("write");
        for size in [1, 2, 4, 8] {
            entries.push(access(format!("{kind}{size}"), size, write));
        }
        for size in [2, 4, 8] {
            entries.push(straddling(format!("unaligned_{kind}{size}"), size, write));
        }
        entries.push(pair(format!("{kind}16"), write));
        entries.push(pair(format!("unaligned_{kind}16"), write));
    }
    entries
}

/// Loads from the thread's block: `%result`.
fn own(result: &str, offset: u32, kind: &str) -> String {
    format!(
        "  %{result}.at = getelementptr i8, ptr @__racewarden_tls, i64 {offset}\n  \
           %{result} = load {kind}, ptr %{result}.at, align 8\n"
    )
}

/// The start of every access: ends with `%cells`, where the granule's cells are.
fn find_cells(name: &str, more: &str) -> String {
    let mut text = format!(
        "define void @__racewarden_fast_{name}(ptr %address{more}) #0 {{\n\
         start:\n"
    );
    let _ = write!(
        text,
        "  %i = ptrtoint ptr %address to i64\n  \
           %high = lshr i64 %i, {CHUNK_SHIFT}\n  \
           %entry = getelementptr ptr, ptr @__racewarden_table, i64 %high\n  \
           %chunk = load ptr, ptr %entry, align 8\n  \
           %there = icmp ne ptr %chunk, null\n  \
           br i1 %there, label %look, label %slow, !prof !0\n\
         look:\n  \
           %twice = shl i64 %i, 1\n  \
           %place = and i64 %twice, {PLACE}\n  \
           %cells = getelementptr i8, ptr %chunk, i64 %place\n  \
           %first = load atomic i64, ptr %cells monotonic, align 8\n"
    );
    // A thread that is not watched has no epoch, 0, and no cell is of that one.
    text + &own("now", NOW, "i64")
}

/// What a path is told beside the address: the byte that stands for the place in the code.
const PLACE_ARGUMENT: &str = ", ptr %code";

/// Says in a section of the program where the place is: only reports look there, so it costs nothing. Both are
/// told by how far they are from here, so that nothing has to be done about them when the program is loaded.
/// The instruction that does nothing gets the line of the access: whatever is assembled next has it, and that
/// would otherwise be what stands in the section.
const TELL_PLACE: &str = r#"call void asm sideeffect "991: nop\0A.pushsection racewarden_code,\22a?\22,@progbits\0A.long ${0:c} - .\0A.long 991b - .\0A.popsection", "i"(ptr %code) #1
  "#;

/// Bytes of the count before those of the places.
const COUNT: u64 = 8;

/// The end of every access: `%odd` is zero when nothing is new.
fn decide(slow: &str) -> String {
    format!(
        "  %known = icmp eq i64 %odd, 0\n  \
           br i1 %known, label %done, label %slow, !prof !0\n\
         slow:\n  \
           call void {slow} #1\n  \
           br label %done\n\
         done:\n  \
           ret void\n\
         }}\n"
    )
}

/// [`decide`] for an entry point that takes nothing but the address. The runtime's keep all general
/// registers, so that the code around loses none of its own to a call that is hardly ever made.
fn decide_or_call(name: &str) -> String {
    let slow = format!("@__racewarden_{name}(ptr %address{PLACE_ARGUMENT})");
    decide(&slow).replace("call void", &format!("{TELL_PLACE}call preserve_mostcc void"))
        + &format!("declare preserve_mostcc void @__racewarden_{name}(ptr, ptr) #1\n")
}

/// Who, when and what a cell must have to say enough, its bytes left out. The tag, in a first cell,
/// only says that more of them stand beside; a second cell with one is no cell.
fn needed(write: bool) -> u64 {
    EPOCH | ATOMIC | if write { WRITE } else { 0 }
}

/// An aligned access within one granule; a misaligned one goes the long way.
fn access(name: String, size: u64, write: bool) -> Entry {
    let mut text = find_cells(&name, PLACE_ARGUMENT);
    let bytes = (1u64 << size) - 1;
    let wanted = if write { WRITE } else { 0 };
    let (misaligned, needed) = (size - 1, needed(write));
    if size == 8 {
        let (all, wanted) = ((needed | bytes).cast_signed(), wanted | bytes);
        let _ = write!(
            text,
            "  %all = or i64 0, {all}\n  \
               %has = and i64 %first, %all\n  \
               %want = or i64 %now, {wanted}\n"
        );
    } else {
        let needed = needed.cast_signed();
        let _ = write!(
            text,
            "  %offset = and i64 %i, 7\n  \
               %bytes = shl i64 {bytes}, %offset\n  \
               %all = or i64 %bytes, {needed}\n  \
               %has = and i64 %first, %all\n  \
               %whole = or i64 %now, {wanted}\n  \
               %want = or i64 %whole, %bytes\n"
        );
    }
    text += "  %other = xor i64 %has, %want\n";
    let _ = match misaligned {
        0 => writeln!(text, "  %odd = or i64 %other, 0"),
        _ => writeln!(text, "  %low = and i64 %i, {misaligned}\n  %odd = or i64 %other, %low"),
    };
    // Two halves of a granule that belong to two places keep pushing each other to the second cell.
    let _ = write!(
        text,
        "  %newest = icmp eq i64 %odd, 0\n  \
           br i1 %newest, label %done, label %again, !prof !0\n\
         again:\n  \
           %beside = getelementptr i8, ptr %cells, i64 8\n  \
           %second = load atomic i64, ptr %beside monotonic, align 8\n  \
           %untagged = or i64 %all, {TAG}\n  \
           %has.b = and i64 %second, %untagged\n  \
           %other.b = xor i64 %has.b, %want\n  \
           %low.b = and i64 %i, {misaligned}\n  \
           %odd.b = or i64 %other.b, %low.b\n"
    );
    text += &decide_or_call(&name).replace("i64 %odd,", "i64 %odd.b,");
    Entry { name, text, is_access: true }
}

/// An access that may lie across two granules of one chunk; across two chunks goes the long way.
fn straddling(name: String, size: u64, write: bool) -> Entry {
    let mut text = find_cells(&name, PLACE_ARGUMENT);
    let bytes = (1u64 << size) - 1;
    let wanted = if write { WRITE } else { 0 };
    let needed = needed(write).cast_signed();
    // The cell beside a chunk's last one is not a cell, but it is there.
    let _ = write!(
        text,
        "  %offset = and i64 %i, 7\n  \
           %bytes = shl i64 {bytes}, %offset\n  \
           %here = and i64 %bytes, 255\n  \
           %above = lshr i64 %bytes, 8\n  \
           %beside = getelementptr i8, ptr %cells, i64 16\n  \
           %second = load atomic i64, ptr %beside monotonic, align 8\n  \
           %whole = or i64 %now, {wanted}\n  \
           %want.a = or i64 %whole, %here\n  \
           %all.a = or i64 %here, {needed}\n  \
           %other.a = xor i64 %first, %want.a\n  \
           %odd.a = and i64 %other.a, %all.a\n  \
           %want.b = or i64 %whole, %above\n  \
           %all.b = or i64 %above, {needed}\n  \
           %other.b = xor i64 %second, %want.b\n  \
           %odd.b = and i64 %other.b, %all.b\n  \
           %last = icmp eq i64 %place, {PLACE}\n  \
           %beyond = select i1 %last, i64 1, i64 %odd.b\n  \
           %one = icmp eq i64 %above, 0\n  \
           %more = select i1 %one, i64 0, i64 %beyond\n  \
           %odd = or i64 %odd.a, %more\n"
    );
    text += &decide_or_call(&name);
    Entry { name, text, is_access: true }
}

/// 16 bytes: two whole granules of one chunk, or the long way.
fn pair(name: String, write: bool) -> Entry {
    let mut text = find_cells(&name, PLACE_ARGUMENT);
    let all = (needed(write) | 0xff).cast_signed();
    let wanted = if write { WRITE } else { 0 } | 0xff;
    let _ = write!(
        text,
        "  %last = icmp eq i64 %place, {PLACE}\n  \
           %low = and i64 %i, 7\n  \
           %crosses = select i1 %last, i64 1, i64 %low\n  \
           %whole = icmp eq i64 %crosses, 0\n  \
           br i1 %whole, label %both, label %slow, !prof !0\n\
         both:\n  \
           %beside = getelementptr i8, ptr %cells, i64 16\n  \
           %second = load atomic i64, ptr %beside monotonic, align 8\n  \
           %want = or i64 %now, {wanted}\n  \
           %a = xor i64 %first, %want\n  \
           %b = xor i64 %second, %want\n  \
           %either = or i64 %a, %b\n  \
           %odd = and i64 %either, {all}\n"
    );
    text += &look_again(&["%a".to_owned(), "%b".to_owned()], needed(write) | 0xff);
    text += &decide_or_call(&name).replace("i64 %odd,", "i64 %odd.b,");
    Entry { name, text, is_access: true }
}

/// Granules in a row whose first cells do not all say enough, `%odd` being what they lack together and
/// `others` what each does: another thread that reads the same has pushed this one's to the second.
fn look_again(others: &[String], all: u64) -> String {
    let mut text = "  %newest = icmp eq i64 %odd, 0\n  \
                      br i1 %newest, label %done, label %again, !prof !0\n\
                    again:\n"
        .to_owned();
    let (first, untagged) = (all.cast_signed(), (all | TAG).cast_signed());
    for (at, other) in others.iter().enumerate() {
        let place = 16 * at + 8;
        let _ = write!(
            text,
            "  %first{at}.odd = and i64 {other}, {first}\n  \
               %first{at}.is = icmp eq i64 %first{at}.odd, 0\n  \
               %second{at}.at = getelementptr i8, ptr %cells, i64 {place}\n  \
               %second{at} = load atomic i64, ptr %second{at}.at monotonic, align 8\n  \
               %second{at}.other = xor i64 %second{at}, %want\n  \
               %second{at}.odd = and i64 %second{at}.other, {untagged}\n  \
               %lacks{at} = select i1 %first{at}.is, i64 0, i64 %second{at}.odd\n"
        );
        let _ = match at {
            0 => writeln!(text, "  %lack0 = or i64 %lacks0, 0"),
            _ => writeln!(text, "  %lack{at} = or i64 %lack{}, %lacks{at}", at - 1),
        };
    }
    let _ = writeln!(text, "  %odd.b = or i64 %lack{}, 0", others.len().saturating_sub(1));
    text
}

/// Whole granules one after the other in one chunk, as ranges of a size that the code itself tells.
fn several(kind: &str, count: u64, write: bool) -> String {
    let mut text = find_cells(&format!("{kind}_range{count}"), "");
    let all = (needed(write) | 0xff).cast_signed();
    let wanted = if write { WRITE } else { 0 } | 0xff;
    let last = PLACE - 16 * (count - 1);
    let _ = write!(
        text,
        "  %inside = icmp ule i64 %place, {last}\n  \
           %low = and i64 %i, 7\n  \
           %aligned = icmp eq i64 %low, 0\n  \
           %whole = and i1 %inside, %aligned\n  \
           br i1 %whole, label %all, label %slow, !prof !0\n\
         all:\n  \
           %want = or i64 %now, {wanted}\n  \
           %odd0 = xor i64 %first, %want\n"
    );
    for at in 1..count {
        let (before, place) = (at - 1, 16 * at);
        let _ = write!(
            text,
            "  %beside{at} = getelementptr i8, ptr %cells, i64 {place}\n  \
               %cell{at} = load atomic i64, ptr %beside{at} monotonic, align 8\n  \
               %other{at} = xor i64 %cell{at}, %want\n  \
               %odd{at} = or i64 %odd{before}, %other{at}\n"
        );
    }
    let _ = writeln!(text, "  %odd = and i64 %odd{}, {all}", count - 1);
    let slow = decide(&format!("@__tsan_{kind}_range(ptr %address, i64 {})", count * 8));
    if count > MOST_TWICE {
        return text + &slow;
    }
    let others = (0..count).map(|at| if at == 0 { "%odd0".into() } else { format!("%other{at}") });
    let others: Vec<String> = others.collect();
    text += &look_again(&others, needed(write) | 0xff);
    text + &slow.replace("i64 %odd,", "i64 %odd.b,")
}

fn function_entry() -> Entry {
    let mut text = "declare void @__racewarden_slow_func_entry(ptr) #1\n\
                    define void @__racewarden_fast_func_entry(ptr %pc, ptr %callee) #0 {\n"
        .to_owned();
    text += &own("top", TOP, "ptr");
    text += &own("limit", LIMIT, "ptr");
    text += "  %room = icmp ult ptr %top, %limit\n  \
               br i1 %room, label %push, label %slow, !prof !0\n\
             push:\n  \
               store ptr %pc, ptr %top, align 8\n  \
               %known = getelementptr i8, ptr %top, i64 8\n  \
               %address = ptrtoint ptr %callee to i64\n  \
               %name = shl i64 %address, 32\n  \
               store i64 %name, ptr %known, align 8\n  \
               %next = getelementptr i8, ptr %top, i64 16\n  \
               store ptr %next, ptr %top.at, align 8\n  \
               ret void\n\
             slow:\n  \
               call void @__racewarden_slow_func_entry(ptr %pc) #1\n  \
               ret void\n\
             }\n";
    Entry { name: "func_entry".to_owned(), text, is_access: false }
}

fn function_exit() -> Entry {
    let mut text = "declare void @__racewarden_slow_func_exit() #1\n\
                    define void @__racewarden_fast_func_exit() #0 {\n"
        .to_owned();
    text += &own("top", TOP, "ptr");
    text += &own("base", BASE, "ptr");
    text += "  %inside = icmp ugt ptr %top, %base\n  \
               br i1 %inside, label %pop, label %slow, !prof !0\n\
             pop:\n  \
               %next = getelementptr i8, ptr %top, i64 -16\n  \
               store ptr %next, ptr %top.at, align 8\n  \
               ret void\n\
             slow:\n  \
               call void @__racewarden_slow_func_exit() #1\n  \
               ret void\n\
             }\n";
    Entry { name: "func_exit".to_owned(), text, is_access: false }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::passes::PassBuilderOptions;
    use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};

    use super::*;

    /// The function's body when everything is in place.
    fn inlined(body: &str) -> String {
        let text = format!(
            "declare void @__tsan_read_range(ptr, i64)\n\
             declare void @__tsan_func_entry(ptr)\n\
             declare void @__tsan_unaligned_read4(ptr)\n\
             define void @f(ptr %p, i64 %n) {{\n{body}  ret void\n}}\n"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        inline(&module).unwrap();
        module.verify().unwrap();
        Target::initialize_x86(&InitializationConfig::default());
        let triple = TargetMachine::get_default_triple();
        let machine = Target::from_triple(&triple)
            .unwrap()
            .create_target_machine(
                &triple,
                "",
                "",
                Default::default(),
                RelocMode::PIC,
                CodeModel::Default,
            )
            .unwrap();
        module.run_passes(PIPELINE, &machine, PassBuilderOptions::create()).unwrap();
        let printed = module.print_to_string().to_string();
        let (_, body) = printed.split_once("define void @f").unwrap();
        body.split_once("\n}").unwrap().0.to_owned()
    }

    #[test]
    fn a_short_range_looks_at_each_of_its_granules() {
        let body = inlined("  call void @__tsan_read_range(ptr %p, i64 24)\n");
        assert_eq!(body.matches("load atomic i64").count(), 6, "{body}");
        assert!(body.contains("call void @__tsan_read_range(ptr %p, i64 24)"), "{body}");
    }

    #[test]
    fn ranges_of_other_lengths_are_called_for() {
        for size in ["%n", "20", "4096", "0"] {
            let body = inlined(&format!("  call void @__tsan_read_range(ptr %p, i64 {size})\n"));
            assert!(!body.contains("load atomic"), "{body}");
            assert!(body.contains(&format!("(ptr %p, i64 {size})")), "{body}");
        }
    }

    #[test]
    fn an_access_across_granules_looks_at_both() {
        let body = inlined(
            "  call void @__tsan_func_entry(ptr null)\n  \
               call void @__tsan_unaligned_read4(ptr %p)\n",
        );
        assert_eq!(body.matches("load atomic i64").count(), 2, "{body}");
        assert!(body.contains("call preserve_mostcc void @__racewarden_unaligned_read4"), "{body}");
    }

    #[test]
    fn accesses_tell_which_of_their_functions_places_they_are() {
        let access = "  call void @__tsan_unaligned_read4(ptr %p)\n";
        let body = inlined(&format!("  call void @__tsan_func_entry(ptr null)\n{access}{access}"));
        for number in 0..2 {
            let told = format!("@__racewarden_places, i64 {})", COUNT + number);
            assert!(body.contains(&told), "{body}");
        }
        assert!(body.contains("ptrtoint (ptr getelementptr"), "{body}");
        // Without a word of who is entered there is nobody whose places they are.
        assert!(inlined(access).contains("call void @__tsan_unaligned_read4(ptr %p)"));
    }

    #[test]
    fn a_function_tells_its_name_when_entered() {
        let body = inlined("  call void @__tsan_func_entry(ptr null)\n");
        assert!(body.contains("ptr @__racewarden_places, i64 1)"), "{body}");
        assert!(body.contains("call void @__tsan_func_entry(ptr null)"), "{body}");
    }
}
