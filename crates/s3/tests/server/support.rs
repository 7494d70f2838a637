//! A test server on two temporary volumes.

use std::ffi::OsStr;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cluster::{NodeSettings, RunningNode, VolumeSettings};
use s3::{Limits, Running, Settings, TlsFiles};
use store::{List, RequestCount, Store};
use tempfile::TempDir;

/// Access key with every right, and its secret.
pub(crate) const ADMIN: (&str, &str) = ("ADMIN", "admin-secret-0123456789");

/// Access key that may read and list buckets whose names begin with `shared-`, and its secret.
pub(crate) const READER: (&str, &str) = ("READER", "reader-secret-0123456789");

pub(crate) const KEYS: &str = r#"
    [keys.ADMIN]
    secret = "admin-secret-0123456789"
    user = "archive"
    rights = { "*" = ["read", "write", "list", "delete"] }

    [keys.READER]
    secret = "reader-secret-0123456789"
    rights = { "shared-*" = ["read", "list"] }

    [buckets.shared-open]
    anonymous = ["read"]
"#;

/// Keys whose users own what they create; see `tests/boto3/owners.py`.
pub(crate) const OWNERS: &str = r#"
    [keys.OWNER]
    secret = "secret-of-OWNER"
    user = "owner"
    rights = { "*" = ["own"] }

    [keys.OWNER2]
    secret = "secret-of-OWNER2"
    user = "owner"
    rights = { "listed-*" = ["list"] }

    [keys.GUEST]
    secret = "secret-of-GUEST"
    user = "guest"
    rights = { "*" = ["own"] }

    [keys.WRITER]
    secret = "secret-of-WRITER"
    user = "writer"
    email = "writer@example.org"
    rights = { "*" = ["write"] }

    [keys.NOBODY]
    secret = "secret-of-NOBODY"
    rights = {}

    [buckets."closed-*"]
    block_public = true
"#;

/// The server, its store, and its directories.
pub(crate) struct Rig {
    pub(crate) server: Running,
    pub(crate) store: Store,
    node: RunningNode,
    dir: TempDir,
}

impl Rig {
    pub(crate) async fn start() -> Self {
        Self::start_with(Limits::default(), None).await
    }

    pub(crate) async fn start_with(limits: Limits, tls: Option<TlsFiles>) -> Self {
        Self::start_as(limits, tls, KEYS).await
    }

    pub(crate) async fn start_with_keys(keys: &str) -> Self {
        Self::start_as(Limits::default(), None, keys).await
    }

    async fn start_as(limits: Limits, tls: Option<TlsFiles>, keys_text: &str) -> Self {
        let change = |settings: &mut Settings| (settings.limits, settings.tls) = (limits, tls);
        Self::start_changed(keys_text, change).await
    }

    /// Starts a server with modified default settings.
    pub(crate) async fn start_changed(keys_text: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let volume = |name| VolumeSettings::at(dir.path().join(name));
        let mut settings = NodeSettings::of_volumes(vec![volume("one"), volume("two")]);
        settings.upkeep = None;
        let node = cluster::start(settings).await.unwrap();
        let keys = dir.path().join("keys.toml");
        std::fs::write(&keys, keys_text).unwrap();
        let mut settings = Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)), keys);
        change(&mut settings);
        let store = node.store();
        let server = s3::serve(settings, store.clone()).await.unwrap();
        Self {
            server,
            store,
            node,
            dir,
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns a directory for the test's own files.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns a command that ignores the settings of the user who runs the tests.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        test_env::command(program, self.dir())
    }

    /// Returns the server's counters of an operation.
    pub(crate) fn counted(&self, operation: &str) -> RequestCount {
        let counts = self.server.requests().counts();
        let mut of_operation = counts.into_iter().filter(|count| count.operation == operation);
        of_operation.next().unwrap_or_default()
    }

    /// Returns the keys of all objects with a prefix, read from the store itself.
    pub(crate) async fn keys(&self, prefix: &str) -> Vec<String> {
        let list = List {
            prefix: prefix.to_owned(),
            limit: 10_000,
            ..List::default()
        };
        let page = self.store.list(&list).await.unwrap();
        page.objects
            .into_iter()
            .map(|meta| meta.key.to_string())
            .collect()
    }

    pub(crate) async fn stop(self) {
        self.server.shutdown().await;
        self.node.shutdown().await;
    }
}

/// Limits that detect a slow client immediately.
pub(crate) fn impatient() -> Limits {
    Limits {
        header_time_max: Duration::from_millis(200),
        idle_time_max: Duration::from_millis(200),
        ..Limits::default()
    }
}

/// Prints a line that is shown even if the test passes.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Runs a program to its end without blocking the runtime, which also runs the server.
pub(crate) async fn run(mut command: Command) -> (bool, String) {
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}
