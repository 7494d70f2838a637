//! Selects the cache of a command: directories from flags, then those of the archive's settings.

use std::path::PathBuf;

use anyhow::Context as _;
use cache::{Cache, Directory, SETTINGS_FILE, Settings};

use crate::context::Context;

/// Flags of commands that read through a cache or inspect it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CacheArgs {
    /// Cache data read from remote stores in this directory, ahead of those in the archive's
    /// cache.toml; repeat for more disks, fastest first
    #[arg(long = "cache", value_name = "DIR", help_heading = "Cache")]
    caches: Vec<PathBuf>,
}

impl CacheArgs {
    /// Returns the archive's cache settings, with the directories of the flags first.
    pub(crate) fn settings(&self, context: &Context) -> anyhow::Result<Settings> {
        let mut settings = Settings::read(&context.archive.join(SETTINGS_FILE))?;
        let given = self.caches.iter().cloned().map(Directory::at);
        settings.directories = given.chain(settings.directories).collect();
        if context.read_only {
            settings.directories.clear();
        }
        Ok(settings)
    }

    /// Opens the cache on behalf of `program`.
    pub(crate) fn open(&self, context: &Context, program: &'static str) -> anyhow::Result<Cache> {
        let settings = self.settings(context)?;
        Cache::open(&settings, program).context("open the cache")
    }
}
