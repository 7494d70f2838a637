//! The bar above an archived page: its calendar, and how complete the page is.

use super::*;
use crate::driver::ENTER;

/// Returns a page with four parts, two of which were captured, at four times in two months.
fn scene() -> Scene {
    let page = |words: &str| {
        format!(
            "{HTML}<title>p</title>{words}<img src=/i.svg><img src=/lost.png><link rel=stylesheet href=/s.css><script src=/lost.js></script>"
        )
    };
    let (first, second) = (page("first"), page("second"));
    let picture =
        "Content-Type: image/svg+xml\r\n\r\n<svg xmlns='http://www.w3.org/2000/svg' width='7' height='9'/>";
    Scene::of(&[
        ("http://a.example/", 0, &first),
        ("http://a.example/", 3_600, &second),
        ("http://a.example/", 86_400, &second),
        ("http://a.example/", 60 * 86_400, &first),
        ("http://a.example/i.svg", 0, picture),
        ("http://a.example/s.css", 0, "Content-Type: text/css\r\n\r\np{}"),
    ])
}

#[test]
fn the_calendar_leads_from_years_to_days_to_captures() {
    let scene = scene();
    let shown = first(&scene, "/replay/20140126200624/http://a.example/", "");
    check(
        &shown,
        200,
        &[
            "3 captures, 1 change in January 2014",
            "1 capture, 1 change in March 2014",
            "href=\"#days-2014-03\"",
            "<div class=\"days shown\" id=\"days-2014-01\">",
            "href=\"/replay?url=http%3A%2F%2Fa.example%2F&amp;at=20140327200624\"",
            &format!(
                "href=\"http://{}/replay/20140126200624/http://a.example/\"",
                scene.replay()
            ),
            // Two captures of one day have their times, too.
            "href=\"/replay?url=http%3A%2F%2Fa.example%2F&amp;at=20140126210624\"",
        ],
    );
}

#[test]
fn a_page_is_checked_as_the_program_does() {
    let scene = scene();
    let checked = first(&scene, "/replay-check?url=http://a.example/&at=2014", "");
    check(
        &checked,
        200,
        &["50 % complete", "2 of 4 parts found", "lost.png", "lost.js"],
    );
    check(
        &first(&scene, "/replay-check?url=http://b.example/", ""),
        404,
        &[],
    );
    check(
        &first(&scene, "/replay-check", ""),
        400,
        &["parameter url is missing"],
    );
    check(
        &first(&scene, "/replay-check?url=http://a.example/&at=soon", ""),
        400,
        &["is not a time"],
    );
}

/// The capture exists; only the file with its record is gone.
#[test]
fn a_capture_whose_input_is_gone_was_captured() {
    let scene = scene();
    let folder = scene._folder.as_ref().expect("a folder");
    std::fs::remove_file(folder.path().join("replay.warc.gz")).expect("removed");
    let gone = "the input replay.warc.gz is no longer where it was loaded from";
    let shown = scene.get("/replay/20140126200624mp_/http://a.example/", "");
    check(&shown, 404, &["Captured, but not readable", gone]);
    assert!(!shown.contains("Not captured"), "{shown}");
    let checked = first(&scene, "/replay-check?url=http://a.example/&at=2014", "");
    check(&checked, 404, &["he page cannot be checked: ", gone]);
    let record = first(&scene, "/record?url=http://a.example/", "");
    check(&record, 404, &["input_missing", gone]);
}

/// Two scrollbars, one in the other, are hard to use. With the bar folded there is only that of the
/// archived page.
#[test]
fn the_frame_has_the_height_that_the_window_has_left() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let scene = scene();
    for (width, height) in [(1280, 900), (390, 844)] {
        browser.size(width, height);
        browser.go(&format!(
            "http://{}/replay/20140126200624/http://a.example/",
            scene.server.address
        ));
        let fits = "return document.documentElement.scrollHeight <= innerHeight";
        assert_eq!(browser.script(fits), true, "{width}x{height}");
        let is_large = "return document.querySelector('iframe.replay').offsetHeight * 2 > innerHeight";
        assert_eq!(browser.script(is_large), true, "{width}x{height}");
    }
}

/// With the keyboard on a phone: another month, a day of it, and the check of the page.
#[test]
fn the_bar_is_used_with_keys_on_a_telephone() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let scene = scene();
    browser.size(390, 844);
    let first = scene.server.address;
    let fits = "return document.documentElement.scrollWidth <= innerWidth";
    let go_to = |selector: &str| {
        browser.script(&format!("document.querySelector(\"{selector}\").focus()"));
        browser.press(ENTER);
    };
    browser.go(&format!("http://{first}/replay/20140126200624/http://a.example/"));
    go_to(".replay-bar summary");
    let shown = "return [...document.querySelectorAll('.days')].filter((e) => e.offsetHeight).map((e) => e.id).join()";
    wait_for(&browser, "the days of the month that is shown", || {
        browser.script(shown) == "days-2014-01"
    });
    assert_eq!(browser.script(fits), true);
    go_to("a[href='#days-2014-03']");
    wait_for(&browser, "the days of another month", || {
        browser.script(shown) == "days-2014-03"
    });
    go_to("a[data-in-place]");
    wait_for(&browser, "how much is there", || {
        browser
            .script("return document.querySelector('.replay-bar [role=status]').textContent")
            .as_str()
            .is_some_and(|said| said.contains("50 % complete: 2 of 4 parts found"))
    });
    // The page itself stayed, and the focus is on the element that replaced the link.
    assert_eq!(
        browser.script("return document.activeElement.getAttribute('href')"),
        "/replay-check?url=http%3A%2F%2Fa.example%2F&at=20140126200624"
    );
    assert_eq!(browser.script(fits), true);
    go_to("#days-2014-03 a");
    wait_for(&browser, "the capture of that day", || {
        browser.address() == format!("http://{first}/replay/20140327200624/http://a.example/")
    });
    browser.go(&format!(
        "http://{first}/replay-check?url=http://a.example/&at=2014"
    ));
    assert_eq!(browser.script(fits), true);
}

/// Writes screenshots next to those of all other pages.
#[test]
#[ignore = "writes pictures for people to look at"]
fn screenshots_of_the_bar() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    std::fs::create_dir_all(&folder).expect("a folder");
    let captures: Vec<(String, i64)> = (0..60_i64)
        .map(|n| {
            (
                format!("{HTML}<h1>Looms</h1><img src=/x.png><p>{}", n / 5),
                n * n * 40_000,
            )
        })
        .collect();
    let captures: Vec<_> = captures
        .iter()
        .map(|(page, seconds)| ("http://a.example/a/fairly/long/address", *seconds, page.as_str()))
        .collect();
    let scene = Scene::of(&captures);
    for (width, height) in [(1280, 900), (390, 844)] {
        browser.size(width, height);
        for dark in [false, true] {
            browser.dark(dark);
            browser.go(&format!(
                "http://{}/replay/2014/http://a.example/a/fairly/long/address",
                scene.server.address
            ));
            browser.click(".replay-bar summary");
            browser.click("a[data-in-place]");
            wait_for(&browser, "how much is there", || {
                browser.script("return !document.querySelector('a[data-in-place]')") == true
            });
            let suffix = if dark { "-dark" } else { "" };
            let path = folder.join(format!("replay-{width}{suffix}.png"));
            std::fs::write(path, browser.picture()).expect("a picture");
        }
    }
}
