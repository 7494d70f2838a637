//! Makes a report on captures in one walk through them.
//!
//! Invariants:
//! - hidden captures affect neither the counts nor the limit of the work;
//! - memory is bounded: captures are sorted by URL key, so hosts are counted one after the other,
//!   and digests are sorted in files.

mod digests;
mod largest;

use std::collections::BTreeMap;

use extract::CaptureKind;
use index::{CaptureRow, KeyRange};
use rustc_hash::FxHashMap;

use self::digests::Digests;
use self::largest::Largest;
use super::basis::Basis;
use super::window::Window;
use crate::AskError;
use crate::question::{
    REPORT_ROWS_MAX, Report, ReportBody, ReportFailure, ReportMonth, ReportRow, ReportStatus,
};

/// Limit of media types counted separately. Servers may send any text as media type; all further
/// ones are counted as [`OTHER_MIMES`].
const MIMES_MAX: usize = 10_000;

/// Name of all media types beyond [`MIMES_MAX`].
const OTHER_MIMES: &str = "(others)";

pub(super) fn report(basis: &Basis<'_>, question: &Report) -> Result<ReportBody, AskError> {
    let visible = basis.visible();
    let window = Window::of(question.from.as_deref(), question.to.as_deref())?;
    let dir = if basis.open.files.is_read_only() {
        std::env::temp_dir()
    } else {
        basis.open.files.dir().to_owned()
    };
    let mut tally = Tally::new(Digests::new(&dir));
    let mut looked_at = 0;
    let mut complete = true;
    for capture in visible.snapshot().captures(KeyRange::All, None) {
        let capture = capture?;
        if !visible.sees(&capture) {
            continue;
        }
        if question.captures_max.is_some_and(|most| looked_at >= most) {
            complete = false;
            break;
        }
        looked_at += 1;
        let is_of_collection = question
            .collection
            .as_ref()
            .is_none_or(|collection| *collection == capture.collection);
        if is_of_collection && window.contains(capture.fetch_time_ms) {
            tally.add(&capture)?;
        }
    }
    tally.finish(complete)
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    captures: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.captures += 1;
        self.bytes += bytes;
    }
}

struct Tally {
    all: Sum,
    urls: u64,
    hosts: u64,
    failures: u64,
    /// Earliest and latest fetch time.
    times_ms: Option<(i64, i64)>,
    /// The key of the previous capture.
    url_key: String,
    host: Host,
    by_host: Largest<(String, u64)>,
    failures_most: Largest<(String, u16)>,
    by_status: BTreeMap<u16, Sum>,
    by_mime: FxHashMap<String, Sum>,
    /// By year and month.
    by_month: BTreeMap<(i64, u8), (Sum, u64)>,
    digests: Digests,
}

/// The host whose captures are being read.
#[derive(Default)]
struct Host {
    /// The common prefix of its keys.
    prefix: String,
    sum: Sum,
    failures: BTreeMap<u16, u64>,
}

impl Tally {
    fn new(digests: Digests) -> Tally {
        Tally {
            all: Sum::default(),
            urls: 0,
            hosts: 0,
            failures: 0,
            times_ms: None,
            url_key: String::new(),
            host: Host::default(),
            by_host: Largest::new(REPORT_ROWS_MAX),
            failures_most: Largest::new(REPORT_ROWS_MAX),
            by_status: BTreeMap::new(),
            by_mime: FxHashMap::default(),
            by_month: BTreeMap::new(),
            digests,
        }
    }

    fn add(&mut self, capture: &CaptureRow) -> Result<(), AskError> {
        let (time_ms, bytes) = (capture.fetch_time_ms, capture.length);
        self.all.add(bytes);
        let (first, last) = self.times_ms.unwrap_or((time_ms, time_ms));
        self.times_ms = Some((first.min(time_ms), last.max(time_ms)));
        self.by_status.entry(capture.status).or_default().add(bytes);
        self.mime(&capture.mime).add(bytes);
        let is_new = self.url_key != capture.url_key;
        if is_new {
            self.url_key.clone_from(&capture.url_key);
            self.urls += 1;
        }
        let civil = format::date::DateTime::of_ms(time_ms);
        let month = self.by_month.entry((civil.year, civil.month)).or_default();
        month.0.add(bytes);
        // Captures of a key are sorted by time, so this is its first one.
        month.1 += u64::from(is_new);
        let prefix = capture.url_key.split_once(')').map_or("", |(prefix, _)| prefix);
        if self.host.sum.captures == 0 || self.host.prefix != prefix {
            self.end_host();
            self.host.prefix = prefix.to_owned();
        }
        self.host.sum.add(bytes);
        if capture.status >= 400 {
            self.failures += 1;
            *self.host.failures.entry(capture.status).or_default() += 1;
        }
        let holds = match capture.kind {
            CaptureKind::Revisit => false,
            CaptureKind::Response | CaptureKind::Resource | CaptureKind::Arc => true,
            // These records describe a capture that may itself be in the archive.
            CaptureKind::Wat | CaptureKind::Wet | CaptureKind::Conversion => return Ok(()),
        };
        self.digests.add(&capture.digest, holds, time_ms, bytes)
    }

    fn mime(&mut self, mime: &str) -> &mut Sum {
        let is_known = self.by_mime.contains_key(mime);
        let name = if is_known || self.by_mime.len() < MIMES_MAX {
            mime
        } else {
            OTHER_MIMES
        };
        self.by_mime.entry(name.to_owned()).or_default()
    }

    /// Counts the host whose captures have all been read.
    fn end_host(&mut self) {
        let Host {
            prefix,
            sum,
            failures,
        } = std::mem::take(&mut self.host);
        if sum.captures == 0 {
            return;
        }
        self.hosts += 1;
        let name = host_name(&prefix);
        for (status, count) in failures {
            self.failures_most.push(count, (name.clone(), status));
        }
        self.by_host.push(sum.captures, (name, sum.bytes));
    }

    fn finish(mut self, complete: bool) -> Result<ReportBody, AskError> {
        self.end_host();
        let row = |(captures, (name, bytes))| ReportRow {
            name,
            captures,
            bytes,
        };
        let mimes = self.by_mime.len() as u64;
        let mut by_mime = Largest::new(REPORT_ROWS_MAX);
        for (mime, sum) in self.by_mime {
            by_mime.push(sum.captures, (mime, sum.bytes));
        }
        let status = |(status, sum): (u16, Sum)| ReportStatus {
            status,
            captures: sum.captures,
            bytes: sum.bytes,
        };
        let month = |((year, month), (sum, urls_new)): ((i64, u8), (Sum, u64))| ReportMonth {
            month: format!("{year:04}-{month:02}"),
            captures: sum.captures,
            bytes: sum.bytes,
            urls_new,
        };
        let failure = |(captures, (host, status))| ReportFailure {
            host,
            status,
            captures,
        };
        Ok(ReportBody {
            captures: self.all.captures,
            bytes: self.all.bytes,
            urls: self.urls,
            hosts: self.hosts,
            mimes,
            fetch_time_first: self.times_ms.map(|(first, _)| format::date::iso(first)),
            fetch_time_last: self.times_ms.map(|(_, last)| format::date::iso(last)),
            complete,
            by_host: self.by_host.into_rows().map(row).collect(),
            by_status: self.by_status.into_iter().map(status).collect(),
            by_mime: by_mime.into_rows().map(row).collect(),
            by_month: self.by_month.into_iter().map(month).collect(),
            failures: self.failures,
            failures_most: self.failures_most.into_rows().map(failure).collect(),
            duplicates: self.digests.finish()?,
        })
    }
}

/// Returns the host of keys with this prefix, including its port if there is one.
fn host_name(prefix: &str) -> String {
    let host = urlkey::host_of_key(&format!("{prefix})/"));
    match prefix.split_once(':') {
        Some((_, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{host}:{port}")
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_keep_their_ports() {
        for (prefix, expected) in [
            ("org,example", "example.org"),
            ("org,example,www2:8080", "www2.example.org:8080"),
            ("7,1,168,192", "192.168.1.7"),
            ("::1", "[::1]"),
        ] {
            assert_eq!(host_name(prefix), expected);
        }
    }
}
