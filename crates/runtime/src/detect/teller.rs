//! Findings of a program that runs on its own, told by the `racewarden` that linked it.
//!
//! `racewarden link` leaves the path of its own binary in the program. Each finding is handed to
//! `racewarden symbolize`, which prints it as text on standard error; without that binary the raw
//! lines go there. `RACEWARDEN_SYMBOLIZER` names another binary, or none when it is empty.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::common::futex::raw_syscall;
use crate::common::output;

/// The default; the definition that `racewarden link` makes wins.
#[unsafe(no_mangle)]
pub static __racewarden_tool: [u8; 1] = [0];

unsafe extern "C" {
    #[link_name = "__racewarden_tool"]
    static TOOL: c_char;
    static environ: *const *const c_char;
    fn posix_spawn(
        process: *mut c_int,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int;
}

/// The status by which the tool says that the finding is suppressed.
const SUPPRESSED: c_int = 3;

/// Tells one finding, and waits until it is told. Returns whether it was, and not suppressed.
pub fn tell(bytes: &[u8]) -> bool {
    match symbolized(bytes) {
        Some(status) if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == SUPPRESSED => false,
        Some(0) => true,
        _ => {
            output::write_all(2, bytes);
            true
        }
    }
}

/// How the tool ended; `None` when there is none.
fn symbolized(bytes: &[u8]) -> Option<c_int> {
    let tool = tool()?;
    // SAFETY: system calls on our own data; the strings outlive the calls, and the spawned process
    // has its own copy of everything.
    unsafe {
        let name = c"racewarden".as_ptr() as usize;
        let file = raw_syscall(libc::SYS_memfd_create, name, 0, 0, 0, 0, 0);
        if file < 0 {
            return None;
        }
        output::write_all(file as i32, bytes);
        // The child reads the file through its parent's table: nothing has to be inherited.
        let me = raw_syscall(libc::SYS_getpid, 0, 0, 0, 0, 0, 0);
        let mut place = format!("/proc/{me}/fd/{file}");
        place.push('\0');
        let arguments = [tool, c"symbolize".as_ptr(), place.as_ptr().cast(), std::ptr::null()];
        let mut process = 0;
        let no = std::ptr::null();
        let failed = posix_spawn(&mut process, tool, no, no, arguments.as_ptr(), environ) != 0;
        let mut status = 0_i32;
        if !failed {
            let at = &raw mut status as usize;
            while raw_syscall(libc::SYS_wait4, process as usize, at, 0, 0, 0, 0)
                == -(libc::EINTR as isize)
            {}
        }
        raw_syscall(libc::SYS_close, file as usize, 0, 0, 0, 0, 0);
        (!failed).then_some(status)
    }
}

fn tool() -> Option<*const c_char> {
    if let Some(named) = super::options::variable(b"RACEWARDEN_SYMBOLIZER") {
        return (!named.is_empty()).then(|| named.as_ptr().cast());
    }
    // The compiler sees the empty default, but not which definition the linker takes.
    let tool = std::hint::black_box(&raw const TOOL);
    // SAFETY: a C string, ours or the linker's.
    let tool = unsafe { CStr::from_ptr(tool) };
    (!tool.is_empty()).then_some(tool.as_ptr())
}
