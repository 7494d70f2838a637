//! Tests of the store as others see it: nodes in one process, and nodes as processes of their own.

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
