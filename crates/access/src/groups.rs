//! The groups of a client, which access rules refer to.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Clients that administer the archive over HTTP are in this group too, so that rules can name
/// them.
pub const ADMIN: &str = "admin";

/// The groups of a client. The public is in none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Groups(BTreeSet<String>);

impl Groups {
    /// Returns an empty set of groups.
    pub fn public() -> Groups {
        Groups::default()
    }

    /// Parses names separated by commas or white space, as in headers and flags.
    pub fn listed(text: &str) -> Groups {
        let names = text.split(|c: char| c == ',' || c.is_whitespace());
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Adds the group of administrators.
    #[must_use]
    pub fn with_admin(mut self) -> Groups {
        self.0.insert(ADMIN.to_owned());
        self
    }

    /// Returns whether one of `names` is among them.
    pub fn has_any(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.0.contains(name))
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl<S: Into<String>> FromIterator<S> for Groups {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Groups {
        Groups(names.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        if names.is_empty() {
            f.write_str("the public")
        } else {
            f.write_str(&names.join(", "))
        }
    }
}
