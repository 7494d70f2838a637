//! One result, and the explanation of its score.

use archive::question::SearchHit;
use archive::snippet_html;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::super::archived::ArchivedView;
use super::super::{attachments, parts};
use super::{Form, List, SearchRequest};
use crate::{link, present};

/// Maximum number of levels of an explanation shown.
const EXPLANATION_DEPTH: usize = 12;

/// Width of the thumbnail of a result, in pixels.
const THUMBNAIL_PIXELS: u32 = 120;

/// Shows one result. Its explanation, if there is one, is unfolded if `open`.
pub(super) fn item(asked: &SearchRequest, hit: &SearchHit, open: bool, view: ArchivedView) -> Markup {
    let mut facts = vec![version(hit)];
    // The nearest capture to this time is the one that was indexed.
    if let Some(link) = view.page(&hit.url, Some(&hit.fetch_time), &hit.mime) {
        facts.insert(0, link.word(&hit.title, &hit.url));
    }
    if let Some(inlinks) = hit.inlinks.filter(|inlinks| *inlinks > 0) {
        let address = link::with("/page/inlinks", &[("url", Some(&hit.url))]);
        facts.push(html! { a href=(address) { (present::counted(inlinks, "in-link", "in-links")) } });
    }
    if !matches!(hit.mime.as_str(), "text/html" | "") {
        facts.push(parts::text(&hit.mime));
    }
    if !hit.language.is_empty() {
        facts.push(html! { span title="Language" { (parts::text(&hit.language)) } });
    }
    if !hit.collection.is_empty() {
        facts.push(html! { span title="Collection" { (parts::text(&hit.collection)) } });
    }
    facts.extend(groups(asked, hit));
    html! {
        article.hit {
            (thumbnail(hit))
            p.where { (parts::url_text(&hit.url)) }
            h2 {
                @if hit.until.is_some() {
                    (parts::dated_link(&hit.url, &hit.fetch_time, &hit.title))
                } @else {
                    (parts::page_link(&hit.url, &hit.title))
                }
            }
            @if !hit.snippet.parts.is_empty() { p.snippet dir="auto" { (snippet(hit)) } }
            @if !hit.missing.is_empty() { p.soft { "Missing: " (missing(hit)) } }
            (parts::facts(&facts))
            @if let Some(explanation) = &hit.explanation {
                details.explanation open[open] {
                    summary { "Score " (format!("{:.3}", hit.score)) }
                    (explained(explanation, EXPLANATION_DEPTH))
                }
            }
        }
    }
}

/// Shows the small picture that the crawler made of the page, if there is one.
fn thumbnail(hit: &SearchHit) -> Markup {
    let thumbnail = hit.thumbnail.as_deref();
    let address = thumbnail.and_then(|thumbnail| attachments::picture_address(&hit.url, thumbnail));
    html! {
        @if let Some(address) = address {
            img.thumbnail src=(address) width=(THUMBNAIL_PIXELS) loading="lazy" alt="";
        }
    }
}

/// Returns the groups that a result represents, with links to them.
fn groups(asked: &SearchRequest, hit: &SearchHit) -> Vec<Markup> {
    let mut facts = Vec::new();
    let narrowed = |part: &str, list: List| SearchRequest {
        query: format!("{} {part}", asked.query),
        after: None,
        explain: false,
        list,
        prefer: asked.prefer.clone(),
        before: 0,
        show: Form::Pages,
    };
    if let Some(of_site) = hit.of_site.filter(|of_site| *of_site > 1) {
        let list = List {
            one_per_site: false,
            ..asked.list
        };
        let whole = narrowed(&format!("site:{}", hit.domain), list);
        facts.push(
            html! { a href=(whole.first_of(list)) { "all " (present::count(of_site)) " results of this site" } },
        );
    }
    if let Some(of_digest) = hit.of_digest.filter(|of_digest| *of_digest > 1) {
        facts.push(html! { (present::counted(of_digest, "result", "results")) " with the same content" });
    }
    if let (Some(of_near), Some(like)) = (hit.of_near.filter(|of_near| *of_near > 1), &hit.like) {
        let list = List {
            near: false,
            ..asked.list
        };
        let all = narrowed(like, list);
        facts.push(html! { a href=(all.first_of(list)) { (present::count(of_near)) " similar" } });
    }
    facts
}

/// Shows when the page had this version, and whether it is current.
fn version(hit: &SearchHit) -> Markup {
    html! {
        @match &hit.until {
            Some(until) => { (parts::date(&hit.since)) " to " (parts::date(until)) ", past version" },
            None => {
                (parts::date(&hit.fetch_time))
                @if hit.past_versions > 0 {
                    ", " a href=(format!("{}#versions", link::page(&hit.url))) {
                        "newest of " (present::counted(hit.past_versions + 1, "version", "versions"))
                    }
                }
            },
        }
    }
}

/// Shows the words of the query that the page lacks.
fn missing(hit: &SearchHit) -> Markup {
    html! {
        @for (index, word) in hit.missing.iter().enumerate() {
            @if index > 0 { " " }
            s { (parts::text(word)) }
        }
    }
}

/// Shows a snippet. Only its highlights are markup: all text in it is escaped.
fn snippet(hit: &SearchHit) -> PreEscaped<String> {
    PreEscaped(snippet_html::encode(&hit.snippet))
}

/// Shows a JSON value as nested lists.
fn explained(value: &Value, depth: usize) -> Markup {
    html! {
        @match value {
            Value::Object(_) | Value::Array(_) if depth == 0 => { "\u{2026}" }
            Value::Object(fields) => {
                ul { @for (name, value) in fields { @if !is_empty(value) {
                    li { span.soft { (present::clean(name)) ": " } (explained(value, depth - 1)) }
                } } }
            }
            Value::Array(items) => { ul { @for item in items { li { (explained(item, depth - 1)) } } } }
            Value::String(text) => { (parts::text(text)) }
            Value::Number(number) => { (number_text(number)) }
            Value::Bool(flag) => { (flag) }
            Value::Null => {}
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if !number.is_u64() && !number.is_i64() => format!("{value:.4}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use archive::question::{CaptureKind, CdxRow};

    use super::*;

    #[test]
    fn only_pictures_are_shown_beside_a_result() {
        let shown = |mime: &str| {
            let row = CdxRow {
                mime: mime.into(),
                offset: 7,
                filename: "x.warc".into(),
                kind: CaptureKind::Conversion,
                ..CdxRow::default()
            };
            let hit = SearchHit {
                url: "http://a/".into(),
                thumbnail: Some(Box::new(row)),
                ..SearchHit::default()
            };
            thumbnail(&hit).into_string()
        };
        let picture = shown("image/jpeg");
        let address = "src=\"/sandbox/content?url=http%3A%2F%2Fa%2F&amp;capture=7%2Cx.warc\"";
        assert!(
            picture.contains(address) && picture.contains("loading=\"lazy\""),
            "{picture}"
        );
        for mime in ["image/svg+xml", "text/html", ""] {
            assert_eq!(shown(mime), "", "{mime}");
        }
        assert_eq!(thumbnail(&SearchHit::default()).into_string(), "");
    }
}
