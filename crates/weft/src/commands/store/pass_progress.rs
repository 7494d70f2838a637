//! Progress of passes over the whole store (census, scrub, repair).

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use store::upkeep::Progress;

use crate::context::Context;
use crate::units::{bytes, count, counted, per_second};

/// The progress of a pass, shown on standard error if that is a terminal.
pub(super) struct PassProgress {
    bar: ProgressBar,
    begun: Instant,
}

impl PassProgress {
    /// Starts a pass over objects called `items`.
    pub(super) fn new(items: &str, context: &Context) -> PassProgress {
        let bar = if context.json || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            shown_bar(items)
        };
        PassProgress {
            bar,
            begun: system::now(),
        }
    }

    /// Shows the current progress.
    pub(super) fn show(&self, progress: Progress) {
        self.bar.set_length(progress.total.max(progress.done).max(1));
        self.bar.set_position(progress.done);
        let rate = per_second(progress.bytes, self.elapsed_ms());
        let found = match progress.found {
            0 => String::new(),
            found => format!("  {} found", count(found)),
        };
        self.bar.set_message(format!(
            "{}  {} ({}/s){found}",
            counted(progress.objects, "object", "objects"),
            bytes(progress.bytes),
            bytes(rate)
        ));
    }

    /// Returns the milliseconds since the start.
    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(system::since(self.begun).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for PassProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn shown_bar(items: &str) -> ProgressBar {
    let template = format!("{{elapsed_precise}} [{{bar:30}}] {{pos}} of {{len}} {items}  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = ProgressBar::new(1).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
