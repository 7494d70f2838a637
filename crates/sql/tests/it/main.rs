//! SQL over archives that are loaded here.

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
