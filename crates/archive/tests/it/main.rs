//! Archives from the outside: loading, asking, owning, and what must not depend on how it was done.

mod data;
mod owners;
mod same_result;
