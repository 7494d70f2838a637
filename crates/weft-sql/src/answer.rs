//! Executes a single statement.

use std::io::{self, IsTerminal as _, Read as _, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use format::number::{counted, duration_ms};
use indicatif::{ProgressBar, ProgressStyle};
use sql::{Database, QuerySettings};

use crate::cli::QueryArgs;
use crate::output::Output;
use crate::output_format::{Format, Writer};
use crate::wrong_use::WrongUse;

/// Time before the terminal shows that a statement is running.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Statistics of an executed statement.
pub(crate) struct StatementSummary {
    epoch: u64,
    rows: u64,
    took: Duration,
}

pub(crate) async fn run(database: &Database, args: &QueryArgs, json: bool) -> anyhow::Result<ExitCode> {
    let statement = match (&args.statement, &args.file) {
        (Some(statement), _) => statement.clone(),
        (None, Some(file)) => {
            std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?
        }
        (None, None) => {
            let mut statement = String::new();
            io::stdin()
                .read_to_string(&mut statement)
                .context("read the statement from standard input")?;
            statement
        }
    };
    if statement.trim().is_empty() {
        return Err(WrongUse("no statement given; weft sql --help has examples".into()).into());
    }
    let format = args.format(json);
    let output = Output::open(args.output.as_deref(), format)?;
    let out = output.writer()?;
    let settings = args.settings();
    let answered = tokio::select! {
        answered = answer(database, &statement, &settings, format, out) => answered?,
        _ = tokio::signal::ctrl_c() => anyhow::bail!("stopped"),
    };
    output.finish()?;
    if io::stderr().is_terminal() && (io::stdout().is_terminal() || args.output.is_some()) {
        eprintln!("{}", summary_line(&answered));
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats the number of rows, their epoch, and the time taken.
pub(crate) fn summary_line(answered: &StatementSummary) -> String {
    let StatementSummary { epoch, rows, took } = answered;
    let rows = counted(*rows, "row", "rows");
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let took = match took_ms {
        0..1000 => format!("{took_ms} ms"),
        _ => duration_ms(took_ms),
    };
    format!("{rows} of epoch {epoch} in {took}")
}

/// Executes a statement and writes its rows.
pub(crate) async fn answer(
    database: &Database,
    statement: &str,
    settings: &QuerySettings,
    format: Format,
    out: impl Write + Send,
) -> anyhow::Result<StatementSummary> {
    let begun = system::now();
    let progress = Progress::start();
    let mut answer = database.query(statement, settings).await?;
    let epoch = answer.epoch;
    let mut writer = Writer::new(format, out, &answer.schema(), epoch)?;
    let mut rows = 0;
    while let Some(batch) = answer.next().await {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        progress.set_rows(rows);
        progress.bar.suspend(|| writer.write(&batch))?;
    }
    progress.bar.finish_and_clear();
    writer.finish()?;
    Ok(StatementSummary {
        epoch,
        rows,
        took: system::since(begun),
    })
}

/// A spinner on a terminal, shown while a statement runs.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn start() -> Progress {
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg} (Ctrl-C stops)") {
            bar.set_style(style);
        }
        let shown = bar.clone();
        tokio::spawn(async move {
            tokio::time::sleep(QUIET_TIME).await;
            if !shown.is_finished() && io::stderr().is_terminal() {
                shown.set_draw_target(indicatif::ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
            }
        });
        Progress { bar }
    }

    fn set_rows(&self, rows: u64) {
        self.bar.set_message(counted(rows, "row", "rows"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
