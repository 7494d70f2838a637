//! `weft-sql export`: prints tables of facts as the lines that `weft load --from-facts` reads.

use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use archive::ImportLine;
use sql::{Settings, SqlError, export};

use crate::cli::ExportArgs;

pub(crate) async fn run(args: &ExportArgs, settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(std::io::stdout());
    // Kept separately, to distinguish a closed reader from unreadable tables.
    let mut unwritten = None;
    let mut write = |line: &ImportLine| {
        let written = serde_json::to_writer(&mut out, line).map_err(std::io::Error::from);
        written.and_then(|()| out.write_all(b"\n")).map_err(|error| {
            let text = error.to_string();
            unwritten = Some(error);
            SqlError::Execution(text)
        })
    };
    let exported = export(&args.tables, settings, &mut write).await;
    match unwritten {
        Some(error) => return Err(error.into()),
        None => exported?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
