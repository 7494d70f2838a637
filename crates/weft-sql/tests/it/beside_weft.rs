//! `weft serve` starts the program, proxies requests to it, and stops it. Needs `weft` next to the
//! program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::place::Workspace;
use crate::server::{Server, encoded};

/// Returns the program `weft`. Without it these tests are skipped, and a line is printed.
pub(crate) fn weft() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_weft-sql")).with_file_name("weft");
    if !program.is_file() {
        println!(
            "skipped: {} is not built (cargo build --release -p weft)",
            program.display()
        );
        return None;
    }
    Some(program)
}

fn start(place: &Workspace, weft: &Path, more: &[&str]) -> Server {
    let arguments = ["serve", "--json", "--listen", "127.0.0.1:0"];
    Server::start(place.other(weft, &[&arguments, more].concat()))
}

/// Returns the child processes of a process.
fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let children = tasks.flat_map(|task| {
        std::fs::read_to_string(task.unwrap().path().join("children"))
            .unwrap_or_default()
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect::<Vec<u32>>()
    });
    children.collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const COUNT: &str = "/api/v1/sql?format=csv&q=select+count(*)+as+n+from+pages";

#[test]
fn pages_lead_to_sql_and_it_comes_back_after_a_kill() {
    let Some(weft) = weft() else { return };
    let place = Workspace::new();
    let server = start(&place, &weft, &[]);
    assert!(server.get("/").text().contains("href=\"/sql\""));
    // No request has been sent yet.
    assert_eq!(children(server.child.id()), Vec::<u32>::new());
    let answer = server.get(COUNT);
    assert_eq!((answer.status, answer.text()), (200, "n\n60\n"));
    assert_eq!(answer.header("weft-epoch"), Some("1"));
    let page = server.get(&format!(
        "/sql?q={}",
        encoded("select url from pages order by url limit 1")
    ));
    for part in [
        "href=\"/ranking\"",
        "href=\"/page?url=http",
        "aria-current=\"page\">SQL",
    ] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    let wrong = server.get("/api/v1/sql?q=selec");
    assert_eq!(
        (wrong.status, wrong.json()["error"]["code"].as_str()),
        (400, Some("bad_request"))
    );
    let form = server.post("/api/v1/sql", "application/sql", "select 1 as one");
    assert_eq!(form.json()["rows"][0]["one"], 1);

    let child = children(server.child.id())[0];
    assert!(
        Command::new("kill")
            .args(["-9", &child.to_string()])
            .status()
            .unwrap()
            .success()
    );
    // Running requests may fail; the next one starts it again.
    wait_until("it is not started again", || server.get(COUNT).status == 200);
    let child = children(server.child.id())[0];
    assert_eq!(server.end().code(), Some(0));
    assert!(
        !Path::new(&format!("/proc/{child}")).exists(),
        "it outlived the server"
    );
}

/// A load and a scan by the program, queried together: the statement of docs/files.md, and the
/// crawl files that are not loaded.
#[test]
fn what_was_scanned_and_what_was_loaded_are_joined() {
    let Some(weft) = weft() else { return };
    let place = Workspace::new();
    std::fs::create_dir_all(place.path("crawls/old")).unwrap();
    for name in ["crawls/new.warc.gz", "crawls/old/web.warc.gz"] {
        std::fs::copy(place.path("web.warc.gz"), place.path(name)).unwrap();
    }
    let crawls = place.path("crawls").display().to_string();
    let old = format!("{crawls}/old");
    for arguments in [
        &["files", "scan", &crawls][..],
        &["load", "--archive", "other", &old],
    ] {
        let output = place.other(&weft, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    let output = place
        .other(&weft, &["files", "scan", "--archive", "other", &crawls])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let question = sql::QUESTIONS
        .iter()
        .find(|question| question.title == "Unloaded crawl files")
        .unwrap();
    let csv = |archive: &str| {
        let rows = place.good(&["--archive", archive, "--format", "csv", &question.statement]);
        let paths = rows
            .lines()
            .skip(1)
            .map(|row| row.split(',').next().unwrap().to_owned());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(csv("other"), [format!("{crawls}/new.warc.gz")]);
    // In this archive it was loaded under another name.
    assert_eq!(csv("weft-archive").len(), 2);
    let page = include_str!("../../../../docs/files.md");
    let statement = page.lines().find_map(|line| line.strip_prefix("    weft sql \""));
    let statement = statement.unwrap().trim_end_matches('"').replace("/data/%", "/%");
    let rows = place.good(&["--archive", "other", "--format", "csv", &statement]);
    assert!(rows.contains(&format!("{old},1,")), "{rows}");
}

#[test]
fn it_ends_when_the_server_is_killed() {
    let Some(weft) = weft() else { return };
    let place = Workspace::new();
    let mut server = start(&place, &weft, &["--flight", "127.0.0.1:0"]);
    // With --flight it runs from the start.
    let child = children(server.child.id())[0];
    server.child.kill().unwrap();
    wait_until("it outlived the server", || {
        !Path::new(&format!("/proc/{child}")).exists()
    });
}

#[test]
fn without_it_nothing_leads_there() {
    let Some(weft) = weft() else { return };
    let place = Workspace::new();
    let server = start(&place, &weft, &["--no-sql"]);
    assert!(!server.get("/").text().contains("href=\"/sql\""));
    assert_eq!(server.get("/sql").status, 404);
    assert_eq!(
        server.get("/api/v1/sql?q=select+1").json()["error"]["code"],
        "not_found"
    );
}

/// Runs a load of the synthetic web in small epochs, killed at a crash point of the facts.
fn killed(place: &Workspace, weft: &Path, archive: &str, input: &str, point: &str) {
    let arguments = ["load", "--archive", archive, "--epoch-bytes", "20000", input];
    let output = place
        .other(weft, &arguments)
        .env("WEFT_CRASH_POINT", point)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "{point} is not passed: {output:?}");
}

/// Checks that every view matches its definition over the facts, and that the load can be completed.
/// (The suite of `weft` compares all views and facts of completed loads, for the same points.)
fn check_after_a_kill(place: &Workspace, weft: &Path, archive: &str, point: &str) {
    verify(place, archive, point);
    let output = place
        .other(weft, &["load", "--archive", archive, "web.warc.gz"])
        .output()
        .unwrap();
    assert!(output.status.success(), "after {point}: {output:?}");
    let count = "select count(*) as n from pages";
    assert_eq!(
        place.good(&["--archive", archive, "--format", "csv", count]),
        "n\n60\n",
        "after {point}"
    );
}

fn verify(place: &Workspace, archive: &str, after: &str) {
    let output = place.run(&["verify", "--archive", archive]);
    assert!(output.status.success(), "after {after}: {output:?}");
}

#[test]
fn views_are_as_defined_after_a_kill_at_each_step_of_the_facts() {
    let Some(weft) = weft() else { return };
    let place = Workspace::new();
    for point in facts::CRASH_POINTS
        .into_iter()
        .filter(|point| !point.starts_with("retract."))
    {
        for nth in [1, 3] {
            let (archive, point) = (format!("{point}-{nth}"), format!("{point}:{nth}"));
            killed(&place, &weft, &archive, "web.warc.gz", &point);
            check_after_a_kill(&place, &weft, &archive, &point);
        }
    }
    // A truncated copy is loaded as done. The complete file then takes back captures of the
    // truncated record.
    let whole = std::fs::read(place.path("web.warc.gz")).unwrap();
    std::fs::create_dir(place.path("cut")).unwrap();
    let grown = place.path("cut/web.warc.gz");
    let write = |bytes: &[u8]| {
        std::fs::write(&grown, bytes).unwrap();
        // An old time, so that the file counts as complete.
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
        std::fs::File::options()
            .write(true)
            .open(&grown)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    };
    write(&whole[..whole.len() / 2]);
    let cut = place
        .other(&weft, &["load", "--archive", "back", "cut/web.warc.gz"])
        .output()
        .unwrap();
    assert_eq!(cut.status.code(), Some(1), "{cut:?}");
    write(&whole);
    killed(&place, &weft, "back", "cut/web.warc.gz", "retract.after_file:1");
    check_after_a_kill(&place, &weft, "back", "retract.after_file");
    verify(&place, "back", "retract.after_file and the load");
}
