//! What the program asks the processor to fetch is about to be accessed, and with it what the detector
//! remembers of it: that is asked for as well.
//!
//! Code that prefetches (the tables and the text of compressors, joins of databases) does so because it
//! waits for memory otherwise. Its accesses are checked against shadow that is as far away.

use inkwell::module::{Linkage, Module};
use inkwell::values::InstructionValue;

use crate::InstrumentError;
use crate::inline::{CHUNK_SHIFT, calls, failed, link_text, preamble};

const NAME: &str = "__racewarden_fetch";
/// The program may ask for any address at all, so the table's index is cut to its bits.
const INDEX: u64 = (1 << (47 - CHUNK_SHIFT)) - 1;
/// The cells of one line of the program are two lines, 16 bytes for each 8.
const LINES: u64 = (1 << (CHUNK_SHIFT + 1)) - 128;
/// Where a granule's third and fourth cells are, behind the first two of all of them.
const BESIDE: u64 = 1 << (CHUNK_SHIFT + 1);

/// Fetches the cells as well wherever the module fetches memory.
pub(crate) fn fetch_cells(module: &Module) -> Result<(), InstrumentError> {
    let Some(intrinsic) = module.get_function("llvm.prefetch.p0") else { return Ok(()) };
    let fetches: Vec<InstructionValue> = module
        .get_functions()
        .flat_map(|function| function.get_basic_blocks())
        .flat_map(|block| block.get_instructions())
        .filter(|instruction| calls(*instruction, intrinsic))
        .collect();
    if fetches.is_empty() {
        return Ok(());
    }
    link_text(module, &(preamble() + &text()))?;
    let Some(function) = module.get_function(NAME) else { return Ok(()) };
    function.set_linkage(Linkage::Internal);
    let builder = module.get_context().create_builder();
    for fetch in fetches {
        let Some(address) = fetch.get_operand(0).and_then(|operand| operand.value()) else {
            continue;
        };
        builder.position_before(&fetch);
        builder
            .build_call(function, &[address.into()], "")
            .map_err(|error| failed(module, error.to_string()))?;
    }
    Ok(())
}

/// Where there is no chunk yet, what is asked for is nowhere, which does no harm.
fn text() -> String {
    format!(
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n\
         define void @{NAME}(ptr %address) #0 {{\n  \
           %i = ptrtoint ptr %address to i64\n  \
           %high = lshr i64 %i, {CHUNK_SHIFT}\n  \
           %index = and i64 %high, {INDEX}\n  \
           %entry = getelementptr ptr, ptr @__racewarden_table, i64 %index\n  \
           %chunk = load ptr, ptr %entry, align 8\n  \
           %twice = shl i64 %i, 1\n  \
           %place = and i64 %twice, {LINES}\n  \
           %line = getelementptr i8, ptr %chunk, i64 %place\n  \
           %next = getelementptr i8, ptr %line, i64 64\n  \
           call void @llvm.prefetch.p0(ptr %line, i32 0, i32 3, i32 1)\n  \
           call void @llvm.prefetch.p0(ptr %next, i32 0, i32 3, i32 1)\n  \
           %beside = getelementptr i8, ptr %line, i64 {BESIDE}\n  \
           call void @llvm.prefetch.p0(ptr %beside, i32 0, i32 3, i32 1)\n  \
           %last = getelementptr i8, ptr %beside, i64 64\n  \
           call void @llvm.prefetch.p0(ptr %last, i32 0, i32 3, i32 1)\n  \
           ret void\n\
         }}\n"
    )
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::*;

    #[test]
    fn cells_are_fetched_with_what_they_are_about() {
        let text = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n\
                    define void @f(ptr %p) {\n  \
                      call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)\n  \
                      ret void\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap();
        fetch_cells(&module).unwrap();
        module.verify().unwrap();
        let printed = module.print_to_string().to_string();
        assert_eq!(
            printed.matches("call void @__racewarden_fetch(ptr %p)").count(),
            1,
            "{printed}"
        );
        assert_eq!(printed.matches("call void @llvm.prefetch.p0").count(), 5, "{printed}");
    }
}
