//! Files made to break readers: bombs, false lengths, deep nesting, odd dates. The record after the
//! trap is always read, in bounded memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use archive::question::LoadRequest;
use inputs::LoadInput;

use crate::data::{dump, load, own};

/// Set for the process that loads.
const DIR: &str = "WEFT_TEST_HOSTILE_DIR";

/// More than the peak memory of loading all these files, in KiB. A single trap would take gigabytes
/// if it were unpacked, kept or believed.
const MEMORY_KIB_MAX: u64 = 600 << 10;

fn files() -> Option<Vec<PathBuf>> {
    let folder = test_env::shared_data()?.join("regress/hostile");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: no {}", folder.display());
        return None;
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    Some(files)
}

/// Loads all files into one archive each, below `dir`.
fn load_all(dir: &Path) {
    for path in files().unwrap_or_default() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let request = LoadRequest {
            inputs: vec![LoadInput {
                name: name.clone(),
                path: path.to_string_lossy().into_owned(),
            }],
            ..LoadRequest::default()
        };
        load(&own(&dir.join(&name)), &request);
    }
}

/// Not a separate test: the test below runs it in another process, whose memory it measures.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(DIR) {
        load_all(Path::new(&dir));
        println!("\nhighest {} KiB", highest_memory_kib().unwrap_or(0));
    }
}

/// Returns the peak memory of this process, if the system reports it.
fn highest_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

#[test]
fn the_record_after_a_trap_is_read_in_bounded_memory() {
    let Some(files) = files() else { return };
    let root = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::child", "--nocapture", "--test-threads", "1"])
        .env(DIR, root.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let highest = text.lines().find_map(|line| line.strip_prefix("highest "));
    let highest: u64 = highest
        .and_then(|rest| rest.split(' ').next())
        .unwrap()
        .parse()
        .unwrap();
    assert!(highest < MEMORY_KIB_MAX, "{highest} KiB");
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let archive = own(&root.path().join(&name));
        let captures = dump(&archive, "captures");
        let next = match path.extension().is_some_and(|extension| extension == "arc") {
            true if name == "hostile2.arc" => "example,arc5)/",
            true => "example,arc3)/",
            false => "example,after)/",
        };
        assert!(
            captures.lines().any(|line| line.starts_with(next)),
            "{name}:\n{captures}"
        );
        // A capture cannot be from the future. One with such a date would stay current forever.
        let late = captures.lines().filter_map(|line| line.split('\t').nth(1));
        assert!(late.into_iter().all(|time| time < "2100"), "{name}:\n{captures}");
    }
}
