//! Changes of a page between two of its versions.

use archive::question::{Diff, DiffBody, DiffChange, DiffPart, DiffVersion};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::html::{Context, Html, PageResult};
use super::parts;
use crate::failure::Failure;
use crate::present;
use crate::query::Query;
use ui::{Frame, Section};

pub(super) async fn show(context: Context, query: Query) -> PageResult {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("no page given: parameter url is missing").into());
    };
    let question = Diff {
        url: url.clone(),
        from: query.owned("from"),
        to: query.owned("to"),
    };
    let answer = context.archive.ask(question).await?;
    let title = format!("Changes: {url}");
    let frame = Frame {
        title: &title,
        section: Section::None,
        parts: context.parts(),
        viewer: context.viewer(),
        query: "",
        epoch: Some(answer.epoch),
    };
    Ok(Html::ok(frame.around(content(
        &url,
        &answer.body,
        ArchivedView::of(&context),
    ))))
}

fn content(url: &str, diff: &DiffBody, view: ArchivedView) -> Markup {
    html! {
        header.page-head {
            h1 { "Changes" }
            p.where { "of " (parts::url_link(url)) }
        }
        ul.versions {
            li { "From " (version(url, &diff.from, view)) }
            li { "To " (version(url, &diff.to, view)) }
        }
        p { (present::counted(diff.words_gone, "word", "words")) " removed, " (present::count(diff.words_new)) " added" }
        @if diff.words_gone == 0 && diff.words_new == 0 {
            p.soft { "The words are the same; other differences (markup, images, scripts) are not shown here." }
        }
        p.changes dir="auto" {
            @for (place, part) in diff.parts.iter().enumerate() {
                @if place > 0 && replaces(&diff.parts[place - 1], part) { " " }
                (stretch(part))
            }
        }
    }
}

fn version(url: &str, version: &DiffVersion, view: ArchivedView) -> Markup {
    html! {
        (parts::dated_link(url, &version.fetch_time, &version.title)) " "
        @if let Some(link) = view.page(url, Some(&version.fetch_time), "") { (link.word(&version.title, url)) }
        p.soft {
            (parts::date(&version.since)) " to "
            @match &version.until { Some(until) => (parts::date(until)), None => "now" }
        }
    }
}

/// Returns whether a part was added in place of the one before it. A space separates such parts,
/// because the space after a changed word may belong to the unchanged text.
fn replaces(before: &DiffPart, part: &DiffPart) -> bool {
    (before.change, part.change) == (DiffChange::Gone, DiffChange::New)
}

/// Shows a part of the text. It is archived, so it is always shown as text.
fn stretch(part: &DiffPart) -> Markup {
    let text = parts::text(&part.text);
    html! {
        @match part.change {
            DiffChange::Same => (text),
            DiffChange::Gone => del { (text) },
            DiffChange::New => ins { (text) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a removed and an added word were shown as one word.
    #[test]
    fn a_replaced_word_is_separate_from_the_new_one() {
        let part = |change, text: &str| DiffPart {
            change,
            text: text.into(),
        };
        let diff = DiffBody {
            parts: vec![
                part(DiffChange::Same, "an "),
                part(DiffChange::Gone, "old"),
                part(DiffChange::New, "new"),
                part(DiffChange::Same, " word"),
            ],
            ..DiffBody::default()
        };
        let shown = content("http://a.org/", &diff, ArchivedView::Sandbox).into_string();
        let expected = "<bdi>an </bdi><del><bdi>old</bdi></del> <ins><bdi>new</bdi></ins><bdi> word</bdi>";
        assert!(shown.contains(expected), "{shown}");
    }
}
