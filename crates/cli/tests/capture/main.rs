//! Capture of small builds of every shape, and what their recipes link to.

mod builds;
mod lifetimes;
mod project;
