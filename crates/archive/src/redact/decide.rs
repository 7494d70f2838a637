//! Which records a redacted copy leaves out.

use std::collections::HashSet;

use extract::{Documents, LinkScope, Settings};
use warc::{Headers, Kind, Record};

use super::{Fate, LeaveOut};
use crate::record_outcome::RecordOutcome;

/// Fields by which a record names others that it belongs to, by their ids.
const NAMING: [&str; 3] = [CONCURRENT, "WARC-Refers-To", "WARC-Segment-Origin-ID"];

const CONCURRENT: &str = "WARC-Concurrent-To";

/// What is known of a record until all are read.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) fate: Fate,
    is_capture: bool,
    id: Option<Box<str>>,
    names: Vec<Name>,
    /// It says that it is a copy of what goes, by its URL.
    names_url: bool,
}

/// A record that another names.
#[derive(Debug)]
struct Name {
    id: Box<str>,
    concurrent: bool,
}

/// What becomes of a record by itself.
pub(super) fn decide(record: &Record, leave_out: LeaveOut<'_>) -> Decided {
    let settings = Settings {
        links: LinkScope::External,
        text: false,
        documents: Documents::NONE,
    };
    let headers = &record.headers;
    let by_header = || {
        let key = extract::named_url_key(headers.get("WARC-Target-URI")?)?;
        Some((key, time_of(headers.get("WARC-Date"))))
    };
    // The file's own description, which no takedown selects.
    let stays = record.kind == Kind::Warcinfo;
    let capture = match RecordOutcome::of(record, String::new(), &settings) {
        RecordOutcome::Capture(capture) if !stays => Some((capture.url_key, capture.fetch_time_ms)),
        _ => None,
    };
    let is_capture = capture.is_some();
    // What a load could not use has the same bytes nevertheless, and so has the request for it: their own header counts.
    let named = [capture, by_header()];
    let selects = |(key, time): &(String, i64)| {
        let rules = leave_out.rules;
        rules
            .takes_down(key.as_bytes(), *time, leave_out.collection)
            .is_some()
    };
    let selected = !stays && (leave_out.whole || named.iter().flatten().any(selects));
    let referred = headers.get("WARC-Refers-To-Target-URI");
    let referred = referred.and_then(extract::named_url_key);
    let referred = referred.map(|key| (key, time_of(headers.get("WARC-Refers-To-Date"))));
    Decided {
        fate: if selected { Fate::Selected } else { Fate::Stays },
        is_capture: is_capture || stays,
        id: headers.get("WARC-Record-ID").map(bare),
        names: names(headers),
        names_url: referred.is_some_and(|referred| selects(&referred)),
    }
}

/// A time that no rule reaches, where there is none.
fn time_of(date: Option<&str>) -> i64 {
    date.and_then(warc::parse_date).map_or(i64::MAX, |date| date.ms)
}

fn names(headers: &Headers) -> Vec<Name> {
    let fields = headers.iter().filter_map(|(name, value)| {
        let field = NAMING.iter().find(|naming| name.eq_ignore_ascii_case(naming))?;
        Some(Name {
            id: bare(value),
            concurrent: *field == CONCURRENT,
        })
    });
    fields.collect()
}

/// An id without blanks and angle brackets.
fn bare(id: &str) -> Box<str> {
    id.trim().trim_start_matches('<').trim_end_matches('>').into()
}

/// Lets records that are no captures go with those that go. Returns how many stay that refer to one that goes.
pub(super) fn concerned(records: &mut [Decided]) -> u64 {
    let mut gone: HashSet<Box<str>> = HashSet::new();
    let mut named: HashSet<Box<str>> = HashSet::new();
    let selected = records.iter().filter(|record| record.fate == Fate::Selected);
    for record in selected {
        gone.extend(record.id.clone());
        let concurrent = record.names.iter().filter(|name| name.concurrent);
        named.extend(concurrent.map(|name| name.id.clone()));
    }
    loop {
        let before = gone.len();
        let may_go = records
            .iter_mut()
            .filter(|record| record.fate == Fate::Stays && !record.is_capture);
        for record in may_go {
            let is_named = record.id.as_ref().is_some_and(|id| named.contains(id));
            if is_named || record.names.iter().any(|name| gone.contains(&name.id)) {
                record.fate = Fate::Concerned;
                gone.extend(record.id.clone());
            }
        }
        // What names one that went only now may stand before it.
        if gone.len() == before {
            break;
        }
    }
    let stays = records.iter().filter(|record| record.fate == Fate::Stays);
    let naming =
        stays.filter(|record| record.names_url || record.names.iter().any(|name| gone.contains(&name.id)));
    naming.count() as u64
}
