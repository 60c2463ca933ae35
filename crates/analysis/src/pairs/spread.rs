//! Which cells of an object may meet: of an object that is accessed at tens of thousands of places each
//! place is compared with those that begin in it, and not with all.

use super::Cell;

/// The cells of one object, which are in the order of their places.
pub struct Spread {
    /// Numbers and offsets of cells at one place each.
    exact: Vec<(usize, i64)>,
    /// Those at many, which may meet any.
    strided: Vec<usize>,
    count: usize,
}

impl Spread {
    pub fn new(cells: &[Cell]) -> Self {
        let (mut exact, mut strided) = (Vec::new(), Vec::new());
        for (number, cell) in cells.iter().enumerate() {
            match cell.location.stride {
                0 => exact.push((number, cell.location.offset)),
                _ => strided.push(number),
            }
        }
        debug_assert!(
            exact.is_sorted_by_key(|(_, offset)| *offset),
            "in the order of their places"
        );
        Spread { exact, strided, count: cells.len() }
    }

    /// The cells from this one on that may meet it, in order.
    pub fn from(&self, number: usize, cell: &Cell) -> Vec<usize> {
        if cell.location.stride != 0 {
            return (number..self.count).collect();
        }
        let size = i64::try_from(cell.size).unwrap_or(i64::MAX);
        let end = cell.location.offset.saturating_add(size);
        let first = self.exact.partition_point(|(own, _)| *own < number);
        let near = self.exact[first..].iter().take_while(|(_, offset)| *offset < end);
        let later = self.strided.partition_point(|own| *own < number);
        let mut found: Vec<usize> = near.map(|(own, _)| *own).collect();
        found.extend_from_slice(&self.strided[later..]);
        found.sort_unstable();
        found
    }
}
