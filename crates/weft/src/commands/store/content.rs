//! Transfers content between files and the store, with a progress bar on terminals.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::stream;
use indicatif::{ProgressBar, ProgressStyle};
use store::ByteStream;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::stop::Stop;

/// Number of bytes read from a file at a time.
const PIECE_BYTES: usize = 1 << 20;

/// A source of content: a file, or standard input.
pub(crate) struct Source {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Length in bytes, if known before reading.
    pub(crate) size: Option<u64>,
}

/// Opens a file, or standard input for `-`.
///
/// # Errors
/// Fails if the file cannot be opened or is a directory.
pub(crate) async fn open(path: &str) -> io::Result<Source> {
    if path == "-" {
        // Standard input is read like any file, since it may be a pipe or a file.
        let input = std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
        return Ok(Source {
            reader: Box::new(tokio::fs::File::from_std(input)),
            size: None,
        });
    }
    open_file(Path::new(path)).await
}

/// Opens a file.
///
/// # Errors
/// Fails if the file cannot be opened or is a directory.
pub(crate) async fn open_file(path: &Path) -> io::Result<Source> {
    let file = tokio::fs::File::open(path).await?;
    let metadata = file.metadata().await?;
    if metadata.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "this is a directory; name its files",
        ));
    }
    Ok(Source {
        reader: Box::new(file),
        size: metadata.is_file().then_some(metadata.len()),
    })
}

impl Source {
    /// Returns the content as a stream, counted by `bar`. A stop ends the stream with an error, so
    /// that no part of it becomes visible.
    pub(crate) fn stream(self, bar: ProgressBar, stop: Stop) -> ByteStream {
        Box::pin(stream::unfold(Some(self.reader), move |reader| {
            let (bar, stop) = (bar.clone(), stop.clone());
            async move {
                let mut reader = reader?;
                let mut piece = BytesMut::with_capacity(PIECE_BYTES);
                let read = tokio::select! {
                    read = reader.read_buf(&mut piece) => read,
                    () = stop.stopped() => Err(io::Error::new(io::ErrorKind::Interrupted, "stopped")),
                };
                match read {
                    Ok(0) => None,
                    Ok(read) => {
                        bar.inc(read as u64);
                        Some((Ok(piece.freeze()), Some(reader)))
                    }
                    Err(error) => Some((Err(error), None)),
                }
            }
        }))
    }
}

/// Makes a byte progress bar on standard error; hidden if that is not a terminal, or if `quiet`.
pub(crate) fn bar(name: &str, bytes: Option<u64>, quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = match bytes {
        Some(_) => "{prefix} [{bar:30}] {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left",
        None => "{prefix} {spinner} {bytes}  {bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = match bytes {
        Some(bytes) => ProgressBar::new(bytes.max(1)),
        None => ProgressBar::new_spinner(),
    };
    bar.set_style(style);
    bar.set_prefix(crate::style::cut(&crate::style::clean(name), 40));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
