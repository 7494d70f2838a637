//! DuckDB over the same Parquet files, in a Python process that stays running.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::copies;

/// Reads statements, one JSON line each, and writes seconds and rows. The time includes fetching
/// the rows, as on Weft's side.
const SCRIPT: &str = r#"
import json, sys, time
import duckdb
connection = duckdb.connect()
setup = json.loads(sys.stdin.readline())
connection.execute("SET TimeZone = 'UTC'")
# Standard output is for answers.
connection.execute("SET enable_progress_bar = false")
connection.execute(f"SET memory_limit = '{setup['memory']}B'")
for name, files in setup["tables"].items():
    connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r})")
for line in sys.stdin:
    begun = time.perf_counter()
    try:
        rows = connection.sql(json.loads(line)).to_arrow_table().num_rows
        print(json.dumps({"seconds": time.perf_counter() - begun, "rows": rows}), flush=True)
    except Exception as error:
        print(json.dumps({"error": str(error)}), flush=True)
"#;

pub(crate) struct DuckDb {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl DuckDb {
    pub(crate) fn start(python: &Path, archive: &Path) -> anyhow::Result<DuckDb> {
        let mut tables = serde_json::Map::new();
        for name in ["captures", "links"] {
            let table = archive.join("facts").join(name);
            let files = copies::files(&table)?;
            let paths = files
                .iter()
                .map(|file| table.join(&file.path).display().to_string());
            tables.insert(name.to_owned(), paths.collect());
        }
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {}", python.display()))?;
        let mut input = child.stdin.take().context("Python has no standard input")?;
        let output = BufReader::new(child.stdout.take().context("Python has no standard output")?);
        writeln!(
            input,
            "{}",
            json!({ "memory": super::MEMORY_BYTES, "tables": tables })
        )?;
        Ok(DuckDb { child, input, output })
    }

    pub(crate) fn rows(&mut self, statement: &str) -> anyhow::Result<(Duration, u64)> {
        writeln!(self.input, "{}", json!(statement))?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)
            .context("DuckDB does not respond; is the Python package installed?")?;
        ensure!(said["error"].is_null(), "DuckDB: {}: {statement}", said["error"]);
        let seconds = said["seconds"].as_f64().context("the answer has no time")?;
        Ok((
            Duration::from_secs_f64(seconds),
            said["rows"]
                .as_u64()
                .context("the answer has no number of rows")?,
        ))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
