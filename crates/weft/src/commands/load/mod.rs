//! `weft load`: asks the owner of the archive (this process if there is no other) to load inputs,
//! shows progress, and prints a summary.
//!
//! Both cases share one code path: the load is a job of the owner, which this command only watches.

mod common_crawl;
mod from_facts;
mod inherited_list;
mod keep;
mod progress;
mod retry;
mod summary;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use archive::question::{
    Answer, Body, DocumentScope, FactsPlace, InputState, JobBody, JobState, LedgerRow, LinkScope,
    LoadRequest, OptionalStage,
};
use archive::{Archive, OpenSettings};
use clap::builder::TypedValueParser;
use inputs::LoadInput;
use inputs::{ResolvedInput, Sources, is_address, path_of, path_text, resolve_inputs, without_secrets};
use store::{Retention, RetentionMode};

use crate::ask;
use crate::commands::store::protect::MODES;
use crate::commands::store::retention::{end_of_date, end_of_span};
use crate::context::Context;
use crate::flag_values::{choice, one_of, size, value, whole};
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::store_args::{StoreArgs, only_in_long_help, place};
use crate::style::clean;
use progress::Progress;

/// The file whose presence makes a directory an archive.
const ARCHIVE_SETTINGS: &str = "weft.json";

const EXAMPLES: &str = "\
Examples:
  weft load crawls/*.warc.gz
  weft load crawls/ --collection autumn     a folder: archive files are found by name and content
  weft load @list.txt                       a path list: one file per line (also *.paths, *.paths.gz)
  weft load s3://bucket/crawls/             a folder of an S3 store, or one of its objects
  weft load 's3://bucket/crawls/*.wat.gz'   patterns work for S3, too
  weft load https://example.org/x.warc.gz   a file on a web server, read with range requests
  weft load crawl.wacz                      the WARC files in a package (WACZ)
  weft load collection.json                 the packages that a list of packages names (multi-wacz)
  weft load list.json --allow-elsewhere cdn.example.org
                                            allow packages of the list on another host
  weft load index.cdxj cdx-cluster/         captures of other tools' indexes, without records
  weft load cc:CC-MAIN-2026-43 --match example.com/
                                            Common Crawl's captures of this site, by its index
  weft load --keep crawls/ --volume /disks/a --volume /disks/b
                                            store the files first, then load from the store
  weft load --keep --retain 10y crawls/     also protect them in the store for ten years
  weft load big.warc.gz --json | tail -1    the result as JSON
  weft load --retry                         retry what failed
  weft load --documents none x.warc.gz      only pages in search (set by an archive's first load)
  weft load --from-facts /mnt/facts         from tables that Spark wrote; no input is read

Loading a file again, under any name, adds nothing. An interrupted load continues
where it stopped when the same command is run again. A file that is still being
written is read up to its last complete record; a truncated file that changed a
moment ago is watched for up to five seconds to see whether it grows.

Path lists may also contain addresses. s3:// uses the usual variables:
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, and
AWS_ENDPOINT_URL for stores other than Amazon's; without keys requests are not
signed, as for public buckets. While weft serve runs, it does the reading, and
its variables are used.
Plain text, feeds, PDF, EPUB and office files are found by search like pages.
PDF, EPUB and office files are read in separate processes, each document within
10 s and 512 MiB; if that fails, it is reported and found by its URL only.
Exit code 1: an input failed or its end is cut off (weft status --ledger),
records went to quarantine (weft status --quarantine), or an input was loaded
before and keeps another label than --collection gives.

In a folder, every file named like an archive (x.warc.gz, x.arc, ...) is an
input, whatever its content, and so is every file that begins like an archive;
other files are counted, and listed with -v. A path list among other inputs is
not expanded unless it is marked (@list.paths).";

const FEW_EXAMPLES: &str = "\
Examples:
  weft load crawls/*.warc.gz
  weft load crawls/ --collection autumn     a folder
  weft load @list.txt                       a path list: one file per line
  weft load s3://bucket/crawls/             a folder of an S3 store
  weft load crawl.wacz                      the WARC files in a package
  weft load --retry                         retry what failed

Loading a file again adds nothing. The same command continues an interrupted load.";

/// Flags of `weft load`.
#[derive(Debug, clap::Args)]
#[command(after_help = FEW_EXAMPLES, after_long_help = EXAMPLES, mut_args(only_in_long_help))]
pub(crate) struct Args {
    /// Files, folders, globs or path lists; paths, or addresses (s3://, https://, http://,
    /// store://)
    #[arg(required_unless_present_any = ["retry", "from_facts"], value_name = "INPUT")]
    inputs: Vec<OsString>,
    /// Retry failed and missing inputs, under the names and labels they have in the ledger
    #[arg(long, conflicts_with_all = ["inputs", "keep", "collection"])]
    retry: bool,
    /// Build the archive from tables of facts that Spark wrote to this folder or s3://BUCKET/NAME,
    /// without reading inputs again
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["inputs", "retry", "keep", "collection", "rate", "threads", "verify", "epoch_bytes", "stage_off"], hide_short_help = true)]
    from_facts: Option<PathBuf>,
    /// Allow lists of packages to refer to this place besides their own origin: HOST, HOST:PORT,
    /// s3://BUCKET, store://BUCKET or a folder (may be repeated)
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    allow_elsewhere: Vec<OsString>,
    /// Label for these inputs, to filter by
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Links to keep: all, or only those to other domains (fixed by an archive's first load)
    #[arg(long, value_parser = one_of([LinkScope::All, LinkScope::External], LinkScope::name))]
    links: Option<LinkScope>,
    /// What search covers besides pages: nothing (none), plain text and feeds (text), PDF, EPUB and
    /// office files as well (all), images as well, which are all decoded (images), or their time and
    /// place as well (exif) (fixed by an archive's first load) [default: all]
    #[arg(long, value_name = "WHICH", conflicts_with = "from_facts", value_parser = one_of([DocumentScope::None, DocumentScope::Text, DocumentScope::All, DocumentScope::Images, DocumentScope::Exif], DocumentScope::name))]
    documents: Option<DocumentScope>,
    /// Where to keep facts, open tables with a row for every capture and link: a folder,
    /// s3://bucket/name, store://bucket/name, or none (fixed by an archive's first load) [default:
    /// in the archive]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    facts: Option<OsString>,
    /// Keep the text of pages among the facts (fixed by an archive's first load)
    #[arg(long, hide_short_help = true)]
    facts_text: bool,
    /// Load at most this many pages per second
    #[arg(long, value_name = "PAGES_PER_S", value_parser = rate())]
    rate: Option<f64>,
    /// Inputs and records processed in parallel [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = whole(1_u16..=1024, 4))]
    threads: Option<u16>,
    /// Verify the digests that records declare; mismatches are listed, nothing is dropped
    #[arg(long)]
    verify: bool,
    /// Commit, and so make captures visible, after at most this many bytes of them [default: 3/64
    /// of --memory, or 2 s]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = size())]
    epoch_bytes: Option<u64>,
    /// Put local inputs into the store first, verify them, and load them from there
    #[arg(long)]
    keep: bool,
    /// Bucket for the inputs of --keep
    #[arg(
        long,
        value_name = "NAME",
        default_value = "inputs",
        requires = "keep",
        hide_short_help = true
    )]
    keep_bucket: String,
    /// Protect the inputs of --keep, new or already stored, for this long: 36h, 30d, 2w, 10y.
    /// Existing protection is never shortened
    #[arg(long, value_name = "SPAN", group = "retention", requires = "keep", value_parser = end_of_span())]
    retain: Option<u64>,
    /// Protect the inputs of --keep until the start of this day, or until this time (UTC)
    #[arg(long, value_name = "DATE", group = "retention", requires = "keep", value_parser = end_of_date(), hide_short_help = true)]
    retain_until: Option<u64>,
    /// Who may lift the protection: users allowed to run weft store retain (governance), or nobody
    /// (compliance)
    #[arg(long, value_name = "MODE", default_value = MODES[0].0, requires = "retention", value_parser = choice(MODES), hide_short_help = true)]
    retain_mode: RetentionMode,
    #[command(flatten)]
    common_crawl: common_crawl::Args,
    #[command(flatten)]
    place: StoreArgs,
    /// Measure without this stage (may be repeated): it is skipped, and nothing is recorded
    #[arg(long, value_name = "STAGE", value_parser = one_of(OptionalStage::ALL, OptionalStage::name), hide_short_help = true)]
    stage_off: Vec<OptionalStage>,
}

impl Args {
    /// Returns the retention for objects that `--keep` puts into the store.
    fn retention(&self) -> Option<Retention> {
        self.retain.or(self.retain_until).map(|until_ms| Retention {
            mode: self.retain_mode,
            until_ms,
        })
    }
}

fn rate() -> impl TypedValueParser<Value = f64> {
    value("a positive number of pages per second", "50 or 0.5", parse_rate)
}

fn parse_rate(text: &str) -> Option<f64> {
    let rate: f64 = text.parse().ok()?;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Parses the location for facts.
fn facts_place(text: &OsStr) -> anyhow::Result<FactsPlace> {
    if text == "none" {
        return Ok(FactsPlace::None);
    }
    if text.is_empty() {
        bail!(WrongUse("--facts requires a folder or none".to_owned()));
    }
    let place = Path::new(text);
    let address = path_text(place);
    if is_address(&address) {
        return facts_address(&address).map(FactsPlace::At);
    }
    let place = std::path::absolute(place).context("find the folder of --facts")?;
    Ok(FactsPlace::At(path_text(&place)))
}

/// Normalises the address of a folder in a store, so that each folder has one form.
fn facts_address(address: &str) -> anyhow::Result<String> {
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    let rest = rest.trim_end_matches('/');
    let (bucket, _) = rest.split_once('/').unwrap_or((rest, ""));
    if !matches!(scheme.as_str(), "s3" | "store") || bucket.is_empty() {
        bail!(WrongUse(format!(
            "--facts {address}: expected a folder, s3://bucket/name, store://bucket/name, or none"
        )));
    }
    Ok(format!("{scheme}://{rest}"))
}

/// Runs `weft load`.
pub(crate) fn run(mut args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    args.inputs = inherited_list::expand(&args.inputs)?;
    args.inputs = common_crawl::fetch_inputs(&args.inputs, &args.common_crawl, context)?;
    let mut request = request(&args)?;
    // Must precede any look-up: from here on `store://` inputs refer to this store.
    context.remote_inputs.use_given(&args.place);
    let mut unkept = 0;
    if args.keep {
        warn_about_empty_folders(&request, context);
        let place = place(&args.place)?;
        (request.inputs, unkept) = keep::keep(&request, &args.keep_bucket, args.retention(), place, context)?;
        if request.inputs.is_empty() {
            bail!("no file was stored, so there is nothing to load");
        }
    }
    let mut settings = OpenSettings::default();
    // Retrying requires an existing archive.
    settings.create = !args.retry;
    settings.links = args.links;
    settings.documents = args.documents;
    settings.facts = request.facts.clone();
    settings.facts_text = args.facts_text;
    if let Some(tables) = &args.from_facts {
        return from_facts::run(tables, &args, settings, context);
    }
    if !args.retry {
        refuse_if_all_missing(&request, context)?;
    }
    let archive = ask::open_with(context, settings)?;
    let stop = Stop::listen()?;
    // With --keep the inputs are addresses by now, and the warning was printed before.
    if !args.keep {
        warn_about_empty_folders(&request, context);
    }
    if args.retry {
        return run_retry(&archive, &request, &stop, context);
    }
    let outcome = run_request(&archive, &request, &stop, context)?;
    // Inputs that could not be kept were not loaded either, even if all others were.
    Ok(if unkept == 0 { outcome } else { Outcome::Losses })
}

/// Runs the loads one after the other until a stop is requested.
fn run_retry(
    archive: &Archive,
    template: &LoadRequest,
    stop: &Stop,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    let requests = retry::requests(archive, template)?;
    if requests.is_empty() && context.json {
        context.out.json(&serde_json::json!({ "retried": 0 }))?;
    } else if requests.is_empty() {
        writeln!(context.out, "nothing to retry")?;
    }
    for request in requests {
        outcome = outcome.max(run_request(archive, &request, stop, context)?);
        if stop.is_requested() {
            break;
        }
    }
    Ok(outcome)
}

/// Fails instead of creating an archive if all inputs are missing: the names are mistyped, or the
/// folder is wrong.
fn refuse_if_all_missing(request: &LoadRequest, context: &Context) -> anyhow::Result<()> {
    let may_be_there =
        |input: &LoadInput| is_address(&input.path) || path_of(&input.path).symlink_metadata().is_ok();
    if context.archive.join(ARCHIVE_SETTINGS).exists() || request.inputs.iter().any(may_be_there) {
        return Ok(());
    }
    // The remaining inputs are patterns, which may match something.
    let found = resolve_inputs(&request.inputs, &[], &Sources::default());
    let told = |input: &ResolvedInput| {
        input
            .problem
            .as_ref()
            .map(|problem| format!("{}: {problem}", input.name))
    };
    let problems: Option<Vec<String>> = found.iter().map(told).collect();
    match problems {
        Some(problems) if !problems.is_empty() => {
            bail!(NotFound(format!(
                "{}; no archive was created",
                problems.join("; ")
            )))
        }
        _ => Ok(()),
    }
}

/// Warns about folders without files. They do not fail the load, but are probably a mistake.
fn warn_about_empty_folders(request: &LoadRequest, context: &Context) {
    for input in &request.inputs {
        let path = path_of(&input.path);
        if path.is_dir() && !contains_a_file(&path) {
            let text = format!(
                "{} {} contains no files",
                context.err_style.warn("warning:"),
                clean(&input.name)
            );
            progress_line(&text);
        }
    }
}

/// Returns whether `folder` contains any file at any depth. If it cannot be listed, the owner
/// reports that.
fn contains_a_file(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return true;
    };
    entries
        .filter_map(Result::ok)
        .any(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => contains_a_file(&entry.path()),
            _ => true,
        })
}

/// Runs a load, shows progress, and prints a summary. The first Ctrl-C cancels the load, which then
/// ends at its next epoch.
pub(crate) fn run_request(
    archive: &Archive,
    request: &LoadRequest,
    stop: &Stop,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let mut progress = Progress::new(context);
    let mut stopping = false;
    let mut unshown = Ok(());
    let (epoch, job) = archive.load(request, &mut |epoch, job| {
        if unshown.is_ok() {
            unshown = progress.show(epoch, job, context);
        }
        if stop.is_requested() && !stopping {
            stopping = true;
            progress.say("stopping at the next epoch (press Ctrl-C again to stop at once)");
        }
        !stopping && unshown.is_ok()
    })?;
    progress.end();
    unshown?;
    if context.json {
        context.out.json(&Answer {
            epoch,
            body: Body::Job(job.clone()),
        })?;
    } else {
        summary::print(archive, &job, context)?;
    }
    outcome(&job, request)
}

fn outcome(job: &JobBody, request: &LoadRequest) -> anyhow::Result<Outcome> {
    match job.state {
        JobState::Failed => bail!(
            "load: {}",
            job.error
                .as_deref()
                .unwrap_or("it failed without giving a reason")
        ),
        JobState::Done if job.inputs == 0 => {
            let names: Vec<String> = request
                .inputs
                .iter()
                .map(|input| without_secrets(&input.name))
                .collect();
            bail!(
                "nothing to load: no WARC, ARC, WAT or WET files in {}",
                names.join(", ")
            )
        }
        JobState::Done
            if job.quarantined + job.inputs_failed + job.inputs_cut == 0
                && job.inputs_of_other_collection == 0
                && !leaves_a_part(job) =>
        {
            Ok(Outcome::Done)
        }
        _ => Ok(Outcome::Losses),
    }
}

/// Returns whether a partly loaded input cannot be continued because its file was replaced.
fn leaves_a_part(job: &JobBody) -> bool {
    let is_part = |row: &LedgerRow| row.state != InputState::Done && !row.missing.is_empty();
    job.problems.iter().any(is_part)
}

fn request(args: &Args) -> anyhow::Result<LoadRequest> {
    let here = std::env::current_dir().context("find the current directory")?;
    Ok(LoadRequest {
        inputs: args
            .inputs
            .iter()
            .map(|name| input(name, &here))
            .collect::<Result<_, _>>()?,
        allow_elsewhere: args
            .allow_elsewhere
            .iter()
            .map(|place| elsewhere(place, &here))
            .collect(),
        collection: args.collection.clone(),
        links: args.links,
        documents: args.documents,
        facts: args.facts.as_deref().map(facts_place).transpose()?,
        facts_text: args.facts_text,
        rate_pages_per_s: args.rate,
        threads: args.threads.map(usize::from),
        verify: args.verify,
        epoch_bytes: args.epoch_bytes,
        stages_off: args.stage_off.clone(),
    })
}

/// Returns a place that lists may refer to: a folder as an absolute path, anything else unchanged.
fn elsewhere(place: &OsStr, here: &Path) -> String {
    let text = path_text(place.as_ref());
    let is_folder = !is_address(&text) && (text.contains('/') || here.join(place).is_dir());
    if is_folder {
        path_text(&here.join(place))
    } else {
        text
    }
}

/// Makes the request for one input. The owner may run in another directory, so paths become
/// absolute; addresses stay unchanged. Both are sent as escaped text, because a path may contain
/// any bytes.
fn input(name: &OsStr, here: &Path) -> Result<LoadInput, WrongUse> {
    let bytes = name.as_bytes();
    let (mark, typed) = match bytes.strip_prefix(b"@") {
        Some(list) => ("@", OsStr::from_bytes(list)),
        None => ("", name),
    };
    if typed.is_empty() {
        return Err(WrongUse(format!("{name:?} is not an input")));
    }
    let (typed, path) = match typed.to_str().filter(|typed| is_address(typed)) {
        Some(address) => (path_text(address.as_ref()), path_text(address.as_ref())),
        None => {
            let typed = ask::path_or_escaped(typed, here);
            let path = path_text(&here.join(path_of(&typed)));
            (typed, path)
        }
    };
    Ok(LoadInput {
        path,
        name: format!("{mark}{typed}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_sent_absolute_and_keep_their_names() {
        let here = Path::new("/data");
        let pair = |name: &str| {
            input(name.as_ref(), here)
                .map(|input| (input.name, input.path))
                .ok()
        };
        assert_eq!(
            pair("a/b.warc"),
            Some(("a/b.warc".into(), "/data/a/b.warc".into()))
        );
        assert_eq!(pair("/x.warc"), Some(("/x.warc".into(), "/x.warc".into())));
        assert_eq!(pair("@l.txt"), Some(("@l.txt".into(), "/data/l.txt".into())));
        for address in ["s3://b/x", "https://h/x?y", "store://b"] {
            assert_eq!(pair(address), Some((address.into(), address.into())));
        }
        assert_eq!(pair("@s3://b/l"), Some(("@s3://b/l".into(), "s3://b/l".into())));
        // Bytes that are not UTF-8 are escaped, and so is a backslash that would read as an escape.
        assert_eq!(pair("\\xe9"), Some(("\\x5cxe9".into(), "/data/\\x5cxe9".into())));
        let bytes: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"caf\xe9");
        assert_eq!(
            input(bytes, here).map(|input| input.path).ok(),
            Some("/data/caf\\xe9".into())
        );
        assert_eq!(pair("@"), None);
        assert_eq!(pair(""), None);
    }

    #[test]
    fn rates_are_positive_numbers() {
        assert_eq!(parse_rate("2.5"), Some(2.5));
        for bad in ["0", "-1", "inf", "NaN", "fast"] {
            assert_eq!(parse_rate(bad), None, "{bad}");
        }
    }
}
