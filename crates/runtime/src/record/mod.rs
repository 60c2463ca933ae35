//! The recorder: writes down what each thread does, in the trace format of `racewarden_trace`.
//!
//! Each thread encodes into a buffer of its own; a full buffer is compressed and appended to the
//! file by one system call, so that a killed program leaves all but its threads' last buffers.
//! Accesses of one place are recorded under a lock of that place, taken before and given back
//! after the program's own access, so that order and values are exactly those of the run.
//!
//! Without the environment variable `RACEWARDEN_RECORD` (a file with a trace header in it) the
//! program runs unrecorded.

mod channels;
mod hooks;
mod memory;
mod sync;
mod threads;
mod writer;
