use proptest::prelude::*;
use url::Url;

use super::*;

fn scope() -> Scope {
    Scope::new(
        "20140126200624",
        Url::parse("http://a.example/b/c").expect("a URL"),
    )
}

fn rewritten(html: &[u8], scope: Scope, markup: Markup, scripts: Scripts, piece_bytes: usize) -> Vec<u8> {
    let mut rewriter = Rewriter::new(scope, markup, scripts).expect("a rewriter");
    let mut all = Vec::new();
    for mut piece in html.chunks(piece_bytes.max(1)) {
        while !piece.is_empty() {
            all.extend(rewriter.write(&mut piece).expect("a piece"));
        }
    }
    all.extend(rewriter.end().expect("the end"));
    all
}

/// In `expected`, `[mp]` is replaced by the address of a page of `http://a.example`, and so on.
#[track_caller]
fn check(html: &str, expected: &str) {
    let mut expected = expected.to_owned();
    for modifier in ["mp_", "im_", "js_", "cs_"] {
        let address = format!("/replay/20140126200624{modifier}/http://a.example");
        expected = expected.replace(&format!("[{}]", &modifier[..2]), &address);
    }
    for piece_bytes in [1, 7, html.len() + 1] {
        let found = rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::Off, piece_bytes);
        assert_eq!(
            String::from_utf8_lossy(&found),
            expected,
            "in pieces of {piece_bytes}"
        );
    }
}

#[test]
fn references_lead_to_captures() {
    check(
        "<a href='x?y=1&amp;z=2#f'>t</a>",
        "<a href=\"[mp]/b/x?y=1&amp;z=2#f\">t</a>",
    );
    check(
        "<img src=/x.png srcset='/y.png 2x' alt=z>",
        "<img src=\"[im]/x.png\" srcset=\"[im]/y.png 2x\" alt=z>",
    );
    check(
        "<script src=x.js integrity=sha256-x></script>",
        "<script src=\"[js]/b/x.js\"></script>",
    );
    check(
        "<link rel=stylesheet href=x.css><link rel=icon href=y>",
        "<link rel=stylesheet href=\"[cs]/b/x.css\"><link rel=icon href=\"[im]/b/y\">",
    );
    check(
        "<iframe src=x></iframe><frame src=/y>",
        "<iframe src=\"[mp]/b/x\"></iframe><frame src=\"[mp]/y\">",
    );
    check(
        "<form action=/x><input type=image src=y><button formaction=z>",
        "<form action=\"[mp]/x\"><input type=image src=\"[im]/b/y\"><button formaction=\"[mp]/b/z\">",
    );
    check(
        "<body background=x><td background='y'>",
        "<body background=\"[im]/b/x\"><td background=\"[im]/b/y\">",
    );
    check(
        "<video src=x poster=y><source src=z></video>",
        "<video src=\"[im]/b/x\" poster=\"[im]/b/y\"><source src=\"[im]/b/z\"></video>",
    );
    check(
        "<svg><image xlink:href=x /><use href='#a'/><a href=y></a></svg>",
        "<svg><image xlink:href=\"[im]/b/x\" /><use href='#a'/><a href=\"[mp]/b/y\"></a></svg>",
    );
    check(
        "<object data=x><embed src=y>",
        "<object data=\"[mp]/b/x\"><embed src=\"[mp]/b/y\">",
    );
    check(
        "<meta http-equiv=Refresh content='0; url=x'>",
        "<meta http-equiv=Refresh content=\"0; url=[mp]/b/x\">",
    );
}

#[test]
fn styles_lead_to_captures() {
    check("<p style='a:url(x)'>", "<p style=\"a:url('[im]/b/x')\">");
    check(
        "<style>a{b:url(x)}</style><style>@import 'y';</style>",
        "<style>a{b:url('[im]/b/x')}</style><style>@import '[cs]/b/y';</style>",
    );
    check("<style></style>", "<style></style>");
    check(
        "<svg><path fill='url(x.svg#a)' mask=url(#m) filter=none marker-end='URL(\"/y\")'/></svg>",
        "<svg><path fill=\"url('[im]/b/x.svg#a')\" mask=url(#m) filter=none marker-end=\"URL('[im]/y')\" /></svg>",
    );
}

#[test]
fn a_base_counts_for_what_follows_it() {
    check(
        "<base href='/d/e'><img src=x>",
        "<base href=\"[mp]/d/\"><img src=\"[im]/d/x\">",
    );
    check(
        "<base href='//b.example/'><a href=''></a>",
        "<base href=\"/replay/20140126200624mp_/http://b.example/\"><a href=''></a>",
    );
    check("<base target=_top>", "<base target=\"weft-replay\">");
    // A `base` in a drawing or a template is not that of the page.
    check(
        "<svg><base href='/d/'/></svg><img src=x>",
        "<svg><base href='/d/'/></svg><img src=\"[im]/b/x\">",
    );
    check(
        "<template><template></template><base href='/d/'></template><base href='/e/'><img src=x>",
        "<template><template></template><base href='/d/'></template><base href=\"[mp]/e/\"><img src=\"[im]/e/x\">",
    );
    check("<template><base href='/d/'>", "<template><base href='/d/'>");
}

#[test]
fn everything_else_stays_byte_for_byte() {
    for html in [
        "<!DOCTYPE html><HTML lang=de ><p  CLASS='x'>&auml;&amp;<br/>< b <!-- <img src=x> -->",
        "<script>document.write('<img src=\"/x\">')</script>",
        "<a href=javascript:x() onclick='y()'>t</a><a href=mailto:x>t</a><a href='#x'>t</a>",
        "<img src='data:image/gif;base64,R0l' width=1>",
        "<p style='color:red'><style>a{}</style><textarea><img src=x></textarea>",
        "<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>",
    ] {
        check(html, html);
    }
    let bytes = b"<p title='\xe4'>\xff\xfe\x80<b>\xf6";
    let scope = scope().in_encoding(encoding_rs::WINDOWS_1252);
    assert_eq!(rewritten(bytes, scope, Markup::Page, Scripts::Off, 3), bytes);
}

#[test]
fn what_an_archive_has_no_use_for_is_left_out() {
    check(
        "<link rel=preconnect href=//b.example><link rel='dns-prefetch' href=x>a",
        "a",
    );
    check("<meta http-equiv=content-security-policy content='x'>a", "a");
    check(
        "<a ping=x href='#y' target=_blank>t</a>",
        "<a href='#y' target=\"weft-replay\">t</a>",
    );
}

#[test]
fn the_shim_is_before_all_scripts() {
    let shim = "<script src=\"/static/replay.js\" data-key=\"\" data-time=\"20140126200624\" data-url=\"http://a.example/b/c\"></script>";
    for (html, expected) in [
        (
            "<html><head><script>x</script>",
            format!("<html><head>{shim}<script>x</script>"),
        ),
        (
            "<!doctype html><title>x</title>",
            format!("<!doctype html>{shim}<title>x</title>"),
        ),
        ("text<p>", format!("text{shim}<p>")),
        ("<frameset><frame>", format!("{shim}<frameset><frame>")),
    ] {
        let found = rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::On, 5);
        assert_eq!(String::from_utf8_lossy(&found), expected);
    }
    let found = rewritten(
        b"<svg><image href=x /></svg>",
        scope(),
        Markup::Xml,
        Scripts::On,
        5,
    );
    assert!(!String::from_utf8_lossy(&found).contains("<script"));
}

/// Beginnings of XHTML that could keep an inserted script from running.
#[test]
fn the_shim_of_xhtml_cannot_be_kept_from_running() {
    let shim = "<script xmlns=\"http://www.w3.org/1999/xhtml\" type=\"text/javascript\" src=\"/static/replay.js\" data-key=\"\" \
        data-time=\"20140126200624\" data-url=\"http://a.example/b/c\"></script>";
    let html = "<html xmlns='http://www.w3.org/1999/xhtml'>";
    for (before, root, behind) in [
        (
            "<!DOCTYPE html [<!ATTLIST script type CDATA 'text/plain'>]>",
            html,
            "<head/>",
        ),
        (
            "<!DOCTYPE html [<!ATTLIST script xmlns CDATA 'urn:x'>]>",
            html,
            "<head/>",
        ),
        (
            "<!DOCTYPE html [<!ATTLIST script nomodule CDATA '' async CDATA '' for CDATA 'x' event CDATA 'y'>]>",
            html,
            "<head/>",
        ),
        (
            "<!DOCTYPE html [<!ENTITY % x '<!ATTLIST script type CDATA \"x\">'>%x;]>",
            html,
            "<head/>",
        ),
        (
            "<!DOCTYPE html [<!ENTITY x '<script>planted()</script>'>]>",
            html,
            "&x;<head/>",
        ),
        ("", html, "<head xmlns='http://www.w3.org/2000/svg'/>"),
        (
            "<?xml-stylesheet type='text/xsl' href='data:text/xsl,x'?>",
            html,
            "<head/>",
        ),
        (
            "<?xml-stylesheet title='>' type='text/xsl' href='data:text/xsl,x'?>",
            html,
            "<head/>",
        ),
        ("", "<x:html xmlns:x='http://www.w3.org/1999/xhtml'>", "<x:head/>"),
        ("<!--> <head> -->", html, "<head/>"),
        ("<?x > <head> ?>", html, "<head/>"),
        ("", html, "<![CDATA[ > <head> ]]>"),
    ] {
        let page = format!("{before}{root}{behind}");
        for piece_bytes in [1, 7, page.len()] {
            let found = rewritten(page.as_bytes(), scope(), Markup::Xhtml, Scripts::On, piece_bytes);
            let found = String::from_utf8(found).expect("text");
            let (head, rest) = found.split_once(root).expect("the root");
            assert!(rest.starts_with(shim), "{page}: {found}");
            assert_eq!(found.matches(crate::SHIM_PATH).count(), 1, "{page}: {found}");
            for left_out in ["ATTLIST", "xsl", "planted", "%x"] {
                assert!(!head.contains(left_out), "{page}: {found}");
            }
        }
    }
}

/// The document of a frame has the shim, with any namespace prefix of the frame.
#[test]
fn elements_with_a_prefix_are_rewritten_in_xml() {
    let found = |markup| {
        let found = rewritten(
            b"<x:html><x:iframe src='javascript:x()'/><x:img src='/y'/></x:html>",
            scope(),
            markup,
            Scripts::Off,
            7,
        );
        String::from_utf8(found).expect("text")
    };
    for markup in [Markup::Xhtml, Markup::Xml] {
        assert_eq!(
            found(markup),
            "<x:html><x:iframe src=\"about:blank\" /><x:img src=\"/replay/20140126200624im_/http://a.example/y\" /></x:html>"
        );
    }
    assert!(found(Markup::Page).contains("javascript:"));
}

#[test]
fn styles_of_xml_stand_before_it() {
    let xml =
        "<?xml version='1.0'?><?xml-stylesheet href='x.css'?><!-- ?xml-stylesheet href='y.css'? --><svg/>";
    let found = |markup| {
        let found = rewritten(xml.as_bytes(), scope(), markup, Scripts::Off, 3);
        String::from_utf8(found).expect("text")
    };
    let style = "href='/replay/20140126200624cs_/http://a.example/b/x.css'";
    assert_eq!(found(Markup::Xml), xml.replace("href='x.css'", style));
    assert_eq!(found(Markup::Xhtml), xml.replace("href='x.css'", style));
    assert_eq!(found(Markup::Page), xml);
}

#[test]
fn documents_in_attributes_are_rewritten() {
    check(
        "<iframe srcdoc='<img src=x>'></iframe>",
        "<iframe srcdoc=\"<img src=&quot;[im]/b/x&quot;>\"></iframe>",
    );
}

/// A document in an attribute begins with the shim at every depth up to the limit, and deeper ones
/// are not shown. So no script runs in a document without the shim.
#[test]
fn documents_in_attributes_have_the_shim() {
    let shims = |html: &str| {
        let found = rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::On, 7);
        let text = String::from_utf8(found).expect("text");
        (text.matches(crate::SHIM_PATH).count(), text.contains("planted"))
    };
    let mut html = "<script>planted()</script>".to_owned();
    for depth in 0..8 {
        let (count, is_shown) = shims(&html);
        assert_eq!(is_shown, depth <= DEPTH_MAX, "{depth}");
        assert_eq!(count, depth.min(DEPTH_MAX) + 1, "{depth}");
        let escaped = html.replace('&', "&amp;").replace('"', "&quot;");
        html = format!("<iframe srcdoc=\"{escaped}\"></iframe>");
    }
}

#[test]
fn frames_of_scripts_are_empty() {
    for script in [
        "javascript:x()",
        " JavaScript:x()",
        "java&#9;script:x()",
        "&#1;java&#10;scr&#13;ipt:x()",
    ] {
        check(
            &format!(
                "<iframe src='{script}'></iframe><embed src='{script}'><object data='{script}'></object>"
            ),
            "<iframe src=\"about:blank\"></iframe><embed src=\"about:blank\"><object data=\"about:blank\"></object>",
        );
    }
    check("<a href='javascript:x()'>t</a>", "<a href='javascript:x()'>t</a>");
}

/// Content for browsers without frames or scripts contains references, too.
#[test]
fn what_is_shown_without_scripts_or_frames_is_rewritten() {
    check(
        "<noscript><img src=x></noscript>",
        "<noscript><img src=\"[im]/b/x\"></noscript>",
    );
}

#[test]
fn references_of_a_page_are_told() {
    let seen = crate::References::default();
    let scope = scope().seen_in(seen.clone());
    rewritten(
        b"<img src=x><style>a{b:url(y#z)}</style>",
        scope,
        Markup::Page,
        Scripts::Off,
        7,
    );
    let told: Vec<String> = seen.take().0.into_iter().map(|found| found.url).collect();
    assert_eq!(told, ["http://a.example/b/x", "http://a.example/b/y"]);
}

#[test]
fn a_tag_without_end_takes_bounded_memory() {
    let mut rewriter = Rewriter::new(scope(), Markup::Page, Scripts::Off).expect("a rewriter");
    let piece = vec![b'x'; 1 << 20];
    let mut outcome = rewriter.write(&mut b"<p title='".as_slice()).map(|_| ());
    for _ in 0..(MEMORY_BYTES_MAX >> 20) + 8 {
        if outcome.is_err() {
            return;
        }
        let mut rest = piece.as_slice();
        while !rest.is_empty() && outcome.is_ok() {
            outcome = rewriter.write(&mut rest).map(|_| ());
        }
    }
    panic!("more than the limit was taken");
}

/// Tags and texts of a megabyte or two, each of which would become gigabytes. A style sheet and a
/// script are sent unchanged. Content that could lead out of the archive, or contain documents, is
/// omitted.
#[test]
fn what_a_tag_or_a_text_comes_to_is_bounded() {
    let base = format!("<base href=\"http://b.example/{}/\">", "z".repeat(8000));
    let host = format!("<base href=\"http://{}.example/\">", "z".repeat(8000));
    let urls = &format!("a:{}", "url(a)".repeat(200_000));
    let pictures = &"a, ".repeat(250_000);
    let script = &"location='/';".repeat(250_000);
    let links = &"<a href=a>".repeat(200_000);
    let handlers: &String = &(0..2000)
        .map(|number| format!(" on{number}=\"{}\"", "location='/';".repeat(50)))
        .collect();
    for (base, before, text, behind, is_sent) in [
        (&base, "<img srcset='", pictures, "'>", false),
        (&base, "<link rel=preload imagesrcset='", pictures, "'>", false),
        (&base, "<p style='", urls, "'>", false),
        (&base, "<p fill='", urls, "'>", false),
        (&base, "<style>", urls, "</style>", true),
        (&host, "<script>", script, "</script>", true),
        (&host, "<p onclick=\"", script, "\">", false),
        (&host, "<p", handlers, ">", false),
        (&base, "<iframe srcdoc='", links, "'></iframe>", false),
        (&base, "<noscript>", links, "</noscript>", false),
    ] {
        let html = [base, before, text, behind].concat();
        let found = rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::On, 1 << 20);
        let others = base.len() * 3 + 1000;
        let most = if is_sent {
            text.len()
        } else {
            crate::REWRITTEN_BYTES_MAX + text.len() / 10
        };
        assert!(found.len() <= most + others, "{before}: {}", found.len());
        let found = String::from_utf8(found).expect("text");
        assert_eq!(found.contains(text), is_sent, "{before}");
        assert!(is_sent || !found.contains(&text[text.len() - 9..]), "{before}");
    }
}

/// The output of many small tags that grow is returned while the page is rewritten.
#[test]
fn what_is_ready_at_once_is_bounded() {
    let base = format!("<base href=\"http://b.example/{}/\">", "z".repeat(60_000));
    let html = base + &"<a href=a>".repeat(500);
    let mut rewriter = Rewriter::new(scope(), Markup::Page, Scripts::Off).expect("a rewriter");
    let mut rest = html.as_bytes();
    let mut all = 0;
    while !rest.is_empty() {
        let ready = rewriter.write(&mut rest).expect("a piece").len();
        assert!(ready < 8 << 20, "{ready}");
        all += ready;
    }
    assert!(all > 500 * 60_000, "{all}");
}

proptest! {
    /// For any document, the size of the pieces does not change the output.
    #[test]
    fn pieces_make_no_difference(html in "[<>/a-c='\" &;!?\\-]{0,60}|(<(img|a|style|base|p) (src|href|style)=['\"]?[a-z/(&;]{0,8}['\"]?>){0,5}", bytes in 1_usize..9) {
        let whole = rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::On, html.len() + 1);
        prop_assert_eq!(rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::On, bytes), whole);
    }
}

#[test]
fn scripts_lead_to_captures_if_they_run() {
    let html = "<body onload=\"location='/x'\"><script>document.location = '/y';</script><a href=\"JavaScript:location='/z'\">z</a>";
    let found = |scripts| {
        let found = rewritten(html.as_bytes(), scope(), Markup::Xml, scripts, 7);
        String::from_utf8(found).expect("text")
    };
    let page = "/replay/20140126200624mp_/http://a.example";
    let expected = ["/x", "/y", "/z"].iter().fold(html.to_owned(), |html, path| {
        html.replace(&format!("'{path}'"), &format!("'{page}{path}'"))
    });
    assert_eq!(found(Scripts::On), expected);
    assert_eq!(found(Scripts::Off), html);
}

#[test]
fn the_first_base_counts_and_no_other() {
    check(
        "<base target=x><base href='/d/'><base href='http://other.example/'><a href=e>",
        "<base target=x><base href=\"[mp]/d/\"><base><a href=\"[mp]/d/e\">",
    );
}

#[test]
fn what_a_meta_is_for_may_be_written_in_any_way() {
    check(
        "<meta http-equiv='re&#102;resh' content='1;url=/x'>",
        "<meta http-equiv='re&#102;resh' content=\"1;url=[mp]/x\">",
    );
}

/// Paragraphs, rows and items need no end tags, and old pages have very many of them.
#[test]
fn a_list_without_end_tags_is_rewritten_to_its_end() {
    let html = "<p>".repeat(200_000) + "<a href=/x>";
    let found = rewritten(html.as_bytes(), scope(), Markup::Page, Scripts::Off, 65_536);
    let end = &found[found.len() - 80..];
    assert!(String::from_utf8_lossy(end).contains("mp_/http://a.example/x"));
}

#[test]
fn xhtml_goes_on_behind_an_empty_script() {
    let found = |markup| {
        let found = rewritten(
            b"<script src='x.js'/><img src='/y.png'/>",
            scope(),
            markup,
            Scripts::Off,
            7,
        );
        String::from_utf8(found).expect("text")
    };
    let picture = "<img src=\"/replay/20140126200624im_/http://a.example/y.png\" />";
    assert!(
        found(Markup::Xhtml).ends_with(&format!("</script>{picture}")),
        "{}",
        found(Markup::Xhtml)
    );
    // In HTML it is the text of the script.
    assert!(!found(Markup::Page).contains(picture));
}

#[test]
fn parts_are_told_from_links_and_alternatives() {
    let html = "<base href=/d/><a href=l1></a><form action=l2></form><meta http-equiv=refresh content='0;url=l3'><link rel=next href=l4>\
        <img src=p1 srcset='a1 2x' longdesc=l5><script src=p2></script><link rel=stylesheet href=p3><iframe src=p4></iframe><p style='b:url(p5)'>\
        <style>x{y:url(p6)}</style><video poster=p7><source src=a2></video><noscript><img src=a3><a href=l6>x</a></noscript>\
        <iframe srcdoc='<img src=p8>'></iframe><object data=p9></object><link rel=icon href=p10><link rel=preconnect href=none>";
    let seen = crate::References::default();
    rewritten(
        html.as_bytes(),
        scope().seen_in(seen.clone()),
        Markup::Page,
        Scripts::On,
        4096,
    );
    let (seen, _) = seen.take();
    let mut counts = [0, 0, 0];
    for reference in &seen {
        let name = reference
            .url
            .strip_prefix("http://a.example/d/")
            .expect("below the base");
        let (role, count) = match &name[..1] {
            "p" => (Role::Part, &mut counts[0]),
            "a" => (Role::Alternative, &mut counts[1]),
            _ => (Role::Link, &mut counts[2]),
        };
        assert_eq!(reference.role, role, "{name}");
        *count += 1;
    }
    assert_eq!(counts, [10, 3, 6], "{seen:?}");
}
