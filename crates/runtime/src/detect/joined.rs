//! One site that stands for several, each with some bytes of a granule.
//!
//! What a thread does in one segment to the parts of a granule comes from different places in the code:
//! a table of small numbers, a text that is read at every offset. A cell for each of them would fill
//! memory, and every look would have to take all of them together. They are one cell instead, whose site
//! is a number in this table. Equal sites with equal bytes have one number, whatever order they came in.
//! What finds no room stays in cells of its own.

use super::cell::{BYTES, SITES};
use super::intern::Interner;

/// (a site, or a number of this table, for all bytes but these; another site << 8 | its bytes).
pub static JOINED: Interner = Interner::new(MOST);
const MOST: u32 = 1 << 19;
/// From here on, what the bits of a site say is a number in this table.
pub const FIRST: u32 = SITES - MOST;
/// A granule has so many bytes.
const PARTS: usize = 8;

/// The sites of some bytes, with the bytes of each.
pub fn parts_of(mut site: u32, mut bytes: u64) -> impl Iterator<Item = (u32, u64)> {
    std::iter::from_fn(move || {
        while bytes != 0 {
            let (rest, one, its) = match site.checked_sub(FIRST) {
                Some(number) => {
                    let (rest, one) = JOINED.get(number);
                    (rest as u32, (one >> 8) as u32, one & BYTES)
                }
                None => (0, site, BYTES),
            };
            let found = bytes & its;
            (site, bytes) = (rest, bytes & !its);
            if found != 0 {
                return Some((one, found));
            }
        }
        None
    })
}

/// The site of what `older` stands for with its bytes, and `newer` with those that it adds.
#[cold]
#[inline(never)]
pub fn join(older: u32, bytes: u64, newer: u32, added: u64) -> Option<u32> {
    let mut parts = [(u32::MAX, 0); PARTS];
    for (site, bytes) in parts_of(older, bytes & !added).chain([(newer, added)]) {
        let free = |part: &&mut (u32, u64)| part.0 == site || part.1 == 0;
        let part = parts.iter_mut().find(free)?;
        *part = (site, part.1 | bytes);
    }
    parts.sort_unstable();
    let mut used = parts.into_iter().filter(|part| part.1 != 0);
    let (first, _) = used.next()?;
    used.try_fold(first, |rest, (site, bytes)| {
        let number = JOINED.intern(u64::from(rest), u64::from(site) << 8 | bytes)?;
        Some(FIRST + number)
    })
}
