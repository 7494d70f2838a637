//! Snippets come as HTML with `<mark>` around matches. They are not taken on trust: whatever is not that
//! mark or an escaped character is escaped here, and every mark is closed.

use maud::{Markup, PreEscaped};

const OPEN: &str = "<mark>";
const CLOSE: &str = "</mark>";
/// Escapes that are left as they are.
const ESCAPES: [&str; 7] = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#x27;", "&#x2F;"];

/// `html` with nothing but text and closed marks.
pub(super) fn snippet(html: &str) -> Markup {
    let html = crate::present::clean(html);
    let mut safe = String::with_capacity(html.len() + 16);
    let mut rest = html.as_ref();
    let mut open = false;
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with(OPEN) {
            if !open {
                safe.push_str(OPEN);
            }
            open = true;
            OPEN.len()
        } else if rest.starts_with(CLOSE) {
            if open {
                safe.push_str(CLOSE);
            }
            open = false;
            CLOSE.len()
        } else if let Some(escape) = ESCAPES.iter().find(|escape| rest.starts_with(**escape)) {
            safe.push_str(escape);
            escape.len()
        } else {
            push_escaped(&mut safe, c);
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    if open {
        safe.push_str(CLOSE);
    }
    PreEscaped(safe)
}

fn push_escaped(safe: &mut String, c: char) {
    match c {
        '<' => safe.push_str("&lt;"),
        '>' => safe.push_str("&gt;"),
        '&' => safe.push_str("&amp;"),
        '"' => safe.push_str("&quot;"),
        '\'' => safe.push_str("&#39;"),
        c => safe.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(snippet(html).into_string(), expected);
    }

    #[test]
    fn marks_and_escapes_stay_all_else_is_text() {
        check("a <mark>b</mark> &amp; c", "a <mark>b</mark> &amp; c");
        check("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;");
        check("<mark onclick=x>", "&lt;mark onclick=x&gt;");
        check("<mark><mark>a", "<mark>a</mark>");
        check("</mark>a</mark>", "a");
        check("&nbsp;&#60;", "&amp;nbsp;&amp;#60;");
        check("\"'\0", "&quot;&#39;\u{fffd}");
    }
}
