//! Lists of packages (`multi-wacz-package`), as written by services and players: each package that
//! they name is loaded.

use serde_json::{Value, json};
use zip::CompressionMethod;

use crate::addresses::{dumps, local};
use crate::fixture;
use crate::packages::{WARC, described, sha256, wacz, zipped};
use crate::support::Workspace;
use crate::web::{Behaviour, Web};

fn list(resources: &[Value]) -> Vec<u8> {
    let list = json!({"profile": "multi-wacz-package", "resources": resources});
    list.to_string().into_bytes()
}

/// Returns flags that allow lists to refer to these servers.
fn allowing(servers: &[&Web]) -> Vec<String> {
    let flags = servers
        .iter()
        .map(|web| ["--allow-elsewhere".to_owned(), web.address.to_string()]);
    flags.flatten().collect()
}

/// Runs a successful load with additional flags.
#[track_caller]
fn good_with(place: &Workspace, args: &[&str], flags: &[String]) -> String {
    let flags = flags.iter().map(String::as_str);
    place.good(&args.iter().copied().chain(flags).collect::<Vec<_>>())
}

/// Returns a place with two webs loaded into the archive `local`, and a package of each, one of
/// them in a folder.
fn two_packages() -> (Workspace, [Vec<u8>; 2]) {
    let place = local();
    place.write_old("other.warc", &fixture::other_web());
    place.good(&["load", "other.warc", "--archive", "local"]);
    let packages =
        [fixture::small_web(), fixture::other_web()].map(|warc| wacz(&warc, CompressionMethod::Stored));
    place.write_old("one.wacz", &packages[0]);
    place.write_old("more/two.wacz", &packages[1]);
    (place, packages)
}

/// Checks that the captures equal those of both files loaded separately.
#[track_caller]
fn check_both(place: &Workspace, archive: &str) {
    let captures = |archive: &str| {
        let dump = place.good(&["dump", "captures", "--archive", archive]);
        // The input is the column before the method.
        let no_input = |line: &str| line.rsplitn(3, '\t').nth(2).expect("an input").to_owned();
        dump.lines().map(no_input).collect::<Vec<String>>()
    };
    assert_eq!(captures(archive), captures("local"), "{archive}");
    let verified = place.good(&["verify", "--archive", archive]);
    assert!(verified.contains("every view matches 2 inputs"), "{verified}");
}

#[test]
fn packages_of_a_list_are_loaded() {
    let (place, [one, two]) = two_packages();
    let digits = |bytes: &[u8]| sha256(bytes).replace("sha256:", "");
    let (web_one, web_two) = (
        Web::start(&one, Behaviour::Ranges),
        Web::start(&two, Behaviour::Ranges),
    );
    // In the forms of players and services, and without a profile.
    place.write_old(
        "near.json",
        &list(&[
            json!({"name": "one", "path": "one.wacz", "hash": sha256(&one), "bytes": one.len()}),
            json!({"name": "two.wacz", "url": "more/two.wacz"}),
            json!({"path": "./one.wacz"}),
        ]),
    );
    let far = [
        json!({"name": "one.wacz", "path": web_one.url("/one.wacz?sig=a/b"), "hash": digits(&one), "size": one.len(), "crawlId": "c"}),
        json!({"name": "two.wacz", "path": web_two.url("/x"), "hash": digits(&two), "size": two.len()}),
    ];
    place.write_old(
        "far.json",
        &json!({"resources": far, "initialPages": []})
            .to_string()
            .into_bytes(),
    );
    place.write_old(
        "more/beside.json",
        &list(&[json!({"path": "../one.wacz"}), json!({"path": "two.wacz"})]),
    );
    let servers = allowing(&[&web_one, &web_two]);
    let folder = ["--allow-elsewhere".to_owned(), ".".to_owned()];
    for (archive, file, flags) in [
        ("near", "near.json", &[][..]),
        ("far", "far.json", &servers[..]),
        ("beside", "more/beside.json", &folder[..]),
    ] {
        good_with(&place, &["load", file, "--archive", archive], flags);
        check_both(&place, archive);
        let again = good_with(&place, &["load", file, "--archive", archive], flags);
        assert!(again.contains("2 inputs: 2 already known"), "{again}");
    }
    let ledger = place.good(&["dump", "ledger", "--archive", "near"]);
    for name in ["one.wacz#archive/web.warc\t", "more/two.wacz#archive/web.warc\t"] {
        assert!(ledger.contains(name), "{name}\n{ledger}");
    }
    let lists = Web::start(&list(&far), Behaviour::Ranges);
    let address = lists.url("/api/replay.json?token=x");
    good_with(&place, &["load", &address, "--archive", "address"], &servers);
    check_both(&place, "address");
}

#[test]
fn packages_at_addresses_are_read_by_ranges() {
    let place = Workspace::new();
    // Incompressible, and larger than one read.
    let rest: Vec<u8> = (0..400_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let warc = fixture::small_web();
    let members: [(&str, &[u8]); 3] = [
        ("logs/rest.bin", &rest),
        (WARC, &warc),
        (
            "datapackage.json",
            &described(&[(WARC, sha256(&warc)), ("logs/rest.bin", sha256(&rest))]),
        ),
    ];
    let web = Web::start(&zipped(&members, CompressionMethod::Stored), Behaviour::Ranges);
    place.write_old("list.json", &list(&[json!({"path": web.url("/x.wacz")})]));
    good_with(&place, &["load", "list.json"], &allowing(&[&web]));
    let bytes = |range: &String| {
        let ends = range
            .strip_prefix("bytes=")
            .and_then(|range| range.split_once('-'));
        let (first, last) = ends.expect("a range");
        last.parse::<u64>().expect("its end") + 1 - first.parse::<u64>().expect("its beginning")
    };
    let ranges = web.log();
    let read: u64 = ranges.iter().filter(|range| !range.is_empty()).map(bytes).sum();
    assert!(read < 300_000, "{read} bytes: {ranges:?}");
}

#[test]
fn a_package_with_packages_names_others_at_addresses() {
    let (place, [one, two]) = two_packages();
    let web = Web::start(&two, Behaviour::Ranges);
    // The first package's address is its original source; the package itself is embedded.
    let listed = list(&[
        json!({"name": "one.wacz", "path": "https://gone.example/one.wacz?sig=1", "hash": sha256(&one), "bytes": one.len()}),
        json!({"name": "two.wacz", "path": web.url("/two.wacz"), "bytes": two.len()}),
    ]);
    let both = zipped(
        &[("one.wacz", &one), ("datapackage.json", &listed)],
        CompressionMethod::Stored,
    );
    place.write_old("both.wacz", &both);
    good_with(
        &place,
        &["load", "both.wacz", "--archive", "both"],
        &allowing(&[&web]),
    );
    check_both(&place, "both");
    let ledger = place.good(&["dump", "ledger", "--archive", "both"]);
    assert!(ledger.contains("both.wacz#one.wacz#archive/web.warc"), "{ledger}");
}

#[test]
fn lists_in_lists_are_followed() {
    let (place, _) = two_packages();
    place.write_old("inner.json", &list(&[json!({"path": "more/two.wacz"})]));
    place.write_old(
        "outer.json",
        &list(&[json!({"path": "one.wacz"}), json!({"path": "inner.json"})]),
    );
    place.good(&["load", "outer.json", "--archive", "nested"]);
    check_both(&place, "nested");
}

#[test]
fn what_is_wrong_with_a_list_is_told() {
    let (place, [one, _]) = two_packages();
    place.write_old(
        "wrong.json",
        &list(&[
            json!({"path": "one.wacz", "bytes": 5}),
            json!({"path": "gone.wacz"}),
            json!({"path": "web.warc"}),
            json!({}),
        ]),
    );
    let run = place.run(&["load", "wrong.json", "--archive", "wrong"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    for expected in [
        format!(
            "one.wacz: failed(it has {} bytes, expected 5 as wrong.json declares",
            one.len()
        ),
        "gone.wacz: failed(no such file; wrong.json lists it".to_owned(),
        "web.warc: failed(cannot be read as a package".to_owned(),
        "wrong.json (resource 4): failed(it has no path and no url)".to_owned(),
    ] {
        assert!(run.stdout.contains(&expected), "{expected}\n{}", run.stdout);
    }
    let captures = place.good(&["dump", "captures", "--archive", "wrong"]);
    assert_eq!(
        captures.matches("one.wacz#archive/web.warc").count(),
        5,
        "{captures}"
    );

    let cases: [(&str, &[u8], &str); 6] = [
        (
            "other.json",
            br#"{"a": 1}"#,
            "failed(cannot be read as a list of packages: missing field `resources`",
        ),
        (
            "text.json",
            b"no JSON",
            "failed(cannot be read as a list of packages: expected",
        ),
        (
            "empty.json",
            br#"{"resources": []}"#,
            "failed(it lists no package)",
        ),
        (
            "one.json",
            &described(&[(WARC, sha256(b""))]),
            "failed(its profile is \"data-package\", expected",
        ),
        (
            "feed.json",
            b"[1, 2]",
            "failed(cannot be read as a list of packages",
        ),
        ("warc.json", &fixture::other_web(), "1 input: 1 done"),
    ];
    for (file, bytes, expected) in cases {
        place.write_old(file, bytes);
        let archive = format!("of-{file}");
        let run = place.run(&["load", file, "--archive", &archive]);
        assert_eq!(
            run.code,
            Some(i32::from(!file.starts_with("warc"))),
            "{file}: {}",
            run.stdout
        );
        assert!(run.stdout.contains(expected), "{expected}\n{}", run.stdout);
    }
    assert!(dumps(&place, "of-warc.json", "")["captures"].contains("http://other.example/"));
}

/// Each package refers to the next one at an address, so that its author could make the load
/// continue forever.
#[test]
fn lists_that_lead_on_and_on_are_left() {
    let place = Workspace::new();
    let warc = fixture::small_web();
    let mut next = Web::start(&wacz(&warc, CompressionMethod::Stored), Behaviour::Ranges);
    let mut servers = Vec::new();
    for _ in 0..5 {
        let listed = list(&[json!({"path": next.url("/x.wacz")})]);
        let package = zipped(&[("datapackage.json", &listed)], CompressionMethod::Stored);
        servers.push(std::mem::replace(
            &mut next,
            Web::start(&package, Behaviour::Ranges),
        ));
    }
    place.write_old("list.json", &list(&[json!({"path": next.url("/first.wacz")})]));
    servers.push(next);
    let flags = allowing(&servers.iter().collect::<Vec<_>>());
    let args = ["load", "list.json"]
        .into_iter()
        .chain(flags.iter().map(String::as_str));
    let run = place.run(&args.collect::<Vec<_>>());
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let told = "more than 4 lists of packages name one another";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    assert!(run.stdout.contains("1 input"), "{}", run.stdout);
}

/// Scenario: a stranger's list names an internal service of the loading machine, a bucket for which
/// the machine has keys, and files outside its folder. Loading these would publish them in the
/// archive.
#[test]
fn a_list_leads_to_its_own_origin_alone() {
    let place = Workspace::new();
    let private = wacz(&fixture::small_web(), CompressionMethod::Stored);
    let inside = Web::start(&private, Behaviour::Ranges);
    place.write_old("private/secret.wacz", &private);
    std::fs::create_dir(place.path("public")).expect("a folder");
    std::os::unix::fs::symlink(place.path("private"), place.path("public/leads")).expect("a link");
    let entries = [
        inside.url("/secret.wacz"),
        "s3://private-bucket/secret.wacz".to_owned(),
        place.path("private/secret.wacz").display().to_string(),
        "../private/secret.wacz".to_owned(),
        "leads/secret.wacz".to_owned(),
        format!(
            "wacz://{}#archive/web.warc",
            place.path("private/secret.wacz").display()
        ),
    ];
    let resources: Vec<Value> = entries.iter().map(|entry| json!({"path": entry})).collect();
    place.write_old("public/list.json", &list(&resources));
    let package = zipped(
        &[("datapackage.json", &list(&resources[..2]))],
        CompressionMethod::Stored,
    );
    place.write_old("public/list.wacz", &package);
    // The same list at an address.
    let lists = Web::start(&list(&resources), Behaviour::Ranges);
    for (number, input) in ["public/list.json", "public/list.wacz", &lists.url("/list.json")]
        .into_iter()
        .enumerate()
    {
        let archive = format!("refused{number}");
        let run = place.run(&["load", input, "--archive", &archive]);
        assert_eq!(run.code, Some(1), "{input}: {}", run.stdout);
        for flag in [
            format!("--allow-elsewhere {}", inside.address),
            "--allow-elsewhere s3://private-bucket".to_owned(),
        ] {
            assert!(run.stdout.contains(&flag), "{input}: {flag}\n{}", run.stdout);
        }
        let captures = place.good(&["dump", "captures", "--archive", &archive]);
        assert_eq!(captures, "", "{input}");
    }
    assert_eq!(inside.asked(), []);
    // An explicit flag allows the location.
    let flags = allowing(&[&inside]);
    let args = ["load", "public/list.json"]
        .into_iter()
        .chain(flags.iter().map(String::as_str));
    let run = place.run(&args.collect::<Vec<_>>());
    assert!(
        run.stdout.contains("secret.wacz#archive/web.warc") || run.stdout.contains("1 done"),
        "{}",
        run.stdout
    );
    assert!(!inside.asked().is_empty());
}

#[test]
fn one_wrong_entry_and_a_byte_order_mark_leave_a_list_whole() {
    let (place, _) = two_packages();
    let text = format!(
        "\u{feff}{}",
        json!({"profile": "multi-wacz-package", "resources": [{"path": "one.wacz"}, {"path": 7}, {"path": "more/two.wacz"}]})
    );
    place.write_old("marked.json", text.as_bytes());
    let run = place.run(&["load", "marked.json", "--archive", "marked"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let told =
        "marked.json (resource 2): failed(it cannot be used: invalid type: integer `7`, expected a string)";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    let captures = place.good(&["dump", "captures", "--archive", "marked"]);
    for name in ["one.wacz#archive/web.warc", "two.wacz#archive/web.warc"] {
        assert!(captures.contains(name), "{name}\n{captures}");
    }
}
