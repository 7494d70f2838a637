//! The destination of rows.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::output_format::Format;
use crate::wrong_use::WrongUse;

/// Standard output, or a file. The name of a new file ends in `.part` until it is complete, so a
/// statement that fails leaves no file.
pub(crate) struct Output {
    /// `None` for standard output.
    file: Option<File>,
    /// The temporary and the final name, if the file is to be renamed.
    names: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// Opens the file, or standard output without a file or for the name `-`. An existing file is
    /// refused; a pipe or a device is written to.
    pub(crate) fn open(file: Option<&Path>, format: Format) -> anyhow::Result<Output> {
        let Some(path) = file.filter(|path| *path != Path::new("-")) else {
            if format.is_binary() && io::stdout().is_terminal() {
                return Err(
                    WrongUse("a terminal cannot show this format: name a file with --output".into()).into(),
                );
            }
            return Ok(Output {
                file: None,
                names: None,
            });
        };
        let create = || format!("create {}", path.display());
        if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let pipe = File::options().write(true).open(path).with_context(create)?;
            return Ok(Output {
                file: Some(pipe),
                names: None,
            });
        }
        if path.symlink_metadata().is_ok() {
            let there = format!("{} already exists and is not overwritten", path.display());
            return Err(WrongUse(there).into());
        }
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".part");
        let temporary = PathBuf::from(temporary);
        let part = File::create_new(&temporary).with_context(|| {
            format!(
                "create {}, which a command that was killed may have left",
                temporary.display()
            )
        })?;
        Ok(Output {
            file: Some(part),
            names: Some((temporary, path.to_owned())),
        })
    }

    /// Returns a writer to the destination.
    pub(crate) fn writer(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match &self.file {
            Some(file) => Box::new(BufWriter::new(file.try_clone()?)),
            None => Box::new(BufWriter::new(io::stdout())),
        })
    }

    /// Gives a complete file its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let (Some(file), Some((temporary, path))) = (&self.file, &self.names) {
            let write = || format!("write {}", path.display());
            file.sync_all().with_context(write)?;
            fs::rename(temporary, path).with_context(write)?;
        }
        self.names = None;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.names {
            // If this fails, the name still says that the file is not complete.
            let _ = fs::remove_file(temporary);
        }
    }
}
