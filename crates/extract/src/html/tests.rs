use super::*;
use crate::links::Occurrence;
use proptest::prelude::*;

fn read(html: &str, wants_text: bool) -> Document {
    super::read(html, Markup::Html, wants_text)
}

fn links(html: &str) -> Vec<(String, String, bool)> {
    links_of(&read(html, true))
}

fn links_of(document: &Document) -> Vec<(String, String, bool)> {
    let owned = |o: Occurrence<&str>| (o.reference.to_owned(), o.anchor.to_owned(), o.nofollow);
    document.links().map(owned).collect()
}

fn check_links(html: &str, expected: &[(&str, &str)]) {
    let found = links(html);
    let found: Vec<(&str, &str)> = found.iter().map(|(r, a, _)| (r.as_str(), a.as_str())).collect();
    assert_eq!(found, expected, "{html}");
}

fn check_text(html: &str, expected: &str) {
    assert_eq!(read(html, true).text.finish().0, expected, "{html}");
}

fn check_title(html: &str, expected: &str) {
    assert_eq!(read(html, true).title.finish().0, expected, "{html}");
}

#[test]
fn anchors() {
    check_links("<a href=x>one <b>two</b>\n three</a>", &[("x", "one two three")]);
    check_links("<A HREF='x&amp;y'>&lt;&eacute;&nbsp;z</A>", &[("x&y", "<é z")]);
    check_links("<a name=x>no</a><a href>empty</a>", &[("", "empty")]);
    check_links("<a href=x><img alt=' a  picture '></a>", &[("x", "a picture")]);
    check_links("<a href=x>text<img alt=picture></a>", &[("x", "text")]);
    check_links("<a href=x><img alt=p><img alt=q><img></a>", &[("x", "p q")]);
    check_links(
        "<a href=x>one<a href=y>two</a>three",
        &[("x", "one"), ("y", "two")],
    );
    check_links("<a href=x>one<div>two</div><p>three", &[("x", "one two three")]);
    check_links("<a href=x href=y>dup</a>", &[("x", "dup")]);
    check_links("<map><area href=x alt='the  area'></map>", &[("x", "the  area")]);
    check_links("<a href=x>unclosed", &[("x", "unclosed")]);
    check_links(
        "<a href=x>a<script>b</script><style>c</style>d</a>",
        &[("x", "ad")],
    );
}

/// Without scripts, the content of a `noscript` counts and that of a `template` does not.
#[test]
fn noscript_has_content_and_template_has_none() {
    check_links("<noscript><a href=x>y</a></noscript>", &[("x", "y")]);
    check_links("<a href=x>a<noscript> b</noscript></a>", &[("x", "a b")]);
    check_links(
        "<noscript><meta http-equiv=refresh content='0;url=plain.html'></noscript>",
        &[("plain.html", "")],
    );
    // The image that a script would load, and the same one for readers without scripts.
    check_links(
        "<a href=x><img src=data: alt=Kiwix><noscript><img src=k.png alt=' Kiwix'></noscript></a>",
        &[("x", "Kiwix")],
    );
    check_links(
        "<a href=x><noscript><img alt=k></noscript><img alt=k></a>",
        &[("x", "k")],
    );
    check_links(
        "<a href=x><img alt=k><noscript><img alt=l></noscript></a>",
        &[("x", "k l")],
    );
    check_links("<a href=x><img alt=k><img alt=k></a>", &[("x", "k k")]);
    check_links(
        "<template><a href=x>no</a><area href=y><base href=/z/><title>no</title></template><a href=w>yes</a>",
        &[("w", "yes")],
    );
    check_links(
        "<a href=x>a<template>b<template>c</template></a>d</template>e</a>",
        &[("x", "ae")],
    );
    check_links("<svg><template><a href=x>y</a></template></svg>", &[("x", "y")]);
    check_title("<template><title>no</title></template><title>yes</title>", "yes");
}

/// An unclosed `a` contains the same text as in the tree that browsers build.
#[test]
fn an_open_anchor_ends_where_html_ends_it() {
    check_links(
        "<table><tr><td><a href=x>cell words</td><td>other cell</td></tr></table><p>after",
        &[("x", "cell words")],
    );
    check_links(
        "<table><td><a href=x>one<td>two<tr><td>three</table>",
        &[("x", "one")],
    );
    check_links(
        "<div><a href=x>in</div> after <a href=y>next</a>",
        &[("x", "in"), ("y", "next")],
    );
    check_links("<p><a href=x>one<p>two", &[("x", "one")]);
    check_links("<ul><li><a href=x>one<li>two</ul>", &[("x", "one")]);
    check_links("<dl><dt><a href=x>one<dd>two</dl>", &[("x", "one")]);
    check_links("<span><a href=x>one</span> two", &[("x", "one")]);
    check_links("<b><a href=x>one</b> two", &[("x", "one")]);
    check_links("<h1><a href=x>one</h1>two", &[("x", "one")]);
    check_links("<a href=x><div>one</a> two</div>", &[("x", "one")]);
    check_links(
        "<a href=x>one<p>two<a href=y>three",
        &[("x", "one"), ("y", "three")],
    );
    check_links("<a href=x><p>one<a href=y>two", &[("x", "one"), ("y", "two")]);
    check_links(
        "<a href=x><div>one<div>two<a href=y>three",
        &[("x", "one"), ("y", "three")],
    );
    check_links("<form><a href=x>one</form> two</a> three", &[("x", "one two")]);
    // Without words so far, it continues after the block that closed it.
    check_links("<div><a href=x></div><p>two</p>", &[("x", "two")]);
    check_links(
        "<table><tr><a href=x><td>cell</td></tr></table>after",
        &[("x", "after")],
    );
    // With an end tag at the end, it keeps its words after a block that began in its paragraph.
    check_links(
        "<p><a href=x>one<ul><li>two</ul> three</a> four",
        &[("x", "one two three")],
    );
    check_links("<a href=x>one<p>two</a>three", &[("x", "one two")]);
    check_links("<div><a href=x>one</div></a> two", &[("x", "one")]);
    check_links("<div><a href=x><img alt=one></div>two</a>", &[("x", "one")]);
    check_links("<div><a href=x><img alt=one></div>two", &[("x", "one")]);
    check_links("<ul><li><a href=x>one</li><li>two</a></ul>", &[("x", "one")]);
    check_links("<ul><li><a href=x>one<li>two</a></ul>", &[("x", "one")]);
    check_links("<span><a href=x>one</span>two</a>", &[("x", "one")]);
    // After an earlier end tag, it does not continue.
    check_links("<div><a href=x></a></div>two", &[("x", "")]);
}

#[test]
fn an_anchor_around_a_table_keeps_its_cells() {
    check_links(
        "<a href=x>one<table><td>two</table>three</a>four",
        &[("x", "one two three")],
    );
    check_links(
        "<a href=x>one<table><td><a href=y>two</a></table>three</a>",
        &[("x", "one two three"), ("y", "two")],
    );
    check_links(
        "<a href=x><object>one</a></object>two</a>three",
        &[("x", "one two")],
    );
}

#[test]
fn anchors_of_drawings() {
    check_links(
        "<svg><a href=x><text>one</text></a><a href=y>two</svg>three<a href=z>four</a>",
        &[("x", "one"), ("y", "two"), ("z", "four")],
    );
    check_links("<a href=x>one<svg><g>two</a>three", &[("x", "onetwo")]);
    check_links("<table><td><a href=x><svg>one</td><td>two", &[("x", "one")]);
    check_links("<svg><a href=x>one</h2>two</b>", &[("x", "one two")]);
}

#[test]
fn what_is_no_link() {
    check_links(
        "<!-- <a href=x>y</a> --><script>'<a href=x>'</script><style><a href=x></style>",
        &[],
    );
    check_links(
        "<textarea><a href=x></textarea><title><a href=x></title><iframe><a href=x></iframe>",
        &[],
    );
    check_links("<link href=x><img src=x><form action=x>", &[]);
    check_links("<script><!-- <script> </script> <a href=x> --></script>", &[]);
}

#[test]
fn relations() {
    let nofollow = |html: &str| links(html)[0].2;
    assert!(nofollow("<a rel='external NoFollow' href=x>"));
    assert!(nofollow("<a href=x rel=ugc>"));
    assert!(nofollow("<area href=x rel=sponsored>"));
    assert!(!nofollow("<a href=x rel='follow'>"));
}

#[test]
fn refreshes_are_links() {
    check_links(
        "<meta http-equiv=Refresh content='5; URL=next.html'>",
        &[("next.html", "")],
    );
    check_links(
        "<meta http-equiv=refresh content=5><meta name=refresh content='0;url=x'>",
        &[],
    );
}

#[test]
fn titles() {
    check_title("<title>\n A &amp; B\t</title><title>second</title>", "A & B");
    check_title("<svg><title>drawing</title></svg><title>page</title>", "page");
    check_title("<title></title><title>second</title>", "");
    check_title("<title>a <b>b</title>", "a <b>b");
    check_title(
        "<svg><style>x</style><title>d</title><p>breaks out<title>page</title>",
        "page",
    );
    check_title("no title", "");
    check_title(
        &format!("<title>{}", "x ".repeat(5000)),
        "x ".repeat(512).trim_end(),
    );
}

#[test]
fn visible_text() {
    check_text(
        "<title>t</title><body>a<script>b</script><style>c</style> d",
        "a d",
    );
    check_text(
        "<p>one<p>two<br>three<div>four</div>five",
        "one\ntwo\nthree\nfour\nfive",
    );
    check_text("foo<b>bar</b>foo <i> x </i> y", "foobarfoo x y");
    check_text("<table><tr><td>a<td>b<tr><td>c", "a b\nc");
    check_text(
        "before<img src=x>after no<!-- comment -->space",
        "before after nospace",
    );
    check_text(
        "<noscript>yes</noscript><template>no<template>no</template>no</template> too",
        "yes too",
    );
    check_text(
        "<svg><title>no</title><text>yes</text><desc>no</desc></svg> <math><ms><![CDATA[x<y]]></ms></math>",
        "yes x<y",
    );
    check_text(
        "<textarea>no</textarea><iframe>no</iframe><noembed>no</noembed><xmp><b></xmp>",
        "<b>",
    );
    check_text("<svg><style/>a</svg>b", "ab");
    check_text("a<plaintext>b</plaintext>", "a\nb</plaintext>");
    check_text("<noscript>one<body>two", "one\ntwo");
}

/// Title, text and links of a document declared as XHTML.
#[track_caller]
fn check_xml(xml: &str, title: &str, text: &str, expected: &[(&str, &str)]) {
    let document = super::read(xml, Markup::Xml, true);
    let found = links_of(&document);
    let found: Vec<(&str, &str)> = found.iter().map(|(r, a, _)| (r.as_str(), a.as_str())).collect();
    assert_eq!(found, expected, "{xml}");
    assert_eq!(document.title.finish().0, title, "{xml}");
    assert_eq!(document.text.finish().0, text, "{xml}");
}

/// As HTML, most of these would swallow the rest, including the link.
#[test]
fn in_xhtml_every_element_may_close_itself() {
    for element in [
        "script src='/a.js'",
        "style",
        "title",
        "textarea",
        "iframe src='/i'",
        "noembed",
        "noframes",
        "xmp",
        "plaintext",
        "template",
    ] {
        check_xml(
            &format!("<?xml version='1.0'?><html><body><{element}/>w <a href='x'>y</a></body></html>"),
            "",
            "w y",
            &[("x", "y")],
        );
    }
    check_xml(
        "<p><a href='x'/>one <a href='y'>two</a><b/><p/>three<svg/><svg><g/><a href='z'>four</a></svg></p>",
        "",
        "one two\nthreefour",
        &[("x", ""), ("y", "two"), ("z", "four")],
    );
}

#[test]
fn xhtml_has_cdata_and_no_raw_text() {
    check_xml(
        "<title>t</title><p><![CDATA[c <a href=n> &amp;]]>d <a href='x'><![CDATA[<y>]]></a></p>",
        "t",
        "c <a href=n> &amp;d <y>",
        &[("x", "<y>")],
    );
    check_xml(
        "<xmp>a <a href='x'>y</a></xmp><iframe><p>no</p><iframe/></iframe><textarea>no<b/>no</textarea>c",
        "",
        "a y\nc",
        &[("x", "y")],
    );
}

/// A document that is declared as XHTML but malformed loses nothing that it has as HTML.
#[test]
fn what_is_not_well_formed_is_read_leniently() {
    check_xml(
        "<script>if (a<b && c) d('<a href=n>');</script><style>a>b{}</style><p>one<br>two<a href=x>three<p>four &nbsp;&copy;",
        "",
        "one\ntwothree\nfour ©",
        &[("x", "three")],
    );
    check_xml(
        "<script>//<![CDATA[\na<b\n//]]></script><a href=x>y</a>",
        "",
        "y",
        &[("x", "y")],
    );
}

#[test]
fn declarations() {
    let document = read(
        "<html lang=pt-BR xml:lang=en><head><base href=/b/><base href=/c/>\
         <meta name=ROBOTS content='NoIndex'><meta http-equiv=Content-Language content=fr>\
         <link rel='x Canonical' href='/canon'><link rel=canonical href=/other>",
        true,
    );
    assert_eq!(document.language.as_deref(), Some("pt-BR"));
    assert_eq!(document.content_language.as_deref(), Some("fr"));
    assert_eq!(document.base.as_deref(), Some("/b/"));
    assert_eq!(document.canonical.as_deref(), Some("/canon"));
    assert_eq!(document.robots.as_deref(), Some("NoIndex"));
    assert_eq!(
        read("<html xml:lang=es-MX>", true).language.as_deref(),
        Some("es-MX")
    );
}

#[test]
fn text_is_not_kept_where_it_is_not_wanted() {
    let document = read("<a href=x>anchor</a>text", false);
    assert_eq!(document.text.len(), 0);
    assert_eq!(
        document.links().next().map(|o| o.anchor.to_owned()).as_deref(),
        Some("anchor")
    );
}

#[test]
fn hostile_documents_take_linear_time_and_no_stack() {
    for piece in [
        "<div>",
        "<a href=x>",
        "<svg>",
        "<template>",
        "</p>",
        "<!--",
        "<a ",
        "&",
        "<![CDATA[",
        "<title>",
        "<x y='",
        "<table><td><a href=x>y",
        "<p><a href=x><b><i><u>",
        "<form></form><li><p>",
        "<b><p>",
        "<noscript><a href=x>",
        "<object><a href=x>y",
    ] {
        read(&piece.repeat(200_000), true);
        super::read(&piece.repeat(200_000), Markup::Xml, true);
    }
    let long = format!("<a href='{}'>x</a>", "y".repeat(1 << 20));
    assert!(links(&long)[0].0.len() > crate::links::REFERENCE_BYTES_MAX);
    read(&format!("<{}>", "n".repeat(1 << 20)), true);
    read(&format!("<a {}=1>", "n".repeat(1 << 20)), true);
}

/// Pieces of markup, so that random documents are more than noise.
fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "<a href=",
        "<a href='/x'>",
        "</a>",
        "<title>",
        "</title>",
        "<svg>",
        "</svg>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<style",
        ">",
        "/>",
        "'",
        "\"",
        "=",
        "<",
        "</",
        "&amp",
        ";",
        "&#x41;",
        "text",
        " ",
        "é",
        "\0",
        "\r",
        "<base href=b>",
        "<meta http-equiv=refresh content='0;url=r'>",
        "<template>",
        "</template>",
        "<noscript>",
        "</noscript>",
        "<a href='/y'>",
        "<b>",
        "</b>",
        "<div>",
        "</div>",
        "<li>",
        "<form>",
        "</form>",
        "<table>",
        "<tr>",
        "<td>",
        "</td>",
        "</table>",
        "<object>",
        "</object>",
        "<h1>",
        "</h1>",
        "<img alt=q>",
        "<p>",
        "<plaintext>",
        "<textarea>",
        "</textarea>",
        "<math>",
        "中",
    ])
}

proptest! {
    #[test]
    fn any_document_is_read(pieces in proptest::collection::vec(piece(), 0..60), noise in any::<String>()) {
        let html = format!("{}{noise}{}", pieces[..pieces.len() / 2].concat(), pieces[pieces.len() / 2..].concat());
        let document = read(&html, true);
        let found: Vec<_> = document.links().collect();
        prop_assert!(found.len() <= html.len());
        super::read(&html, Markup::Xml, true);
        // The same tokens without text have the same links.
        prop_assert_eq!(links(&html).len(), read(&html, false).links().count());
    }
}
