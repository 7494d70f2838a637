//! The destination of rows.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use anyhow::Context as _;

use crate::output_format::Format;
use crate::wrong_use::WrongUse;

/// Opens the file, or standard output if there is none or it is `-`.
pub(crate) fn open(file: Option<&Path>, format: Format) -> anyhow::Result<Box<dyn Write + Send>> {
    let Some(path) = file.filter(|path| *path != Path::new("-")) else {
        if format.is_binary() && io::stdout().is_terminal() {
            return Err(
                WrongUse("a terminal cannot show this format: name a file with --output".into()).into(),
            );
        }
        return Ok(Box::new(BufWriter::new(io::stdout())));
    };
    let file = File::create(path).with_context(|| format!("create {}", path.display()))?;
    Ok(Box::new(BufWriter::new(file)))
}
