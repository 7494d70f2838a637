//! Checkpoints: the state of a table at one version, as written by other engines (section
//! "Checkpoints").
//!
//! Only the classic kinds are read, single-part or multi-part. Nothing here writes a checkpoint.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::{Map, Value};

use super::action::Action;
use crate::data_file::guarded;

/// A checkpoint: its version and its files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) version: i64,
    pub(crate) names: Vec<String>,
}

/// Returns the newest complete checkpoint among the files of a log.
pub(crate) fn newest(names: &[String]) -> Option<Checkpoint> {
    let mut newest: Option<Checkpoint> = None;
    for name in names {
        let mut parts = name.split('.');
        let (Some(version), Some("checkpoint")) = (parts.next(), parts.next()) else {
            continue;
        };
        let Some(version) = version.parse().ok().filter(|_| version.len() == 20) else {
            continue;
        };
        let rest: Vec<&str> = parts.collect();
        let files = match rest.as_slice() {
            ["parquet"] => vec![name.clone()],
            // In parts: `n.checkpoint.<part>.<parts>.parquet`. Found by its first part.
            ["0000000001", of, "parquet"] => {
                let Ok(count) = of.parse::<u32>() else { continue };
                let part = |part: u32| format!("{version:020}.checkpoint.{part:010}.{of}.parquet");
                (1..=count).map(part).collect()
            }
            _ => continue,
        };
        let is_newer = newest.as_ref().is_none_or(|newest| newest.version < version);
        if is_newer && files.iter().all(|file| names.contains(file)) {
            newest = Some(Checkpoint {
                version,
                names: files,
            });
        }
    }
    newest
}

/// Reads the actions of a checkpoint's file.
pub(crate) fn read(bytes: Bytes) -> Result<Vec<Action>, ParquetError> {
    guarded(|| read_actions(bytes))
}

fn read_actions(bytes: Bytes) -> Result<Vec<Action>, ParquetError> {
    let reader = SerializedFileReader::new(bytes)?;
    let mut actions = Vec::new();
    for row in reader.get_row_iter(None)? {
        // One column for each kind of action; all except one are null.
        let Value::Object(columns) = row?.to_json_value() else {
            continue;
        };
        let kept: Map<String, Value> = columns
            .into_iter()
            .filter(|(name, value)| {
                matches!(name.as_str(), "add" | "remove" | "txn" | "metaData" | "protocol")
                    && !value.is_null()
            })
            .collect();
        if kept.is_empty() {
            continue;
        }
        let action = serde_json::from_value(Value::Object(kept))
            .map_err(|error| ParquetError::General(error.to_string()))?;
        actions.push(action);
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expected: Option<(i64, usize)>) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = newest(&names).map(|found| (found.version, found.names.len()));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_newest_complete_checkpoint_is_found() {
        check(&["00000000000000000003.json", "_last_checkpoint"], None);
        check(
            &[
                "00000000000000000003.checkpoint.parquet",
                "00000000000000000010.checkpoint.parquet",
                "00000000000000000010.json",
            ],
            Some((10, 1)),
        );
        let parts = [
            "00000000000000000003.checkpoint.parquet",
            "00000000000000000010.checkpoint.0000000001.0000000002.parquet",
            "00000000000000000010.checkpoint.0000000002.0000000002.parquet",
        ];
        check(&parts, Some((10, 2)));
        check(&parts[..2], Some((3, 1)));
        check(&["00000000000000000003.checkpoint.80a083e8-7026.json"], None);
    }
}
