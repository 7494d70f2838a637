//! The text of an archived page for readers: first the main text, then menus.
//!
//! Pages begin with menus: short lines that do not end like a sentence. The main text begins with
//! the heading before the first long line. The lines before that come last; no line is lost.

use maud::{Markup, html};

use crate::present;

/// Maximum number of characters of a preview. The archived page may continue a preview of this
/// length.
const PREVIEW_CHARS: usize = 2000;

/// Minimum number of characters of a long line, which belongs to the main text.
const LONG_LINE_CHARS: usize = 60;

/// Maximum number of lines of a menu. A text without a long line by then is a list, and is shown
/// unchanged.
const MENU_LINES_MAX: usize = 60;

/// Shows the main text, then the menu that comes before it.
pub(super) fn text(preview: &str, truncated: bool) -> Markup {
    let is_part = truncated || preview.chars().count() >= PREVIEW_CHARS;
    let whole = if is_part {
        without_last_part(preview)
    } else {
        preview
    };
    let (menu, body) = split_menu(whole);
    html! {
        div.reading dir="auto" {
            (paragraphs(&body))
            @if is_part {
                p.soft { "The text ends here. The archived page has all of it." }
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

/// Removes a word that is truncated at the end of a preview.
fn without_last_part(preview: &str) -> &str {
    let end = preview.rfind(char::is_whitespace).unwrap_or(preview.len());
    &preview[..end]
}

/// Splits the text into the menu and the main text. The line before the first long one counts as
/// its heading.
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

/// Returns whether a line is long. Scripts without spaces need only half as many characters.
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
    fn a_preview_ends_with_a_whole_word() {
        assert_eq!(without_last_part("one two thr"), "one two");
        let html = text(&format!("{}unfinis", "word ".repeat(500)), true).into_string();
        assert!(!html.contains("unfinis"), "{html}");
    }
}
