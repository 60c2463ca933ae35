//! The orders that come in and the report that goes out, by system calls alone: the C library's
//! streams belong to the program.

use std::ffi::CStr;
use std::sync::OnceLock;

use racewarden_schedule::gate::{Event, Orders};

use crate::common::futex::raw_syscall;
use crate::common::output::write_all;

/// The report's path with its final nul byte.
static REPORT: OnceLock<Vec<u8>> = OnceLock::new();

/// Finds `RACEWARDEN_GATE=ORDERS:REPORT` and reads the orders. Bad orders are told on standard
/// error and leave the program alone.
pub fn load(environment: *const *const u8) -> Option<(Orders, Vec<u8>)> {
    let value = variable(environment, b"RACEWARDEN_GATE=")?;
    let split = value.iter().position(|byte| *byte == b':')?;
    let (orders, report) = (&value[..split], &value[split + 1..]);
    let text = read_file(&nul_terminated(orders))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.parse::<Orders>() {
        Ok(parsed) => Some((parsed, nul_terminated(report))),
        Err(error) => {
            write_all(2, format!("racewarden: gate orders: {error}\n").as_bytes());
            None
        }
    }
}

fn nul_terminated(bytes: &[u8]) -> Vec<u8> {
    let mut path = bytes.to_vec();
    path.push(0);
    path
}

fn variable(environment: *const *const u8, prefix: &[u8]) -> Option<Vec<u8>> {
    if environment.is_null() {
        return None;
    }
    let mut entry = environment;
    loop {
        // SAFETY: the environment is an array of C strings that ends with a null pointer.
        let text = unsafe {
            if (*entry).is_null() {
                return None;
            }
            CStr::from_ptr((*entry).cast()).to_bytes()
        };
        if let Some(value) = text.strip_prefix(prefix) {
            return Some(value.to_vec());
        }
        // SAFETY: the array goes on until its null pointer.
        entry = unsafe { entry.add(1) };
    }
}

/// Opens a path that ends in a nul byte; negative on failure.
fn open(path: &[u8], flags: i32) -> isize {
    // SAFETY: the path is nul-terminated and outlives the call.
    unsafe {
        raw_syscall(
            libc::SYS_openat,
            libc::AT_FDCWD as usize,
            path.as_ptr() as usize,
            flags as usize,
            0o600,
            0,
            0,
        )
    }
}

pub fn close(descriptor: isize) {
    // SAFETY: closes a descriptor that this module opened.
    unsafe { raw_syscall(libc::SYS_close, descriptor as usize, 0, 0, 0, 0, 0) };
}

pub fn open_to_read(path: &[u8], extra: i32) -> Option<isize> {
    let descriptor = open(path, libc::O_RDONLY | libc::O_CLOEXEC | extra);
    (descriptor >= 0).then_some(descriptor)
}

/// Reads what one call gives, into `buffer`.
pub fn read_some(descriptor: isize, buffer: &mut [u8]) -> &[u8] {
    // SAFETY: the buffer is writable for its length.
    let count = unsafe {
        raw_syscall(
            libc::SYS_read,
            descriptor as usize,
            buffer.as_mut_ptr() as usize,
            buffer.len(),
            0,
            0,
            0,
        )
    };
    &buffer[..count.max(0) as usize]
}

fn read_file(path: &[u8]) -> Option<Vec<u8>> {
    let descriptor = open_to_read(path, 0)?;
    let mut content = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let part = read_some(descriptor, &mut buffer);
        if part.is_empty() {
            break;
        }
        content.extend_from_slice(part);
    }
    close(descriptor);
    Some(content)
}

pub fn set_report(path: Vec<u8>) {
    let _ = REPORT.set(path);
}

/// Appends events, one line each. The file is opened for each call: events are few, and a
/// program may close descriptors that it does not know.
pub fn report(events: &[Event]) {
    if events.is_empty() {
        return;
    }
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    report_text(text.as_bytes());
}

fn report_text(text: &[u8]) {
    let Some(path) = REPORT.get() else { return };
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    let descriptor = open(path, flags);
    if descriptor >= 0 {
        write_all(descriptor as i32, text);
        close(descriptor);
    }
}
