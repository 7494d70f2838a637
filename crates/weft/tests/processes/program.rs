//! Runs the program and compares archives.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use archive::question::{DumpFormat, View};
use archive::{Archive, OpenSettings};

/// Files with many records, revisits, redirects and links between hosts. The later ones have
/// records that must not replace a page, revisits of other URLs, pages that differ in case, and one
/// content under two names.
pub(crate) const FILES: [&str; 12] = [
    "crawls/hackfest.warc.gz",
    "crawls/dupes.warc.gz",
    "crawls/etig.warc.gz",
    "crawls/iana.warc.gz",
    "field/c03-case.warc.gz",
    "field/c65-post-same-url.warc.gz",
    "field/c68-revisit-pages.warc.gz",
    "field/c69-two-urls.warc.gz",
    "field/c71-response304.warc.gz",
    "field/conversion-not-text.warc",
    "field/two-names/kk.warc.gz",
    "field/two-names/k.warc.gz",
];

/// Index in [`FILES`] of the largest. Tests that load at every step of something leave it out.
const LARGEST: usize = 2;

/// Dumps of all views.
pub(crate) type Dumps = Vec<(&'static str, String)>;

/// Returns the program, run in the shared folder on an archive.
pub(crate) fn weft(shared: &Path, archive: &Path, arguments: &[&str]) -> Command {
    let mut command = test_env::command(env!("CARGO_BIN_EXE_weft"), &std::env::temp_dir());
    command
        .current_dir(shared)
        .args(arguments)
        .arg("--archive")
        .arg(archive);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns a load in many small epochs.
pub(crate) fn load(shared: &Path, archive: &Path) -> Command {
    let mut arguments = vec!["load", "--epoch-bytes", "200000", "--threads", "2"];
    arguments.extend(FILES);
    weft(shared, archive, &arguments)
}

/// Returns a load of all files but the largest, in as many epochs.
pub(crate) fn load_few(shared: &Path, archive: &Path) -> Command {
    let mut arguments = vec!["load", "--epoch-bytes", "60000", "--threads", "2"];
    arguments.extend(&FILES[..LARGEST]);
    arguments.extend(&FILES[LARGEST + 1..]);
    weft(shared, archive, &arguments)
}

/// Runs to the end; the exit code must be one of `codes`.
pub(crate) fn run(mut command: Command, codes: &[i32]) -> String {
    finish(command.spawn().unwrap(), codes)
}

/// Waits for the end; the exit code must be one of `codes`.
pub(crate) fn finish(child: Child, codes: &[i32]) -> String {
    let output = child.wait_with_output().unwrap();
    let good = output.status.code().is_some_and(|code| codes.contains(&code));
    assert!(good, "{}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Describes the output and exit status of a process.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
}

/// Returns all views of an archive, and its facts.
pub(crate) fn dumps(archive: &Path) -> Dumps {
    dumps_with(archive, &archive.join("facts"))
}

/// Like [`dumps`], with the facts in another folder. One process dumps all views, this one: to start
/// another for each view takes longer than most tests otherwise.
pub(crate) fn dumps_with(archive: &Path, facts: &Path) -> Dumps {
    let mut settings = OpenSettings::default();
    settings.asks_only = true;
    let opened = Archive::open(archive, settings).unwrap();
    let views = View::ALL.into_iter().map(|view| {
        let mut rows = Vec::new();
        opened.dump(view, DumpFormat::Tsv, &mut rows).unwrap();
        (view.name(), String::from_utf8(rows).unwrap())
    });
    // Numbers of epochs and inputs, and how far an input was digested at commit time, depend on the
    // history.
    let without = ["epoch", "input_id", "input_digest"];
    let tables = ["captures", "links"].into_iter();
    // Read after a command has opened the archive, which completes work interrupted by a crash.
    let of_facts = |table| (table, facts::table_as_text(&facts.join(table), &without).unwrap());
    let mut dumps: Dumps = views.collect();
    dumps.extend(tables.map(of_facts));
    dumps
}

/// An archive that was loaded without interruption.
pub(crate) struct Undisturbed {
    pub(crate) dumps: Dumps,
    /// Number of pages and documents that search has.
    pub(crate) searched: u64,
}

impl Undisturbed {
    fn load(shared: &Path, load: fn(&Path, &Path) -> Command) -> Undisturbed {
        let root = tempfile::tempdir().unwrap();
        let archive = root.path().join("a");
        run(load(shared, &archive), &[0, 1]);
        let dumps = dumps(&archive);
        assert!(dumps[0].1.lines().count() > 200, "{}", dumps[0].1);
        let searched = status(shared, &archive, "search_documents");
        // Search also covers plain text and feeds.
        assert!(searched > status(shared, &archive, "pages"));
        Undisturbed { dumps, searched }
    }
}

/// Returns an archive of [`load`], shared by all tests.
pub(crate) fn undisturbed(shared: &Path) -> &'static Undisturbed {
    static LOADED: OnceLock<Undisturbed> = OnceLock::new();
    LOADED.get_or_init(|| Undisturbed::load(shared, load))
}

/// Returns an archive of [`load_few`], shared by all tests.
pub(crate) fn undisturbed_few(shared: &Path) -> &'static Undisturbed {
    static LOADED: OnceLock<Undisturbed> = OnceLock::new();
    LOADED.get_or_init(|| Undisturbed::load(shared, load_few))
}

/// Compares all views and reports the first difference.
pub(crate) fn assert_same(found: &Dumps, expected: &Dumps, what: &str) {
    for ((view, found), (_, expected)) in found.iter().zip(expected) {
        let pair = found
            .lines()
            .zip(expected.lines())
            .find(|(found, expected)| found != expected);
        assert!(
            found == expected,
            "{what}: view {view} differs, first at {pair:#?}"
        );
    }
}

/// Returns a number from a field of `weft status --json`.
pub(crate) fn status(shared: &Path, archive: &Path, field: &str) -> u64 {
    let text = run(weft(shared, archive, &["status", "--json"]), &[0]);
    let status: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    status[field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field} in {status}"))
}

/// A server, stopped as by a service manager.
pub(crate) struct Server(Child);

impl Server {
    pub(crate) fn start(shared: &Path, archive: &Path) -> Server {
        Server::of(Server::command(shared, archive).spawn().unwrap())
    }

    pub(crate) fn command(shared: &Path, archive: &Path) -> Command {
        weft(shared, archive, &["serve", "--create", "--listen", "127.0.0.1:0"])
    }

    /// Wraps a server that was just started, once it listens.
    pub(crate) fn of(mut child: Child) -> Server {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.contains("http://127.0.0.1:"), "{line}");
        Server(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn stop(mut self) {
        let stopped = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(stopped.success());
        assert!(self.0.wait().unwrap().success());
    }

    /// Kills it without warning.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
