//! `diff`: what changed between two versions of a page.

use archive::AskError;
use archive::question::{Diff, DiffBody, DiffChange, DiffVersion};
use format::TextPart;
use format::number::counted;

use super::{Tool, URL, ask_typed, chars, start};
use crate::AskArchive;
use crate::arguments::{Arguments, Kind, Parameter};
use crate::text::{self, AnswerText};

pub(super) const TOOL: Tool = Tool {
    name: "diff",
    title: "Compare two versions of a page",
    description: "Shows which words were removed [-so-] and added {+so+} between two versions of a page. \
        Without times it compares the newest version with the one before it. Long unchanged parts are \
        shortened to \u{2026}",
    parameters: &[
        URL,
        Parameter {
            name: "from",
            kind: Kind::Time,
            is_required: false,
            description: "The older version, at the end of this time; by default the one before the newer",
        },
        Parameter {
            name: "to",
            kind: Kind::Time,
            is_required: false,
            description: "The newer version, at the end of this time; by default the newest",
        },
        start("Characters of the comparison to skip"),
        chars("Maximum number of characters of the comparison"),
    ],
    call,
};

fn call(arguments: &Arguments, ask: AskArchive<'_>) -> Result<AnswerText, AskError> {
    let question = Diff {
        url: arguments.text("url").unwrap_or_default(),
        from: arguments.text("from"),
        to: arguments.text("to"),
    };
    let diff = ask_typed(ask, question)?.body;
    let changes: String = diff
        .parts
        .iter()
        .map(|part| match part.change {
            DiffChange::Same => part.text.clone(),
            DiffChange::Gone => format!("[-{}-]", part.text),
            DiffChange::New => format!("{{+{}+}}", part.text),
        })
        .collect();
    let start = arguments.rows("start");
    text::fitting(arguments.rows("chars"), |chars| {
        Ok(answer(&diff, &changes, start, chars))
    })
}

fn answer(diff: &DiffBody, changes: &str, start: usize, chars: usize) -> AnswerText {
    let mut text = AnswerText::new();
    version(&mut text, "older", &diff.from);
    version(&mut text, "newer", &diff.to);
    text.line(&format!(
        "{} removed, {} added",
        counted(diff.words_gone, "word", "words"),
        diff.words_new
    ));
    text.gap();
    // Counts characters, like `page`, and splits none.
    let part = TextPart::of(changes, start as u64, chars);
    text.quote_text(&part.text);
    if let Some(next) = part.next {
        text.gap();
        text.line(&format!(
            "cut: call diff again with the same arguments and start = {next} for the rest of {} characters",
            part.chars
        ));
    }
    text
}

fn version(text: &mut AnswerText, name: &str, version: &DiffVersion) {
    let until = match &version.until {
        Some(until) => format!("until {until}"),
        None => "the newest version".into(),
    };
    text.line(&format!(
        "{name}: captured {}; version since {}, {until}",
        version.fetch_time, version.since
    ));
    text.quote_value("title", &version.title);
}
