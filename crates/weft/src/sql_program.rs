//! The program `weft-sql`, which executes SQL: finds it and runs it as a child process of `weft
//! serve`.
//!
//! The first request starts it; later requests restart it if it has exited. It reads standard
//! input, a pipe that is never written to, and exits when the pipe closes. So it ends with this
//! process, even after a crash.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use server::SqlServer;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use crate::context::Context;

/// Name of the program.
pub(crate) const PROGRAM: &str = "weft-sql";

/// How to get the program, for messages that say it is missing.
pub(crate) const HOW_TO_GET_IT: &str =
    "`pip install 'weft-archive[sql]'` installs it, `make sql` builds it (20 to 40 minutes, once)";

/// Time limit from start to listening.
const START_MAX: Duration = Duration::from_secs(10);

/// Pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(20);

/// Time limit for shutdown; running statements have 5 seconds of it.
const END_MAX: Duration = Duration::from_secs(6);

/// Returns the path of the program: next to this executable, else on `PATH`.
pub(crate) fn find() -> Option<PathBuf> {
    let sibling = std::env::current_exe()
        .ok()
        .map(|here| here.with_file_name(PROGRAM));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join(PROGRAM));
    sibling
        .into_iter()
        .chain(on_path)
        .find(|program| program.is_file())
}

/// A child process that runs `weft-sql serve`.
pub(crate) struct SqlProgram {
    program: PathBuf,
    arguments: Vec<std::ffi::OsString>,
    socket: PathBuf,
    running: Mutex<Option<Child>>,
    /// Directory of the socket, accessible only to this user.
    _folder: TempDir,
}

impl SqlProgram {
    /// Prepares to start the program for the archive of `context`. Returns `None` if it is not
    /// installed. `flight` is the address for Arrow Flight SQL.
    pub(crate) fn prepare(
        context: &Context,
        beside_store: bool,
        flight: Option<&str>,
    ) -> anyhow::Result<Option<SqlProgram>> {
        let Some(program) = find() else {
            return Ok(None);
        };
        let mut folder = tempfile::Builder::new();
        // Any client that can connect has the rights of the archive's owner.
        folder
            .prefix("weft-sql-")
            .permissions(Permissions::from_mode(0o700));
        let folder = folder.tempdir();
        let folder = folder.context("create a folder for the socket of weft-sql")?;
        let socket = folder.path().join("socket");
        let archive = std::path::absolute(&context.archive).context("find the archive's directory")?;
        let mut arguments = vec!["serve".into(), "--archive".into(), archive.into()];
        arguments.extend(["--socket".into(), socket.clone().into()]);
        if beside_store {
            arguments.push("--beside-store".into());
        }
        if context.read_only {
            arguments.push("--read-only".into());
        }
        if let Some(flight) = flight {
            arguments.extend(["--flight".into(), flight.into()]);
        }
        arguments.extend((0..context.verbose).map(|_| "-v".into()));
        Ok(Some(SqlProgram {
            program,
            arguments,
            socket,
            running: Mutex::default(),
            _folder: folder,
        }))
    }

    /// Starts the program now instead of at the first request.
    ///
    /// # Errors
    /// Fails if the program does not start listening.
    pub(crate) async fn start(&self) -> io::Result<()> {
        self.connect().await.map(drop)
    }

    /// Stops the program. Running statements get a short time to finish.
    pub(crate) async fn end(&self) {
        let Some(mut child) = self.running.lock().await.take() else {
            return;
        };
        drop(child.stdin.take());
        let begun = system::now();
        while matches!(child.try_wait(), Ok(None)) && system::since(begun) < END_MAX {
            tokio::time::sleep(PAUSE).await;
        }
        // Fails if it has already exited.
        let _ = child.kill();
        let _ = child.wait();
    }

    fn spawn(&self) -> io::Result<Child> {
        // Binding fails while the socket of an earlier run exists.
        match std::fs::remove_file(&self.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        tracing::info!(program = %self.program.display(), "starting");
        Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
    }
}

#[async_trait]
impl SqlServer for SqlProgram {
    async fn connect(&self) -> io::Result<UnixStream> {
        let mut running = self.running.lock().await;
        let begun = system::now();
        loop {
            let ended = match running.as_mut() {
                None => None,
                Some(child) => Some(child.try_wait()?),
            };
            match ended {
                // Not started yet, or exited since its last answer.
                None => *running = Some(self.spawn()?),
                Some(Some(status)) => {
                    *running = None;
                    if system::since(begun) > PAUSE {
                        return Err(io::Error::other(format!(
                            "{} exited during startup: {status}",
                            self.program.display()
                        )));
                    }
                }
                Some(None) => match UnixStream::connect(&self.socket).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) if system::since(begun) > START_MAX => return Err(error),
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
            }
        }
    }
}
