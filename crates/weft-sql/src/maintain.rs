//! `weft sql maintain`: maintains the tables of facts.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use format::number::{count, counted};
use sql::{Database, maintain};

use crate::cli::MaintainArgs;

pub(crate) async fn run(database: &Database, args: &MaintainArgs, json: bool) -> anyhow::Result<ExitCode> {
    let keep = Duration::from_secs(args.keep_hours.saturating_mul(3600));
    let done = maintain(database, keep).await?;
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, &serde_json::json!({ "tables": done }))?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    for table in done {
        let mut line = if table.files_before == table.files_after {
            counted(table.files_after as u64, "file", "files")
        } else {
            format!(
                "{} files became {}",
                count(table.files_before as u64),
                count(table.files_after as u64)
            )
        };
        if table.files_removed > 0 {
            let files = counted(table.files_removed as u64, "old file", "old files");
            line.push_str(&format!(", {files} removed"));
        }
        if table.checkpoint {
            line.push_str(", a checkpoint written");
        }
        if table.commits_removed > 0 {
            let commits = counted(table.commits_removed as u64, "old commit", "old commits");
            line.push_str(&format!(", {commits} removed"));
        }
        writeln!(out, "{:<9} {line}", table.table)?;
    }
    Ok(ExitCode::SUCCESS)
}
