//! A store that is opened for one command, and always closed, even if the command is told to stop.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::bail;
use cluster::{
    ConnectError, ConnectSettings, Connection, NodeSettings, VolumeSettings, connect, connect_or_begin,
};
use store::{Reading, Store, Topology};

use crate::exit::NotFound;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::threads;

/// How long running work may take to end cleanly after a stop.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// An open store, with what the command must know.
pub(crate) struct Session {
    connection: Connection,
    /// Whether the command was told to stop.
    pub(crate) stop: Stop,
    /// Whether any version that can be reached is accepted.
    reads_any: AtomicBool,
}

/// Whether a command may make a store if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Empty directories become volumes.
    Allowed,
    /// There must be a store already; empty directories become part of it.
    Joining,
    /// There must be a store already, and nothing is made.
    Refused,
}

impl Session {
    /// The store.
    pub(crate) fn store(&self) -> Store {
        let any = self.reads_any.load(Ordering::Relaxed);
        let reading = if any { Reading::Any } else { Reading::Current };
        self.connection.store().reading_as(reading)
    }

    /// Accepts from now on any version that can be reached, if the user asked for that.
    pub(crate) fn read_any(&self, any: bool) {
        self.reads_any.store(any, Ordering::Relaxed);
    }

    /// Whether a running process does the work.
    pub(crate) fn is_served(&self) -> bool {
        self.connection.through().is_some()
    }

    /// Directories given that the running process does not have open.
    pub(crate) fn strangers(&self) -> &[std::path::PathBuf] {
        self.connection.strangers()
    }

    /// The cluster as it is now.
    pub(crate) fn topology(&self) -> Arc<Topology> {
        self.connection.store().cluster().topology()
    }
}

/// Opens the store, does the work, and closes it. Ctrl-C interrupts the work, after a moment to end cleanly.
pub(crate) fn with_store<T>(
    place: ConnectSettings,
    begin: Begin,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_store_until(Stop::listen()?, place, begin, work)
}

/// The same, where a stop is listened for already.
pub(crate) fn with_store_until<T>(
    stop: Stop,
    place: ConnectSettings,
    begin: Begin,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    // Before anything is opened, because opening makes volumes of empty directories.
    let fresh = fresh_volumes(&place)?;
    if !fresh.is_empty() && begin != Begin::Allowed {
        let message = format!(
            "there is no store in {}; weft store put makes one",
            fresh.join(", ")
        );
        return Err(NotFound(message).into());
    }
    let runtime = threads::start("store")?;
    runtime.block_on(async {
        let connection = tokio::select! {
            // A cluster that does not answer is waited for; the user may end that wait.
            connection = reach(place, begin) => connection?,
            () = stop.stopped() => bail!("stopped"),
        };
        let session = Session {
            connection,
            stop,
            reads_any: AtomicBool::new(false),
        };
        if !fresh.is_empty() {
            progress_line(&begun(&session.topology()));
        }
        let result = tokio::select! {
            // The work sees the stop too and may end by itself, with a result. After the grace period it is
            // dropped where it waits.
            result = work(&session) => result,
            () = grace_after(&session.stop) => Err(anyhow::anyhow!("stopped")),
        };
        tokio::select! {
            // Other commands may work through this process, and closing would cut them off. After a stop
            // nobody is waited for.
            () = session.connection.quiet() => {}
            () = session.stop.stopped() => {}
        }
        // Also after an error and after a stop, so that the volumes are always left in order.
        session.connection.close().await;
        result
    })
}

async fn reach(place: ConnectSettings, begin: Begin) -> Result<Connection, ConnectError> {
    match begin {
        Begin::Allowed | Begin::Joining => connect_or_begin(place).await,
        Begin::Refused => connect(place).await,
    }
}

async fn grace_after(stop: &Stop) {
    stop.stopped().await;
    tokio::time::sleep(STOP_GRACE).await;
}

/// Directories of the store's volumes, if none of them holds anything yet.
fn fresh_volumes(place: &ConnectSettings) -> anyhow::Result<Vec<String>> {
    let volumes: Vec<VolumeSettings> = match place {
        ConnectSettings::Volumes(volumes) => volumes.clone(),
        ConnectSettings::Node(file) => NodeSettings::read(file)?.volumes,
        ConnectSettings::Cluster { .. } => Vec::new(),
    };
    // One volume with content is enough: then the empty ones are new disks of a store that exists.
    let empty = volumes.iter().all(|volume| holds_nothing(&volume.path));
    let shown = |volume: &VolumeSettings| volume.path.display().to_string();
    Ok(if empty {
        volumes.iter().map(shown).collect()
    } else {
        Vec::new()
    })
}

/// Whether the directory is missing or empty, apart from what a file system itself puts there.
fn holds_nothing(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        // ext4 makes this folder in every new file system.
        Ok(entries) => entries.flatten().all(|entry| entry.file_name() == "lost+found"),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn begun(topology: &Topology) -> String {
    let roles = &topology.layouts.current.roles;
    let volumes: Vec<String> = roles.volumes.iter().map(|volume| volume.id.to_string()).collect();
    let copies = match roles.copies() {
        1 => "one copy of every object: name another --volume for safety".to_owned(),
        copies => format!("{copies} copies of every object"),
    };
    format!("made a new store: {}; {copies}", volumes.join(", "))
}
