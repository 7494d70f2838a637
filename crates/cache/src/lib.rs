//! A cache tier of memory and disk under reads of objects that lie far away.
//!
//! [`Cache`] is a tier; [`Cache::over`] reads an [`Origin`] through it, [`CachedStore`] any [`object_store::ObjectStore`].
//!
//! Invariants:
//!  - **one version**: bytes of one answer are of one version of an object, told by store, path and validator;
//!  - **no older than the bound** of [`Settings::revalidate_seconds`], counted from when the store was asked;
//!  - **each byte is fetched once**, whoever waits for it, as long as a tier has it;
//!  - **a fault of a disk is no fault of a read**: it is counted, and the store is asked;
//!  - memory and directories stay within their settings.

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
mod known;
mod layout;
mod memory;
mod origin;
mod read;
mod ring;
mod rules;
mod settings;
mod size;
mod store;
mod tier;
mod upkeep;

pub use cached::{CachedOrigin, Got, resolve};
pub use control::{KeptObject, Stats, StoreRow, UserRow};
pub use counts::{User, UserStats};
pub use directory::DirectoryStats;
pub use ghost::{Advice, SPACES};
pub use layout::OpenError;
pub use memory::MemoryStats;
pub use origin::{Answer, Cause, Description, Origin, OriginError, Validator};
pub use settings::{Directory, Rule, SETTINGS_FILE, Settings, SettingsError};
pub use size::Size;
pub use store::{CachedStore, StoreOrigin};
pub use tier::Cache;
pub use upkeep::Written;
