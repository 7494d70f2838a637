//! Archives from the outside: loading, questions, ownership, and results that must not depend on
//! the way of loading.

mod addresses;
mod attachments;
mod calendar;
mod cdx;
mod changed;
mod collections;
mod data;
mod displaced;
mod export;
mod from_facts;
mod full_disk;
mod graph;
mod growing;
mod histories;
mod hostile;
mod iana;
mod images;
mod index_files;
mod inputs;
mod leaks;
mod links_ever;
mod near_duplicates;
mod one_second;
mod other_urls;
mod owners;
mod posts;
mod questions;
mod read_once;
mod records;
mod recount;
mod report;
mod same_result;
mod spellings;
mod text_of_another;
mod versions;
