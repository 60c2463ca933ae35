//! The C library's functions as the detector sees them, one file per family.

mod c11;
mod cxx;
mod doacross;
mod format;
mod gomp;
pub mod heap;
mod io;
mod lock;
pub mod memory;
pub mod process;
mod queues;
mod semaphore;
mod text;
pub mod thread;
