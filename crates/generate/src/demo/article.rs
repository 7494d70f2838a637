//! Markdown as the article of a page: headings get anchors, and links lead to pages of the site.

use std::collections::HashMap;

use crate::markdown::{self, CowStr, Event, Tag, TagEnd};

/// Returns the HTML of `text`. `link` returns the new address of a link, or `None` if there is no
/// such page: then only the words of the link remain.
pub(super) fn html(text: &str, link: impl Fn(&str) -> Option<String>) -> String {
    let mut events: Vec<Event> = Vec::new();
    let mut anchors = Anchors::default();
    let (mut heading, mut unlinked) = (None, false);
    for event in markdown::events(text) {
        match event {
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => match link(&dest_url) {
                Some(address) => events.push(Event::Start(Tag::Link {
                    link_type,
                    dest_url: CowStr::from(address),
                    title,
                    id,
                })),
                None => unlinked = true,
            },
            Event::End(TagEnd::Link) if unlinked => unlinked = false,
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(events.len());
                events.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(start) = heading.take() {
                    let anchor = anchors.of(&words(&events[start..]));
                    if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                        *id = Some(CowStr::from(anchor));
                    }
                }
                events.push(event);
            }
            event => events.push(event),
        }
    }
    let mut html = String::with_capacity(text.len() * 2);
    markdown::push_html(&mut html, events.into_iter());
    html
}

/// Returns the text of events.
fn words(events: &[Event]) -> String {
    let mut words = String::new();
    for event in events {
        if let Event::Text(text) | Event::Code(text) = event {
            words.push_str(text);
        }
    }
    words
}

/// Anchors of the headings of one page.
#[derive(Debug, Default)]
struct Anchors {
    /// How many headings had this anchor.
    used: HashMap<String, u32>,
}

impl Anchors {
    /// Returns the anchor of a heading, as code hosts form it: small letters, hyphens for spaces, a
    /// number if the page has the heading already.
    fn of(&mut self, heading: &str) -> String {
        let anchor: String = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let earlier = self.used.entry(anchor.clone()).or_default();
        *earlier += 1;
        match *earlier {
            1 => anchor,
            number => format!("{anchor}-{}", number - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn links_lead_to_pages_or_are_words() {
        let link = |address: &str| address.strip_suffix(".md").map(|name| format!("/{name}.html"));
        assert_eq!(
            html("[a *b*](x.md) [c](../y)", link),
            "<p><a href=\"/x.html\">a <em>b</em></a> c</p>\n"
        );
    }

    #[test]
    fn headings_have_anchors() {
        let html = html("# Bytes: `/record/`\n\n## Who asks\n\n## Who asks\n", |_| None);
        for part in [
            "<h1 id=\"bytes-record\">",
            "<h2 id=\"who-asks\">",
            "<h2 id=\"who-asks-1\">",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }
}
