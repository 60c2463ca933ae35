//! Accesses at addresses that the reader computes.
//!
//! Most of what a program does follows from what it did before. The reader walks the same
//! instructions, so it knows where such an access goes, and what it finds there as long as only this
//! thread's recorded accesses wrote it. So each thread keeps, for eight aligned bytes, what its
//! reader knows them to hold; an access that finds just that, and needs no new number, is counted
//! and no more. Whatever else wrote there (another thread, a library, a loop that is recorded as a
//! whole) shows as another content, which is then told.
//!
//! The table is direct-mapped: a word stands for address and content together
//! (`racewarden_trace::binary::derived`), so bytes that share a place push each other out, which
//! costs a record and no more. Its places follow the addresses, so that an array is walked in
//! neighbouring places of the table, too.

use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use racewarden_trace::binary::AccessTag;
use racewarden_trace::binary::derived::{part, with_part, word};

use super::hooks::{alone, claim, content, crosses, put};
use super::hot::{self, Hot};
use super::places;
use super::threads::{Recorder, with};

impl Recorder {
    /// Where the word of eight bytes is kept.
    #[inline]
    pub fn known_mut(&mut self, granule: u64) -> &mut u64 {
        // SAFETY: lives as long as the recorder's thread, which is this one.
        unsafe { (*self.hot).known_mut(granule) }
    }

    /// Tells what eight bytes hold, unless the reader knows.
    #[inline]
    fn tell(&mut self, granule: u64, whole: u64) {
        let now = word(granule, whole);
        if *self.known_mut(granule) != now {
            self.tell_content(granule, whole);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_content(&mut self, granule: u64, whole: u64) {
        self.buffer.content(false, granule, whole);
        *self.known_mut(granule) = word(granule, whole);
    }

    /// Counts an access that left `whole`.
    fn count(&mut self, granule: u64, whole: u64) {
        let now = word(granule, whole);
        *self.known_mut(granule) = now;
        self.buffer.count_derived(now);
    }
}

/// The usual case, without a call: the thread may go on with its number and finds what its reader
/// knows. Anything else starts again in `slow_load`. The same is put into the units of programs as
/// code (`record_fast.rs` of the instrumentation); this is for those of libraries.
#[inline(always)]
fn load<const SIZE: u64>(address: u64) -> u64 {
    let hot = hot::current();
    if address.is_multiple_of(SIZE) {
        let granule = address & !7;
        // SAFETY: the program loads some of these eight bytes, and the others share their page.
        let whole = unsafe { AtomicU64::from_ptr(granule as *mut u64) }.load(Ordering::Acquire);
        // SAFETY: always something to look at; it is whole unless it is closed.
        let (own, reads) = unsafe { ((*hot).own, (*hot).reads) };
        if places::was_free_to_read(places::state(address), own, reads) {
            // SAFETY: as above, and this thread's alone.
            let hot = unsafe { &mut *hot };
            let now = word(granule, whole);
            if *hot.known_mut(granule) == now {
                count(hot, now);
                return part(whole, address & 7, SIZE);
            }
        }
    }
    slow_load(address, SIZE)
}

#[inline(always)]
fn count(hot: &mut Hot, now: u64) {
    hot.count(now);
    if hot.left == 0 {
        // SAFETY: nothing is asked of the caller.
        unsafe { __racewarden_record_counted() };
    }
}

/// # Safety
/// Called after the last access that may be counted.
#[cold]
#[inline(never)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_counted() {
    // There is room again when this is left.
    with(|_| {});
}

#[cold]
#[inline(never)]
#[unsafe(export_name = "__racewarden_record_slow_load")]
extern "C" fn slow_load(address: u64, size: u64) -> u64 {
    let mut found = None;
    with(|recorder| {
        if crosses(address, size) {
            found = Some(load_apart(recorder, address, size));
            return;
        }
        let granule = address & !7;
        claim(recorder, granule);
        let (visitor, sequence) = (recorder.buffer.visitor, recorder.buffer.sequence);
        // SAFETY: as above.
        let seen = places::read(visitor, address, sequence, || unsafe { content(granule, 8) });
        let whole = match seen {
            Some(whole) => {
                recorder.tell(granule, whole);
                recorder.count(granule, whole);
                whole
            }
            None => load_alone(recorder, address, size),
        };
        found = Some(part(whole, address & 7, size));
    });
    // SAFETY: the program loads these bytes here.
    found.unwrap_or_else(|| unsafe { content(address, size) })
}

/// A load that needs a number.
#[cold]
#[inline(never)]
fn load_alone(recorder: &mut Recorder, address: u64, size: u64) -> u64 {
    let granule = address & !7;
    // SAFETY: as for other loads.
    let whole = alone(recorder, (address, size), false, || unsafe { content(granule, 8) });
    if size < 8 {
        recorder.tell(granule, whole);
    }
    let value = part(whole, address & 7, size);
    recorder.buffer.access(AccessTag::Load, (address, size as u32), [value, 0]);
    *recorder.known_mut(granule) = word(granule, whole);
    whole
}

/// A load across two words: what it finds is not remembered.
#[cold]
#[inline(never)]
fn load_apart(recorder: &mut Recorder, address: u64, size: u64) -> u64 {
    // SAFETY: the program loads these bytes here.
    let value = alone(recorder, (address, size), false, || unsafe { content(address, size) });
    recorder.buffer.access(AccessTag::Load, (address, size as u32), [value, 0]);
    value
}

/// As [`load`]. Between the two looks at the cell another thread may come; then the store is done, but
/// needs a number after all.
#[inline(always)]
fn store<const SIZE: u64>(address: u64, value: u64) {
    let hot = hot::current();
    let state = places::state(address);
    // SAFETY: always something to look at; it is whole unless it is closed.
    if !address.is_multiple_of(SIZE) || !places::is_free_to_write(state, unsafe { (*hot).own }) {
        return slow_store(address, SIZE, value);
    }
    // SAFETY: as above, and this thread's alone.
    let hot = unsafe { &mut *hot };
    let granule = address & !7;
    let mut whole = value;
    if SIZE < 8 {
        // SAFETY: the program stores to some of these eight bytes; the others share their page.
        let before = unsafe { content(granule, 8) };
        if *hot.known_mut(granule) != word(granule, before) {
            return slow_store(address, SIZE, value);
        }
        whole = with_part(before, address & 7, SIZE, part(value, 0, SIZE));
    }
    // SAFETY: the program stores these bytes here.
    unsafe { put(address, SIZE, value) };
    compiler_fence(Ordering::SeqCst);
    if places::state(address) != state {
        // SAFETY: all of it is as the function wants it.
        return unsafe { __racewarden_record_disturbed(address, SIZE, value, whole) };
    }
    let now = word(granule, whole);
    *hot.known_mut(granule) = now;
    count(hot, now);
}

/// # Safety
/// Called after a store during which another thread came to its place; `whole` is what the eight bytes
/// hold now.
#[cold]
#[inline(never)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __racewarden_record_disturbed(
    address: u64,
    size: u64,
    value: u64,
    whole: u64,
) {
    with(|recorder| disturbed_store(recorder, (address, size), [value, whole], true));
}

#[cold]
#[inline(never)]
#[unsafe(export_name = "__racewarden_record_slow_store")]
extern "C" fn slow_store(address: u64, size: u64, value: u64) {
    let mut done = false;
    with(|recorder| {
        done = true;
        if crosses(address, size) {
            return store_apart(recorder, address, size, value);
        }
        let granule = address & !7;
        claim(recorder, granule);
        if !places::may_write(recorder.buffer.visitor, address) {
            return store_alone(recorder, address, size, value);
        }
        let mut whole = value;
        if size < 8 {
            // SAFETY: as above.
            let before = unsafe { content(granule, 8) };
            recorder.tell(granule, before);
            whole = with_part(before, address & 7, size, part(value, 0, size));
        }
        // SAFETY: the program stores these bytes here.
        let stored = places::write(recorder.buffer.visitor, address, || unsafe {
            put(address, size, value);
        });
        match stored {
            Some(true) => recorder.count(granule, whole),
            _ => disturbed_store(recorder, (address, size), [value, whole], stored.is_some()),
        }
    });
    if !done {
        // SAFETY: the program stores these bytes here.
        unsafe { put(address, size, value) };
    }
}

/// Another thread came in between.
#[cold]
#[inline(never)]
fn disturbed_store(
    recorder: &mut Recorder,
    (address, size): (u64, u64),
    [value, whole]: [u64; 2],
    is_stored: bool,
) {
    if !is_stored {
        return store_alone(recorder, address, size, value);
    }
    recorder.buffer.number();
    recorder.buffer.access(AccessTag::Store, (address, size as u32), [value, 0]);
    *recorder.known_mut(address & !7) = word(address & !7, whole);
}

/// A store that needs a number.
#[cold]
#[inline(never)]
fn store_alone(recorder: &mut Recorder, address: u64, size: u64, value: u64) {
    let granule = address & !7;
    let before = alone(recorder, (address, size), true, || {
        // SAFETY: as for other stores.
        unsafe {
            let before = content(granule, 8);
            put(address, size, value);
            before
        }
    });
    if size < 8 {
        recorder.tell(granule, before);
    }
    recorder.buffer.access(AccessTag::Store, (address, size as u32), [value, 0]);
    let whole = with_part(before, address & 7, size, part(value, 0, size));
    *recorder.known_mut(granule) = word(granule, whole);
}

/// A store across two words.
#[cold]
#[inline(never)]
fn store_apart(recorder: &mut Recorder, address: u64, size: u64, value: u64) {
    alone(recorder, (address, size), true, || {
        // SAFETY: the program stores these bytes here.
        unsafe { put(address, size, value) };
        0
    });
    recorder.buffer.access(AccessTag::Store, (address, size as u32), [value, 0]);
}

super::hooks::accesses! {
    1 __racewarden_record_known_load1 __racewarden_record_known_store1;
    2 __racewarden_record_known_load2 __racewarden_record_known_store2;
    4 __racewarden_record_known_load4 __racewarden_record_known_store4;
    8 __racewarden_record_known_load8 __racewarden_record_known_store8;
}
