//! Archived pages in a real browser: one that tries everything, before a trap, and one that looks like itself.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The page that tries everything: it writes what it could do into its title.
fn hostile(trap: &str, api: &str) -> String {
    format!(
        r#"{HTML}<html><head><title>trying</title>
<link rel=preconnect href="{trap}"><link rel=dns-prefetch href="{trap}"><link rel=stylesheet href="{trap}/x.css">
<style>@import "{trap}/y.css"; body {{ background: url({trap}/bg.png) }}</style></head><body>
<img src="{trap}/a.png" srcset="{trap}/b.png 2x"><iframe src="{trap}/frame"></iframe><iframe srcdoc="<img src='{trap}/doc.png'>"></iframe>
<iframe src="data:text/html,<img src='{trap}/data.png'>"></iframe><object data="{trap}/o"></object><embed src="{trap}/e">
<video poster="{trap}/p" src="{trap}/v"></video><svg><image href="{trap}/s"/></svg>
<iframe name=sink></iframe><form id=f target=sink action="{trap}/form"><input name=q></form><form id=g method=post target=sink action="{trap}/form"></form><a id=l target=_blank href="{trap}/link">l</a>
<script>
const could = [];
const tries = {{
  storage() {{ Object.getPrototypeOf(window); const real = Object.getOwnPropertyDescriptor(Window.prototype, "localStorage"); if (real) real.get.call(window).setItem("a", "b"); else throw 1; }},
  cookie() {{ const frame = document.createElement("iframe"); document.body.append(frame); const text = frame.contentDocument.cookie = "a=b"; if (!frame.contentDocument.cookie.includes("a=b")) throw text; }},
  opener() {{ if (!window.opener) throw 1; window.opener.location.href; }},
  parent() {{ parent.document.title; }},
  top() {{ top.location.href; }},
  worker() {{ if (!navigator.serviceWorker) throw 1; navigator.serviceWorker.register("/replay/2014js_/http://hostile.example/sw.js"); }},
  database() {{ indexedDB.open("x"); }},
  socket() {{ new WebSocket("{trap}".replace("http", "ws")); }},
}};
for (const [name, attempt] of Object.entries(tries)) {{ try {{ attempt(); could.push(name); }} catch {{}} }}
const asks = [
  ["api", "{api}/api/v1/search?q=x"], ["cdx", "{api}/cdx?url=hostile.example/*"], ["live", "{trap}/fetch"],
  ["other", new URL("/healthz-not-there", location.href).href.replace("/healthz-not-there", "/api/v1/search?q=x")],
];
for (const tag of ["img", "script", "link", "iframe"]) {{
  const element = document.createElementNS("http://www.w3.org/1999/xhtml", tag);
  element.setAttributeNS(null, tag === "link" ? "href" : "src", "{trap}/" + tag);
  if (tag === "link") element.setAttributeNS(null, "rel", "stylesheet");
  document.body.append(element);
}}
document.write("<img src='{trap}/written.png'>");
document.body.insertAdjacentHTML("beforeend", "<img src='{trap}/inserted.png'>");
navigator.sendBeacon("{trap}/beacon", "x");
new Image().src = "{trap}/image.png";
const late = document.createElement("script");
late.textContent = "fetch('{trap}/late').catch(() => 0)";
document.body.append(late);
try {{ document.getElementById("f").submit(); }} catch {{}}
try {{ document.getElementById("g").submit(); }} catch {{}}
try {{ top.location = "{trap}/top"; }} catch {{}}
try {{ window.open("about:blank"); }} catch {{}}
Promise.all(asks.map(([name, url]) => fetch(url).then((answer) => answer.ok && could.push(name)).catch(() => 0)))
  .then(() => {{ document.title = "could:" + could.join(" "); }});
</script></body></html>"#
    )
}

/// Counts what reaches the outside: connections, and those of them that ask for something.
#[derive(Default)]
struct Trapped {
    connections: AtomicUsize,
    requests: AtomicUsize,
}

fn trap() -> (String, Arc<Trapped>) {
    let trap = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!(
        "http://trap.example:{}",
        trap.local_addr().expect("an address").port()
    );
    let trapped = Arc::new(Trapped::default());
    let counter = Arc::clone(&trapped);
    std::thread::spawn(move || {
        for mut stream in trap.incoming().flatten() {
            counter.connections.fetch_add(1, Ordering::SeqCst);
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || {
                use std::io::Read as _;
                if stream.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
                    counter.requests.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (address, trapped)
}

#[test]
fn an_archived_page_reaches_neither_the_live_web_nor_the_archive() {
    let (address, trapped) = trap();
    let Some(browser) = Browser::start(&["--host-resolver-rules=MAP trap.example 127.0.0.1".to_owned()])
    else {
        return;
    };
    // The address of the first port is not known before the page is captured; all of this machine are tried.
    let page = hostile(&address, "http://127.0.0.1:1");
    let scene = Scene::of(&[
        ("http://hostile.example/", 0, &page),
        (
            "http://hostile.example/sw.js",
            0,
            "Content-Type: text/javascript\r\n\r\n",
        ),
    ]);
    for place in [scene.server.address, scene.replay()] {
        browser.go(&format!("http://{place}/replay/2014/http://hostile.example/"));
        browser.enter_frame(Some("iframe.replay"));
        wait_for(&browser, "the trial", || {
            browser
                .script("return document.title")
                .as_str()
                .is_some_and(|title| title.starts_with("could:"))
        });
        assert_eq!(browser.script("return document.title"), "could:");
        assert_eq!(browser.script("return self.origin"), "null");
        std::thread::sleep(Duration::from_millis(500));
        browser.enter_frame(None);
        assert!(
            browser.address().starts_with(&format!("http://{place}/")),
            "{}",
            browser.address()
        );
        let connections = trapped.connections.load(Ordering::SeqCst);
        assert_eq!(connections, 0, "connections to the live web");
    }
    // A click or a script may lead the frame away; its policy does not let it.
    browser.enter_frame(Some("iframe.replay"));
    browser.script("document.getElementById('l').click(); return 1");
    wait_for(&browser, "what was not captured", || {
        browser.script("return document.title") == "Not captured"
    });
    browser.enter_frame(None);
    browser.go(&format!(
        "http://{}/replay/2014/http://hostile.example/",
        scene.replay()
    ));
    browser.enter_frame(Some("iframe.replay"));
    browser.script(&format!("location.href = '{address}/away'; return 1"));
    // The browser may connect before it asks the policy; it asks for nothing then, and shows that it was refused.
    wait_for(&browser, "the refusal", || {
        browser
            .script("return location.href")
            .as_str()
            .is_some_and(|shown| shown.starts_with("chrome-error:"))
    });
    std::thread::sleep(Duration::from_millis(500));
    let requests = trapped.requests.load(Ordering::SeqCst);
    assert_eq!(requests, 0, "the frame left the archive");
}

#[test]
fn a_page_looks_like_itself_and_the_bar_follows_its_reader() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let page = format!(
        "{HTML}<title>one</title><link rel=stylesheet href=s.css><p id=p>text<a id=n href=two>two</a><img id=i>\
         <script src=x.js></script><script>document.getElementById('i').src = '/i.svg'; localStorage.setItem('a', 'b');</script>"
    );
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        (
            "http://a.example/",
            86_400,
            &format!("{HTML}<title>one</title>later"),
        ),
        (
            "http://a.example/two",
            1,
            &format!("{HTML}<title>two</title>second"),
        ),
        (
            "http://a.example/s.css",
            1,
            "Content-Type: text/css\r\n\r\np{color:rgb(1,2,3);background:url(/i.svg)}",
        ),
        (
            "http://a.example/x.js",
            1,
            "Content-Type: text/javascript\r\n\r\nfetch('/data.json').then((a) => a.json()).then((d) => { document.title = d.said + document.URL; })",
        ),
        (
            "http://a.example/data.json",
            1,
            "Content-Type: application/json\r\n\r\n{\"said\": \"fetched \"}",
        ),
        (
            "http://a.example/i.svg",
            1,
            "Content-Type: image/svg+xml\r\n\r\n<svg xmlns='http://www.w3.org/2000/svg' width='7' height='9'/>",
        ),
    ]);
    let first = scene.server.address;
    browser.go(&format!("http://{first}/replay/2014/http://a.example/"));
    browser.enter_frame(Some("iframe.replay"));
    wait_for(&browser, "what the script fetches", || {
        browser.script("return document.title") == "fetched http://a.example/"
    });
    assert_eq!(
        browser.script("return getComputedStyle(document.getElementById('p')).color"),
        "rgb(1, 2, 3)"
    );
    wait_for(&browser, "the picture", || {
        browser.script("return document.getElementById('i').naturalHeight") == 9
    });
    assert_eq!(browser.script("return localStorage.a"), "b");
    browser.script("document.getElementById('n').click()");
    browser.enter_frame(None);
    wait_for(&browser, "the bar of the second page", || {
        browser.address() == format!("http://{first}/replay/20140126200625/http://a.example/two")
    });
    // A page that was not captured is told by the bar, with what is near it.
    browser.go(&format!("http://{first}/replay/2014/http://a.example/three"));
    assert!(browser.text("main").contains("This URL was not captured"));
    // Nothing of the page is wider than a telephone.
    browser.size(390, 800);
    browser.go(&format!("http://{first}/replay/2014/http://a.example/"));
    assert_eq!(
        browser.script("return document.documentElement.scrollWidth <= innerWidth"),
        true
    );
}
