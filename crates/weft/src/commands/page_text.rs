//! `weft page --text`: prints the whole text of one version of a page.

use std::io::Write;

use archive::question::PageText;

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;

/// Characters asked for at a time.
const CHARS_AT_ONCE: usize = 100_000;

/// Prints the text of the version of a time, or of the newest one.
pub(super) fn run(url: String, at: Option<String>, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let mut question = PageText {
        url,
        at,
        start: 0,
        limit: CHARS_AT_ONCE,
    };
    let mut answer = archive.ask(question.clone())?;
    // The other parts must be of the same version, whatever is loaded meanwhile.
    question.at = format::date::digits_of_text(&answer.body.fetch_time);
    while let Some(start) = answer.body.next {
        question.start = start;
        let part = archive.ask(question.clone())?.body;
        answer.body.text.push_str(&part.text);
        answer.body.next = part.next;
    }
    if let Some(answer) = ask::print_if_json(answer, context)? {
        let mut out = context.out.untrusted();
        writeln!(out, "{}", answer.body.text)?;
    }
    Ok(Outcome::Done)
}
