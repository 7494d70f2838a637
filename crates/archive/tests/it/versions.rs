//! Versions of pages: earlier versions can be found, but only by clients that may see them.

use std::path::Path;

use access::Groups;
use archive::question::{
    Check, Diff, DiffChange, LoadRequest, Page, PageText, Purge, SearchHit, SearchQuestion, TakeDown,
    TakedownSelector, Takedowns, UndoTakedown,
};
use archive::{Archive, ErrorCode};
use inputs::LoadInput;

use crate::data::{self, load, open, own};

const URL: &str = "http://example.org/";

/// A page that has changed twice, and is now a form.
const CAPTURES: [(&str, &str, &str); 5] = [
    (
        "a",
        "2010-01-01T00:00:00Z",
        "<title>First</title>the kestrel came back",
    ),
    (
        "b",
        "2011-01-01T00:00:00Z",
        "<title>First</title>the kestrel came back",
    ),
    (
        "c",
        "2012-06-01T00:00:00Z",
        "<title>Second</title>an osprey was seen",
    ),
    (
        "d",
        "2013-01-01T00:00:00Z",
        "<title>First</title>the kestrel came back",
    ),
    (
        "e",
        "2014-01-01T00:00:00Z",
        "<title>Sign in</title>please enter a password",
    ),
];

fn write(dir: &Path, (name, date, body): (&str, &str, &str)) -> LoadInput {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    write_http(dir, name, date, &http)
}

fn write_http(dir: &Path, name: &str, date: &str, http: &str) -> LoadInput {
    data::write(dir, name, &data::response(URL, date, "", http))
}

/// Loads some of the captures, one at a time.
fn load_all(archive: &Archive, dir: &Path, captures: &[usize]) {
    for &number in captures {
        let request = LoadRequest {
            inputs: vec![write(dir, CAPTURES[number])],
            ..LoadRequest::default()
        };
        load(archive, &request);
    }
}

fn search(archive: &Archive, query: &str) -> Vec<SearchHit> {
    let question = SearchQuestion {
        query: query.into(),
        limit: 100,
        ..SearchQuestion::default()
    };
    let body = archive.ask(question).unwrap().body;
    assert_eq!(body.hits.len() as u64, body.summary.total);
    body.hits
}

/// Checks the versions found, as `SINCE-UNTIL` in years, in order of time.
#[track_caller]
fn check(archive: &Archive, query: &str, expected: &[&str]) {
    let year = |time: &str| time[..4].to_owned();
    let span = |hit: SearchHit| {
        let until = hit.until.as_deref().map_or_else(|| "now".to_owned(), year);
        format!("{}-{until}", year(&hit.since))
    };
    let mut found: Vec<String> = search(archive, query).into_iter().map(span).collect();
    found.sort();
    assert_eq!(found, expected, "{query}");
}

/// Checks the whole history of the page, and that the archive is intact.
fn check_whole(archive: &Archive) {
    check(archive, "kestrel", &[]);
    check(archive, "osprey", &[]);
    check(archive, "password", &["2014-now"]);
    check(archive, "password at:2014", &["2014-now"]);
    check(archive, "password at:2013", &[]);
    check(archive, "kestrel at:2009", &[]);
    check(archive, "kestrel at:2010-01", &["2010-2012"]);
    check(archive, "kestrel at:2012-05", &["2010-2012"]);
    check(archive, "kestrel at:2012-06", &[]);
    check(archive, "osprey at:2012-06", &["2012-2013"]);
    check(archive, "osprey at:2012", &["2012-2013"]);
    check(archive, "kestrel at:2013-12", &["2013-2014"]);
    check(archive, "kestrel from:1990", &["2010-2012", "2013-2014"]);
    check(archive, "kestrel from:2012", &["2013-2014"]);
    check(
        archive,
        "kestrel OR osprey from:2011-06 to:2012-12",
        &["2012-2013"],
    );
    check(archive, "title:first to:2010", &["2010-2012"]);
    let current = search(archive, "password").pop().unwrap();
    assert_eq!((current.past_versions, current.until), (3, None));
    let past = search(archive, "osprey at:2012").pop().unwrap();
    let snippet: String = past.snippet.parts.iter().map(|part| &*part.text).collect();
    assert_eq!(
        (past.title.as_str(), snippet.as_str()),
        ("Second", "an osprey was seen")
    );
    let page = archive.ask(Page { url: URL.into() }).unwrap().body;
    let titles: Vec<&str> = page
        .past_versions
        .iter()
        .map(|past| past.title.as_str())
        .collect();
    assert_eq!(titles, ["First", "Second", "First"]);
    assert_eq!(page.past_versions[2].fetch_time, "2011-01-01T00:00:00.000Z");
    assert_sound(archive);
}

fn assert_sound(archive: &Archive) {
    let checked = archive.ask(Check::default()).unwrap().body;
    assert_eq!(checked.damages, []);
}

#[test]
fn a_page_is_found_as_it_was_whatever_the_order_of_loading() {
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [4, 0, 2, 3, 1], [2, 4, 1, 0, 3]] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("archive");
        let archive = own(&root);
        load_all(&archive, dir.path(), &order);
        check_whole(&archive);
        drop(archive);
        // Opened again, and with the search index rebuilt.
        let archive = open(&root);
        check_whole(&archive);
        drop(archive);
        std::fs::remove_dir_all(root.join("search")).unwrap();
        check_whole(&open(&root));
    }
}

#[test]
fn what_has_changed_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 1, 2, 3, 4]);
    let ask = |from: Option<&str>, to: Option<&str>| {
        let question = Diff {
            url: URL.into(),
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
        };
        archive.ask(question).map(|answer| answer.body)
    };
    let check = |from: Option<&str>, to: Option<&str>, titles: [&str; 2], expected: &str| {
        let found = ask(from, to).unwrap();
        assert_eq!([found.from.title.as_str(), found.to.title.as_str()], titles);
        let shown = found.parts.iter().map(|part| match part.change {
            DiffChange::Same => part.text.clone(),
            DiffChange::Gone => format!("[-{}-]", part.text),
            DiffChange::New => format!("{{+{}+}}", part.text),
        });
        assert_eq!(shown.collect::<String>(), expected);
    };
    check(Some("2011"), Some("2013"), ["First", "First"], "…");
    check(
        None,
        Some("2012"),
        ["First", "Second"],
        "[-the-]{+an+} [-kestrel-]{+osprey+} [-came-]{+was+} [-back-]{+seen+}",
    );
    assert_eq!(ask(None, None).unwrap().to.title, "Sign in");
    for (from, to) in [(None, Some("2010")), (Some("2009"), None)] {
        assert_eq!(ask(from, to).unwrap_err().code, ErrorCode::NotFound);
    }
    assert_eq!(ask(Some("2012-x"), None).unwrap_err().code, ErrorCode::BadRequest);
    // A client from which some captures of a page are hidden sees only the others.
    let rule = "[[rule]]\naccess = \"deny\"\nto = \"2011\"\n";
    std::fs::write(archive.rights_path(), rule).unwrap();
    let public = archive.seen_by(Groups::public());
    let question = |from: &str| Diff {
        url: URL.into(),
        from: Some(from.into()),
        to: Some("2013".into()),
    };
    let found = public.ask(question("2012")).unwrap().body;
    assert_eq!([found.from.title, found.to.title], ["Second", "First"]);
    assert_eq!(
        public.ask(question("2011")).unwrap_err().code,
        ErrorCode::NotFound
    );
}

#[test]
fn each_version_has_its_text() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 1, 2, 3, 4]);
    let ask = |at: Option<&str>, start: u64| {
        let question = PageText {
            url: URL.into(),
            at: at.map(str::to_owned),
            start,
            limit: 6,
        };
        archive.ask(question).map(|answer| answer.body)
    };
    let check = |at: Option<&str>, title: &str, since: &str, parts: &[&str]| {
        let mut start = Some(0);
        for part in parts {
            let found = ask(at, start.expect("another part")).unwrap();
            assert_eq!((found.text.as_str(), found.title.as_str()), (*part, title));
            assert_eq!(&found.since[..4], since);
            start = found.next;
        }
        assert_eq!(start, None);
    };
    check(
        Some("2010"),
        "First",
        "2010",
        &["the ke", "strel ", "came b", "ack"],
    );
    check(Some("2012"), "Second", "2012", &["an osp", "rey wa", "s seen"]);
    check(
        Some("2013"),
        "First",
        "2013",
        &["the ke", "strel ", "came b", "ack"],
    );
    let newest = ask(None, 7).unwrap();
    assert_eq!(
        (newest.text.as_str(), newest.chars, newest.until),
        ("enter ", 23, None)
    );
    assert_eq!(ask(Some("2009"), 0).unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(ask(Some("soon"), 0).unwrap_err().code, ErrorCode::BadRequest);
    // A client from whom the capture is hidden does not get its text.
    let rule = "[[rule]]\naccess = \"deny\"\nto = \"2011\"\n";
    std::fs::write(archive.rights_path(), rule).unwrap();
    let question = PageText {
        url: URL.into(),
        at: Some("2010".into()),
        ..PageText::default()
    };
    let refused = archive.seen_by(Groups::public()).ask(question).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}

/// Regression: a page of 2011 redirected elsewhere from 2014 on and was a page again in 2020. Asked
/// for 2015, the page of 2011 was compared, which search did not find at that time.
#[test]
fn a_page_that_leads_elsewhere_has_no_version_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    let away = "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.org/\r\n\r\n";
    let inputs = vec![
        write(dir.path(), ("a", "2011-06-01T00:00:00Z", "a kestrel")),
        write_http(dir.path(), "b", "2014-01-01T00:00:00Z", away),
        write(dir.path(), ("c", "2020-07-07T00:00:00Z", "an osprey")),
    ];
    load(
        &archive,
        &LoadRequest {
            inputs,
            ..LoadRequest::default()
        },
    );
    let ask = |from: &str| {
        let question = Diff {
            url: URL.into(),
            from: Some(from.into()),
            to: None,
        };
        archive.ask(question).map(|answer| answer.body.from.since)
    };
    check(&archive, "kestrel at:2013", &["2011-2014"]);
    check(&archive, "kestrel at:2015", &[]);
    assert_eq!(ask("2013").unwrap(), "2011-06-01T00:00:00.000Z");
    let refused = ask("2015").unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert!(refused.message.contains("2014-01-01"), "{refused}");
    assert_eq!(ask("2020").unwrap(), "2020-07-07T00:00:00.000Z");
}

#[test]
fn what_is_taken_down_leaves_the_past_too() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 1, 2, 3, 4]);
    let take_down = |input: &str| {
        let takes = TakedownSelector::Inputs(vec![input.into()]);
        let (reason, who) = (String::new(), String::new());
        let question = TakeDown {
            takes,
            reason,
            who,
            dry_run: false,
            limit: 0,
        };
        archive.ask(question).unwrap();
    };
    take_down("c.warc");
    // The versions around it are one version now.
    check(&archive, "osprey from:1990", &[]);
    check(&archive, "kestrel from:1990", &["2010-2014"]);
    assert_sound(&archive);
    take_down("d.warc");
    check(&archive, "kestrel from:1990", &["2010-2014"]);
    take_down("e.warc");
    check(&archive, "kestrel", &["2010-now"]);
    check(&archive, "password from:1990", &[]);
    assert_sound(&archive);
    archive.ask(Purge::default()).unwrap();
    check(&archive, "kestrel", &["2010-now"]);
    for takedown in archive.ask(Takedowns {}).unwrap().body.rows {
        archive
            .ask(UndoTakedown {
                id: takedown.id,
                ..UndoTakedown::default()
            })
            .unwrap();
    }
    load_all(&archive, dir.path(), &[2, 3, 4]);
    check_whole(&archive);
}

/// Rules by URL hide all versions of a page or none. Other rules hide some captures of one URL, so
/// the end of a visible version must not be revealed.
#[test]
fn who_may_not_see_a_page_does_not_see_what_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    load_all(&archive, dir.path(), &[0, 1, 2, 3, 4]);
    let public = archive.seen_by(Groups::public());
    let asked = |rule: &str, query: &str| {
        std::fs::write(
            archive.rights_path(),
            format!("[[rule]]\naccess = \"deny\"\n{rule}\n"),
        )
        .unwrap();
        let question = SearchQuestion {
            query: query.into(),
            limit: 100,
            facets: true,
            ..SearchQuestion::default()
        };
        public.ask(question).unwrap().body
    };
    for rule in [
        "url = \"org,example)/\"",
        "prefix = \"org,example)/\"",
        "domain = \"example.org\"",
    ] {
        let found = asked(rule, "kestrel OR osprey OR password from:1990");
        assert_eq!(
            (found.summary.total, found.hits.len(), found.summary.notes.len()),
            (0, 0, 0),
            "{rule}"
        );
    }
    let found = asked("prefix = \"org,elsewhere)/\"", "kestrel OR osprey from:1990");
    assert_eq!((found.summary.total, found.summary.notes.len()), (3, 0));
    let found = asked("from = \"2014\"", "kestrel OR osprey from:1990");
    assert_eq!(
        (found.summary.total, found.summary.notes.len()),
        (0, 1),
        "{:?}",
        found.summary.notes
    );
    let found = asked("to = \"2011\"", "password from:1990");
    assert_eq!((found.summary.total, found.hits[0].past_versions), (1, 2));
    assert_eq!(found.hits[0].since, "2014-01-01T00:00:00.000Z");
}
