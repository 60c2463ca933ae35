//! The heap. The C library's allocator stays in charge; its blocks are only noted.
//!
//! Giving a block back counts as a write to it, so that a later use by another thread, or one that
//! nothing orders before it, is a race. New memory has no history but that it was allocated, which counts as a
//! write as well: a thread that comes to know of it without coming after that has a race.

use std::ffi::{c_int, c_void};

use crate::common::tls;
use crate::detect::engine::{Kind, Thread, check_range, enter};
use crate::detect::{access, heap, machines, modules, sync};
use crate::{interceptor, real};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// Checking more of a block than this costs more than it finds.
const CHECKED: usize = 1024;
/// The same for mappings, which are fewer.
const UNMAPPED: usize = 1 << 16;

fn allocated(block: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if !block.is_null()
        && let Some(mut thread) = enter()
    {
        let start = block as usize;
        match modules::is_instrumented(pc) {
            true => access::allocate_range(&mut thread, start, size, pc),
            false => access::forget_range(start, size),
        }
        machines::forget_range(start, size);
        let site = thread.site(pc);
        heap::add(start, size, site);
    }
    block
}

/// A block that a function of the C library makes for the program at `pc`.
pub fn allocate(size: usize, pc: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    allocated(unsafe { __libc_malloc(size) }, size, pc)
}

/// The end of a block, as the detector sees it.
fn ended(thread: &mut Thread, known: &heap::Block, pc: usize) {
    if modules::is_watched(pc) {
        check_range(thread, known.start, known.size.min(CHECKED), Kind::FREE, pc);
    }
    sync::forget_range(known.start, known.size);
}

/// Returns the block, to put it back if it stays after all.
fn resized(block: *mut c_void, pc: usize) -> Option<heap::Block> {
    if block.is_null() {
        return None;
    }
    let mut thread = enter()?;
    let known = heap::remove(block as usize)?;
    ended(&mut thread, &known, pc);
    Some(known)
}

/// `free`: the memory goes back to the C library a little later.
fn give_back(block: *mut c_void, pc: usize) {
    if block.is_null() {
        return;
    }
    let gone = match enter() {
        None => [block as usize, 0],
        Some(mut thread) => {
            let site = thread.site(pc);
            match heap::mark_freed(block as usize, site) {
                None => [block as usize, 0],
                Some(known) => {
                    ended(&mut thread, &known, pc);
                    thread.held_back.take(known.start, known.size)
                }
            }
        }
    };
    for address in gone.into_iter().filter(|address| *address != 0) {
        // SAFETY: given back by the program, and by nobody since.
        unsafe { __libc_free(address as *mut c_void) };
    }
}

/// An ending thread passes on what it held back.
pub fn bequeath(thread: &mut Thread) {
    thread.held_back.bequeath(|address| {
        // SAFETY: as in `give_back`.
        unsafe { __libc_free(address as *mut c_void) };
    });
}

fn reallocate(block: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    let old = resized(block, pc);
    // SAFETY: the program's own call, unchanged.
    let new = unsafe { __libc_realloc(block, size) };
    if new.is_null() && size != 0 {
        if let Some(old) = old
            && let Some(_thread) = enter()
        {
            heap::add(old.start, old.size, old.site);
        }
        return new;
    }
    allocated(new, size, pc);
    // What is kept was written there by this thread: whoever still uses the old block, though it may be at the
    // same place, is not ordered after that.
    if let Some(old) = old
        && !new.is_null()
        && modules::is_watched(pc)
        && let Some(mut thread) = enter()
    {
        let kept = old.size.min(size).min(CHECKED);
        check_range(&mut thread, new as usize, kept, Kind::WRITE, pc);
    }
    new
}

interceptor! {
    fn malloc(size: usize) -> *mut c_void {
        let pc = tls::caller();
        allocate(size, pc)
    }
    fn calloc(count: usize, size: usize) -> *mut c_void {
        let pc = tls::caller();
        allocated(__libc_calloc(count, size), count.wrapping_mul(size), pc)
    }
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        reallocate(block, size, tls::caller())
    }
    fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
        let pc = tls::caller();
        match count.checked_mul(size) {
            Some(total) => reallocate(block, total, pc),
            None => {
                *libc::__errno_location() = libc::ENOMEM;
                std::ptr::null_mut()
            }
        }
    }
    fn free(block: *mut c_void) {
        give_back(block, tls::caller());
    }
    fn cfree(block: *mut c_void) {
        give_back(block, tls::caller());
    }
    fn memalign(alignment: usize, size: usize) -> *mut c_void {
        let pc = tls::caller();
        allocated(__libc_memalign(alignment, size), size, pc)
    }
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
        let pc = tls::caller();
        allocated(__libc_memalign(alignment, size), size, pc)
    }
    fn posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
        let pc = tls::caller();
        if alignment < 8 || !alignment.is_power_of_two() {
            return libc::EINVAL;
        }
        let made = __libc_memalign(alignment, size);
        if made.is_null() {
            return libc::ENOMEM;
        }
        *block = allocated(made, size, pc);
        0
    }
    fn valloc(size: usize) -> *mut c_void {
        let pc = tls::caller();
        allocated(__libc_memalign(4096, size), size, pc)
    }
    fn pvalloc(size: usize) -> *mut c_void {
        let pc = tls::caller();
        let size = (size + 4095) & !4095;
        allocated(__libc_memalign(4096, size), size, pc)
    }
}

/// `operator new`, so that a block's site is the program's line and not libstdc++'s. The library's
/// own operator takes over when memory is out: it knows the new-handler and what to throw.
macro_rules! operators_new {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {
        interceptor! {$(
            fn $name(size: usize $(, $argument: $type)*) -> *mut c_void {
                let pc = tls::caller();
                let block = __libc_malloc(size.max(1));
                if block.is_null() {
                    return real!($name: fn(usize $(, $type)*) -> *mut c_void)(size $(, $argument)*);
                }
                allocated(block, size, pc)
            }
        )*}
    };
}

operators_new! {
    _Znwm();
    _Znam();
    _ZnwmRKSt9nothrow_t(tag: *const c_void);
    _ZnamRKSt9nothrow_t(tag: *const c_void);
}

macro_rules! aligned_operators_new {
    ($($name:ident($($argument:ident : $type:ty),*);)*) => {
        interceptor! {$(
            fn $name(size: usize, alignment: usize $(, $argument: $type)*) -> *mut c_void {
                let pc = tls::caller();
                let block = __libc_memalign(alignment, size.max(1));
                if block.is_null() {
                    return real!($name: fn(usize, usize $(, $type)*) -> *mut c_void)(size, alignment $(, $argument)*);
                }
                allocated(block, size, pc)
            }
        )*}
    };
}

aligned_operators_new! {
    _ZnwmSt11align_val_t();
    _ZnamSt11align_val_t();
    _ZnwmSt11align_val_tRKSt9nothrow_t(tag: *const c_void);
    _ZnamSt11align_val_tRKSt9nothrow_t(tag: *const c_void);
}

macro_rules! operators_delete {
    ($($name:ident)*) => {
        interceptor! {$(
            fn $name(block: *mut c_void) {
                give_back(block, tls::caller());
            }
        )*}
    };
}

// Size, alignment and tag arguments after the pointer do not matter to `free`.
operators_delete! {
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
    _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
    _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
}

/// A range whose old content is gone.
fn renewed(address: usize, size: usize) {
    if let Some(_thread) = enter() {
        access::forget_range(address, size);
        sync::forget_range(address, size);
    }
}

/// New memory, which counts as written by whoever got it.
fn mapped(address: usize, size: usize, pc: usize) {
    if let Some(mut thread) = enter() {
        match modules::is_instrumented(pc) {
            true => access::allocate_range(&mut thread, address, size, pc),
            false => access::forget_range(address, size),
        }
        sync::forget_range(address, size);
    }
}

/// Whether the kernel looks at the range at all: it refuses addresses past a program's own.
fn can_be_mapped(address: usize, size: usize) -> bool {
    const END: usize = 1 << 47;
    address.checked_add(size).is_some_and(|end| end <= END)
}

const FAILED: *mut c_void = usize::MAX as *mut c_void;

interceptor! {
    fn mmap(address: *mut c_void, size: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void {
        let pc = tls::caller();
        let result = real!(mmap: fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void)(address, size, protection, flags, file, offset);
        if result != FAILED {
            mapped(result as usize, size, pc);
        }
        result
    }
    fn mmap64(address: *mut c_void, size: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void {
        let pc = tls::caller();
        let result = real!(mmap64: fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void)(address, size, protection, flags, file, offset);
        if result != FAILED {
            mapped(result as usize, size, pc);
        }
        result
    }
    fn munmap(address: *mut c_void, size: usize) -> c_int {
        let pc = tls::caller();
        if can_be_mapped(address as usize, size) {
            // Whoever still used the memory races with its end, as with `free`.
            if let Some(mut thread) = enter() && modules::is_watched(pc) {
                check_range(&mut thread, address as usize, size.min(UNMAPPED), Kind::FREE, pc);
            }
            // Before the call: right after it, another thread may map the same addresses.
            renewed(address as usize, size);
        }
        real!(munmap: fn(*mut c_void, usize) -> c_int)(address, size)
    }
    fn mremap(old: *mut c_void, old_size: usize, new_size: usize, flags: c_int, target: *mut c_void) -> *mut c_void {
        let result = real!(mremap: fn(*mut c_void, usize, usize, c_int, *mut c_void) -> *mut c_void)(old, old_size, new_size, flags, target);
        if result != FAILED {
            if result != old {
                renewed(old as usize, old_size);
                renewed(result as usize, new_size);
            } else if new_size > old_size {
                renewed(old as usize + old_size, new_size - old_size);
            }
        }
        result
    }
}
