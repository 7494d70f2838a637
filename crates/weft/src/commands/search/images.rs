//! `weft search --images`: images by the words that describe them on pages, or by similarity.

use std::io::Write;

use archive::question::{Answer, ImageCapture, ImageHit, ImagesBody, ImagesQuestion};
use export::ExportFormat;

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::paging::{self, TableFormat};
use crate::stdout::Out;
use crate::style::{clean, shell_word};
use crate::units::{count, counted, day};

/// Flags of a search by images.
#[derive(Debug, clap::Args)]
// The flags of `weft search` have a group of this name already.
#[group(skip)]
pub(super) struct Args {
    /// Find images by the words that describe them on pages: alternative text, caption, title,
    /// heading, and the text near them
    #[arg(long, conflicts_with_all = ["explain", "facets", "per_site", "distinct", "near", "prefer", "output", "all_versions", "concordance", "suggest", "trends", "watch"])]
    pub(super) images: bool,
    /// With --images: an image is a result for each page that shows it
    #[arg(long, requires = "images", hide_short_help = true)]
    every_page: bool,
    /// With --images, instead of a query: captured images that look like the one with this hash
    #[arg(long, value_name = "HASH", requires = "images", conflicts_with_all = ["query", "every_page"], hide_short_help = true)]
    same: Option<String>,
}

/// Prints the images, or writes all of them as a table. The question has no value for the flags of
/// `args`.
pub(super) fn run(
    question: ImagesQuestion,
    args: Args,
    format: Option<ExportFormat>,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let question = ImagesQuestion {
        every_page: args.every_page,
        same: args.same,
        ..question
    };
    if format.is_some() {
        let table = TableFormat::on_standard_output(format);
        table.write(&ask::open(context)?, question, None, &mut context.out)?;
        return Ok(Outcome::Done);
    }
    let mut next_page = "weft search --images".to_owned();
    match &question.same {
        Some(hash) => next_page.push_str(&format!(" --same {}", shell_word(hash))),
        None => next_page.push_str(&format!(" {}", shell_word(&question.query))),
    }
    if question.every_page {
        next_page.push_str(" --every-page");
    }
    next_page.push_str(&super::sort_flag(question.order));
    next_page.push_str(&context.archive_flag());
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    print(&answer, &mut context.out)?;
    let all = format!("{next_page} --format csv");
    paging::more(&mut context.out, &all, &next_page, answer.body.next.as_deref())?;
    Ok(Outcome::Done)
}

fn print(answer: &Answer<ImagesBody>, out: &mut Out) -> std::io::Result<()> {
    let body = &answer.body;
    let mut found = counted(body.summary.shown_total, "image", "images");
    if body.summary.shown_total < body.summary.total {
        found.push_str(&format!(" in {}", counted(body.summary.total, "place", "places")));
    }
    super::head(
        answer.epoch,
        &found,
        body.summary.search_epoch,
        body.summary.took_ms,
        out,
    )?;
    super::notes(&body.summary.notes, out)?;
    for hit in &body.hits {
        image_text(hit, out)?;
    }
    Ok(())
}

fn image_text(hit: &ImageHit, out: &mut Out) -> std::io::Result<()> {
    let style = out.style;
    let texts = [&hit.alt, &hit.caption, &hit.title];
    let label = texts.into_iter().find(|text| !text.trim().is_empty());
    let label = label.map_or("(no description)", String::as_str);
    writeln!(out, "\n{}", style.bold(&clean(label)))?;
    writeln!(out, "  {}", style.address(&clean(&hit.url)))?;
    let facts: Vec<String> = facts(hit).into_iter().filter(|fact| !fact.is_empty()).collect();
    if !facts.is_empty() {
        writeln!(out, "  {}", style.dim(&clean(&facts.join(" · "))))?;
    }
    if let Some(page) = &hit.page {
        let title = match page.title.as_str() {
            "" => String::new(),
            title => format!(" ({title})"),
        };
        let day = day(&page.fetch_time);
        writeln!(out, "  on {}{}, {day}", clean(&page.url), clean(&title))?;
    }
    let snippet = super::snippet_text(&hit.snippet, style);
    if !snippet.is_empty() {
        writeln!(out, "  {snippet}")?;
    }
    Ok(())
}

fn facts(hit: &ImageHit) -> Vec<String> {
    let size = match (hit.width, hit.height) {
        (Some(width), Some(height)) => format!("{width} x {height}"),
        _ => String::new(),
    };
    let pages = match (hit.pages.filter(|pages| *pages > 1), &hit.like) {
        (Some(pages), Some(like)) => format!("on {} pages: {like}", count(pages)),
        _ => String::new(),
    };
    let mut facts = vec![size];
    match &hit.capture {
        Some(capture) => facts.extend(capture_facts(capture)),
        None => facts.push("not captured".to_owned()),
    }
    facts.push(pages);
    facts
}

fn capture_facts(capture: &ImageCapture) -> [String; 3] {
    let time = match (&capture.since, &capture.until) {
        (Some(since), Some(until)) => format!("{} to {}", day(since), day(until)),
        (Some(since), None) => format!("since {}", day(since)),
        (None, _) => day(&capture.fetch_time),
    };
    let hash = capture.hash.as_ref();
    let same = hash.map_or_else(String::new, |hash| format!("--same {hash}"));
    [capture.mime.clone(), time, same]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_say_only_what_is_known() {
        let mut hit = ImageHit::default();
        assert_eq!(facts(&hit), ["", "not captured", ""]);
        hit.width = Some(640);
        hit.height = Some(480);
        hit.pages = Some(3);
        hit.like = Some("like:0123456789abcdef".into());
        hit.capture = Some(ImageCapture {
            mime: "image/png".into(),
            fetch_time: "2014-01-26T20:06:24.000Z".into(),
            hash: Some("0123456789abcdef".into()),
            ..ImageCapture::default()
        });
        assert_eq!(
            facts(&hit),
            [
                "640 x 480",
                "image/png",
                day("2014-01-26T20:06:24.000Z").as_str(),
                "--same 0123456789abcdef",
                "on 3 pages: like:0123456789abcdef",
            ]
        );
    }
}
