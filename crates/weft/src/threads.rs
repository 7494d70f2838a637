//! Threads for async work.

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

/// Starts a runtime whose threads have this name, which debuggers and `top -H` show.
pub(crate) fn start(name: &'static str) -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .build()
        .with_context(|| format!("start the {name}'s threads"))
}
