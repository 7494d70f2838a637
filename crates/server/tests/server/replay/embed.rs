//! Archived pages in frames of other sites.

use super::*;

const DOCUMENT: &str = "/replay/20140126200624/http://a.example/";
const IN_FRAME: &str = "Sec-Fetch-Dest: iframe\r\nSec-Fetch-Site: cross-site\r\n";

/// Returns a server that allows these sites to show archived pages.
fn scene(sites: &[&str]) -> Scene {
    let scene = Scene::of(&[("http://a.example/", 0, &format!("{HTML}hello"))]);
    let mut settings = with_replay();
    if let Some(replay) = &mut settings.replay {
        replay.embed_on = sites.iter().map(|site| (*site).to_owned()).collect();
    }
    Scene {
        server: Running::start_over(ServerParts::from(scene.loaded.archive.clone()), settings),
        ..scene
    }
}

#[test]
fn only_named_sites_show_archived_pages_and_only_within_a_page_of_the_archive() {
    for (sites, named) in [
        (&[][..], ""),
        (
            &["https://example.org", "http://b.example:81"][..],
            " https://example.org http://b.example:81",
        ),
    ] {
        let scene = scene(sites);
        let main = scene.server.address.port();
        let ancestors = format!("; frame-ancestors 'self' http://127.0.0.1:{main}{named}\r\n");
        let alone = scene.raw(DOCUMENT, IN_FRAME);
        check(
            &alone,
            200,
            &["frame-src 'self'", &ancestors, "mp_/http://a.example/\""],
        );
        assert!(!alone.contains("hello"), "{alone}");
        // Without the key, every form has the same limit, and so have failures.
        for (path, status) in [
            ("/replay/20140126200624mp_/http://a.example/", 200),
            ("/replay/20140126200624id_/http://a.example/", 200),
            ("/replay/~wrong/20140126200624mp_/http://a.example/", 200),
            ("/replay/2014mp_/http://b.example/", 404),
        ] {
            check(&scene.raw(path, IN_FRAME), status, &[&ancestors]);
        }
        // The document in that page has the key. Its own frames have opaque ancestors.
        let inner = alone
            .split(" src=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let inner = scene.raw(inner.expect("a frame"), IN_FRAME);
        check(&inner, 200, &["hello", "content-security-policy: sandbox"]);
        assert!(!inner.contains("frame-ancestors"), "{inner}");
    }
}

#[test]
fn the_page_of_a_capture_has_the_html_or_says_how_to_allow_it() {
    for at in ["", "&at=20140126200624"] {
        let path = format!("/page?url=http://a.example/{at}");
        let off = first(&scene(&[]), &path, "");
        check(&off, 200, &["weft serve --embed-on https://example.org"]);
        assert!(!off.contains("&lt;iframe"), "{off}");
        let scene = scene(&["https://b.example"]);
        let frame = format!("&lt;iframe src=&quot;http://{}{DOCUMENT}&quot;", scene.replay());
        check(&first(&scene, &path, ""), 200, &["https://b.example:", &frame]);
    }
}
