//! Which of the words that threads look at share bytes with another: those are no flags.
//!
//! Of words at fixed places only neighbours in their order are compared: an object may have tens of
//! thousands of them. Those that an index leads to are compared with all of their object, up to a
//! number past which all of them count as sharing.

use super::events::Word;
use crate::pointsto::may_overlap;

/// Words of one object that an index leads to, which are still compared one by one.
const MAX_INDEXED: usize = 64;

/// For each of the words, which are sorted by place and size, whether another one may share a byte.
pub fn overlapping(words: &[Word]) -> Vec<bool> {
    let mut found = Vec::with_capacity(words.len());
    for of_object in words.chunk_by(|a, b| a.place.object == b.place.object) {
        let start = found.len();
        found.resize(start + of_object.len(), false);
        mark(of_object, &mut found[start..]);
    }
    found
}

fn mark(words: &[Word], found: &mut [bool]) {
    let (fixed, indexed): (Vec<usize>, Vec<usize>) =
        (0..words.len()).partition(|at| words[*at].place.stride == 0);
    if indexed.len() > MAX_INDEXED {
        found.fill(true);
        return;
    }
    let meets = |a: usize, b: usize| {
        may_overlap(words[a].place, words[a].size, words[b].place, words[b].size)
    };
    for &a in &indexed {
        for b in (0..words.len()).filter(|b| *b != a && meets(a, *b)) {
            (found[a], found[b]) = (true, true);
        }
    }
    // What begins before a word and ends last meets it if any such word does, and what begins next
    // is met if any later one is.
    let mut last: Option<usize> = None;
    let end = |at: usize| i128::from(words[at].place.offset) + i128::from(words[at].size);
    for (number, &at) in fixed.iter().enumerate() {
        let before = last.is_some_and(|last| meets(last, at));
        let after = fixed.get(number + 1).is_some_and(|next| meets(at, *next));
        found[at] |= before || after;
        if last.is_none_or(|last| end(last) < end(at)) {
            last = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pointsto::Location;

    fn word(object: u32, offset: i64, stride: u32, size: u64) -> Word {
        Word {
            place: Location { object, offset, stride },
            size,
            initial: None,
            first: None,
            writes: Vec::new(),
            looks: Vec::new(),
            waits: Vec::new(),
        }
    }

    #[test]
    fn it_says_what_comparing_all_with_all_says() {
        let mut seed = 7u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let mut words: Vec<Word> = (0..next(12))
                .map(|_| {
                    let stride = [0, 0, 0, 0, 8, 24][next(6) as usize];
                    word(next(2) as u32, next(60) as i64, stride, 1 << next(4))
                })
                .collect();
            words.sort_by_key(|word| (word.place, word.size));
            words.dedup_by_key(|word| (word.place, word.size));
            let naive = |a: usize| {
                (0..words.len()).any(|b| {
                    let (one, other) = (&words[a], &words[b]);
                    a != b && may_overlap(one.place, one.size, other.place, other.size)
                })
            };
            let expected: Vec<bool> = (0..words.len()).map(naive).collect();
            assert_eq!(overlapping(&words), expected);
        }
    }
}
