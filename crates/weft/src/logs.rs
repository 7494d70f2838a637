//! Logs go to standard error. By default they contain warnings and events of the volumes of a store; `-v`
//! adds more, and `RUST_LOG` decides instead if it is set.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. `RUST_LOG` takes precedence over `-v` (info) and `-vv` (debug).
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    // s3s logs every mistake of a client as an error; responses and metrics report these already.
    let default = || EnvFilter::new(format!("{level},{}=info,s3s=off", store::NEWS));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| default());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_target(verbose > 1)
        .init();
}
