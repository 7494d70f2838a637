//! The fixity log: what was verified, found bad, lost and repaired, as append-only JSON lines.
//!
//! A node has one log. Every volume of the node that is in service holds a whole copy of it (`fixity.jsonl`),
//! so that losing a volume does not lose its story. Reading merges the copies.
//!
//! Invariants:
//! - a line is written to all copies; where that fails, the process log names the copy that lacks it;
//! - a copy that ends in the middle of a line (a crash, a full disk) continues on a new line: at most that
//!   line is lost;
//! - losses and repairs are synced before the call returns; verifications reach the disk some time later.

#![expect(
    clippy::disallowed_methods,
    reason = "the log tells of replicas; none depends on it"
)]

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use contract::{Cause, FixityEvent, Key, Version, VolumeId};
use parking_lot::Mutex;

use super::group::Grouped;

/// The copy of the log in a volume's directory.
pub(crate) const FIXITY: &str = "fixity.jsonl";

/// Largest number of lines in one answer, whatever the caller asks for. Some 30 MB. More would fill the
/// memory of both nodes; a person who wants all reads the file.
pub const LINES_MAX: usize = 100_000;

/// Longest line that is read, in bytes. Ours have some hundred; details may be a few thousand.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Called when a copy cannot be synced: nothing written to that volume can be trusted any longer.
type SyncFailed = Box<dyn Fn(&io::Error) + Send + Sync>;

/// Called with every event that is written.
pub type Listener = Box<dyn Fn(&FixityEvent) + Send + Sync>;

/// The fixity log of a node.
#[derive(Default)]
pub struct FixityLog {
    copies: Mutex<Vec<Arc<Copy>>>,
    lines: Grouped<(String, bool), ()>,
    /// Called with every event.
    listener: OnceLock<Listener>,
    /// Copies that could not be synced. Their `sync_failed` is called when no lock is held.
    failed: Mutex<Vec<(Arc<Copy>, io::Error)>>,
}

/// The log on one volume.
struct Copy {
    volume: VolumeId,
    path: PathBuf,
    end: Mutex<End>,
    sync_failed: SyncFailed,
}

/// Where a copy is written.
struct End {
    file: File,
    /// Whether the last line may be cut off.
    torn: bool,
}

impl FixityLog {
    /// Returns a log without copies: volumes attach theirs when they are opened.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Writes a line to all copies. With `sync` it is durable on every working copy when this returns.
    ///
    /// Never fails: what cannot be written is reported to the process's own log.
    pub fn append(&self, event: &FixityEvent, sync: bool) {
        tracing::info!(
            volume = %event.volume, event = event.event, key = event.key.as_ref().map(Key::as_str),
            detail = event.detail, "fixity"
        );
        if let Some(listener) = self.listener.get() {
            listener(event);
        }
        let Ok(mut line) = serde_json::to_string(event) else {
            return; // Not reached: the event has no map with other keys than text.
        };
        line.push('\n');
        self.lines.run((line, sync), |batch| {
            let sync = batch.iter().any(|(_, sync)| *sync);
            let lines: String = batch.iter().map(|(line, _)| line.as_str()).collect();
            self.write(&lines, sync);
            batch.iter().map(|_| ()).collect()
        });
        // The callbacks run here, when no lock is held: they may append lines themselves.
        let failed = std::mem::take(&mut *self.failed.lock());
        for (copy, error) in failed {
            (copy.sync_failed)(&error);
        }
    }

    /// Sets the callback for every event. Only the first call counts.
    pub fn listen(&self, listener: Listener) {
        let _ = self.listener.set(listener);
    }

    /// Returns the last `limit` lines, or the last ones about a key, oldest first. Streams through the
    /// copies.
    ///
    /// # Errors
    /// When no copy can be read.
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

    /// Attaches a volume's copy; a copy that does not exist yet is filled from another one.
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
                tracing::error!(path = %copy.path.display(), %error, "lines are missing from this copy of the fixity log");
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
        // The flag is set before the write: if the write fails half-way, the next one begins on a new line.
        end.torn = true;
        end.file.write_all(lines.as_bytes())?;
        end.torn = false;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        // The lock is released before the sync, so that others may write meanwhile.
        let file = self.end.lock().file.try_clone()?;
        file.sync_data()
    }

    /// Writes another copy with the same lines to `path`; returns `None` if that failed.
    fn copy_to(&self, path: &Path) -> Option<()> {
        // While the lock is held nobody writes to the copied file.
        let _end = self.end.lock();
        let copied = std::fs::copy(&self.path, path);
        copied
            .map(drop)
            .map_err(|error| {
                let _ = std::fs::remove_file(path);
                tracing::warn!(path = %path.display(), %error, "earlier lines of the fixity log could not be copied");
            })
            .ok()
    }

    fn last(&self, key: Option<&Key>, limit: usize) -> io::Result<VecDeque<FixityEvent>> {
        let mut reader = BufReader::new(File::open(&self.path)?);
        let mut last = VecDeque::new();
        while let Some(line) = next_line(&mut reader)? {
            // A torn line is no event, nor is one that a later version writes differently.
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

/// Returns the last `limit` events of all copies, each once, oldest first.
fn merge(mut events: Vec<FixityEvent>, limit: usize) -> Vec<FixityEvent> {
    let mut seen = HashSet::new();
    events.retain(|event| seen.insert(serde_json::to_string(event).unwrap_or_default()));
    // This sort is stable: lines of one millisecond stay in the order they were written.
    events.sort_by_key(|event| event.time_ms);
    let surplus = events.len().saturating_sub(limit);
    events.drain(..surplus);
    events
}

/// Reads the next line, cut at [`LINE_BYTES_MAX`]. The rest of a longer line is read as lines of its own,
/// which are no events.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = reader.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok((read > 0).then_some(line))
}

/// Whether the last line of a file has no line end.
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
