//! Lines of a commit (section "Actions").

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Reader version of the protocol that engines need for these tables.
pub(crate) const READER_VERSION: i64 = 1;

/// Writer version of the protocol that engines need for these tables.
pub(crate) const WRITER_VERSION: i64 = 2;

/// One line of a commit. Other kinds (`cdc`, `domainMetadata`, ...) do not affect the state read
/// here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    Protocol(Protocol),
    MetaData(MetaData),
    Add(Add),
    Remove(Remove),
    Txn(Txn),
    CommitInfo(Value),
    #[serde(untagged)]
    Other(BTreeMap<String, Value>),
}

/// Section "Protocol Evolution".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Protocol {
    pub(crate) min_reader_version: i64,
    pub(crate) min_writer_version: i64,
}

/// Section "Change Metadata".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetaData {
    pub(crate) id: String,
    pub(crate) format: Value,
    pub(crate) schema_string: String,
    pub(crate) partition_columns: Vec<String>,
    #[serde(default)]
    pub(crate) configuration: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) created_time: Option<i64>,
}

/// Section "Add File and Remove File".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Add {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) partition_values: BTreeMap<String, Option<String>>,
    pub(crate) size: i64,
    pub(crate) modification_time: i64,
    pub(crate) data_change: bool,
    /// JSON within JSON: number of records, least and greatest values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stats: Option<String>,
}

/// Section "Add File and Remove File".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remove {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) deletion_timestamp: Option<i64>,
    pub(crate) data_change: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) extended_file_metadata: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) partition_values: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<i64>,
}

/// Section "Transaction Identifiers".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Txn {
    pub(crate) app_id: String,
    pub(crate) version: i64,
    #[serde(default)]
    pub(crate) last_updated: Option<i64>,
}

impl Action {
    /// Returns whether it is a known kind of action in an unknown form.
    pub(crate) fn is_malformed(&self) -> bool {
        let known = ["protocol", "metaData", "add", "remove", "txn", "commitInfo"];
        matches!(self, Action::Other(fields) if fields.keys().any(|name| known.contains(&name.as_str())))
    }
}

impl Remove {
    /// Returns the action that removes an added file.
    pub(crate) fn of(add: &Add, now_ms: i64) -> Remove {
        Remove {
            path: add.path.clone(),
            deletion_timestamp: Some(now_ms),
            data_change: true,
            extended_file_metadata: Some(true),
            partition_values: Some(add.partition_values.clone()),
            size: Some(add.size),
        }
    }
}

impl Add {
    /// Number of rows of the file, if the log has it.
    pub(crate) fn records(&self) -> Option<u64> {
        let stats: Value = serde_json::from_str(self.stats.as_deref()?).ok()?;
        stats.get("numRecords")?.as_u64()
    }
}
