//! Tests of a volume as its users see it.

mod crash;
mod damage;
mod faults;
mod histories;
mod operations;
mod support;
mod together;
