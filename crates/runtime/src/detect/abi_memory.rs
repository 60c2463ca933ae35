//! TSan's entry points for plain memory accesses, calls and memory functions.
//!
//! Each is a stub that passes its return address on: that address says where the access is. Code with the
//! inline path says itself which of its function's places it is, and calls `__racewarden_…`.

use std::ffi::{c_int, c_void};

use super::chains::PLACE;
use super::engine::{self, Kind};
use super::incoming;
use crate::real;

/// The return address says where the access is.
macro_rules! take_caller {
    () => {
        "mov rsi, qword ptr [rsp + 72]"
    };
}

/// The place that was passed does; see `chains`.
macro_rules! mark_place {
    () => {
        "bts rsi, 63"
    };
}

const _: () = assert!(PLACE == 1 << 63);

/// An entry point that keeps every general register but r11, as LLVM's `preserve_mostcc` asks; for other
/// callers that is more than enough.
macro_rules! keeping_stub {
    ($name:ident, $body:ident, $where:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "sub rsp, 8",
                $where!(),
                "call {body}",
                "add rsp, 8",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "ret",
                body = sym $body
            )
        }
    };
}

/// One entry point: address in, return address added, fixed size and kind.
macro_rules! access {
    ($($name:ident, $placed:ident, $with_pc:ident => $size:literal, $kind:expr;)*) => {$(
        const _: () = {
            unsafe extern "C" fn body(address: usize, pc: usize) {
                incoming::access::<$size>(address, $kind, pc);
            }

            unsafe extern "C" fn untold(address: usize, pc: usize) {
                incoming::access_untold::<$size>(address, $kind, pc);
            }

            keeping_stub!($name, body, take_caller);
            keeping_stub!($placed, untold, mark_place);

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $with_pc(address: usize, pc: usize) {
                incoming::access::<$size>(address, $kind, pc);
            }
        };
    )*};
}

access! {
    __tsan_read1, __racewarden_read1, __tsan_read1_pc => 1, Kind::READ;
    __tsan_read2, __racewarden_read2, __tsan_read2_pc => 2, Kind::READ;
    __tsan_read4, __racewarden_read4, __tsan_read4_pc => 4, Kind::READ;
    __tsan_read8, __racewarden_read8, __tsan_read8_pc => 8, Kind::READ;
    __tsan_write1, __racewarden_write1, __tsan_write1_pc => 1, Kind::WRITE;
    __tsan_write2, __racewarden_write2, __tsan_write2_pc => 2, Kind::WRITE;
    __tsan_write4, __racewarden_write4, __tsan_write4_pc => 4, Kind::WRITE;
    __tsan_write8, __racewarden_write8, __tsan_write8_pc => 8, Kind::WRITE;
    __tsan_volatile_read1, __racewarden_volatile_read1, __tsan_volatile_read1_pc => 1, Kind::READ;
    __tsan_volatile_read2, __racewarden_volatile_read2, __tsan_volatile_read2_pc => 2, Kind::READ;
    __tsan_volatile_read4, __racewarden_volatile_read4, __tsan_volatile_read4_pc => 4, Kind::READ;
    __tsan_volatile_read8, __racewarden_volatile_read8, __tsan_volatile_read8_pc => 8, Kind::READ;
    __tsan_volatile_write1, __racewarden_volatile_write1, __tsan_volatile_write1_pc => 1, Kind::WRITE;
    __tsan_volatile_write2, __racewarden_volatile_write2, __tsan_volatile_write2_pc => 2, Kind::WRITE;
    __tsan_volatile_write4, __racewarden_volatile_write4, __tsan_volatile_write4_pc => 4, Kind::WRITE;
    __tsan_volatile_write8, __racewarden_volatile_write8, __tsan_volatile_write8_pc => 8, Kind::WRITE;
    __tsan_read_write1, __racewarden_read_write1, __tsan_read_write1_pc => 1, Kind::WRITE;
    __tsan_read_write2, __racewarden_read_write2, __tsan_read_write2_pc => 2, Kind::WRITE;
    __tsan_read_write4, __racewarden_read_write4, __tsan_read_write4_pc => 4, Kind::WRITE;
    __tsan_read_write8, __racewarden_read_write8, __tsan_read_write8_pc => 8, Kind::WRITE;
}

/// Accesses of 16 bytes.
macro_rules! pairs {
    ($($name:ident, $placed:ident, $with_pc:ident => $kind:expr;)*) => {$(
        const _: () = {
            unsafe extern "C" fn body(address: usize, pc: usize) {
                incoming::access_pair(address, $kind, pc);
            }

            keeping_stub!($name, body, take_caller);
            keeping_stub!($placed, body, mark_place);

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $with_pc(address: usize, pc: usize) {
                incoming::access_pair(address, $kind, pc);
            }
        };
    )*};
}

pairs! {
    __tsan_read16, __racewarden_read16, __tsan_read16_pc => Kind::READ;
    __tsan_write16, __racewarden_write16, __tsan_write16_pc => Kind::WRITE;
    __tsan_volatile_read16, __racewarden_volatile_read16, __tsan_volatile_read16_pc => Kind::READ;
    __tsan_volatile_write16, __racewarden_volatile_write16, __tsan_volatile_write16_pc => Kind::WRITE;
    __tsan_read_write16, __racewarden_read_write16, __tsan_read_write16_pc => Kind::WRITE;
    __tsan_unaligned_read16, __racewarden_unaligned_read16, __tsan_unaligned_read16_pc => Kind::READ;
    __tsan_unaligned_write16, __racewarden_unaligned_write16, __tsan_unaligned_write16_pc => Kind::WRITE;
    __tsan_unaligned_volatile_read16, __racewarden_unaligned_volatile_read16, __tsan_unaligned_volatile_read16_pc => Kind::READ;
    __tsan_unaligned_volatile_write16, __racewarden_unaligned_volatile_write16, __tsan_unaligned_volatile_write16_pc => Kind::WRITE;
    __tsan_unaligned_read_write16, __racewarden_unaligned_read_write16, __tsan_unaligned_read_write16_pc => Kind::WRITE;
}

access! {
    __tsan_unaligned_read2, __racewarden_unaligned_read2, __tsan_unaligned_read2_pc => 2, Kind::READ;
    __tsan_unaligned_read4, __racewarden_unaligned_read4, __tsan_unaligned_read4_pc => 4, Kind::READ;
    __tsan_unaligned_read8, __racewarden_unaligned_read8, __tsan_unaligned_read8_pc => 8, Kind::READ;
    __tsan_unaligned_write2, __racewarden_unaligned_write2, __tsan_unaligned_write2_pc => 2, Kind::WRITE;
    __tsan_unaligned_write4, __racewarden_unaligned_write4, __tsan_unaligned_write4_pc => 4, Kind::WRITE;
    __tsan_unaligned_write8, __racewarden_unaligned_write8, __tsan_unaligned_write8_pc => 8, Kind::WRITE;
    __tsan_unaligned_volatile_read2, __racewarden_unaligned_volatile_read2, __tsan_unaligned_volatile_read2_pc => 2, Kind::READ;
    __tsan_unaligned_volatile_read4, __racewarden_unaligned_volatile_read4, __tsan_unaligned_volatile_read4_pc => 4, Kind::READ;
    __tsan_unaligned_volatile_read8, __racewarden_unaligned_volatile_read8, __tsan_unaligned_volatile_read8_pc => 8, Kind::READ;
    __tsan_unaligned_volatile_write2, __racewarden_unaligned_volatile_write2, __tsan_unaligned_volatile_write2_pc => 2, Kind::WRITE;
    __tsan_unaligned_volatile_write4, __racewarden_unaligned_volatile_write4, __tsan_unaligned_volatile_write4_pc => 4, Kind::WRITE;
    __tsan_unaligned_volatile_write8, __racewarden_unaligned_volatile_write8, __tsan_unaligned_volatile_write8_pc => 8, Kind::WRITE;
    __tsan_unaligned_read_write2, __racewarden_unaligned_read_write2, __tsan_unaligned_read_write2_pc => 2, Kind::WRITE;
    __tsan_unaligned_read_write4, __racewarden_unaligned_read_write4, __tsan_unaligned_read_write4_pc => 4, Kind::WRITE;
    __tsan_unaligned_read_write8, __racewarden_unaligned_read_write8, __tsan_unaligned_read_write8_pc => 8, Kind::WRITE;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_read_range_pc(address: usize, size: usize, pc: usize) {
    incoming::access_range(address, size, Kind::READ, pc);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_write_range_pc(address: usize, size: usize, pc: usize) {
    incoming::access_range(address, size, Kind::WRITE, pc);
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_read_range() {
    core::arch::naked_asm!(
        "mov rdx, qword ptr [rsp]", "jmp {body}", body = sym __tsan_read_range_pc
    )
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_write_range() {
    core::arch::naked_asm!(
        "mov rdx, qword ptr [rsp]", "jmp {body}", body = sym __tsan_write_range_pc
    )
}

unsafe extern "C" fn vptr_update(slot: *const usize, value: usize, pc: usize) {
    // A constructor or destructor that stores the pointer already there changes nothing anyone
    // could see; anything else is a write that a virtual call elsewhere would notice.
    // SAFETY: the instrumented store to `slot` comes right after this call.
    let kind = if unsafe { slot.read() } == value { Kind::READ } else { Kind::WRITE };
    incoming::access::<8>(slot as usize, kind, pc);
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_vptr_update() {
    core::arch::naked_asm!("mov rdx, qword ptr [rsp]", "jmp {body}", body = sym vptr_update)
}

unsafe extern "C" fn vptr_read(slot: usize, pc: usize) {
    incoming::access::<8>(slot, Kind::READ, pc);
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_vptr_read() {
    core::arch::naked_asm!("mov rsi, qword ptr [rsp]", "jmp {body}", body = sym vptr_read)
}

unsafe extern "C" fn func_entry(call_site: usize, callee: usize) {
    engine::function_entry(call_site, callee);
}

/// Called once in each function, so that the place of that call stands for the function.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_func_entry() {
    core::arch::naked_asm!("mov rsi, qword ptr [rsp]", "jmp {body}", body = sym func_entry)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_func_exit() {
    engine::function_exit();
}

/// As `__tsan_func_entry`, called by the program itself.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __racewarden_own_func_entry() {
    core::arch::naked_asm!("jmp {entry}", entry = sym __tsan_func_entry)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __racewarden_own_func_exit() {
    engine::function_exit();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_ignore_thread_begin() {
    engine::ignore_all(true);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_ignore_thread_end() {
    engine::ignore_all(false);
}

unsafe extern "C" fn tsan_memcpy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    pc: usize,
) -> *mut c_void {
    incoming::access_range(from as usize, size, Kind::READ, pc);
    incoming::access_range(to as usize, size, Kind::WRITE, pc);
    // SAFETY: the program's own call, unchanged; overlapping is allowed here.
    unsafe { real!(memmove: fn(*mut c_void, *const c_void, usize) -> *mut c_void)(to, from, size) }
}

unsafe extern "C" fn tsan_memset(
    to: *mut c_void,
    value: c_int,
    size: usize,
    pc: usize,
) -> *mut c_void {
    incoming::access_range(to as usize, size, Kind::WRITE, pc);
    // SAFETY: the program's own call, unchanged.
    unsafe { real!(memset: fn(*mut c_void, c_int, usize) -> *mut c_void)(to, value, size) }
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy() {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {body}", body = sym tsan_memcpy)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove() {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {body}", body = sym tsan_memcpy)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset() {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {body}", body = sym tsan_memset)
}
