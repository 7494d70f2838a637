//! `weft pack`: writes a folder as a WARC.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use generate::pack::{self, Error, Report, Settings};

use crate::context::Context;
use crate::exit::print_error;
use crate::flag_values::value;
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::check_name;
use crate::style::clean;
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft pack site --url-prefix https://example.com/ site.warc.gz
  weft pack notes --url-prefix https://notes.example/ --date 2024-05-18T02:00:00Z notes.warc.gz

Markdown becomes HTML, index files represent their folder, hidden files are skipped.";

/// Flags of `weft pack`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder to pack
    dir: PathBuf,
    /// URL of the folder
    #[arg(long, value_name = "URL")]
    url_prefix: String,
    /// Date of all records [default: when each file was last modified]
    #[arg(long, value_name = "TIME", value_parser = date_ms())]
    date: Option<i64>,
    /// File to write: gzip-compressed, or plain if its name ends in .warc
    out: PathBuf,
}

/// Runs `weft pack`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_name(&args.out)?;
    let settings = Settings {
        url_prefix: args.url_prefix.clone(),
        date_ms: args.date,
    };
    let report = pack::write(&args.dir, &args.out, &settings).map_err(|error| match error {
        Error::Prefix(_) => anyhow::Error::new(WrongUse(error.to_string())),
        error => error.into(),
    })?;
    if context.json {
        context.out.json(&report)?;
    } else {
        print(args, &report, context)?;
    }
    if report.files == 0 {
        let dir = args.dir.display();
        print_error(
            &anyhow::anyhow!("{dir} contains no file that can be packed"),
            context,
        );
        return Ok(Outcome::Losses);
    }
    Ok(if report.skipped.is_empty() {
        Outcome::Done
    } else {
        Outcome::Losses
    })
}

fn date_ms() -> impl TypedValueParser<Value = i64> {
    value("a time", "2024-05-18T02:00:00Z", |text| {
        warc::parse_date(text).map(|date| date.ms)
    })
}

fn print(args: &Args, report: &Report, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let style = out.style;
    for skipped in &report.skipped {
        let path = clean(&skipped.path.display().to_string());
        writeln!(
            out,
            "{} {path}: {}",
            style.warn("skipped"),
            clean(&skipped.reason)
        )?;
    }
    writeln!(
        out,
        "{}: {}, {}",
        clean(&args.out.display().to_string()),
        counted(report.files, "file", "files"),
        bytes(report.bytes)
    )?;
    Ok(())
}
