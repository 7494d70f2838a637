use proptest::prelude::*;
use warc::{Entry, Reader, ReaderSettings};

use super::{Exchanges, RECORDS};

/// A record of an exchange; ids are numbers.
#[derive(Debug, Clone)]
struct WrittenFile {
    /// `None` for a response.
    method: Option<&'static str>,
    names: Option<u8>,
    url: u8,
    second: u8,
}

fn file(records: &[WrittenFile]) -> Vec<u8> {
    let mut file = Vec::new();
    for (id, written) in records.iter().enumerate() {
        let (kind, body) = match written.method {
            Some(method) => ("request", format!("{method} / HTTP/1.1\r\n\r\n")),
            None => ("response", "HTTP/1.1 200 OK\r\n\r\nx".to_owned()),
        };
        let concurrent = written
            .names
            .map_or(String::new(), |id| format!("WARC-Concurrent-To: <urn:{id}>\r\n"));
        let head = format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:{id}>\r\nWARC-Date: 2014-01-01T00:00:0{}Z\r\n\
             WARC-Target-URI: http://a.org/{}\r\n{concurrent}Content-Length: {}\r\n\r\n{body}\r\n\r\n",
            written.second,
            written.url,
            body.len()
        );
        file.extend_from_slice(head.as_bytes());
    }
    file
}

/// Reads the methods of the responses by offset, from `position` with the context needed before it.
/// Ends after `pause` entries, as if killed there. Returns where to continue.
fn read(
    file: &[u8],
    (position, context_from): (u64, u64),
    pause: usize,
    methods: &mut Vec<(u64, String)>,
) -> (u64, u64) {
    let mut settings = ReaderSettings::default();
    settings.start_offset = context_from;
    let mut reader = Reader::from_input(Box::new(file.to_vec()), "x", settings).unwrap();
    let mut exchanges = Exchanges::from(position);
    let mut at = (position, context_from);
    let mut given = 0;
    loop {
        let next = match exchanges.pop() {
            Some(next) => next,
            None => match reader.next_entry().unwrap() {
                Some(entry) => {
                    exchanges.push(entry);
                    continue;
                }
                None => match exchanges.pop_at_end() {
                    Some(next) => next,
                    None => return (file.len() as u64, 0),
                },
            },
        };
        if given == pause {
            return at;
        }
        given += 1;
        let (entry, request) = next;
        let end = entry.span().end();
        at = (end, exchanges.context_from(end));
        if let Entry::Record(record) = entry
            && record.kind == warc::Kind::Response
        {
            methods.push((record.span.offset, request.method));
        }
    }
}

fn read_in_parts(file: &[u8], pause: usize) -> Vec<(u64, String)> {
    let mut methods = Vec::new();
    let mut at = (0, 0);
    while at.0 < file.len() as u64 {
        at = read(file, at, pause, &mut methods);
    }
    methods
}

fn written() -> impl Strategy<Value = WrittenFile> {
    let method = prop_oneof![3 => Just(None), 1 => Just(Some("GET")), 1 => Just(Some("POST")), 1 => Just(Some("HEAD"))];
    (method, prop::option::of(0..60u8), 0..3u8, 0..2u8).prop_map(|(method, names, url, second)| WrittenFile {
        method,
        names,
        url,
        second,
    })
}

proptest! {
    /// Wherever reading pauses and continues, the methods are those of one pass.
    #[test]
    fn pauses_change_nothing(records in prop::collection::vec(written(), 0..60), pause in 1..9usize) {
        let file = file(&records);
        prop_assert_eq!(read_in_parts(&file, usize::MAX), read_in_parts(&file, pause));
    }
}

fn methods(records: &[WrittenFile]) -> Vec<String> {
    let file = file(records);
    read_in_parts(&file, usize::MAX)
        .into_iter()
        .map(|(_, method)| method)
        .collect()
}

fn answer(names: Option<u8>, url: u8) -> WrittenFile {
    WrittenFile {
        method: None,
        names,
        url,
        second: 0,
    }
}

fn request(method: &'static str, names: Option<u8>, url: u8) -> WrittenFile {
    WrittenFile {
        method: Some(method),
        names,
        url,
        second: 0,
    }
}

#[test]
fn requests_are_found_before_and_behind() {
    // By name, in either direction, also at another time, but not for another URL.
    let later = |names, url| WrittenFile {
        second: 1,
        ..request("POST", names, url)
    };
    assert_eq!(methods(&[answer(None, 0), later(Some(0), 0)]), ["POST"]);
    assert_eq!(methods(&[later(None, 0), answer(Some(0), 0)]), ["POST"]);
    assert_eq!(methods(&[answer(None, 0), later(Some(0), 1)]), [""]);
    assert_eq!(methods(&[later(None, 1), answer(Some(0), 0)]), [""]);
    // By URL and time.
    assert_eq!(methods(&[answer(None, 0), request("POST", None, 0)]), ["POST"]);
    assert_eq!(methods(&[request("PUT", None, 0), answer(None, 0)]), ["PUT"]);
    // A linked request takes precedence over a similar one, and a request linked to another
    // response is not used.
    let both = [
        request("POST", None, 0),
        answer(None, 0),
        request("GET", Some(1), 0),
    ];
    assert_eq!(methods(&both), ["GET"]);
    let of_another = [answer(None, 0), answer(None, 0), request("POST", Some(1), 0)];
    assert_eq!(methods(&of_another), ["", "POST"]);
}

#[test]
fn the_window_ends_after_some_records() {
    let between = |count: u64| {
        let mut records = vec![answer(None, 0)];
        records.extend((1..count).map(|_| answer(None, 1)));
        records.push(request("POST", Some(0), 0));
        methods(&records)[0].clone()
    };
    assert_eq!(between(RECORDS), "POST");
    assert_eq!(between(RECORDS + 1), "");
}
