//! Access rules, and the visibility of captures for clients.
//!
//! Invariants:
//! - deny wins: a capture is hidden if any rule in force for the client denies it, even if another
//!   rule allows it;
//! - a group that is named in no rule changes nothing: a client only in such groups sees what the
//!   public sees;
//! - a [`AccessFilter`] depends only on the rules, the groups and the time, and so does its id. A result
//!   computed under an id is valid for every client with the same id.
//!
//! This crate knows only the properties of captures that rules test ([`CaptureAttributes`]), and nothing
//! about archives, indexes or HTTP.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod access_filter;
mod aclj;
mod file;
mod groups;
mod key_ranges;
mod matcher;
mod rule;
mod rules;
mod tokens;
mod watched_file;

pub use access_filter::{AccessFilter, AccessFilterId};
pub use aclj::{AcljError, EntryError, ImportedRules, import};
pub use file::{AccessRulesFile, FileError};
pub use groups::{ADMIN, Groups};
pub use key_ranges::KeyRanges;
pub use matcher::{CaptureAttributes, Matcher};
pub use rule::{Access, AccessRule, Condition, RuleError};
pub use rules::AccessRules;
pub use tokens::{TokenHolder, TokensError, TokensFault, TokensFile};
