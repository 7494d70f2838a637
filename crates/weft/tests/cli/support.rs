//! Runs the program in a fresh folder per test.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use expect_test::Expect;
use serde_json::Value;
use tempfile::TempDir;

/// All views.
pub(crate) const VIEWS: [&str; 9] = [
    "captures",
    "pages",
    "links",
    "inlinks",
    "uris",
    "domains",
    "top",
    "ledger",
    "quarantine",
];

/// A fresh working folder without an archive.
pub(crate) struct Workspace {
    dir: TempDir,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        Workspace {
            dir: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("create a folder");
        std::fs::write(&path, bytes).expect("write a file");
        path
    }

    /// Writes a file with an old time, so that it does not look like one still being written.
    pub(crate) fn write_old(&self, name: &str, bytes: &[u8]) {
        self.write_at(name, bytes, UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    }

    /// Writes a file with this modification time.
    pub(crate) fn write_at(&self, name: &str, bytes: &[u8], time: SystemTime) {
        let path = self.write(name, bytes);
        let file = std::fs::File::options()
            .write(true)
            .open(path)
            .expect("open a file");
        file.set_modified(time).expect("set its time");
    }

    /// Returns the program, run in this folder, without the user's settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = test_env::command(env!("CARGO_BIN_EXE_weft"), self.dir.path());
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().expect("the program starts"))
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        start(&mut self.command(arguments))
    }

    /// Returns the standard output of a command that must end with code 0 and an empty standard
    /// error.
    pub(crate) fn good(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(
            (run.code, without_progress(&run.stderr).as_str()),
            (Some(0), ""),
            "weft {}\n{}",
            arguments.join(" "),
            run.stdout
        );
        run.stdout
    }

    /// Returns the single JSON object that `--json` prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let lines = json_lines(&self.run(&arguments).stdout);
        assert_eq!(lines.len(), 1, "weft {} prints one object", arguments.join(" "));
        lines.into_iter().next().expect("one line")
    }

    /// Returns `text` without run-dependent parts and with plain line ends, for golden texts.
    pub(crate) fn stable(&self, text: &str) -> String {
        let place = self.dir.path().display().to_string();
        text.replace(&place, "PLACE").replace("\r\n", "\n")
    }

    /// Runs a command and compares its exit code, stdout and stderr with a golden text.
    pub(crate) fn check(&self, arguments: &[&str], expected: &Expect) {
        let run = self.run(arguments);
        expected.assert_eq(&self.stable(&run.text()));
    }
}

/// Removes the progress lines that a load of more than ten seconds prints.
fn without_progress(said: &str) -> String {
    let is_progress = |line: &&str| {
        let seconds = line.split_once(" s  ").map_or("", |(seconds, _)| seconds);
        !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    said.split_inclusive('\n')
        .filter(|line| !is_progress(line))
        .collect()
}

/// Starts a command with piped output.
pub(crate) fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

impl Run {
    pub(crate) fn of(output: std::process::Output) -> Run {
        Run {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks the exit code, and that standard output and standard error contain these texts.
    #[track_caller]
    pub(crate) fn expect(self, code: i32, stdout: &[&str], stderr: &[&str]) -> Run {
        assert_eq!(self.code, Some(code), "{}", self.text());
        for (text, parts) in [(&self.stdout, stdout), (&self.stderr, stderr)] {
            for part in parts {
                assert!(text.contains(part), "{part:?} is not in\n{}", self.text());
            }
        }
        self
    }

    pub(crate) fn text(&self) -> String {
        let code = self.code.map_or("signal".to_owned(), |code| code.to_string());
        let stderr: String = self.stderr.lines().map(|line| format!("2> {line}\n")).collect();
        format!("exit code {code}\n{}{stderr}", self.stdout)
    }
}

/// Splits a command line without quotes into arguments.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Parses every line of `text` as JSON.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}")))
        .collect()
}
