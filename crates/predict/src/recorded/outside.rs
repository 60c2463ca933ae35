//! What a recording lacks because code outside the program did not tell it.

use racewarden_ir::Program;
use racewarden_trace::binary::{OPENMP_TELLS, Record, Recording, SyncOp, UNKNOWN_CODE};

/// How often the recording has an operation on the object.
fn count(recording: &Recording, wanted: SyncOp, object: u64) -> usize {
    let records = recording.threads.iter().flat_map(|thread| &thread.records);
    records
        .filter(|record| match record {
            Record::Sync { op, object: other, .. } => *op == wanted && *other == object,
            _ => false,
        })
        .count()
}

/// Calls that may have synchronised in a way that is not known, so that their order was kept.
pub fn unknown_calls(recording: &Recording) -> usize {
    count(recording, SyncOp::Put, UNKNOWN_CODE)
}

/// Whether the program runs parallel regions by a runtime that did not tell how it orders them.
/// Then nothing can be predicted.
pub fn is_silent(program: &Program, recording: &Recording) -> bool {
    let module = &program.module;
    let opens_regions = module.function_ids().any(|id| {
        let function = module.function(id);
        let name = module.name_text(function.name);
        function.is_declaration()
            && (name.starts_with("__kmpc_fork_") || name.starts_with("GOMP_parallel"))
    });
    opens_regions && recording.threads.len() > 1 && count(recording, SyncOp::Put, OPENMP_TELLS) == 0
}
