//! Synchronisation objects. Each is plain data guarded by its own lock in the caller.

pub mod atomic;
pub mod barrier;
pub mod condvar;
pub mod lock;
pub mod plain;
