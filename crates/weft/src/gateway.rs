//! The S3 gateway of `weft serve`: flags, startup and announcement.

use std::path::PathBuf;
use std::sync::Arc;

use cache::Cache;
use remote::S3Settings;
use s3::{Credential, GatewaySettings, Map, Scope};
use server::storage::FaceCounts;
use tokio::runtime::Runtime;

use crate::s3_server::{S3Server, S3ServerArgs};
use crate::style::clean;
use crate::threads;

/// Region for requests if the environment sets none: Amazon's first, which most other stores
/// accept.
const REGION_DEFAULT: &str = "us-east-1";

/// Flags of the gateway.
#[derive(Debug, clap::Args)]
pub(crate) struct GatewayArgs {
    /// With --s3, serve this remote store: all its buckets, one bucket, or one prefix. The endpoint
    /// and key come from AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and related variables
    #[arg(
        long,
        value_name = "s3://[BUCKET[/PREFIX]]",
        requires = "s3",
        conflicts_with_all = ["volumes", "store_config"],
        help_heading = "S3 gateway"
    )]
    upstream: Option<Scope>,

    /// Map the name on the left, as clients see it, to the upstream name on the right; repeat for
    /// more, the longest match wins
    #[arg(
        long = "map",
        value_name = "BUCKET/PREFIX=s3://BUCKET/PREFIX",
        requires = "upstream",
        help_heading = "S3 gateway",
        hide_short_help = true
    )]
    maps: Vec<Map>,
}

impl GatewayArgs {
    /// Returns whether a gateway was requested.
    pub(crate) fn is_given(&self) -> bool {
        self.upstream.is_some()
    }

    fn settings(&self) -> Option<GatewaySettings> {
        let environment = S3Settings::from_variables(|name| std::env::var(name).ok());
        let key = environment.access_key_id.zip(environment.secret_access_key);
        Some(GatewaySettings {
            scope: self.upstream.clone()?,
            maps: self.maps.clone(),
            endpoint: environment.endpoint,
            region: environment.region.unwrap_or_else(|| REGION_DEFAULT.to_owned()),
            credential: key.map(|(id, secret)| Credential {
                id,
                secret,
                token: environment.session_token,
            }),
        })
    }
}

/// A running gateway and its threads.
pub(crate) struct Gateway {
    runtime: Runtime,
    s3_server: S3Server,
    scope: Scope,
    endpoint: Option<String>,
}

impl Gateway {
    /// Starts the gateway if one was requested. `keys` is the keys file if no flag names one.
    pub(crate) fn start(
        args: &GatewayArgs,
        s3_server: &S3ServerArgs,
        keys: PathBuf,
        cache: &Cache,
    ) -> anyhow::Result<Option<Gateway>> {
        let (Some(gateway), Some(settings)) = (args.settings(), s3_server.settings(keys)) else {
            return Ok(None);
        };
        let (scope, endpoint) = (gateway.scope.clone(), gateway.endpoint.clone());
        let runtime = threads::start("gateway")?;
        let s3_server = runtime.block_on(S3Server::start_gateway(settings, gateway, cache.clone()))?;
        Ok(Some(Gateway {
            runtime,
            s3_server,
            scope,
            endpoint,
        }))
    }

    /// Returns counters of requests and connections since startup.
    pub(crate) fn counts(&self) -> FaceCounts {
        Arc::new(self.s3_server.counts())
    }

    /// Returns the announcement as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let mut text = self.s3_server.to_json();
        text["upstream"] = self.scope.to_string().into();
        text["endpoint"] = self.endpoint.clone().into();
        text
    }

    /// Returns the announcement as text.
    pub(crate) fn announcement(&self) -> String {
        let endpoint = self.endpoint.as_deref().unwrap_or("Amazon");
        let upstream = clean(&format!("{} of {endpoint}", self.scope));
        format!("a gateway to {upstream}: {}", self.s3_server.announcement())
    }

    /// Waits for running requests, then shuts down.
    pub(crate) fn end(self) {
        self.runtime.block_on(self.s3_server.end());
    }
}
