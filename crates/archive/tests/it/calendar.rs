//! Calendars of a URL, compared with the list of its captures.

use std::collections::{BTreeMap, BTreeSet};

use archive::question::{
    Calendar, CalendarBody, CalendarDay, CalendarTime, CdxBody, CdxQuestion, CdxRow, JobState, LoadRequest,
    MatchType,
};
use archive::{Archive, OpenSettings};
use inputs::LoadInput;
use warc::{Compression, Draft, Writer};

const URL: &str = "http://a.example/news";

/// 2014-01-26T20:06:24Z
const FIRST_MS: i64 = 1_390_766_784_000;

/// More captures than a page lists.
const CAPTURES: usize = 1_500;

#[test]
fn all_captures_of_a_page_are_counted_by_day() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("many.warc.gz");
    let mut writer = Writer::create(&path, Compression::GZIP).unwrap();
    for n in 0..CAPTURES as i64 {
        // Three per day, out of order, and some within one second.
        let time_ms = FIRST_MS + n * 7_919 % 500 * 86_400_000 + n * 37 % 2_000;
        let block = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{}",
            n * n % 7 % 4
        );
        writer
            .write(&Draft::response(URL, time_ms, block.into_bytes()))
            .unwrap();
    }
    writer.finish().unwrap();
    let mut settings = OpenSettings::default();
    settings.create = true;
    let archive = Archive::open(&dir.path().join("archive"), settings).unwrap();
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "many.warc.gz".into(),
            path: path.display().to_string(),
        }],
        ..LoadRequest::default()
    };
    let (_, job) = archive.load(&request, &mut |_, _| true).unwrap();
    assert_eq!((job.state, job.captures), (JobState::Done, CAPTURES as u64));
    let question = CdxQuestion {
        url: URL.into(),
        match_type: MatchType::Exact,
        limit: CAPTURES + 1,
        ..CdxQuestion::default()
    };
    let CdxBody { rows, .. } = archive.ask(question).unwrap().body;
    assert_eq!(rows.len(), CAPTURES);
    check(&archive, &rows, None);
    for place in [0, 1, 700, CAPTURES - 1] {
        check(&archive, &rows, Some(&rows[place].timestamp));
    }
    // Between two captures, before all of them, and after all of them.
    for around in ["20140805", "1999", "2030"] {
        check(&archive, &rows, Some(around));
    }
    let nothing = Calendar {
        url: "http://a.example/other".into(),
        around: None,
    };
    assert!(archive.ask(nothing).is_err());
}

#[track_caller]
fn check(archive: &Archive, rows: &[CdxRow], around: Option<&str>) {
    let question = Calendar {
        url: URL.into(),
        around: around.map(str::to_owned),
    };
    let found = archive.ask(question).unwrap().body;
    assert_eq!(found, model(rows, around), "around {around:?}");
}

fn model(rows: &[CdxRow], around: Option<&str>) -> CalendarBody {
    let mut days: BTreeMap<&str, CalendarDay> = BTreeMap::new();
    let mut times = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let is_changed = place > 0 && rows[place - 1].digest != row.digest;
        let day = days.entry(&row.fetch_time[..10]).or_default();
        if day.captures == 0 {
            day.first.clone_from(&row.fetch_time);
        }
        day.last.clone_from(&row.fetch_time);
        day.captures += 1;
        day.changes += u64::from(is_changed);
        times.push(CalendarTime {
            timestamp: row.timestamp.clone(),
            fetch_time: row.fetch_time.clone(),
            is_changed,
        });
    }
    let contents: BTreeSet<&str> = rows.iter().map(|row| row.digest.as_str()).collect();
    // The first moment of a time given in part.
    let around = around.map(|around| format::date::digits(format::date::ms_of_digits(around)));
    let (mut beside, mut earlier, mut later) = (Vec::new(), None, None);
    if let Some(around) = around {
        let is_of_day = |time: &&CalendarTime| time.timestamp[..8] == around[..8];
        beside = times.iter().filter(is_of_day).cloned().collect();
        earlier = times.iter().rfind(|time| time.timestamp < around).cloned();
        later = times.iter().find(|time| time.timestamp > around).cloned();
    }
    CalendarBody {
        url_key: "example,a)/news".into(),
        captures: rows.len() as u64,
        contents: contents.len() as u64,
        is_cut: false,
        days: days.into_values().collect(),
        times: beside,
        earlier,
        later,
    }
}
