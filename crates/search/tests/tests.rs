//! Tests of the index through its public API: results, durability and ranking.

mod answers;
mod best;
mod crash;
mod forms;
mod match_model;
mod matches;
mod model;
mod replaced;
mod suggest;
mod support;
