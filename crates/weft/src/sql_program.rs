//! The program `weft-sql`, which answers SQL: where it is, and as a process beside `weft serve`.
//!
//! It is started by the first request for it, and again should it have ended. It ends when this process does, in whatever way: it
//! reads from a pipe that nothing is ever written to.

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

/// Longest time from its start until it listens.
const START_MAX: Duration = Duration::from_secs(10);

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// How long it may take to end; statements under way have 5 seconds there.
const END_MAX: Duration = Duration::from_secs(6);

/// The program beside this one, else on the path.
pub(crate) fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe()
        .ok()
        .map(|here| here.with_file_name(PROGRAM));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join(PROGRAM));
    beside
        .into_iter()
        .chain(on_path)
        .find(|program| program.is_file())
}

/// `weft-sql serve` as a process of this one.
pub(crate) struct SqlProgram {
    program: PathBuf,
    arguments: Vec<std::ffi::OsString>,
    socket: PathBuf,
    running: Mutex<Option<Child>>,
    /// Where the socket is; nobody else may look into it.
    _folder: TempDir,
}

impl SqlProgram {
    /// Prepares to start it for the archive of `context`. `None` if it is not installed. `flight` is where Arrow Flight SQL is to
    /// listen.
    pub(crate) fn prepare(
        context: &Context,
        beside_store: bool,
        flight: Option<&str>,
    ) -> anyhow::Result<Option<SqlProgram>> {
        let Some(program) = find() else {
            return Ok(None);
        };
        let mut folder = tempfile::Builder::new();
        // Whoever can connect asks as the owner of the archive.
        folder
            .prefix("weft-sql-")
            .permissions(Permissions::from_mode(0o700));
        let folder = folder.tempdir();
        let folder = folder.context("make a folder for the socket of weft-sql")?;
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

    /// Starts it now, and not with the first request for it.
    ///
    /// # Errors
    /// If it does not come up.
    pub(crate) async fn start(&self) -> io::Result<()> {
        self.connect().await.map(drop)
    }

    /// Ends it; waits a little for statements under way.
    pub(crate) async fn end(&self) {
        let Some(mut child) = self.running.lock().await.take() else {
            return;
        };
        drop(child.stdin.take());
        let begun = system::now();
        while matches!(child.try_wait(), Ok(None)) && system::since(begun) < END_MAX {
            tokio::time::sleep(PAUSE).await;
        }
        // Fails if it has ended.
        let _ = child.kill();
        let _ = child.wait();
    }

    fn spawn(&self) -> io::Result<Child> {
        // A socket that is left from one before cannot be bound again.
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
                // It has never run, or has ended since it last answered.
                None => *running = Some(self.spawn()?),
                Some(Some(status)) => {
                    *running = None;
                    if system::since(begun) > PAUSE {
                        return Err(io::Error::other(format!(
                            "{} ended as it started: {status}",
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
