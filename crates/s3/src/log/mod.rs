//! The access log: one line for each request, in a file or in objects of a bucket.
//!
//! A request never waits for its line and never fails because of it. Lines go into a queue; lines
//! that do not fit are dropped and counted in the program's log. Lines for a bucket are written
//! every few minutes and at shutdown; a killed process loses the queued ones.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use store::Store;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

mod entry;
mod target;

pub(crate) use entry::Entry;
use target::Writer;
pub use target::{LogTarget, LogTargetError};

/// Most lines in the queue: eight seconds of 2,000 requests a second while nothing can be written.
/// Beyond that, lines are dropped to bound memory.
const QUEUE_MAX: usize = 16 * 1024;

/// Shortest interval between warnings about dropped lines, which would otherwise flood the
/// program's log.
const SAY_INTERVAL: Duration = Duration::from_secs(60);

/// Settings of an access log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Destination of the lines.
    pub target: LogTarget,
    /// Format of the lines.
    pub format: LogFormat,
}

/// Format of an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// S3's server access logs: fields separated by spaces.
    #[default]
    S3,
    /// One JSON object per line.
    Json,
}

/// A text that is no [`LogFormat`].
#[derive(Debug, thiserror::Error)]
#[error("expected s3 or json")]
pub struct LogFormatError;

impl FromStr for LogFormat {
    type Err = LogFormatError;

    fn from_str(text: &str) -> Result<Self, LogFormatError> {
        match text {
            "s3" => Ok(Self::S3),
            "json" => Ok(Self::Json),
            _ => Err(LogFormatError),
        }
    }
}

/// How long writing the last lines may take at shutdown: an unresponsive store must not block it.
const END_MAX: Duration = Duration::from_secs(5);

/// Messages to the writer.
enum Message {
    Line(String),
    End(oneshot::Sender<()>),
}

/// The sender side of the log, cloned for each user.
#[derive(Clone)]
pub(crate) struct Log {
    lines: mpsc::Sender<Message>,
    format: LogFormat,
    dropped: Arc<AtomicU64>,
}

/// The log as held by its starter, which ends it.
pub(crate) struct RunningLog {
    pub(crate) log: Log,
    writing: JoinHandle<()>,
}

impl RunningLog {
    /// Starts the writer.
    ///
    /// # Errors
    /// If the file cannot be opened, or the target is a bucket and there is no store.
    pub(crate) async fn start(settings: LogSettings, store: Option<Store>) -> std::io::Result<Self> {
        let (lines, receiver) = mpsc::channel(QUEUE_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer::open(settings.target, store).await?;
        let writing = tokio::spawn(write_all(receiver, writer, dropped.clone()));
        Ok(Self {
            log: Log {
                lines,
                format: settings.format,
                dropped,
            },
            writing,
        })
    }

    /// Writes the queued lines and stops.
    pub(crate) async fn end(self) {
        let (done, ended) = oneshot::channel();
        let flushing = async {
            // Both fail only if the task has ended, and then nothing is queued.
            if self.log.lines.send(Message::End(done)).await.is_ok() {
                let _ = ended.await;
            }
        };
        if tokio::time::timeout(END_MAX, flushing).await.is_err() {
            tracing::warn!("the last lines of the S3 access log could not be written in time");
        }
        self.writing.abort();
    }
}

impl Log {
    /// Queues a line.
    pub(crate) fn write(&self, entry: Entry) {
        let line = match self.format {
            LogFormat::S3 => entry.to_s3(),
            LogFormat::Json => entry.to_json(),
        };
        if self.lines.try_send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn write_all(mut lines: mpsc::Receiver<Message>, mut writer: Writer, dropped: Arc<AtomicU64>) {
    let mut say = tokio::time::interval(SAY_INTERVAL);
    loop {
        tokio::select! {
            message = lines.recv() => match message {
                Some(Message::Line(line)) => writer.take(&line),
                Some(Message::End(done)) => {
                    writer.flush().await;
                    // The receiver may have given up after [`END_MAX`].
                    let _ = done.send(());
                    return;
                }
                None => return,
            },
            () = writer.due() => writer.flush().await,
            _ = say.tick() => {
                let lost = dropped.swap(0, Ordering::Relaxed) + writer.lost();
                if lost > 0 {
                    tracing::warn!(lines = lost, "lines of the S3 access log were lost");
                }
            }
        }
        // Lines are collected as long as more are queued, then written together.
        if lines.is_empty() || writer.is_full() {
            writer.write_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_files_or_buckets() {
        let target = |text: &str| text.parse::<LogTarget>().unwrap();
        assert_eq!(target("a/b.log"), LogTarget::File("a/b.log".into()));
        let expected = LogTarget::Bucket {
            bucket: "logs".to_owned(),
            prefix: "s3/".to_owned(),
            every: Duration::from_secs(300),
        };
        assert_eq!(target("s3://logs/s3/"), expected);
        for wrong in ["", "s3://", "s3://UPPER/x"] {
            assert!(wrong.parse::<LogTarget>().is_err(), "{wrong}");
        }
    }
}
