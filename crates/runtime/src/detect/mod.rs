//! The detect mode: TSan's ABI, interceptors and the race detector behind them.

mod abi_atomic;
mod abi_memory;
mod abi_wide;
mod access;
mod annotate;
mod cell;
mod clock;
mod engine;
mod fibers;
mod granule;
mod heap;
mod intercept;
mod intern;
mod java;
mod locks;
mod memo;
mod modules;
mod options;
mod report;
mod shadow;
mod signals;
mod sync;
mod thread;
