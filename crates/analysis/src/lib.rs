//! The static engine: finds every candidate race of a whole program, excludes what cannot race
//! with a reason, and ranks the rest.
//!
//! It follows RELAY (bottom-up relative locksets and guarded accesses over the call graph) and
//! "Fast and accurate static data-race detection for concurrent programs" (shared-variable
//! discovery, must-alias of lock pointers, acquisition histories). The way of the data:
//!
//! ```text
//!   effects ─ pointsto ─ callgraph ─ sharing ─┬─ flow (summaries, bottom-up, parallel)
//!                                              └─ contexts (from thread roots down)
//!                                                   └─ pairs ◀ digests ─ ranking ─▶ Report
//! ```
//!
//! The engine does no IO. Its result does not depend on the number of threads it runs on.

#![forbid(unsafe_code)]

mod actuals;
mod again;
mod bodies;
mod bottom_up;
mod callgraph;
mod captures;
mod cfg;
mod check;
mod composed;
mod contexts;
mod covers;
mod creates;
mod dependences;
mod detached;
mod digests;
mod distinct;
mod draft;
mod effects;
mod entry;
mod flow;
mod formats;
mod futures;
mod guarded;
mod indirect;
mod joins;
mod keeping;
mod late;
mod lives;
mod loops;
mod loose;
mod misuse;
mod mutexes;
mod naming;
mod notes;
mod order;
mod owners;
mod pairs;
mod parts;
mod pointsto;
mod ranges;
mod ranking;
mod reaches;
mod scc;
mod shared;
mod shares;
mod sharing;
mod state;
mod summary;
mod sym;
mod takeover;
mod tasks;
mod team;
mod thread_ends;
mod threads;
mod unwatched;
mod view;

pub use again::{Found, Kept, Known, Solved, Summaries, draft_again};
pub use check::{Options, check, check_in_stages, draft, why};
pub use draft::{Draft, Place, Spot, place_in};
pub use takeover::{Outline, Scene};
pub use unwatched::{BY_LOCK, Places as UnwatchedPlaces, PlainAccess, Unwatched, unwatched};
pub use view::{Digest, Places, View, numbers, view};
