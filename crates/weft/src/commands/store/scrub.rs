//! `weft store scrub`: replicas are read again and compared with their digests, now.

use std::io::Write;

use store::node::ConnectSettings;
use store::upkeep::{ScrubReport, scrub_all};
use store::volume::VolumeId;

use super::passing::Pass;
use super::session::{Begin, Session, with_store};
use crate::context::Context;
use crate::exit::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::{bytes, count, duration_ms, parse_bytes, per_second};

const EXAMPLES: &str = "\
Examples:
  weft store scrub                         every replica on every volume
  weft store scrub local/a                 one volume (weft store status names them)
  weft store scrub --rate 20M              at most 20 MiB/s of each volume

A running store does this by itself, slowly, all of it every 30 days. What is found bad is marked, and
replaced by weft store repair, or by the running store. Exit code 1 where something was found.";

/// Flags of `weft store scrub`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Volumes [default: all]
    #[arg(value_name = "VOLUME")]
    names: Vec<String>,
    /// Most bytes a second that are read of each volume
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    rate: Option<u64>,
}

/// Runs `weft store scrub`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    with_store(place, Begin::Refused, async |session| {
        let volumes = volumes(session, &args.names)?;
        let pass = Pass::new("replicas", context);
        let report = scrub_all(&session.view(), &volumes, args.rate, &|progress| {
            pass.show(progress)
        })
        .await;
        let elapsed_ms = pass.elapsed_ms();
        drop(pass);
        if context.json {
            context.out.json(&report)?;
        } else {
            print(&report, elapsed_ms, context)?;
        }
        let clean = report.bad + report.missing == 0 && report.volumes_failed.is_empty();
        Ok(if clean { Outcome::Done } else { Outcome::Losses })
    })
}

/// Volumes by name; one that is in no layout is wrong use.
fn volumes(session: &Session, names: &[String]) -> Result<Vec<VolumeId>, WrongUse> {
    let view = session.view();
    let find = |name: &String| {
        let id = VolumeId::from(name.clone());
        match view.volumes.contains_key(&id) {
            true => Ok(id),
            false => {
                let known: Vec<String> = view.volumes.keys().map(ToString::to_string).collect();
                Err(WrongUse(format!(
                    "no volume {name:?}; there are {}",
                    known.join(", ")
                )))
            }
        }
    };
    names.iter().map(find).collect()
}

fn print(report: &ScrubReport, elapsed_ms: u64, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    writeln!(
        out,
        "verified {} replicas, {}, in {} ({}/s)",
        count(report.replicas),
        bytes(report.bytes),
        duration_ms(elapsed_ms),
        bytes(per_second(report.bytes, elapsed_ms))
    )?;
    for detail in &report.details {
        writeln!(out, "{}", clean(detail))?;
    }
    for failed in &report.volumes_failed {
        let line = out.style.bad("not read to the end:");
        writeln!(out, "{line} {}", clean(failed))?;
    }
    if report.bad + report.missing == 0 {
        writeln!(out, "nothing bad, nothing missing")?;
    } else {
        let line = format!("{} bad, {} missing", count(report.bad), count(report.missing));
        let line = out.style.bad(&line);
        writeln!(out, "{line}: weft store repair")?;
    }
    Ok(())
}
