//! Tests of the access log and of request ids.

use std::time::Duration;

use futures_util::TryStreamExt;
use s3::{LogFormat, LogSettings, LogTarget};
use store::Key;

use crate::bytes::request;
use crate::sign::{Ask, exchange};
use crate::support::{KEYS, Rig};

fn id(head: &str) -> Option<&str> {
    head.lines()
        .find_map(|line| line.strip_prefix("x-amz-request-id: "))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_names_its_request() {
    let rig = Rig::start().await;
    let address = rig.server.address();
    let mut ids = Vec::new();
    for (method, target, status) in [
        ("PUT", "/data", 200),
        ("PUT", "/data/x", 200),
        ("GET", "/data/x", 200),
        ("GET", "/data/none", 404),
        ("DELETE", "/data/x", 204),
        ("GET", "/UPPER", 400),
    ] {
        let answer = Ask::new(method, target).send(address).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        let found = id(&answer.head).expect("every answer has one");
        if status >= 400 {
            assert!(
                answer.text().contains(&format!("<RequestId>{found}</RequestId>")),
                "{}",
                answer.text()
            );
        }
        ids.push(found.to_owned());
    }
    // The server refuses these before s3s sees them.
    for text in [
        "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: none\r\n\r\n",
        "OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let answer = exchange(address, text.as_bytes()).await;
        ids.push(id(&answer.head).expect("every answer has one").to_owned());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 9, "no two are the same");
    rig.stop().await;
}

async fn ask_something(rig: &Rig) {
    let address = rig.server.address();
    Ask::new("PUT", "/shared-open").send(address).await;
    let put = Ask {
        body: b"content",
        ..Ask::new("PUT", "/shared-open/a%20b")
    };
    put.send(address).await;
    request("GET", &format!("{}/shared-open/a%20b", rig.endpoint()), b"").await;
    let url = Ask::new("GET", "/shared-open/none").address(address);
    request("GET", &format!("http://{address}{url}"), b"").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_has_a_line_for_each_request() {
    let logs = tempfile::tempdir().unwrap();
    for (format, name) in [(LogFormat::S3, "access.log"), (LogFormat::Json, "%Y.json")] {
        let target = LogTarget::File(logs.path().join(name));
        let rig = Rig::start_changed(KEYS, |settings| {
            settings.log = Some(LogSettings { target, format })
        })
        .await;
        ask_something(&rig).await;
        rig.stop().await;
    }
    let mut files: Vec<_> = std::fs::read_dir(logs.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let [json, plain] = files.as_slice() else {
        panic!("{files:?}")
    };
    assert!(json.to_str().unwrap().ends_with(".json") && !json.to_str().unwrap().contains('%'));
    let text = std::fs::read_to_string(plain).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    for (line, parts) in lines.iter().zip([
        &[
            "REST.PUT.BUCKET - \"PUT /shared-open HTTP/1.1\" 200 - ",
            " archive ",
            "SigV4 - AuthHeader",
        ][..],
        &[
            "REST.PUT.OBJECT a%20b \"PUT /shared-open/a%20b HTTP/1.1\" 200 - ",
            " archive ",
        ],
        &[
            "] 127.0.0.1 - ",
            "REST.GET.OBJECT a%20b \"GET /shared-open/a%20b HTTP/1.1\" 200 - 7 7 ",
        ],
        &["X-Amz-Signature=...", "\" 404 NoSuchKey ", "SigV4 - QueryString"],
    ]) {
        for part in parts {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
    let text = std::fs::read_to_string(json).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told = |line: &serde_json::Value| {
        let text = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} {} {}",
            text("requester"),
            text("operation"),
            line["status"],
            text("error")
        )
    };
    assert_eq!(
        lines.iter().map(told).collect::<Vec<_>>(),
        [
            "archive CreateBucket 200 -",
            "archive PutObject 200 -",
            "- GetObject 200 -",
            "archive GetObject 404 NoSuchKey"
        ]
    );
    assert_eq!(
        (&lines[1]["bytes_received"], &lines[2]["bytes_sent"]),
        (&7.into(), &7.into())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_has_objects_of_lines() {
    let settings = LogSettings {
        target: LogTarget::Bucket {
            bucket: "logs".to_owned(),
            prefix: "s3/".to_owned(),
            every: Duration::from_millis(100),
        },
        format: LogFormat::S3,
    };
    let rig = Rig::start_changed(KEYS, |changed| changed.log = Some(settings)).await;
    ask_something(&rig).await;
    let mut text = String::new();
    // One object for each pause.
    while text.lines().count() < 4 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        text.clear();
        for name in rig.keys("logs/s3/").await {
            let opened = rig.store.get(&Key::parse(&name).unwrap(), None).await.unwrap();
            let pieces: Vec<_> = opened.body.try_collect().await.unwrap();
            text.push_str(std::str::from_utf8(&pieces.concat()).unwrap());
        }
    }
    assert!(text.contains("REST.PUT.OBJECT a%20b"), "{text}");
    rig.stop().await;
}
