//! The detect mode: TSan's ABI, interceptors and the race detector behind them.

mod abi_atomic;
mod abi_memory;
mod engine;
