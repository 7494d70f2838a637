//! Tests of a volume through its interface.

mod crash;
mod damage;
mod faults;
mod histories;
mod operations;
mod support;
mod together;
