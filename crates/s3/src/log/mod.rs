//! The access log: one line for each request, in a file or in objects of a bucket.
//!
//! A request is never held up by its line, nor fails because of it: lines wait in a queue, and those for which it has no
//! room are dropped and counted in the program's log. Lines of a bucket's log are written every few minutes and when the
//! face ends; a process that is killed loses those that waited.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use store::{Store, bucket};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

mod entry;
mod target;

pub(crate) use entry::Entry;
use target::Writer;

/// Lines that wait to be written, at most.
const QUEUE_MAX: usize = 16 * 1024;

/// How often it is said that lines were dropped, at most.
const SAY_INTERVAL: Duration = Duration::from_secs(60);

/// An access log, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Where lines go.
    pub target: LogTarget,
    /// How they are written.
    pub format: LogFormat,
}

/// Where an access log's lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTarget {
    /// To the end of this file, which only its owner may read. `%Y`, `%m`, `%d` and `%H` in its name stand for the time
    /// (UTC) of writing. The process opens it again on SIGHUP.
    File(PathBuf),
    /// To objects `PREFIX2026-11-22-10-15-00-UNIQUE` of this bucket, which is made when it is absent.
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// What the objects' names begin with; may be empty.
        prefix: String,
        /// How long lines wait for others before an object is written.
        every: Duration,
    },
}

impl FromStr for LogTarget {
    type Err = String;

    /// `s3://BUCKET/PREFIX`, or the path of a file.
    fn from_str(text: &str) -> Result<Self, String> {
        let Some(address) = text.strip_prefix("s3://") else {
            return match text.is_empty() {
                true => Err("expected a file, or s3://BUCKET/PREFIX".to_owned()),
                false => Ok(Self::File(text.into())),
            };
        };
        let (name, prefix) = address.split_once('/').unwrap_or((address, ""));
        bucket::check_name(name).map_err(|error| error.to_string())?;
        Ok(Self::Bucket {
            bucket: name.to_owned(),
            prefix: prefix.to_owned(),
            every: Duration::from_secs(300),
        })
    }
}

/// How an access log's lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// As S3's server access logs: fields with spaces between.
    #[default]
    S3,
    /// One JSON object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "s3" => Ok(Self::S3),
            "json" => Ok(Self::Json),
            _ => Err("expected s3 or json".to_owned()),
        }
    }
}

/// How long the last lines may take when the face ends: a store that does not answer must not hold up the end.
const END_MAX: Duration = Duration::from_secs(5);

/// What the writer is sent.
enum Message {
    Line(String),
    End(oneshot::Sender<()>),
}

/// The sending end of the log, one for each holder.
#[derive(Clone)]
pub(crate) struct Log {
    lines: mpsc::Sender<Message>,
    format: LogFormat,
    dropped: Arc<AtomicU64>,
}

/// The log as it is held by who started it.
pub(crate) struct RunningLog {
    pub(crate) log: Log,
    writing: JoinHandle<()>,
}

impl RunningLog {
    /// Begins to write.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub(crate) async fn start(settings: LogSettings, store: Store) -> std::io::Result<Self> {
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

    /// Writes what waits, and ends.
    pub(crate) async fn end(self) {
        let (done, ended) = oneshot::channel();
        let told = async {
            // Both fail only when the task is gone, and then nothing waits.
            if self.log.lines.send(Message::End(done)).await.is_ok() {
                let _ = ended.await;
            }
        };
        if tokio::time::timeout(END_MAX, told).await.is_err() {
            tracing::warn!("the last lines of the S3 access log could not be written in time");
        }
        self.writing.abort();
    }
}

impl Log {
    /// Sends a line on its way.
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
                    // Whoever waited may have given up.
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
        // As long as more lines wait they are taken first; then all are written at once.
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
        assert_eq!("a/b.log".parse(), Ok(LogTarget::File("a/b.log".into())));
        let expected = LogTarget::Bucket {
            bucket: "logs".to_owned(),
            prefix: "s3/".to_owned(),
            every: Duration::from_secs(300),
        };
        assert_eq!("s3://logs/s3/".parse(), Ok(expected));
        for wrong in ["", "s3://", "s3://UPPER/x"] {
            assert!(wrong.parse::<LogTarget>().is_err(), "{wrong}");
        }
    }
}
