//! warcio, in a separate Python environment in the work folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::{Found, Work};

/// Reads argument 1, including the blocks if argument 2 is `bodies`. Measures only the loop, not
/// Python's start.
const SCRIPT: &str = r#"
import sys, time
from warcio.archiveiterator import ArchiveIterator
path, bodies = sys.argv[1], sys.argv[2] == "bodies"
records = block_bytes = with_target = 0
start = time.perf_counter()
with open(path, "rb") as stream:
    for record in ArchiveIterator(stream, no_record_parse=True):
        records += 1
        block_bytes += len(record.raw_stream.read()) if bodies else record.length
        if record.rec_headers.get_header("WARC-Target-URI") is not None and record.rec_type != "unknown":
            with_target += 1
print(time.perf_counter() - start, records, block_bytes, with_target)
"#;

pub(super) struct Python {
    program: PathBuf,
    script: PathBuf,
}

/// Creates the environment and installs warcio.
pub(super) fn prepare(work: &Path) -> anyhow::Result<Python> {
    let venv = work.join("venv");
    let program = venv.join("bin/python");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    run(Command::new(&program).args(["-m", "pip", "install", "--quiet", "warcio==1.8.1"]))?;
    let script = work.join("read_with_warcio.py");
    std::fs::write(&script, SCRIPT)?;
    Ok(Python { program, script })
}

impl Python {
    pub(super) fn read(&self, path: &Path, work: Work) -> anyhow::Result<(Duration, Found)> {
        let printed = run(Command::new(&self.program)
            .arg(&self.script)
            .arg(path)
            .arg(work.name()))?;
        let mut words = printed.split_whitespace();
        let seconds: f64 = words.next().context("the reader printed no time")?.parse()?;
        let mut number = || -> anyhow::Result<u64> { Ok(words.next().context("too few numbers")?.parse()?) };
        let found = Found {
            records: number()?,
            block_bytes: number()?,
            with_target: number()?,
        };
        Ok((Duration::from_secs_f64(seconds), found))
    }
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("start {:?}", command.get_program()))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
