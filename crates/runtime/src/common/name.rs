//! Thread names that are the same in every run.
//!
//! A thread is named by how it came to be: `0` is the main thread, `0.2` the second thread that it
//! created, `0.2.1` the first one that that one created. The name depends only on the order of
//! creations within each creating thread, never on which thread the scheduler ran first.

use std::fmt;

/// Longest creation path that is kept exactly; deeper descendants share their ancestor's prefix.
const DEPTH: usize = 15;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadName {
    length: u32,
    path: [u32; DEPTH],
}

impl ThreadName {
    pub const MAIN: ThreadName = ThreadName { length: 0, path: [0; DEPTH] };

    /// The creation counts from the main thread down.
    pub fn steps(&self) -> &[u32] {
        &self.path[..self.length as usize]
    }

    /// The name of the `count`-th thread (from 1) that this one creates.
    pub fn child(&self, count: u32) -> ThreadName {
        let mut child = *self;
        let at = (self.length as usize).min(DEPTH - 1);
        child.path[at] = count;
        child.length = at as u32 + 1;
        child
    }
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        for step in &self.path[..self.length as usize] {
            write!(f, ".{step}")?;
        }
        Ok(())
    }
}
