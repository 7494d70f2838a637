//! Decides which records a redacted copy leaves out.
//!
//! Data that a crawler derives from a page belongs to the page: text, pictures and lists whose
//! address is that of the page after a scheme (`urn:text:http://...`), or which name the page in a
//! field. The lookup of a host (`dns:`) is removed with the last capture of that host, and records
//! about the whole crawl (`file:`) with the last capture of the file.

use std::collections::HashSet;

use archive::RecordOutcome;
use extract::{Documents, LinkScope, Settings};
use warc::{Headers, Kind, Record};

use super::{Fate, RedactionRules};

/// Fields in which a record names, by id, others to which it belongs.
const NAMING: [&str; 3] = [CONCURRENT, "WARC-Refers-To", "WARC-Segment-Origin-ID"];

const CONCURRENT: &str = "WARC-Concurrent-To";

/// The facts of a record needed until all are read.
#[derive(Debug)]
pub(super) struct RedactionDecision {
    pub(super) fate: Fate,
    is_capture: bool,
    parent: RecordParent,
    id: Option<Box<str>>,
    names: Vec<RecordReference>,
    /// Whether it says, by URL, that it is a copy of a removed record.
    names_url: bool,
}

/// To what a record belongs, in addition to those that it names.
#[derive(Debug, PartialEq, Eq)]
enum RecordParent {
    /// It is content of this host.
    Content(Box<str>),
    /// It is a lookup of this host.
    Lookup(Box<str>),
    /// It describes the whole file.
    File,
    /// It belongs to nothing else.
    Nothing,
}

/// A reference to another record.
#[derive(Debug)]
struct RecordReference {
    id: Box<str>,
    concurrent: bool,
}

/// Decides about a record on its own.
pub(super) fn decide(record: &Record, leave_out: RedactionRules<'_>) -> RedactionDecision {
    let settings = Settings {
        links: LinkScope::External,
        text: false,
        documents: Documents::NONE,
    };
    let headers = &record.headers;
    let target = headers.get("WARC-Target-URI").unwrap_or_default();
    let time = time_of(headers.get("WARC-Date"));
    let by_header = || Some((extract::named_url_key(target)?, time));
    let derived = || Some((extract::named_url_key(extract::derived_from(target)?)?, time));
    // The file's own description, which no takedown selects.
    let stays = record.kind == Kind::Warcinfo;
    let capture = match RecordOutcome::extract(record, String::new(), &settings) {
        RecordOutcome::Capture(capture) if !stays => Some((capture.url_key, capture.fetch_time_ms)),
        _ => None,
    };
    let is_capture = capture.is_some();
    let is_content = matches!(record.kind, Kind::Response | Kind::Resource | Kind::Revisit);
    let key = capture.as_ref().map(|(key, _)| key.clone());
    // An unusable response is content of its host, too.
    let key = key.or_else(|| extract::named_url_key(target).filter(|_| is_content));
    let parent = match key {
        Some(key) => RecordParent::Content((*urlkey::host_of_key(&key)).into()),
        None => parent_of(target),
    };
    let referred = headers.get("WARC-Refers-To-Target-URI");
    let referred = referred.and_then(extract::named_url_key);
    let referred = referred.map(|key| (key, time_of(headers.get("WARC-Refers-To-Date"))));
    // A capture of another URL that refers to a removed one is a separate page. Any other record is
    // derived from the record it refers to, and from the same fetch, unless it gives another time.
    let derived_by_field = match (&referred, is_capture) {
        (Some((key, refers_to)), false) if extract::named_url_key(target).is_none() => Some((
            key.clone(),
            if *refers_to == i64::MAX { time } else { *refers_to },
        )),
        _ => None,
    };
    // An unusable record contains the same bytes, and so does its request, so their own headers
    // count.
    let named = [capture, by_header(), derived(), derived_by_field];
    let selects = |(key, time): &(String, i64)| {
        let rules = leave_out.rules;
        rules
            .takes_down(key.as_bytes(), *time, leave_out.collection)
            .is_some()
    };
    let selected = !stays && (leave_out.whole || named.iter().flatten().any(selects));
    RedactionDecision {
        fate: if selected { Fate::Selected } else { Fate::Stays },
        is_capture: is_capture || stays,
        parent: if stays { RecordParent::Nothing } else { parent },
        id: headers.get("WARC-Record-ID").map(bare),
        names: names(headers),
        names_url: referred.is_some_and(|referred| selects(&referred)),
    }
}

/// Returns to what a record with this address belongs, if it is not a capture.
fn parent_of(target: &str) -> RecordParent {
    let target = target.trim().trim_start_matches('<').trim_end_matches('>');
    let scheme = |name: &str| {
        let beginning = target.get(..name.len())?;
        beginning
            .eq_ignore_ascii_case(name)
            .then(|| &target[name.len()..])
    };
    if let Some(host) = scheme("dns:") {
        let key = urlkey::url_key(&format!("http://{}/", host.trim_start_matches('/')));
        return key.map_or(RecordParent::Nothing, |key| {
            RecordParent::Lookup((*urlkey::host_of_key(&key)).into())
        });
    }
    match scheme("file:") {
        Some(_) => RecordParent::File,
        None => RecordParent::Nothing,
    }
}

/// Returns the time, or a time that no rule reaches.
fn time_of(date: Option<&str>) -> i64 {
    date.and_then(warc::parse_date).map_or(i64::MAX, |date| date.ms)
}

fn names(headers: &Headers) -> Vec<RecordReference> {
    let fields = headers.iter().filter_map(|(name, value)| {
        let field = NAMING.iter().find(|naming| name.eq_ignore_ascii_case(naming))?;
        Some(RecordReference {
            id: bare(value),
            concurrent: *field == CONCURRENT,
        })
    });
    fields.collect()
}

/// Returns an id without blanks and angle brackets.
fn bare(id: &str) -> Box<str> {
    id.trim().trim_start_matches('<').trim_end_matches('>').into()
}

/// Removes records other than captures together with the removed ones. Returns the number of kept
/// records that refer to a removed one.
pub(super) fn concerned(records: &mut [RedactionDecision]) -> u64 {
    let mut gone: HashSet<Box<str>> = HashSet::new();
    let mut named: HashSet<Box<str>> = HashSet::new();
    let selected = records.iter().filter(|record| record.fate == Fate::Selected);
    for record in selected {
        gone.extend(record.id.clone());
        let concurrent = record.names.iter().filter(|name| name.concurrent);
        named.extend(concurrent.map(|name| name.id.clone()));
    }
    lookups_and_files(records);
    for record in records.iter().filter(|record| record.fate == Fate::Concerned) {
        gone.extend(record.id.clone());
    }
    loop {
        // Ends, because each round but the last adds the id of a record.
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
        // A record that names one just removed may come before it, so repeat until nothing changes.
        if gone.len() == before {
            break;
        }
    }
    let stays = records.iter().filter(|record| record.fate == Fate::Stays);
    let naming =
        stays.filter(|record| record.names_url || record.names.iter().any(|name| gone.contains(&name.id)));
    naming.count() as u64
}

/// Removes the lookups of hosts whose captures are all removed, and records about the file when all
/// captures are removed.
fn lookups_and_files(records: &mut [RedactionDecision]) {
    let (mut staying, mut leaving) = (HashSet::new(), HashSet::new());
    for record in &*records {
        if let RecordParent::Content(host) = &record.parent {
            match record.fate {
                Fate::Stays => staying.insert(host.clone()),
                Fate::Selected | Fate::Concerned => leaving.insert(host.clone()),
            };
        }
    }
    for record in records.iter_mut().filter(|record| record.fate == Fate::Stays) {
        let goes = match &record.parent {
            RecordParent::Lookup(host) => leaving.contains(host) && !staying.contains(host),
            RecordParent::File => staying.is_empty() && !leaving.is_empty(),
            RecordParent::Content(_) | RecordParent::Nothing => false,
        };
        if goes {
            record.fate = Fate::Concerned;
        }
    }
}
