//! Which cache a command means: that of the archive's settings, or directories that flags name.

use std::path::PathBuf;

use anyhow::Context as _;
use cache::{Cache, Directory, SETTINGS_FILE, Settings};

use crate::context::Context;

/// Flags of what reads through a cache, or asks about it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CacheArgs {
    /// Keep what is read of stores elsewhere in this directory, before those of the archive's cache.toml; repeat it for more
    /// disks, the fastest first
    #[arg(long = "cache", value_name = "DIR", help_heading = "Cache")]
    caches: Vec<PathBuf>,
}

impl CacheArgs {
    /// Settings of the archive, with the directories of the flags before its own.
    pub(crate) fn settings(&self, context: &Context) -> anyhow::Result<Settings> {
        let mut settings = Settings::read(&context.archive.join(SETTINGS_FILE))?;
        let given = self.caches.iter().cloned().map(Directory::at);
        settings.directories = given.chain(settings.directories).collect();
        if context.read_only {
            settings.directories.clear();
        }
        Ok(settings)
    }

    /// Opens it for a program of this name.
    pub(crate) fn open(&self, context: &Context, program: &'static str) -> anyhow::Result<Cache> {
        let settings = self.settings(context)?;
        Cache::open(&settings, program).context("open the cache")
    }
}
