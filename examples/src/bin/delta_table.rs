//! Writes the captures and links of a file of records as tables of Delta Lake, which DuckDB, Spark
//! and others read.
//!
//!     cargo run -p examples --bin delta_table -- FILE.warc.gz TABLES_DIR

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use archive::{OneInput, Part};
use extract::LinkScope;
use facts::{Fact, Facts, LocalFileStore, Source};
use inputs::Sources;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, tables] = &arguments[..] else {
        bail!("expected FILE TABLES_DIR");
    };
    let location = inputs::path_text(&std::fs::canonicalize(file)?);
    let input = OneInput::open(&location, &Sources::default(), Path::new("."))?;
    let mut captures = Vec::new();
    let mut parts = input.parts(LinkScope::All)?;
    while let Some(part) = parts.next()? {
        match part {
            Part::Capture(capture) => captures.push(capture),
            Part::Quarantined(span, defect) => eprintln!("damage at {}: {}", span.offset, defect.detail),
        }
    }
    let source = Source {
        id: 1,
        name: file,
        digest: input.digest(),
        collection: "",
    };
    let rows: Vec<Fact<'_>> = captures.iter().map(|capture| Fact { source, capture }).collect();
    std::fs::create_dir_all(tables)?;
    let place = Arc::new(LocalFileStore::new(&std::fs::canonicalize(tables)?));
    let facts = Facts::new(place, facts::new_id(), &facts::Settings::default());
    // Data files first; a reader sees their rows when the note is published. Publishing again
    // changes nothing, so a program that keeps the note writes every row exactly once.
    let note = facts.stage(1, &rows)?;
    facts.publish(&note)?;
    for sum in facts.sums()? {
        println!("{}\t{} rows", sum.table, sum.rows);
    }
    Ok(())
}
