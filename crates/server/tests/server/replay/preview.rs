//! The small frame on the page of a URL, which shows the replayed page.

use super::*;

const PAGE: &str = "/page?url=http://a.example/";

fn scene() -> Scene {
    let picture =
        "Content-Type: image/svg+xml\r\n\r\n<svg xmlns='http://www.w3.org/2000/svg' width='7' height='9'/>";
    Scene::of(&[
        (
            "http://a.example/",
            0,
            &format!("{HTML}<title>t</title>hello <img src=/i.svg><a href=/b>b</a>"),
        ),
        ("http://a.example/b", 0, &format!("{HTML}second")),
        ("http://a.example/i.svg", 0, picture),
        (
            "http://a.example/gone",
            0,
            "HTTP/1.1 302 Found\r\nContent-Type: text/html\r\nLocation: /b\r\n\r\n",
        ),
    ])
}

#[test]
fn the_page_of_a_url_frames_the_replayed_page_and_nothing_else() {
    let scene = scene();
    let origin = format!("http://{}", scene.replay());
    for at in ["", "&at=2014"] {
        let shown = first(&scene, &format!("{PAGE}{at}"), "");
        let policy = format!("; frame-src {origin};");
        check(
            &shown,
            200,
            &[
                &policy,
                "sandbox=\"allow-scripts allow-forms\" loading=\"lazy\" tabindex=\"0\"",
                "If the frame is empty",
                "href=\"/replay-check?url=http%3A%2F%2Fa.example%2F&amp;at=20140126200624\"",
            ],
        );
        let frame = shown
            .split("<iframe ")
            .nth(1)
            .and_then(|rest| rest.split(" src=\"").nth(1))
            .and_then(|rest| rest.split('"').next())
            .expect("a frame");
        let path = frame
            .strip_prefix(&origin)
            .expect("an address of the replay origin");
        assert!(path.ends_with("20140126200624mp_/http://a.example/"), "{path}");
        let inner = scene.raw(path, "Sec-Fetch-Dest: iframe\r\n");
        check(
            &inner,
            200,
            &[
                "hello",
                "im_/http://a.example/i.svg",
                "content-security-policy: sandbox",
            ],
        );
        // The archive's page is on another origin.
        assert!(!inner.contains("frame-ancestors"), "{inner}");
    }
    let redirect = first(&scene, "/page?url=http://a.example/gone", "");
    assert!(!redirect.contains("<iframe"), "{redirect}");
}

#[test]
fn the_frame_is_large_enough_and_reached_with_the_keyboard() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let scene = scene();
    for (width, height) in [(1280, 900), (390, 844)] {
        browser.size(width, height);
        browser.go(&format!("http://{}{PAGE}", scene.server.address));
        let high = browser.script("return document.querySelector('.small-frame iframe').offsetHeight");
        assert!(high.as_u64() > Some(400), "{high} at {width}");
        assert_eq!(
            browser.script("return document.documentElement.scrollWidth <= innerWidth"),
            true
        );
        browser
            .script("const f = document.querySelector('.small-frame iframe'); f.scrollIntoView(); f.focus()");
        assert_eq!(
            browser.script("return document.activeElement.title"),
            "Archived page"
        );
        enter_loaded(&browser, ".small-frame iframe");
        wait_for(&browser, "the picture of the archived page", || {
            browser.script("return document.images[0]?.naturalWidth") == 7
        });
        // A link stays in the frame, and the page around it stays.
        browser.script("document.links[0].click(); return 1");
        wait_for(&browser, "the page behind the link", || {
            browser.script("return document.body?.textContent.trim()") == "second"
        });
        browser.enter_frame(None);
        assert!(browser.address().ends_with(PAGE), "{}", browser.address());
    }
}
