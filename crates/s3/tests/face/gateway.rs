//! A gateway before the server, as clients see it: with keys of its own, which the server does not know.

use std::net::SocketAddr;

use apart::python;
use s3::{Credential, GatewaySettings, Running, Scope, Settings};

use crate::sign::Ask;
use crate::support::{ADMIN, KEYS, READER, Rig, run, say};

/// The gateway's key at the upstream.
const UPSTREAM: (&str, &str) = ("GATEWAY", "gateway-secret-0123456789");

/// A gateway, and the server that it is before.
struct GatewayRig {
    gateway: Running,
    upstream: Rig,
}

impl GatewayRig {
    async fn start(maps: &[&str]) -> Self {
        Self::start_with("s3://", maps, KEYS).await
    }

    async fn start_with(scope: &str, maps: &[&str], keys_text: &str) -> Self {
        let keys = format!(
            "[keys.{}]\nsecret = \"{}\"\nuser = \"archive\"\nrights = {{ \"*\" = [\"read\", \"write\", \"list\", \"delete\"] }}\n",
            UPSTREAM.0, UPSTREAM.1
        );
        let upstream = Rig::start_with_keys(&keys).await;
        let gateway = gateway(&upstream, scope, maps, keys_text).await;
        Self { gateway, upstream }
    }

    fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    async fn stop(self) {
        self.gateway.shutdown().await;
        self.upstream.stop().await;
    }
}

async fn gateway(upstream: &Rig, scope: &str, maps: &[&str], keys_text: &str) -> Running {
    let keys = upstream.dir().join("gateway-keys.toml");
    std::fs::write(&keys, keys_text).unwrap();
    let settings = GatewaySettings {
        scope: scope.parse::<Scope>().unwrap(),
        maps: maps.iter().map(|map| map.parse().unwrap()).collect(),
        endpoint: Some(upstream.endpoint()),
        region: "us-east-1".to_owned(),
        credential: Some(Credential {
            id: UPSTREAM.0.to_owned(),
            secret: UPSTREAM.1.to_owned(),
            token: None,
        }),
    };
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    s3::serve_gateway(Settings::at(listen, keys), settings)
        .await
        .unwrap()
}

/// What the face does for boto3, it does through the gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boto3_sees_the_face() {
    let Some(python) = python(&["boto3"]) else {
        say("skipped: there is no python3 with boto3 (make need-clients)");
        return;
    };
    // Settings of buckets need the right `own` here.
    let keys = KEYS.replace("\"delete\"] }", "\"delete\", \"own\"] }");
    let rig = GatewayRig::start_with("s3://", &[], &keys).await;
    let mut command = rig.upstream.command(python);
    command
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/boto3/face.py"))
        .arg(format!("http://{}", rig.address()))
        .args([ADMIN.0, ADMIN.1, READER.0, READER.1, "gateway"]);
    let (passed, text) = run(command).await;
    assert!(passed, "{text}");
    rig.stop().await;
}

/// Rights are those of the gateway's keys file, by the names of its clients.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_are_the_gateways() {
    let rig = GatewayRig::start(&["shared-map=s3://private"]).await;
    let address = rig.address();
    for (method, target, key, status) in [
        ("PUT", "/private", ADMIN, 200),
        ("PUT", "/private/x", ADMIN, 200),
        ("GET", "/private/x", READER, 403),
        ("GET", "/shared-map/x", READER, 200),
        ("PUT", "/shared-map/x", READER, 403),
        ("GET", "/shared-map?list-type=2", READER, 200),
        // The server knows this key, the gateway does not.
        ("GET", "/private/x", UPSTREAM, 403),
        // What gives rights away needs the right `own`.
        ("PUT", "/private?acl", ADMIN, 403),
        ("PUT", "/private/x?unknown", ADMIN, 403),
        ("PUT", "/private/x?acl&tagging", ADMIN, 400),
    ] {
        let ask = Ask {
            key,
            ..Ask::new(method, target)
        };
        let answer = ask.send(address).await;
        assert_eq!(answer.status, status, "{method} {target}: {}", answer.text());
    }
    let stolen = Ask {
        key: READER,
        signed: &[("x-amz-copy-source", "/private/x")],
        ..Ask::new("PUT", "/shared-open/stolen")
    };
    assert_eq!(stolen.send(address).await.status, 403);
    rig.stop().await;
}
