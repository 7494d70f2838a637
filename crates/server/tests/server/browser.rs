//! Tests of the pages in a real browser.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use archive::Archive;
use archive::question::{TakeDown, TakedownSelector, UndoTakedown};
use server::{ServerParts, ServerSettings};

use crate::driver::{Browser, ENTER, TAB};
use crate::fake::FakeStore;
use crate::loaded::{Loaded, load};
use crate::port::Running;
use crate::web;

/// A browser, a server over the sample web, and a trap that counts connections to the outside.
struct Scene {
    browser: Browser,
    server: Running,
    trapped: Arc<AtomicUsize>,
    _loaded: Loaded,
}

impl Scene {
    fn set() -> Option<Scene> {
        let trap = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!(
            "http://trap.example:{}",
            trap.local_addr().expect("an address").port()
        );
        let trapped = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&trapped);
        std::thread::spawn(move || {
            for _ in trap.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        let browser = Browser::start(&["--host-resolver-rules=MAP trap.example 127.0.0.1".to_owned()])?;
        let folder = tempfile::tempdir().expect("a folder");
        let file = web::write(folder.path(), &address);
        let loaded = load(&[file], Some("made up"));
        govern(&loaded.archive);
        let server = Running::start_over(
            ServerParts {
                store: Some(Arc::new(FakeStore(crate::sample::store()))),
                sql: None,
                files: None,
                ..ServerParts::from(loaded.archive.clone())
            },
            ServerSettings::default(),
        );
        // The input stays where it was loaded from, for records and archived content.
        std::mem::forget(folder);
        Some(Scene {
            browser,
            server,
            trapped,
            _loaded: loaded,
        })
    }

    fn go(&self, path: &str) {
        self.browser.go(&format!("http://{}{path}", self.server.address));
    }

    /// Returns path and query of the current page.
    fn path(&self) -> String {
        let address = self.browser.address();
        let rest = address.strip_prefix(&format!("http://{}", self.server.address));
        rest.unwrap_or(&address).to_owned()
    }

    #[track_caller]
    fn wait_for(&self, what: &str, done: impl Fn() -> bool) {
        let begun = Instant::now();
        while !done() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{what} did not happen; at {}",
                self.browser.address()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Writes rules that hide nothing from the public and contain words that break layouts, and a
/// register of takedowns.
pub(crate) fn govern(archive: &Archive) {
    let long = "Donaudampfschifffahrtsgesellschaftskapitaen".repeat(6);
    let rules = format!(
        "[[rule]]\naccess = \"deny\"\nprefix = \"org,example,looms)/{long}\"\nfrom = \"2014\"\ngroups = [\"readers\", \"{long}\"]\n\
         note = \"<b>asked</b> for by {long}\"\n\
         [[rule]]\naccess = \"deny\"\ndomain = \"looms.example.org\"\ngroups = [\"readers\"]\nto = \"2014\"\n\
         [[rule]]\naccess = \"allow\"\nmime = \"image/*\"\nuntil = \"2020-01-01\"\n"
    );
    std::fs::write(archive.rights_path(), rules).expect("written");
    for (n, reason) in [(28, "a request"), (29, &*format!("<b>{long}</b> ").repeat(9))] {
        let takes = TakeDown {
            takes: TakedownSelector::Url(format!("http://threads.example.com/{n}")),
            reason: reason.to_owned(),
            who: "librarian".to_owned(),
            dry_run: false,
            limit: 0,
        };
        archive.ask(takes).expect("a takedown");
    }
    let id = 1;
    let who = "librarian".to_owned();
    archive.ask(UndoTakedown { id, who }).expect("undone");
}

#[test]
fn words_are_completed_while_one_types_and_keys_choose() {
    let Some(scene) = Scene::set() else { return };
    let browser = &scene.browser;
    let script = |script: &str| browser.script(script);
    scene.go("/search");
    browser.press("/");
    browser.press("weaving lo");
    scene.wait_for("completions", || {
        script("return document.querySelectorAll('.suggestions:not([hidden]) [role=option]').length") != 0
    });
    let first = browser.text(".suggestions li");
    assert!(first.starts_with("weaving lo"), "{first}");
    browser.press("\u{e015}");
    assert_eq!(script("return document.querySelector('#q').value"), *first);
    assert_eq!(
        script(
            "return document.getElementById(document.querySelector('#q').getAttribute('aria-activedescendant')).textContent"
        ),
        *first
    );
    browser.press("\u{e013}");
    assert_eq!(script("return document.querySelector('#q').value"), "weaving lo");
    browser.press("\u{e015}");
    browser.press("\u{e00c}");
    assert_eq!(script("return document.querySelector('#q').value"), "weaving lo");
    assert_eq!(
        script("return document.querySelector('.suggestions').hidden"),
        true
    );
    browser.press("o");
    scene.wait_for("completions", || {
        script("return document.querySelectorAll('.suggestions:not([hidden]) [role=option]').length") != 0
    });
    browser.press("\u{e015}");
    browser.press(ENTER);
    scene.wait_for("the search", || scene.path().starts_with("/search?q=weaving+loo"));
}

#[test]
fn search_and_follow_to_a_page_an_in_link_a_domain_and_back() {
    let Some(scene) = Scene::set() else { return };
    let browser = &scene.browser;
    scene.go("/");
    browser.press("/");
    browser.press("looms");
    browser.press(ENTER);
    scene.wait_for("the search", || scene.path().starts_with("/search?q=looms"));
    assert!(browser.text(".summary").contains("result"));
    assert!(
        browser
            .script("return document.querySelectorAll('.snippet mark').length > 0")
            .as_bool()
            .unwrap_or(false)
    );

    browser.click(".hit h2 a");
    scene.wait_for("the page", || scene.path().starts_with("/page?url="));
    assert_eq!(browser.text("h1"), "All about looms");
    assert!(browser.text(".main-column").contains("In-links"));
    assert!(
        browser
            .script("return document.querySelectorAll('.calendar a').length")
            .as_u64()
            >= Some(2)
    );

    browser.click("section[aria-labelledby=inlinks] .links a[href^='/page']");
    scene.wait_for("the in-link", || scene.path().contains("threads.example.com"));
    assert!(browser.text("h1").starts_with("Weaving note"));

    browser.click(".page-head .facts a[href^='/domain']");
    scene.wait_for("the domain", || scene.path().starts_with("/domain?name="));
    assert_eq!(browser.text("h1"), "example.com");
    for expected in ["threads.example.com", "looms", "/search?q=looms"] {
        browser.back();
        scene.wait_for(expected, || scene.path().contains(expected));
    }
    assert_eq!(
        browser.script("return document.getElementById('q').value"),
        "looms"
    );
}

/// Time for a page to do what it must not do.
const TRIAL: Duration = Duration::from_millis(500);

/// A reader opens a page that tries every attack. It must run no code, open no connection to the
/// outside, and send no request to this server in the reader's name.
#[test]
fn a_hostile_page_does_not_break_out() {
    let Some(scene) = Scene::set() else { return };
    let browser = &scene.browser;
    scene.go("/");
    browser.script("document.cookie = 'secret=1'; return 1");
    scene.go(&format!("/page?url={}", web::HOSTILE));
    let title = browser.title();
    assert!(title.contains("<script>"), "the title is shown as text: {title}");
    scene.wait_for("the archived page", || requests(&scene, "/sandbox/content") > 0);
    std::thread::sleep(TRIAL);
    assert!(!browser.has_dialog());
    assert_eq!(browser.title(), title);
    assert_eq!(
        browser.script(
            "return [typeof window.pwned, typeof parent.pwned, document.documentElement.dataset.ran || '']"
        ),
        serde_json::json!(["undefined", "undefined", ""])
    );
    // The same when it is opened directly, without a frame.
    scene.go(&format!("/sandbox/content?url={}", web::HOSTILE));
    std::thread::sleep(TRIAL);
    assert!(!browser.has_dialog());
    assert!(
        scene.path().starts_with("/sandbox/content"),
        "it went elsewhere: {}",
        scene.path()
    );
    assert_eq!(
        browser.script(
            "return [document.documentElement.dataset.ran || '', document.querySelectorAll('#rtl').length]"
        ),
        serde_json::json!(["", 1])
    );
    scene.go(&format!("/sandbox/content?url={}", web::FRAMES));
    std::thread::sleep(TRIAL);
    assert_eq!(
        browser.script("return document.querySelectorAll('iframe, frame').length"),
        0
    );
    let shown = browser.text("body");
    assert!(
        shown.contains("/frame") && shown.contains("http://hostile.example.net/local"),
        "{shown}"
    );
    scene.go("/sandbox/content?url=http://www.looms.example.org/loom.svg");
    let width = browser.script("return document.images[0].naturalWidth");
    assert!(width.as_u64() > Some(0), "the drawing is shown");
    for path in [
        "/search?q=weaving",
        "/page?url=http://www.looms.example.org/",
        "/page/inlinks?url=http://hostile.example.net/page",
        "/domain?name=example.net",
    ] {
        scene.go(path);
        assert!(!browser.has_dialog(), "{path}");
        assert_eq!(
            browser.script("return typeof window.pwned"),
            "undefined",
            "{path}"
        );
    }
    assert_eq!(
        requests(&scene, "none"),
        0,
        "something of this server was asked for"
    );
    assert_eq!(
        scene.trapped.load(Ordering::SeqCst),
        0,
        "something outside was asked for"
    );
}

/// Returns the number of requests that the server counted for a route, with any status.
fn requests(scene: &Scene, route: &str) -> u64 {
    let script = "return await (await fetch('/metrics')).text()";
    let text = if scene.path().starts_with("/sandbox") {
        scene.go("/about");
        scene.browser.script(script)
    } else {
        scene.browser.script(script)
    };
    let prefix = format!("weft_http_requests_total{{route=\"{route}\"");
    let text = text.as_str().expect("text").to_owned();
    let lines = text
        .lines()
        .filter(|line| line.starts_with(&prefix) && !line.contains("favicon"));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// Pages with much content, and with content that breaks layouts.
const PAGES: [&str; 26] = [
    "/",
    "/search",
    "/search?q=weaving",
    "/search?q=weaving&explain=1",
    "/search?q=nothingatall",
    "/page?url=http://www.looms.example.org/",
    "/page?url=http://hostile.example.net/page",
    "/page?url=http://far.example.edu/never-captured",
    "/page?url=http://nowhere.example/",
    "/page/inlinks?url=http://www.looms.example.org/",
    "/domain?name=example.org",
    "/domains",
    "/graph?by=host",
    "/ranking",
    "/captures?url=example.org&match=domain",
    "/collections",
    "/pages",
    "/report",
    "/loads",
    "/store",
    "/cache",
    "/statistics",
    "/about",
    "/rights",
    "/rights?url=http://www.looms.example.org/&as=readers",
    "/takedowns",
];

/// Each page is loaded once, on the smallest screen, and laid out again for the others.
#[test]
fn every_page_fits_the_screen_can_be_read_and_names_its_parts() {
    let Some(scene) = Scene::set() else { return };
    let browser = &scene.browser;
    for path in PAGES {
        browser.size(320, 844);
        browser.dark(false);
        scene.go(path);
        for width in [320, 390, 1280] {
            browser.size(width, 844);
            let wide = browser
                .script("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(wide, 0, "{path} at {width}: wider by so many pixels");
            let zoomed = browser.script("return Math.round(visualViewport.width)");
            assert_eq!(zoomed, width, "{path}: the browser had to zoom out");
        }
        let papers = [false, true].map(|dark| {
            browser.dark(dark);
            let low = browser.script(CONTRAST);
            assert_eq!(low, serde_json::json!([]), "{path}, dark: {dark}");
            browser.script("return getComputedStyle(document.body).backgroundColor")
        });
        assert_ne!(papers[0], papers[1], "{path}");
        // Every control has a name, and every picture a description or a mark that it has none.
        let nameless = browser.script(
            "return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, iframe, svg[role=img]')]\
             .filter(e => !(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label') || e.title))\
             .map(e => e.outerHTML.slice(0, 120))",
        );
        assert_eq!(nameless, serde_json::json!([]), "{path}");
        let twice = browser.script("const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i)");
        assert_eq!(twice, serde_json::json!([]), "{path}: ids twice");
    }
}

#[test]
fn what_is_written_from_right_to_left_begins_at_the_right() {
    let Some(scene) = Scene::set() else { return };
    scene.go(&format!("/page?url={}", web::RIGHT_TO_LEFT));
    let direction = scene
        .browser
        .script("return getComputedStyle(document.querySelector('h1')).direction");
    assert_eq!(direction, "rtl");
    scene.go("/page?url=http://www.looms.example.org/");
    let direction = scene
        .browser
        .script("return getComputedStyle(document.querySelector('h1')).direction");
    assert_eq!(direction, "ltr");
}

#[test]
fn a_month_of_many_captures_is_one_line_on_a_phone() {
    let Some(scene) = Scene::set() else { return };
    scene.browser.size(390, 844);
    scene.go("/page?url=http://www.looms.example.org/");
    let lines = scene.browser.script(
        "const a = document.querySelector('.calendar td a'), line = a.getBoundingClientRect().height; \
         a.firstElementChild.textContent = '99+'; a.firstElementChild.className = 'wide'; \
         return [a.getBoundingClientRect().height / line, a.scrollWidth - a.clientWidth]",
    );
    assert_eq!(lines, serde_json::json!([1, 0]));
}

/// The wheel alone scrolls the page. With Ctrl it enlarges the diagram, and a double click undoes it.
#[test]
fn a_network_diagram_is_enlarged_and_shown_whole_again() {
    let Some(scene) = Scene::set() else { return };
    scene.browser.size(1280, 844);
    scene.go("/graph?by=host");
    let results = scene.browser.script(
        "const svg = document.querySelector('.network .wide'), box = svg.getBoundingClientRect(); \
         const shown = () => svg.getAttribute('viewBox'), whole = shown(); \
         const [clientX, clientY] = [box.left + box.width / 2, box.top + box.height / 2]; \
         const wheel = (ctrlKey) => svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -50, ctrlKey, clientX, clientY, cancelable: true })); \
         const scrolled = wheel(false) && shown() === whole; \
         const enlarged = !wheel(true) && svg.viewBox.baseVal.width < Number(whole.split(' ')[2]); \
         svg.dispatchEvent(new MouseEvent('dblclick')); \
         return [scrolled, enlarged, shown() === whole]",
    );
    assert_eq!(results, serde_json::json!([true, true, true]));
}

#[test]
fn keys_reach_everything_and_focus_is_seen() {
    let Some(scene) = Scene::set() else { return };
    let browser = &scene.browser;
    let focused = |property: &str| browser.script(&format!("return document.activeElement.{property}"));
    for path in ["/", "/ranking", "/page?url=http://www.looms.example.org/"] {
        scene.go(path);
        browser.press(TAB);
        assert_eq!(focused("className"), "skip", "{path}");
        let shown = browser.script("return document.activeElement.getBoundingClientRect().top >= 0");
        assert_eq!(shown, true, "the skip link is seen while it has the focus");
        browser.press(ENTER);
        assert_eq!(focused("id"), "main", "{path}");
        browser.press("/");
        assert_eq!(focused("id"), "q", "{path}");
        assert_eq!(focused("value"), "", "the key itself is not typed");
        let outline = browser.script("return getComputedStyle(document.activeElement).outlineStyle");
        assert_eq!(outline, "solid", "{path}");
        browser.press("/");
        assert_eq!(focused("value"), "/", "within the box it is a letter");
    }
}

/// Script that returns text with too little contrast to its background.
const CONTRAST: &str = "
    const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m };
    const light = c => { const f = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]) };
    const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c } return [255, 255, 255, 1] };
    const low = [];
    for (const e of document.querySelectorAll('body *')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length || e.closest('svg')) continue;
        const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < 4.5) low.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2) + ' ' + e.textContent.trim().slice(0, 30));
    }
    return low;";

/// Checks that a page fits on the screen, has exactly one `h1`, and that all its text has enough
/// contrast.
pub(crate) fn check_readable(browser: &Browser, what: &str) {
    let wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.script(wide), 0, "{what}: wider by so many pixels");
    assert_eq!(browser.script(CONTRAST), serde_json::json!([]), "{what}");
    let headings = browser.script("return document.querySelectorAll('h1').length");
    assert_eq!(headings, 1, "{what}");
}

#[test]
fn live_parts_are_fetched_again() {
    let Some(scene) = Scene::set() else { return };
    // All at once: each fetches its part again after some seconds.
    let shown = [
        ("/statistics", "Pages per second"),
        ("/store", "local/a"),
        ("/loads", "Load 1"),
    ];
    let windows = shown.map(|(path, part)| {
        let window = scene.browser.open_window();
        scene.go(path);
        (window, path, part)
    });
    for (window, path, part) in windows {
        scene.browser.enter_window(&window);
        scene.wait_for("a second look", || requests(&scene, &format!("{path}/live")) >= 2);
        assert!(scene.browser.text("main").contains(part), "{path}");
    }
}

/// Menus work with the keyboard and without the script: they are `details`.
#[test]
fn menus_open_with_keys_and_fit_on_one_line() {
    let Some(scene) = Scene::set() else { return };
    let browser = &scene.browser;
    browser.size(1280, 844);
    scene.go("/ranking");
    let height = browser.script("return document.querySelector('header.site').offsetHeight");
    assert!(height.as_u64() < Some(80), "one line high: {height}");
    browser.script("document.querySelector('.submenu summary').focus(); return 1");
    browser.press(ENTER);
    let open = "return [...document.querySelectorAll('.submenu')].map(menu => menu.open)";
    assert_eq!(browser.script(open), serde_json::json!([true, false]));
    check_readable(browser, "an open menu");
    browser.press(TAB);
    let focused = browser.script("return document.activeElement.getAttribute('href')");
    assert_eq!(focused, "/pages");
    // Opening one menu closes the other.
    browser.click("li:nth-child(3) > .submenu > summary");
    assert_eq!(browser.script(open), serde_json::json!([false, true]));
    browser.press("\u{e00c}");
    assert_eq!(browser.script(open), serde_json::json!([false, false]));
    // On a phone all of it is folded.
    browser.size(390, 844);
    scene.go("/ranking");
    let shown = "return document.querySelector('.submenu').getClientRects().length > 0";
    assert_eq!(browser.script(shown), false);
    browser.click(".menu summary");
    assert_eq!(browser.script(shown), true);
    browser.click("li:nth-child(2) > .submenu > summary");
    check_readable(browser, "the menu of a phone");
}
