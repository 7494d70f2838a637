//! How a load is shown while it runs: a bar on a terminal, JSON lines with `--json`, plain lines on
//! standard error with `-v` elsewhere, else nothing.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use archive::question::{Answer, Body, JobBody};
use indicatif::{ProgressBar, ProgressStyle};

use crate::context::Context;
use crate::out::progress_line;
use crate::style::clean;
use crate::units::{bytes, count, duration_ms, per_second};

/// Time between two JSON lines: enough of them for rates over a tenth of a short load.
const JSON_INTERVAL: Duration = Duration::from_millis(500);

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Shows a running load.
pub(super) struct Progress {
    kind: Kind,
    last: Instant,
    /// Inputs of which was said that they are waited for.
    waited_for: HashSet<String>,
}

enum Kind {
    Bar(ProgressBar),
    Json,
    Lines,
    Silent,
}

impl Progress {
    /// What suits the output.
    pub(super) fn new(context: &Context) -> Progress {
        let kind = if context.json {
            Kind::Json
        } else if std::io::stderr().is_terminal() {
            Kind::Bar(bar())
        } else if context.verbose > 0 {
            Kind::Lines
        } else {
            Kind::Silent
        };
        Progress {
            kind,
            last: Instant::now(),
            waited_for: HashSet::new(),
        }
    }

    /// Shows the job as it is now.
    pub(super) fn show(&mut self, epoch: u64, job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
        for input in &job.waiting_for {
            if self.waited_for.insert(input.clone()) {
                let why = "ends in the middle of a record and was changed a moment ago";
                self.say(&format!("waiting a few seconds: {} {why}", clean(input)));
            }
        }
        match &self.kind {
            Kind::Bar(bar) => {
                bar.set_length(job.bytes.max(job.bytes_done).max(1));
                bar.set_position(job.bytes_done);
                bar.set_message(line(job));
            }
            Kind::Json if due(&mut self.last, JSON_INTERVAL) => {
                context.out.json(&Answer {
                    epoch,
                    body: Body::Job(job.clone()),
                })?;
                context.out.flush()?;
            }
            Kind::Lines if due(&mut self.last, LINE_INTERVAL) => {
                let share = job.bytes_done * 100 / job.bytes.max(1);
                progress_line(&format!(
                    "{share:>3} %  {}  {}",
                    duration_ms(job.elapsed_ms),
                    line(job)
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Says something beside the progress.
    pub(super) fn say(&self, text: &str) {
        match &self.kind {
            Kind::Bar(bar) => bar.suspend(|| progress_line(text)),
            _ => progress_line(text),
        }
    }

    /// Takes the bar away.
    pub(super) fn end(self) {
        if let Kind::Bar(bar) = self.kind {
            bar.finish_and_clear();
        }
    }
}

/// Whether `interval` has passed since `last`, which then becomes now.
fn due(last: &mut Instant, interval: Duration) -> bool {
    let due = last.elapsed() >= interval;
    if due {
        *last = Instant::now();
    }
    due
}

fn bar() -> ProgressBar {
    let template = "{elapsed_precise} [{bar:30}] {percent:>3} % of {total_bytes}  {wide_msg}";
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = ProgressBar::new(1).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// Where the load stands, in a line.
fn line(job: &JobBody) -> String {
    if job.state == "queued" {
        return "waiting for the load before it".into();
    }
    let mut text = format!(
        "{} pages ({}/s)  {} links  {}/s",
        count(job.pages),
        count(per_second(job.pages, job.elapsed_ms)),
        count(job.links),
        bytes(per_second(job.bytes_done, job.elapsed_ms)),
    );
    if job.quarantined > 0 {
        text.push_str(&format!("  {} quarantined", count(job.quarantined)));
    }
    text
}
