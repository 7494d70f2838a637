//! The index from outside: what is found, that nothing is lost or doubled, and how well it ranks.

mod answers;
mod crash;
mod forms;
mod model;
mod replaced;
mod suggest;
mod support;
