//! Links of versions that are not current: the period in which they existed, for any order of
//! loading, without those that are hidden or taken down.

use std::path::Path;

use access::Groups;
use archive::question::{
    Check, Inlinks, LinkRow, LoadRequest, Purge, TakeDown, TakedownSelector, Takedowns, UndoTakedown,
};
use archive::{Archive, ErrorCode};
use inputs::LoadInput;

use crate::data::{self, load, open, own};

const TARGET: &str = "http://target.net/";

/// Name, URL, date, and the text of the link to the target, if there is one.
const CAPTURES: [(&str, &str, &str, Option<&str>); 7] = [
    (
        "a",
        "http://one.org/",
        "2010-01-01T00:00:00Z",
        Some("first words"),
    ),
    (
        "b",
        "http://one.org/",
        "2011-01-01T00:00:00Z",
        Some("other words"),
    ),
    ("c", "http://one.org/", "2012-06-01T00:00:00Z", None),
    (
        "d",
        "http://one.org/",
        "2013-01-01T00:00:00Z",
        Some("first words"),
    ),
    ("e", "http://one.org/", "2014-01-01T00:00:00Z", None),
    (
        "f",
        "http://two.org/",
        "2012-01-01T00:00:00Z",
        Some("still there"),
    ),
    (
        "g",
        "http://two.org/",
        "2015-01-01T00:00:00Z",
        Some("still there"),
    ),
];

fn write(dir: &Path, (name, url, date, link): (&str, &str, &str, Option<&str>)) -> LoadInput {
    let link = link.map_or_else(String::new, |words| format!("<a href={TARGET}>{words}</a>"));
    let body = format!("<title>Page {name}</title>{link} <a href=http://always.net/>always</a>");
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    data::write(dir, name, &data::response(url, date, "", &http))
}

fn load_all(archive: &Archive, dir: &Path, captures: &[usize]) {
    for &number in captures {
        let request = LoadRequest {
            inputs: vec![write(dir, CAPTURES[number])],
            ..LoadRequest::default()
        };
        load(archive, &request);
    }
}

fn question(at: Option<&str>) -> Inlinks {
    Inlinks {
        url: TARGET.into(),
        at: at.map(str::to_owned),
        ever: at.is_none(),
        ..Inlinks::default()
    }
}

/// Returns a row in short form: source, years of the first and the last version, and whether it
/// exists now.
fn told(row: LinkRow) -> String {
    let version = row.version.unwrap();
    let now = if version.is_current { " now" } else { "" };
    let (first, last) = (&version.first_seen[..4], &version.fetch_time[..4]);
    format!(
        "{} {first}-{last}{now} {}, {}",
        row.source_key, row.anchor, row.source_title
    )
}

#[track_caller]
fn check(archive: &Archive, at: Option<&str>, expected: &[&str]) {
    let body = archive.ask(question(at)).unwrap().body;
    assert_eq!((body.total, body.next), (None, None));
    let found: Vec<String> = body.rows.into_iter().map(told).collect();
    assert_eq!(found, expected, "at {at:?}");
}

fn check_whole(archive: &Archive) {
    let one = "org,one)/ 2010-2013 first words, Page d";
    let two = "org,two)/ 2012-2015 now still there, Page g";
    check(archive, None, &[one, two]);
    check(archive, Some("2009"), &[]);
    check(
        archive,
        Some("2010"),
        &["org,one)/ 2010-2010 first words, Page a"],
    );
    check(
        archive,
        Some("201106"),
        &["org,one)/ 2010-2011 other words, Page b"],
    );
    let then = "org,two)/ 2012-2012 now still there, Page f";
    check(
        archive,
        Some("201205"),
        &["org,one)/ 2010-2011 other words, Page b", then],
    );
    check(archive, Some("201206"), &[then]);
    check(archive, Some("2013"), &[one, then]);
    check(archive, Some("2014"), &[then]);
    check(archive, Some("2020"), &[two]);
    let now = Inlinks {
        url: TARGET.into(),
        ..Inlinks::default()
    };
    let now = archive.ask(now).unwrap().body;
    assert_eq!(now.total, Some(1));
    assert_eq!(now.rows[0].version, None);
    // One row at a time.
    let mut asked = Inlinks {
        limit: 1,
        ..question(None)
    };
    let first = archive.ask(asked.clone()).unwrap().body;
    assert_eq!(first.rows.len(), 1);
    asked.after = first.next;
    let second = archive.ask(asked).unwrap().body;
    assert_eq!(
        (second.rows.into_iter().map(told).collect::<Vec<_>>(), second.next),
        (vec![two.to_owned()], None)
    );
    assert_sound(archive);
}

fn assert_sound(archive: &Archive) {
    let checked = archive.ask(Check::default()).unwrap().body;
    assert_eq!(checked.damages, []);
}

#[test]
fn links_of_older_versions_are_found_whatever_the_order_of_loading() {
    for order in [
        [0, 1, 2, 3, 4, 5, 6],
        [6, 5, 4, 3, 2, 1, 0],
        [4, 0, 6, 2, 3, 5, 1],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("archive");
        let archive = own(&root);
        load_all(&archive, dir.path(), &order);
        check_whole(&archive);
        drop(archive);
        check_whole(&open(&root));
    }
}

#[test]
fn a_url_that_only_older_versions_link_to_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 4]);
    let now = Inlinks {
        url: TARGET.into(),
        ..Inlinks::default()
    };
    let refused = archive.ask(now.clone()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert!(refused.message.contains("only older versions"), "{refused}");
    check(&archive, None, &["org,one)/ 2010-2010 first words, Page a"]);
    check(&archive, Some("2014"), &[]);
    // Error messages must not reveal hidden captures.
    let rule = "[[rule]]\naccess = \"deny\"\nto = \"2010\"\n";
    std::fs::write(archive.rights_path(), rule).unwrap();
    let public = archive.seen_by(Groups::public());
    let questions = [
        now,
        question(None),
        question(Some("2010")),
        question(Some("2014")),
    ];
    let unknown = format!("no capture of {TARGET} and no link to it (key net,target)/)");
    for question in questions {
        assert_eq!(public.ask(question).unwrap_err().message, unknown);
    }
}

#[test]
fn links_of_versions_that_are_hidden_are_in_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 1, 2, 3, 4, 5, 6]);
    let asked = |rule: &str, at: Option<&str>| -> Vec<String> {
        let rules = format!("[[rule]]\naccess = \"deny\"\n{rule}\n");
        std::fs::write(archive.rights_path(), rules).unwrap();
        let public = archive.seen_by(Groups::public());
        let rows = public.ask(question(at)).unwrap().body.rows;
        rows.into_iter().map(told).collect()
    };
    let two = "org,two)/ 2012-2015 now still there, Page g";
    assert_eq!(asked("domain = \"one.org\"", None), [two]);
    assert_eq!(asked("domain = \"one.org\"", Some("2011")), Vec::<String>::new());
    // As if the hidden captures had never been made.
    let first_seen_later = "org,one)/ 2013-2013 first words, Page d";
    assert_eq!(asked("to = \"2011\"", None), [first_seen_later, two]);
    let before_the_gap = "org,one)/ 2010-2011 other words, Page b";
    let rule = "from = \"2012\"\nto = \"2013\"";
    assert_eq!(asked(rule, Some("201306")), [before_the_gap]);
    assert_eq!(asked("url = \"org,elsewhere)/\"", Some("2020")), [two]);
}

#[test]
fn links_of_captures_that_are_taken_down_leave_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 1, 2, 3, 4, 5, 6]);
    let take_down = |input: &str| {
        let (reason, who) = (String::new(), String::new());
        let question = TakeDown {
            takes: TakedownSelector::Inputs(vec![input.into()]),
            reason,
            who,
            dry_run: false,
            limit: 0,
        };
        archive.ask(question).unwrap();
    };
    let two = "org,two)/ 2012-2015 now still there, Page g";
    take_down("d.warc");
    check(&archive, None, &["org,one)/ 2010-2011 other words, Page b", two]);
    take_down("b.warc");
    check(&archive, None, &["org,one)/ 2010-2010 first words, Page a", two]);
    take_down("a.warc");
    check(&archive, None, &[two]);
    take_down("g.warc");
    check(&archive, None, &["org,two)/ 2012-2012 now still there, Page f"]);
    assert_sound(&archive);
    archive.ask(Purge::default()).unwrap();
    check(&archive, None, &["org,two)/ 2012-2012 now still there, Page f"]);
    for takedown in archive.ask(Takedowns {}).unwrap().body.rows {
        let undo = UndoTakedown {
            id: takedown.id,
            ..UndoTakedown::default()
        };
        archive.ask(undo).unwrap();
    }
    load_all(&archive, dir.path(), &[0, 1, 3, 6]);
    check_whole(&archive);
}
