//! Volumes of this process: directories of files, each of which says itself what it is.

pub mod disk;
pub mod fixity;
pub mod replica;

pub use disk::CRASH_POINTS;
