//! Compares patterns with the shell.

mod bash;
mod names;
