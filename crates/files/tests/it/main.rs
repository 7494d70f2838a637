//! Scans of real directories beside what the standard library finds in them.

mod ask;
mod deep;
mod model;
mod names;
mod scan;
#[cfg(target_os = "linux")]
mod watch;
