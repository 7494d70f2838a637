//! Scans of real directories beside what the standard library finds in them, and of objects beside a map.

mod ask;
mod deep;
mod forget;
mod magic;
mod model;
mod names;
mod objects;
mod read_only;
mod renames;
mod retention;
mod scan;
#[cfg(target_os = "linux")]
mod watch;
