//! Client operations of the store: put, get, list, delete, with conditions. Every acknowledged
//! write is visible to all later reads through any node (linearizable for each key); [`decide`] and
//! [`key_state`] explain how. Each operation is in the file of its name.

mod budget;
mod claim;
mod commit;
mod decide;
mod delete;
mod digest;
mod error;
mod intake;
mod key_locks;
mod key_state;
mod list;
mod md5_queue;
mod multipart;
mod promised_terms;
mod propose;
mod protect;
mod put;
mod read;
mod staging;
mod store;
mod uploads;
mod versioned;
mod volumes;

pub use error::StoreError;
pub use list::{List, Listing};
pub use multipart::{Complete, MULTIPART_AGE_MAX, Multipart, Multiparts, PART_NUMBER_MAX, Part, Parts};
pub use put::{Finisher, FinisherError, Put};
pub use read::Object;
pub use store::{Damage, ReadMode, Store, Timeouts};
