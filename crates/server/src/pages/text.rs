//! The text of an archived page for readers: what is written first, menus after it.
//!
//! Pages begin with lines of menus: short, without the end of a sentence. What is read first is from the
//! first long line on, with the heading before it; the lines before are shown behind a click, none is lost.

use maud::{Markup, html};

use crate::present;

/// Characters of the text that stand open.
const OPEN_CHARS: usize = 800;

/// Characters of a preview; one that is as long goes on in the archived page.
const PREVIEW_CHARS: usize = 2000;

/// A line of as many characters is written to be read.
const LONG_LINE_CHARS: usize = 60;

/// Lines of the beginning that may be a menu; a text without a long line so far is a list, shown as it is.
const MENU_LINES_MAX: usize = 60;

/// The text as read first, then the menu before it.
pub(super) fn text(preview: &str, truncated: bool) -> Markup {
    let is_part = truncated || preview.chars().count() >= PREVIEW_CHARS;
    let whole = if is_part {
        without_last_part(preview)
    } else {
        preview
    };
    let (menu, body) = split_menu(whole);
    let (head, cut) = opening(&body);
    let rest = body[head.len()..].trim_start();
    html! {
        div.reading dir="auto" {
            (paragraphs(head))
            @if cut {
                details {
                    summary { "More of the text" }
                    (paragraphs(rest))
                    @if is_part {
                        p.soft { "The preview ends here. The archived page below has all of it." }
                    }
                }
            }
            @if !menu.is_empty() {
                details {
                    summary { "Short lines before the text" }
                    (paragraphs(&menu))
                }
            }
        }
    }
}

/// What stands open, and whether more follows: up to the end of a line where one is near.
fn opening(body: &str) -> (&str, bool) {
    let (head, cut) = present::cut(body, OPEN_CHARS);
    let line = head.rfind('\n').filter(|&at| cut && at > head.len() / 2);
    (&head[..line.unwrap_or(head.len())], cut)
}

/// Without the word that the end of a preview cuts.
fn without_last_part(preview: &str) -> &str {
    let end = preview.rfind(char::is_whitespace).unwrap_or(preview.len());
    &preview[..end]
}

/// The menu before the text, and the text; the line before the first long one is taken for its heading.
fn split_menu(text: &str) -> (String, String) {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let long = lines.iter().position(|line| is_long(line));
    let start = match long {
        Some(at) if at <= MENU_LINES_MAX => at.saturating_sub(1),
        _ => 0,
    };
    (lines[..start].join("\n"), lines[start..].join("\n"))
}

/// Scripts without spaces say as much in half the characters.
fn is_long(line: &str) -> bool {
    let weight = line.chars().map(|c| if c.is_ascii() { 1 } else { 2 });
    weight.take(LONG_LINE_CHARS).sum::<usize>() >= LONG_LINE_CHARS && line.contains(char::is_whitespace)
        || line.ends_with(['。', '！', '？'])
}

fn paragraphs(text: &str) -> Markup {
    let text = present::clean_lines(text);
    html! {
        @for line in text.split('\n').map(str::trim).filter(|line| !line.is_empty()) {
            p dir="auto" { (line) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: &str = "IANA is responsible for management of the DNS root zone, as everybody knows.";

    #[test]
    fn menu_lines_come_after_the_text() {
        let page = format!("Domains\nNumbers\nAbout\nRoot Zone Management\n{SENTENCE}\nBrowse");
        let (menu, body) = split_menu(&page);
        assert_eq!(menu, "Domains\nNumbers\nAbout");
        assert_eq!(body, format!("Root Zone Management\n{SENTENCE}\nBrowse"));
        let html = text(&page, false).into_string();
        assert!(html.find("responsible") < html.find("Numbers"), "{html}");
    }

    #[test]
    fn a_text_of_short_lines_stays_as_it_is() {
        assert_eq!(split_menu("a\nb\nc"), (String::new(), "a\nb\nc".to_owned()));
        assert_eq!(split_menu(SENTENCE).0, "");
        assert_eq!(split_menu("").1, "");
    }

    #[test]
    fn what_stands_open_ends_with_a_line() {
        let body = format!("{SENTENCE}\n").repeat(20);
        let (head, cut) = opening(&body);
        assert!(
            cut && head.ends_with("knows.") && head.chars().count() > OPEN_CHARS / 2,
            "{head}"
        );
        assert_eq!(opening(SENTENCE), (SENTENCE, false));
    }

    #[test]
    fn a_preview_ends_with_a_whole_word() {
        assert_eq!(without_last_part("one two thr"), "one two");
        let html = text(&format!("{}unfinis", "word ".repeat(500)), true).into_string();
        assert!(!html.contains("unfinis"), "{html}");
    }
}
