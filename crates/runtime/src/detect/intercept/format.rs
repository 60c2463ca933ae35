//! Formatted input and output: `%s` reads the program's strings, `%d` of `scanf` writes its
//! variables, `sprintf` fills its buffers.
//!
//! Stable Rust cannot define variadic functions, so a stub in assembly puts the argument registers
//! where a `va_list` can find them and goes on to the body, which only looks at a copy of the list
//! and then calls the C library's `v` form with the list itself. Formats with positions (`%1$s`)
//! and wide strings are passed on unchecked.

use std::ffi::{c_char, c_int, c_void};

use super::memory::{length, length_at_most, watch};
use crate::common::tls;
use crate::detect::engine::{self, Kind, Thread, check_range};
use crate::{interceptor, real};

/// The x86-64 `va_list`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arguments {
    general: u32,
    floating: u32,
    overflow: *mut u8,
    saved: *mut u8,
}

const GENERAL_END: u32 = 48;
const FLOATING_END: u32 = 176;

impl Arguments {
    /// The next integer or pointer.
    unsafe fn word(&mut self) -> usize {
        // SAFETY: the caller asks for no more than the format promises.
        unsafe {
            if self.general < GENERAL_END {
                let at = self.saved.add(self.general as usize);
                self.general += 8;
                return at.cast::<usize>().read_unaligned();
            }
            let value = self.overflow.cast::<usize>().read_unaligned();
            self.overflow = self.overflow.add(8);
            value
        }
    }

    fn skip_double(&mut self) {
        if self.floating < FLOATING_END {
            self.floating += 16;
        } else {
            self.overflow = self.overflow.wrapping_add(8);
        }
    }

    fn skip_long_double(&mut self) {
        let aligned = (self.overflow as usize + 15) & !15;
        self.overflow = (aligned + 16) as *mut u8;
    }
}

/// One conversion of a format.
struct Conversion {
    letter: u8,
    /// `h`, `l`, `L` and so on; `H` for `hh`, `q` for `ll`.
    length: u8,
    width: Field,
    precision: Field,
    /// `%*d` of `scanf`: read and thrown away.
    suppressed: bool,
    /// `%ms` of `scanf`: the result is allocated.
    allocates: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Absent,
    Given(usize),
    /// `*`: an argument of its own.
    Argument,
}

/// Walks a format; `None` at its end or where it is not understood.
struct Format {
    at: *const u8,
    scanning: bool,
}

impl Format {
    unsafe fn next(&mut self) -> Option<Conversion> {
        // SAFETY: the format is a C string, and nothing is read behind its end.
        unsafe {
            loop {
                match *self.at {
                    0 => return None,
                    b'%' if *self.at.add(1) == b'%' => self.at = self.at.add(2),
                    b'%' => break,
                    _ => self.at = self.at.add(1),
                }
            }
            self.at = self.at.add(1);
            let mut found = Conversion {
                letter: 0,
                length: 0,
                width: Field::Absent,
                precision: Field::Absent,
                suppressed: false,
                allocates: false,
            };
            if self.scanning && *self.at == b'*' {
                found.suppressed = true;
                self.at = self.at.add(1);
            }
            while !self.scanning && b"-+ #0'I".contains(&*self.at) && *self.at != 0 {
                self.at = self.at.add(1);
            }
            found.width = self.field();
            if *self.at == b'$' {
                return None;
            }
            if *self.at == b'.' {
                self.at = self.at.add(1);
                found.precision = match self.field() {
                    Field::Absent => Field::Given(0),
                    field => field,
                };
            }
            self.finish(&mut found)?;
            Some(found)
        }
    }

    unsafe fn field(&mut self) -> Field {
        // SAFETY: as `next`.
        unsafe {
            if *self.at == b'*' {
                self.at = self.at.add(1);
                return Field::Argument;
            }
            if !(*self.at).is_ascii_digit() {
                return Field::Absent;
            }
            let mut value = 0usize;
            while (*self.at).is_ascii_digit() {
                value = value.saturating_mul(10).saturating_add(usize::from(*self.at - b'0'));
                self.at = self.at.add(1);
            }
            Field::Given(value)
        }
    }

    /// Length modifiers, the letter, and the set of `%[`.
    unsafe fn finish(&mut self, found: &mut Conversion) -> Option<()> {
        // SAFETY: as `next`.
        unsafe {
            loop {
                let byte = *self.at;
                match byte {
                    0 => return None,
                    b'm' if self.scanning => found.allocates = true,
                    b'h' | b'l' | b'L' | b'q' | b'j' | b'z' | b't' => {
                        found.length = match (found.length, byte) {
                            (b'h', b'h') => b'H',
                            (b'l', b'l') => b'q',
                            _ => byte,
                        };
                    }
                    _ => break,
                }
                self.at = self.at.add(1);
            }
            found.letter = *self.at;
            self.at = self.at.add(1);
            if self.scanning && found.letter == b'[' {
                if *self.at == b'^' {
                    self.at = self.at.add(1);
                }
                if *self.at == b']' {
                    self.at = self.at.add(1);
                }
                while *self.at != 0 && *self.at != b']' {
                    self.at = self.at.add(1);
                }
                if *self.at == 0 {
                    return None;
                }
                self.at = self.at.add(1);
            }
            Some(())
        }
    }
}

fn integer_size(length: u8) -> usize {
    match length {
        b'H' => 1,
        b'h' => 2,
        b'l' | b'q' | b'j' | b'z' | b't' | b'L' => 8,
        _ => 4,
    }
}

/// Checks what `printf` reads of the program's memory (and writes, for `%n`).
unsafe fn printed(
    thread: &mut Thread,
    format: *const c_char,
    arguments: *const Arguments,
    pc: usize,
) {
    // SAFETY: the format and its arguments are the program's own call.
    unsafe {
        let mut arguments = *arguments;
        check_range(thread, format as usize, length(format) + 1, Kind::READ, pc);
        let mut format = Format { at: format.cast(), scanning: false };
        while let Some(conversion) = format.next() {
            if conversion.width == Field::Argument {
                arguments.word();
            }
            let precision = match conversion.precision {
                Field::Absent => None,
                Field::Given(most) => Some(most),
                Field::Argument => usize::try_from(arguments.word() as i32).ok(),
            };
            match conversion.letter {
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' | b'B' | b'c' | b'p' | b'C'
                | b'S' => {
                    arguments.word();
                }
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                    if conversion.length == b'L' {
                        arguments.skip_long_double();
                    } else {
                        arguments.skip_double();
                    }
                }
                b's' => {
                    let text = arguments.word() as *const c_char;
                    if text.is_null() || conversion.length == b'l' {
                        continue;
                    }
                    let size = match precision {
                        Some(most) => (length_at_most(text, most) + 1).min(most),
                        None => length(text) + 1,
                    };
                    check_range(thread, text as usize, size, Kind::READ, pc);
                }
                b'n' => {
                    let count = arguments.word();
                    check_range(thread, count, integer_size(conversion.length), Kind::WRITE, pc);
                }
                b'm' => {}
                _ => return,
            }
        }
    }
}

/// Checks what `scanf` wrote: the first `assigned` conversions.
unsafe fn scanned(
    thread: &mut Thread,
    format: *const c_char,
    arguments: *const Arguments,
    assigned: c_int,
    pc: usize,
) {
    // SAFETY: the format and its arguments are the program's own call, which has succeeded so far.
    unsafe {
        let mut arguments = *arguments;
        let mut left = assigned;
        let mut format = Format { at: format.cast(), scanning: true };
        while let Some(conversion) = format.next() {
            if conversion.suppressed {
                continue;
            }
            if left <= 0 && conversion.letter != b'n' {
                return;
            }
            let target = arguments.word();
            let size = match conversion.letter {
                _ if conversion.allocates => 8,
                b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'n' => integer_size(conversion.length),
                b'p' => 8,
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => match conversion.length {
                    b'L' => 16,
                    b'l' | b'q' => 8,
                    _ => 4,
                },
                b'c' => match conversion.width {
                    Field::Given(width) => width,
                    _ => 1,
                },
                b's' | b'[' if conversion.length != b'l' => length(target as *const c_char) + 1,
                _ => return,
            };
            check_range(thread, target, size, Kind::WRITE, pc);
            if conversion.letter != b'n' {
                left -= 1;
            }
        }
    }
}

/// A stream is used: not while another thread closes it.
fn used(thread: &mut Thread, stream: *mut c_void, pc: usize) {
    check_range(thread, stream as usize, 1, Kind::ATOMIC_READ, pc);
}

/// `variadic! { name, "register after the fixed arguments", fixed * 8, body }` defines the C
/// function `name` whose body gets the fixed arguments and a `va_list` of the rest.
macro_rules! variadic {
    ($($name:ident, $register:literal, $fixed:literal, $body:path;)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "mov r11, qword ptr [rsp]",
                    "mov qword ptr fs:[__racewarden_tls@TPOFF + 8], r11",
                    "sub rsp, 216",
                    "mov qword ptr [rsp + 32], rdi",
                    "mov qword ptr [rsp + 40], rsi",
                    "mov qword ptr [rsp + 48], rdx",
                    "mov qword ptr [rsp + 56], rcx",
                    "mov qword ptr [rsp + 64], r8",
                    "mov qword ptr [rsp + 72], r9",
                    "test al, al",
                    "je 2f",
                    "movaps xmmword ptr [rsp + 80], xmm0",
                    "movaps xmmword ptr [rsp + 96], xmm1",
                    "movaps xmmword ptr [rsp + 112], xmm2",
                    "movaps xmmword ptr [rsp + 128], xmm3",
                    "movaps xmmword ptr [rsp + 144], xmm4",
                    "movaps xmmword ptr [rsp + 160], xmm5",
                    "movaps xmmword ptr [rsp + 176], xmm6",
                    "movaps xmmword ptr [rsp + 192], xmm7",
                    "2:",
                    concat!("mov dword ptr [rsp], ", $fixed),
                    "mov dword ptr [rsp + 4], 48",
                    "lea rax, [rsp + 224]",
                    "mov qword ptr [rsp + 8], rax",
                    "lea rax, [rsp + 32]",
                    "mov qword ptr [rsp + 16], rax",
                    concat!("mov ", $register, ", rsp"),
                    "call {body}",
                    "add rsp, 216",
                    "ret",
                    body = sym $body,
                )
            }
        };
    )*};
}

type Text = *const c_char;
type List = *mut Arguments;

mod body {
    use super::*;

    pub unsafe extern "C" fn print(format: Text, list: List) -> c_int {
        let pc = tls::caller();
        // SAFETY: the program's own call; the list is passed on as it came.
        unsafe {
            watch(pc, |thread| printed(thread, format, list, pc));
            real!(vprintf: fn(Text, List) -> c_int)(format, list)
        }
    }

    pub unsafe extern "C" fn print_to_stream(
        stream: *mut c_void,
        format: Text,
        list: List,
    ) -> c_int {
        let pc = tls::caller();
        // SAFETY: as `print`.
        unsafe {
            watch(pc, |thread| {
                used(thread, stream, pc);
                printed(thread, format, list, pc);
            });
            real!(vfprintf: fn(*mut c_void, Text, List) -> c_int)(stream, format, list)
        }
    }

    /// What was written to a buffer, the end mark included.
    fn filled(buffer: *mut c_char, result: c_int, most: usize, pc: usize) {
        if let Ok(size) = usize::try_from(result) {
            let size = (size + 1).min(most);
            watch(pc, |thread| check_range(thread, buffer as usize, size, Kind::WRITE, pc));
        }
    }

    pub unsafe extern "C" fn print_to_buffer(
        buffer: *mut c_char,
        format: Text,
        list: List,
    ) -> c_int {
        let pc = tls::caller();
        // SAFETY: as `print`.
        unsafe {
            watch(pc, |thread| printed(thread, format, list, pc));
            let result =
                real!(vsprintf: fn(*mut c_char, Text, List) -> c_int)(buffer, format, list);
            filled(buffer, result, usize::MAX, pc);
            result
        }
    }

    pub unsafe extern "C" fn print_at_most(
        buffer: *mut c_char,
        most: usize,
        format: Text,
        list: List,
    ) -> c_int {
        let pc = tls::caller();
        // SAFETY: as `print`.
        unsafe {
            watch(pc, |thread| printed(thread, format, list, pc));
            let result = real!(vsnprintf: fn(*mut c_char, usize, Text, List) -> c_int)(
                buffer, most, format, list,
            );
            filled(buffer, result, most, pc);
            result
        }
    }

    pub unsafe extern "C" fn print_allocating(
        block: *mut *mut c_char,
        format: Text,
        list: List,
    ) -> c_int {
        let pc = tls::caller();
        // SAFETY: as `print`.
        unsafe {
            watch(pc, |thread| printed(thread, format, list, pc));
            let result =
                real!(vasprintf: fn(*mut *mut c_char, Text, List) -> c_int)(block, format, list);
            watch(pc, |thread| check_range(thread, block as usize, 8, Kind::WRITE, pc));
            if result >= 0 {
                filled(*block, result, usize::MAX, pc);
            }
            result
        }
    }

    // The checked forms of `_FORTIFY_SOURCE` have a flag, and the buffer's size, in between.
    pub unsafe extern "C" fn checked_print(_flag: c_int, format: Text, list: List) -> c_int {
        // SAFETY: as `print`.
        unsafe { print(format, list) }
    }

    pub unsafe extern "C" fn checked_print_to_stream(
        stream: *mut c_void,
        _flag: c_int,
        format: Text,
        list: List,
    ) -> c_int {
        // SAFETY: as `print`.
        unsafe { print_to_stream(stream, format, list) }
    }

    pub unsafe extern "C" fn checked_print_to_buffer(
        buffer: *mut c_char,
        flag: c_int,
        size: usize,
        format: Text,
        list: List,
    ) -> c_int {
        let pc = tls::caller();
        // SAFETY: as `print`.
        unsafe {
            watch(pc, |thread| printed(thread, format, list, pc));
            let result = real!(__vsprintf_chk: fn(*mut c_char, c_int, usize, Text, List) -> c_int)(
                buffer, flag, size, format, list,
            );
            filled(buffer, result, usize::MAX, pc);
            result
        }
    }

    pub unsafe extern "C" fn checked_print_at_most(
        buffer: *mut c_char,
        most: usize,
        flag: c_int,
        size: usize,
        format: Text,
        list: List,
    ) -> c_int {
        let pc = tls::caller();
        // SAFETY: as `print`.
        unsafe {
            watch(pc, |thread| printed(thread, format, list, pc));
            let result = real!(__vsnprintf_chk: fn(*mut c_char, usize, c_int, usize, Text, List) -> c_int)(
                buffer, most, flag, size, format, list,
            );
            filled(buffer, result, most, pc);
            result
        }
    }

    macro_rules! scanning {
        ($($plain:ident $stream:ident $text:ident, $real_plain:ident $real_stream:ident $real_text:ident;)*) => {$(
            pub unsafe extern "C" fn $plain(format: Text, list: List) -> c_int {
                let pc = tls::caller();
                // SAFETY: as `print`; the copy is taken before the call uses the list up.
                unsafe {
                    let copy = *list;
                    let result = real!($real_plain: fn(Text, List) -> c_int)(format, list);
                    watch(pc, |thread| scanned(thread, format, &copy, result, pc));
                    result
                }
            }

            pub unsafe extern "C" fn $stream(stream: *mut c_void, format: Text, list: List) -> c_int {
                let pc = tls::caller();
                // SAFETY: as above.
                unsafe {
                    let copy = *list;
                    watch(pc, |thread| used(thread, stream, pc));
                    let result = real!($real_stream: fn(*mut c_void, Text, List) -> c_int)(stream, format, list);
                    watch(pc, |thread| scanned(thread, format, &copy, result, pc));
                    result
                }
            }

            pub unsafe extern "C" fn $text(text: Text, format: Text, list: List) -> c_int {
                let pc = tls::caller();
                // SAFETY: as above.
                unsafe {
                    let copy = *list;
                    watch(pc, |thread| check_range(thread, text as usize, length(text) + 1, Kind::READ, pc));
                    let result = real!($real_text: fn(Text, Text, List) -> c_int)(text, format, list);
                    watch(pc, |thread| scanned(thread, format, &copy, result, pc));
                    result
                }
            }
        )*};
    }

    scanning! {
        scan scan_stream scan_text, vscanf vfscanf vsscanf;
        scan_99 scan_stream_99 scan_text_99, __isoc99_vscanf __isoc99_vfscanf __isoc99_vsscanf;
        scan_23 scan_stream_23 scan_text_23, __isoc23_vscanf __isoc23_vfscanf __isoc23_vsscanf;
    }
}

variadic! {
    printf, "rsi", 8, body::print;
    fprintf, "rdx", 16, body::print_to_stream;
    sprintf, "rdx", 16, body::print_to_buffer;
    snprintf, "rcx", 24, body::print_at_most;
    asprintf, "rdx", 16, body::print_allocating;
    __printf_chk, "rdx", 16, body::checked_print;
    __fprintf_chk, "rcx", 24, body::checked_print_to_stream;
    __sprintf_chk, "r8", 32, body::checked_print_to_buffer;
    __snprintf_chk, "r9", 40, body::checked_print_at_most;
    scanf, "rsi", 8, body::scan;
    fscanf, "rdx", 16, body::scan_stream;
    sscanf, "rdx", 16, body::scan_text;
    __isoc99_scanf, "rsi", 8, body::scan_99;
    __isoc99_fscanf, "rdx", 16, body::scan_stream_99;
    __isoc99_sscanf, "rdx", 16, body::scan_text_99;
    __isoc23_scanf, "rsi", 8, body::scan_23;
    __isoc23_fscanf, "rdx", 16, body::scan_stream_23;
    __isoc23_sscanf, "rdx", 16, body::scan_text_23;
}

interceptor! {
    fn vprintf(format: Text, list: List) -> c_int { body::print(format, list) }
    fn vfprintf(stream: *mut c_void, format: Text, list: List) -> c_int {
        body::print_to_stream(stream, format, list)
    }
    fn vsprintf(buffer: *mut c_char, format: Text, list: List) -> c_int {
        body::print_to_buffer(buffer, format, list)
    }
    fn vsnprintf(buffer: *mut c_char, most: usize, format: Text, list: List) -> c_int {
        body::print_at_most(buffer, most, format, list)
    }
    fn vasprintf(block: *mut *mut c_char, format: Text, list: List) -> c_int {
        body::print_allocating(block, format, list)
    }
    fn vscanf(format: Text, list: List) -> c_int { body::scan(format, list) }
    fn vfscanf(stream: *mut c_void, format: Text, list: List) -> c_int {
        body::scan_stream(stream, format, list)
    }
    fn vsscanf(text: Text, format: Text, list: List) -> c_int { body::scan_text(text, format, list) }
    fn __isoc99_vsscanf(text: Text, format: Text, list: List) -> c_int {
        body::scan_text_99(text, format, list)
    }
    fn __isoc23_vsscanf(text: Text, format: Text, list: List) -> c_int {
        body::scan_text_23(text, format, list)
    }

    fn fclose(stream: *mut c_void) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, stream as usize, 1, Kind::WRITE, pc));
        // The library closes the descriptor by itself; before the call, because its number may be
        // given out again at once.
        super::io::opened(libc::fileno(stream.cast()));
        // The C library gives the stream's memory back as its last act, as if it were us.
        engine::ignore_writes(true);
        let result = real!(fclose: fn(*mut c_void) -> c_int)(stream);
        engine::ignore_writes(false);
        result
    }
    fn fflush(stream: *mut c_void) -> c_int {
        let pc = tls::caller();
        if !stream.is_null() {
            watch(pc, |thread| used(thread, stream, pc));
        }
        real!(fflush: fn(*mut c_void) -> c_int)(stream)
    }
    fn getline(line: *mut *mut c_char, room: *mut usize, stream: *mut c_void) -> isize {
        let pc = tls::caller();
        let result = real!(getline: fn(*mut *mut c_char, *mut usize, *mut c_void) -> isize)(line, room, stream);
        took_line(line, room, result, pc);
        result
    }
    fn __getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, stream: *mut c_void) -> isize {
        let pc = tls::caller();
        let result = real!(__getdelim: fn(*mut *mut c_char, *mut usize, c_int, *mut c_void) -> isize)(line, room, end, stream);
        took_line(line, room, result, pc);
        result
    }
    fn getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, stream: *mut c_void) -> isize {
        let pc = tls::caller();
        let result = real!(getdelim: fn(*mut *mut c_char, *mut usize, c_int, *mut c_void) -> isize)(line, room, end, stream);
        took_line(line, room, result, pc);
        result
    }
}

interceptor! {
    fn fread(buffer: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize {
        let pc = tls::caller();
        let result = real!(fread: fn(*mut c_void, usize, usize, *mut c_void) -> usize)(buffer, size, count, stream);
        watch(pc, |thread| {
            used(thread, stream, pc);
            check_range(thread, buffer as usize, size.wrapping_mul(result), Kind::WRITE, pc);
        });
        result
    }
    fn fwrite(buffer: *const c_void, size: usize, count: usize, stream: *mut c_void) -> usize {
        let pc = tls::caller();
        watch(pc, |thread| {
            used(thread, stream, pc);
            check_range(thread, buffer as usize, size.wrapping_mul(count), Kind::READ, pc);
        });
        real!(fwrite: fn(*const c_void, usize, usize, *mut c_void) -> usize)(buffer, size, count, stream)
    }
    fn fgets(buffer: *mut c_char, size: c_int, stream: *mut c_void) -> *mut c_char {
        let pc = tls::caller();
        let result = real!(fgets: fn(*mut c_char, c_int, *mut c_void) -> *mut c_char)(buffer, size, stream);
        if !result.is_null() {
            watch(pc, |thread| {
                used(thread, stream, pc);
                check_range(thread, buffer as usize, length(buffer) + 1, Kind::WRITE, pc);
            });
        }
        result
    }
    fn puts(text: Text) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| check_range(thread, text as usize, length(text) + 1, Kind::READ, pc));
        real!(puts: fn(Text) -> c_int)(text)
    }
    fn fputs(text: Text, stream: *mut c_void) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| {
            used(thread, stream, pc);
            check_range(thread, text as usize, length(text) + 1, Kind::READ, pc);
        });
        real!(fputs: fn(Text, *mut c_void) -> c_int)(text, stream)
    }
    fn fputc(letter: c_int, stream: *mut c_void) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| used(thread, stream, pc));
        real!(fputc: fn(c_int, *mut c_void) -> c_int)(letter, stream)
    }
    fn putc(letter: c_int, stream: *mut c_void) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| used(thread, stream, pc));
        real!(putc: fn(c_int, *mut c_void) -> c_int)(letter, stream)
    }
    fn fgetc(stream: *mut c_void) -> c_int {
        let pc = tls::caller();
        watch(pc, |thread| used(thread, stream, pc));
        real!(fgetc: fn(*mut c_void) -> c_int)(stream)
    }
}

unsafe fn took_line(line: *mut *mut c_char, room: *mut usize, result: isize, pc: usize) {
    watch(pc, |thread| {
        check_range(thread, line as usize, 8, Kind::WRITE, pc);
        check_range(thread, room as usize, 8, Kind::WRITE, pc);
        if let Ok(size) = usize::try_from(result) {
            // SAFETY: the call succeeded, so the pointer is set.
            let text = unsafe { *line } as usize;
            check_range(thread, text, size + 1, Kind::WRITE, pc);
        }
    });
}
