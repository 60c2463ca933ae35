//! Messages and report bytes, by system call alone.

use super::futex::raw_syscall;

/// Writes all of `bytes`, resuming after interruptions. Gives up silently on any other error:
/// there is nobody left to tell.
pub fn write_all(descriptor: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the buffer is readable for its length.
        let written = unsafe {
            raw_syscall(
                libc::SYS_write,
                descriptor as usize,
                bytes.as_ptr() as usize,
                bytes.len(),
                0,
                0,
                0,
            )
        };
        if written == -(libc::EINTR as isize) {
            continue;
        }
        if written <= 0 {
            return;
        }
        bytes = &bytes[written as usize..];
    }
}

/// Says why the runtime cannot go on, and stops the program at once.
pub fn fatal(message: &str) -> ! {
    write_all(2, b"racewarden runtime: ");
    write_all(2, message.as_bytes());
    // SAFETY: ends the whole process.
    unsafe { raw_syscall(libc::SYS_exit_group, 70, 0, 0, 0, 0, 0) };
    unreachable!("the process has exited")
}
