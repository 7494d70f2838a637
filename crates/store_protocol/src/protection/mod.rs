//! Write once, read many: what keeps an object from being removed or replaced, and how that may
//! change.
//!
//! Invariants:
//!  - an object under a legal hold, or whose retention has not ended, is neither deleted nor given
//!    other content;
//!  - a retention of mode `compliance` in force never ends earlier and never becomes `governance`;
//!  - only a [`Protect`] changes protection: attributes sent with a write never set or remove it.
//!
//! Protection is stored in the attributes of a version, so every replica carries it and it needs no
//! format change. Modes and holds are those of S3's object lock.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::meta::Meta;

/// The attribute with the time until which an object is kept, as ISO 8601 in UTC.
const UNTIL: &str = "weft-retain-until";

/// The attribute with the mode of the retention.
const MODE: &str = "weft-retain-mode";

/// The attribute of a legal hold; absent without a hold.
const HOLD: &str = "weft-legal-hold";

/// Who may shorten a retention. The later variant is the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetentionMode {
    /// Callers with the permission to do so: [`Protect::bypass_governance`].
    Governance,
    /// Nobody.
    Compliance,
}

/// A time until which an object is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Retention {
    /// Who may shorten it.
    pub mode: RetentionMode,
    /// Milliseconds since 1970. From this moment on the object may be removed.
    pub until_ms: u64,
}

/// The protection of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Protection {
    /// Its retention, which may have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// A legal hold: the object is kept until the hold is ended.
    #[serde(default)]
    pub hold: bool,
}

/// A change of an object's protection, made together with a write of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Protect {
    /// The change of the retention.
    pub retention: RetentionChange,
    /// The new state of the legal hold. `None` leaves it unchanged.
    pub hold: Option<bool>,
    /// Whether the caller may shorten, weaken or end a retention of mode `governance`. Code that
    /// sets this has checked the permission.
    pub bypass_governance: bool,
}

/// A change of a retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetentionChange {
    /// The retention is unchanged.
    #[default]
    Keep,
    /// At least this: the later time and the stricter mode of this and the retention in force.
    Extend(Retention),
    /// Exactly this, or no retention. Refused if it is less than the one in force and that must not
    /// be shortened.
    Set(Option<Retention>),
}

impl Protection {
    /// Reads the protection from attributes.
    ///
    /// Unreadable values protect: an unknown mode counts as `compliance`, an invalid time as one
    /// that never comes. Only a later version of the program can have written them.
    pub fn of(attributes: &BTreeMap<String, String>) -> Self {
        let retention = attributes.get(UNTIL).map(|until| Retention {
            mode: match attributes.get(MODE).map(String::as_str) {
                Some("governance") => RetentionMode::Governance,
                _ => RetentionMode::Compliance,
            },
            until_ms: format::date::ms_of_iso(until)
                .and_then(|ms| u64::try_from(ms).ok())
                .unwrap_or(u64::MAX),
        });
        Self {
            retention,
            hold: attributes.contains_key(HOLD),
        }
    }

    /// Writes this into attributes, replacing any protection that they have.
    pub fn write_to(self, attributes: &mut BTreeMap<String, String>) {
        for name in [UNTIL, MODE, HOLD] {
            attributes.remove(name);
        }
        if let Some(retention) = self.retention {
            attributes.insert(UNTIL.to_owned(), retention.until_text());
            attributes.insert(MODE.to_owned(), retention.mode.to_string());
        }
        if self.hold {
            attributes.insert(HOLD.to_owned(), "on".to_owned());
        }
    }

    /// Returns the part of it that protects the object at a moment, if any.
    pub fn in_force(self, now_ms: u64) -> Option<Self> {
        let retention = self.retention.filter(|retention| retention.until_ms > now_ms);
        let in_force = Self { retention, ..self };
        (in_force != Self::default()).then_some(in_force)
    }

    /// Returns whether a copy preserves an object's protection at a moment: it has the same
    /// content, and is protected at least as long and as strictly.
    pub fn is_covered_by(object: &Meta, copy: &Meta, now_ms: u64) -> bool {
        let (needed, has) = (Self::of(&object.attributes), Self::of(&copy.attributes));
        let is_same =
            !copy.deleted && copy.size == object.size && copy.digests.blake3 == object.digests.blake3;
        let needed_retention = needed.retention.filter(|retention| retention.until_ms > now_ms);
        let is_retained =
            needed_retention.is_none_or(|needed| has.retention.is_some_and(|has| has.and(needed) == has));
        is_same && is_retained && (has.hold || !needed.hold)
    }

    /// Returns the protection after a change.
    ///
    /// # Errors
    /// The protection in force that forbids the change.
    pub fn changed(self, by: &Protect, now_ms: u64) -> Result<Self, Self> {
        let in_force = self.retention.filter(|retention| retention.until_ms > now_ms);
        let retention = match by.retention {
            RetentionChange::Keep => self.retention,
            RetentionChange::Extend(to) => Some(in_force.map_or(to, |now| now.and(to))),
            RetentionChange::Set(to) => {
                let may_shorten =
                    |now: Retention| now.mode == RetentionMode::Governance && by.bypass_governance;
                if let Some(now) = in_force
                    && !to.is_some_and(|to| to.and(now) == to)
                    && !may_shorten(now)
                {
                    return Err(self.in_force(now_ms).unwrap_or(self));
                }
                to
            }
        };
        Ok(Self {
            retention,
            hold: by.hold.unwrap_or(self.hold),
        })
    }

    /// Returns the protection of the version that a write makes in place of `current`; `None` means
    /// no current version. A write of the same content (length and BLAKE3) keeps the protection,
    /// whatever its attributes say. A write of other content or a deletion is refused while the
    /// current version is protected.
    ///
    /// # Errors
    /// The protection in force that forbids the write.
    pub fn after(
        current: Option<&Meta>,
        draft: &Draft,
        protect: &Protect,
        now_ms: u64,
    ) -> Result<Self, Self> {
        let before = current.map_or_else(Self::default, |meta| Self::of(&meta.attributes));
        let is_same = current.is_some_and(|meta| {
            !draft.deleted && meta.size == draft.size && meta.digests.blake3 == draft.digests.blake3
        });
        match before.in_force(now_ms) {
            _ if is_same => before.changed(protect, now_ms),
            Some(in_force) => Err(in_force),
            None => Self::default().changed(protect, now_ms),
        }
    }
}

impl Protect {
    /// Returns the change that gives a copy the protection of its original.
    pub fn exactly(protection: Protection) -> Self {
        Self {
            retention: RetentionChange::Set(protection.retention),
            hold: Some(protection.hold),
            bypass_governance: false,
        }
    }

    /// Returns a change that only makes a retention longer or stricter.
    pub fn extend(to: Retention) -> Self {
        Self {
            retention: RetentionChange::Extend(to),
            ..Self::default()
        }
    }

    /// Returns whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.retention == RetentionChange::Keep && self.hold.is_none()
    }
}

impl Retention {
    /// Returns the later time and the stricter mode of both.
    fn and(self, other: Self) -> Self {
        Self {
            mode: self.mode.max(other.mode),
            until_ms: self.until_ms.max(other.until_ms),
        }
    }

    /// Returns its end as ISO 8601 in UTC, to the millisecond.
    pub fn until_text(self) -> String {
        format::date::iso(i64::try_from(self.until_ms).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for RetentionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Governance => "governance",
            Self::Compliance => "compliance",
        })
    }
}

/// Formats as `kept until 2036-01-01T00:00:00Z (compliance)`.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = format::date::iso_short(i64::try_from(self.until_ms).unwrap_or(i64::MAX));
        write!(f, "kept until {until} ({})", self.mode)
    }
}

/// Formats as `kept until 2036-01-01T00:00:00Z (compliance) and under a legal hold`.
impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.retention, self.hold) {
            (None, false) => f.write_str("not protected"),
            (None, true) => f.write_str("under a legal hold"),
            (Some(retention), false) => retention.fmt(f),
            (Some(retention), true) => write!(f, "{retention} and under a legal hold"),
        }
    }
}

#[cfg(test)]
mod tests;
