//! Tests of the number of processes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use extract::{DocumentFormat, DocumentReader};

use crate::files::small_pdf;
use crate::hostile::exponential;
use crate::{this_program, workers};

/// The argument that makes this program request a document that is never finished.
pub(crate) const ASKER: &str = "ask-and-wait";

/// Requests one document, then one that hangs.
pub(crate) fn ask_and_wait() {
    let workers = workers(600);
    workers.read(DocumentFormat::Pdf, &small_pdf("x")).unwrap();
    let _ = workers.read(DocumentFormat::Pdf, &exponential());
}

/// Returns the child processes of `parent`, with the letter of their state.
fn children(parent: u32) -> Vec<(u32, char)> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| {
            let id = process.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
            // pid (name) state ppid
            let (_, rest) = stat.rsplit_once(") ")?;
            let mut fields = rest.split(' ');
            let state = fields.next()?.chars().next()?;
            (fields.next()?.parse() == Ok(parent)).then_some((id, state))
        })
        .collect()
}

fn own_children() -> Vec<(u32, char)> {
    children(std::process::id())
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// CPU time of a worker, in ticks of the system (mostly 10 ms), after which it must be reading the
/// endless document.
const TICKS: u64 = 30;

/// CPU time of a process, in ticks.
fn ticks_of(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    // The 14th field; the state is the third (proc_pid_stat(5)).
    after_name
        .split(' ')
        .nth(11)
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or(0)
}

/// Returns whether there is a /proc to read processes from.
fn has_proc() -> bool {
    let there = Path::new("/proc/self/stat").exists();
    if !there {
        println!("skipped: no /proc here");
    }
    there
}

pub(crate) fn none_is_left_behind() {
    if !has_proc() {
        return;
    }
    let workers = workers(1);
    workers.read(DocumentFormat::Pdf, &small_pdf("x")).unwrap();
    assert_eq!(own_children().len(), 1);
    // A worker ended after a timeout leaves no zombie.
    workers.read(DocumentFormat::Pdf, &exponential()).unwrap_err();
    assert_eq!(own_children(), []);
    workers.read(DocumentFormat::Pdf, &small_pdf("x")).unwrap();
    workers.rest();
    assert_eq!(own_children(), []);
    workers.read(DocumentFormat::Pdf, &small_pdf("x")).unwrap();
    drop(workers);
    assert_eq!(own_children(), []);
}

pub(crate) fn a_worker_ended_from_outside_is_replaced() {
    if !has_proc() {
        return;
    }
    let workers = workers(30);
    workers.read(DocumentFormat::Pdf, &small_pdf("x")).unwrap();
    let (worker, _) = own_children()[0];
    let status = Command::new("kill")
        .args(["-9", &worker.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    until("the worker ends", || own_children() == [(worker, 'Z')]);
    workers.read(DocumentFormat::Pdf, &small_pdf("x")).unwrap();
    assert!(!own_children().iter().any(|(id, _)| *id == worker));
}

pub(crate) fn as_many_as_read_at_once() {
    if !has_proc() {
        return;
    }
    let workers = workers(60);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for number in 0..10 {
                    let text = format!("number {number}");
                    let found = workers.read(DocumentFormat::Pdf, &small_pdf(&text)).unwrap();
                    assert!(
                        found.text.contains(&text),
                        "an answer to another question: {}",
                        found.text
                    );
                }
            });
        }
    });
    assert!((1..=3).contains(&own_children().len()));
}

pub(crate) fn they_end_with_the_process_that_asks() {
    if !has_proc() {
        return;
    }
    let mut asker = Command::new(this_program())
        .arg(ASKER)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The first document is finished and the second is being read: its worker is busy.
    let busy = || {
        children(asker.id())
            .into_iter()
            .find(|(id, _)| ticks_of(*id) > TICKS)
    };
    until("a worker works", || busy().is_some());
    let (worker, _) = busy().unwrap();
    let path = format!("/proc/{worker}/stat");
    asker.kill().unwrap();
    asker.wait().unwrap();
    until("the worker ends although it is busy", || {
        std::fs::read_to_string(&path).map_or(true, |stat| stat.contains(") Z "))
    });
}
