//! `weft search`: full-text search.

mod concordance;
mod events;
pub(super) mod export;
mod images;
mod suggest;
mod trends;
mod watch;

use std::io::Write;

use archive::question::{
    Answer, ConcordanceQuestion, Facet, ImagesQuestion, SearchBody, SearchHit, SearchNote, SearchOrder,
    SearchQuestion, Snippet, SnippetPart, YearCount,
};
use serde_json::Value;

use crate::ask;
use crate::context::Context;
use crate::flag_values::{choice, whole_from};
use crate::outcome::Outcome;
use crate::paging::{self, Paging};
use crate::stdout::Out;
use crate::style::{Style, clean, shell_word};
use crate::units::{count, counted, day};

const EXAMPLES: &str = "\
Examples:
  weft search root zone history               pages with all words first, then with most of their weight
  weft search root zone +history              a word that must be there
  weft search '\"root zone\" -dnssec'           a phrase, excluding a word
  weft search domain site:iana.org year:2014
  weft search history type:html lang:en collection:crawl-a
  weft search root zone at:2012-05            pages as they were at the end of that month
  weft search root zone from:2008 to:2010     versions of pages captured then
  weft search 'title:archive OR url:museum'   in the title, or in the address
  weft search 'archiv*'                       words with this prefix (three letters or more)
  weft search domain --explain                how each score was computed
  weft search domain --per-site 2 --near      at most two per site, no near duplicates
  weft search library --prefer 'lang:de place:cs.ox.ac.uk^40'   rank German pages and that department first
  weft search flood from:1996 --export csv -o flood.csv     all results; also jsonl, parquet, cdxj, warc
  weft search zone --concordance --limit 50   every match in context
  weft search --images red boat               images, by the words about them on pages
  weft search --suggest 'root zo'             completions, by number of pages
  weft search flood --watch                   print new matches as they appear (an alert)
  weft search flood --trends --beside drought share of all captures, by year
  weft search flood from:2012 to:2013 --events  first and most linked pages of each month
  weft search flood --all-versions --facets   share of all captures, by year

--export writes all results in URL order and ignores --limit, --sort and --prefer; with --per-site,
--distinct or --near it writes the results shown, in the order of --sort. A result whose record
cannot be read is named, and the exit code is 1.

AND binds tighter than OR (zone AND root OR dns is (zone AND root) OR dns), and OR tighter than
adjacent words.

Search covers the current versions of pages; with at:, from: or to: also their past versions, as
they were then. Parts of a query that cannot be used are reported in a note, not as an error. The
exit code is 0 even without results.

Put a query that begins with a minus sign after --:  weft search -- -draft report";

const FEW_EXAMPLES: &str = "\
Examples:
  weft search '\"root zone\" -dnssec'           a phrase, excluding a word
  weft search domain site:iana.org year:2014
  weft search root zone at:2012-05            pages at the end of that month
  weft search flood --export csv -o flood.csv all results";

/// Flags of `weft search`.
#[derive(Debug, clap::Args)]
#[command(after_help = FEW_EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Words (not all must occur), +required, "phrases", -excluded, OR, prefixes (archiv*), title:, url:, site:,
    /// suffix:, type:, lang:, year:, at:, from:, to:, collection:
    #[arg(required_unless_present_any = ["suggest", "same"])]
    query: Vec<String>,
    /// Complete the last word of TEXT with words that occur on pages, most frequent first
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["query", "explain", "facets", "concordance", "export", "after"])]
    suggest: Option<String>,
    /// Explain how each score was computed
    #[arg(long, hide_short_help = true)]
    explain: bool,
    /// Count results by domain, year, type, language, public suffix and collection
    #[arg(long)]
    facets: bool,
    /// Order of results: by relevance, newest or oldest capture first, or by URL
    #[arg(long, default_value = ORDERS[0].0, value_parser = choice(ORDERS), hide_default_value = true)]
    sort: SearchOrder,
    /// Include past versions of pages, even without at:, from: or to:
    #[arg(long)]
    all_versions: bool,
    /// Show at most N results per registered domain
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = whole_from(0_usize, 2))]
    per_site: usize,
    /// Show only the first of several results with the same content (payload digest)
    #[arg(long, hide_short_help = true)]
    distinct: bool,
    /// Rank preferred results first among the best 1,000: lang:, site:, place:, collection:, type:,
    /// from:, to:, each worth 20 per cent of a score, or ^N per cent
    #[arg(long, value_name = "PROFILE", hide_short_help = true)]
    prefer: Vec<String>,
    /// Show only the first of several results with nearly the same text; adding its like: to the
    /// query finds the others
    #[arg(long, hide_short_help = true)]
    near: bool,
    /// Count all results; otherwise more than 10,000 in the order of relevance are not counted
    #[arg(long, hide_short_help = true, conflicts_with_all = ["suggest", "trends", "events", "watch", "images", "concordance", "export"])]
    exact: bool,
    /// Count matches per year, and all page versions of that year for comparison
    #[arg(long, conflicts_with_all = ["explain", "facets", "sort", "per_site", "distinct", "near", "prefer", "concordance", "after", "limit", "watch"])]
    trends: bool,
    /// With --trends: another query to compare with; may be given up to four times
    #[arg(long, value_name = "QUERY", requires = "trends", hide_short_help = true)]
    beside: Vec<String>,
    /// List matches by month, with the first and the most linked pages; by year beyond 60 months
    #[arg(long, hide_short_help = true, conflicts_with_all = ["explain", "facets", "sort", "all_versions", "per_site", "distinct", "near", "prefer", "concordance", "export", "after", "limit", "watch", "trends"])]
    events: bool,
    /// Print new captures that match as they become searchable, until Ctrl-C; with --json one per
    /// line
    #[arg(long, conflicts_with_all = ["explain", "facets", "sort", "per_site", "distinct", "near", "prefer", "concordance", "export", "after", "limit"])]
    watch: bool,
    #[command(flatten)]
    images: images::Args,
    #[command(flatten)]
    concordance: concordance::Args,
    #[command(flatten)]
    export: export::Args,
    #[command(flatten)]
    paging: Paging,
}

/// Most values of a facet, as in an answer of the search index.
const FACET_VALUES_MAX: usize = 10;

/// The orders of results, with their names on the command line.
const ORDERS: [(&str, SearchOrder); 4] = [
    ("relevance", SearchOrder::Relevance),
    ("newest", SearchOrder::Newest),
    ("oldest", SearchOrder::Oldest),
    ("url", SearchOrder::Url),
];

/// Runs `weft search`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if let Some(text) = args.suggest {
        return suggest::run(text, args.paging.rows(), context);
    }
    let query = args.query.join(" ");
    if args.trends {
        let queries = std::iter::once(query).chain(args.beside);
        return trends::run(queries.collect(), &args.export, context);
    }
    if args.images.images {
        let question = ImagesQuestion {
            query,
            limit: args.paging.rows(),
            after: args.paging.after,
            order: args.sort,
            ..ImagesQuestion::default()
        };
        return images::run(question, args.images, args.export.export, context);
    }
    if args.events {
        return events::run(query, context);
    }
    let question = SearchQuestion {
        query: query.clone(),
        limit: args.paging.rows(),
        after: args.paging.after,
        explain: args.explain,
        facets: args.facets,
        order: args.sort,
        all_versions: args.all_versions,
        per_site: args.per_site,
        distinct: args.distinct,
        prefer: args.prefer.join(" "),
        near: args.near,
        exact: args.exact,
    };
    if let Some(format) = args.export.export {
        return export::run(&question, format, &args.export, context);
    }
    if args.watch {
        return watch::run(question, context);
    }
    let flags = repeat_flags(&question);
    if args.concordance.concordance {
        let question = ConcordanceQuestion {
            query: question.query,
            limit: question.limit,
            after: question.after,
            order: question.order,
            all_versions: question.all_versions,
            ..ConcordanceQuestion::default()
        };
        return concordance::run(question, &args.concordance, &flags, context);
    }
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    print(&answer, &query, &flags, context)?;
    Ok(Outcome::Done)
}

/// Returns the flags that repeat the search.
fn repeat_flags(question: &SearchQuestion) -> String {
    let mut flags = sort_flag(question.order);
    if question.all_versions {
        flags.push_str(" --all-versions");
    }
    if question.per_site > 0 {
        flags.push_str(&format!(" --per-site {}", question.per_site));
    }
    if question.distinct {
        flags.push_str(" --distinct");
    }
    if !question.prefer.is_empty() {
        flags.push_str(&format!(" --prefer {}", shell_word(&question.prefer)));
    }
    if question.near {
        flags.push_str(" --near");
    }
    if question.exact {
        flags.push_str(" --exact");
    }
    flags
}

fn sort_flag(order: SearchOrder) -> String {
    match order {
        SearchOrder::Relevance => String::new(),
        SearchOrder::Newest => " --sort newest".to_owned(),
        SearchOrder::Oldest => " --sort oldest".to_owned(),
        SearchOrder::Url => " --sort url".to_owned(),
    }
}

fn print(answer: &Answer<SearchBody>, query: &str, flags: &str, context: &mut Context) -> anyhow::Result<()> {
    let body = &answer.body;
    let mut found = counted(body.summary.total, "result", "results");
    if !body.summary.total_is_exact {
        found.insert_str(0, "more than ");
    }
    if body.summary.shown_total < body.summary.total {
        found.push_str(&format!(", {} after grouping,", count(body.summary.shown_total)));
    }
    head(
        answer.epoch,
        &found,
        body.summary.search_epoch,
        body.summary.took_ms,
        &mut context.out,
    )?;
    notes(&body.summary.notes, &mut context.out)?;
    for hit in &body.hits {
        hit_text(hit, &mut context.out)?;
    }
    for facet in &body.facets {
        facet_text(facet, &mut context.out)?;
    }
    years_text(&body.years, &mut context.out)?;
    let next_page = format!(
        "weft search {}{flags}{}",
        shell_word(query),
        context.archive_flag()
    );
    let all = format!("{next_page} --export csv");
    paging::more(&mut context.out, &all, &next_page, body.next.as_deref())?;
    Ok(())
}

/// Prints the number of results and the epoch they are from.
fn head(epoch: u64, found: &str, search_epoch: u64, took_ms: f64, out: &mut Out) -> std::io::Result<()> {
    let mut line = format!("{found} in {took_ms:.1} ms");
    if search_epoch < epoch {
        line.push_str(&format!(" (search covers epoch {search_epoch} of {epoch})"));
    }
    writeln!(out, "{line}")
}

fn notes(notes: &[SearchNote], out: &mut Out) -> std::io::Result<()> {
    for note in notes {
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
        hit.inlinks
            .map(|inlinks| counted(inlinks, "in-link", "in-links"))
            .unwrap_or_default(),
        if hit.score > 0.0 {
            format!("score {:.3}", hit.score)
        } else {
            String::new()
        },
        missing(hit),
        more(hit.of_site, "from this site"),
        more(hit.of_digest, "with this content"),
        similar(hit),
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

/// Formats the words of the query that the page lacks.
fn missing(hit: &SearchHit) -> String {
    match hit.missing.as_slice() {
        [] => String::new(),
        words => format!("missing: {}", words.join(" ")),
    }
}

/// Formats the number of results in a group.
fn more(group: Option<u64>, what: &str) -> String {
    match group {
        Some(group) if group > 1 => format!("{} {what}", counted(group, "result", "results")),
        _ => String::new(),
    }
}

/// Formats the number of similar results and the query that finds them.
fn similar(hit: &SearchHit) -> String {
    match (more(hit.of_near, "like it"), &hit.like) {
        (more, Some(like)) if !more.is_empty() => format!("{more}: {like}"),
        _ => String::new(),
    }
}

/// Formats the time of the page version, and whether it is still current.
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

/// Prints an explanation: a tree of `value`, `description` and `details`. Any other value is
/// printed as JSON.
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

/// Prints the results per year, with their share per thousand documents.
fn years_text(years: &[YearCount], out: &mut Out) -> std::io::Result<()> {
    let years: Vec<String> = years
        .iter()
        .filter(|year| year.count > 0)
        .map(|year| {
            let share = year.count as f64 * 1000.0 / year.documents.max(1) as f64;
            format!("{} {} ({share:.1} of 1,000)", year.year, count(year.count))
        })
        .collect();
    if years.is_empty() {
        return Ok(());
    }
    let name = out.style.dim("years");
    writeln!(out, "\n{name}: {}", years.join(", "))
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
    let cut = if values.len() < FACET_VALUES_MAX {
        String::new()
    } else {
        format!(" (the {FACET_VALUES_MAX} most frequent; all results: --export csv)")
    };
    writeln!(out, "\n{field}: {}{cut}", clean(&values.join(", ")))
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
