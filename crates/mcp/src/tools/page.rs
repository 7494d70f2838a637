//! `page`: the text of one version of a page.

use archive::AskError;
use archive::question::{PageText, PageTextBody};

use super::{Tool, URL, ask_typed, chars, start};
use crate::AskArchive;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::text::AnswerText;

pub(super) const TOOL: Tool = Tool {
    name: "page",
    title: "Read an archived page",
    description: "Returns the text of an archived page or document: the newest version, or with `at` the \
        version of that time. A long text comes in parts; the answer says where the next one starts.",
    parameters: &[
        URL,
        Parameter {
            name: "at",
            kind: Kind::Time,
            is_required: false,
            description: "The version at the end of this time, such as 2012 or 2012-05",
        },
        start("Characters of the text to skip"),
        chars("Maximum number of characters of text"),
    ],
    call,
};

fn call(arguments: &Arguments, ask: AskArchive<'_>) -> Result<AnswerText, AskError> {
    let question = PageText {
        url: arguments.text("url").unwrap_or_default(),
        at: arguments.text("at"),
        start: arguments.number("start"),
        limit: 0,
    };
    let chars = arguments.rows("chars");
    // Each line of the text takes two characters more for its quotation mark.
    crate::text::fitting(chars, |limit| {
        let question = PageText {
            limit,
            ..question.clone()
        };
        Ok(answer(&ask_typed(ask, question)?.body))
    })
}

fn answer(page: &PageTextBody) -> AnswerText {
    let mut text = AnswerText::new();
    text.quote_url("url", &page.url);
    text.quote_value("title", &page.title);
    text.quote_value("type", &page.mime);
    text.quote_value("language", &page.language);
    let until = match &page.until {
        Some(until) => format!("until {until}"),
        None => "the newest version".into(),
    };
    text.line(&format!(
        "captured {}; version since {}, {until}",
        page.fetch_time, page.since
    ));
    let end = page.next.unwrap_or(page.chars);
    text.line(&format!(
        "characters {} to {end} of {} of its text:",
        page.start, page.chars
    ));
    text.gap();
    text.quote_text(&page.text);
    if let Some(next) = page.next {
        text.gap();
        text.line(&format!(
            "cut: call page again with start = {next} and at = {} for the rest",
            date(&page.fetch_time)
        ));
    }
    text
}

/// Returns a time without its milliseconds, as a parameter: another version may be the newest by
/// the next call.
fn date(iso: &str) -> &str {
    iso.split_once('.').map_or(iso, |(seconds, _)| seconds)
}
