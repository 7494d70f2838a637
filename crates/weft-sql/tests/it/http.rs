//! `weft-sql serve` over HTTP.

use std::time::{Duration, Instant};

use sql::arrow::ipc::reader::StreamReader;

use crate::place::{NOT_IN_NULLS, Workspace};
use crate::server::{Answer, Server, encoded, request, request_at};

const COUNT: &str = "select count(*) as n from pages";

/// A statement that would take hours.
const ENDLESS: &str = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 10000000) b where a.value * b.value = 7";

fn start(place: &Workspace, more: &[&str]) -> Server {
    let arguments = ["serve", "--json", "--listen", "127.0.0.1:0", "--flight", "none"];
    Server::start(place.command(&[&arguments, more].concat()))
}

fn ask(server: &Server, statement: &str, more: &str) -> Answer {
    server.get(&format!("/api/v1/sql?q={}{more}", encoded(statement)))
}

#[test]
fn rows_come_in_every_form_and_name_their_epoch() {
    let place = Workspace::new();
    let server = start(&place, &[]);
    let statement = "select url, inlinks from pages order by url limit 7";
    let json = ask(&server, statement, "");
    assert_eq!(
        (json.status, json.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(json.header("weft-epoch"), Some("1"));
    let rows = json.json()["rows"].as_array().unwrap().clone();
    assert_eq!((json.json()["epoch"].as_u64(), rows.len()), (Some(1), 7));
    // The same output as on the command line.
    let program = place.good(&["--format", "csv", statement]);
    assert_eq!(ask(&server, statement, "&format=csv").text(), program);
    let jsonl = ask(&server, statement, "&format=jsonl");
    let lines: Vec<serde_json::Value> = jsonl
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, rows);
    let arrow = ask(&server, statement, "&format=arrow");
    let batches = StreamReader::try_new(&*arrow.body, None).unwrap();
    let count: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(count, 7);
    let parquet = ask(&server, statement, "&format=parquet");
    assert!(parquet.body.starts_with(b"PAR1") && parquet.body.ends_with(b"PAR1"));
    assert_eq!(
        parquet.header("content-disposition"),
        Some("attachment; filename=\"answer.parquet\"")
    );
}

#[test]
fn statements_come_in_forms_and_bodies() {
    let place = Workspace::new();
    let server = start(&place, &[]);
    for (target, media, body) in [
        ("/api/v1/sql?format=csv", "application/sql", COUNT.to_owned()),
        (
            "/api/v1/sql?format=csv",
            "Text/Plain; charset=utf-8",
            COUNT.to_owned(),
        ),
        (
            "/api/v1/sql",
            "application/x-www-form-urlencoded",
            format!("q={}&format=csv", encoded(COUNT)),
        ),
    ] {
        let answer = server.post(target, media, &body);
        assert_eq!((answer.status, answer.text()), (200, "n\n60\n"), "{media}");
    }
    assert_eq!(server.post("/api/v1/sql", "image/png", COUNT).status, 415);
    assert_eq!(
        server
            .post("/api/v1/sql", "text/plain", &" ".repeat(2 << 20))
            .status,
        413
    );
}

#[test]
fn what_is_wrong_is_told_in_words_and_codes() {
    let place = Workspace::new();
    let server = start(&place, &["--time-limit", "1"]);
    for (target, status, said) in [
        ("/api/v1/sql".to_owned(), 400, "the parameter q"),
        (
            format!("/api/v1/sql?q={COUNT}&format=xml").replace(' ', "+"),
            400,
            "json, jsonl, csv, parquet, arrow",
        ),
        (
            "/api/v1/sql?statement=x".to_owned(),
            400,
            "the parameters are q, format and at_epoch",
        ),
        (
            "/api/v1/sql?q=select+1&at_epoch=x".to_owned(),
            400,
            "is not a number",
        ),
        (
            "/api/v1/sql?q=select+1&at_epoch=9".to_owned(),
            400,
            "epoch 9 does not exist yet",
        ),
        ("/api/v1/sql?q=drop+table+captures".to_owned(), 400, "read-only"),
        (
            format!("/api/v1/sql?q={}", encoded(ENDLESS)),
            503,
            "stopped after 1 s",
        ),
    ] {
        let answer = server.get(&target);
        assert_eq!(answer.status, status, "{target}: {answer:?}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(said), "{target}: {message}");
    }
    let wrong = ask(&server, "select url,\n  titel from pages", "").json();
    let place_in_it = (wrong["error"]["line"].as_u64(), wrong["error"]["column"].as_u64());
    assert_eq!(place_in_it, (Some(2), Some(3)), "{wrong}");
    assert_eq!(server.get("/nothing").status, 404);
    let address = server.address("url");
    let rebound = request(
        &address,
        "GET /api/v1/sql?q=select+1 HTTP/1.0\r\nHost: evil.example\r\n\r\n",
    );
    assert_eq!(rebound.status, 421, "{rebound:?}");
}

#[test]
fn tables_and_columns_are_listed() {
    let place = Workspace::new();
    let server = start(&place, &[]);
    let tables = server.get("/api/v1/sql/tables").json();
    let tables = tables["tables"].as_array().unwrap();
    let names: Vec<&str> = tables
        .iter()
        .map(|table| table["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "captures",
            "links",
            "ccindex",
            "pages",
            "inlinks",
            "uris",
            "domains",
            "top",
            "ledger",
            "quarantine"
        ]
    );
    let uris = tables.iter().find(|table| table["name"] == "uris").unwrap();
    assert_eq!(
        uris["columns"][0],
        serde_json::json!({ "name": "url_key", "type": "text", "nullable": false })
    );
}

/// The catalogue of files is available as soon as a scan has created it, and is only open briefly.
#[test]
fn files_on_the_disk_are_tables_once_they_are_catalogued() {
    let place = Workspace::new();
    let server = start(&place, &[]);
    let statement = "select format, sum(size_bytes) as bytes from file_usage where type = 'file' group by 1 order by 2 desc";
    let missing = ask(&server, statement, "");
    let said = missing.json()["error"].clone();
    assert_eq!(
        (missing.status, said["code"].as_str()),
        (400, Some("bad_request"))
    );
    assert!(
        said["message"].as_str().unwrap().contains("weft files scan DIR"),
        "{said}"
    );
    place.scan();
    let tables = server.get("/api/v1/sql/tables").json();
    let tables = tables["tables"].as_array().unwrap();
    let names: Vec<&serde_json::Value> = tables.iter().map(|table| &table["name"]).collect();
    assert!(
        names.ends_with(&[&"files".into(), &"file_names".into(), &"file_usage".into()]),
        "{names:?}"
    );
    let columns = tables[names.len() - 3]["columns"].as_array().unwrap();
    for (name, r#type, nullable) in [
        ("path", "text", false),
        ("modified", "time", true),
        ("size_bytes", "number", false),
        ("damaged", "boolean", false),
        ("created", "time", true),
    ] {
        let column = serde_json::json!({ "name": name, "type": r#type, "nullable": nullable });
        assert!(columns.contains(&column), "{column}: {columns:#?}");
    }
    let page = server.get("/sql");
    for part in [
        "<code>file_usage</code>",
        "disk_size_bytes",
        "Unloaded crawl files",
        "Captures by crawl file",
        "Disk usage by owner and format",
    ] {
        assert!(page.text().contains(part), "{part}");
    }
    assert_eq!(
        ask(&server, statement, "&format=csv").text(),
        "format,bytes\npdf,200\nwarc,10\nother,3\n"
    );
    let everything = "select * from files";
    for format in ["json", "jsonl", "csv", "parquet", "arrow"] {
        let answer = ask(&server, everything, &format!("&format={format}"));
        assert_eq!(answer.status, 200, "{format}: {answer:?}");
        assert!(!answer.body.is_empty(), "{format}");
    }
    let held = place.catalogue();
    let busy = ask(&server, statement, "");
    assert_eq!(
        (busy.status, busy.json()["error"]["code"].as_str()),
        (503, Some("unavailable"))
    );
    drop(held);
    assert_eq!(ask(&server, statement, "").status, 200);
}

#[test]
fn the_page_shows_rows_charts_and_what_is_wrong() {
    let place = Workspace::new();
    let server = start(&place, &[]);
    let empty = server.get("/sql");
    assert_eq!(empty.status, 200);
    for part in [
        "<textarea",
        "Captures by top-level domain",
        "<code>captures</code>",
        "inlinks_external",
    ] {
        assert!(empty.text().contains(part), "{part}: {}", empty.text());
    }
    let policy = empty.header("content-security-policy").unwrap();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(server.get("/").status, 307);
    let page = |statement: &str| server.get(&format!("/sql?q={}", encoded(statement)));
    let answer =
        page("select url_host_tld as tld, count(*) as n from captures group by 1 order by 2 desc, 1");
    for part in [
        "of epoch ",
        "<meter",
        "<th class=\"number\" scope=\"col\">n</th>",
        "format=parquet&amp;q=select+url_host_tld",
    ] {
        assert!(answer.text().contains(part), "{part}: {}", answer.text());
    }
    // Untrusted text, in the statement and in the rows.
    let hostile = page("select '<script>alert(1)</script>' as \"<b>\", null as nothing");
    assert!(
        !hostile.text().contains("<script>alert") && !hostile.text().contains("<b>"),
        "{}",
        hostile.text()
    );
    assert!(hostile.text().contains("&lt;script&gt;alert(1)") && hostile.text().contains(">null<"));
    let many = page("select value from generate_series(1, 5000)");
    assert!(many.text().contains("The first 1,000 rows"), "{}", many.text());
    assert!(!many.text().contains("<td class=\"number\">1001</td>"));
    let wrong = page("select 1,\n  fro");
    assert_eq!(wrong.status, 400);
    for part in ["Failed: ", "data-line=\"2\"", "data-column=\"3\""] {
        assert!(wrong.text().contains(part), "{part}: {}", wrong.text());
    }
    let styles = empty
        .text()
        .split("href=\"")
        .find(|rest| rest.starts_with("/static/weft.css"))
        .unwrap();
    let styles = server.get(styles.split('"').next().unwrap());
    assert_eq!(
        (styles.status, styles.header("content-type")),
        (200, Some("text/css; charset=utf-8"))
    );
}

/// A disconnected client stops its statement: with a limit of one, the next statement runs at once.
#[test]
fn a_client_that_goes_away_leaves_its_place() {
    let place = Workspace::new();
    let server = start(&place, &["--statements-max", "1"]);
    let address = server.address("url");
    let target = format!("/api/v1/sql?q={}", encoded(ENDLESS));
    let gone = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(
        &mut &gone,
        format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    drop(gone);
    let begun = Instant::now();
    assert_eq!(ask(&server, COUNT, "&format=csv").text(), "n\n60\n");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn what_cannot_be_served_is_told_at_the_start_and_signals_end_it() {
    let place = Workspace::new();
    let missing = place.run(&["--archive", "elsewhere", "serve", "--listen", "127.0.0.1:0"]);
    let wrong = String::from_utf8_lossy(&missing.stderr);
    assert!(
        missing.status.code() == Some(1) && wrong.contains("elsewhere"),
        "{missing:?}"
    );
    let server = start(&place, &[]);
    let taken = place.run(&["serve", "--listen", &server.address("url"), "--flight", "none"]);
    let wrong = String::from_utf8_lossy(&taken.stderr);
    assert!(
        taken.status.code() == Some(1) && wrong.contains("--listen 127.0.0.1:0"),
        "{taken:?}"
    );
    assert_eq!(server.end().code(), Some(0));
}

/// This is how `weft serve` runs it.
#[test]
fn at_a_socket_it_ends_with_who_started_it() {
    let place = Workspace::new();
    let socket = place.path("socket");
    let mut command = place.command(&["serve", "--socket", "socket"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    let page = request_at(&socket, "GET /sql HTTP/1.0\r\nHost: localhost\r\n\r\n");
    assert!(page.text().contains("href=\"/ranking\""), "{}", page.text());
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The same on every interface.
#[test]
fn not_in_knows_null_over_http() {
    let place = Workspace::new();
    let server = start(&place, &[]);
    assert_eq!(ask(&server, NOT_IN_NULLS, "&format=csv").text(), "n\n0\n");
}
