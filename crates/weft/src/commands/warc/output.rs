//! Parts shared by the writing commands: output checks, compression and progress.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use indicatif::ProgressBar;
use warc::Compression;
use warc_tools::{UnverifiedFile, WriteError, WrittenFolder};

use crate::commands::store::content;
use crate::context::Context;
use crate::flag_values::whole;
use crate::outcome::WrongUse;
use crate::stop::Stop;

/// The compression of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum RecordCompression {
    /// One gzip member per record.
    Gzip,
    /// One zstd frame per record.
    Zstd,
    /// No compression.
    None,
}

/// Flags that set the compression.
#[derive(Debug, clap::Args)]
pub(super) struct CompressionArgs {
    /// Compression of each record [default: from the extension of OUT, .gz, .zst or neither]
    #[arg(long, value_enum)]
    pub(super) to: Option<RecordCompression>,
    /// Compression level: gzip 0 to 9 [default: 6], zstd 1 to 22 [default: 3]
    #[arg(long, value_name = "N", value_parser = whole(0_u32..=22, 6))]
    level: Option<u32>,
}

impl CompressionArgs {
    /// Returns the compression for a file of this name.
    pub(super) fn of(&self, out: &Path) -> RecordCompression {
        self.to.unwrap_or_else(
            || match out.extension().and_then(|extension| extension.to_str()) {
                Some("gz") => RecordCompression::Gzip,
                Some("zst") => RecordCompression::Zstd,
                _ => RecordCompression::None,
            },
        )
    }

    pub(super) fn compression(
        &self,
        out: &Path,
        dictionary: Option<Vec<u8>>,
    ) -> Result<Compression, WrongUse> {
        let to = self.of(out);
        if dictionary.is_some() && to != RecordCompression::Zstd {
            return Err(WrongUse("a dictionary requires zstd; add --to zstd".to_owned()));
        }
        let level = |least: u32, most: u32, usual: u32| match self.level {
            Some(level) if !(least..=most).contains(&level) => {
                Err(WrongUse(format!("level is {level}, expected {least} to {most}")))
            }
            level => Ok(level.unwrap_or(usual)),
        };
        Ok(match to {
            RecordCompression::Gzip => Compression::Gzip {
                level: level(0, 9, 6)?,
            },
            RecordCompression::Zstd => Compression::Zstd {
                level: level(1, 22, 3)? as i32,
                dictionary,
            },
            RecordCompression::None if self.level.is_some() => {
                return Err(WrongUse(
                    "a level requires gzip or zstd; add --to gzip or --to zstd".to_owned(),
                ));
            }
            RecordCompression::None => Compression::Plain,
        })
    }
}

/// Fails if the output is an input, or an existing file without `--force`. It also rejects standard
/// output, because the output is read back before it gets its name.
pub(super) fn check_out(out: &Path, inputs: &[&Path], force: bool) -> anyhow::Result<()> {
    check_name(out)?;
    let Ok(there) = out.metadata() else { return Ok(()) };
    let name = out.display();
    for input in inputs {
        let is_same = |input: std::fs::Metadata| (input.dev(), input.ino()) == (there.dev(), there.ino());
        if input.metadata().is_ok_and(is_same) {
            return Err(WrongUse(format!("{name} is the input file; give the output another name")).into());
        }
    }
    if !there.is_file() {
        return Err(WrongUse(format!("{name} exists and is not a file; name a file to write")).into());
    }
    if !force {
        return Err(WrongUse(format!("{name} already exists; --force replaces it")).into());
    }
    Ok(())
}

fn check_name(out: &Path) -> Result<(), WrongUse> {
    if out == Path::new("-") {
        Err(WrongUse(
            "-o - is not standard output here, because the output is read back before it gets its name; \
             name a file (./- for a file called -)"
                .to_owned(),
        ))
    } else {
        Ok(())
    }
}

/// Fails if the output folder exists and is not empty.
pub(super) fn check_out_dir(out: &Path) -> Result<(), WrongUse> {
    check_name(out)?;
    if out.symlink_metadata().is_err() || out.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
        Ok(())
    } else {
        Err(WrongUse(format!(
            "{} already exists; name a new or an empty folder",
            out.display()
        )))
    }
}

/// The progress of work that Ctrl-C can stop.
pub(super) struct Progress {
    stop: Stop,
    quiet: bool,
}

impl Progress {
    pub(super) fn new(context: &Context) -> anyhow::Result<Progress> {
        Ok(Progress {
            stop: Stop::listen()?,
            quiet: context.json,
        })
    }

    /// Runs a step that reports its position through a callback.
    pub(super) fn step<T>(
        &self,
        name: &str,
        size_bytes: u64,
        step: impl FnOnce(&mut warc_tools::Progress<'_>) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        let bar: ProgressBar = content::bar(name, Some(size_bytes), self.quiet);
        let result = step(&mut |at| {
            bar.set_position(at);
            !self.stop.is_requested()
        });
        bar.finish_and_clear();
        result
    }

    /// Reads the written file back and renames it into place.
    pub(super) fn put(&self, written: UnverifiedFile, force: bool) -> Result<(), WriteError> {
        let size_bytes = written.size_bytes();
        let proved = self.step("verifying", size_bytes, |each| written.verify(each))?;
        proved.put(force)
    }

    /// Reads the written files back and renames their folder into place.
    pub(super) fn put_folder(&self, written: WrittenFolder) -> Result<(), WriteError> {
        let size_bytes = written.size_bytes();
        let proved = self.step("verifying", size_bytes, |each| written.verify(each))?;
        proved.put()
    }
}

/// Returns the size of a file for a progress bar, 0 if unknown.
pub(super) fn size_bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}
