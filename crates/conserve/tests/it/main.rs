//! Files of records made by hand, and real ones, through each of the tools.

mod check;
mod dedup;
mod extract;
mod recompress;
mod repair;
mod split;
mod support;
