//! Tests of the store as other processes see it: nodes in one process, and nodes in separate
//! processes.

mod connect;
mod faults;
mod fifteen;
mod histories;
mod layouts;
mod lone;
mod lost;
mod nodes;
mod objects;
mod out;
mod process;
mod rows;
mod signatures;
mod tls;
mod torn;
mod wire;
