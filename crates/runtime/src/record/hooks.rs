//! What instrumented code calls.

use racewarden_trace::binary::derived;
use racewarden_trace::binary::{AccessTag, BESIDE, Record, SyncOp, UNKNOWN_CODE};

use super::places;
use super::threads::{self, LOADED, Recorder, sync, with};
use crate::common::tls;

/// # Safety
/// `address` is readable for `size` bytes, at most 8.
#[inline]
pub unsafe fn content(address: u64, size: u64) -> u64 {
    // The usual sizes are single loads; a copy of unknown length would be a call.
    // SAFETY: by the caller's promise.
    unsafe {
        match size {
            8 => return (address as *const u64).read_unaligned(),
            4 => return u64::from((address as *const u32).read_unaligned()),
            2 => return u64::from((address as *const u16).read_unaligned()),
            1 => return u64::from((address as *const u8).read()),
            _ => {}
        }
    }
    let mut bytes = [0u8; 8];
    // SAFETY: by the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(
            address as *const u8,
            bytes.as_mut_ptr(),
            size.min(8) as usize,
        );
    }
    u64::from_le_bytes(bytes)
}

/// Takes down what eight aligned bytes hold, the first time.
#[inline]
fn remember(recorder: &mut Recorder, granule: u64) {
    if places::first_visit(granule) {
        // SAFETY: the eight bytes share a page with an accessed one.
        let value = unsafe { content(granule, 8) };
        recorder.buffer.content(true, granule, value);
        *recorder.known_mut(granule) = derived::word(granule, value);
    }
}

#[inline]
fn remember_all(recorder: &mut Recorder, address: u64, size: u64) {
    let (first, last) = (address & !7, (address + size - 1) & !7);
    remember(recorder, first);
    if last != first {
        remember(recorder, last);
    }
}

#[inline]
pub fn crosses(address: u64, size: u64) -> bool {
    (address & 7) + size > 8
}

/// Makes eight bytes that nobody accessed yet the thread's own: it comes after nobody.
#[inline]
pub fn claim(recorder: &mut Recorder, granule: u64) {
    if places::state(granule) == 0 && !recorder.buffer.visitor.is_precise() {
        claim_first(recorder, granule);
    }
}

#[cold]
#[inline(never)]
fn claim_first(recorder: &mut Recorder, granule: u64) {
    let visitor = recorder.buffer.visitor;
    let hold = places::hold(granule);
    if hold.is_first() {
        remember(recorder, granule);
        hold.release(visitor, true, recorder.buffer.sequence);
    } else {
        hold.put_back();
    }
}

/// Runs an access that needs a number while nobody else accesses the place.
#[cold]
#[inline(never)]
pub fn alone(
    recorder: &mut Recorder,
    (address, size): (u64, u64),
    writes: bool,
    access: impl FnOnce() -> u64,
) -> u64 {
    let hold = places::hold(address);
    remember_all(recorder, address, size);
    let value = access();
    let sequence = recorder.buffer.number();
    hold.release(recorder.buffer.visitor, writes, sequence);
    if crosses(address, size) {
        places::touch(recorder.buffer.visitor, address, size, writes, sequence);
    }
    value
}

/// In place of a load of `SIZE` bytes.
#[inline(always)]
fn load<const SIZE: u64>(address: u64) -> u64 {
    // SAFETY: the program loads these bytes here.
    let look = || unsafe { content(address, SIZE) };
    let mut found = None;
    with(|recorder| {
        let (visitor, sequence) = (recorder.buffer.visitor, recorder.buffer.sequence);
        let seen = match crosses(address, SIZE) {
            true => None,
            false => places::read(visitor, address, sequence, look),
        };
        let value = seen.unwrap_or_else(|| alone(recorder, (address, SIZE), false, look));
        recorder.buffer.access(AccessTag::Load, (address, SIZE as u32), [value, 0]);
        found = Some(value);
    });
    found.unwrap_or_else(look)
}

/// In place of a load of a floating-point number. What it finds is not followed, so of the loads of
/// one place by one instruction, between two numbers that the thread draws, the first stands for
/// all: they race with the same accesses.
#[inline(always)]
fn load_float<const SIZE: u64>(address: u64, site: u64) -> u64 {
    // SAFETY: the program loads these bytes here.
    let look = || unsafe { content(address, SIZE) };
    let mut found = None;
    with(|recorder| {
        let (visitor, sequence) = (recorder.buffer.visitor, recorder.buffer.sequence);
        let seen = match crosses(address, SIZE) {
            true => None,
            false => places::read(visitor, address, sequence, look),
        };
        if let Some(value) = seen {
            let mixed = address ^ site << 40 ^ sequence.rotate_left(20);
            let key = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // SAFETY: the shift leaves as many bits as the table's length has.
            let slot = unsafe {
                recorder.loaded.get_unchecked_mut((key >> (64 - LOADED.trailing_zeros())) as usize)
            };
            found = Some(value);
            if *slot == key {
                return recorder.buffer.again();
            }
            *slot = key;
        }
        let value = seen.unwrap_or_else(|| alone(recorder, (address, SIZE), false, look));
        recorder.buffer.access(AccessTag::Load, (address, SIZE as u32), [value, 0]);
        found = Some(value);
    });
    found.unwrap_or_else(look)
}

/// # Safety
/// In place of a load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_load_float4(address: u64, site: u64) -> u64 {
    load_float::<4>(address, site)
}

/// # Safety
/// In place of a load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_load_float8(address: u64, site: u64) -> u64 {
    load_float::<8>(address, site)
}

/// In place of a store of `SIZE` bytes.
#[inline(always)]
fn store<const SIZE: u64>(address: u64, value: u64) {
    // SAFETY: the program stores these bytes here.
    let store = || unsafe { put(address, SIZE, value) };
    let mut done = false;
    with(|recorder| {
        let stored = match crosses(address, SIZE) {
            true => None,
            false => places::write(recorder.buffer.visitor, address, store),
        };
        match stored {
            Some(true) => {}
            // Another thread came in between.
            Some(false) => {
                recorder.buffer.number();
            }
            None => {
                alone(recorder, (address, SIZE), true, || {
                    store();
                    0
                });
            }
        }
        recorder.buffer.access(AccessTag::Store, (address, SIZE as u32), [value, 0]);
        done = true;
    });
    if !done {
        store();
    }
}

/// The hooks of accesses, in terms of `load` and `store` where it is used.
macro_rules! accesses {
    ($($size:literal $load:ident $store:ident;)*) => {$(
        /// # Safety
        /// In place of a load.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(address: u64) -> u64 {
            load::<$size>(address)
        }

        /// # Safety
        /// In place of a store.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(address: u64, value: u64) {
            store::<$size>(address, value);
        }
    )*};
}

pub(super) use accesses;

accesses! {
    1 __racewarden_record_load1 __racewarden_record_store1;
    2 __racewarden_record_load2 __racewarden_record_store2;
    4 __racewarden_record_load4 __racewarden_record_store4;
    8 __racewarden_record_load8 __racewarden_record_store8;
}

/// # Safety
/// `address` is writable for `size` bytes, which is 1, 2, 4 or 8.
#[inline]
pub unsafe fn put(address: u64, size: u64, value: u64) {
    // SAFETY: by the caller's promise.
    unsafe {
        match size {
            8 => (address as *mut u64).write_unaligned(value),
            4 => (address as *mut u32).write_unaligned(value as u32),
            2 => (address as *mut u16).write_unaligned(value as u16),
            _ => (address as *mut u8).write(value as u8),
        }
    }
}

/// # Safety
/// Called right before the program accesses `size` bytes at `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_before(address: u64, size: u64) {
    with(|recorder| {
        recorder.hold = Some(places::hold(address));
        if size <= 8 {
            remember_all(recorder, address, size);
            // SAFETY: the program is about to access these bytes.
            recorder.old = unsafe { content(address, size) };
        }
    });
}

/// # Safety
/// Called right after the program accessed `size` bytes at `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_after(address: u64, size: u64, kind: u32) {
    with(|recorder| {
        let sequence = recorder.buffer.number();
        let old = recorder.old;
        let value = match size {
            // SAFETY: the program has just accessed these bytes.
            1 | 2 | 4 | 8 => Some(unsafe { content(address, size) }),
            _ => None,
        };
        let (visitor, writes) = (recorder.buffer.visitor, kind != 0);
        if let Some(hold) = recorder.hold.take() {
            hold.release(visitor, writes, sequence);
        }
        if crosses(address, size) {
            places::touch(visitor, address, size, writes, sequence);
        }
        let (tag, values) = match (value, kind) {
            (None, _) => {
                let wide = Record::Wide { address, size, write: writes, sequence };
                return recorder.buffer.push(&wide);
            }
            (Some(_), 0) => (AccessTag::Load, [old, 0]),
            (Some(value), 1) => (AccessTag::Store, [value, 0]),
            (Some(value), _) => (AccessTag::Update, [old, value]),
        };
        recorder.buffer.access(tag, (address, size as u32), values);
    });
}

/// A number for an access of many bytes that is done: a new one where it must come after another
/// thread's.
fn number_of_many(recorder: &mut Recorder, pieces: &[(u64, u64, bool)]) -> u64 {
    let (visitor, sequence) = (recorder.buffer.visitor, recorder.buffer.sequence);
    let settled = pieces.iter().all(|&(address, size, writes)| {
        places::is_settled(visitor, address, size, writes, sequence)
    });
    if settled {
        return sequence;
    }
    let sequence = recorder.buffer.number();
    for &(address, size, writes) in pieces {
        places::touch(visitor, address, size, writes, sequence);
    }
    sequence
}

/// # Safety
/// Called right before a call whose arguments the reader computes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_expect(function: u64) {
    tls::set_extra(function as usize);
}

/// A function starts; its arguments are recorded unless its caller expected it to.
#[inline(always)]
fn enter<const COUNT: usize>(function: u64, arguments: [u64; COUNT]) {
    with(|recorder| {
        recorder.buffer.push(&Record::Enter { function });
        let is_expected = tls::extra() as u64 == function;
        tls::set_extra(0);
        if !is_expected {
            for value in arguments {
                recorder.buffer.push(&Record::Argument { value });
            }
        }
    });
}

macro_rules! enters {
    ($($name:ident($($argument:ident),*);)*) => {$(
        /// # Safety
        /// Called at the start of a function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(function: u64 $(, $argument: u64)*) {
            enter(function, [$($argument),*]);
        }
    )*};
}

enters! {
    __racewarden_record_enter0();
    __racewarden_record_enter1(a);
    __racewarden_record_enter2(a, b);
    __racewarden_record_enter3(a, b, c);
    __racewarden_record_enter4(a, b, c, d);
    __racewarden_record_enter5(a, b, c, d, e);
    __racewarden_record_enter6(a, b, c, d, e, f);
}

/// # Safety
/// Called before a conditional branch or switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_branch(value: u64) {
    with(|recorder| match value {
        0 | 1 => recorder.buffer.branch(value == 1),
        _ => recorder.buffer.push(&Record::Branch { value }),
    });
}

/// # Safety
/// Called after a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_copy(to: u64, from: u64, size: u64) {
    with(|recorder| {
        let sequence = number_of_many(recorder, &[(from, size, false), (to, size, true)]);
        recorder.buffer.push(&Record::Copy { to, from, size, sequence });
    });
}

/// # Safety
/// Called after a fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_set(to: u64, byte: u32, size: u64) {
    with(|recorder| {
        let sequence = number_of_many(recorder, &[(to, size, true)]);
        recorder.buffer.push(&Record::Set { to, byte: byte as u8, size, sequence });
    });
}

/// # Safety
/// Called after a stack slot was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_slot(address: u64, size: u64) {
    with(|recorder| {
        let sequence = recorder.buffer.sequence;
        recorder.buffer.push(&Record::Slot { address, size, sequence });
    });
}

/// # Safety
/// Called before an indirect call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_call(target: u64) {
    with(|recorder| recorder.buffer.push(&Record::Call { target }));
}

/// # Safety
/// Called before a call of a function that may synchronise in its own way, if it is not one of the
/// program's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_leave(target: u64) {
    if !threads::is_own(target) {
        sync(SyncOp::Put, UNKNOWN_CODE, BESIDE);
    }
}

/// # Safety
/// Called after such a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_back(target: u64) {
    if !threads::is_own(target) {
        sync(SyncOp::Got, UNKNOWN_CODE, 0);
    }
}

/// # Safety
/// Called before output through a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_told() {
    sync(SyncOp::Put, super::channels::STREAMS, BESIDE);
    sync(SyncOp::Put, super::channels::ALL, BESIDE);
}

/// # Safety
/// Called after input from a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_heard() {
    sync(SyncOp::Got, super::channels::ALL, 0);
}

/// # Safety
/// Called after a call that left the unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_return(value: u64) {
    with(|recorder| recorder.buffer.push(&Record::Return { value }));
}

/// # Safety
/// Called at a landing pad.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_unwind(function: u64) {
    with(|recorder| recorder.buffer.push(&Record::Unwind { function }));
    // It may come out of a call that was not recorded.
    sync(SyncOp::Got, UNKNOWN_CODE, 0);
}

/// # Safety
/// Called after a call that returns more than once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_jumped(buffer: u64, value: u64) {
    if value != 0 {
        with(|recorder| recorder.buffer.push(&Record::Jumped { buffer }));
    }
}

/// # Safety
/// Called after an even loop; the records of its accesses follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_loop(rounds: u64) {
    with(|recorder| recorder.buffer.push(&Record::Loop { rounds }));
}

/// # Safety
/// Called before the branch of a loop that the reader computes unless the loop is just entered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_entered(value: u64, is_first: u64) {
    if is_first != 0 {
        with(|recorder| recorder.buffer.branch(value != 0));
    }
}

/// # Safety
/// Called after an even loop for each of its accesses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_range(
    address: u64,
    stride: i64,
    count: u64,
    size: u64,
    writes: u64,
) {
    let write = writes != 0;
    with(|recorder| {
        let (visitor, mut sequence) = (recorder.buffer.visitor, recorder.buffer.sequence);
        let piece = |number: u64| address.wrapping_add_signed(stride.wrapping_mul(number as i64));
        let settled = places::are_settled(visitor, (address, stride, count), size, write, sequence);
        if !settled {
            sequence = recorder.buffer.number();
            for number in 0..count {
                places::touch(visitor, piece(number), size, write, sequence);
            }
        }
        recorder.buffer.range((address, stride, count), size as u32, write, sequence);
    });
}
