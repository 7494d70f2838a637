//! Checks that the index and the search index are intact and agree with each other.

use std::io::ErrorKind;

use facts::FactsError;
use index::{DumpError, Fingerprints, Snapshot, SnapshotError};
use search::{ExpectedDocuments, SearchIndex};

use super::basis::Basis;
use crate::AskError;
use crate::feed::images;
use crate::open_archive::{OpenArchive, remake_advice};
use crate::question::{Check, CheckBody, DamageRow, FingerprintRow};
use crate::recounting::Recounting;

/// Advice for a damaged index.
const LOAD_AGAIN: &str = "restore a copy of the archive, or load its inputs into a new one";

pub(super) fn check(basis: &Basis<'_>, _: &Check) -> Result<CheckBody, AskError> {
    let Basis { open, snapshot, .. } = basis;
    if let Some(recounting) = &open.recounting {
        return recounted(recounting);
    }
    let checked = snapshot.check().map_err(|error| match error {
        DumpError::Snapshot(error) => AskError::internal(error),
        other => AskError::unavailable(other),
    })?;
    let mut body = CheckBody::default();
    body.damages
        .extend(checked.damages.into_iter().map(|damage| DamageRow {
            part: format!("table {}", damage.table),
            found: damage.detail,
            advice: advice(damage.table),
        }));
    let is_whole = body.damages.is_empty();
    body.damages
        .extend(open.index.lost_epochs().map(|lost| DamageRow {
            part: "index".to_owned(),
            found: format!(
                "it lost {}: the end of its journal is damaged",
                index::lost_epochs_text(&lost)
            ),
            advice: "load the inputs again: the ledger says which are not done".to_owned(),
        }));
    check_facts(open, snapshot, &mut body);
    if is_whole {
        body.fingerprints = rows(&checked.fingerprints);
        let counted = [("uris", checked.uris), ("domains", checked.domains)];
        body.fingerprints.extend(counted.map(|(of, rows)| FingerprintRow {
            of: of.to_owned(),
            rows,
            hash: String::new(),
        }));
        check_search(open, snapshot, &mut body);
    } else {
        body.notes
            .push("search was not checked, because the index is damaged".to_owned());
    }
    Ok(body)
}

/// Returns how to repair a damaged table.
fn advice(table: &str) -> String {
    let view = match table {
        "uris" | "inlinks" | "anchors" | "sources" => "uris",
        "domains" => "domains",
        "rankings" => "top",
        _ => return LOAD_AGAIN.to_owned(),
    };
    format!(
        "weft rebuild {view} rebuilds it from the tables it derives from; if these cannot be read, {LOAD_AGAIN}"
    )
}

/// Returns the fingerprints of an archive that only recounts. It has nothing else to check.
fn recounted(recounting: &Recounting) -> Result<CheckBody, AskError> {
    let fingerprints = recounting.finish().map_err(AskError::unavailable)?;
    Ok(CheckBody {
        fingerprints: fingerprints.as_ref().map(rows).unwrap_or_default(),
        ..CheckBody::default()
    })
}

fn rows(fingerprints: &Fingerprints) -> Vec<FingerprintRow> {
    let Fingerprints {
        captures,
        captured,
        versions,
        pages,
        links,
        index_lines,
    } = fingerprints;
    let of = [
        "captures",
        "captured",
        "versions",
        "pages",
        "links",
        "index_lines",
    ];
    of.into_iter()
        .zip([captures, captured, versions, pages, links, index_lines])
        .map(|(of, fingerprint)| FingerprintRow {
            of: of.to_owned(),
            rows: fingerprint.rows,
            hash: format!("{:032x}", fingerprint.hash),
        })
        .collect()
}

/// Checks the files of facts, which other engines read.
fn check_facts(open: &OpenArchive, snapshot: &Snapshot, body: &mut CheckBody) {
    let Some(facts) = &open.facts else { return };
    let has_rows = snapshot.totals().is_ok_and(|totals| totals.captures > 0);
    match facts.damages(has_rows) {
        Ok(damages) => body.damages.extend(damages.into_iter().map(|damage| DamageRow {
            part: format!("facts file {}", damage.path),
            found: damage.found,
            advice: facts::DAMAGE_ADVICE.to_owned(),
        })),
        // `weft-sql` reads facts in a store only through its engine, which reports damage when it
        // reads them.
        Err(FactsError::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {}
        Err(error) => body.damages.push(DamageRow {
            part: "facts".to_owned(),
            found: error.to_string(),
            advice: "docs/facts.md says how to rebuild them".to_owned(),
        }),
    }
}

/// Checks the search index and the index of images.
fn check_search(open: &OpenArchive, snapshot: &Snapshot, body: &mut CheckBody) {
    // If this fails, an index stays behind, which is reported below.
    let _ = open.freshen_search();
    let held = snapshot.version_keys().map(|key| {
        let (url_key, current) = key?;
        let (_, past) = snapshot.history(&url_key)?;
        Ok(ExpectedDocuments {
            url_key,
            current,
            past: past.into_iter().map(|past| past.since_ms).collect(),
        })
    });
    let part = Part {
        name: "search index",
        index: &open.search,
        folder: open.search_folder(),
        failure: open.search_failure(),
    };
    check_part(&part, snapshot, held, body);
    let shown = snapshot.version_keys().map(|key| {
        let (url_key, _) = key?;
        images::expected_documents(snapshot, url_key)
    });
    let part = Part {
        name: "index of images",
        index: &open.images,
        folder: open.images_folder(),
        failure: None,
    };
    check_part(&part, snapshot, shown, body);
}

/// A search index to check.
struct Part<'a> {
    name: &'static str,
    index: &'a SearchIndex,
    folder: String,
    /// Why it is behind, if that is known.
    failure: Option<String>,
}

/// Compares a search index with the documents that it must have.
fn check_part(
    part: &Part<'_>,
    snapshot: &Snapshot,
    expected: impl Iterator<Item = Result<ExpectedDocuments, SnapshotError>>,
    body: &mut CheckBody,
) {
    let name = part.name;
    let (covered, epoch) = (part.index.covered_epoch(), snapshot.epoch().0);
    if covered != epoch {
        let why = part.failure.as_ref().map(|why| format!(" ({why})"));
        body.notes.push(format!(
            "the {name} was not checked: it covers epoch {covered} of {epoch}{}",
            why.unwrap_or_default()
        ));
        return;
    }
    match part.index.check(expected) {
        Ok(wrong) if wrong.is_empty() => {}
        Ok(wrong) => body.damages.push(DamageRow {
            part: name.to_owned(),
            found: wrong.join("; "),
            advice: remake_advice(&part.folder),
        }),
        Err(error) => body.notes.push(format!("the {name} was not checked: {error}")),
    }
}
