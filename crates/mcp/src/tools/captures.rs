//! `captures`: everything captured of a URL, a host or a domain.

use archive::AskError;
use archive::question::{CdxBody, CdxQuestion, MatchType};
use cdx::{Order, url_pattern};

use super::{AFTER, Tool, ask_typed, end_of_list};
use crate::AskArchive;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::text::{self, AnswerText};

pub(super) const TOOL: Tool = Tool {
    name: "captures",
    title: "Captures of a URL",
    description: "Lists captures, of pages and of everything else (images, redirects, errors): time, status, \
        media type, URL. By URL key and time, oldest first.",
    parameters: &[
        Parameter {
            name: "url",
            kind: Kind::Text,
            is_required: true,
            description: "URL; http://example.org/a* is every URL with this prefix, *.example.org a domain \
                with all hosts below it",
        },
        Parameter {
            name: "match",
            kind: Kind::Choice(&["exact", "prefix", "host", "domain"]),
            is_required: false,
            description: "Which URLs belong to url, instead of a star in it",
        },
        Parameter {
            name: "from",
            kind: Kind::Time,
            is_required: false,
            description: "Captures from the beginning of this time on, such as 2014 or 2014-01-26",
        },
        Parameter {
            name: "to",
            kind: Kind::Time,
            is_required: false,
            description: "Captures up to the end of this time",
        },
        Parameter {
            name: "newest_first",
            kind: Kind::Flag,
            is_required: false,
            description: "The reverse order",
        },
        Parameter {
            name: "limit",
            kind: Kind::Number {
                default: 50,
                min: 1,
                max: 200,
            },
            is_required: false,
            description: "Maximum number of captures",
        },
        AFTER,
    ],
    call,
};

fn call(arguments: &Arguments, ask: AskArchive<'_>) -> Result<AnswerText, AskError> {
    let limit = arguments.rows("limit");
    let pattern = arguments.text("url").unwrap_or_default();
    // The choices are names of match types.
    let named = arguments
        .text("match")
        .and_then(|name| name.parse::<MatchType>().ok());
    let (url, match_type) = url_pattern(&pattern, named).map_err(AskError::bad_request)?;
    let question = CdxQuestion {
        url: url.to_owned(),
        match_type,
        from: arguments.text("from"),
        to: arguments.text("to"),
        after: arguments.text("after"),
        order: if arguments.flag("newest_first") {
            Order::Reverse
        } else {
            Order::Forward
        },
        ..CdxQuestion::default()
    };
    text::fitting(limit, |rows| {
        let question = CdxQuestion {
            limit: rows,
            ..question.clone()
        };
        Ok(answer(&ask_typed(ask, question)?.body, rows < limit))
    })
}

fn answer(found: &CdxBody, is_cut: bool) -> AnswerText {
    let mut text = AnswerText::new();
    text.line(&format!(
        "{} captures: time of capture, status, media type, URL",
        found.rows.len()
    ));
    text.gap();
    for row in &found.rows {
        let status = match row.status {
            0 => "-".to_owned(),
            status => status.to_string(),
        };
        text.quote_url(&row.fetch_time, &format!("{status} {} {}", row.mime, row.url));
    }
    end_of_list(&mut text, TOOL.name, found.next.as_deref(), is_cut);
    text
}
