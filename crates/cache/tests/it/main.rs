//! The tier with a store that changes, fails and is slow, on disks with the same faults.

mod faults;
mod killed;
mod model;
mod once;
mod restart;
mod store;
mod world;
