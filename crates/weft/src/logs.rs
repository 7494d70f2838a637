//! Logs go to standard error: warnings and what happens to a store's volumes by default, more with `-v`, or what
//! `RUST_LOG` says.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. `RUST_LOG` wins over `-v` (info) and `-vv` (debug).
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    // s3s calls every mistake of a client an error of its own; the answer and the metrics tell of them already.
    let default = || EnvFilter::new(format!("{level},{}=info,s3s=off", store::NEWS));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| default());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_target(verbose > 1)
        .init();
}
