//! Who may see which captures: rules, and what they come to for somebody who asks.
//!
//! Invariants:
//! - deny wins: a capture that a denying rule in force for the asker matches is hidden, whatever else allows it;
//! - a group that no rule names changes nothing: who is in such groups alone sees what the public sees;
//! - a [`Sight`] is a function of the rules, the groups and the time alone, and so is its id: what was computed under an id
//!   holds for everybody with the same one.
//!
//! It knows captures by what rules ask of them ([`Subject`]) and nothing of archives, indexes or HTTP.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod aclj;
mod clause;
mod file;
mod groups;
mod key_ranges;
mod rule;
mod rules;
mod sight;
mod stamped;
mod tokens;
mod written;

pub use aclj::{AcljError, Imported, import};
pub use clause::Clause;
pub use file::{FileError, RightsFile};
pub use groups::{ADMIN, Groups};
pub use key_ranges::KeyRanges;
pub use rule::{Access, Condition, Rule, RuleError};
pub use rules::Rules;
pub use sight::{Sight, SightId, Subject};
pub use tokens::{Bearer, TokensError, TokensFile};
