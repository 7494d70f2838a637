//! Patterns, and the shell's reading of them.

mod bash;
mod names;
