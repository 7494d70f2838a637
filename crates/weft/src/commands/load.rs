//! `weft load`: asks the owner (this process, if nobody else is) to read inputs, shows how it goes, and
//! sums up.
//!
//! One code path for both: the load is a job of the owner; this command only watches it.

mod progress;
mod summary;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::question::{Answer, Body, JobBody, LoadInput, LoadRequest};
use archive::{Archive, OpenSettings};
use clap::ValueEnum;
use extract::LinkScope;

use crate::ask;
use crate::context::Context;
use crate::exit::{Outcome, WrongUse};
use crate::stop::Stop;

const EXAMPLES: &str = "\
Examples:
  weft load crawls/*.warc.gz
  weft load crawls/ --collection autumn     a folder, its archive files found by content
  weft load @list.txt                       a path list: one file a line (also *.paths, *.paths.gz)
  weft load big.warc.gz --json | tail -1    the result as JSON

Loading a file again, under any name, adds nothing. An interrupted load goes on
where it stopped when the same command is given again. A file that is still
being written is read as far as it is whole.
Exit code 1: an input failed, or records went to quarantine
(weft status --quarantine lists them).";

/// Flags of `weft load`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files, folders, globs or path lists
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,
    /// A label for these inputs, to filter by
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Which links to keep: all, or only those to other domains (settled by an archive's first load)
    #[arg(long, value_enum)]
    links: Option<Links>,
    /// Load no faster than this
    #[arg(long, value_name = "PAGES_PER_S", value_parser = parse_rate)]
    rate: Option<f64>,
    /// Inputs and records worked on at once [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Check the digests that records declare; mismatches are listed, nothing is dropped
    #[arg(long)]
    verify: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Links {
    All,
    External,
}

impl Links {
    fn word(self) -> &'static str {
        match self {
            Links::All => "all",
            Links::External => "external",
        }
    }

    fn scope(self) -> LinkScope {
        match self {
            Links::All => LinkScope::All,
            Links::External => LinkScope::External,
        }
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("expected a number of pages a second above 0".into()),
    }
}

/// Runs `weft load`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let request = request(&args)?;
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.links = args.links.map(Links::scope);
    let archive = ask::open_with(context, settings)?;
    let stop = Stop::listen()?;
    let last = watch(&archive, &request, &stop, context)?;
    finish(&archive, &last, context)
}

fn request(args: &Args) -> anyhow::Result<LoadRequest> {
    let here = std::env::current_dir().context("find the current directory")?;
    Ok(LoadRequest {
        inputs: args
            .inputs
            .iter()
            .map(|name| input(name, &here))
            .collect::<Result<_, _>>()?,
        collection: args.collection.clone(),
        links: args.links.map(|links| links.word().to_owned()),
        rate_pages_per_s: args.rate,
        threads: args.threads.map(usize::from),
        verify: args.verify,
        stages_off: Vec::new(),
    })
}

/// The owner may stand in another directory: it is sent absolute paths.
fn input(name: &str, here: &Path) -> Result<LoadInput, WrongUse> {
    let (mark, path) = match name.strip_prefix('@') {
        Some(list) => ("@", list),
        None => ("", name),
    };
    if path.is_empty() {
        return Err(WrongUse(format!("{name:?} names no input")));
    }
    let path: PathBuf = here.join(path);
    Ok(LoadInput {
        name: name.to_owned(),
        path: format!("{mark}{}", path.display()),
    })
}

/// Follows the load to its end. A first Ctrl-C cancels it; it then ends at its next epoch.
fn watch(
    archive: &Archive,
    request: &LoadRequest,
    stop: &Stop,
    context: &mut Context,
) -> anyhow::Result<(u64, JobBody)> {
    let mut progress = progress::Progress::new(context);
    let mut shown = Ok(());
    let mut told = false;
    let last = archive.load(request, &mut |epoch, job| {
        if shown.is_ok() {
            shown = progress.show(epoch, job, context);
        }
        if stop.asked() && !told {
            told = true;
            progress.say("stopping at the next epoch (Ctrl-C again stops at once)");
        }
        !stop.asked() && shown.is_ok()
    })?;
    progress.end();
    shown?;
    Ok(last)
}

fn finish(
    archive: &Archive,
    (epoch, job): &(u64, JobBody),
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if context.json {
        context.out.json(&Answer {
            epoch: *epoch,
            body: Body::Job(job.clone()),
        })?;
    } else {
        summary::print(archive, job, context)?;
    }
    match job.state.as_str() {
        "failed" => anyhow::bail!(
            "load: {}",
            job.error.as_deref().unwrap_or("failed without a reason")
        ),
        "done" if job.quarantined == 0 && job.inputs_failed == 0 => Ok(Outcome::Done),
        _ => Ok(Outcome::Losses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_sent_absolute_and_keep_their_names() {
        let here = Path::new("/data");
        let pair = |name| input(name, here).map(|input| (input.name, input.path)).ok();
        assert_eq!(
            pair("a/b.warc"),
            Some(("a/b.warc".into(), "/data/a/b.warc".into()))
        );
        assert_eq!(pair("/x.warc"), Some(("/x.warc".into(), "/x.warc".into())));
        assert_eq!(pair("@l.txt"), Some(("@l.txt".into(), "@/data/l.txt".into())));
        assert_eq!(pair("@"), None);
        assert_eq!(pair(""), None);
    }

    #[test]
    fn rates_are_positive_numbers() {
        assert_eq!(parse_rate("2.5"), Ok(2.5));
        for bad in ["0", "-1", "inf", "NaN", "fast"] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
    }
}
