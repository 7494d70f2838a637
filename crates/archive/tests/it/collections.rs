//! The list of collections: its counts and times, for clients with and without rules.

use access::Groups;
use archive::Archive;
use archive::question::{CollectionRow, Collections, LoadRequest};

use crate::data::{self, load, own};

/// Returns whether all captures were read, and each row as text, with the years of its times.
fn told(archive: &Archive, captures_max: Option<u64>) -> (bool, Vec<String>) {
    let body = archive.ask(Collections { captures_max }).unwrap().body;
    let year = |time: &Option<String>| time.as_deref().map_or("-", |time| &time[..4]).to_owned();
    let row = |row: &CollectionRow| {
        let (first, last) = (year(&row.fetch_time_first), year(&row.fetch_time_last));
        format!("{} {} {} {first} {last}", row.name, row.inputs, row.captures)
    };
    (body.complete, body.rows.iter().map(row).collect())
}

/// Loads one input per capture: its collection, host and year.
fn load_captures(archive: &Archive, dir: &std::path::Path, captures: &[(&str, &str, u16)]) {
    for (number, (collection, host, year)) in captures.iter().enumerate() {
        let http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nx";
        let (url, date) = (format!("http://{host}/"), format!("{year}-06-01T12:00:00Z"));
        let record = data::response(&url, &date, "", http);
        let request = LoadRequest {
            inputs: vec![data::write(dir, &format!("x{number}"), &record)],
            collection: Some((*collection).to_owned()),
            ..LoadRequest::default()
        };
        load(archive, &request);
    }
}

#[test]
fn collections_are_counted_as_the_client_sees_them() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    assert_eq!(told(&archive, None), (true, Vec::new()));
    let captures = [
        ("old", "a.org", 2012),
        ("new", "b.org", 2014),
        ("new", "secret.org", 2015),
        ("secret", "secret.org", 2016),
    ];
    load_captures(&archive, dir.path(), &captures);
    let all = ["new 2 2 2014 2015", "old 1 1 2012 2012", "secret 1 1 2016 2016"];
    assert_eq!(told(&archive, None), (true, all.map(String::from).to_vec()));
    // Only the first capture is read for times; the ledger has the counts.
    let first = ["new 2 2 - -", "old 1 1 2012 2012", "secret 1 1 - -"];
    assert_eq!(told(&archive, Some(1)), (false, first.map(String::from).to_vec()));

    let rules = "[[rule]]\naccess = \"deny\"\nprefix = \"org,secret)/\"\n";
    std::fs::write(archive.rights_path(), rules).unwrap();
    let public = archive.seen_by(Groups::public());
    let seen = ["new 1 1 2014 2014", "old 1 1 2012 2012"];
    for captures_max in [None, Some(2)] {
        let expected = (true, seen.map(String::from).to_vec());
        assert_eq!(told(&public, captures_max), expected, "{captures_max:?}");
    }
    let first = vec!["old 1 1 2012 2012".to_owned()];
    assert_eq!(told(&public, Some(1)), (false, first));
}
