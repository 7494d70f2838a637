//! A store opened for one command. It is always closed, even if the command is interrupted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::bail;
use cluster::{
    ConnectError, ConnectSettings, Connection, NodeSettings, VolumeSettings, connect, connect_or_begin,
};
use store::{ReadMode, Store, Topology};

use crate::outcome::NotFound;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::threads;

/// Time for running work to end cleanly after a stop.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// An open store and the state of the command.
pub(crate) struct Session {
    connection: Connection,
    /// Set when the command was asked to stop.
    pub(crate) stop: Stop,
    /// Whether reads accept any reachable version.
    reads_any: AtomicBool,
}

/// Whether a command may create a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreMode {
    /// Empty directories become volumes of a new store.
    Create,
    /// A store must exist; empty directories join it as volumes.
    AddVolumes,
    /// A store must exist, and nothing is created.
    Existing,
}

impl Session {
    /// Returns the store.
    pub(crate) fn store(&self) -> Store {
        let any = self.reads_any.load(Ordering::Relaxed);
        let reading = if any { ReadMode::Any } else { ReadMode::Current };
        self.connection.store().with_read_mode(reading)
    }

    /// Sets whether reads accept any reachable version from now on.
    pub(crate) fn read_any(&self, any: bool) {
        self.reads_any.store(any, Ordering::Relaxed);
    }

    /// Returns whether a running process does the work.
    pub(crate) fn is_served(&self) -> bool {
        self.connection.through().is_some()
    }

    /// Returns given directories that the running process does not have open.
    pub(crate) fn unopened_volumes(&self) -> &[std::path::PathBuf] {
        self.connection.unopened_volumes()
    }

    /// Returns the current state of the cluster.
    pub(crate) fn topology(&self) -> Arc<Topology> {
        self.connection.store().cluster().topology()
    }
}

/// Opens the store, runs `work`, and closes the store. Ctrl-C interrupts the work after a grace
/// period.
pub(crate) fn with_store<T>(
    place: ConnectSettings,
    mode: StoreMode,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_store_until(Stop::listen()?, place, mode, work)
}

/// Like [`with_store`], with an existing stop flag.
pub(crate) fn with_store_until<T>(
    stop: Stop,
    place: ConnectSettings,
    mode: StoreMode,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    // Must precede opening, which turns empty directories into volumes.
    let empty = empty_volumes(&place)?;
    if !empty.is_empty() && mode != StoreMode::Create {
        let message = format!(
            "there is no store in {}; weft store put creates one",
            empty.join(", ")
        );
        return Err(NotFound(message).into());
    }
    let runtime = threads::start("store")?;
    runtime.block_on(async {
        let connection = tokio::select! {
            // Waits for an unresponsive cluster until the user interrupts.
            connection = connect_in_mode(place, mode) => connection?,
            () = stop.stopped() => bail!("stopped"),
        };
        let session = Session {
            connection,
            stop,
            reads_any: AtomicBool::new(false),
        };
        if !empty.is_empty() {
            progress_line(&creation_note(&session.topology()));
        }
        let result = tokio::select! {
            // The work also sees the stop and may end by itself with a result. After the grace
            // period it is dropped where it waits.
            result = work(&session) => result,
            () = stopped_for_grace(&session.stop) => Err(anyhow::anyhow!("stopped")),
        };
        tokio::select! {
            // Other commands may work through this process, and closing would interrupt them. After
            // a stop nobody is waited for.
            () = session.connection.quiet() => {}
            () = session.stop.stopped() => {}
        }
        // Close even after an error or a stop, so that the volumes are always left in a clean
        // state.
        session.connection.close().await;
        result
    })
}

async fn connect_in_mode(place: ConnectSettings, mode: StoreMode) -> Result<Connection, ConnectError> {
    match mode {
        StoreMode::Create | StoreMode::AddVolumes => connect_or_begin(place).await,
        StoreMode::Existing => connect(place).await,
    }
}

async fn stopped_for_grace(stop: &Stop) {
    stop.stopped().await;
    tokio::time::sleep(STOP_GRACE).await;
}

/// Returns the volume directories if all of them are empty.
fn empty_volumes(place: &ConnectSettings) -> anyhow::Result<Vec<String>> {
    let volumes: Vec<VolumeSettings> = match place {
        ConnectSettings::Volumes(volumes) => volumes.clone(),
        ConnectSettings::Node(file) => NodeSettings::read(file)?.volumes,
        ConnectSettings::Cluster { .. } => Vec::new(),
    };
    // A single non-empty volume is enough: then the empty ones are new disks of an existing store.
    let empty = volumes.iter().all(|volume| is_empty_dir(&volume.path));
    Ok(if empty {
        volumes
            .iter()
            .map(|volume| volume.path.display().to_string())
            .collect()
    } else {
        Vec::new()
    })
}

/// Returns whether the directory is missing or empty, apart from entries that file systems create
/// themselves.
fn is_empty_dir(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        // ext4 creates this folder in every new file system.
        Ok(entries) => entries.flatten().all(|entry| entry.file_name() == "lost+found"),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn creation_note(topology: &Topology) -> String {
    let roles = &topology.layouts.current.roles;
    let volumes: Vec<String> = roles.volumes.iter().map(|volume| volume.id.to_string()).collect();
    let copies = match roles.copies() {
        1 => "only one copy of every object: add another --volume for safety".to_owned(),
        copies => format!("{copies} copies of every object"),
    };
    format!("created a new store: {}; {copies}", volumes.join(", "))
}
