//! Requests to a volume and their responses, as sent on the wire. Streamed content is separate.
//!
//! An operation is written in three places: here (a variant, and a row with its wire properties and
//! response type), as a method of [`crate::Volume`] that sends it, and in the volume that answers
//! it. Layers in between (a guard, the wire, a fault in a test) forward requests without knowing
//! their kinds.

use placement::{Partition, VolumeId};
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer, Serialize};

use crate::clock::Version;
use crate::fixity::{Cause, FixityEvent};
use crate::held::{Head, Held, ListQuery, Surveyed, Unsettled, Verdict};
use crate::key::Key;
use crate::meta::Meta;
use crate::operation_spec::{DURABLE, LONG, OperationSpec, QUICK};
use crate::upload::{Abandon, Purpose, UploadId};
use crate::volume_error::VolumeError;
use crate::volume_status::VolumeStatus;

/// A request to a volume. The [`crate::Volume`] method of the same name describes its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeAsk {
    /// Completes an upload.
    Prepare {
        /// The upload.
        #[serde(rename = "stage")]
        upload: UploadId,
        /// The version that it will be.
        meta: Meta,
        /// What the version is prepared for.
        purpose: Purpose,
    },
    /// Makes a prepared upload visible.
    Commit {
        /// The upload.
        #[serde(rename = "stage")]
        upload: UploadId,
        /// Why.
        cause: Cause,
        /// The replica and digest that it was made from; empty for writes.
        evidence: String,
    },
    /// Aborts an upload.
    Abort {
        /// The upload.
        #[serde(rename = "stage")]
        upload: UploadId,
        /// How much of it to discard.
        what: Abandon,
    },
    /// Returns the newest version of a key.
    Head {
        /// The key.
        key: Key,
    },
    /// Returns keys that have a prepared version.
    Unsettled {
        /// Prefix of the keys.
        prefix: String,
    },
    /// Returns the newest versions of keys in order.
    List(ListQuery),
    /// Returns everything in some partitions.
    Survey {
        /// The partitions.
        partitions: Vec<Partition>,
    },
    /// Verifies a replica against its digests.
    Verify {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Why.
        cause: Cause,
    },
    /// Removes a replica or tombstone.
    Remove {
        /// The object.
        key: Key,
        /// Its version.
        version: Version,
        /// Why.
        cause: Cause,
        /// Why it may be removed.
        evidence: String,
    },
    /// Moves a stray file away.
    SettleStray {
        /// Path below the volume.
        path: String,
    },
    /// Ends the state [`crate::VolumeState::Rebuilding`].
    Rebuilt,
    /// Returns lines of the fixity log.
    Fixity {
        /// Only lines about this key, if given.
        key: Option<Key>,
        /// Maximum number of lines returned.
        limit: usize,
    },
    /// Returns the status of the volume.
    Status,
}

/// Implements the wire properties of every request: [`VolumeAsk::spec`], and the type of its
/// response.
macro_rules! operations {
    ($($variant:ident: $kind:ident($name:literal, $limit:ident) -> $answer:ty;)*) => {
        impl VolumeAsk {
            /// Returns the operation's name, idempotence and time limit.
            pub fn spec(&self) -> OperationSpec {
                match self {
                    $(Self::$variant { .. } => OperationSpec::$kind($name, $limit),)*
                }
            }
        }

        /// Reads the response to this request.
        impl<'de> DeserializeSeed<'de> for &VolumeAsk {
            type Value = VolumeAnswer;

            fn deserialize<D: Deserializer<'de>>(self, answer: D) -> Result<VolumeAnswer, D::Error> {
                match self {
                    $(VolumeAsk::$variant { .. } => <$answer>::deserialize(answer).map(VolumeAnswer::from),)*
                }
            }
        }
    };
}

operations! {
    Prepare: writes("prepare", DURABLE) -> ();
    Commit: writes("commit", DURABLE) -> ();
    // Quick, because it syncs no data: leftovers are removed when the volume is next opened.
    Abort: writes("abort", QUICK) -> ();
    Head: reads("head", QUICK) -> Head;
    Unsettled: reads("unsettled", QUICK) -> Unsettled;
    List: reads("list", QUICK) -> Vec<Held>;
    Survey: reads("survey", LONG) -> Vec<Vec<Surveyed>>;
    // A write, because its findings are marked in the index and logged.
    Verify: writes("verify", LONG) -> Verdict;
    Remove: writes("remove", DURABLE) -> ();
    SettleStray: writes("settle-stray", LONG) -> ();
    Rebuilt: writes("rebuilt", DURABLE) -> ();
    Fixity: reads("fixity", LONG) -> Vec<FixityEvent>;
    Status: reads("status", QUICK) -> VolumeStatus;
}

/// The response to a [`VolumeAsk`]. It is sent as the bare value, because the request determines
/// its type. It must not be read as an untagged enum: serde supports no 128-bit numbers there (an
/// [`UploadId`] is one) and would take the first type that fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "the largest variant, `Head`, is the most frequent: boxing it would allocate for each response"
)]
pub enum VolumeAnswer {
    /// The operation is done.
    Done(()),
    /// Response to [`VolumeAsk::Head`].
    Head(Head),
    /// Response to [`VolumeAsk::Unsettled`].
    Unsettled(Unsettled),
    /// Response to [`VolumeAsk::List`].
    List(Vec<Held>),
    /// Response to [`VolumeAsk::Survey`].
    Survey(Vec<Vec<Surveyed>>),
    /// Response to [`VolumeAsk::Verify`].
    Verify(Verdict),
    /// Response to [`VolumeAsk::Fixity`].
    Fixity(Vec<FixityEvent>),
    /// Response to [`VolumeAsk::Status`].
    Status(VolumeStatus),
}

/// The response is not of the kind that the request expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherAnswer;

/// Implements the conversions between each kind of response and the type of its value, in both
/// directions.
macro_rules! answers {
    ($($variant:ident($value:ty)),* $(,)?) => {$(
        impl TryFrom<VolumeAnswer> for $value {
            type Error = OtherAnswer;

            fn try_from(answer: VolumeAnswer) -> Result<Self, OtherAnswer> {
                match answer {
                    VolumeAnswer::$variant(value) => Ok(value),
                    _ => Err(OtherAnswer),
                }
            }
        }

        impl From<$value> for VolumeAnswer {
            fn from(value: $value) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

answers! {
    Done(()),
    Head(Head),
    Unsettled(Unsettled),
    List(Vec<Held>),
    Survey(Vec<Vec<Surveyed>>),
    Verify(Verdict),
    Fixity(Vec<FixityEvent>),
    Status(VolumeStatus),
}

/// Returns the value of a response.
pub(crate) fn value<T: TryFrom<VolumeAnswer>>(
    volume: &VolumeId,
    answer: Result<VolumeAnswer, VolumeError>,
) -> Result<T, VolumeError> {
    answer?.try_into().map_err(|_| VolumeError::Failed {
        volume: volume.clone(),
        detail: "the response does not match the request".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wire names of operations, and upload ids, which have 128 bits.
    #[test]
    fn a_question_travels_by_its_name() {
        let commit = VolumeAsk::Commit {
            upload: UploadId(u128::MAX),
            cause: Cause::Write,
            evidence: String::new(),
        };
        let upload = "340282366920938463463374607431768211455";
        let commit_text = format!(r#"{{"commit":{{"stage":{upload},"cause":"write","evidence":""}}}}"#);
        let path = "a".to_owned();
        for (ask, text) in [
            (VolumeAsk::Status, r#""status""#),
            (
                VolumeAsk::SettleStray { path },
                r#"{"settle-stray":{"path":"a"}}"#,
            ),
            (
                VolumeAsk::Fixity { key: None, limit: 3 },
                r#"{"fixity":{"key":null,"limit":3}}"#,
            ),
            (commit, &commit_text),
        ] {
            assert_eq!(serde_json::to_string(&ask).unwrap(), text);
            assert_eq!(serde_json::from_str::<VolumeAsk>(text).unwrap(), ask);
        }
    }

    /// The path of a request names the operation as the JSON of the request does.
    #[test]
    fn an_operation_has_one_name() {
        let path = String::new();
        for (ask, name) in [
            (VolumeAsk::Status, r#""status""#),
            (VolumeAsk::SettleStray { path }, r#"{"settle-stray":{"path":""}}"#),
        ] {
            assert_eq!(serde_json::to_string(&ask).unwrap(), name);
            assert!(name.contains(ask.spec().operation), "{ask:?}");
        }
    }

    /// The other side reads the bare value, as the type that the request expects.
    #[test]
    fn an_answer_is_read_as_its_question_says() {
        let read = |ask: &VolumeAsk, text: &str| {
            let mut text = serde_json::Deserializer::from_str(text);
            ask.deserialize(&mut text)
        };
        assert_eq!(read(&VolumeAsk::Rebuilt, "null").unwrap(), VolumeAnswer::Done(()));
        let fixity = VolumeAsk::Fixity { key: None, limit: 3 };
        assert_eq!(read(&fixity, "[]").unwrap(), VolumeAnswer::Fixity(Vec::new()));
        assert!(read(&fixity, "null").is_err());
        assert!(read(&VolumeAsk::Status, "null").is_err());
    }

    /// The other side reads the bare value.
    #[test]
    fn an_answer_travels_as_its_value() {
        let json = |answer: VolumeAnswer| serde_json::to_string(&answer).unwrap();
        assert_eq!(json(().into()), "null");
        let verdict = Verdict::Good { bytes: 7 };
        assert_eq!(
            json(verdict.clone().into()),
            serde_json::to_string(&verdict).unwrap()
        );
        assert_eq!(json(Vec::<Held>::new().into()), "[]");
    }

    #[test]
    fn an_answer_to_another_question_is_refused() {
        let volume = VolumeId::from("n/v".to_owned());
        let answer = value::<Verdict>(&volume, Ok(VolumeAnswer::Done(())));
        assert!(matches!(answer, Err(VolumeError::Failed { .. })), "{answer:?}");
        assert_eq!(value(&volume, Ok(VolumeAnswer::Done(()))), Ok(()));
    }
}
