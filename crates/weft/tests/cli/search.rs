//! `weft search`: past versions, groups, orders, completions, watches.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::fixture;
use crate::serve::Served;
use crate::support::Workspace;

/// Loads a page that changed, the same text under two URLs, and another site.
pub(crate) fn loaded() -> Workspace {
    let place = Workspace::new();
    let pages = [
        (
            "http://news.example/",
            "2010-01-01T00:00:00Z",
            "<title>First</title>the kestrel came back",
        ),
        (
            "http://news.example/",
            "2012-06-01T00:00:00Z",
            "<title>Second</title>an osprey was seen",
        ),
        (
            "http://news.example/",
            "2014-01-01T00:00:00Z",
            "<title>Sign in</title>please enter a password",
        ),
        (
            "http://news.example/a",
            "2013-01-01T00:00:00Z",
            "<title>Birds</title>a kestrel and a heron",
        ),
        (
            "http://news.example/b",
            "2013-01-02T00:00:00Z",
            "<title>Birds</title>a kestrel and a heron",
        ),
        (
            "http://other.example/",
            "2011-01-01T00:00:00Z",
            "<title>Other</title>no heron but a kestrel",
        ),
    ];
    place.write("x.warc", &fixture::warc(&pages));
    place.good(&["load", "x.warc"]);
    place
}

/// A table in which a kestrel and a heron are alike.
fn write_vectors(place: &Workspace) {
    let header = br#"{"embeddings":{"dtype":"I8","shape":[3,2],"data_offsets":[0,6]}}"#;
    let length = (header.len() as u64).to_le_bytes();
    let table = [&length[..], header, &[0, 0, 100, 0, 100, 20]].concat();
    place.write("model.safetensors", &table);
    let tokenizer = br##"{
        "pre_tokenizer": { "type": "WhitespaceSplit" },
        "model": { "type": "WordPiece", "vocab": { "[UNK]": 0, "kestrel": 1, "heron": 2 } }
    }"##;
    place.write("tokenizer.json", tokenizer);
}

#[test]
fn word_vectors_are_a_part_of_the_score() {
    let place = loaded();
    let search = ["search", "kestrel", "--explain", "--vectors", "model.safetensors"];
    place
        .run(&search)
        .expect(1, &[], &["--vectors: read", "model.safetensors"]);
    write_vectors(&place);
    let found = place.json(&search);
    assert_eq!(found["total"], place.json(&["search", "kestrel"])["total"]);
    for hit in found["hits"].as_array().unwrap() {
        let part = hit["explanation"]["similarity"]["score"].as_f64();
        assert!(part.is_some_and(|part| part > 0.0), "{hit}");
    }
}

#[test]
fn pages_are_found_as_they_were() {
    let place = loaded();
    assert!(place.good(&["search", "osprey"]).starts_with("0 results"));
    let text = place.good(&["search", "osprey", "at:2012"]);
    assert!(text.contains("past version, 2012-06-01 to 2014-01-01"), "{text}");
    let text = place.good(&["search", "password"]);
    assert!(text.contains("2014-01-01, newest of 3 versions"), "{text}");
    let found = place.json(&[
        "search",
        "kestrel",
        "OR",
        "osprey",
        "--all-versions",
        "--sort",
        "oldest",
    ]);
    let titles: Vec<&str> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["First", "Other", "Second", "Birds", "Birds"]);
    let text = place.good(&["diff", "http://news.example/", "--to", "2012-06"]);
    assert!(
        text.contains("[-kestrel-]") && text.contains("{+osprey+}"),
        "{text}"
    );
    assert_eq!(place.run(&["diff", "http://news.example/a"]).code, Some(1));
    assert_eq!(
        place
            .run(&["diff", "http://news.example/", "--from", "soon"])
            .code,
        Some(2)
    );
    let text = place.good(&["page", "http://news.example/"]);
    assert!(text.contains("past version") && text.contains("Second"), "{text}");
}

#[test]
fn results_are_grouped_and_counted() {
    let place = loaded();
    let text = place.good(&["search", "kestrel", "--per-site", "1"]);
    assert!(
        text.starts_with("3 results") && text.contains(", 2 after grouping"),
        "{text}"
    );
    assert!(text.contains("2 results from this site"), "{text}");
    let text = place.good(&["search", "kestrel", "--distinct"]);
    assert!(
        text.contains(", 2 after grouping") && text.contains("2 results with this content"),
        "{text}"
    );
    let text = place.good(&["search", "kestrel", "--all-versions", "--facets"]);
    assert!(
        text.contains("2010 1 (1000.0 of 1,000)") && text.contains("2013 2 (1000.0 of 1,000)"),
        "{text}"
    );
    // The command for the next page repeats the flags.
    let text = place.good(&[
        "search",
        "kestrel",
        "--sort",
        "newest",
        "--distinct",
        "--limit",
        "1",
    ]);
    assert!(text.contains("--sort newest --distinct"), "{text}");
}

#[test]
fn matches_are_shown_in_context() {
    let place = loaded();
    let text = place.good(&[
        "search",
        "kestrel",
        "--concordance",
        "--all-versions",
        "--sort",
        "oldest",
    ]);
    assert!(text.starts_with("4 pages in "), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("kestrel")).collect();
    // The matches are aligned.
    assert_eq!(
        lines,
        [
            "           the kestrel came back",
            "no heron but a kestrel",
            "             a kestrel and a heron",
            "             a kestrel and a heron"
        ]
        .map(|line| format!("  {line}"))
    );
    assert!(
        text.contains("http://news.example/  past version, 2010-01-01 to 2012-06-01\n"),
        "{text}"
    );
    assert!(text.contains("http://other.example/  2011-01-01\n"), "{text}");
    let text = place.good(&[
        "search",
        "a",
        "--concordance",
        "--context",
        "1",
        "--per-page",
        "1",
        "--limit",
        "1",
    ]);
    assert!(
        text.contains("--concordance --context 1 --per-page 1 --after "),
        "{text}"
    );
    let found = place.json(&["search", "\"and a heron\"", "--concordance"]);
    assert_eq!(found["answer"], "concordance");
    assert_eq!(found["lines"][0]["left"], "a kestrel ");
    assert_eq!(found["lines"][0]["match"], "and a heron");
    assert_eq!(found["lines"].as_array().unwrap().len(), 2);
    for wrong in [
        &["search", "a", "--context", "3"][..],
        &["search", "a", "--concordance", "--context", "51"],
        &["search", "a", "--concordance", "--distinct"],
    ] {
        assert_eq!(place.run(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn pages_that_are_nearly_the_same_are_shown_once_and_can_be_asked_for() {
    let place = Workspace::new();
    let text: Vec<String> = (0..300).map(|n| format!("w{}", n * n % 977)).collect();
    let text = text.join(" ");
    let pages = [
        (
            "http://a.example/",
            "2010-01-01T00:00:00Z",
            &*format!("heron {text}"),
        ),
        (
            "http://b.example/",
            "2010-01-01T00:00:00Z",
            &*format!("heron {text} today"),
        ),
        (
            "http://c.example/",
            "2010-01-01T00:00:00Z",
            "a heron, and nothing else",
        ),
    ];
    place.write("x.warc", &fixture::warc(&pages));
    place.good(&["load", "x.warc"]);
    let found = place.json(&["search", "heron", "--near", "--sort", "url"]);
    assert_eq!((&found["total"], &found["shown_total"]), (&3.into(), &2.into()));
    assert_eq!(found["hits"][0]["of_near"], 2);
    let like = found["hits"][0]["like"].as_str().unwrap();
    let text = place.good(&["search", "heron", "--near", "--sort", "url"]);
    assert!(text.contains(&format!("2 results like it: {like}")), "{text}");
    let found = place.json(&["search", "heron", like]);
    assert_eq!(found["total"], 2);
    let text = place.good(&["search", "heron", "like:me"]);
    assert!(
        text.contains("note: like:me is not what a result gives"),
        "{text}"
    );
}

#[test]
fn matches_of_each_year_are_counted_beside_all_that_there_are() {
    let place = loaded();
    let text = place.good(&["search", "kestrel", "--trends", "--beside", "heron"]);
    assert_eq!(
        text,
        "kestrel: 4 versions\n\
         year  matches  of  in 1,000\n\
         2010        1   1    1000.0\n\
         2011        1   1    1000.0\n\
         2012        0   1       0.0\n\
         2013        2   2    1000.0\n\
         2014        0   1       0.0\n\
         \n\
         heron: 3 versions\n\
         year  matches  of  in 1,000\n\
         2010        0   1       0.0\n\
         2011        1   1    1000.0\n\
         2012        0   1       0.0\n\
         2013        2   2    1000.0\n\
         2014        0   1       0.0\n"
    );
    let csv = "query,year,matches,versions\r\nheron,2010,0,1\r\nheron,2011,1,1\r\nheron,2012,0,1\r\n\
               heron,2013,2,2\r\nheron,2014,0,1\r\n";
    assert_eq!(
        place.good(&["search", "heron", "--trends", "--format", "csv"]),
        csv
    );
    place.good(&[
        "search",
        "heron",
        "--trends",
        "--export",
        "csv",
        "-o",
        "years.csv",
    ]);
    assert_eq!(std::fs::read_to_string(place.path("years.csv")).unwrap(), csv);
    for (arguments, said) in [
        (["--trends", "--export", "warc"], "cannot be written as warc"),
        (["--export", "csv", "--after=x"], "cannot be used with"),
        (["--export", "csv", "--limit=3"], "cannot be used with"),
    ] {
        let run = place.run(&[&["search", "heron"][..], &arguments].concat());
        assert_eq!(run.code, Some(2), "{}", run.text());
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    // Years that the query leaves out have no row: their zero would not be true.
    for (time, rows) in [
        ("from:2013 to:2013", "heron from:2013 to:2013,2013,2,2\r\n"),
        ("year:2012", "heron year:2012,2012,0,1\r\n"),
    ] {
        let query = format!("heron {time}");
        let written = place.good(&["search", &query, "--trends", "--format", "csv"]);
        assert_eq!(written, format!("query,year,matches,versions\r\n{rows}"));
    }
    // No page has both words, and pages with only one are not counted.
    let found = place.json(&["search", "osprey", "heron", "--trends"]);
    assert_eq!(found["rows"][0]["total"], 0);
    let five = [
        "--beside", "a", "--beside", "b", "--beside", "c", "--beside", "d", "--beside", "e",
    ];
    let run = place.run(&[&["search", "x", "--trends"][..], &five].concat());
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn matches_are_listed_by_month_with_the_first_pages() {
    let place = loaded();
    let text = place.good(&["search", "kestrel", "from:2013-01", "to:2013-02", "--events"]);
    assert_eq!(
        text,
        "2013-01: 2 versions, 2 new\n\
         \x20 first   2013-01-01  http://news.example/a  Birds\n\
         \x20 first   2013-01-02  http://news.example/b  Birds\n"
    );
    let found = place.json(&["search", "kestrel", "from:2005", "to:2013", "--events"]);
    assert_eq!(found["by_year"], true);
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(9));
    assert_eq!(found["rows"][5]["first"][0]["since"], "2010-01-01T00:00:00.000Z");
    assert_eq!(place.good(&["search", "walrus", "--events"]), "no matches\n");
    let run = place.run(&["search", "kestrel", "from:1900", "to:2020", "--events"]);
    assert!(run.stderr.contains("expected at most 60"), "{}", run.stderr);
}

#[test]
fn words_are_completed() {
    let place = loaded();
    let text = place.good(&["search", "--suggest", "a he"]);
    assert_eq!(text, "pages  completed\n    3  a heron\n");
    let found = place.json(&["search", "--suggest", "ke", "--limit", "3"]);
    assert_eq!(found["rows"][0]["word"], "kestrel");
    assert_eq!(found["rows"][0]["pages"], 3);
    assert_eq!(place.good(&["search", "--suggest", "osprey"]), "");
    for wrong in [
        &["search"][..],
        &["search", "x", "--suggest", "y"],
        &["search", "--suggest", "y", "--facets"],
    ] {
        assert_eq!(place.run(wrong).code, Some(2), "{wrong:?}");
    }
}

/// Returns the lines of a pipe as they arrive.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(pipe).lines().map_while(Result::ok);
        lines.for_each(|line| drop(sender.send(line)));
    });
    receiver
}

/// Returns the next line, within a minute.
#[track_caller]
fn next(lines: &Receiver<String>) -> String {
    lines.recv_timeout(Duration::from_secs(60)).expect("a line")
}

struct Watching {
    child: Child,
    out: Receiver<String>,
}

impl Watching {
    fn start(place: &Workspace, arguments: &[&str]) -> Watching {
        let mut child = place.start(arguments);
        let out: ChildStdout = child.stdout.take().unwrap();
        let said: ChildStderr = child.stderr.take().unwrap();
        let said = lines(said);
        let line = next(&said);
        assert!(line.starts_with("watching, 3 results so far"), "{line}");
        Watching {
            child,
            out: lines(out),
        }
    }

    /// Stops the watch with Ctrl-C: it exits cleanly without further output.
    fn end(mut self) {
        let status = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert_eq!(self.out.recv().ok(), None);
    }
}

/// Loads more while a watch runs: a match, a page that does not match, and a known page.
fn load_more(place: &Workspace, name: &str) {
    let address = format!("http://new.example/{name}");
    let pages = [
        (
            &*address,
            "2020-01-01T00:00:00Z",
            "<title>New</title>a kestrel again",
        ),
        (
            "http://new.example/other",
            "2020-01-01T00:00:00Z",
            "<title>Other</title>no such bird",
        ),
        (
            "http://other.example/",
            "2011-01-01T00:00:00Z",
            "<title>Other</title>no heron but a kestrel",
        ),
    ];
    let file = format!("{name}.warc");
    place.write(&file, &fixture::warc(&pages));
    place.good(&["load", &file]);
}

#[cfg(unix)]
#[test]
fn a_watch_tells_of_new_captures_alone_and_ends_cleanly() {
    let place = loaded();
    // Without a server the load goes through the watching process.
    let watching = Watching::start(&place, &["search", "kestrel", "--watch", "--json"]);
    load_more(&place, "one");
    let hit: Value = serde_json::from_str(&next(&watching.out)).unwrap();
    assert_eq!(hit["url"], "http://new.example/one");
    load_more(&place, "two");
    let hit: Value = serde_json::from_str(&next(&watching.out)).unwrap();
    assert_eq!(hit["url"], "http://new.example/two");
    watching.end();
    for wrong in [
        &["search", "x", "--watch", "--facets"][..],
        &["search", "--watch"],
    ] {
        assert_eq!(place.run(wrong).code, Some(2), "{wrong:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_watch_beside_a_server_tells_as_well() {
    let place = loaded();
    let mut server = Served::start(&place);
    let watching = Watching::start(&place, &["search", "kestrel", "--watch"]);
    load_more(&place, "one");
    let told: Vec<String> = (0..3).map(|_| next(&watching.out)).collect();
    assert_eq!(told[..2], ["", "New"], "{told:?}");
    assert!(told[2].contains("http://new.example/one"), "{told:?}");
    // The remaining lines of the result.
    next(&watching.out);
    next(&watching.out);
    watching.end();
    assert_eq!(server.stop(), Some(0));
}
