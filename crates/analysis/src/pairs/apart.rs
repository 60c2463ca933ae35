//! Why accesses under guards that exclude each other are kept apart.
//!
//! Guards are compared once for all accesses under them, so what was found is gathered by cell and
//! guard, and handed to the accesses' places when the object is done.

use super::bundles::Bundles;
use super::{Cell, Found, Reasons};

/// Of each guard in each cell, what keeps its reads and its writes apart from others.
pub(super) struct Apart(Vec<Vec<Sides>>);

#[derive(Clone, Copy, Default)]
struct Sides {
    reads: Reasons,
    writes: Reasons,
}

impl Apart {
    /// One that gathers nothing unless it is asked to.
    pub fn new(cells: &[Cell], asked: bool) -> Self {
        let sides = |cell: &Cell| vec![Sides::default(); cell.guards.len()];
        Apart(if asked { cells.iter().map(sides).collect() } else { Vec::new() })
    }

    /// The digest excludes the accesses of two guards, each given by its cell's number, the cell
    /// and its number there.
    pub fn add(
        &mut self,
        (a, cell_a, x): (usize, &Cell, usize),
        (b, cell_b, y): (usize, &Cell, usize),
        digest: usize,
    ) {
        if self.0.is_empty() {
            return;
        }
        let bit: Reasons = 1 << digest;
        let (first, second) = (&cell_a.guards[x], &cell_b.guards[y]);
        if first.write_count > 0 {
            self.0[a][x].writes |= bit;
            self.0[b][y].reads |= bit;
            self.0[b][y].writes |= bit;
        }
        if second.write_count > 0 {
            self.0[b][y].writes |= bit;
            self.0[a][x].reads |= bit;
            self.0[a][x].writes |= bit;
        }
    }

    pub fn tell(&self, cells: &[Cell], bundles: &Bundles, found: &mut Found) {
        for (cell, all) in cells.iter().zip(&self.0) {
            for (guarded, sides) in cell.guards.iter().zip(all) {
                for bundle in guarded.bundles.iter().map(|&id| &bundles.list[id as usize]) {
                    bundle.reads.iter().for_each(|group| found.note(group.spot, sides.reads));
                    bundle.writes.iter().for_each(|group| found.note(group.spot, sides.writes));
                }
            }
        }
    }
}
