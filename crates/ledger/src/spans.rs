//! Sets of rows as runs of neighbours: most reports see most races, so a few spans say which.

/// The rows from `first` to `last`, with what is known of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span<T> {
    pub first: i64,
    pub last: i64,
    pub value: T,
}

/// The spans of `rows`, which are sorted.
pub(crate) fn spans_of<T: Copy>(rows: &[i64], value: T) -> Vec<Span<T>> {
    let mut spans: Vec<Span<T>> = Vec::new();
    for &row in rows {
        match spans.last_mut() {
            Some(span) if row <= span.last + 1 => span.last = span.last.max(row),
            _ => spans.push(Span { first: row, last: row, value }),
        }
    }
    spans
}

/// `under` where `over` has nothing, and `over` elsewhere; both sorted and without overlaps.
pub(crate) fn overlay<T: Copy + PartialEq>(under: &[Span<T>], over: &[Span<T>]) -> Vec<Span<T>> {
    let mut pieces: Vec<Span<T>> = over.to_vec();
    let mut at = 0;
    for span in under {
        let mut first = span.first;
        while over.get(at).is_some_and(|cover| cover.last < first) {
            at += 1;
        }
        for cover in over[at..].iter().take_while(|cover| cover.first <= span.last) {
            if first < cover.first {
                pieces.push(Span { first, last: cover.first - 1, ..*span });
            }
            first = first.max(cover.last + 1);
        }
        if first <= span.last {
            pieces.push(Span { first, ..*span });
        }
    }
    pieces.sort_by_key(|span| span.first);
    let mut joined: Vec<Span<T>> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.value == piece.value && last.last + 1 == piece.first => {
                last.last = piece.last;
            }
            _ => joined.push(piece),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn expanded(spans: &[Span<u8>]) -> BTreeMap<i64, u8> {
        let mut rows = BTreeMap::new();
        for span in spans {
            for row in span.first..=span.last {
                assert_eq!(rows.insert(row, span.value), None, "{row} is in two spans");
            }
        }
        rows
    }

    /// Every set of the rows 1 to 5 over every set, by bits.
    #[test]
    fn spans_over_spans_are_sets_over_sets() {
        let rows = |bits: u32| (1..=5).filter(|row| bits & (1 << row) != 0).collect::<Vec<i64>>();
        for (under, over) in
            (0..64).step_by(2).flat_map(|a| (0..64).step_by(2).map(move |b| (a, b)))
        {
            let (below, above) = (spans_of(&rows(under), 1), spans_of(&rows(over), 2));
            let both = overlay(&below, &above);
            let mut expected = expanded(&below);
            expected.extend(expanded(&above));
            assert_eq!(expanded(&both), expected);
            let apart = |pair: &[Span<u8>]| {
                pair[0].value != pair[1].value || pair[0].last + 1 < pair[1].first
            };
            assert!(both.windows(2).all(apart), "no two spans could be one: {both:?}");
        }
    }

    #[test]
    fn a_row_twice_is_in_one_span() {
        let spans = spans_of(&[3, 3, 4, 9], ());
        let ends: Vec<(i64, i64)> = spans.iter().map(|span| (span.first, span.last)).collect();
        assert_eq!(ends, [(3, 4), (9, 9)]);
    }
}
