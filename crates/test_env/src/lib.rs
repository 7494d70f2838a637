//! Test support: starts other programs isolated from the user's settings, and locates the folder of
//! real archive files.
//!
//! Invariant: a child process sees only the variables of [`KEPT`] and a separate home directory. So
//! `AWS_*`, `RCLONE_*`, `WEFT_*`, proxies, and the user's files such as `~/.aws/config`, `~/.s3cfg`
//! and `~/.config` affect no test, whatever clients may read in the future: this is an allow list.
//!
//! It cannot clean the environment of the test process itself: `.ci/clean` does that for `make
//! test`.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables to keep: locations of programs and temporary files, text encoding, and settings of
/// tools that observe tests.
const KEPT: [&str; 11] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "RUST_BACKTRACE",
    "LLVM_PROFILE_FILE",
    // On Windows a process needs these two to open sockets and find its temporary folder.
    "SYSTEMROOT",
    "TEMP",
];

/// Variables for folders of settings and state, with their locations below the home directory.
const FOLDERS: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// Returns the folder of the crate whose tests run. It is read when they run, so that tests
/// compiled in one clone of the repository are right in another.
///
/// ```
/// assert!(test_env::crate_dir().join("Cargo.toml").is_file());
/// ```
///
/// # Panics
/// Neither Cargo runs the tests nor is there a current directory.
pub fn crate_dir() -> PathBuf {
    let of_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    // Cargo runs tests in the folder of their crate.
    of_cargo.unwrap_or_else(|| env::current_dir().expect("a current directory"))
}

/// Returns the folder of real archive files: `WEFT_SHARED_DATA`, or `shared/data` in or above the
/// workspace. Prints a line and returns `None` if there is no such folder; tests of real files are
/// then skipped.
///
/// ```no_run
/// let Some(data) = test_env::shared_data() else {
///     return;
/// };
/// let file = data.join("crawls/iana.warc.gz");
/// ```
pub fn shared_data() -> Option<PathBuf> {
    let given = env::var_os("WEFT_SHARED_DATA").map(PathBuf::from);
    let crate_dir = crate_dir();
    let above = crate_dir.ancestors().map(|folder| folder.join("shared/data"));
    let found = given.into_iter().chain(above).find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: there is no folder shared/data above the workspace (set WEFT_SHARED_DATA)");
    }
    found
}

/// Returns an isolated command with `home` as its home directory.
///
/// ```
/// let home = std::env::temp_dir();
/// let output = test_env::command("env", &home).output().expect("env is everywhere");
/// let variables = String::from_utf8_lossy(&output.stdout);
/// assert!(variables.contains(&format!("HOME={}", home.display())));
/// assert!(!variables.contains("CARGO_MANIFEST_DIR="));
/// ```
pub fn command(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in KEPT {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("HOME", home).env("USERPROFILE", home);
    for (name, folder) in FOLDERS {
        command.env(name, home.join(folder));
    }
    command
}

/// Returns a Python that can import `modules`: the project's virtual environment, which `make test`
/// fills, or else the system's.
///
/// ```no_run
/// let Some(python) = test_env::python(&["boto3"]) else {
///     println!("skipped: there is no python3 with boto3 (make need-boto3)");
///     return;
/// };
/// let script = test_env::command(&python, &std::env::temp_dir());
/// ```
pub fn python(modules: &[&str]) -> Option<PathBuf> {
    let import = format!("import {}", modules.join(", "));
    let nowhere = env::temp_dir();
    let known = venv().map(|venv| venv.join("bin/python"));
    let mut pythons = known.into_iter().chain([PathBuf::from("python3")]);
    pythons.find(|python| {
        let tried = command(python, &nowhere).args(["-c", &import]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// Returns the path of the virtual environment that `make need-clients` creates, if the user has a
/// cache folder.
pub fn venv() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|cache| !cache.is_empty());
    let cache = cache.map(PathBuf::from);
    let cache = cache.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    Some(cache?.join("weft/venv"))
}

#[cfg(test)]
mod tests;
