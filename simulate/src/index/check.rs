//! Checks that an archive holds exactly what its ledger says: every view, every total, every word
//! in search.

use std::collections::BTreeSet;

use archive::Archive;
use archive::question::{
    Check, DamageRow, Dump, DumpFormat, LedgerRow, LinkScope, SearchQuestion, Status, StatusBody, View,
};
use index::model::Model;

use super::expected::{Expected, expected};
use super::order::ledger;
use super::positions::told;
use super::web::EVERYWHERE;
use super::world::World;

/// The contents found in an archive.
pub(super) struct Found {
    pub(super) epoch: u64,
    pub(super) rows: Vec<LedgerRow>,
}

/// Compares an archive with its ledger.
pub(super) fn check(archive: &Archive, world: &World, links: LinkScope) -> Result<Found, String> {
    let (epoch, rows) = ledger(archive).map_err(|error| error.message)?;
    let expected = expected(world, &rows, links)?;
    check_views(archive, &expected.model).map_err(|what| format!("{what}\n{}", told(&rows)))?;
    check_facts(archive, &expected.model)?;
    // Search goes first, because this query makes it catch up.
    check_search(archive, world, &expected.model, epoch)?;
    check_totals(archive, &expected)?;
    Ok(Found { epoch, rows })
}

/// Runs the index's self-check. If its journal was truncated, it may report lost epochs: no other damage
/// is of the part `index`.
pub(super) fn check_index(archive: &Archive, is_torn: bool) -> Result<(), String> {
    let checked = archive.ask(Check {}).map_err(|error| error.message)?.body;
    let is_wrong = |damage: &&DamageRow| !(is_torn && damage.part == "index");
    match checked.damages.iter().find(is_wrong) {
        Some(damage) => Err(format!("the self-check of the index failed: {damage:?}")),
        None => Ok(()),
    }
}

fn check_views(archive: &Archive, model: &Model) -> Result<(), String> {
    for view in View::ALL {
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        let dumped = archive.dump(Dump::View(view), DumpFormat::Tsv, &mut found);
        dumped.map_err(|error| format!("view {}: {}", view.name(), error.message))?;
        model
            .dump(view, DumpFormat::Tsv, &mut wanted)
            .map_err(|error| error.to_string())?;
        if found != wanted {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            return Err(difference(view.name(), &text(&found), &text(&wanted)));
        }
    }
    Ok(())
}

/// Checks that the tables of facts, if any, have every capture of the model exactly once, and every
/// link of its views.
fn check_facts(archive: &Archive, model: &Model) -> Result<(), String> {
    let tables = archive.dir().join("facts");
    if !tables.exists() {
        return Ok(());
    }
    let mut dumped = Vec::new();
    model
        .dump(View::Captures, DumpFormat::Tsv, &mut dumped)
        .map_err(|error| error.to_string())?;
    let dumped = String::from_utf8_lossy(&dumped).into_owned();
    let mut wanted: Vec<&str> = dumped.lines().collect();
    let text = |row: &facts::ReadRow, column: &str| match &row[column] {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    let line = |row: &facts::ReadRow| {
        let time = format::date::iso(row["fetch_time"].as_i64().unwrap_or_default() / 1_000);
        [
            text(row, "url_surtkey"),
            time,
            text(row, "url"),
            text(row, "content_mime_type"),
            text(row, "fetch_status"),
            text(row, "content_digest"),
            text(row, "warc_record_length"),
            text(row, "warc_record_offset"),
            text(row, "warc_filename"),
            text(row, "method"),
        ]
        .join("\t")
    };
    let captures = facts::read_table(&tables.join("captures"), None).map_err(|error| error.to_string())?;
    let mut found: Vec<String> = captures.iter().map(line).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if found != wanted {
        return Err(difference(
            "captures of the facts",
            &found.join("\n"),
            &wanted.join("\n"),
        ));
    }
    let links = facts::read_table(&tables.join("links"), None).map_err(|error| error.to_string())?;
    let linked: BTreeSet<(String, String)> = links
        .iter()
        .map(|row| (text(row, "source_surtkey"), text(row, "target_surtkey")))
        .collect();
    let mut dumped = Vec::new();
    model
        .dump(View::Links, DumpFormat::Tsv, &mut dumped)
        .map_err(|error| error.to_string())?;
    for line in String::from_utf8_lossy(&dumped).lines() {
        let mut cells = line.split('\t').map(str::to_owned);
        let pair = cells.next().zip(cells.next()).unwrap_or_default();
        if !linked.contains(&pair) {
            return Err(format!("the facts lack the link {pair:?}"));
        }
    }
    Ok(())
}

/// Describes the first line that differs.
fn difference(view: &str, found: &str, wanted: &str) -> String {
    let (mut found, mut wanted) = (found.lines(), wanted.lines());
    loop {
        match (found.next(), wanted.next()) {
            (found, wanted) if found != wanted => {
                return format!("view {view} has the row\n  {found:?}\nbut the model has\n  {wanted:?}");
            }
            (None, None) => return format!("view {view} differs from the model in its line endings"),
            _ => {}
        }
    }
}

fn check_totals(archive: &Archive, expected: &Expected) -> Result<(), String> {
    let status: StatusBody = archive.ask(Status {}).map_err(|error| error.message)?.body;
    let rows = |view| -> u64 {
        let mut out = Vec::new();
        let dumped = expected.model.dump(view, DumpFormat::Tsv, &mut out);
        dumped.unwrap_or_default()
    };
    let totals = [
        ("records", status.records, expected.records),
        ("captures", status.captures, rows(View::Captures)),
        ("pages", status.pages, rows(View::Pages)),
        ("links", status.links, rows(View::Links)),
        ("uris", status.uris, rows(View::Uris)),
        ("domains", status.domains, rows(View::Domains)),
        ("quarantined", status.quarantined, rows(View::Quarantine)),
        ("inputs", status.inputs, rows(View::Ledger)),
        ("documents in search", status.search_documents, rows(View::Pages)),
    ];
    for (what, found, wanted) in totals {
        if found != wanted {
            return Err(format!("the total of {what} is {found}, in the model {wanted}"));
        }
    }
    let times = expected
        .fetch_times_ms
        .map(|(first, last)| (format::date::iso(first), format::date::iso(last)));
    if status
        .fetch_time_first
        .clone()
        .zip(status.fetch_time_last.clone())
        != times
    {
        let found = (status.fetch_time_first, status.fetch_time_last);
        return Err(format!(
            "the first and last fetch times are {found:?}, in the model {times:?}"
        ));
    }
    Ok(())
}

fn check_search(archive: &Archive, world: &World, model: &Model, epoch: u64) -> Result<(), String> {
    let pages: Vec<(String, BTreeSet<String>)> = model
        .pages()
        .into_iter()
        .map(|(key, title)| {
            let text = format!("{title} {}", model.text(&key).unwrap_or_default());
            let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned);
            (key, words.collect())
        })
        .collect();
    for word in world.words().chain([EVERYWHERE]) {
        let question = SearchQuestion {
            query: word.to_owned(),
            limit: 100,
            ..SearchQuestion::default()
        };
        let found = archive
            .ask(question)
            .map_err(|error| format!("search {word}: {}", error.message))?
            .body;
        let with_word = pages.iter().filter(|(_, words)| words.contains(word));
        let wanted: BTreeSet<&str> = with_word.map(|(key, _)| key.as_str()).collect();
        let keys: BTreeSet<&str> = found.hits.iter().map(|hit| hit.url_key.as_str()).collect();
        if keys != wanted || found.summary.total != wanted.len() as u64 || found.hits.len() != wanted.len() {
            return Err(format!(
                "search for {word} found {keys:?} ({} in total), expected {wanted:?}",
                found.summary.total
            ));
        }
        if found.summary.search_epoch != epoch {
            return Err(format!(
                "search covers epoch {}, but the views cover {epoch}",
                found.summary.search_epoch
            ));
        }
    }
    Ok(())
}
