//! `weft rights` and `--as`: access rules on the command line, and their effect on answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture;
use crate::serve::Served;
use crate::support::{Workspace, words};

fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place
}

fn total(place: &Workspace, query: &str, groups: Option<&str>) -> u64 {
    let mut arguments = vec!["search", query];
    if let Some(groups) = groups {
        arguments.extend(["--as", groups]);
    }
    place.json(&arguments)["total"].as_u64().expect("a total")
}

#[test]
fn a_rule_holds_for_the_next_question_of_those_it_is_for() {
    let place = loaded();
    let all = total(&place, "site:museum.example", None);
    assert!(all > 0);
    assert_eq!(total(&place, "site:museum.example", Some("")), all);
    let added = place.good(&[
        "rights",
        "add",
        "--deny",
        "--domain",
        "museum.example",
        "--except",
        "staff",
        "--note",
        "a test",
    ]);
    assert!(
        added.contains("added rule 1: deny domain museum.example for everybody except staff (a test)"),
        "{added}"
    );
    assert_eq!(total(&place, "site:museum.example", Some("")), 0);
    assert_eq!(total(&place, "site:museum.example", Some("strangers")), 0);
    assert_eq!(total(&place, "site:museum.example", Some("staff")), all);
    assert_eq!(total(&place, "site:museum.example", None), all);
    let cdx = |groups: &str| {
        let run = place.run(&["cdx", "http://museum.example/", "--as", groups]);
        run.stdout.lines().count()
    };
    assert_eq!(cdx(""), 0);
    assert!(cdx("staff") > 0);

    let rules = place.json(&["rights", "ls"]);
    assert_eq!(rules, place.json(&["rights", "list"]));
    assert_eq!(rules["rules"][0]["domain"], json!("museum.example"), "{rules}");
    assert_eq!(place.run(&["rights", "rm", "2"]).code, Some(1));
    place.good(&["rights", "rm", "1"]);
    assert_eq!(total(&place, "site:museum.example", Some("")), all);
}

/// Scenario: `--domain www.x` would open all of `x`. The command reports the rule's effect and
/// never drops `www.` silently.
#[test]
fn a_rule_says_what_it_comes_to_and_www_is_refused() {
    let place = Workspace::new();
    let urls = [
        "http://x.org/1",
        "http://www.x.org/2",
        "http://a.x.org/3",
        "http://x2.org/4",
        "http://x.org:8080/5",
    ];
    let pages = urls.map(|url| (url, "2015-01-01T00:00:00Z", "river"));
    place.write_old("web.warc", &fixture::warc(&pages));
    place.good(&["load", "web.warc"]);
    for flag in ["--host", "--domain"] {
        place
            .run(&["rights", "add", "--allow", flag, "www.x.org"])
            .expect(2, &[], &["leading www", "\"x.org\""]);
    }
    place
        .run(&["rights", "add", "--deny", "--prefix", "http://www.x.org/2"])
        .expect(0, &[], &["note: www.x.org and x.org share the same URL keys"]);
    place.good(&["rights", "add", "--deny", "--host", "x.org"]);
    place.good(&words("rights add --deny --domain x.org --until 2015-01-01"));
    let listed = place.good(&["rights", "ls"]);
    for part in [
        "matches 1 capture of 1 URL on x.org (keys org,x)/2*)",
        "deny host x.org",
        "matches 3 captures of 3 URLs on x.org (keys org,x)*, org,x:*)",
        "no longer in force",
    ] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    let listed = place.json(&["rights", "ls"]);
    assert_eq!(listed["rules"][1]["matches"]["captures"], json!(3), "{listed}");
    assert_eq!(
        listed["rules"][1]["matches"]["hosts"],
        json!(["x.org"]),
        "{listed}"
    );
    let run = place.run(&["forget", "--url", "http://www.x.org/1", "--dry-run"]);
    assert!(run.stderr.contains("note: www.x.org and x.org"), "{run:?}");
}

/// A key range continues after a single hidden key, and includes a single visible key, in both
/// directions.
#[test]
fn captures_around_a_rule_of_one_url_are_listed() {
    let place = Workspace::new();
    let urls = [1, 2, 3, 4].map(|n| format!("http://a.example/{n}"));
    let pages = urls
        .each_ref()
        .map(|url| (url.as_str(), "2015-01-01T00:00:00Z", "text"));
    place.write_old("web.warc", &fixture::warc(&pages));
    place.good(&["load", "web.warc"]);
    let check = |expected: &[&str], what: &str| {
        for is_reversed in [false, true] {
            let mut arguments = vec!["cdx", "http://a.example/*", "--as", ""];
            arguments.extend(is_reversed.then_some("--reverse"));
            let run = place.run(&arguments);
            let mut found: Vec<&str> = run
                .stdout
                .lines()
                .filter_map(|line| line.split(' ').next())
                .collect();
            if is_reversed {
                found.reverse();
            }
            assert_eq!(found, expected, "{what}, reversed: {is_reversed}");
        }
    };
    place.good(&["rights", "add", "--deny", "--url", "http://a.example/2"]);
    check(&["example,a)/1", "example,a)/3", "example,a)/4"], "one is hidden");
    std::fs::write(place.path("weft-archive/rights.toml"), "default = \"deny\"\n").expect("write the rules");
    place.good(&["rights", "add", "--allow", "--url", "http://a.example/2"]);
    check(&["example,a)/2"], "one is seen");
}

#[test]
fn a_closed_archive_shows_what_is_allowed() {
    let place = loaded();
    let listed = place.good(&["rights", "default", "deny", "--strict", "yes"]);
    assert!(listed.contains("closed") && listed.contains("strict"), "{listed}");
    assert_eq!(total(&place, "site:museum.example", Some("")), 0);
    place.good(&["rights", "add", "--allow", "--prefix", "http://museum.example/"]);
    assert!(total(&place, "site:museum.example", Some("")) > 0);
}

#[test]
fn a_test_says_which_rule_decides() {
    let place = loaded();
    place.good(&words(
        "rights add --deny --prefix example,museum)/ --except staff",
    ));
    place.run(&["rights", "test", "http://museum.example/"]).expect(
        1,
        &["hidden", "by rule 1: deny prefix example,museum)/"],
        &[],
    );
    place
        .run(&["rights", "test", "http://museum.example/", "--as", "staff"])
        .expect(0, &["seen", "the archive is public"], &[]);
    // For a URL without captures, a hypothetical capture described by the flags is tested.
    place
        .run(&words("rights test http://nowhere.net/ --mime image/png --json"))
        .expect(0, &["image/png"], &[]);
}

#[test]
fn what_is_the_owners_is_refused_to_others() {
    let place = loaded();
    place.good(&words("rights add --deny --domain museum.example --except staff"));
    for arguments in [&["status"][..], &["dump", "pages"]] {
        place
            .run(&[arguments, &["--as", ""]].concat())
            .expect(1, &[], &["access to the whole archive"]);
        place.good(&[arguments, &["--as", "staff"]].concat());
    }
    for arguments in [
        &["load", "web.warc"][..],
        &["sql", "select 1"],
        &["verify"],
        &["serve"],
        &["rights", "ls"],
    ] {
        place.run(&[&["--as", "staff"], arguments].concat()).expect(
            2,
            &[],
            &["--as works only with commands that query"],
        );
    }
}

#[test]
fn wrong_rules_are_refused_before_they_are_written() {
    let place = loaded();
    for (arguments, said) in [
        (&["--deny", "--from", "soon"][..], "--from takes a date"),
        (&["--deny", "--domain", ""], "not a host name"),
        (&["--domain", "museum.example"], "--allow"),
        (&["--deny", "--allow"], "cannot be used with"),
        (&["--deny", "--younger-than", "long"], "--younger-than takes"),
    ] {
        let run = place.run(&[&["rights", "add"][..], arguments].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
    }
    assert!(!place.path("weft-archive/rights.toml").exists());
    Workspace::new()
        .run(&["rights", "ls"])
        .expect(1, &[], &["is not an archive"]);
}

/// An editor leaves a truncated file: only the owner sees anything, and the message gives the
/// position of the error.
#[test]
fn a_broken_file_closes_the_archive_and_is_named() {
    let place = loaded();
    place.write(
        "weft-archive/rights.toml",
        b"[[rule]]\naccess = \"deny\"\ndomian = \"museum.example\"\n",
    );
    place
        .run(&["search", "maps", "--as", ""])
        .expect(1, &[], &["rights.toml", "domian"]);
    place.good(&["search", "maps"]);
}

#[test]
fn the_rules_of_a_pywb_are_taken_over() {
    let place = loaded();
    let file = place.write(
        "access.aclj",
        b"example,museum)/ - {\"access\": \"exclude\"}\nexample,museum)/ - {\"access\": \"allow\", \"user\": \"staff\"}\n",
    );
    let file = file.to_str().expect("text");
    let dry = place.good(&["rights", "import", file, "--dry-run"]);
    assert!(
        dry.contains("1 rule would be added") && dry.contains("exclude"),
        "{dry}"
    );
    assert!(total(&place, "site:museum.example", Some("")) > 0);
    place.good(&["rights", "import", file]);
    assert_eq!(total(&place, "site:museum.example", Some("")), 0);
    assert!(total(&place, "site:museum.example", Some("staff")) > 0);
}

#[test]
fn a_token_is_shown_once_and_its_hash_kept() {
    let place = loaded();
    let made = place.run(&words("rights token room --group staff --tokens tokens.toml"));
    assert!(made.stderr.contains("shown only once"), "{made:?}");
    let token = made.stdout.trim();
    assert_eq!(token.len(), 64, "{made:?}");
    let kept = std::fs::read_to_string(place.path("tokens.toml")).expect("a file");
    assert!(kept.contains("room") && !kept.contains(token), "{kept}");
    place.good(&["rights", "token", "room", "--withdraw", "--tokens", "tokens.toml"]);
    let again = place.run(&["rights", "token", "room", "--withdraw", "--tokens", "tokens.toml"]);
    assert_eq!(again.code, Some(1), "{again:?}");
}

/// A second token of a name would end the first one, and its rights.
#[test]
fn a_token_is_replaced_only_if_asked() {
    let place = Workspace::new();
    place
        .run(&words("rights token x --admin --tokens t.toml"))
        .expect(0, &[], &[]);
    let kept = || std::fs::read_to_string(place.path("t.toml")).expect("a file");
    let first = kept();
    place
        .run(&words("rights token x --group readers --tokens t.toml"))
        .expect(1, &[], &["there is a token \"x\" already", "--replace"]);
    assert_eq!(kept(), first);
    place
        .run(&words("rights token x --group readers --replace --tokens t.toml"))
        .expect(0, &[], &[]);
    assert!(
        kept().contains("readers") && !kept().contains("admin"),
        "{}",
        kept()
    );
    // What is missing is any of three.
    place.run(&words("rights token y --tokens t.toml")).expect(
        2,
        &[],
        &["--group <GROUP>", "--admin", "--withdraw"],
    );
}

/// The two states of a rule that is repeatedly changed, observed through many answers of `weft
/// serve`.
struct Changing {
    /// Number of changes begun and done.
    begun: AtomicU64,
    done: AtomicU64,
    /// Whether enough answers after the last change were checked.
    is_over: AtomicBool,
    /// Number of checked answers that lie entirely between two changes, without the rule and with
    /// it.
    checked: [AtomicU64; 2],
}

impl Changing {
    /// Sends requests until the test is over. `hidden` returns whether an answer reflects the rule.
    fn ask(&self, served: &Served, path: &str, hidden: &dyn Fn(&str) -> bool) {
        while !self.is_over.load(Ordering::SeqCst) {
            let before = self.done.load(Ordering::SeqCst);
            let answer = served.get(path);
            let after = self.begun.load(Ordering::SeqCst);
            assert!(answer.starts_with("HTTP/1."), "{answer}");
            // A request that overlaps a change may see either state.
            if before == after {
                let is_ruled = before % 2 == 1;
                assert_eq!(
                    hidden(&answer),
                    is_ruled,
                    "{path} after change {before}: {answer}"
                );
                self.checked[usize::from(is_ruled)].fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// Under concurrent requests and a running load, every request that starts after `weft rights` has
/// ended sees the new rules.
#[test]
fn a_rule_changed_under_load_holds_for_every_question_that_begins_after() {
    const CHANGES: u64 = 12;
    let place = loaded();
    place.good(&words("synth --pages 1000 --seed 7 --format warc more.warc.gz"));
    let served = Served::start(&place);
    let mut loading = place.start(&["load", "more.warc.gz", "--rate", "400"]);
    let changing = Changing {
        begun: AtomicU64::new(0),
        done: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        checked: [AtomicU64::new(0), AtomicU64::new(0)],
    };
    let questions: [(&str, &str); 4] = [
        (
            "/api/v1/search?q=site:museum.example&facets=1",
            "museum.example/maps",
        ),
        ("/api/v1/captures?url=museum.example/*", "museum.example/maps"),
        (
            "/api/v1/inlinks?url=http://www.library.example/",
            "museum.example",
        ),
        ("/search?q=globes", "The Museum"),
    ];
    std::thread::scope(|scope| {
        for (path, shown) in questions {
            let (changing, served) = (&changing, &served);
            scope.spawn(move || changing.ask(served, path, &|answer| !answer.contains(shown)));
        }
        for change in 1..=CHANGES {
            changing.begun.store(change, Ordering::SeqCst);
            match change % 2 {
                1 => place.good(&["rights", "add", "--deny", "--domain", "museum.example"]),
                _ => place.good(&["rights", "rm", "1"]),
            };
            changing.done.store(change, Ordering::SeqCst);
            // Check some answers under each rule, even on a slow machine.
            let checked = &changing.checked[usize::from(change % 2 == 1)];
            let (begun, enough) = (Instant::now(), checked.load(Ordering::SeqCst) + 4);
            while checked.load(Ordering::SeqCst) < enough && begun.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        changing.is_over.store(true, Ordering::SeqCst);
    });
    for checked in &changing.checked {
        let checked = checked.load(Ordering::SeqCst);
        assert!(checked >= CHANGES, "{checked} answers");
    }
    assert!(loading.wait().expect("it ends").success());
}
