//! `weft search`: full-text search.

use std::io::Write;

use archive::question::{Answer, Facet, SearchBody, SearchHit, SearchQuestion, Snippet, SnippetPart};
use serde_json::Value;

use crate::ask;
use crate::context::Context;
use crate::exit::Outcome;
use crate::paging::{self, Paging};
use crate::stdout::Out;
use crate::style::{Style, clean, shell_word};
use crate::units::{count, counted, day};

const EXAMPLES: &str = "\
Examples:
  weft search root zone                       both words
  weft search '\"root zone\" -dnssec'           a phrase, without a word
  weft search domain site:iana.org year:2014
  weft search history type:html lang:en collection:crawl-a
  weft search root zone at:2012-05            pages as they were at the end of that month
  weft search root zone from:2008 to:2010     versions of pages that were captured then
  weft search 'title:archive OR url:museum'   in the title, or in the address
  weft search 'archiv*'                       words that begin so (three letters or more)
  weft search domain --explain                how each score came about

Searched are the current versions of pages; with at:, from: or to: their past versions too, as they were then. What
cannot be used of a query is said in a note, never refused. Without a result the exit code is 0 too.

A query that begins with a minus sign goes after --:  weft search -- -draft report";

/// Flags of `weft search`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Words (all must occur), "phrases", -without, OR, beginnings (archiv*), title:, url:, site:, type:, lang:, year:, at:, from:, to:, collection:
    #[arg(required = true)]
    query: Vec<String>,
    /// Show how each score came about
    #[arg(long)]
    explain: bool,
    /// Count results by domain, year, type and language
    #[arg(long)]
    facets: bool,
    #[command(flatten)]
    paging: Paging,
}

/// Runs `weft search`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let query = args.query.join(" ");
    let question = SearchQuestion {
        query: query.clone(),
        limit: args.paging.limit as usize,
        after: args.paging.after,
        explain: args.explain,
        facets: args.facets,
    };
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    print(&answer, &query, context)?;
    Ok(Outcome::Done)
}

fn print(answer: &Answer<SearchBody>, query: &str, context: &mut Context) -> anyhow::Result<()> {
    let body = &answer.body;
    head(answer.epoch, body, &mut context.out)?;
    for hit in &body.hits {
        hit_text(hit, &mut context.out)?;
    }
    for facet in &body.facets {
        facet_text(facet, &mut context.out)?;
    }
    let again = format!("weft search {}{}", shell_word(query), context.archive_flag());
    paging::more(&mut context.out, &again, body.next.as_deref())?;
    Ok(())
}

fn head(epoch: u64, body: &SearchBody, out: &mut Out) -> std::io::Result<()> {
    let mut line = format!(
        "{} in {:.1} ms",
        counted(body.total, "result", "results"),
        body.took_ms
    );
    if body.search_epoch < epoch {
        line.push_str(&format!(
            " (search covers epoch {} of {})",
            body.search_epoch, epoch
        ));
    }
    writeln!(out, "{line}")?;
    for note in &body.notes {
        let note = out.style.warn(&clean(&note.text));
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn hit_text(hit: &SearchHit, out: &mut Out) -> std::io::Result<()> {
    let style = out.style;
    let title = if hit.title.is_empty() {
        "(no title)"
    } else {
        &hit.title
    };
    let facts = [
        version(hit),
        hit.mime.clone(),
        hit.language.clone(),
        counted(hit.inlinks, "in-link", "in-links"),
        format!("score {:.3}", hit.score),
    ];
    let facts: Vec<&str> = facts
        .iter()
        .map(String::as_str)
        .filter(|fact| !fact.is_empty())
        .collect();
    writeln!(out, "\n{}", style.bold(&clean(title)))?;
    writeln!(out, "  {}", style.address(&clean(&hit.url)))?;
    writeln!(out, "  {}", style.dim(&clean(&facts.join(" · "))))?;
    let snippet = snippet_text(&hit.snippet, style);
    if !snippet.is_empty() {
        writeln!(out, "  {snippet}")?;
    }
    if let Some(explanation) = &hit.explanation {
        explanation_text(explanation, 1, out)?;
    }
    Ok(())
}

/// When the page was this, and whether it still is.
fn version(hit: &SearchHit) -> String {
    match (&hit.until, hit.past_versions) {
        (Some(until), _) => format!("past version, {} to {}", day(&hit.since), day(until)),
        (None, 0) => day(&hit.fetch_time),
        (None, past) => format!("{}, newest of {} versions", day(&hit.fetch_time), count(past + 1)),
    }
}

/// Returns the snippet with its matches in bold.
fn snippet_text(snippet: &Snippet, style: Style) -> String {
    let part = |part: &SnippetPart| {
        let text = clean(&part.text);
        if part.matched { style.bold(&text) } else { text }
    };
    snippet.parts.iter().map(part).collect()
}

/// Prints an explanation, which is a tree of `value`, `description` and `details`. Anything else is printed
/// as JSON.
fn explanation_text(value: &Value, depth: usize, out: &mut Out) -> std::io::Result<()> {
    let indent = "  ".repeat(depth);
    let Some(description) = value.get("description").and_then(Value::as_str) else {
        let json = serde_json::to_string_pretty(value).unwrap_or_default();
        for line in json.lines() {
            writeln!(out, "{indent}{}", clean(line))?;
        }
        return Ok(());
    };
    let number = value.get("value").and_then(Value::as_f64).unwrap_or_default();
    writeln!(out, "{indent}{number:.4}  {}", clean(description))?;
    for detail in value
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        explanation_text(detail, depth + 1, out)?;
    }
    Ok(())
}

fn facet_text(facet: &Facet, out: &mut Out) -> std::io::Result<()> {
    let values: Vec<String> = facet
        .values
        .iter()
        .map(|value| format!("{} {}", value.value, count(value.count)))
        .collect();
    if values.is_empty() {
        return Ok(());
    }
    let field = out.style.dim(&facet.field);
    writeln!(out, "\n{field}: {}", clean(&values.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_become_plain_text() {
        let part = |text: &str, matched| SnippetPart {
            text: text.to_owned(),
            matched,
        };
        let snippet = Snippet {
            parts: vec![
                part("a <b> ", false),
                part("root", true),
                part(" &amp; \x1bzone", false),
            ],
        };
        assert_eq!(
            snippet_text(&snippet, Style::new(false)),
            "a <b> root &amp;  zone"
        );
        assert_eq!(
            snippet_text(&snippet, Style::new(true)),
            "a <b> \x1b[1mroot\x1b[0m &amp;  zone"
        );
        assert_eq!(snippet_text(&Snippet::default(), Style::new(false)), "");
    }
}
