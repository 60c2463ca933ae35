//! The recorder: writes down what each thread does, in the trace format of `racewarden_trace`.
//!
//! Each thread encodes into a buffer of its own; a full buffer is compressed and appended to the
//! file by one system call, so that a killed program leaves all but its threads' last buffers.
//! Accesses of a place that another thread had last are recorded while the place is held, and get a
//! number in the order of all threads (`places`), so that order and values are those of the run.
//!
//! Without the environment variable `RACEWARDEN_RECORD` (a file with a trace header in it) the
//! program runs unrecorded.

mod channels;
mod hooks;
mod hot;
mod known;
mod memory;
mod openmp;
mod places;
mod requests;
mod signals;
mod sync;
mod threads;
mod writer;
