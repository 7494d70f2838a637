//! SQL over archives that the tests load.

mod ccindex;
mod closing;
mod data;
mod epochs;
mod file_tables;
mod live;
mod maintain;
mod questions;
mod statements;
mod traps;
mod verify;
