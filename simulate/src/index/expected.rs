//! The expected contents of an archive, computed from its ledger and from the contents of its
//! inputs.
//!
//! Each input is loaded up to the position in its ledger row. Its records are read here
//! sequentially with the plain reader, without the machinery of a load; the views are those of the
//! brute-force model.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use archive::question::{InputState, LedgerRow, LinkScope};
use extract::{Documents, Extracted, RequestFacts, Settings};
use index::model::Model;
use index::{Batch, InputProgress, NO_CONTENT, QuarantineEntry};
use warc::{Defect, Entry, Reader, ReaderSettings, reason};

use super::world::{Beginning, World};

/// The archive that the ledger describes.
pub(super) struct Expected {
    pub(super) model: Model,
    pub(super) records: u64,
    /// Earliest and latest fetch time.
    pub(super) fetch_times_ms: Option<(i64, i64)>,
}

/// Computes the contents of an archive with these rows.
pub(super) fn expected(world: &World, rows: &[LedgerRow], links: LinkScope) -> Result<Expected, String> {
    let mut expected = Expected {
        model: Model::default(),
        records: 0,
        fetch_times_ms: None,
    };
    for row in rows {
        expected.add(world, row, links)?;
    }
    Ok(expected)
}

/// Maximum number of records between a response and its request (docs/views.md). Contents here are
/// too short for the limit in bytes.
const WINDOW: usize = 16;

/// Returns how far a growing input with this content is loaded: up to the end of its complete
/// records, or to the first response whose request may still arrive.
pub(super) fn whole_part(world: &World, beginning: Beginning) -> u64 {
    let mut settings = ReaderSettings::default();
    settings.growing = true;
    let mut reader = reader(world, beginning, settings);
    let mut last = VecDeque::new();
    while let Ok(Some(entry)) = reader.next_entry() {
        if let Entry::Record(record) = entry {
            last.push_back((record.span.offset, extract::is_answer(&record)));
            if last.len() > WINDOW {
                last.pop_front();
            }
        }
    }
    let first_answer = last.into_iter().find(|(_, is_answer)| *is_answer);
    first_answer.map_or(reader.position(), |(offset, _)| offset)
}

fn reader(world: &World, beginning: Beginning, settings: ReaderSettings) -> Reader {
    let bytes: Vec<u8> = world.bytes(beginning).to_vec();
    Reader::from_input(Box::new(bytes), "content", settings).expect("reading from memory never fails")
}

/// Returns all entries of a content, in order.
fn entries(world: &World, beginning: Beginning) -> Result<Vec<Entry>, String> {
    let mut reader = reader(world, beginning, ReaderSettings::default());
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().map_err(|error| error.to_string())? {
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns the request methods of responses, by offset. Requests here name no response, so the
/// nearest one counts.
fn methods(entries: &[Entry]) -> BTreeMap<u64, String> {
    let records = entries.iter().filter_map(|entry| match entry {
        Entry::Record(record) => Some(record),
        _ => None,
    });
    let records: Vec<_> = records.collect();
    let mut methods = BTreeMap::new();
    for (number, answer) in records.iter().enumerate() {
        if !extract::is_answer(answer) {
            continue;
        }
        let names = extract::answer_names(answer);
        let before = (0..number).rev().take(WINDOW);
        let behind = (number + 1..records.len()).take(WINDOW);
        let requests = before.chain(behind).filter_map(|other| {
            let request = RequestFacts::from_record(records[other])?;
            request.belongs(&names)?;
            Some(((other.abs_diff(number), other > number), request.method))
        });
        if let Some((_, method)) = requests.min() {
            methods.insert(answer.span.offset, method);
        }
    }
    methods
}

impl Expected {
    fn add(&mut self, world: &World, row: &LedgerRow, links: LinkScope) -> Result<(), String> {
        let wrong = |what: String| Err(format!("ledger row of {} ({}): {what}", row.input, row.digest));
        let mut entry = LedgerRow::pending(&row.input, &row.location, &row.digest, row.size, &row.collection);
        entry.state = row.state.clone();
        entry.missing = row.missing.clone();
        if row.digest.starts_with(NO_CONTENT) {
            if (row.bytes_done, row.captures) != (0, 0) {
                return wrong(format!(
                    "{} bytes are indexed without any content",
                    row.bytes_done
                ));
            }
            self.model.register_input(entry, None);
            return Ok(());
        }
        let Some(beginning) = world.of(row) else {
            return wrong("no file has ever had this content".to_owned());
        };
        if beginning.1 != row.size {
            return wrong(format!(
                "the size is {}, but the content has {} bytes",
                row.size, beginning.1
            ));
        }
        let input = self.model.register_input(entry, None);
        let mut batch = Batch::default();
        let mut progress = InputProgress {
            input,
            bytes_done: row.bytes_done,
            exchange_from: 0,
            records: 0,
            captures_recounted: 0,
            quarantined: Vec::new(),
            state: row.state.clone(),
            cut: None,
            digested: None,
        };
        let entries = entries(world, beginning)?;
        let mut methods = methods(&entries);
        let mut ends = BTreeSet::from([0]);
        let mut cut = String::new();
        for entry in entries {
            let span = entry.span();
            ends.insert(span.end());
            if span.end() > row.bytes_done {
                break;
            }
            if span.end() >= row.size && row.state == InputState::Done {
                cut = cut_of(&entry);
            }
            let mut quarantine = |defect: Defect| {
                progress.quarantined.push(QuarantineEntry {
                    offset: span.offset,
                    length: span.length,
                    reason: defect.reason.to_owned(),
                    detail: defect.detail,
                });
            };
            match entry {
                Entry::Quarantined(_, defect) => quarantine(defect),
                Entry::Record(record) => {
                    progress.records += 1;
                    let settings = Settings {
                        links,
                        text: true,
                        documents: Documents::NONE,
                    };
                    let extracted = extract::extract(&record, &settings);
                    if !matches!(extracted, Extracted::Unusable(_)) {
                        archive::damage_of(&record).into_iter().for_each(&mut quarantine);
                    }
                    match extracted {
                        Extracted::Counted => {}
                        Extracted::Attachment(attachment) => batch.lines.push((input, *attachment)),
                        Extracted::Unusable(defect) => quarantine(defect),
                        Extracted::Capture(mut capture) => {
                            capture.method = methods.remove(&span.offset).unwrap_or_default();
                            let time = capture.fetch_time_ms;
                            let (first, last) = self.fetch_times_ms.unwrap_or((time, time));
                            self.fetch_times_ms = Some((first.min(time), last.max(time)));
                            batch.captures.push((input, *capture));
                        }
                    }
                }
                _ => {}
            }
        }
        if !ends.contains(&row.bytes_done) {
            return wrong(format!(
                "position {} is inside a record, expected one of {ends:?}",
                row.bytes_done
            ));
        }
        if row.state == InputState::Done && row.bytes_done != row.size {
            return wrong(format!("state done at {} of {} bytes", row.bytes_done, row.size));
        }
        if row.state == InputState::Pending && row.bytes_done != 0 {
            return wrong(format!("state pending at {} bytes", row.bytes_done));
        }
        if row.cut != cut {
            return wrong(format!("its end is truncated as {:?}, expected {cut:?}", row.cut));
        }
        self.records += progress.records;
        batch.progress.push(progress);
        self.model.apply(batch);
        Ok(())
    }
}

/// Describes how an entry at the end of a content is truncated.
fn cut_of(entry: &Entry) -> String {
    let defects: &[Defect] = match entry {
        Entry::Record(record) => &record.defects,
        Entry::Quarantined(_, defect) => std::slice::from_ref(defect),
        _ => &[],
    };
    let reasons = [
        reason::TRUNCATED_MEMBER,
        reason::TRUNCATED_RECORD,
        reason::TRUNCATED_HEADER,
    ];
    let cut = defects
        .iter()
        .rev()
        .find(|defect| reasons.contains(&defect.reason));
    cut.map_or(String::new(), |defect| {
        format!("{}: {}", defect.reason, defect.detail)
    })
}
