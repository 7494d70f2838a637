//! `inlinks`: pages that link to a URL, with the texts of the links.

use archive::AskError;
use archive::question::{Inlinks, LinkRow, LinksBody};

use super::{AFTER, Tool, URL, ask_typed, end_of_list};
use crate::AskArchive;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::text::{self, AnswerText};

pub(super) const TOOL: Tool = Tool {
    name: "inlinks",
    title: "Pages that link to a URL",
    description: "Lists the archived pages that link to a URL, with the anchor text of each link and the date \
        of capture. Counts the current versions of pages; with `at`, the versions of that time; with `ever`, \
        all versions. The URL itself need not be archived.",
    parameters: &[
        URL,
        Parameter {
            name: "at",
            kind: Kind::Time,
            is_required: false,
            description: "Links as they were at the end of this time, such as 2008 or 2008-05",
        },
        Parameter {
            name: "ever",
            kind: Kind::Flag,
            is_required: false,
            description: "Links of all versions, also past ones; not together with at",
        },
        Parameter {
            name: "limit",
            kind: Kind::Number {
                default: 20,
                min: 1,
                max: 100,
            },
            is_required: false,
            description: "Maximum number of links",
        },
        AFTER,
    ],
    call,
};

fn call(arguments: &Arguments, ask: AskArchive<'_>) -> Result<AnswerText, AskError> {
    let limit = arguments.rows("limit");
    let question = Inlinks {
        url: arguments.text("url").unwrap_or_default(),
        after: arguments.text("after"),
        limit: 0,
        at: arguments.text("at"),
        ever: arguments.flag("ever"),
        ..Inlinks::default()
    };
    text::fitting(limit, |rows| {
        let question = Inlinks {
            limit: rows,
            ..question.clone()
        };
        Ok(answer(&ask_typed(ask, question)?.body, rows < limit))
    })
}

fn answer(found: &LinksBody, is_cut: bool) -> AnswerText {
    let mut text = AnswerText::new();
    let shown = found.rows.len();
    match found.total {
        Some(total) => text.line(&format!("{shown} of {total} links")),
        None => text.line(&format!("{shown} links")),
    }
    if let Some(looked_at) = found.looked_at {
        text.line(&format!(
            "{looked_at} linking pages were looked at for this part of the list; the next part may have more links"
        ));
    }
    for row in &found.rows {
        link(&mut text, row);
    }
    end_of_list(&mut text, TOOL.name, found.next.as_deref(), is_cut);
    text
}

fn link(text: &mut AnswerText, row: &LinkRow) {
    text.gap();
    // The archive may know the page by its key alone.
    let url = if row.source_url.is_empty() {
        &row.source_key
    } else {
        &row.source_url
    };
    text.quote_url("from", url);
    text.quote_value("title", &row.source_title);
    text.quote_value("anchor", &row.anchor);
    text.quote_url("to", &row.target_url);
    if let Some(time) = &row.source_fetch_time {
        text.line(&format!("captured {time}"));
    }
    if let Some(version) = &row.version {
        let now = if version.is_current {
            ", in the current version too"
        } else {
            ""
        };
        text.line(&format!(
            "captured {}; link first seen {}{now}",
            version.fetch_time, version.first_seen
        ));
    }
    if row.nofollow {
        text.line("nofollow");
    }
}
