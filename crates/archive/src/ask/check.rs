//! Checks that the index and the search index are intact and agree with each other.

use std::io::ErrorKind;

use facts::FactsError;
use index::{DumpError, Fingerprints, Snapshot, SnapshotError};
use search::ExpectedDocuments;

use super::basis::Basis;
use crate::AskError;
use crate::open_archive::OpenArchive;
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
            .push("the search index was not checked, because the index is damaged".to_owned());
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

fn check_search(open: &OpenArchive, snapshot: &Snapshot, body: &mut CheckBody) {
    // If this fails, the search index stays behind, which is reported below.
    let _ = open.freshen_search();
    let (covered, epoch) = (open.search.covered_epoch(), snapshot.epoch().0);
    if covered != epoch {
        let why = open
            .search_failure()
            .map(|why| format!(" ({why})"))
            .unwrap_or_default();
        body.notes.push(format!(
            "the search index was not checked: it covers epoch {covered} of {epoch}{why}"
        ));
        return;
    }
    let held = snapshot.version_keys().map(|key| {
        let (url_key, current) = key?;
        let (_, past) = snapshot.history(&url_key)?;
        Ok(ExpectedDocuments {
            url_key,
            current,
            past: past.into_iter().map(|past| past.since_ms).collect(),
        })
    });
    match open.search.check::<SnapshotError>(held) {
        Ok(wrong) if wrong.is_empty() => {}
        Ok(wrong) => body.damages.push(DamageRow {
            part: "search index".to_owned(),
            found: wrong.join("; "),
            advice: open.remake_search(),
        }),
        Err(error) => body
            .notes
            .push(format!("the search index was not checked: {error}")),
    }
}
