//! Output of plans and runs.

use std::io::Write;

use ::catalogue::{ActRow, ActState};
use policy::{FinishedRun, Plan, Policy};

use super::sum;
use crate::commands::files::times::shown_ms;
use crate::commands::files::{JsonPath, display_path, number};
use crate::context::Context;
use crate::units::{bytes, count, counted};

/// Prints what a policy would do.
pub(super) fn plan(policy: &Policy, plan: &Plan, limit: usize, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        return plan_json(policy, plan, context);
    }
    if matches!(policy.action, policy::Action::Growth { .. }) {
        return grown_trees(policy, plan, context);
    }
    let out = &mut context.out;
    let name = out.style.bold(&policy.name);
    let planned = sum((plan.items.len() as u64, plan.size_bytes()));
    let matched = sum(plan.matched);
    let rest = if planned == matched {
        String::new()
    } else {
        format!(" of {matched} matching")
    };
    writeln!(
        out,
        "{name}: {} {planned}{rest} ({})",
        policy.action.kind(),
        plan.cause
    )?;
    for item in plan.items.iter().take(limit) {
        writeln!(
            out,
            "  {:>10}  {}",
            bytes(item.file.size_bytes),
            display_path(&item.path)
        )?;
    }
    if plan.items.len() > limit {
        writeln!(out, "  and {} more", count((plan.items.len() - limit) as u64))?;
    }
    Ok(())
}

fn plan_json(policy: &Policy, plan: &Plan, context: &mut Context) -> anyhow::Result<()> {
    for item in &plan.items {
        context.out.json(&serde_json::json!({
            "policy": policy.name,
            "action": policy.action.kind(),
            "path": JsonPath::new(&item.path),
            "size_bytes": item.file.size_bytes,
        }))?;
    }
    for grown in &plan.grown {
        context.out.json(&serde_json::json!({
            "policy": policy.name,
            "action": policy.action.kind(),
            "path": JsonPath::new(&grown.path),
            "size_bytes": grown.size_bytes,
            "before_size_bytes": grown.before.0,
            "before_ms": grown.before.1,
            "percent": grown.percent,
        }))?;
    }
    Ok(())
}

fn grown_trees(policy: &Policy, plan: &Plan, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let name = out.style.bold(&policy.name);
    writeln!(
        out,
        "{name}: {} by more than the limit",
        counted(plan.grown.len() as u64, "tree grew", "trees grew")
    )?;
    for grown in &plan.grown {
        let percent = out.style.warn(&format!("{:+.1}%", grown.percent));
        writeln!(
            out,
            "  {percent}  {}: {} on {}, {} now",
            display_path(&grown.path),
            bytes(number(grown.before.0)),
            shown_ms(grown.before.1),
            bytes(number(grown.size_bytes)),
        )?;
    }
    Ok(())
}

/// Prints the result of an action on a file if it is not a success; with `-v` always.
pub(super) fn act(act: &ActRow, lines: &mut usize, most: usize, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        return Ok(());
    }
    let is_well = act.state == ActState::Done;
    if is_well && context.verbose == 0 {
        return Ok(());
    }
    *lines += 1;
    if *lines > most && context.verbose == 0 {
        return Ok(());
    }
    let state = match act.state {
        ActState::Failed => context.out.style.bad(act.state.name()),
        _ => act.state.name().to_owned(),
    };
    writeln!(
        context.out,
        "  {state} {}: {}",
        display_path(&act.path),
        crate::style::clean(&act.why)
    )?;
    Ok(())
}

/// Prints how a run ended.
pub(super) fn ran(ran: &FinishedRun, unshown: usize, context: &mut Context) -> anyhow::Result<()> {
    let row = &ran.row;
    if context.json {
        return Ok(context.out.json(&json(ran.number, row))?);
    }
    let out = &mut context.out;
    if unshown > 0 && context.verbose == 0 {
        writeln!(
            out,
            "  and {} more: weft files policy log --run {}",
            count(unshown as u64),
            ran.number
        )?;
    }
    let name = out.style.bold(&row.policy);
    writeln!(out, "{name}: {}", line(ran))?;
    if !row.end.is_empty() {
        writeln!(out, "ended early: {}", row.end)?;
    }
    Ok(())
}

/// Summarises a run in one line.
pub(crate) fn line(ran: &FinishedRun) -> String {
    let row = &ran.row;
    format!(
        "run {}: {} {} done, {} skipped, {} failed",
        ran.number,
        row.action,
        sum(row.done),
        count(row.skipped),
        count(row.failed),
    )
}

/// Formats a run for `--json`.
pub(super) fn json(number: u64, row: &::catalogue::RunRow) -> serde_json::Value {
    serde_json::json!({
        "run": number,
        "policy": row.policy,
        "action": row.action,
        "cause": row.cause,
        "state": row.state,
        "begun_ms": row.begun_ms,
        "ended_ms": row.ended_ms,
        "planned_files": row.planned.0,
        "planned_bytes": row.planned.1,
        "done_files": row.done.0,
        "done_bytes": row.done.1,
        "skipped": row.skipped,
        "failed": row.failed,
        "end": row.end,
    })
}
