//! The pages below docs/tasks: every command in them is run, in order, and prints what the page says.
//!
//! A line `    $ COMMAND` is a command of a shell, and the lines of the same block that follow are lines of its output, in this
//! order; `...` stands for any number of lines, and at the end of a line for its rest. `weft serve ... &` runs until the page ends.
//! Blocks without `$` are not run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture;
use crate::serve::Served;
use crate::support::{Place, Run};

/// Where the pages say that a server listens.
const WRITTEN_ADDRESS: &str = "localhost:8080";

/// A command of a page, and what it prints there.
#[derive(Debug, Default)]
struct Step {
    command: String,
    printed: Vec<String>,
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        match line.strip_prefix("    ") {
            Some(text) if text.starts_with("$ ") => {
                steps.push(Step {
                    command: text[2..].to_owned(),
                    printed: Vec::new(),
                });
                in_block = true;
            }
            Some(text) if in_block => steps
                .last_mut()
                .expect("a step")
                .printed
                .push(text.trim_end().to_owned()),
            // Empty lines divide no block, and are not compared.
            _ => in_block &= line.is_empty(),
        }
    }
    steps
}

/// Whether `printed` says what `expected` says.
fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|passed| matches(rest, &printed[passed..]))
        }
        Some((line, rest)) => printed.split_first().is_some_and(|(first, others)| {
            let same = match line.strip_suffix("...") {
                Some(beginning) => first.starts_with(beginning),
                None => first.trim_end() == line,
            };
            same && matches(rest, others)
        }),
    }
}

/// What the reader of the pages has: crawls in a folder, a package, two disks.
fn place() -> Place {
    let place = Place::new();
    place.write_old("crawls/web.warc", &fixture::small_web());
    place.write_old("other/other.warc", &fixture::other_web());
    place.good(&["load", "--archive", "made", "crawls/web.warc"]);
    place.good(&["export", "--archive", "made", "--wacz", "visit.wacz"]);
    std::fs::remove_dir_all(place.path("made")).expect("remove it");
    for disk in ["disks/a", "disks/b"] {
        std::fs::create_dir_all(place.path(disk)).expect("a disk");
    }
    place
}

fn check(name: &str) {
    let text = std::fs::read_to_string(docs().join("tasks").join(name)).expect("a page");
    let place = place();
    let steps = steps(&text);
    assert!(steps.len() > 2, "{name} shows nothing");
    for program in ["curl", "jq"] {
        let is_there = || Command::new(program).arg("--version").output().is_ok();
        if text.contains(&format!("{program} -")) && !is_there() {
            println!("skipped: {name}, because there is no {program}");
            return;
        }
    }
    let mut served: Vec<Served> = Vec::new();
    for Step { command, printed } in steps {
        if let Some(serve) = command
            .strip_prefix("weft ")
            .and_then(|rest| rest.strip_suffix(" &"))
        {
            let arguments = serve
                .split(' ')
                .chain(["--listen", "127.0.0.1:0"])
                .collect::<Vec<_>>();
            served.push(Served::start_with(&place, &arguments));
            continue;
        }
        let address = served
            .last()
            .map_or(WRITTEN_ADDRESS, |served| served.address.as_str());
        let run = in_shell(&place, &command.replace(WRITTEN_ADDRESS, address));
        let said = place.stable(&run.stdout).replace(address, WRITTEN_ADDRESS);
        assert!(
            matches(
                &printed,
                &said.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>()
            ),
            "{name}: {command}\nprinted\n{said}{}\nand the page says\n{}",
            run.stderr,
            printed.join("\n")
        );
    }
}

/// Runs a line as a shell does, with this program first on the path.
fn in_shell(place: &Place, line: &str) -> Run {
    let programs = Path::new(env!("CARGO_BIN_EXE_weft")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = apart::command("sh", &place.path(""));
    shell.args(["-c", line]).current_dir(place.path(""));
    shell.env("PATH", format!("{}:{path}", programs.display()));
    Run::of(shell.output().expect("a shell"))
}

#[test]
fn pywb_index() {
    check("replace-pywb-index.md");
}

#[test]
fn browsertrix_crawl() {
    check("search-a-browsertrix-crawl.md");
}

#[test]
fn two_copies() {
    check("keep-two-copies.md");
}

#[test]
fn who_links_to_us() {
    check("who-links-to-us.md");
}

#[test]
fn part_of_an_archive() {
    check("give-a-part-away.md");
}

#[test]
fn a_page_down() {
    check("take-a-page-down.md");
}

/// Every page of the documentation is in the book, and every page that the book or another page names is there.
#[test]
fn the_book_has_every_page_and_no_other() {
    let docs = docs();
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("the book's contents");
    let pages = |dir: &str| {
        let entries = std::fs::read_dir(docs.join(dir)).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        let pages = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
        pages.map(|name| format!("{dir}{name}")).collect::<Vec<_>>()
    };
    for page in [pages(""), pages("tasks/")].concat() {
        assert!(
            summary.contains(&format!("({page})")),
            "{page} is not in SUMMARY.md"
        );
    }
    let linked = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    for page in linked {
        assert!(
            docs.join(page).is_file(),
            "SUMMARY.md names {page}, which is not there"
        );
    }
}
