//! The C library's own functions behind the interceptors, and system calls that bypass both.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::futex::raw_syscall;

/// The C library's function of one name, looked up once behind our own definition of it.
pub struct Real {
    name: &'static CStr,
    address: AtomicUsize,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

impl Real {
    pub const fn new(name: &'static CStr) -> Self {
        Real { name, address: AtomicUsize::new(0) }
    }

    /// The address, or 0 when no library defines the name.
    #[inline]
    pub fn get(&self) -> usize {
        match self.address.load(Ordering::Relaxed) {
            0 => self.look_up(),
            address => address,
        }
    }

    #[cold]
    fn look_up(&self) -> usize {
        // SAFETY: the name is a C string; RTLD_NEXT finds the definition after the executable's.
        let address = unsafe { dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// `real!(name: fn(args) -> ret)` is the C library's `name` as a callable function pointer.
///
/// Aborts with a message when the C library has no such function: the program could not have
/// called it without our definition either.
#[macro_export]
macro_rules! real {
    ($name:ident : fn($($argument:ty),* $(,)?) $(-> $result:ty)?) => {{
        static REAL: $crate::common::real::Real = {
            // SAFETY: the literal ends in its only nul byte.
            let name = unsafe {
                std::ffi::CStr::from_bytes_with_nul_unchecked(
                    concat!(stringify!($name), "\0").as_bytes(),
                )
            };
            $crate::common::real::Real::new(name)
        };
        let address = REAL.get();
        if address == 0 {
            $crate::common::output::fatal(concat!(
                "the C library has no ", stringify!($name), "\n"
            ));
        }
        // SAFETY: the C library's function of this name has this signature.
        #[allow(unused_unsafe)]
        let function = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
        };
        function
    }};
}

/// Fresh zeroed pages, reserved only when touched. Null when the kernel has none.
pub fn raw_mmap(size: usize) -> *mut u8 {
    // SAFETY: a new anonymous mapping at an address of the kernel's choice disturbs nothing.
    let result = unsafe {
        raw_syscall(
            libc::SYS_mmap,
            0,
            size,
            (libc::PROT_READ | libc::PROT_WRITE) as usize,
            (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize,
            usize::MAX,
            0,
        )
    };
    if (-4095..0).contains(&result) { std::ptr::null_mut() } else { result as *mut u8 }
}

/// # Safety
/// The range was mapped by [`raw_mmap`] and is no longer used.
pub unsafe fn raw_munmap(address: *mut u8, size: usize) {
    // SAFETY: the caller gave the range up.
    unsafe { raw_syscall(libc::SYS_munmap, address as usize, size, 0, 0, 0, 0) };
}
