//! The tier against a store that is changed, fails and is slow, on disks that do the same.

mod faults;
mod killed;
mod model;
mod once;
mod restart;
mod store;
mod world;
