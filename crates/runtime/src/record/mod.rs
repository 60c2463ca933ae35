//! The record mode: writes a trace of the run.
