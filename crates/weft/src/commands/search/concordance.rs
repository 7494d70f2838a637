//! `weft search --concordance`: shows every match with the words around it.

use std::io::Write;

use archive::question::{
    Answer, CONTEXT_WORDS, CONTEXT_WORDS_MAX, ConcordanceBody, ConcordanceLine, ConcordanceQuestion,
    LINES_PER_PAGE,
};

use crate::ask;
use crate::context::Context;
use crate::flag_values::{whole, whole_from};
use crate::outcome::Outcome;
use crate::paging;
use crate::stdout::Out;
use crate::style::{clean, columns, cut, shell_word};
use crate::units::{counted, day};

/// Minimum width of the text after a match, in columns, even on a narrower terminal.
const SIDE_COLUMNS_MIN: usize = 12;

/// Most lines of one answer.
const LINES_MAX: usize = 10_000;

/// Flags of a concordance.
#[derive(Debug, clap::Args)]
// The flags of `weft search` have a group of this name already.
#[group(skip)]
pub(super) struct Args {
    /// Show every match with the words around it (keyword in context); --limit counts lines
    #[arg(long, conflicts_with_all = ["explain", "facets", "per_site", "distinct", "near", "prefer", "export"])]
    pub(super) concordance: bool,
    /// With --concordance: number of words on each side of a match
    #[arg(long, value_name = "WORDS", requires = "concordance", default_value_t = CONTEXT_WORDS, hide_default_value = true, value_parser = whole(1..=CONTEXT_WORDS_MAX, CONTEXT_WORDS), hide_short_help = true)]
    context: usize,
    /// With --concordance: at most N lines per page
    #[arg(long, value_name = "N", requires = "concordance", default_value_t = LINES_PER_PAGE, hide_default_value = true, hide_short_help = true, value_parser = whole_from(0, LINES_PER_PAGE))]
    per_page: usize,
}

/// Prints the matches of the query. `flags` repeat the search.
pub(super) fn run(
    question: ConcordanceQuestion,
    args: &Args,
    flags: &str,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let question = ConcordanceQuestion {
        per_page: args.per_page,
        context: args.context,
        ..question
    };
    let query = question.query.clone();
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    let mut next_page = format!("weft search {} --concordance{flags}", shell_word(&query));
    if args.context != CONTEXT_WORDS {
        next_page.push_str(&format!(" --context {}", args.context));
    }
    if args.per_page != LINES_PER_PAGE {
        next_page.push_str(&format!(" --per-page {}", args.per_page));
    }
    next_page.push_str(&context.archive_flag());
    print(&answer, &mut context.out)?;
    let all = format!("{next_page} --limit {LINES_MAX}");
    paging::more(&mut context.out, &all, &next_page, answer.body.next.as_deref())?;
    Ok(Outcome::Done)
}

fn print(answer: &Answer<ConcordanceBody>, out: &mut Out) -> std::io::Result<()> {
    let body = &answer.body;
    super::head(
        answer.epoch,
        &counted(body.total, "page", "pages"),
        body.search_epoch,
        body.took_ms,
        out,
    )?;
    super::notes(&body.notes, out)?;
    let side = out.width.map(|width| (width / 2).max(SIDE_COLUMNS_MIN));
    let left_columns = body.lines.iter().map(|line| columns(&clean(&line.left))).max();
    let left_columns = left_columns.unwrap_or(0).min(side.unwrap_or(usize::MAX));
    for lines in body
        .lines
        .chunk_by(|a, b| (&a.url_key, &a.since) == (&b.url_key, &b.since))
    {
        if let Some(first) = lines.first() {
            let address = out.style.address(&clean(&first.url));
            let time = out.style.dim(&time(first));
            writeln!(out, "\n{address}  {time}")?;
        }
        for line in lines {
            line_text(line, left_columns, out)?;
        }
    }
    Ok(())
}

fn time(line: &ConcordanceLine) -> String {
    match &line.until {
        Some(until) => format!("past version, {} to {}", day(&line.since), day(until)),
        None => day(&line.fetch_time),
    }
}

/// Prints one line, with the match aligned to a fixed column.
fn line_text(line: &ConcordanceLine, left_columns: usize, out: &mut Out) -> std::io::Result<()> {
    let left = last_columns(&clean(&line.left), left_columns);
    let indent = " ".repeat(left_columns.saturating_sub(columns(&left)));
    let (matched, right) = (clean(&line.matched), clean(&line.right));
    let right = match out.width {
        Some(width) => {
            let used = 2 + left_columns + columns(&matched);
            cut(&right, width.saturating_sub(used).max(SIDE_COLUMNS_MIN))
        }
        None => right,
    };
    let matched = out.style.bold(&matched);
    writeln!(out, "  {indent}{left}{matched}{right}")
}

/// Returns the longest suffix of a text that fits into `most` columns.
fn last_columns(text: &str, most: usize) -> String {
    let mut from = text.len();
    for (start, _) in text.char_indices().rev() {
        if columns(&text[start..]) > most {
            break;
        }
        from = start;
    }
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_cut_by_columns() {
        assert_eq!(last_columns("before the ", 4), "the ");
        assert_eq!(last_columns("東京都", 5), "京都");
        assert_eq!(last_columns("short", 80), "short");
    }
}
