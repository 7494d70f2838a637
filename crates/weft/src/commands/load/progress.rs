//! Shows a running load: a bar of two lines on a terminal, JSON lines with `--json`, otherwise a
//! line every ten seconds on standard error.
//!
//! Each shows the current stage, its rate and the remaining time. Parts that do not fit are left
//! out; nothing is truncated.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use archive::question::{Answer, Body, JobBody, JobStage};
use indicatif::{ProgressBar, ProgressStyle};

use crate::context::Context;
use crate::stderr::progress_line;
use crate::style::{clean, columns};
use crate::units::{bytes, count, duration_ms};

/// Time between two JSON lines, short enough to give rates over a tenth of a short load.
const JSON_INTERVAL: Duration = Duration::from_millis(500);

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Assumed columns of a terminal that does not report them.
const COLUMNS_DEFAULT: usize = 80;

/// Columns of the bar's first line before the message: time, bar, spaces.
const BAR_COLUMNS: usize = 8 + 1 + 22 + 1;

/// The progress display of a running load.
pub(super) struct Progress {
    kind: Kind,
    last: Instant,
    /// Inputs already reported as being waited for.
    waited_for: HashSet<String>,
}

enum Kind {
    Bar(ProgressBar),
    Json,
    Lines,
}

impl Progress {
    /// Chooses the form that suits the output.
    pub(super) fn new(context: &Context) -> Progress {
        let kind = if context.json {
            Kind::Json
        } else if std::io::stderr().is_terminal() {
            Kind::Bar(bar())
        } else {
            Kind::Lines
        };
        Progress {
            kind,
            last: system::now(),
            waited_for: HashSet::new(),
        }
    }

    /// Shows the current state of the job.
    pub(super) fn show(&mut self, epoch: u64, job: &JobBody, context: &mut Context) -> anyhow::Result<()> {
        for input in &job.waiting_for {
            if self.waited_for.insert(input.clone()) {
                let why = "ends in the middle of a record and changed a moment ago";
                self.say(&format!("waiting a few seconds: {} {why}", clean(input)));
            }
        }
        match &self.kind {
            Kind::Bar(bar) => {
                let (done, whole) = done(job);
                bar.set_length(whole.max(1));
                bar.set_position(done.min(whole));
                let width = terminal_columns();
                let first = fit(&stage_parts(job), width.saturating_sub(BAR_COLUMNS));
                let second = fit(&sum_parts(job), width);
                bar.set_message(format!("{first}\n{second}"));
            }
            Kind::Json if due(&mut self.last, JSON_INTERVAL) => {
                context.out.json(&Answer {
                    epoch,
                    body: Body::Job(job.clone()),
                })?;
                context.out.flush()?;
            }
            Kind::Lines if due(&mut self.last, LINE_INTERVAL) => {
                let parts = [stage_parts(job), sum_parts(job)].concat();
                progress_line(&format!(
                    "{}  {}",
                    duration_ms(job.elapsed_ms),
                    fit(&parts, usize::MAX)
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints a message without disturbing the bar.
    pub(super) fn say(&self, text: &str) {
        match &self.kind {
            Kind::Bar(bar) => bar.suspend(|| progress_line(text)),
            _ => progress_line(text),
        }
    }

    /// Removes the bar.
    pub(super) fn end(self) {
        if let Kind::Bar(bar) = self.kind {
            bar.finish_and_clear();
        }
    }
}

/// Returns whether `interval` has passed since `last`; if so, sets `last` to now.
fn due(last: &mut Instant, interval: Duration) -> bool {
    let due = system::since(*last) >= interval;
    if due {
        *last = system::now();
    }
    due
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed_precise} [{bar:20}] {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = ProgressBar::new(1).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn terminal_columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(COLUMNS_DEFAULT, |(width, _)| usize::from(width.0))
}

/// Returns the completed amount of the current stage and its total.
fn done(job: &JobBody) -> (u64, u64) {
    match job.stage {
        JobStage::Digesting => (job.bytes_digested, job.bytes),
        JobStage::Finishing => (job.search_pages_done, job.search_pages),
        _ => (job.bytes_read.max(job.bytes_done), job.bytes),
    }
}

/// Returns the current stage, its progress, rate and remaining time, most important first.
fn stage_parts(job: &JobBody) -> Vec<String> {
    let word = match job.stage {
        JobStage::Queued => return vec!["waiting for an earlier load".into()],
        JobStage::Finding => return vec!["looking for inputs".into()],
        JobStage::Finishing | JobStage::Ended if job.search_pages == 0 => {
            return vec!["updating search".into()];
        }
        JobStage::Finishing | JobStage::Ended => "updating search",
        JobStage::Digesting => "digesting",
        JobStage::Loading => "loading",
    };
    let (done, whole) = done(job);
    let share = u128::from(done.min(whole)) * 100 / u128::from(whole.max(1));
    let mut parts = vec![format!("{word} {share} %")];
    if job.bytes_per_s > 0 {
        parts.push(format!("{}/s", bytes(job.bytes_per_s)));
    }
    if let Some(left_ms) = job.left_ms {
        parts.push(format!("{} left", duration_ms(left_ms)));
    }
    parts
}

/// Returns the results so far, most important first.
fn sum_parts(job: &JobBody) -> Vec<String> {
    let mut parts = vec![
        format!(
            "{} of {}",
            bytes(job.bytes_read.max(job.bytes_done).min(job.bytes)),
            bytes(job.bytes)
        ),
        format!(
            "{} pages ({}/s)",
            count(job.pages),
            count(job.pages_per_s.round() as u64)
        ),
    ];
    if job.quarantined > 0 {
        parts.push(format!("{} quarantined", count(job.quarantined)));
    }
    parts.push(format!("{} links", count(job.links)));
    parts
}

/// Joins as many parts as fit, without truncating any.
fn fit(parts: &[String], width: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        if columns(&line) + gap.len() + columns(part) > width {
            break;
        }
        line.push_str(gap);
        line.push_str(part);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(stage: JobStage) -> JobBody {
        let done = 4 << 30;
        JobBody {
            stage,
            elapsed_ms: 90_000,
            bytes: 3 << 40,
            bytes_digested: done,
            bytes_read: if stage == JobStage::Loading { done } else { 0 },
            bytes_per_s: 3 << 25,
            left_ms: Some(30_660_000),
            pages: 123_456_789,
            pages_per_s: 1_371_742.2,
            links: 9_876_543_210,
            quarantined: 12_345,
            ..JobBody::default()
        }
    }

    fn shown_of(job: &JobBody) -> [String; 2] {
        let first = fit(&stage_parts(job), COLUMNS_DEFAULT - BAR_COLUMNS);
        [first, fit(&sum_parts(job), COLUMNS_DEFAULT)]
    }

    fn shown(stage: JobStage) -> [String; 2] {
        shown_of(&job(stage))
    }

    #[test]
    fn the_stage_its_rate_and_its_end_have_room_on_80_columns() {
        let [first, second] = shown(JobStage::Loading);
        assert_eq!(first, "loading 0 %  96.0 MiB/s  8 h 31 min left");
        assert_eq!(
            second,
            "4.0 GiB of 3.0 TiB  123,456,789 pages (1,371,742/s)  12,345 quarantined"
        );
    }

    #[test]
    fn digesting_is_not_loading() {
        let [first, second] = shown(JobStage::Digesting);
        assert_eq!(first, "digesting 0 %  96.0 MiB/s  8 h 31 min left");
        assert!(second.starts_with("0 B of 3.0 TiB"), "{second}");
        for (stage, said) in [
            (JobStage::Queued, "waiting for an earlier load"),
            (JobStage::Finding, "looking for inputs"),
            (JobStage::Finishing, "updating search"),
        ] {
            assert_eq!(shown(stage)[0], said);
        }
    }

    #[test]
    fn search_says_how_far_it_has_caught_up() {
        let job = JobBody {
            search_pages: 200,
            search_pages_done: 50,
            bytes_per_s: 0,
            left_ms: Some(3_000),
            ..job(JobStage::Finishing)
        };
        assert_eq!(shown_of(&job)[0], "updating search 25 %  3.0 s left");
    }

    #[test]
    fn parts_are_whole_or_left_out() {
        let parts = ["abc", "defg", "h"].map(str::to_owned);
        let fits = [0, 3, 8, 9, 11, 12].map(|width| fit(&parts, width));
        assert_eq!(fits, ["", "abc", "abc", "abc  defg", "abc  defg", "abc  defg  h"]);
    }
}
