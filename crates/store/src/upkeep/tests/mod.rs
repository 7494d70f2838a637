//! Tests of everything in this module, on volumes in memory.

mod memory;
mod repair;
mod world;
