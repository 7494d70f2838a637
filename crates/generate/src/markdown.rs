//! Markdown as HTML.

use pulldown_cmark::{Options, Parser, html};

pub(crate) use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

/// Parses a text.
pub(crate) fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// Appends the HTML of a parsed text.
pub(crate) fn push_html<'a>(page: &mut String, events: impl Iterator<Item = Event<'a>>) {
    html::push_html(page, events);
}

/// Returns the text of the first non-empty heading.
pub(crate) fn title(text: &str) -> Option<String> {
    let mut title = String::new();
    let mut within = false;
    for event in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => within = true,
            Event::End(TagEnd::Heading(_)) if !title.trim().is_empty() => break,
            Event::End(TagEnd::Heading(_)) => within = false,
            Event::Text(text) | Event::Code(text) if within => title.push_str(&text),
            Event::SoftBreak | Event::HardBreak if within => title.push(' '),
            _ => {}
        }
    }
    let title = title.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

/// Escapes text for HTML, also in attributes with double quotation marks.
pub(crate) fn escaped(text: &str) -> String {
    // `&` comes first, or the `&` of `&lt;` would be escaped again.
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
