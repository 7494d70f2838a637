//! Facts in an S3 store, provided by our own S3 server. Needs `weft` next to the program.

use std::path::Path;
use std::process::Command;

use crate::beside_weft::weft;
use crate::place::Workspace;
use crate::server::Server;

/// A store with a bucket `lake`, and the environment for its clients.
struct Lake {
    _server: Server,
    variables: Vec<(&'static str, String)>,
}

const VOLUMES: [&str; 4] = ["--volume", "one", "--volume", "two"];

impl Lake {
    fn start(place: &Workspace, weft: &Path) -> Lake {
        // The first object creates its bucket.
        let put = [
            &["store", "put", "web.warc.gz", "store://lake/web.warc.gz"],
            &VOLUMES[..],
        ]
        .concat();
        let put = place.other(weft, &put).output().unwrap();
        assert!(put.status.success(), "{put:?}");
        let serve = [
            &[
                "store",
                "serve",
                "--json",
                "--s3",
                "127.0.0.1:0",
                "--s3-keys",
                "keys.toml",
            ],
            &VOLUMES[..],
        ];
        let server = Server::start(place.other(weft, &serve.concat()));
        let s3 = &server.said["s3"];
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let variables = vec![
            ("AWS_ENDPOINT_URL", text(&s3["url"])),
            ("AWS_ACCESS_KEY_ID", text(&s3["new_key"]["id"])),
            ("AWS_SECRET_ACCESS_KEY", text(&s3["new_key"]["secret"])),
        ];
        Lake {
            _server: server,
            variables,
        }
    }

    /// Returns the standard output of a successful command that has the keys of the store.
    fn good(&self, mut command: Command) -> String {
        let output = command.envs(self.variables.clone()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Statements over facts and views, verification and maintenance give the same as for facts in the
/// archive's folder.
#[test]
fn facts_in_a_store_answer_as_facts_in_a_folder() {
    let Some(weft) = weft() else { return };
    let place = Workspace::new();
    let lake = Lake::start(&place, &weft);
    let load = [
        "load",
        "--archive",
        "far",
        "--facts",
        "s3://lake/some/facts",
        "web.warc.gz",
    ];
    lake.good(place.other(&weft, &load));

    for statement in [
        "select url, fetch_time, content_digest from captures order by 1, 2",
        "select source_surtkey, target_surtkey, anchor from links order by 1, 2, 3",
        "select p.url, c.warc_record_offset from pages p join captures c on p.url_key = c.url_surtkey order by 1, 2",
    ] {
        let near = place.good(&["--format", "csv", statement]);
        assert!(near.lines().count() > 30, "{near}");
        let far = place.command(&["--archive", "far", "--format", "csv", statement]);
        assert_eq!(lake.good(far), near, "{statement}");
    }
    // Through a disk cache: the result is the same, and the second time nothing is fetched.
    let settings = "[[directory]]\npath = 'blocks'\nfree_space_min_bytes = 0\n";
    std::fs::write(place.path("far/cache.toml"), settings).unwrap();
    let statement = "select url, fetch_time, content_digest from captures order by 1, 2";
    let near = place.good(&["--format", "csv", statement]);
    let mut fetched = Vec::new();
    for _ in 0..2 {
        let far = place.command(&["--archive", "far", "--format", "csv", statement]);
        assert_eq!(lake.good(far), near);
        let stats = lake.good(place.other(&weft, &["cache", "stats", "--archive", "far", "--json"]));
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["programs"][0]["program"], "weft-sql", "{stats}");
        let users = stats["programs"][0]["stats"]["users"].as_array().unwrap();
        let sql = users.iter().find(|row| row["user"] == "sql").unwrap();
        fetched.push(sql["fetched_bytes"].as_u64().unwrap());
    }
    assert!(fetched[0] > 0 && fetched[1] == 0, "{fetched:?}");
    let verified = lake.good(place.command(&["--archive", "far", "verify"]));
    assert_eq!(verified, place.good(&["verify"]));
    let maintained =
        lake.good(place.command(&["--archive", "far", "--json", "maintain", "--keep-hours", "0"]));
    assert!(maintained.contains("\"captures\""), "{maintained}");
    // The same tables at another address, as for an archive that records store://.
    let count = "select count(*) as n from captures";
    let by_address = ["--facts", "s3://lake/some/facts/", "--format", "csv", count];
    assert_eq!(
        lake.good(place.command(&by_address)),
        place.good(&["--format", "csv", count])
    );

    let without_key = place
        .command(&["--archive", "far", count])
        .env("AWS_ENDPOINT_URL", &lake.variables[0].1)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&without_key.stderr);
    assert_eq!(without_key.status.code(), Some(1), "{said}");
    assert!(said.contains("captures"), "{said}");
}
