//! Regression tests with files that showed faults.

use super::data;
use extract::Capture;

fn captures(name: &str) -> Option<Vec<Capture>> {
    let name = format!("regress/{name}");
    if !data::file(&name)?.exists() {
        eprintln!("skipped: no {name}");
        return None;
    }
    Some(data::captures(&name))
}

#[test]
fn a_link_above_64_kib_is_counted() {
    let Some(captures) = captures("longlink.warc") else {
        return;
    };
    let page = captures[0].page.as_ref().unwrap();
    // The short link next to it is kept.
    assert_eq!((page.links.len(), page.links_dropped), (1, 1));
}

#[test]
fn a_version_line_in_lower_case_begins_a_record() {
    let Some(captures) = captures("lowercase-response.warc.gz") else {
        return;
    };
    let urls: Vec<&str> = captures.iter().map(|capture| capture.url.as_str()).collect();
    assert_eq!(urls, ["http://up.example/", "http://low.example/"]);
}

#[test]
fn a_redirect_to_the_own_key_is_marked() {
    let Some(captures) = captures("selfredir.warc.gz") else {
        return;
    };
    let marked: Vec<bool> = captures
        .iter()
        .map(|capture| capture.redirects_to_itself)
        .collect();
    assert_eq!(marked, [false, false, true]);
}

/// The words of links, as in a browser without scripts.
#[test]
fn anchors_are_those_of_the_tree() {
    let Some(captures) = captures("anchors.warc") else {
        return;
    };
    let page = captures[0].page.as_ref().unwrap();
    let found: Vec<(&str, &str)> = page
        .links
        .iter()
        .map(|link| (link.url.trim_end_matches('/'), link.anchor.as_str()))
        .collect();
    let expected = [
        ("http://lazy.example", "Kiwix"),
        ("http://ns.example", "noscript words"),
        ("http://cell.example", "cell words"),
        ("http://div.example", "div words"),
        ("http://next.example", "next"),
        ("http://svg.example", "svg words"),
        ("http://spaces.example", "sp"),
        ("http://tab.example/abc", "t"),
        ("http://proto.example", "p"),
        ("http://upper.example", "U"),
        ("http://amp.example/?a=1&b=2&copy=3&lt=4", "amp"),
        ("http://dup.example", "second"),
        ("http://nf.example", "n"),
        ("http://area.example", "area alt"),
        ("http://select.example", "x"),
        ("http://object.example", "obj"),
        ("http://button.example", "b"),
        ("http://title.example", ""),
        ("http://aria.example", ""),
        ("http://inp.example", ""),
        ("http://nest1.example", "one"),
        ("http://nest2.example", "two"),
        ("http://a.example/relative", "rel"),
        ("http://back.example/x", "back"),
    ];
    assert_eq!(found, expected);
    let nofollow: Vec<&str> = page
        .links
        .iter()
        .filter(|l| l.nofollow)
        .map(|l| l.url.as_str())
        .collect();
    assert_eq!(nofollow, ["http://nf.example/"]);
}
