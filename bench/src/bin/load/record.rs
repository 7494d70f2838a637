//! Rows of docs/performance.md: the measurements of each commit.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::Form;
use crate::measured::Measured;

/// Adds the row of a load to the table at the end of `file`.
pub(crate) fn add(file: &Path, form: Form, measured: &Measured) -> anyhow::Result<()> {
    let doing = || format!("add a row to {}", file.display());
    let mut file = OpenOptions::new().append(true).open(file).with_context(doing)?;
    writeln!(file, "{}", row(form, measured)).with_context(doing)
}

fn row(form: Form, measured: &Measured) -> String {
    let captures = measured.captures().max(1) as f64;
    let bytes = measured.archive_bytes().max(1) as f64;
    let links = measured.number("links").max(1) as f64;
    format!(
        "| {} | {} | {captures:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.0} | {:.2} |",
        commit().unwrap_or_else(|| "unknown".to_owned()),
        form.word().to_uppercase(),
        measured.cpu_us_per_page(),
        captures / measured.seconds().max(1e-9),
        bytes / links,
        measured.seen.written_bytes as f64 / bytes,
        measured.seen.memory_bytes as f64 / f64::from(1 << 20),
        measured.rate_between(0.9, 1.0) / measured.rate_between(0.0, 0.1),
    )
}

/// Returns the checked-out commit, with a `+` if files differ from it.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let head = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = git(&[
        "status",
        "--porcelain",
        "--",
        "crates",
        "bench",
        "Cargo.toml",
        "Cargo.lock",
    ])?;
    Some(if changed.is_empty() {
        head
    } else {
        format!("{head}+")
    })
}
