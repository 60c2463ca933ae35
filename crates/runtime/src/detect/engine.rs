//! What the entry points call.

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    pub const READ: Kind = Kind(0);
    pub const WRITE: Kind = Kind(1);
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

impl Order {
    /// From the C11 numbering; sequential consistency transfers the same clocks as acq_rel.
    pub fn of(order: u32) -> Order {
        match order & 0x7fff {
            1 | 2 => Order::Acquire,
            3 => Order::Release,
            4 | 5 => Order::AcquireRelease,
            _ => Order::Relaxed,
        }
    }
}

#[derive(Clone, Copy)]
pub enum AtomicOp {
    Load,
    Store,
    Update,
    Exchange { failure: Order },
}

#[inline(always)]
pub fn access<const SIZE: usize>(_address: usize, _kind: Kind, _pc: usize) {}
pub fn access_range(_address: usize, _size: usize, _kind: Kind, _pc: usize) {}
pub fn function_entry(_call_site: usize) {}
pub fn function_exit() {}
pub fn initialize() {}
pub fn ignore_all(_on: bool) {}
pub fn fence(_order: Order) {}

pub fn atomic<R>(
    _address: usize,
    _size: usize,
    _op: AtomicOp,
    _order: Order,
    _pc: usize,
    operation: impl FnOnce() -> (R, bool),
) -> R {
    operation().0
}
