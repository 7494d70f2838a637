//! Rewrites the URLs of CSS: `url()`, `@import`, `image-set()`. Everything else is unchanged.

use std::ops::Range;

use cssparser::{ParseError, Parser, ParserInput, Token};

use crate::address::Modifier;
use crate::bounded::{self, Bounded, TooLong};
use crate::references::Role;
use crate::scope::Scope;

/// Maximum size of a style sheet that is rewritten, in bytes. A longer one is sent unchanged.
pub const CSS_BYTES_MAX: usize = 8 << 20;

/// Maximum depth of nested blocks that are parsed. Real style sheets are shallower; hostile ones
/// would exhaust the stack.
const DEPTH_MAX: usize = 64;

/// Rewrites a style sheet. It is returned unchanged if it is too long before or after rewriting
/// ([`REWRITTEN_BYTES_MAX`](crate::REWRITTEN_BYTES_MAX)). That is safe, because a browser checks
/// the policy of the page before it loads anything for a style sheet.
///
/// ```
/// let page = url::Url::parse("http://example.com/a/").unwrap();
/// let scope = replay::Scope::new("20140126200624", page);
/// let css = replay::rewrite_css("p { background: url(b.png) }", &scope);
/// assert!(css.contains("/replay/20140126200624im_/http://example.com/a/b.png"), "{css}");
/// ```
pub fn rewrite_css(css: &str, scope: &Scope) -> String {
    rewrite(css, scope).unwrap_or_else(|TooLong| css.to_owned())
}

/// Rewrites a style sheet, or the value of an attribute `style`.
///
/// # Errors
/// [`TooLong`] if it is too long before or after rewriting.
pub(crate) fn rewrite(css: &str, scope: &Scope) -> Result<String, TooLong> {
    if css.len() > CSS_BYTES_MAX {
        return Err(TooLong);
    }
    let mut input = ParserInput::new(css);
    let mut parser = Parser::new(&mut input);
    let mut found = Replacements {
        scope,
        edits: Vec::new(),
        bytes: css.len(),
    };
    found.walk(&mut parser, Block::Plain, 0);
    bounded::check(found.bytes)?;
    let mut rewritten = Bounded::default();
    let mut at = 0;
    for (range, text) in found.edits {
        rewritten.push(&css[at..range.start])?;
        rewritten.push(&text)?;
        at = range.end;
    }
    rewritten.push(&css[at..])?;
    Ok(rewritten.into_text())
}

/// Meaning of URLs and strings in a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Plain,
    /// `@font-face`: formats of a font. A browser loads one of them, and only if the page has text
    /// in that font.
    Font,
    /// `url()` and similar: strings are URLs.
    Urls,
    /// `image-set()`: strings are URLs, and a browser loads one of them.
    Set,
}

impl Block {
    fn strings_are_urls(self) -> bool {
        matches!(self, Block::Urls | Block::Set)
    }

    fn role(self) -> Role {
        match self {
            Block::Plain | Block::Urls => Role::Part,
            Block::Font | Block::Set => Role::Alternative,
        }
    }
}

struct Replacements<'s> {
    scope: &'s Scope,
    /// Replacements, in order.
    edits: Vec<(Range<usize>, String)>,
    /// Bytes of the style sheet and of all replacements. Replacements stop if there are too many.
    bytes: usize,
}

impl Replacements<'_> {
    /// Walks over one block.
    fn walk(&mut self, parser: &mut Parser<'_, '_>, block: Block, depth: usize) {
        // The next string belongs to an `@import`.
        let mut imports = false;
        // The URL of an `@namespace` is a name and not a reference.
        let mut names = false;
        // The next block belongs to an `@font-face`.
        let mut fonts = false;
        loop {
            let begin = parser.position().byte_index();
            let Ok(token) = parser.next_including_whitespace_and_comments() else {
                return;
            };
            let token = token.clone();
            let range = begin..parser.position().byte_index();
            match &token {
                Token::UnquotedUrl(url) if !names => {
                    let modifier = if imports { Modifier::Style } else { Modifier::Image };
                    self.edit(range, url, (modifier, block.role()), "url(", ")");
                    imports = false;
                }
                Token::QuotedString(url) if imports => {
                    self.edit(range, url, (Modifier::Style, Role::Part), "", "");
                    imports = false;
                }
                Token::QuotedString(url) if block.strings_are_urls() && !names => {
                    self.edit(range, url, (Modifier::Image, block.role()), "", "");
                }
                Token::AtKeyword(name) => {
                    imports = name.eq_ignore_ascii_case("import");
                    names = name.eq_ignore_ascii_case("namespace");
                    fonts = name.eq_ignore_ascii_case("font-face");
                }
                Token::Semicolon => {
                    imports = false;
                    names = false;
                }
                Token::Function(name) => {
                    let inner = match function(name) {
                        _ if names => Block::Plain,
                        Block::Urls if block.role() == Role::Alternative => Block::Set,
                        inner => inner,
                    };
                    self.enter(parser, inner, depth);
                    imports = false;
                }
                Token::CurlyBracketBlock => {
                    self.enter(parser, if fonts { Block::Font } else { Block::Plain }, depth);
                    fonts = false;
                }
                Token::ParenthesisBlock | Token::SquareBracketBlock => {
                    self.enter(parser, Block::Plain, depth)
                }
                _ => {}
            }
        }
    }

    fn enter(&mut self, parser: &mut Parser<'_, '_>, block: Block, depth: usize) {
        if depth >= DEPTH_MAX {
            return;
        }
        let walked: Result<(), ParseError<'_, ()>> = parser.parse_nested_block(|inner| {
            self.walk(inner, block, depth + 1);
            Ok(())
        });
        // The walk reads the block to its end and reports no error.
        let _ = walked;
    }

    fn edit(&mut self, range: Range<usize>, url: &str, used: (Modifier, Role), before: &str, after: &str) {
        if bounded::check(self.bytes).is_ok()
            && let Some(address) = self.scope.refer(url, used.0, used.1)
        {
            // In an attribute a quotation mark would end the value, so it is escaped.
            let address = address
                .replace('\'', "%27")
                .replace('"', "%22")
                .replace('\\', "%5C");
            let text = format!("{before}'{address}'{after}");
            self.bytes += text.len();
            self.edits.push((range, text));
        }
    }
}

/// Returns the meaning of strings in a function (CSS Values 4, CSS Images 4).
fn function(name: &str) -> Block {
    let is = |known: &[&str]| known.iter().any(|known| name.eq_ignore_ascii_case(known));
    match () {
        () if is(&["url", "src", "image"]) => Block::Urls,
        () if is(&["image-set", "-webkit-image-set"]) => Block::Set,
        () => Block::Plain,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;
    use crate::references::References;

    fn scope() -> Scope {
        Scope::new("2014", Url::parse("http://a.example/s/x.css").expect("a URL"))
    }

    #[track_caller]
    fn check(css: &str, expected: &str) {
        let expected = expected.replace("[im]", "/replay/2014im_/http://a.example");
        assert_eq!(rewrite_css(css, &scope()), expected);
    }

    #[test]
    fn urls_lead_to_captures() {
        check("a{background:url(x.png)}", "a{background:url('[im]/s/x.png')}");
        check(
            "a{background:url( \"/x.png\" ) no-repeat}",
            "a{background:url( '[im]/x.png' ) no-repeat}",
        );
        check(
            "b { src: URL('x') , url(y) }",
            "b { src: URL('[im]/s/x') , url('[im]/s/y') }",
        );
        check(
            "a{b:image-set('x' 1x,url(y) 2x)}",
            "a{b:image-set('[im]/s/x' 1x,url('[im]/s/y') 2x)}",
        );
        check("a{b:url(x\\)y)}", "a{b:url('[im]/s/x)y')}");
        check("@media x{a{b:url(y)}}", "@media x{a{b:url('[im]/s/y')}}");
        check("a{b:url(x.png", "a{b:url('[im]/s/x.png')");
    }

    #[test]
    fn imports_are_styles() {
        let css = rewrite_css(
            "/*c*/@import  \"x.css\" screen;@import url(y.css);@import url('z.css');",
            &scope(),
        );
        assert_eq!(
            css,
            "/*c*/@import  '/replay/2014cs_/http://a.example/s/x.css' screen;@import url('/replay/2014cs_/http://a.example/s/y.css');\
             @import url('/replay/2014im_/http://a.example/s/z.css');"
        );
    }

    #[test]
    fn everything_else_stays() {
        for css in [
            "a{content:\"url(x)\";b:'x'}",
            "/* url(x) */ a::before { content: 'http://b.example/' }",
            "@namespace svg url(http://www.w3.org/2000/svg);@namespace 'x';",
            "a{b:url(data:image/gif;base64,R0l)}",
            "a{b:url(#f)}",
            "a { b : c ; ; } }} ) <!-- -->",
            "\u{e4} { \\66 : \u{1f600} }",
            "",
        ] {
            check(css, css);
        }
    }

    #[test]
    fn deep_blocks_do_not_exhaust_the_stack() {
        let css = "(".repeat(200_000);
        check(&css, &css);
    }

    #[test]
    fn what_a_browser_chooses_from_is_no_part_by_itself() {
        let seen = References::default();
        let css = "@font-face{src:url(x.woff),url('y.eot')} a{b:url(p.png);c:image-set('s1' 1x,url(s2) 2x,url('s3'))} @import 'i.css';";
        rewrite_css(css, &scope().seen_in(seen.clone()));
        let roles: Vec<(String, Role)> = seen
            .take()
            .0
            .into_iter()
            .map(|found| (found.url.replace("http://a.example/s/", ""), found.role))
            .collect();
        let expected = ["x.woff", "y.eot", "p.png", "s1", "s2", "s3", "i.css"].map(|url| {
            let role = if matches!(url, "p.png" | "i.css") {
                Role::Part
            } else {
                Role::Alternative
            };
            (url.to_owned(), role)
        });
        assert_eq!(roles, expected);
    }

    proptest! {
        /// For any bytes, text other than URLs is unchanged, and so is a style sheet without URLs.
        #[test]
        fn any_text_is_taken(css in "[a-z(){};:'\"\\\\[im]/* \u{e4}]{0,80}") {
            let rewritten = rewrite_css(&css, &scope());
            if !css.contains("url(") && !css.contains("@import") && !css.contains('(') {
                prop_assert_eq!(rewritten, css);
            }
        }
    }
}
