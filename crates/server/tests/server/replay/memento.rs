//! Memento (RFC 7089): the TimeGate and TimeMaps.

use super::*;

#[test]
fn a_time_gate_leads_to_the_nearest_capture() {
    let scene = Scene::of(&[
        ("http://a.example/?x=y", 0, &format!("{HTML}<p>first")),
        ("http://a.example/?x=y", 86_400, &format!("{HTML}<p>second")),
    ]);
    let (at, replay) = (scene.server.address, scene.replay());
    let gate = "/timegate/http://a.example/?x=y";
    let memento = |time: &str| format!("http://{replay}/replay/{time}/http://a.example/?x=y");
    for (asked, time) in [
        ("Sun, 26 Jan 2014 21:00:00 GMT", "20140126200624"),
        ("Tue, 20 Jan 2026 00:00:00 GMT", "20140127200624"),
    ] {
        let answer = first(&scene, gate, &format!("Accept-Datetime: {asked}\r\n"));
        let location = format!("location: {}\r\n", memento(time));
        let original = "link: <http://a.example/?x=y>; rel=\"original\", ";
        check(&answer, 302, &[&location, original, "vary: accept-datetime"]);
        assert!(!answer.contains("memento-datetime"), "{answer}");
        let shown = scene.get(&format!("/replay/{time}/http://a.example/?x=y"), "");
        let links = format!("<http://{at}/timegate/http://a.example/?x=y>; rel=\"timegate\"");
        check(&shown, 200, &["memento-datetime: ", &links]);
    }
    check(&first(&scene, gate, ""), 302, &[&memento("20140127200624")]);
    check(
        &first(&scene, gate, "Accept-Datetime: yesterday\r\n"),
        400,
        &["not an HTTP date"],
    );
    check(
        &first(&scene, "/timegate/http://b.example/", ""),
        404,
        &["\"not_found\""],
    );
    check(&first(&scene, "/timegate/ftp://a", ""), 400, &["not a web URL"]);
}

#[test]
fn time_maps_list_all_captures_in_three_forms() {
    let page = format!("{HTML}<p>x");
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        ("http://a.example/", 60, &page),
        ("http://a.example/", 120, &page),
    ]);
    let link = first(&scene, "/timemap/link/http://a.example/", "");
    let memento = |time: &str, rel: &str, date: &str| {
        format!(
            "<http://{}/replay/{time}/http://a.example/>; rel=\"{rel}\"; datetime=\"{date}\"",
            scene.replay()
        )
    };
    check(
        &link,
        200,
        &[
            "content-type: application/link-format\r\n",
            "<http://a.example/>; rel=\"original\",\n",
            "rel=\"timegate\"",
            "rel=\"self\"; type=\"application/link-format\"; from=\"Sun, 26 Jan 2014 20:06:24 GMT\"; until=\"Sun, 26 Jan 2014 20:08:24 GMT\"",
            &memento("20140126200624", "first memento", "Sun, 26 Jan 2014 20:06:24 GMT"),
            &memento("20140126200724", "memento", "Sun, 26 Jan 2014 20:07:24 GMT"),
            &memento("20140126200824", "last memento", "Sun, 26 Jan 2014 20:08:24 GMT"),
        ],
    );
    let later = first(&scene, "/timemap/link/20140126200700/http://a.example/", "");
    assert!(
        !later.contains("20140126200624") && later.contains("20140126200724"),
        "{later}"
    );
    let json = first(&scene, "/timemap/json/http://a.example/", "");
    let body: serde_json::Value =
        serde_json::from_str(json.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
    assert_eq!(body["original_uri"], "http://a.example/");
    assert_eq!(body["mementos"]["list"].as_array().map(Vec::len), Some(3));
    assert_eq!(body["mementos"]["last"]["datetime"], "2014-01-26T20:08:24Z");
    let cdxj = first(&scene, "/timemap/cdxj/http://a.example/", "");
    check(
        &cdxj,
        200,
        &[
            "!meta {\"original_uri\":\"http://a.example/\"}\n",
            "\n20140126200724 {",
        ],
    );
    check(&first(&scene, "/timemap/link/http://b.example/", ""), 404, &[]);
    check(
        &first(&scene, "/timemap/xml/http://a.example/", ""),
        404,
        &["not a TimeMap format"],
    );
}
