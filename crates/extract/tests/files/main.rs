//! Tests with real files: cases of other projects, and indexes that other projects made of the same
//! files.

mod charsets;
mod commoncrawl;
mod data;
mod edge;
mod indexes;
mod refresh;
mod regress;
mod whirlwind;
