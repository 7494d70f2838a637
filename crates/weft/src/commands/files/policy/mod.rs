//! `weft files policy`: acts on files by rules.

use std::io::Write;
use std::path::{Path, PathBuf};

use ::catalogue::ActState;
use anyhow::Context as _;
use policy::{NameResolver, Policy, Rules, RunError};

use super::{JsonPath, display_path, missing, open};
use crate::commands::store::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::stop::Stop;
use crate::store_args::{StoreArgs, place};
use crate::units::{bytes, counted};
use system::users::{gid, uid};

mod job;
mod log;
pub(super) mod shelf;
mod show;

pub(crate) use job::Job;
pub(crate) use show::line;

const EXAMPLES: &str = "\
Examples:
  weft files policy example > ARCHIVE/policies.toml      example rules to adapt
  weft files policy check                                errors, with line and column
  weft files policy plan                                 what would be done now; nothing is changed
  weft files policy run leftovers                        run this policy now
  weft files policy run --volume /disks/a --volume /disks/b
                                                         run all that are due (from cron), with a store for copies
  weft files policy log --failed                         what failed, and why
  weft files undo 12                                     undo what run 12 did

docs/policies.md describes the rules.";

/// Flags of `weft files policy`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// Commands on the rules.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Parse the rules and report mistakes
    Check(CheckArgs),
    /// List what would be done now, without changing anything
    Plan(PlanArgs),
    /// Run policies
    Run(RunArgs),
    /// List runs and their actions, with files and reasons
    Log(log::Args),
    /// Print example rules
    #[command(after_help = EXAMPLE_EXAMPLES)]
    Example,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  weft files policy check                      ARCHIVE/policies.toml
  weft files policy check ~/rules.toml         on an error: exit code 2, with its line and column";

const PLAN_EXAMPLES: &str = "\
Examples:
  weft files policy plan                       all policies, with twenty files each
  weft files policy plan leftovers -n 1000
  weft files policy plan --rules rules.toml --json | jq -r .path.path

Nothing is changed, neither files nor the catalogue.";

const RUN_EXAMPLES: &str = "\
Examples:
  weft files policy run                        all that are due
  weft files policy run leftovers              this one, even if not due
  weft files policy run leftovers --dry-run    what it would do
  weft files policy run two-replicas --volume /disks/a --volume /disks/b

Each file is checked again immediately before its action. A run that was stopped or killed
continues when it is run again.
Exit code 1: something failed, a policy was refused, or a tree grew too much.";

const EXAMPLE_EXAMPLES: &str = "\
Examples:
  weft files policy example > weft-archive/policies.toml
  weft files policy check";

#[derive(Debug, clap::Args)]
struct RulesArgs {
    /// File of rules [default: policies.toml in the archive's directory]
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
struct CheckArgs {
    /// File of rules [default: policies.toml in the archive's directory]
    #[arg(value_name = "FILE")]
    rules: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = PLAN_EXAMPLES)]
struct PlanArgs {
    /// Policies to plan [default: all]
    #[arg(value_name = "POLICY")]
    names: Vec<String>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Files to show per policy; --json has all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = whole_from(1_usize, 50))]
    limit: usize,
}

#[derive(Debug, clap::Args)]
#[command(after_help = RUN_EXAMPLES)]
struct RunArgs {
    /// Policies to run, due or not [default: all that are due by their triggers]
    #[arg(value_name = "POLICY")]
    names: Vec<String>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Only list what would be done, like `plan`
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs `weft files policy`.
pub(super) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Check(args) => check(args, context),
        Command::Plan(args) => plan_all(&args.names, &args.rules, args.limit, context),
        Command::Run(args) if args.dry_run => plan_all(&args.names, &args.rules, 20, context),
        Command::Run(args) => run_all(&args, context),
        Command::Log(args) => log::run(&args, context),
        Command::Example => {
            write!(
                context.out,
                "{}",
                include_str!("../../../../../../docs/policies.toml")
            )?;
            Ok(Outcome::Done)
        }
    }
}

/// Name of the rules file in an archive's directory.
const RULES: &str = "policies.toml";

/// Reads the rules from `file`, or from the archive's own rules file.
pub(crate) fn read(file: Option<&Path>, archive: &Path) -> anyhow::Result<(PathBuf, Rules)> {
    let path = file.map_or_else(|| archive.join(RULES), Path::to_owned);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            let path = path.display();
            let message = format!(
                "there are no rules in {path}: create them with weft files policy \
                                   example > {path}"
            );
            return Err(NotFound(message).into());
        }
        text => text.with_context(|| format!("read {}", path.display()))?,
    };
    let rules = parsed(&path, &text)?;
    Ok((path, rules))
}

fn parsed(path: &Path, text: &str) -> Result<Rules, WrongUse> {
    let names = NameResolver {
        user: &|name| uid(name).ok(),
        group: &|name| gid(name).ok(),
        bucket: &|name| Ok(store::bucket::check_name(name)?),
    };
    Rules::read(path, text, &names).map_err(|error| WrongUse(error.to_string()))
}

fn check(args: CheckArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    let (path, rules) = read(args.rules.as_deref(), &context.archive)?;
    if context.json {
        let names: Vec<&str> = rules.policies.iter().map(|policy| &*policy.name).collect();
        context
            .out
            .json(&serde_json::json!({ "rules": path, "policies": names }))?;
        return Ok(Outcome::Done);
    }
    let count = counted(rules.policies.len() as u64, "policy", "policies");
    writeln!(context.out, "{}: {count}, no errors", path.display())?;
    for policy in &rules.policies {
        writeln!(context.out, "  {}: {}", policy.name, policy.action.kind())?;
    }
    Ok(Outcome::Done)
}

/// Returns the policies with these names, or all.
fn named(rules: Rules, names: &[String]) -> Result<Vec<Policy>, NotFound> {
    if let Some(name) = names
        .iter()
        .find(|name| !rules.policies.iter().any(|policy| policy.name == **name))
    {
        let known: Vec<&str> = rules.policies.iter().map(|policy| &*policy.name).collect();
        return Err(NotFound(format!(
            "there is no policy {name:?}; expected one of {}",
            known.join(", ")
        )));
    }
    let is_meant = |policy: &Policy| names.is_empty() || names.contains(&policy.name);
    Ok(rules.policies.into_iter().filter(is_meant).collect())
}

/// Returns directories in which no policy may act: the archive's own directory.
pub(crate) fn protected_dirs(archive: &Path) -> Vec<Vec<u8>> {
    let archive = archive.canonicalize().unwrap_or_else(|_| archive.to_owned());
    vec![std::os::unix::ffi::OsStrExt::as_bytes(archive.as_os_str()).to_vec()]
}

fn plan_all(
    names: &[String],
    rules: &RulesArgs,
    limit: usize,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let (_, rules) = read(rules.rules.as_deref(), &context.archive)?;
    let policies = named(rules, names)?;
    let catalogue = open(context)?;
    let mut outcome = Outcome::Done;
    for policy in &policies {
        match policy::plan(
            &catalogue,
            policy,
            &protected_dirs(&context.archive),
            system::time_ms(),
        ) {
            Ok(plan) => show::plan(policy, &plan, limit, context)?,
            // The remaining policies can still be planned.
            Err(error) => {
                crate::exit::print_error(&error.into(), context);
                outcome = Outcome::Losses;
            }
        }
    }
    Ok(outcome)
}

fn run_all(args: &RunArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.read_only {
        return Err(WrongUse("a run writes: run it without --read-only".to_owned()).into());
    }
    let (_, rules) = read(args.rules.rules.as_deref(), &context.archive)?;
    let policies = named(rules, &args.names)?;
    let catalogue = open(context)?;
    policy::settle(&catalogue)?;
    let protected = protected_dirs(&context.archive);
    let (mut outcome, mut stop) = (Outcome::Done, None);
    let mut is_any_due = false;
    for policy in &policies {
        let is_due = || -> anyhow::Result<bool> {
            Ok(!args.names.is_empty() || policy::is_due(&catalogue, policy, system::time_ms())?)
        };
        let job = match is_due() {
            Ok(false) => continue,
            Ok(true) => Job::plan(&catalogue, policy, &protected, &|| place(&args.store)),
            Err(error) => Err(error),
        };
        is_any_due = true;
        let ran = match job {
            Ok(job) => run_one(job, &mut stop, context)?,
            // The remaining policies can still be run.
            Err(error) => {
                crate::exit::print_error(&error, context);
                Outcome::Losses
            }
        };
        if !matches!(ran, Outcome::Done) {
            outcome = ran;
        }
    }
    if !is_any_due && !context.json {
        writeln!(context.out, "no policy is due; name a policy to run it now")?;
    }
    Ok(outcome)
}

/// Maximum number of lines printed for files that were not acted on; the log has all.
const LINES_MAX: usize = 20;

fn run_one(job: Job<'_>, stop: &mut Option<Stop>, context: &mut Context) -> anyhow::Result<Outcome> {
    let policy = job.policy;
    if job.is_listed() {
        show::plan(policy, &job.plan, LINES_MAX, context)?;
    }
    let has_grown = !job.plan.grown.is_empty();
    if job.is_idle() {
        if !context.json {
            writeln!(context.out, "{}: nothing to do ({})", policy.name, job.plan.cause)?;
        }
        return Ok(Outcome::Done);
    }
    let stop = match stop {
        Some(stop) => stop,
        stop => stop.insert(Stop::listen()?),
    };
    let mut lines = 0usize;
    let ran = job.run(stop, &mut |act| show::act(act, &mut lines, LINES_MAX, context))?;
    show::ran(&ran, lines.saturating_sub(LINES_MAX), context)?;
    if ran.row.state == ActState::Begun {
        anyhow::bail!("stopped; run it again to continue");
    }
    Ok(if ran.row.failed > 0 || has_grown {
        Outcome::Losses
    } else {
        Outcome::Done
    })
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  weft files verify
  weft files verify && weft files report duplicates

Compares the names, lengths and times on disk with the last scan, and names files that are missing
(-) or changed (~). Then reads the catalogued files that were never read. A file whose digest
changed although its time of change is not newer is DAMAGED, and is read again each time. Other
files that were read before are not read again; a policy with the action verify does that
(weft files policy example). A stopped run continues when it is run again.
Exit code 1: a file is missing, changed or damaged, or could not be read.";

/// Flags of `weft files verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(super) struct VerifyArgs {}

/// The rules of `weft files verify`. Never is longer ago than every age.
const VERIFY_RULES: &str =
    "[policy.files-verify]\naction = 'verify'\ncondition = 'last_verified > 1000 y or damaged'\n";

/// Runs `weft files verify`.
pub(super) fn verify(_: &VerifyArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.read_only {
        return Err(WrongUse("a run writes: run it without --read-only".to_owned()).into());
    }
    let rules = parsed(Path::new("the rules of weft files verify"), VERIFY_RULES)?;
    let catalogue = open(context)?;
    policy::settle(&catalogue)?;
    let (protected, no_store) = (protected_dirs(&context.archive), StoreArgs::default());
    let listening = Stop::listen()?;
    let mut outcome = missing::report(&catalogue, &listening, context)?;
    let mut stop = Some(listening);
    for policy in &rules.policies {
        let job = Job::plan(&catalogue, policy, &protected, &|| place(&no_store))?;
        outcome = outcome.max(run_one(job, &mut stop, context)?);
    }
    Ok(outcome)
}

const UNDO_EXAMPLES: &str = "\
Examples:
  weft files undo 12                  undo everything that run 12 moved, deleted or released
  weft files undo 12 --act 3          only its action 3
  weft files undo 12 --volume /disks/a --volume /disks/b
                                      restore released files from the store

weft files policy log lists the runs, and with --run their actions. A new file at the old path is
never replaced.";

/// Flags of `weft files undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = UNDO_EXAMPLES)]
pub(super) struct UndoArgs {
    /// Run to undo
    #[arg(value_name = "RUN", value_parser = whole_from(1_u64, 3))]
    run: u64,
    /// Undo only this action of the run
    #[arg(long, value_name = "N", value_parser = whole_from(0_u64, 3))]
    act: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs `weft files undo`.
pub(super) fn undo(args: &UndoArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.read_only {
        return Err(WrongUse("undo writes: run it without --read-only".to_owned()).into());
    }
    let catalogue = open(context)?;
    let runs = catalogue.runs()?;
    let run = runs.iter().find(|(number, _)| *number == args.run);
    let (_, row) = run.ok_or_else(|| NotFound(RunError::NoRun { run: args.run }.to_string()))?;
    let undone = if row.action.undo_needs_store() {
        with_store(
            place(&args.store)?,
            StoreMode::Existing,
            async |session: &Session| {
                let shelf = shelf::StoreShelf::new(session);
                // Blocking must happen on another thread: this one drives the runtime.
                let undone = std::thread::scope(|scope| {
                    let worker = scope.spawn(|| policy::undo(&catalogue, args.run, args.act, Some(&shelf)));
                    worker.join()
                });
                match undone {
                    Ok(undone) => Ok(undone?),
                    Err(_) => anyhow::bail!("the undo panicked: this is a bug in Weft"),
                }
            },
        )?
    } else {
        policy::undo(&catalogue, args.run, args.act, None)?
    };
    let failed = undone.iter().filter(|undone| undone.error.is_some()).count();
    for undone in &undone {
        if context.json {
            context.out.json(&serde_json::json!({
                "run": args.run, "act": undone.act, "path": JsonPath::new(&undone.path), "error": undone.error,
            }))?;
        } else if let Some(error) = &undone.error {
            let error = context.out.style.bad(error);
            writeln!(context.out, "{}: {error}", display_path(&undone.path))?;
        }
    }
    if !context.json {
        let back = counted(
            (undone.len() - failed) as u64,
            "file restored to its place",
            "files restored to their places",
        );
        writeln!(context.out, "run {}: {back}, {failed} failed", args.run)?;
        if undone.is_empty() {
            writeln!(
                context.out,
                "nothing to undo: the run changed nothing, or was already undone"
            )?;
        }
    }
    Ok(if failed > 0 {
        Outcome::Losses
    } else {
        Outcome::Done
    })
}

fn sum((files, size): (u64, u64)) -> String {
    format!("{}, {}", counted(files, "file", "files"), bytes(size))
}
