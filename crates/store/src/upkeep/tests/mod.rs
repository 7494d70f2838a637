//! Tests of the upkeep module, on volumes in memory.

mod disk;
mod layouts;
mod model;
mod nodes;
mod queue;
mod repair;
mod scrub;
mod torn;
mod walk;
mod workers;
mod world;
