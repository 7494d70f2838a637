//! Scans of real directories, compared with the standard library, and of objects, compared with a
//! map.

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
