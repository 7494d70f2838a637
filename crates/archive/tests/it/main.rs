//! Archives from the outside: loading, asking, owning, and what must not depend on how it was done.

mod addresses;
mod cdx;
mod changed;
mod data;
mod export;
mod from_facts;
mod full_disk;
mod graph;
mod growing;
mod histories;
mod hostile;
mod iana;
mod inputs;
mod leaks;
mod links_ever;
mod near_duplicates;
mod one_second;
mod owners;
mod questions;
mod read_once;
mod records;
mod recount;
mod report;
mod same_result;
mod text_of_another;
mod versions;
