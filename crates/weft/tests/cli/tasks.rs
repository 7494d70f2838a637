//! README and the pages below docs/tasks: every block in them is run in order, and must print what
//! the page shows.
//!
//! A line `    $ COMMAND` is a shell command, and the following lines of its block are lines of its
//! output, in order; `...` stands for any number of lines, or for the rest of a line. Measurements
//! (seconds, bytes, rates) are not compared. `weft serve ... &` and `wayback ... &` run until the
//! page ends, and `export` applies to all later commands. A block below a line that ends with
//! "`NAME`:" is that file. Every line of another block is a command that must end with code 0,
//! unless [`NOT_RUN`] gives a reason not to run it.

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::fixture;
use crate::serve::Served;
use crate::support::{Run, Workspace};

/// The server address in the pages.
const WRITTEN_ADDRESS: &str = "localhost:8080";

/// The port of pywb in the pages.
const WRITTEN_PYWB_PORT: &str = "8088";

/// Time limit for pywb to start.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// Prefixes of lines that are not run, with reasons.
const NOT_RUN: &[(&str, &str)] = &[
    ("make ", "builds this program, and runs these tests"),
    (
        "pip install weft-archive",
        "needs a package index; python/tests install the wheel",
    ),
    (
        "sudo apt install ",
        "needs root; the tests of `install` make the package",
    ),
    (
        "weft search flood --watch",
        "never ends; the tests of `search` run it",
    ),
    ("weft sql serve", "never ends; the tests of `weft-sql` run it"),
    ("python ", "needs the package for Python; python/tests run it"),
    (
        "weft load https://example.org/",
        "is no package of anybody's; the tests of `packages` load such addresses",
    ),
    (
        "pip install 'weft-archive",
        "needs a package index; python/tests install the wheel",
    ),
    ("jupyter lab", "never ends"),
    (
        "weft load cc:",
        "needs Common Crawl; the tests `common_crawl` run it",
    ),
    (
        "weft load --archive trial cc:",
        "needs Common Crawl; the tests `common_crawl` run it",
    ),
    ("weft report --archive trial", "needs files of Common Crawl"),
    ("zcat wat.paths.gz", "needs a list of Common Crawl"),
    ("weft load --archive links", "needs files of Common Crawl"),
    ("weft inlinks --archive links", "needs files of Common Crawl"),
    (
        "AWS_ENDPOINT_URL=",
        "needs a store far away; the tests `gateway` run it",
    ),
    ("weft cache ", "needs a store far away; the tests `cache` run it"),
    (
        "weft files scan s3://",
        "needs a store far away; the tests `files_objects` run it",
    ),
    ("weft files watch", "never ends; the tests of `files` run it"),
    (
        "weft files undo",
        "needs a run of a policy; the tests `policies` run it",
    ),
];

/// Commands with output measured on another machine: their numbers are not compared.
const OF_ANOTHER_MACHINE: &[&str] = &["weft files scan /usr"];

/// Setup that a line needs and the page does not show.
const BEFORE: &[(&str, &str)] = &[
    (
        "weft pages --input crawl.wacz",
        "weft export --wacz crawl.wacz --url-prefix http://www.iana.org/ && weft load crawl.wacz",
    ),
    ("weft files policy plan", "weft files scan data/crawls"),
    ("weft status --ledger", "weft load crawls"),
];

/// Lines that end with code 1, with reasons.
const ENDS_WITH_1: &[(&str, &str)] = &[
    ("weft warc repair", "what was cut off is lost"),
    ("weft inspect --summary clipped", "what was cut off is lost"),
];

/// Folders of a reader's machine.
const FOLDERS: [&str; 3] = ["/disks/", "/usr", "/data/"];

/// An indented part of a page.
#[derive(Debug, PartialEq)]
enum Block {
    /// A command and its output.
    Step { command: String, printed: Vec<String> },
    /// Commands without shown output.
    Commands(Vec<String>),
    /// A file with its name.
    File { name: String, text: String },
}

fn docs() -> PathBuf {
    test_env::crate_dir().join("../../docs")
}

/// Returns the indented blocks of a page. Empty lines do not end a block.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut in_block = false;
    let mut above = "";
    let mut is_below_empty = false;
    for line in page.lines() {
        assert!(!line.starts_with("```"), "blocks are indented here: {line}");
        let Some(text) = line.strip_prefix("    ").map(str::trim_end) else {
            in_block &= line.is_empty();
            is_below_empty |= line.is_empty();
            if !line.is_empty() {
                above = line;
            }
            continue;
        };
        // Commands after the output of another command start a block without shown output.
        let is_command = ["weft ", "export "].iter().any(|word| text.starts_with(word));
        if is_below_empty && is_command && matches!(blocks.last(), Some(Block::Step { .. })) {
            in_block = false;
        }
        is_below_empty = false;
        let file = above
            .strip_suffix("`:")
            .and_then(|above| above.rsplit_once('`'))
            .map(|(_, name)| name.to_owned());
        match (text.strip_prefix("$ "), blocks.last_mut(), file) {
            (Some(command), ..) => blocks.push(Block::Step {
                command: command.to_owned(),
                printed: Vec::new(),
            }),
            (None, Some(Block::Step { printed, .. }), _) if in_block => printed.push(text.to_owned()),
            (None, Some(Block::Commands(commands)), _) if in_block => commands.push(text.to_owned()),
            (None, Some(Block::File { text: all, .. }), _) if in_block => *all += &format!("{text}\n"),
            (None, _, Some(name)) => blocks.push(Block::File {
                name,
                text: format!("{text}\n"),
            }),
            (None, _, None) => blocks.push(Block::Commands(vec![text.to_owned()])),
        }
        in_block = true;
    }
    blocks
}

/// Returns whether `printed` matches `expected`.
fn matches(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|passed| matches(rest, &printed[passed..]))
        }
        Some((line, rest)) => printed.split_first().is_some_and(|(first, others)| {
            let same = match line.strip_suffix("...") {
                Some(beginning) => first.starts_with(beginning),
                None => first == line,
            };
            same && matches(rest, others)
        }),
    }
}

/// Returns a line without measurements (`N s`, `N MiB`, `N/s`), or without any number, with words
/// separated by one space.
fn without_figures(line: &str, all: bool) -> String {
    const UNITS: [&str; 6] = ["s", "ms", "B", "KiB", "MiB", "GiB"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b",.".contains(&byte))
    };
    let mut shown = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (open, number) = word.strip_prefix('(').map_or(("", *word), |number| ("(", number));
        let next = words
            .get(at + 1)
            .map_or("", |next| next.trim_end_matches([',', ')']));
        if all && UNITS.contains(&word.trim_end_matches([',', ')'])) {
            continue;
        }
        // A slow machine needs more epochs.
        if word.trim_start_matches('(').starts_with("epoch") {
            shown.push("epoch".to_owned());
            continue;
        }
        let of_epoch = next.starts_with("epoch") || (at > 0 && words[at - 1].ends_with("epoch"));
        let is_figure = all || of_epoch || UNITS.contains(&next) || next.ends_with("/s");
        if is_number(number.trim_end_matches([',', ')', ':']).trim_end_matches("/s"))
            && (is_figure || number.ends_with("/s)"))
        {
            shown.push(format!("{open}N"))
        } else {
            // A slow machine has lower rates, in smaller units.
            shown.push(word.replace("KiB/s", "MiB/s").replace("GiB/s", "MiB/s"))
        }
    }
    shown.join(" ")
}

/// Sets up the files that a reader has: crawls in a folder, and a package.
fn place() -> Workspace {
    let place = Workspace::new();
    place.write_old("crawls/web.warc", &fixture::small_web());
    place.write_old("other/other.warc", &fixture::other_web());
    place.good(&["load", "--archive", "made", "crawls/web.warc"]);
    place.good(&["export", "--archive", "made", "--wacz", "visit.wacz"]);
    std::fs::remove_dir_all(place.path("made")).expect("remove it");
    place
}

/// The state while running a page: servers, exported variables, skipped lines.
struct Reading<'a> {
    name: &'a str,
    place: &'a Workspace,
    served: Vec<Served>,
    pywb: Vec<(Child, u16)>,
    exported: Vec<String>,
    not_run: BTreeSet<&'static str>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        for (child, _) in &mut self.pywb {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Reading<'_> {
    fn read(name: &str, place: &Workspace, page: &str) -> BTreeSet<&'static str> {
        let mut reading = Reading {
            name,
            place,
            served: Vec::new(),
            pywb: Vec::new(),
            exported: Vec::new(),
            not_run: BTreeSet::new(),
        };
        for block in blocks(page) {
            match block {
                Block::File { name, text } => {
                    let text = reading.here(&text);
                    place.write(&name, text.as_bytes());
                }
                Block::Step { command, printed } => reading.step(&command, &printed),
                Block::Commands(commands) => {
                    for command in commands.iter().filter(|line| !line.is_empty()) {
                        reading.command(command);
                    }
                }
            }
        }
        std::mem::take(&mut reading.not_run)
    }

    /// Returns a text with the addresses and folders of this run.
    fn here(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(served) = self.served.last() {
            text = text.replace(WRITTEN_ADDRESS, &served.address);
        }
        if let Some((_, port)) = self.pywb.last() {
            text = text.replace(
                &format!("localhost:{WRITTEN_PYWB_PORT}"),
                &format!("127.0.0.1:{port}"),
            );
        }
        for folder in FOLDERS {
            for before in [" ", "=", ":"] {
                let there = self.place.path(&folder[1..]).display().to_string();
                text = text.replace(&format!("{before}{folder}"), &format!("{before}{there}"));
            }
        }
        text
    }

    /// Returns the output of a command with the addresses and folders of the pages.
    fn there(&self, printed: &str) -> String {
        let mut printed = self.place.stable(printed);
        for folder in FOLDERS {
            printed = printed.replace(&format!("PLACE{folder}"), folder);
        }
        printed = printed.replace("PLACE", "/home/me");
        if let Some(served) = self.served.last() {
            printed = printed.replace(&served.address, WRITTEN_ADDRESS);
        }
        printed
    }

    /// Returns whether a program that a command needs is missing, and reports it.
    fn is_missing(&self, command: &str) -> bool {
        let modules = command
            .split_once("import ")
            .map_or("", |(_, rest)| rest.split(';').next().unwrap_or_default());
        let modules: Vec<&str> = modules.split(", ").filter(|name| !name.is_empty()).collect();
        let needed = ["curl", "jq", "wayback", "python3"]
            .into_iter()
            .filter(|program| command.split([' ', '|', ';']).any(|word| word == *program));
        for program in needed {
            let test = match program {
                "python3" => format!("python3 -c 'import {}'", modules.join(", ")),
                _ => format!("command -v {program}"),
            };
            if self.shell(&test).code != Some(0) {
                println!(
                    "skipped: {}: {command}: there is no {program} {}",
                    self.name,
                    modules.join(", ")
                );
                return true;
            }
        }
        if command.starts_with("weft sql") && !programs().join("weft-sql").exists() {
            println!(
                "skipped: {}: {command}: there is no weft-sql beside weft",
                self.name
            );
            return true;
        }
        false
    }

    /// Starts a background command. Returns whether it is one.
    fn start(&mut self, command: &str) -> bool {
        let Some(command) = command.strip_suffix(" &") else {
            return false;
        };
        let arguments = self.here(command);
        let mut arguments = arguments.split(' ').collect::<Vec<_>>();
        match arguments.remove(0) {
            "weft" => {
                arguments.extend(["--listen", "127.0.0.1:0"]);
                self.served.push(Served::start_with(self.place, &arguments));
            }
            "wayback" if !self.is_missing(command) => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
                let port = listener.local_addr().expect("its address").port();
                drop(listener);
                let command = command.replace(WRITTEN_PYWB_PORT, &port.to_string());
                let mut shell = self.shell_command(&format!("exec {command}"));
                shell
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                let mut child = shell.spawn().expect("a shell");
                let begun = Instant::now();
                while TcpStream::connect(("127.0.0.1", port)).is_err() {
                    let ended = child.try_wait().expect("a child");
                    assert!(
                        ended.is_none() && begun.elapsed() < START_TIME_MAX,
                        "pywb did not start: {ended:?}"
                    );
                    std::thread::sleep(Duration::from_millis(50));
                }
                self.pywb.push((child, port));
            }
            "wayback" => {}
            other => panic!("{}: {other} is started in a way that is not known", self.name),
        }
        true
    }

    /// Runs a command whose output the page shows.
    fn step(&mut self, command: &str, printed: &[String]) {
        if command.starts_with("export ") {
            self.exported.push(self.here(command));
            return;
        }
        let asks_pywb = command.contains(&format!(":{WRITTEN_PYWB_PORT}"));
        if asks_pywb && !command.starts_with("wayback") && self.pywb.is_empty() {
            return;
        }
        if self.start(command) || self.is_missing(command) {
            return;
        }
        let run = self.shell(&self.here(command));
        let said = self.there(&run.stdout);
        // A terminal also shows progress on standard error.
        let on_terminal = self.there(&run.stderr) + &said;
        let of_another = OF_ANOTHER_MACHINE
            .iter()
            .any(|beginning| command.starts_with(beginning));
        let lines = |text: &str| {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines
                .map(|line| without_figures(line, of_another))
                .collect::<Vec<_>>()
        };
        let expected = lines(&printed.join("\n"));
        assert!(
            matches(&expected, &lines(&said)) || matches(&expected, &lines(&on_terminal)),
            "{}: {command}\nprinted\n{said}{}\nand the page says\n{}",
            self.name,
            run.stderr,
            printed.join("\n")
        );
    }

    /// Runs a command that must succeed.
    fn command(&mut self, line: &str) {
        let command = line.split("  #").next().unwrap_or_default().trim_end();
        if let Some((beginning, _)) = NOT_RUN
            .iter()
            .find(|(beginning, _)| command.starts_with(beginning))
        {
            self.not_run.insert(beginning);
            return;
        }
        if command.starts_with("export ") {
            self.exported.push(self.here(command));
            return;
        }
        if command.starts_with("weft serve") {
            // Use free ports instead of those of the page.
            let arguments = self.here(command).replace("127.0.0.1:9000", "127.0.0.1:0");
            let arguments = arguments.split(' ').skip(1).chain(["--listen", "127.0.0.1:0"]);
            let mut served = Served::start_with(self.place, &arguments.collect::<Vec<_>>());
            assert_eq!(served.stop(), Some(0), "{}: {command}", self.name);
            return;
        }
        if self.is_missing(command) {
            return;
        }
        for (beginning, before) in BEFORE {
            if command.starts_with(beginning) {
                let run = self.shell(before);
                assert_eq!(run.code, Some(0), "{before}\n{run:?}");
            }
        }
        let ends_with_1 = ENDS_WITH_1
            .iter()
            .any(|(beginning, _)| command.starts_with(beginning));
        let run = self.shell(&self.here(command));
        assert_eq!(
            run.code,
            Some(i32::from(ends_with_1)),
            "{}: {command}\n{}{}",
            self.name,
            run.stdout,
            run.stderr
        );
    }

    /// Returns a shell command with this program first on `PATH`, and the project's Python.
    fn shell_command(&self, line: &str) -> std::process::Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let venv = test_env::venv().map(|venv| venv.join("bin")).unwrap_or_default();
        let mut shell = test_env::command("sh", &self.place.path("home"));
        let exported = self
            .exported
            .iter()
            .map(|line| format!("{line}; "))
            .collect::<String>();
        shell
            .args(["-c", &format!("{exported}{line}")])
            .current_dir(self.place.path(""));
        shell.env(
            "PATH",
            format!("{}:{}:{path}", programs().display(), venv.display()),
        );
        shell
    }

    fn shell(&self, line: &str) -> Run {
        Run::of(self.shell_command(line).output().expect("a shell"))
    }
}

/// Returns the directory of this program.
fn programs() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_weft"));
    program.parent().expect("a folder").to_owned()
}

fn check(name: &str) {
    let text = std::fs::read_to_string(docs().join("tasks").join(name)).expect("a page");
    let steps = blocks(&text);
    let steps = steps.iter().filter(|block| matches!(block, Block::Step { .. }));
    assert!(steps.count() > 2, "{name} shows nothing");
    Reading::read(name, &place(), &text);
}

/// The crawls that README was written for, in `shared/data/crawls`.
const README_CRAWLS: [&str; 8] = [
    "blackbook.arc.gz",
    "blackbook.warc.gz",
    "dupes.warc.gz",
    "etig.warc.gz",
    "govuk-1.warc.gz",
    "govuk-2-revisits.warc.gz",
    "hackfest.warc.gz",
    "iana.warc.gz",
];

/// Sets up the crawls and folders that README and the tour were written for. Returns `None` where
/// the crawls are missing.
fn place_of_readme() -> Option<Workspace> {
    let data = test_env::shared_data()?;
    let place = Workspace::new();
    for name in README_CRAWLS {
        let bytes = std::fs::read(data.join("crawls").join(name)).expect("a crawl");
        place.write_old(&format!("crawls/{name}"), &bytes);
    }
    let clipped = std::fs::read(data.join("edge/chatnoir-clipped.warc.gz")).expect("a crawl");
    place.write_old("clipped.warc.gz", &clipped);
    place.write("notes/one.md", b"# One\n\nA note.\n");
    for folder in ["disks/a", "disks/b", "data/crawls", "usr/share/doc"] {
        std::fs::create_dir_all(place.path(folder)).expect("a folder");
    }
    place.write("usr/share/doc/file.txt", b"text");
    Some(place)
}

/// README shows actual output, with the crawls it was written for.
#[test]
fn readme() {
    let Some(place) = place_of_readme() else {
        return;
    };
    let page = std::fs::read_to_string(docs().join("../README.md")).expect("README.md");
    Reading::read("README.md", &place, &page);
}

#[test]
fn tour() {
    let Some(place) = place_of_readme() else {
        return;
    };
    let page = std::fs::read_to_string(docs().join("tasks/tour.md")).expect("the tour");
    Reading::read("tour.md", &place, &page);
}

/// Every reason belongs to an existing line, and only measurements are ignored in comparisons.
#[test]
fn every_reason_is_of_a_line_and_figures_alone_are_left_out() {
    let mut pages = vec![docs().join("../README.md")];
    for entry in std::fs::read_dir(docs().join("tasks")).expect("a folder") {
        pages.push(entry.expect("an entry").path());
    }
    let texts: Vec<String> = pages
        .iter()
        .map(|page| std::fs::read_to_string(page).expect("a page"))
        .collect();
    let lines = || {
        texts
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| line.strip_prefix("    "))
    };
    for (beginning, why) in NOT_RUN.iter().chain(ENDS_WITH_1).chain(BEFORE) {
        let is_there = lines().any(|line| line.trim_start_matches("$ ").starts_with(beginning));
        assert!(is_there, "no page has {beginning}: {why}");
    }
    let line = "7.5 MiB in 0.8 s (9.4 MiB/s, 408 pages/s), 1 epoch";
    assert_eq!(
        without_figures(line, false),
        "N MiB in N s (N MiB/s, N pages/s), N epoch"
    );
    let page = "Text.\n\n    $ one\n    1\n    ...\n\nIn its `a.yaml`:\n\n    b: c\n\nMore:\n\n    two\n";
    let file = Block::File {
        name: "a.yaml".into(),
        text: "b: c\n".into(),
    };
    assert_eq!(
        blocks(page),
        [
            Block::Step {
                command: "one".into(),
                printed: vec!["1".into(), "...".into()]
            },
            file,
            Block::Commands(vec!["two".into()]),
        ]
    );
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

#[test]
fn behind_a_proxy() {
    check("share-behind-a-proxy.md");
}

#[test]
fn origins_behind_a_proxy() {
    check("origins-behind-a-proxy.md");
}

#[test]
fn users_and_administrators() {
    check("users-and-administrators.md");
}

#[test]
fn duplicates_and_fixity() {
    check("duplicates-and-fixity.md");
}

#[test]
fn gephi() {
    check("gephi.md");
}

#[test]
fn back_up_and_restore() {
    check("back-up-and-restore.md");
}

#[test]
fn upgrade() {
    check("upgrade.md");
}

#[test]
fn csv_for_a_paper() {
    check("csv-for-a-paper.md");
}

#[test]
fn notebook() {
    check("notebook.md");
}

#[test]
fn common_crawl() {
    check("common-crawl-in-an-afternoon.md");
}

#[test]
fn from_solrwayback() {
    check("from-solrwayback.md");
}

#[test]
fn from_outbackcdx() {
    check("from-outbackcdx.md");
}

#[test]
fn from_robinhood() {
    check("from-robinhood.md");
}

/// The book contains exactly the existing pages, and every page that is linked exists.
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
    for page in ["", "tasks/", "operations/", "store/"].map(pages).concat() {
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
