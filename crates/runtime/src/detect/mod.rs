//! The detect mode: TSan's ABI, interceptors and the race detector behind them.

mod abi_atomic;
mod abi_memory;
mod abi_wide;
mod access;
mod annotate;
mod clock;
mod engine;
mod fibers;
mod heap;
mod intercept;
mod intern;
mod java;
mod locks;
mod modules;
mod options;
mod report;
mod shadow;
mod signals;
mod sync;
mod thread;
