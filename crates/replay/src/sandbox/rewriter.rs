//! Rewrites a page as a stream. The page is read twice from its beginning: first up to its `base`,
//! then to be sent.

use std::io::{self, Read};

use html5gum::Tokenizer;
use html5gum::emitters::Emitter;
use url::Url;

use super::interrupted_reader::{InterruptedReader, ReadStop};
use super::links::ArchivedPage;
use super::writer::{BaseFinder, Writer};

/// Number of bytes of a page between two checks whether its base is known.
const LOOK_BYTES: usize = 1 << 16;

/// Reads a page and returns it rewritten, piece by piece.
pub struct Rewriter<R: Read> {
    tokenizer: Tokenizer<InterruptedReader<R>, Writer>,
}

/// Returns the first `base` of a page. It also applies to links before it, so it must be known
/// before any link is written.
///
/// # Errors
/// The page's read errors.
pub fn first_base(text: impl Read, page: &ArchivedPage) -> io::Result<Option<Url>> {
    let finder = BaseFinder::new(page.clone());
    let found = next(&mut Tokenizer::new_with_emitter(
        InterruptedReader::new(text, LOOK_BYTES),
        finder,
    ))?;
    let base = found.and_then(|base| String::from_utf8(base).ok());
    Ok(base.and_then(|base| Url::parse(&base).ok()))
}

impl<R: Read> Rewriter<R> {
    /// Rewrites the page `page`, whose content is `text` in UTF-8 and whose first `base` is known.
    pub fn new(text: R, page: ArchivedPage, first_base: Option<Url>, piece_bytes: usize) -> Rewriter<R> {
        let writer = Writer::new(page, first_base, piece_bytes);
        Rewriter {
            tokenizer: Tokenizer::new_with_emitter(InterruptedReader::new(text, piece_bytes), writer),
        }
    }

    /// Returns the next piece, or `None` at the end.
    ///
    /// # Errors
    /// The page's read errors.
    pub fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        next(&mut self.tokenizer)
    }
}

/// Returns the tokenizer's next token. Continues the tokenizer each time it is interrupted.
fn next<R: Read, E: Emitter>(
    tokenizer: &mut Tokenizer<InterruptedReader<R>, E>,
) -> io::Result<Option<E::Token>> {
    loop {
        match tokenizer.next() {
            Some(Err(ReadStop::Interrupted)) => {}
            Some(Err(ReadStop::Failed(error))) => return Err(error),
            Some(Ok(token)) => return Ok(Some(token)),
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use url::form_urlencoded::byte_serialize;

    use super::*;

    /// Returns its bytes in pieces.
    struct InPieces<'a>(&'a [u8], usize);

    impl Read for InPieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.len().min(self.1).min(into.len());
            into[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    fn archived_page(url: &str, mime: &str) -> ArchivedPage {
        ArchivedPage {
            url: Url::parse(url).ok(),
            time: "20140126200624".to_owned(),
            is_xml: mime == "application/xhtml+xml",
            page_address: |url, time| Some(page_at(url, time)),
        }
    }

    fn page_at(url: &str, time: &str) -> String {
        let url: String = byte_serialize(url.as_bytes()).collect();
        format!("/page?url={url}&at={time}")
    }

    fn rewritten(mime: &str, html: &str, piece_bytes: usize) -> String {
        let text = || InPieces(html.as_bytes(), piece_bytes);
        let page = archived_page("http://a.example/b/c?d#e", mime);
        let base = first_base(text(), &page).expect("read from memory");
        let mut rewriter = Rewriter::new(text(), page, base, piece_bytes);
        let mut sent = Vec::new();
        while let Some(piece) = rewriter.next_piece().expect("read from memory") {
            sent.extend(piece);
        }
        String::from_utf8(sent).expect("UTF-8")
    }

    /// The tokenizer alone would read the whole text before it returns anything.
    #[test]
    fn a_long_text_is_given_in_pieces() {
        const PIECE_BYTES: usize = 1000;
        let text = "x".repeat(1 << 20);
        for html in [
            text.clone(),
            format!("<textarea>{text}"),
            format!("<xmp>{text}"),
            format!("<plaintext>{text}"),
        ] {
            let page = archived_page("", "");
            let mut rewriter = Rewriter::new(html.as_bytes(), page, None, PIECE_BYTES);
            let mut total = 0;
            while let Some(piece) = rewriter.next_piece().expect("read from memory") {
                // A piece is due at the first check after so many bytes; each read has at most 16
                // KiB.
                assert!(piece.len() < 40_000, "{}", piece.len());
                total += piece.len();
            }
            assert!(total >= text.len());
        }
    }

    #[track_caller]
    fn check_as(mime: &str, html: &str, expected: &str) {
        for piece_bytes in [1, 7, html.len() + 1] {
            assert_eq!(
                rewritten(mime, html, piece_bytes),
                expected,
                "in pieces of {piece_bytes}"
            );
        }
    }

    #[track_caller]
    fn check(html: &str, expected: &str) {
        check_as("text/html", html, expected);
    }

    #[track_caller]
    fn check_xml(html: &str, expected: &str) {
        check_as(
            "application/xhtml+xml",
            html,
            &format!("<!DOCTYPE html>{expected}"),
        );
    }

    fn page(url: &str) -> String {
        format!(
            "href=\"{}\" target=\"_top\"",
            page_at(url, "20140126200624").replace('&', "&amp;")
        )
    }

    #[test]
    fn links_lead_to_what_the_archive_has() {
        for (reference, target) in [
            ("x", "http://a.example/b/x"),
            ("/x?y=1&amp;z=2#f", "http://a.example/x?y=1&z=2"),
            ("//b.example", "http://b.example/"),
            ("https://b.example/\u{e4} ", "https://b.example/%C3%A4"),
            ("", "http://a.example/b/c?d"),
            ("?q=&copy;", "http://a.example/b/c?q=%C2%A9"),
        ] {
            check(
                &format!("<a href='{reference}'>t</a>"),
                &format!("<a {}>t</a>", page(target)),
            );
        }
        check(
            "<AREA HREF=x>",
            &format!("<area {}>", page("http://a.example/b/x")),
        );
    }

    #[test]
    fn places_in_the_page_stay_and_what_leads_out_of_the_web_goes() {
        check("<a href='#f'>t</a>", "<a href=\"#f\">t</a>");
        check("<a href='/b/c?d#f'>t</a>", "<a href=\"#f\">t</a>");
        check(
            "<a href=mailto:a@b.example>t</a>",
            "<a href=\"mailto:a@b.example\">t</a>",
        );
        for reference in [
            "javascript:alert(1)",
            " java\nscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://[x",
        ] {
            check(
                &format!("<a href='{reference}' class=x>t</a>"),
                "<a class=\"x\">t</a>",
            );
        }
        check(
            "<a ping=http://b.example target=_parent id=x>t</a>",
            "<a id=\"x\">t</a>",
        );
    }

    #[test]
    fn the_first_base_counts_also_in_drawings() {
        check(
            "<base href=http://c.example/d/><base href=http://e.example/><a href=x>t</a>",
            &format!("<a {}>t</a>", page("http://c.example/d/x")),
        );
        check(
            "<a href=x>t</a><template><base href=/no/></template><base target=_top><base href=http://c.example/d/>",
            &format!("<a {}>t</a>", page("http://c.example/d/x")),
        );
        check(
            "<svg><a xlink:href='/x'>t</a></svg>",
            &format!("<svg><a xlink:{}>t</a></svg>", page("http://a.example/x")),
        );
    }

    #[test]
    fn what_would_load_something_loses_its_address() {
        check(
            "<link rel=preconnect href=http://x><LINK/rel=x><meta http-equiv=refresh content='0;url=/x'>",
            "",
        );
        check(
            "<body background=/x><img src=/x srcset='/y 2x' alt=z><video poster=/x src=/y><input type=image src=/x>",
            "<body><img alt=\"z\"><video><input type=\"image\">",
        );
        check(
            "<form action=/x><button formaction=/y>z</button></form>",
            "<form><button>z</button></form>",
        );
        check(
            "<svg><image href=/x /><use xlink:href='#y'/><set attributeName=href to=/z /></svg>",
            "<svg><image/><use xlink:href=\"#y\"/><set/></svg>",
        );
        check(
            "<img src='data:image/gif;base64,x'><img src=' DATA:y'>",
            "<img src=\"data:image/gif;base64,x\"><img src=\" DATA:y\">",
        );
        check(
            "a<script>'<a href=x>'</script><template><a href=x></template>b",
            "ab",
        );
    }

    #[test]
    fn frames_become_links() {
        let framed = |url: &str, more: &str| {
            let page = page(url);
            format!("<a {page}{more}>")
        };
        check(
            "<iframe src=x srcdoc='<link rel=preconnect>' style='display:none'><a href=y></iframe>z",
            &format!(
                "{}Frame: http://a.example/b/x</a> z",
                framed("http://a.example/b/x", " style=\"display:none\"")
            ),
        );
        check(
            "<frameset><frame src=//f.example/x></frameset><noframes><p>old</noframes>",
            &format!(
                "<p>{}Frame: http://f.example/x</a></p><p>old",
                framed("http://f.example/x", "")
            ),
        );
        check(
            "<object data=x><param name=movie value=http://x>flash</object><embed src=javascript:x>",
            &format!(
                "{}Embedded: http://a.example/b/x</a> flash",
                framed("http://a.example/b/x", "")
            ),
        );
        check("<noframes>hidden<p></noframes><iframe srcdoc=x></iframe>a", "a");
    }

    /// In any state of its parser, a browser finds no tag except those written here.
    #[test]
    fn no_tag_begins_in_text_values_comments_or_css() {
        check(
            "<textarea>&lt;/textarea><iframe></textarea>",
            "<textarea>&lt;/textarea&gt;&lt;iframe&gt;</textarea>",
        );
        check(
            "<p title='</textarea><iframe src=x>'>",
            "<p title=\"&lt;/textarea&gt;&lt;iframe src=x&gt;\">",
        );
        check(
            "<select><xmp><iframe src=x></xmp>",
            "<select><pre>&lt;iframe src=x&gt;</pre>",
        );
        check("a<!-- <iframe src=x> -->b<?x <iframe src=x>c", "abc");
        check("<p<iframe src=x>a</p<iframe><p <iframe>", "a<p>");
        check("1 < 2 && 3 > 2", "1 &lt; 2 &amp;&amp; 3 &gt; 2");
        check(
            "<style><!-- a{content:'</b><iframe'} --> @media (width < 9px){}</style>b",
            "<style>  a{content:'\\3c /b>\\3c iframe'} --> @media (width < 9px){}</style>b",
        );
        check(
            "<svg><![CDATA[<iframe src=x>]]></svg><plaintext><iframe src=x>",
            "<svg>&lt;iframe src=x&gt;</svg><pre>&lt;iframe src=x&gt;",
        );
        check(
            "<noscript><iframe src=javascript:x></iframe>a</noscript>",
            "<noscript>a</noscript>",
        );
    }

    #[test]
    fn the_document_type_is_kept_as_far_as_it_counts() {
        let strict =
            "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">";
        check(strict, strict);
        check(" <!doctype HTML><p>", " <!DOCTYPE html><p>");
        check(
            "<!DOCTYPE html SYSTEM 'about:legacy-compat'>",
            "<!DOCTYPE html SYSTEM \"about:legacy-compat\">",
        );
        check("<!DOCTYPE html PUBLIC '<iframe src=x'>", "<!DOCTYPE html>");
        check("<p><!DOCTYPE html><!DOCTYPE>", "<p>");
    }

    #[test]
    fn xhtml_is_read_as_xml() {
        check_xml(
            "<?xml version='1.0'?><!DOCTYPE html><title/><script src='/a.js'/><textarea/><p/>a<br/>b<br></br><iframe/>",
            "<title></title><textarea></textarea><p></p>a<br>b<br>",
        );
        check_xml(
            "<![CDATA[x <b>]]><a href='/x'/>",
            &format!("x &lt;b&gt;<a {}></a>", page("http://a.example/x")),
        );
        check_xml(
            "<style><![CDATA[a>b{}]]></style><script>if (a<b) '<a href=x>'</script>c<svg:g/>",
            "<style> a>b{} </style>c",
        );
    }

    #[test]
    fn a_tag_without_end_takes_bounded_memory_and_is_left_out() {
        let long = format!("<p>a<b title={}", "x".repeat(9 << 20));
        check(&long, "<p>a");
        check(&format!("{long}>c"), "<p>a<b>c");
    }
}
