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
use crate::held::{Head, KeysInDoubt, ListQuery, ReplicaEntry, SurveyEntry, Verdict};
use crate::key::Key;
use crate::meta::Meta;
use crate::operation_spec::{DURABLE, LONG, OperationSpec, QUICK};
use crate::upload::{AbortScope, Purpose, UploadId};
use crate::volume_error::VolumeError;
use crate::volume_status::VolumeStatus;

/// A request to a volume. The [`crate::Volume`] method of the same name describes its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeRequest {
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
        what: AbortScope,
    },
    /// Returns the newest version of a key.
    Head {
        /// The key.
        key: Key,
    },
    /// Returns keys that have a prepared version.
    #[serde(rename = "unsettled")]
    KeysInDoubt {
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

/// Implements the wire properties of every request: [`VolumeRequest::spec`], and the type of its
/// response.
macro_rules! operations {
    ($($variant:ident: $kind:ident($name:literal, $limit:ident) -> $answer:ty;)*) => {
        impl VolumeRequest {
            /// Returns the operation's name, idempotence and time limit.
            pub fn spec(&self) -> OperationSpec {
                match self {
                    $(Self::$variant { .. } => OperationSpec::$kind($name, $limit),)*
                }
            }
        }

        /// Reads the response to this request.
        impl<'de> DeserializeSeed<'de> for &VolumeRequest {
            type Value = VolumeResponse;

            fn deserialize<D: Deserializer<'de>>(self, answer: D) -> Result<VolumeResponse, D::Error> {
                match self {
                    $(VolumeRequest::$variant { .. } => <$answer>::deserialize(answer).map(VolumeResponse::from),)*
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
    KeysInDoubt: reads("unsettled", QUICK) -> KeysInDoubt;
    List: reads("list", QUICK) -> Vec<ReplicaEntry>;
    Survey: reads("survey", LONG) -> Vec<Vec<SurveyEntry>>;
    // A write, because its findings are marked in the index and logged.
    Verify: writes("verify", LONG) -> Verdict;
    Remove: writes("remove", DURABLE) -> ();
    SettleStray: writes("settle-stray", LONG) -> ();
    Rebuilt: writes("rebuilt", DURABLE) -> ();
    Fixity: reads("fixity", LONG) -> Vec<FixityEvent>;
    Status: reads("status", QUICK) -> VolumeStatus;
}

/// The response to a [`VolumeRequest`]. It is sent as the bare value, because the request determines
/// its type. It must not be read as an untagged enum: serde supports no 128-bit numbers there (an
/// [`UploadId`] is one) and would take the first type that fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "the largest variant, `Head`, is the most frequent: boxing it would allocate for each response"
)]
pub enum VolumeResponse {
    /// The operation is done.
    Done(()),
    /// Response to [`VolumeRequest::Head`].
    Head(Head),
    /// Response to [`VolumeRequest::KeysInDoubt`].
    KeysInDoubt(KeysInDoubt),
    /// Response to [`VolumeRequest::List`].
    List(Vec<ReplicaEntry>),
    /// Response to [`VolumeRequest::Survey`].
    Survey(Vec<Vec<SurveyEntry>>),
    /// Response to [`VolumeRequest::Verify`].
    Verify(Verdict),
    /// Response to [`VolumeRequest::Fixity`].
    Fixity(Vec<FixityEvent>),
    /// Response to [`VolumeRequest::Status`].
    Status(VolumeStatus),
}

/// The response is not of the kind that the request expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnexpectedResponse;

/// Implements the conversions between each kind of response and the type of its value, in both
/// directions.
macro_rules! answers {
    ($($variant:ident($value:ty)),* $(,)?) => {$(
        impl TryFrom<VolumeResponse> for $value {
            type Error = UnexpectedResponse;

            fn try_from(answer: VolumeResponse) -> Result<Self, UnexpectedResponse> {
                match answer {
                    VolumeResponse::$variant(value) => Ok(value),
                    _ => Err(UnexpectedResponse),
                }
            }
        }

        impl From<$value> for VolumeResponse {
            fn from(value: $value) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

answers! {
    Done(()),
    Head(Head),
    KeysInDoubt(KeysInDoubt),
    List(Vec<ReplicaEntry>),
    Survey(Vec<Vec<SurveyEntry>>),
    Verify(Verdict),
    Fixity(Vec<FixityEvent>),
    Status(VolumeStatus),
}

/// Returns the value of a response.
pub(crate) fn value<T: TryFrom<VolumeResponse>>(
    volume: &VolumeId,
    answer: Result<VolumeResponse, VolumeError>,
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
        let commit = VolumeRequest::Commit {
            upload: UploadId(u128::MAX),
            cause: Cause::Write,
            evidence: String::new(),
        };
        let upload = "340282366920938463463374607431768211455";
        let commit_text = format!(r#"{{"commit":{{"stage":{upload},"cause":"write","evidence":""}}}}"#);
        let path = "a".to_owned();
        for (ask, text) in [
            (VolumeRequest::Status, r#""status""#),
            (
                VolumeRequest::SettleStray { path },
                r#"{"settle-stray":{"path":"a"}}"#,
            ),
            (
                VolumeRequest::Fixity { key: None, limit: 3 },
                r#"{"fixity":{"key":null,"limit":3}}"#,
            ),
            (commit, &commit_text),
        ] {
            assert_eq!(serde_json::to_string(&ask).unwrap(), text);
            assert_eq!(serde_json::from_str::<VolumeRequest>(text).unwrap(), ask);
        }
    }

    /// The path of a request names the operation as the JSON of the request does.
    #[test]
    fn an_operation_has_one_name() {
        let path = String::new();
        for (ask, name) in [
            (VolumeRequest::Status, r#""status""#),
            (
                VolumeRequest::SettleStray { path },
                r#"{"settle-stray":{"path":""}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&ask).unwrap(), name);
            assert!(name.contains(ask.spec().operation), "{ask:?}");
        }
    }

    /// The other side reads the bare value, as the type that the request expects.
    #[test]
    fn an_answer_is_read_as_its_question_says() {
        let read = |ask: &VolumeRequest, text: &str| {
            let mut text = serde_json::Deserializer::from_str(text);
            ask.deserialize(&mut text)
        };
        assert_eq!(
            read(&VolumeRequest::Rebuilt, "null").unwrap(),
            VolumeResponse::Done(())
        );
        let fixity = VolumeRequest::Fixity { key: None, limit: 3 };
        assert_eq!(read(&fixity, "[]").unwrap(), VolumeResponse::Fixity(Vec::new()));
        assert!(read(&fixity, "null").is_err());
        assert!(read(&VolumeRequest::Status, "null").is_err());
    }

    /// The other side reads the bare value.
    #[test]
    fn an_answer_travels_as_its_value() {
        let json = |answer: VolumeResponse| serde_json::to_string(&answer).unwrap();
        assert_eq!(json(().into()), "null");
        let verdict = Verdict::Good { bytes: 7 };
        assert_eq!(
            json(verdict.clone().into()),
            serde_json::to_string(&verdict).unwrap()
        );
        assert_eq!(json(Vec::<ReplicaEntry>::new().into()), "[]");
    }

    #[test]
    fn an_answer_to_another_question_is_refused() {
        let volume = VolumeId::from("n/v".to_owned());
        let answer = value::<Verdict>(&volume, Ok(VolumeResponse::Done(())));
        assert!(matches!(answer, Err(VolumeError::Failed { .. })), "{answer:?}");
        assert_eq!(value(&volume, Ok(VolumeResponse::Done(()))), Ok(()));
    }
}
