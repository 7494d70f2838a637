//! A store with an S3 server in a separate process that can be stopped and restarted.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use remote::{Remote, S3Settings, Settings};
use tempfile::TempDir;

/// `weft store serve --s3`, always on the same port, with a bucket `lake`.
pub(crate) struct S3Server {
    dir: TempDir,
    port: u16,
    settings: S3Settings,
    running: Option<Child>,
}

impl S3Server {
    pub(crate) fn start() -> S3Server {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut server = S3Server {
            dir: tempfile::tempdir().unwrap(),
            port,
            settings: S3Settings::default(),
            running: None,
        };
        let said = server.come_back();
        let text = |name: &str| said["s3"]["new_key"][name].as_str().map(str::to_owned);
        server.settings = S3Settings {
            access_key_id: text("id"),
            secret_access_key: text("secret"),
            region: Some("us-east-1".to_owned()),
            endpoint: said["s3"]["url"].as_str().map(str::to_owned),
            session_token: None,
        };
        // S3 clients create buckets. Putting an object creates one too, while no other process has
        // the volumes open.
        server.go_away();
        let put = server
            .weft(&["store", "put", "keys.toml", "store://lake/first"])
            .output()
            .unwrap();
        assert!(put.status.success(), "{put:?}");
        server.come_back();
        server
    }

    fn weft(&self, arguments: &[&str]) -> Command {
        let mut command = test_env::command(env!("CARGO_BIN_EXE_weft"), &std::env::temp_dir());
        command
            .current_dir(self.dir.path())
            .args(arguments)
            .args(["--volume", "one", "--volume", "two"])
            .stdin(Stdio::null());
        command
    }

    /// Restarts the server and returns its announcement.
    pub(crate) fn come_back(&mut self) -> serde_json::Value {
        let address = format!("127.0.0.1:{}", self.port);
        let flags = ["--s3", &address, "--s3-keys", "keys.toml", "--json"];
        let mut child = self
            .weft(&["store", "serve"])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        self.running = Some(child);
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    }

    /// Kills the server.
    pub(crate) fn go_away(&mut self) {
        if let Some(mut child) = self.running.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Lets a command use this store.
    pub(crate) fn is_used_by<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let S3Settings {
            access_key_id,
            secret_access_key,
            endpoint,
            ..
        } = &self.settings;
        command
            .env("AWS_ENDPOINT_URL", endpoint.as_deref().unwrap_or_default())
            .env("AWS_ACCESS_KEY_ID", access_key_id.as_deref().unwrap_or_default())
            .env(
                "AWS_SECRET_ACCESS_KEY",
                secret_access_key.as_deref().unwrap_or_default(),
            )
    }

    /// Returns a client with the keys of this store.
    pub(crate) fn remote(&self) -> Remote {
        Remote::new(Settings {
            s3: self.settings.clone(),
            ..Settings::default()
        })
    }

    /// Copies everything below an address into a directory.
    pub(crate) fn download(&self, address: &str, to: &Path) {
        let remote = self.remote();
        let folder = format!("{address}/");
        for (found, stat) in remote.list(&folder).unwrap() {
            let mut content = vec![0; stat.size as usize];
            let input = remote.open(&found, Some(&stat)).unwrap();
            let mut read = 0;
            while read < content.len() {
                let bytes = input.read_at(&mut content[read..], read as u64).unwrap();
                assert!(bytes > 0, "{found} ends at {read}");
                read += bytes;
            }
            let path = to.join(found.strip_prefix(&folder).unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.go_away();
    }
}
