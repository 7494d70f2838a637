//! Opens the archive on demand and closes it when idle.
//!
//! A process with an open archive owns it, or prevents others from owning it. A prompt that waits
//! for input must not block a load, so an idle archive is closed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use archive::{Archive, Cut, OpenSettings};
use parking_lot::Mutex;

use crate::{Settings, SqlError};

/// Time that an archive stays open after the last statement: a few keystrokes.
const IDLE_TIME_MAX: Duration = Duration::from_secs(2);

/// An archive that is opened on demand.
pub(crate) struct Handle {
    dir: PathBuf,
    settings: OpenSettings,
    open: Mutex<Option<Open>>,
}

struct Open {
    archive: Archive,
    asked: Instant,
}

impl Handle {
    pub(crate) fn new(dir: &Path, settings: &Settings) -> Arc<Handle> {
        let mut opening = OpenSettings::default();
        opening.asks_only = true;
        opening.read_only = settings.read_only;
        Arc::new(Handle {
            dir: dir.to_owned(),
            settings: opening,
            open: Mutex::new(None),
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Opens the archive. Blocks while other processes use it, so it must not be called on async
    /// threads.
    pub(crate) fn archive(self: &Arc<Handle>) -> Result<Archive, SqlError> {
        let mut open = self.open.lock();
        if let Some(open) = &mut *open {
            open.asked = system::now();
            return Ok(open.archive.clone());
        }
        let archive = Archive::open(&self.dir, self.settings.clone())?;
        *open = Some(Open {
            archive: archive.clone(),
            asked: system::now(),
        });
        let handle = Arc::downgrade(self);
        // If the thread cannot be started, the archive stays open until the process ends.
        let _ = std::thread::Builder::new()
            .name("idle archive".into())
            .spawn(move || close_when_idle(&handle));
        Ok(archive)
    }

    /// Returns a cut of the newest epoch.
    pub(crate) fn cut(self: &Arc<Handle>) -> Result<Cut, SqlError> {
        Ok(self.archive()?.hold()?)
    }
}

fn close_when_idle(handle: &Weak<Handle>) {
    loop {
        system::pause(IDLE_TIME_MAX / 4);
        let Some(handle) = handle.upgrade() else { return };
        let mut open = handle.open.lock();
        match &*open {
            Some(open) if system::since(open.asked) < IDLE_TIME_MAX => {}
            // Running statements hold clones.
            _ => {
                *open = None;
                return;
            }
        }
    }
}
