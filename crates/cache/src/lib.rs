//! A cache of memory and disk for reads of remote objects.
//!
//! [`Cache`] is a tier; [`Cache::origin_reader`] reads an [`Origin`] through it, [`CachedStore`] any
//! [`object_store::ObjectStore`].
//!
//! Invariants:
//!  - **One version**: all bytes of a response belong to one version of an object, identified by
//!    store, path and validator.
//!  - **Bounded age**: a version is at most [`Settings::revalidate_seconds`] old, counted from the
//!    request to the store.
//!  - **One fetch per byte**, however many readers wait for it, as long as a tier has it.
//!  - **A disk failure does not fail a read**: it is counted, and the store is asked.
//!  - Memory and directories stay within their settings.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod block;
mod block_file;
mod cached;
mod control;
mod counts;
mod device;
mod directory;
mod fetch;
mod flight;
mod ghost;
mod layout;
mod memory;
mod origin;
mod read;
mod ring;
mod rules;
mod settings;
mod size;
mod stats;
mod store;
mod tier;
mod upkeep;
mod upkeep_state;
mod versions;

pub use cached::{CachedOrigin, ObjectRead, resolve};
pub use control::CachedObject;
pub use counts::{User, UserStats};
pub use directory::DirectoryStats;
pub use ghost::{Advice, SPACES};
pub use layout::OpenError;
pub use memory::MemoryStats;
pub use origin::{Answer, Cause, Description, Origin, OriginError, Validator};
pub use settings::{Directory, Rule, SETTINGS_FILE, Settings, SettingsError, ValueError};
pub use size::Size;
pub use stats::{ProgramStats, Stats, StoreRow, UserRow};
pub use store::{CachedStore, StoreOrigin};
pub use tier::Cache;
