//! The fixity log: append-only JSON lines about verified, bad, lost and repaired replicas.
//!
//! A node has one log. Every volume of the node that is in service holds a full copy of it
//! (`fixity.jsonl`), so that it survives the loss of a volume. Reading merges the copies.
//!
//! Invariants:
//! - A line is written to all copies. If a write fails, the process log names the copy.
//! - A copy that ends in the middle of a line (a crash, a full disk) continues on a new line, so at
//!   most that line is lost.
//! - Losses and repairs are synced before the call returns; verifications reach the disk later.

#![expect(
    clippy::disallowed_methods,
    reason = "the log describes replicas, and no replica depends on it"
)]

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use store_protocol::{Cause, FixityEvent, Key, Version, VolumeId};

use super::group::Grouped;

/// File name of the log in the directory of a volume.
pub(crate) const FIXITY: &str = "fixity.jsonl";

/// Maximum number of lines in one response, some 30 MB. More would fill the memory of both nodes;
/// to get all lines, read the file.
pub const LINES_MAX: usize = 100_000;

/// Maximum length of a line in bytes. Lines usually have a few hundred, and details may have a few
/// thousand.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Called if a copy cannot be synced: writes to that volume cannot be trusted any more.
type SyncFailed = Box<dyn Fn(&io::Error) + Send + Sync>;

/// Called for every event written.
pub type Listener = Box<dyn Fn(&FixityEvent) + Send + Sync>;

/// The fixity log of a node.
#[derive(Default)]
pub struct FixityLog {
    copies: Mutex<Vec<Arc<Copy>>>,
    lines: Grouped<(String, bool), ()>,
    /// Called for every event.
    listener: OnceLock<Listener>,
    /// Copies that could not be synced. Their `sync_failed` is called while no lock is held.
    failed: Mutex<Vec<(Arc<Copy>, io::Error)>>,
}

/// The copy of the log on one volume.
struct Copy {
    volume: VolumeId,
    path: PathBuf,
    end: Mutex<End>,
    sync_failed: SyncFailed,
}

/// The end of a copy, where lines are appended.
struct End {
    file: File,
    /// Whether the last line may be incomplete.
    torn: bool,
}

impl FixityLog {
    /// Returns a log without copies; volumes attach theirs when they are opened.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Writes a line to all copies. With `sync` it is durable on every working copy when this
    /// returns.
    ///
    /// Never fails: write errors go to the log of the process.
    pub fn append(&self, event: &FixityEvent, sync: bool) {
        tracing::info!(
            volume = %event.volume, event = event.event, key = event.key.as_ref().map(Key::as_str),
            detail = event.detail, "fixity"
        );
        if let Some(listener) = self.listener.get() {
            listener(event);
        }
        let Ok(mut line) = serde_json::to_string(event) else {
            return; // Unreachable: all map keys of the event are strings.
        };
        line.push('\n');
        self.lines.run((line, sync), |batch| {
            let sync = batch.iter().any(|(_, sync)| *sync);
            let lines: String = batch.iter().map(|(line, _)| line.as_str()).collect();
            self.write(&lines, sync);
            batch.iter().map(|_| ()).collect()
        });
        // The callbacks run while no lock is held, because they may append lines.
        let failed = std::mem::take(&mut *self.failed.lock());
        for (copy, error) in failed {
            (copy.sync_failed)(&error);
        }
    }

    /// Sets the callback for every event. Only the first call has an effect.
    pub fn listen(&self, listener: Listener) {
        let _ = self.listener.set(listener);
    }

    /// Returns the last `limit` lines, optionally only those about a key, oldest first. Streams
    /// through the copies.
    ///
    /// # Errors
    /// Fails if no copy can be read.
    pub fn read(&self, key: Option<&Key>, limit: usize) -> io::Result<Vec<FixityEvent>> {
        let limit = limit.min(LINES_MAX);
        let copies = self.copies.lock().clone();
        let (mut events, mut failure) = (Vec::new(), None);
        for copy in &copies {
            match copy.last(key, limit) {
                Ok(found) => events.extend(found),
                Err(error) => failure = Some(error),
            }
        }
        if let (true, Some(error)) = (events.is_empty(), failure) {
            return Err(error);
        }
        Ok(merge(events, limit))
    }

    /// Attaches the copy of a volume. A missing copy is filled from another one.
    pub(super) fn attach(&self, volume: &VolumeId, root: &Path, sync_failed: SyncFailed) -> io::Result<()> {
        let path = root.join(FIXITY);
        let mut copies = self.copies.lock();
        copies.retain(|copy| copy.volume != *volume);
        if !path.exists() {
            copies.iter().find_map(|copy| copy.copy_to(&path));
        }
        copies.push(Arc::new(Copy::open(volume, path, sync_failed)?));
        Ok(())
    }

    /// Detaches a volume that is closed or out of service.
    pub(super) fn detach(&self, volume: &VolumeId) {
        self.copies.lock().retain(|copy| copy.volume != *volume);
    }

    fn write(&self, lines: &str, sync: bool) {
        let copies = self.copies.lock().clone();
        for copy in copies {
            if let Err(error) = copy.write(lines) {
                tracing::error!(path = %copy.path.display(), %error, "cannot append to this copy of the fixity log; lines are missing from it");
            } else if sync && let Err(error) = copy.sync() {
                self.failed.lock().push((copy, error));
            }
        }
    }
}

impl Copy {
    fn open(volume: &VolumeId, path: PathBuf, sync_failed: SyncFailed) -> io::Result<Self> {
        let mut file = system::private::file()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)?;
        let torn = is_torn(&mut file)?;
        Ok(Self {
            volume: volume.clone(),
            path,
            end: Mutex::new(End { file, torn }),
            sync_failed,
        })
    }

    fn write(&self, lines: &str) -> io::Result<()> {
        let mut end = self.end.lock();
        if end.torn {
            end.file.write_all(b"\n")?;
        }
        // Set before the write: if the write fails half-way, the next one starts on a new line.
        end.torn = true;
        end.file.write_all(lines.as_bytes())?;
        end.torn = false;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        // The lock is released before the sync, so that writes can continue.
        let file = self.end.lock().file.try_clone()?;
        file.sync_data()
    }

    /// Copies the log to `path`; returns `None` on failure.
    fn copy_to(&self, path: &Path) -> Option<()> {
        // The lock prevents writes to the copied file.
        let _end = self.end.lock();
        let copied = std::fs::copy(&self.path, path);
        copied
            .map(drop)
            .map_err(|error| {
                let _ = std::fs::remove_file(path);
                tracing::warn!(path = %path.display(), %error, "cannot copy the earlier lines of the fixity log");
            })
            .ok()
    }

    fn last(&self, key: Option<&Key>, limit: usize) -> io::Result<VecDeque<FixityEvent>> {
        let mut reader = BufReader::new(File::open(&self.path)?);
        let mut last = VecDeque::new();
        while let Some(line) = next_line(&mut reader)? {
            // Skips incomplete lines and lines written by a later version in another form.
            let Ok(event) = serde_json::from_slice::<FixityEvent>(&line) else {
                continue;
            };
            if key.is_none() || event.key.as_ref() == key {
                last.push_back(event);
                if last.len() > limit {
                    last.pop_front();
                }
            }
        }
        Ok(last)
    }
}

/// Returns an event with the current time.
pub fn event(
    event: &str,
    volume: &VolumeId,
    replica: Option<(&Key, Version)>,
    cause: Cause,
    detail: impl Into<String>,
) -> FixityEvent {
    FixityEvent {
        time_ms: system::wall_ms(),
        event: event.to_owned(),
        volume: volume.clone(),
        key: replica.map(|(key, _)| key.clone()),
        version: replica.map(|(_, version)| version),
        cause,
        detail: detail.into(),
    }
}

/// Returns the last `limit` events of all copies without duplicates, oldest first.
fn merge(mut events: Vec<FixityEvent>, limit: usize) -> Vec<FixityEvent> {
    let mut seen = HashSet::new();
    events.retain(|event| seen.insert(serde_json::to_string(event).unwrap_or_default()));
    // The sort is stable: lines of the same millisecond stay in the order they were written.
    events.sort_by_key(|event| event.time_ms);
    let surplus = events.len().saturating_sub(limit);
    events.drain(..surplus);
    events
}

/// Reads the next line, up to [`LINE_BYTES_MAX`]. The rest of a longer line is read as separate
/// lines, which are skipped.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = reader.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok((read > 0).then_some(line))
}

/// Returns whether the last line of a file has no line end.
fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0] != b'\n')
}

#[cfg(test)]
mod tests;
