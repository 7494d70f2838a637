//! `weft doctor`: checks whether this machine, its ports, the archive and the store meet Weft's
//! needs, and advises what to fix.
//!
//! It changes nothing: a missing archive is not created, and an archive without an owner is opened
//! read-only.

use std::io::Write;

use listen::ListenAddress;
use serde::Serialize;

use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;

mod archive_state;
mod finding;
mod machine;
mod ports;
mod store;

use finding::{Finding, Verdict};

const EXAMPLES: &str = "\
Examples:
  weft doctor
  weft doctor --archive /data/web --listen 0.0.0.0:8080
  WEFT_STORE=/disks/a:/disks/b weft doctor     check the store, too
  weft doctor --json | jq '.findings[] | select(.verdict != \"ok\")'

Exit code 1 if there is a problem; with only warnings the exit code is 0. Nothing is changed. Use
weft verify to compare an archive with its records, and weft store status to check replicas.";

/// Flags of `weft doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address that weft serve listens on or will listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    listen: ListenAddress,
}

/// The report as printed by `--json`.
#[derive(Serialize)]
struct Report<'a> {
    verdict: Verdict,
    findings: &'a [Finding],
}

/// Runs `weft doctor`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let mut findings = machine::findings(context);
    findings.extend(ports::findings(args.listen.address));
    findings.extend(archive_state::findings(context));
    findings.extend(store::findings());
    let verdict = findings
        .iter()
        .map(|finding| finding.verdict)
        .max()
        .unwrap_or(Verdict::Ok);
    if context.json {
        context.out.json(&Report {
            verdict,
            findings: &findings,
        })?;
    } else {
        print(&findings, verdict, context)?;
    }
    Ok(match verdict {
        Verdict::Problem => Outcome::Losses,
        Verdict::Ok | Verdict::Warning => Outcome::Done,
    })
}

fn print(findings: &[Finding], verdict: Verdict, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    for finding in findings {
        let word = format!("{:<8}", finding.verdict.to_string());
        let word = match finding.verdict {
            Verdict::Ok => out.style.dim(&word),
            Verdict::Warning => out.style.warn(&word),
            Verdict::Problem => out.style.bad(&word),
        };
        writeln!(out, "{word} {:<11} {}", finding.of, clean(&finding.found))?;
        if let Some(advice) = &finding.advice {
            writeln!(out, "{:21}{}", "", clean(advice))?;
        }
    }
    let number = |wanted| {
        findings
            .iter()
            .filter(|finding| finding.verdict == wanted)
            .count()
    };
    let counted = |wanted, one, many| crate::units::counted(number(wanted) as u64, one, many);
    let summary = match verdict {
        Verdict::Ok => "all is well".to_owned(),
        _ => format!(
            "{}, {}",
            counted(Verdict::Problem, "problem", "problems"),
            counted(Verdict::Warning, "warning", "warnings")
        ),
    };
    writeln!(out, "\n{}", out.style.bold(&summary))?;
    Ok(())
}
