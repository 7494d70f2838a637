//! SQL over archives that are loaded here.

mod closing;
mod data;
mod epochs;
mod files;
mod live;
mod maintain;
mod questions;
mod statements;
mod verify;
