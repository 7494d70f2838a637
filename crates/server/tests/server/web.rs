//! A small sample web as a WARC file: ordinary pages that link to each other, and one that tries
//! every attack.

use std::path::{Path, PathBuf};

use warc::{Compression, Draft, Writer};

/// 2014-01-26T20:06:24Z
const FIRST_MS: i64 = 1_390_766_784_000;
const YEAR_MS: i64 = 365 * 86_400_000;

/// URL of the page that tries every attack.
pub(crate) const HOSTILE: &str = "http://hostile.example.net/page";

/// URL of a page in Arabic.
pub(crate) const RIGHT_TO_LEFT: &str = "http://hostile.example.net/arabic";

/// URL of a page with frames.
pub(crate) const FRAMES: &str = "http://hostile.example.net/frames";

/// Writes the web into `folder`. Hostile references lead to `trap`, an address that must never be
/// requested.
pub(crate) fn write(folder: &Path, trap: &str) -> PathBuf {
    let path = folder.join("web.warc.gz");
    let mut writer = Writer::create(&path, Compression::GZIP).expect("a file");
    let mut add = |url: &str, years: i64, head: &str, body: &str| {
        let block = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        let draft = Draft::response(url, FIRST_MS + years * YEAR_MS, block.into_bytes());
        writer.write(&draft).expect("a record");
    };
    let html = "Content-Type: text/html; charset=utf-8";
    for years in [0, 1, 3] {
        add("http://www.looms.example.org/", years, html, &looms(years));
    }
    for n in 0..30 {
        let body = format!(
            "<html lang=en><title>Weaving note {n}</title><p>A note on weaving, number {n}, by the mill.\
             <p><a href='http://www.looms.example.org/'>All about looms</a> <a href='http://threads.example.com/{}'>next thread</a>",
            (n + 1) % 30
        );
        add(&format!("http://threads.example.com/{n}"), 1, html, &body);
    }
    add(HOSTILE, 2, html, &hostile(trap));
    add(RIGHT_TO_LEFT, 2, html, "<title>نول ونسيج</title><p>قماش");
    add(FRAMES, 2, html, &frames(trap));
    add(
        "http://hostile.example.net/other",
        2,
        html,
        &format!(
            "<title>Weaving with care</title><p>weaving <a href='{HOSTILE}'>{}</a>",
            "<b>careful</b> &lt;script&gt;alert(1)&lt;/script&gt;"
        ),
    );
    add(
        "http://www.looms.example.org/loom.svg",
        2,
        "Content-Type: image/svg+xml",
        &format!(
            "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script><rect width='90' height='90'/>\
            <link xmlns='http://www.w3.org/1999/xhtml' rel='preconnect' href='{trap}'/><image href='{trap}/svg'/></svg>"
        ),
    );
    writer.finish().expect("written");
    path
}

fn looms(years: i64) -> String {
    let text = "The loom holds the warp under tension, so that the weft can be woven through it. ".repeat(40);
    format!(
        "<html lang=en><title>All about looms</title><h1>Looms, edition {years}</h1><p>{text}\
         <p><a href='http://threads.example.com/1'>threads to weave with</a> \
         <a href='http://far.example.edu/never-captured'>a museum</a> \
         <a href='{HOSTILE}' rel=nofollow>a stranger</a>"
    )
}

/// Returns a page with frames, including some that only a browser's parser finds.
fn frames(trap: &str) -> String {
    format!(
        r#"<html><head><title>Frames of looms</title></head><frameset cols="50%,50%"><frame src="{trap}/frame"><frame src="/local">
</frameset><noframes><body><iframe src="{trap}/noframes"></iframe><select><xmp><iframe src="{trap}/select"></xmp></select>
<svg><textarea><p title="</textarea><iframe src='{trap}/value'></iframe>"></svg><!-- --!><iframe src="{trap}/comment"></iframe>"#
    )
}

/// Returns a page with scripts in every possible place, references that would open connections or
/// send cookies, and text that breaks layouts.
fn hostile(trap: &str) -> String {
    let attack = "try{window.top.document.title='pwned'}catch(e){}try{parent.pwned=1}catch(e){}document.documentElement.dataset.ran='1';alert(1)";
    let long = "Donaudampfschifffahrtsgesellschaft".repeat(60);
    format!(
        r#"<!doctype html><html><head><title></script><script>{attack}</script>"><img src=x onerror="{attack}"> {long}</title>
<base href="{trap}/base/">
<meta http-equiv="refresh" content="0;url={trap}/refresh">
<link rel="stylesheet" href="{trap}/style"><link rel="preconnect" href="{trap}"><link rel="dns-prefetch" href="{trap}">
<link rel="prefetch" href="{trap}/prefetch"><link rel="preload" as="script" href="{trap}/preload"><link rel="icon" href="{trap}/icon">
<LINK REL=preconnect HREF="{trap}/upper"><iframe srcdoc="&lt;link rel=preconnect href='{trap}/srcdoc'&gt;"></iframe>
<link rel="manifest" href="{trap}/manifest"><link rel="modulepreload" href="{trap}/module"><link rel="prerender" href="{trap}/prerender">
<script type="speculationrules">{{"prefetch":[{{"source":"list","urls":["{trap}/speculation"]}}]}}</script>
<script>{attack}</script><script src="{trap}/script"></script>
<style>@import url({trap}/import); @font-face{{font-family:x;src:url({trap}/font)}} body{{background:url({trap}/background);font-family:x}}</style>
</head><body onload="{attack}">
<h1>Weaving for strangers</h1>
<p dir="rtl" id="rtl">&#x202e;שלום עולם — مرحبا بالعالم</p><p>{long}</p>
<img src="{trap}/image" onerror="{attack}"><img src="/steal"><iframe src="/steal"></iframe><iframe srcdoc="<script>{attack}</script>"></iframe>
<iframe src="{trap}/iframe"></iframe><iframe srcdoc="&lt;iframe src='{trap}/nested'&gt;"></iframe><embed src="{trap}/embed">
<object data="{trap}/object"><param name="movie" value="{trap}/movie"></object><portal src="{trap}/portal"></portal>
<table background="{trap}/table"><tr><td><img srcset="{trap}/set 2x"><input type=image src="{trap}/input"></table>
<noscript><iframe src="{trap}/noscript"></iframe><link rel=preconnect href="{trap}"></noscript><button form=f formaction="{trap}/form">x</button>
<iframe src="javascript:{attack}"></iframe><object data="/steal"></object><embed src="/steal">
<video src="{trap}/video" autoplay></video><audio src="{trap}/audio" autoplay></audio>
<svg onload="{attack}"><image href="{trap}/svg"/></svg>
<form action="/steal" method="post" id="f"><input name="a" autofocus onfocus="{attack}"><button>send</button></form>
<script>document.getElementById('f').submit(); fetch('/steal')</script>
<a id="jump" href="{trap}/click" target="_top" ping="{trap}/ping">out</a> <a href="javascript:{attack}">script</a>
<a href="http://www.looms.example.org/">looms</a> <a href="javascript:alert(1)">x</a>
</body></html>"#
    )
}
