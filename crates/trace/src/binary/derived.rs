//! What recorder and reader agree on about accesses that have no record.
//!
//! A thread's recorder remembers, for eight aligned bytes that it accessed, what its reader knows
//! them to hold. An access that finds just that, at an address that the reader computes, is only
//! counted. Both sides keep a check of these accesses, which is written with the count: a reader
//! that came to other addresses or values notices it.

/// What stands for eight aligned bytes with this content.
#[inline]
pub fn word(address: u64, content: u64) -> u64 {
    content ^ address.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The check after one more access, which left this word. A sum is one instruction to the recorder,
/// which a signal cannot come in between.
#[inline]
pub fn next_check(check: u64, word: u64) -> u64 {
    check.wrapping_add(word)
}

/// As [`next_check`], in version 4 of the format.
pub fn next_check_of_version_4(check: u64, word: u64) -> u64 {
    check.rotate_left(7).wrapping_add(word)
}

/// As it is written.
pub fn check_byte(check: u64) -> u8 {
    (check.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// `size` bytes at `offset` of eight.
#[inline]
pub fn part(content: u64, offset: u64, size: u64) -> u64 {
    let value = content >> (offset * 8);
    if size >= 8 { value } else { value & ((1 << (size * 8)) - 1) }
}

/// Eight bytes with `size` of them, at `offset`, replaced. The value has no bits beyond its size.
#[inline]
pub fn with_part(content: u64, offset: u64, size: u64, value: u64) -> u64 {
    if size >= 8 {
        return value;
    }
    let mask = ((1 << (size * 8)) - 1) << (offset * 8);
    content & !mask | value << (offset * 8)
}

#[cfg(test)]
mod tests {
    use super::{part, with_part};

    #[test]
    fn parts_are_put_where_they_are_taken_from() {
        let content = 0x1122_3344_5566_7788;
        for (size, offset) in [(1, 0), (1, 7), (2, 2), (4, 4), (8, 0)] {
            let found = part(content, offset, size);
            assert_eq!(with_part(content, offset, size, found), content);
            let changed = with_part(content, offset, size, found ^ 1);
            assert_eq!(changed ^ content, 1 << (offset * 8));
        }
    }
}
