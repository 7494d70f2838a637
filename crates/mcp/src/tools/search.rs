//! `search`: pages by their words, now or as of a date.

use archive::AskError;
use archive::question::{SearchBody, SearchHit, SearchQuestion};

use super::{AFTER, Tool, ask_typed, end_of_list};
use crate::AskArchive;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::text::{self, AnswerText};

pub(super) const TOOL: Tool = Tool {
    name: "search",
    title: "Search the archive",
    description: "Full-text search in archived pages, the best results first. Finds current versions; with \
        `at`, the versions that pages had at that time. Each result has its URL, date of capture, title and \
        the passage that matches best.",
    parameters: &[
        Parameter {
            name: "query",
            kind: Kind::Text,
            is_required: true,
            description: "Words (pages with all come first), \"a phrase\", -word, a OR b, archiv*, and title: \
                url: site:example.org type: lang: year: collection:. from:2011 and to:2013 find versions captured \
                in that time",
        },
        Parameter {
            name: "at",
            kind: Kind::Time,
            is_required: false,
            description: "Search pages as they were at the end of this time, such as 2012 or 2012-05",
        },
        Parameter {
            name: "limit",
            kind: Kind::Number {
                default: 10,
                min: 1,
                max: 50,
            },
            is_required: false,
            description: "Maximum number of results",
        },
        AFTER,
    ],
    call,
};

fn call(arguments: &Arguments, ask: AskArchive<'_>) -> Result<AnswerText, AskError> {
    let limit = arguments.rows("limit");
    let query = arguments.text("query").unwrap_or_default();
    let question = SearchQuestion {
        query: match arguments.text("at") {
            Some(at) => format!("{query} at:{at}"),
            None => query,
        },
        after: arguments.text("after"),
        ..SearchQuestion::default()
    };
    text::fitting(limit, |rows| {
        let question = SearchQuestion {
            limit: rows,
            ..question.clone()
        };
        Ok(answer(&ask_typed(ask, question)?.body, rows < limit))
    })
}

fn answer(found: &SearchBody, is_cut: bool) -> AnswerText {
    let mut text = AnswerText::new();
    text.line(&format!(
        "{} of {}{} results for the query: {}",
        found.hits.len(),
        if found.summary.total_is_exact {
            ""
        } else {
            "more than "
        },
        found.summary.shown_total,
        found.summary.understood
    ));
    for note in &found.summary.notes {
        text.line(&format!("note: {}", note.text));
    }
    for hit in &found.hits {
        result(&mut text, hit);
    }
    end_of_list(&mut text, TOOL.name, found.next.as_deref(), is_cut);
    text
}

fn result(text: &mut AnswerText, hit: &SearchHit) {
    text.gap();
    text.quote_url("url", &hit.url);
    text.quote_value("title", &hit.title);
    if hit.mime != "text/html" {
        text.quote_value("type", &hit.mime);
    }
    let parts = hit.snippet.parts.iter().map(|part| part.text.as_str());
    text.quote_value("passage", &parts.collect::<String>());
    let until = match &hit.until {
        Some(until) => format!("until {until}"),
        None => "the current version".into(),
    };
    text.line(&format!(
        "captured {}; version since {}, {until}",
        hit.fetch_time, hit.since
    ));
    if hit.past_versions > 0 {
        text.line(&format!("earlier versions: {}", hit.past_versions));
    }
}
