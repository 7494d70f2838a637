//! Logging to standard error. By default this covers warnings and events of a store's volumes. `-v`
//! adds more, and `RUST_LOG` overrides both.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. `RUST_LOG` takes precedence over `-v` (info) and `-vv` (debug).
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    // s3s logs every client mistake as an error; responses and metrics already report these.
    let default = || EnvFilter::new(format!("{level},{}=info,s3s=off", store::NEWS));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| default());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_target(verbose > 1)
        .init();
}
