//! `weft page`: shows everything known about one URL.

use std::io::Write;

use archive::question::{AttachmentRow, CdxRow, Page, PageBody};

use super::page_text;
use crate::ask;
use crate::context::Context;
use crate::flag_values::date;
use crate::outcome::Outcome;
use crate::style::{clean, clean_lines, shell_word};
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, time};

const EXAMPLES: &str = "\
Examples:
  weft page http://www.iana.org/
  weft page iana.org --json
  weft page iana.org --text --at 2014-01    the whole text of the version of that time";

/// Flags of `weft page`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URL or URL key
    url: String,
    /// Print only the text of the page, all of it
    #[arg(long)]
    text: bool,
    /// With --text: the version that was current at the end of this time
    #[arg(long, value_name = "TIME", value_parser = date(), requires = "text")]
    at: Option<String>,
}

/// Number of captures shown; `weft cdx` shows all.
const CAPTURES_SHOWN: usize = 10;

/// Number of past versions shown; `--json` has more.
const VERSIONS_SHOWN: usize = 10;

/// Number of attachments shown; `--json` has more.
const ATTACHMENTS_SHOWN: usize = 10;

/// Number of characters of text shown; `weft record --payload` prints the whole page.
const TEXT_CHARS_SHOWN: usize = 600;

/// Runs `weft page`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.text {
        return page_text::run(args.url, args.at, context);
    }
    let Some(answer) = ask::ask_or_print(context, Page { url: args.url })? else {
        return Ok(Outcome::Done);
    };
    let page = &answer.body;
    head(page, answer.epoch, context)?;
    facts(page, context)?;
    captures(page, context)?;
    past_versions(page, context)?;
    attachments(page, context)?;
    text(page, context)?;
    Ok(Outcome::Done)
}

fn head(page: &PageBody, epoch: u64, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let title = if page.title.is_empty() {
        "(no title)"
    } else {
        &page.title
    };
    if page.is_page || page.is_document {
        let title = out.style.bold(&clean(title));
        writeln!(out, "{title}")?;
    }
    let url = if page.url.is_empty() {
        &page.url_key
    } else {
        &page.url
    };
    let url = out.style.address(&clean(url));
    writeln!(out, "{url}")?;
    let line = format!(
        "{} · domain {} · epoch {}",
        page.url_key,
        page.domain,
        count(epoch)
    );
    let line = out.style.dim(&clean(&line));
    writeln!(out, "{line}\n")?;
    Ok(())
}

fn facts(page: &PageBody, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let mut line = |name: &str, value: String| -> std::io::Result<()> {
        if value.is_empty() {
            return Ok(());
        }
        let name = out.style.dim(&format!("{name:<9}"));
        writeln!(out, "{name} {}", clean(&value))
    };
    line("state", state(page))?;
    line(
        "fetched",
        page.fetch_time.as_deref().map(time).unwrap_or_default(),
    )?;
    line("since", page.since.as_deref().map(time).unwrap_or_default())?;
    line(
        "last seen",
        page.last_seen.as_deref().map(time).unwrap_or_default(),
    )?;
    line("language", page.language.clone())?;
    line("canonical", page.canonical.clone().unwrap_or_default())?;
    line("robots", page.robots.clone().unwrap_or_default())?;
    line("links", links(page))?;
    line(
        "in-links",
        format!(
            "{} ({} from other domains)",
            count(page.inlinks),
            count(page.inlinks_external)
        ),
    )?;
    line("digest", page.digest.clone())?;
    Ok(())
}

fn state(page: &PageBody) -> String {
    match (page.captured, page.fetch_time.is_some(), page.is_page) {
        (true, true, false) if page.is_document => {
            format!("document \u{b7} {} \u{b7} {}", status(page.status), page.mime)
        }
        (false, ..) => "not captured, only linked".into(),
        (true, false, _) => "captured, but without a current version (only errors or revisits)".into(),
        (true, true, true) => format!("page · {} · {}", status(page.status), page.mime),
        (true, true, false) => format!("captured · {} · {}", status(page.status), page.mime),
    }
}

fn status(status: u16) -> String {
    if status == 0 {
        "no status".into()
    } else {
        format!("status {status}")
    }
}

fn links(page: &PageBody) -> String {
    match page.links_dropped {
        0 => count(page.links),
        dropped => format!(
            "{} ({} more were dropped: at most 10,000 per page are kept)",
            count(page.links),
            count(dropped)
        ),
    }
}

fn past_versions(page: &PageBody, context: &mut Context) -> anyhow::Result<()> {
    if page.past_versions.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        ("since", Column::Left),
        ("until", Column::Left),
        ("past version", Column::Flexible),
    ]);
    for version in page.past_versions.iter().take(VERSIONS_SHOWN) {
        table.row([time(&version.since), time(&version.until), clean(&version.title)]);
    }
    writeln!(context.out)?;
    table.print(&mut context.out)?;
    let hidden = page.past_versions.len().saturating_sub(VERSIONS_SHOWN);
    if hidden > 0 {
        let line = format!("{} more: --json", counted(hidden as u64, "version", "versions"));
        let line = context.out.style.dim(&line);
        writeln!(context.out, "{line}")?;
    }
    Ok(())
}

fn captures(page: &PageBody, context: &mut Context) -> anyhow::Result<()> {
    if page.captures.is_empty() {
        return Ok(());
    }
    writeln!(context.out)?;
    let mut table = Table::new(&[
        ("captured", Column::Left),
        ("status", Column::Right),
        ("type", Column::Left),
        ("size", Column::Right),
        ("input", Column::Flexible),
        ("offset", Column::Right),
    ]);
    for row in page.captures.iter().take(CAPTURES_SHOWN) {
        table.row(capture_cells(row));
    }
    table.print(&mut context.out)?;
    let hidden = page.captures.len().saturating_sub(CAPTURES_SHOWN);
    if hidden > 0 {
        let all = format!("weft cdx {}{}", shell_word(&page.url), context.archive_flag());
        let line = format!("{} more: {all}", counted(hidden as u64, "capture", "captures"));
        let line = context.out.style.dim(&line);
        writeln!(context.out, "{line}")?;
    }
    Ok(())
}

fn capture_cells(row: &CdxRow) -> [String; 6] {
    let status = if row.status == 0 {
        "-".into()
    } else {
        row.status.to_string()
    };
    [
        time(&row.fetch_time),
        status,
        row.mime.clone(),
        bytes(row.length),
        row.filename.clone(),
        // Without separators, so that it can be pasted, for example into `weft record --capture`.
        row.offset.to_string(),
    ]
}

fn attachments(page: &PageBody, context: &mut Context) -> anyhow::Result<()> {
    if page.attachments.is_empty() {
        return Ok(());
    }
    writeln!(context.out)?;
    let mut table = Table::new(&[
        ("attached", Column::Left),
        ("kind", Column::Left),
        ("address", Column::Flexible),
        ("type", Column::Left),
        ("size", Column::Right),
        ("input", Column::Left),
        ("offset", Column::Right),
    ]);
    for row in page.attachments.iter().take(ATTACHMENTS_SHOWN) {
        table.row(attachment_cells(row));
    }
    table.print(&mut context.out)?;
    let hidden = page.attachments.len().saturating_sub(ATTACHMENTS_SHOWN);
    if hidden > 0 {
        let line = format!(
            "{} more: --json",
            counted(hidden as u64, "attachment", "attachments")
        );
        let line = context.out.style.dim(&line);
        writeln!(context.out, "{line}")?;
    }
    Ok(())
}

fn attachment_cells(row: &AttachmentRow) -> [String; 7] {
    let capture = &row.capture;
    [
        time(&capture.fetch_time),
        row.kind.name().to_owned(),
        capture.url.clone(),
        capture.mime.clone(),
        bytes(capture.length),
        capture.filename.clone(),
        // As in the table of captures.
        capture.offset.to_string(),
    ]
}

fn text(page: &PageBody, context: &mut Context) -> anyhow::Result<()> {
    let text = page.text_preview.trim();
    if text.is_empty() {
        return Ok(());
    }
    let shown: String = text.chars().take(TEXT_CHARS_SHOWN).collect();
    let cut = if shown.len() < text.len() || page.text_truncated {
        "…"
    } else {
        ""
    };
    writeln!(context.out, "\n{}{cut}", clean_lines(&shown))?;
    Ok(())
}
