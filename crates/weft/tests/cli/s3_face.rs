//! Inputs on an S3 store: our own face, asked as any client asks any store.

use futures_util::stream;
use store::key::Key;
use store::node::{NodeSettings, RunningNode, VolumeSettings, start};
use store::store::Put;
use tokio::runtime::Runtime;

use crate::addresses::{dumps, local};
use crate::fixture;
use crate::support::{Place, Run};

/// A store of two volumes, and its face.
struct Face {
    runtime: Runtime,
    node: RunningNode,
    face: s3::Running,
    endpoint: String,
}

impl Face {
    fn start(place: &Place) -> Face {
        let runtime = Runtime::new().expect("threads");
        let volumes = ["v1", "v2"].map(|name| VolumeSettings::at(place.path(name)));
        let face = s3::Settings {
            listen: "127.0.0.1:0".parse().expect("an address"),
            tls: None,
            keys: place.path("keys.toml"),
            limits: s3::Limits::default(),
            node: None,
        };
        let (node, face) = runtime.block_on(async {
            let settings = NodeSettings {
                upkeep: None,
                ..NodeSettings::of_volumes(volumes.to_vec())
            };
            let node = start(settings).await.expect("a node");
            let face = s3::serve(face, node.store()).await.expect("a face");
            (node, face)
        });
        let endpoint = format!("http://{}", face.address());
        Face {
            runtime,
            node,
            face,
            endpoint,
        }
    }

    fn put(&self, key: &str, content: &[u8]) {
        let content = Ok(bytes::Bytes::copy_from_slice(content));
        let key = Key::parse(key).expect("a key");
        let put = self.node.store();
        let body = Box::pin(stream::once(async { content }));
        self.runtime
            .block_on(put.put(&key, body, Put::default()))
            .expect("a put");
    }

    /// The program with the keys of the face, or without.
    fn run(&self, place: &Place, keys: bool, arguments: &[&str]) -> Run {
        let mut command = place.command(arguments);
        command.env("AWS_ENDPOINT_URL", &self.endpoint);
        if let Some(pair) = self.face.new_key().filter(|_| keys) {
            command
                .env("AWS_ACCESS_KEY_ID", &pair.id)
                .env("AWS_SECRET_ACCESS_KEY", &pair.secret);
        }
        Run::of(command.output().expect("the program starts"))
    }

    fn end(self) {
        self.runtime.block_on(async {
            self.face.shutdown().await;
            self.node.shutdown().await;
        });
    }
}

#[test]
fn our_own_face_gives_what_files_give() {
    let place = local();
    let face = Face::start(&place);
    face.put(".s3/buckets/crawls", b"");
    face.put("crawls/2014/web.warc", &fixture::small_web());
    face.put("crawls/2014/notes.txt", b"just text");
    let loaded = face.run(&place, true, &["load", "s3://crawls/2014", "--archive", "far"]);
    assert_eq!(
        (loaded.code, loaded.stderr.as_str()),
        (Some(0), ""),
        "{}",
        loaded.stdout
    );
    let prefix = "s3://crawls/2014/";
    assert_eq!(dumps(&place, "far", prefix), dumps(&place, "local", prefix));
    let record = |archive| {
        let page = "http://www.library.example/";
        face.run(&place, true, &["record", page, "--stored", "--archive", archive])
            .stdout
    };
    assert_eq!(record("far"), record("local"));
    let again = face.run(
        &place,
        true,
        &["load", "s3://crawls/*/web.warc", "--archive", "far"],
    );
    assert!(again.stdout.contains("1 known already"), "{}", again.stdout);
    let inspected = face.run(
        &place,
        true,
        &["inspect", "--summary", "s3://crawls/2014/web.warc"],
    );
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
    // Without keys, and where nothing is.
    let refused = face.run(
        &place,
        false,
        &["load", "s3://crawls/2014/web.warc", "--archive", "none"],
    );
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stdout.contains("set AWS_ACCESS_KEY_ID"),
        "{}",
        refused.stdout
    );
    let absent = face.run(&place, true, &["load", "s3://crawls/absent", "--archive", "none"]);
    assert!(
        absent.stdout.contains("no such input, and none below it"),
        "{}",
        absent.stdout
    );
    let mistyped = face.run(&place, true, &["load", "s3://crawl/2014/", "--archive", "none"]);
    assert!(
        mistyped.stdout.contains("there is no bucket crawl in this store") && !mistyped.stdout.contains('<'),
        "{}",
        mistyped.stdout
    );
    face.end();
}
