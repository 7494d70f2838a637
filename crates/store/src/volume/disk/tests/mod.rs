//! Tests of a volume as its users see it.

mod operations;
mod support;
