//! The destination of the access log: lines are collected, then appended to a file or put as an
//! object.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use store::bucket::{self, BucketError};
use store::{Key, KeyError, Put, Store, StoreError};
use time::OffsetDateTime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Destination of an access log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTarget {
    /// Appends to this file, created with mode 0600. `%Y`, `%m`, `%d` and `%H` in its name are
    /// replaced by the time of writing (UTC). SIGHUP reopens it.
    File(PathBuf),
    /// Writes objects `PREFIX2026-11-22-10-15-00-UNIQUE` to this bucket, which is created if
    /// missing.
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// Prefix of the object names; may be empty.
        prefix: String,
        /// How long lines are collected before an object is written.
        every: Duration,
    },
}

/// A text that is no [`LogTarget`].
#[derive(Debug, thiserror::Error)]
pub enum LogTargetError {
    /// The text is empty.
    #[error("expected a file, or s3://BUCKET/PREFIX")]
    Empty,
    /// The name of the bucket.
    #[error(transparent)]
    Bucket(#[from] BucketError),
}

/// Why lines could not be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum WriteError {
    File(#[from] io::Error),
    Bucket(#[from] BucketError),
    Key(#[from] KeyError),
    Object(#[from] StoreError),
}

impl FromStr for LogTarget {
    type Err = LogTargetError;

    /// Parses `s3://BUCKET/PREFIX`, or the path of a file.
    fn from_str(text: &str) -> Result<Self, LogTargetError> {
        let Some(address) = text.strip_prefix("s3://") else {
            return if text.is_empty() {
                Err(LogTargetError::Empty)
            } else {
                Ok(Self::File(text.into()))
            };
        };
        let (name, prefix) = address.split_once('/').unwrap_or((address, ""));
        bucket::check_name(name)?;
        Ok(Self::Bucket {
            bucket: name.to_owned(),
            prefix: prefix.to_owned(),
            // A killed process loses this much. A shorter interval would create small objects of a
            // few requests each.
            every: Duration::from_secs(300),
        })
    }
}

/// Most bytes collected before they are written. Less would create too many objects; more would
/// lose more lines when the process is killed.
const GATHERED_BYTES_MAX: usize = 1024 * 1024;

/// Most bytes kept while they cannot be written: about 30,000 lines. Enough for a short outage of
/// the store, and little compared with the memory of the requests.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Collected lines, and their destination.
pub(super) struct Writer {
    destination: Destination,
    gathered: String,
    lines: u64,
    since: Option<Instant>,
    lost: u64,
}

enum Destination {
    File {
        pattern: PathBuf,
        open: Option<(PathBuf, File)>,
        hangups: Signal,
    },
    Bucket {
        bucket: String,
        prefix: String,
        every: Duration,
        store: Store,
    },
}

impl Writer {
    /// Opens the file, so that a wrong path fails immediately, and installs the SIGHUP handler.
    ///
    /// # Errors
    /// If the file cannot be opened, or the target is a bucket and there is no store.
    pub(super) async fn open(target: LogTarget, store: Option<Store>) -> io::Result<Self> {
        let destination = match target {
            LogTarget::File(pattern) => {
                let path = dated(&pattern, OffsetDateTime::from(system::wall()));
                let file = append(&path)?;
                Destination::File {
                    pattern,
                    open: Some((path, file)),
                    hangups: signal(SignalKind::hangup())?,
                }
            }
            LogTarget::Bucket {
                bucket,
                prefix,
                every,
            } => Destination::Bucket {
                bucket,
                prefix,
                every,
                store: store.ok_or_else(|| io::Error::other("without a store, the log must be a file"))?,
            },
        };
        Ok(Self {
            destination,
            gathered: String::new(),
            lines: 0,
            since: None,
            lost: 0,
        })
    }

    /// Adds a line.
    pub(super) fn take(&mut self, line: &str) {
        if self.gathered.len() + line.len() > KEPT_BYTES_MAX {
            self.lost += 1;
            return;
        }
        self.gathered.push_str(line);
        self.gathered.push('\n');
        self.lines += 1;
        self.since.get_or_insert_with(system::now);
    }

    /// Returns the number of lines lost since the last call.
    pub(super) fn lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Reports whether the collected lines must be written before more are added.
    pub(super) fn is_full(&self) -> bool {
        self.gathered.len() >= GATHERED_BYTES_MAX
    }

    /// Writes to a file, whose readers expect lines immediately. For objects, waits for more lines.
    pub(super) async fn write_now(&mut self) {
        if matches!(self.destination, Destination::File { .. }) || self.is_full() {
            self.flush().await;
        }
    }

    /// Returns when it is time to flush: an object's interval has passed, or SIGHUP arrived and the
    /// file was closed.
    pub(super) async fn due(&mut self) {
        match &mut self.destination {
            Destination::File { open, hangups, .. } => {
                hangups.recv().await;
                *open = None;
            }
            Destination::Bucket { every, .. } => match self.since {
                Some(since) => tokio::time::sleep_until((since + *every).into()).await,
                None => std::future::pending().await,
            },
        }
    }

    /// Writes all lines. After a failure they are kept for the next flush, unless too many have
    /// accumulated.
    pub(super) async fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        // A failed object is retried after another full interval.
        self.since = Some(system::now());
        if let Err(error) = self.destination.write(&self.gathered).await {
            tracing::warn!(%error, "cannot write the S3 access log");
            if self.gathered.len() >= KEPT_BYTES_MAX / 2 {
                self.lost += self.lines;
                self.forget();
            }
            return;
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.gathered.clear();
        self.lines = 0;
        self.since = None;
    }
}

impl Destination {
    async fn write(&mut self, lines: &str) -> Result<(), WriteError> {
        match self {
            Self::File { pattern, open, .. } => {
                let path = dated(pattern, OffsetDateTime::from(system::wall()));
                let file = match open {
                    Some((opened, file)) if *opened == path => file,
                    _ => {
                        let file = append(&path)?;
                        &mut open.insert((path, file)).1
                    }
                };
                // Blocking is fine: at most a megabyte goes into the page cache.
                file.write_all(lines.as_bytes())?;
            }
            Self::Bucket {
                bucket,
                prefix,
                store,
                ..
            } => {
                store.make_bucket(bucket, Default::default()).await?;
                let name = object_name(prefix, OffsetDateTime::from(system::wall()));
                let key = Key::new(bucket, &name)?;
                let content = Bytes::copy_from_slice(lines.as_bytes());
                let put = Put {
                    attributes: [("content-type".to_owned(), "text/plain".to_owned())].into(),
                    ..Put::default()
                };
                let content = stream::once(async { Ok(content) }).boxed();
                store.put(&key, content, put).await?;
            }
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// Returns the file's name at a given time.
fn dated(pattern: &Path, now: OffsetDateTime) -> PathBuf {
    let Some(text) = pattern.to_str().filter(|text| text.contains('%')) else {
        return pattern.to_owned();
    };
    let two = |number: u8| format!("{number:02}");
    text.replace("%Y", &format!("{:04}", now.year()))
        .replace("%m", &two(now.month().into()))
        .replace("%d", &two(now.day()))
        .replace("%H", &two(now.hour()))
        .into()
}

/// Returns an object name in the form of S3's access logs.
fn object_name(prefix: &str, now: OffsetDateTime) -> String {
    let (date, time) = (now.date(), now.time());
    let unique: u64 = system::random();
    format!(
        "{prefix}{:04}-{:02}-{:02}-{:02}-{:02}-{:02}-{unique:016X}",
        date.year(),
        u8::from(date.month()),
        date.day(),
        time.hour(),
        time.minute(),
        time.second(),
    )
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn names_tell_the_time() {
        let now = datetime!(2026-03-04 05:06:07 UTC);
        assert_eq!(
            dated(Path::new("a/%Y%m%d-%H.log"), now),
            Path::new("a/20260304-05.log")
        );
        assert_eq!(dated(Path::new("a.log"), now), Path::new("a.log"));
        let name = object_name("s3/", now);
        assert!(
            name.starts_with("s3/2026-03-04-05-06-07-") && name.len() == 39,
            "{name}"
        );
    }
}
