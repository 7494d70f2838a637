//! For tests: what they need from outside. Other programs, started apart from the user's settings, and the folder of
//! real archive files.
//!
//! Invariant: a child process sees of the environment only what [`KEPT`] names, and a home directory of its own.
//! So `AWS_*`, `RCLONE_*`, `WEFT_*`, proxies, and files such as `~/.aws/config`, `~/.s3cfg` and `~/.config` of the
//! user change no test, whatever clients will read one day: what may be read is listed, not what may not.
//!
//! It cannot clean the environment of the test process itself: `.ci/clean` does that for `make test`.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is kept: where programs and temporary files are, how text is encoded, and what tools that watch tests set.
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
    // Without these two, no process of Windows opens a socket or finds its temporary folder.
    "SYSTEMROOT",
    "TEMP",
];

/// Folders that programs keep settings and state in, all below the home directory they are given.
const FOLDERS: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// The folder of real archive files: `WEFT_SHARED_DATA`, or `shared/data` beside or above the workspace. `None`, with
/// one visible line, where there is none: the tests of real files are skipped then.
pub fn shared_data() -> Option<PathBuf> {
    let given = env::var_os("WEFT_SHARED_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let above = above.map(|folder| folder.join("shared/data"));
    let found = given.into_iter().chain(above).find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: there is no folder shared/data above the workspace (set WEFT_SHARED_DATA)");
    }
    found
}

/// A command that runs apart, with `home` as its home directory.
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

/// A Python that can import `modules`: the project's own environment, which `make test` fills, or else the system's.
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

/// The environment that `make need-clients` makes, if this user can have one.
pub fn venv() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|cache| !cache.is_empty());
    let cache = cache.map(PathBuf::from);
    let cache = cache.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    Some(cache?.join("weft/venv"))
}

#[cfg(test)]
mod tests;
