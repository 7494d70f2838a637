//! Answers that are kept are those of the newest epoch.

use std::path::Path;

use archive::question::{Domain, Inlinks, LoadRequest, TakeDown, TakedownSelector, Top};
use archive::{Archive, ErrorCode};
use inputs::LoadInput;

use crate::data::{self, load, own};

const TARGET: &str = "http://target.net/";

fn write(dir: &Path, name: &str) -> LoadInput {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href={TARGET}>there</a>");
    let url = format!("http://{name}/");
    data::write(
        dir,
        name,
        &data::response(&url, "2014-01-01T00:00:00Z", "", &http),
    )
}

/// Asks each question twice. The second answer is the kept one.
fn check(archive: &Archive, linking: &[&str]) {
    for _ in 0..2 {
        let question = Domain {
            name: "target.net".into(),
        };
        let domain = archive.ask(question).unwrap().body;
        assert_eq!(domain.inlinks_external, linking.len() as u64);
        let rows = domain.linking_domains.iter();
        assert_eq!(rows.map(|row| row.domain.as_str()).collect::<Vec<_>>(), linking);
        let top = archive.ask(Top::default()).unwrap().body.rows;
        assert_eq!(top[0].inlinks_external, linking.len() as u64);
        let question = Inlinks {
            url: TARGET.into(),
            ..Inlinks::default()
        };
        let links = archive.ask(question).unwrap().body;
        assert_eq!(links.rows.len(), linking.len());
    }
}

#[test]
fn a_load_and_a_takedown_end_the_kept_answers() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    let first = archive.ask(Domain {
        name: "target.net".into(),
    });
    assert_eq!(first.unwrap_err().code, ErrorCode::NotFound);
    let linking = ["one.org", "two.org"];
    for number in 1..=linking.len() {
        let request = LoadRequest {
            inputs: vec![write(dir.path(), linking[number - 1])],
            ..LoadRequest::default()
        };
        load(&archive, &request);
        check(&archive, &linking[..number]);
    }
    let question = TakeDown {
        takes: TakedownSelector::Url("http://two.org/".into()),
        reason: String::new(),
        who: String::new(),
        dry_run: false,
        limit: 0,
    };
    archive.ask(question).unwrap();
    check(&archive, &linking[..1]);
}
