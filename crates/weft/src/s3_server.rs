//! The S3 server of a running node: flags, startup, announcement and counters.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use cache::Cache;
use s3::{GatewaySettings, KeyPair, Limits, LogFormat, LogSettings, LogTarget, Running, Settings, TlsFiles};
use server::storage::ConnectionCount;
use store::RequestCount;

use listen::ListenAddress;

use crate::flag_values::{whole, whole_from};
use crate::style::shell_word;

/// Name of the keys file if no flag names one.
pub(crate) const KEYS_FILE: &str = "s3-keys.toml";

/// Flags of commands that can serve S3.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct S3ServerArgs {
    /// Serve the S3 API at this address
    #[arg(long, value_name = "HOST:PORT", help_heading = "S3")]
    pub(crate) s3: Option<ListenAddress>,

    /// File of keys and their permissions; created with one key that may do everything if missing
    #[arg(long, value_name = "FILE", requires = "s3", help_heading = "S3")]
    pub(crate) s3_keys: Option<PathBuf>,

    /// Certificate chain (PEM): serve TLS instead of plain HTTP
    #[arg(long, value_name = "FILE", requires_all = ["s3", "s3_tls_key"], help_heading = "S3")]
    pub(crate) s3_tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["s3", "s3_tls_cert"], help_heading = "S3")]
    pub(crate) s3_tls_key: Option<PathBuf>,

    /// Name under which clients without a key may reach --s3 over plain HTTP, besides localhost and
    /// the address it listens on; repeat for more
    #[arg(
        long = "s3-host",
        value_name = "NAME",
        requires = "s3",
        help_heading = "S3",
        hide_short_help = true
    )]
    s3_hosts: Vec<String>,

    /// Accept version 2 signatures, which cover less of a request, from clients that support no
    /// other
    #[arg(long, requires = "s3", help_heading = "S3", hide_short_help = true)]
    s3_sig_v2: bool,

    /// Log every request to a file (%Y, %m, %d and %H in its name expand to the time; reopened on
    /// SIGHUP) or to objects of a bucket
    #[arg(
        long,
        value_name = "FILE|s3://BUCKET/PREFIX",
        requires = "s3",
        help_heading = "S3",
        hide_short_help = true
    )]
    s3_log: Option<LogTarget>,

    /// Format of the log: S3 server access log (s3) or JSON lines (json)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "s3",
        requires = "s3_log",
        help_heading = "S3",
        hide_short_help = true
    )]
    s3_log_format: LogFormat,

    /// Maximum number of connections to --s3; further ones wait
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = whole_from(1_usize, 1024), help_heading = "S3", hide_short_help = true)]
    s3_connections_max: usize,

    /// Maximum number of connections per address without a signed request; further ones are closed.
    /// Behind a proxy all share its address
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = whole_from(1_usize, 1024), help_heading = "S3", hide_short_help = true)]
    s3_connections_per_address: usize,

    /// Part of --s3-connections-max reserved for clients with a recent signed request [default: a
    /// quarter]
    #[arg(long, value_name = "N", help_heading = "S3", hide_short_help = true, value_parser = whole_from(0_usize, 256))]
    s3_connections_reserved: Option<usize>,

    /// Close a connection without any signed request after this many seconds of inactivity
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = whole(1_u64..=3600, 10), help_heading = "S3", hide_short_help = true)]
    s3_stranger_seconds: u64,
}

impl S3ServerArgs {
    /// Returns the settings of the server, if one was requested. `keys` is the keys file if no flag
    /// names one.
    pub(crate) fn settings(&self, keys: PathBuf) -> Option<Settings> {
        let tls = match (&self.s3_tls_cert, &self.s3_tls_key) {
            (Some(certificates), Some(key)) => Some(TlsFiles {
                certificates: certificates.clone(),
                key: key.clone(),
            }),
            _ => None,
        };
        let log = self.s3_log.clone().map(|target| LogSettings {
            target,
            format: self.s3_log_format,
        });
        let listen = self.s3.as_ref()?;
        // A server that listens on a name must accept requests for that name.
        let hosts = self.s3_hosts.iter().chain([&listen.host]).cloned().collect();
        Some(Settings {
            tls,
            limits: self.limits(),
            hosts,
            version_2: self.s3_sig_v2,
            log,
            ..Settings::new(listen.address, self.s3_keys.clone().unwrap_or(keys))
        })
    }

    fn limits(&self) -> Limits {
        let connections_max = self.s3_connections_max;
        Limits {
            connections_max,
            per_address_max: self.s3_connections_per_address,
            reserve: self.s3_connections_reserved.unwrap_or(connections_max / 4),
            stranger_time_max: Duration::from_secs(self.s3_stranger_seconds),
            ..Limits::default()
        }
    }
}

/// A running server.
pub(crate) struct S3Server {
    running: Running,
    keys: PathBuf,
    tls: bool,
}

impl S3Server {
    /// Starts the server on the caller's runtime.
    pub(crate) async fn start(settings: Settings, store: store::Store) -> anyhow::Result<S3Server> {
        let keys = settings.keys.clone();
        let tls = settings.tls.is_some();
        let running = s3::serve(settings, store).await.context("start the S3 server")?;
        Ok(S3Server { running, keys, tls })
    }

    /// Starts a gateway on the caller's runtime.
    pub(crate) async fn start_gateway(
        settings: Settings,
        gateway: GatewaySettings,
        cache: Cache,
    ) -> anyhow::Result<S3Server> {
        let keys = settings.keys.clone();
        let tls = settings.tls.is_some();
        let running = s3::serve_gateway(settings, gateway, cache).await;
        let running = running.context("start the S3 gateway")?;
        Ok(S3Server { running, keys, tls })
    }

    /// Returns a function that reports requests by operation, and connections, since startup.
    pub(crate) fn counts(&self) -> impl Fn() -> (Vec<RequestCount>, ConnectionCount) + Send + Sync + 'static {
        let (requests, door) = (self.running.requests(), self.running.door());
        let connections = move || ConnectionCount {
            open: door.open(),
            refused: door.refused(),
        };
        move || (requests.counts(), connections())
    }

    /// Returns the endpoint URL for a client on this machine.
    pub(crate) fn url(&self) -> String {
        let mut address = self.running.address();
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        format!("{}://{address}", if self.tls { "https" } else { "http" })
    }

    /// Returns the announcement as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let key = self.running.new_key();
        serde_json::json!({
            "address": self.running.address().to_string(),
            "url": self.url(),
            "keys": self.keys,
            "new_key": key.map(|key| serde_json::json!({ "id": key.id, "secret": key.secret })),
        })
    }

    /// Returns the announcement: the address and, at the first start, the new key and how to use
    /// it.
    pub(crate) fn announcement(&self) -> String {
        let mut text = format!("S3 at {} (keys: {})", self.url(), self.keys.display());
        if let Some(key) = self.running.new_key() {
            text.push_str(&introduction(&self.url(), key, &self.keys.display().to_string()));
        }
        text
    }

    /// Waits for running requests, then shuts down.
    pub(crate) async fn end(self) {
        self.running.shutdown().await;
    }
}

/// Returns the text that is shown once: the new key, with lines to paste into a shell.
fn introduction(url: &str, key: &KeyPair, file: &str) -> String {
    let KeyPair { id, secret } = key;
    let (id, secret, url) = (shell_word(id), shell_word(secret), shell_word(url));
    format!(
        "
Created a key with all permissions. It is shown only once; {file} keeps it.

  export AWS_ACCESS_KEY_ID={id}
  export AWS_SECRET_ACCESS_KEY={secret}
  export AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL={url}

  aws s3 mb s3://crawls
  aws s3 cp crawl.warc.gz s3://crawls/
  python3 -c 'import boto3; print(boto3.client(\"s3\").list_objects_v2(Bucket=\"crawls\"))'
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_says_what_can_be_pasted() {
        let key = KeyPair {
            id: "WEFTKEY".into(),
            secret: "s3cret".into(),
        };
        let text = introduction("http://127.0.0.1:9000", &key, "keys.toml");
        for part in [
            "AWS_ACCESS_KEY_ID=WEFTKEY\n",
            "AWS_SECRET_ACCESS_KEY=s3cret\n",
            "AWS_ENDPOINT_URL=http://127.0.0.1:9000\n",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
