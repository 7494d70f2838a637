//! The versioning setting of a bucket.

use std::collections::BTreeMap;

use store_protocol::Meta;

use crate::version_id::{OWN, VERSION_ID, VersionId};

/// The attribute of a bucket that holds the setting.
const VERSIONING: &str = "weft-versioning";

/// How a bucket treats an object that is overwritten or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Versioning {
    /// The old version disappears. A bucket never returns to this state.
    #[default]
    Unversioned,
    /// The old version stays as an older version.
    Enabled,
    /// The old version stays, unless it was written while its bucket was not
    /// [`Versioning::Enabled`]. Such versions have the id `null`, and an object has at most one of
    /// them.
    Suspended,
}

impl Versioning {
    /// Reads the attribute of a bucket.
    pub(crate) fn of(attributes: &BTreeMap<String, String>) -> Self {
        match attributes.get(VERSIONING).map(String::as_str) {
            Some("enabled") => Self::Enabled,
            Some("suspended") => Self::Suspended,
            _ => Self::Unversioned,
        }
    }

    /// Returns a bucket's attribute for this setting, and its value.
    pub fn attribute(self) -> (String, String) {
        let text = match self {
            Self::Unversioned => "unversioned",
            Self::Enabled => "enabled",
            Self::Suspended => "suspended",
        };
        (VERSIONING.to_owned(), text.to_owned())
    }

    /// Returns whether a version stays when it is replaced or deleted.
    pub(crate) fn keeps(self, current: &Meta) -> bool {
        match self {
            Self::Unversioned => false,
            Self::Enabled => true,
            Self::Suspended => VersionId::of(current) != VersionId::NULL,
        }
    }

    /// Marks the attributes of a version that is about to be written.
    pub(crate) fn mark(self, attributes: &mut BTreeMap<String, String>) {
        match self {
            // A caller that rewrites a version sets the attribute itself.
            Self::Unversioned => {}
            Self::Enabled => {
                attributes.insert(VERSION_ID.to_owned(), OWN.to_owned());
            }
            Self::Suspended => {
                attributes.remove(VERSION_ID);
            }
        }
    }
}
