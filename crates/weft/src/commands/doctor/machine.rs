//! Checks of programs and machine resources: open files, memory, disk, clock.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Resource, getrlimit};

use super::finding::Finding;
use crate::context::Context;
use crate::sql_program::{self, HOW_TO_GET_IT, PROGRAM};
use crate::units::{bytes, count};

/// Limit on open files below which a serving process may run out: 1,024 connections plus the tables
/// of the index (`weft serve --connections-max`).
const OPEN_FILES_MIN: u64 = 4_096;

/// Free space below which a load is likely to stop.
const FREE_BYTES_MIN: u64 = 1 << 30;

/// A file system with less than this part of its size free (1/20) gives a warning.
const FREE_PART_MIN: u64 = 20;

/// Memory needed in addition to the archive's own: readers of inputs, connections, documents.
const MEMORY_BESIDE_BYTES: u64 = 512 << 20;

/// 2026-01-01, in seconds since 1970. An earlier clock is unset, since this program is newer.
const CLOCK_MIN_SECONDS: u64 = 1_767_225_600;

/// Returns all findings about the machine.
pub(super) fn findings(context: &Context) -> Vec<Finding> {
    let mut findings = vec![program(), sql(), open_files(), memory(context), clock()];
    let archive = nearest(&context.archive);
    findings.extend(disk(
        &archive,
        "disk",
        "move the archive or free some space: weft files scan shows what is large",
    ));
    let temporary = std::env::temp_dir();
    findings.extend(disk(
        &temporary,
        "temporary",
        "set TMPDIR to use another folder for temporary files",
    ));
    findings
}

fn program() -> Finding {
    let place =
        std::env::current_exe().map_or_else(|_| String::new(), |path| format!(", {}", path.display()));
    Finding::ok("program", format!("weft {}{place}", archive::VERSION))
}

fn sql() -> Finding {
    let of = "SQL";
    let Some(program) = sql_program::find() else {
        return Finding::ok(
            of,
            format!("{PROGRAM} is not installed; weft sql needs it: {HOW_TO_GET_IT}"),
        );
    };
    let path = program.display();
    let asked = Command::new(&program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let found = match asked {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Ok(output) => {
            let why = format!("{path} does not run: {}", output.status);
            return Finding::problem(of, why, "install it again next to weft");
        }
        Err(error) => {
            return Finding::problem(
                of,
                format!("{path} does not run: {error}"),
                "install it again next to weft",
            );
        }
    };
    if found == format!("{PROGRAM} {}", archive::VERSION) {
        Finding::ok(of, format!("{found}, {path}"))
    } else {
        Finding::problem(
            of,
            format!("{path} says {found:?}, this is weft {}", archive::VERSION),
            "install the same version of both programs",
        )
    }
}

fn open_files() -> Finding {
    let limit = getrlimit(Resource::Nofile);
    judge_open_files(limit.current, limit.maximum)
}

/// Judges the limits on open files; `None` means unlimited.
fn judge_open_files(current: Option<u64>, maximum: Option<u64>) -> Finding {
    let limit_text = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), count);
    let found = format!(
        "soft limit {}, hard limit {}",
        limit_text(current),
        limit_text(maximum)
    );
    if current.is_none_or(|current| current >= OPEN_FILES_MIN) {
        Finding::ok("open files", found)
    } else {
        Finding::warning(
            "open files",
            found,
            "raise it with ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit: many connections and \
             large indexes need more",
        )
    }
}

fn memory(context: &Context) -> Finding {
    let archive = context.memory_size_bytes.unwrap_or(archive::MEMORY_SIZE_BYTES);
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| meminfo_bytes(&text, "MemAvailable:"));
    judge_memory(archive, machine, cgroup_limit())
}

/// Judges memory. `available` is what the machine could provide now; `limit` caps this process and
/// the others of its control group.
fn judge_memory(archive: u64, available: Option<u64>, limit: Option<u64>) -> Finding {
    let of = "memory";
    let least = [available, limit].into_iter().flatten().min();
    let Some(least) = least else {
        return Finding::ok(
            of,
            format!(
                "the archive takes {}; the memory of this machine is unknown",
                bytes(archive)
            ),
        );
    };
    let limited = limit.map_or_else(String::new, |limit| {
        format!(", at most {} for this container", bytes(limit))
    });
    let found = format!(
        "{} available{limited}; the archive takes {}",
        bytes(least),
        bytes(archive)
    );
    if least >= archive.saturating_add(MEMORY_BESIDE_BYTES) {
        Finding::ok(of, found)
    } else {
        Finding::warning(
            of,
            found,
            format!(
                "an archive and its loads need {}: lower its limit (--memory, WEFT_MEMORY), or add memory",
                bytes(archive.saturating_add(MEMORY_BESIDE_BYTES))
            ),
        )
    }
}

/// Parses a line of proc_meminfo(5), which counts in KiB. Returns bytes.
fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the memory limit of the control group (cgroup v2, `memory.max`), which containers set.
fn cgroup_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = |dir: &Path| {
        std::fs::read_to_string(dir.join("memory.max"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let root = Path::new("/sys/fs/cgroup");
    // The limits of all ancestor groups apply too.
    let dir = root.join(group.trim_start_matches('/'));
    dir.ancestors()
        .take_while(|dir| dir.starts_with(root))
        .filter_map(limit)
        .min()
}

fn clock() -> Finding {
    let now = system::wall_ms() / 1000;
    let found = crate::units::instant(now.saturating_mul(1000)) + " UTC";
    if now >= CLOCK_MIN_SECONDS {
        Finding::ok("clock", found)
    } else {
        Finding::problem(
            "clock",
            found,
            "set the clock, and run an NTP client: store nodes reject a node whose clock is off by 5 \
             minutes",
        )
    }
}

/// Returns the folder, or its nearest existing ancestor.
fn nearest(dir: &Path) -> PathBuf {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    dir.ancestors()
        .find(|dir| dir.exists())
        .map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

fn disk(dir: &Path, of: &'static str, room: &str) -> Vec<Finding> {
    let path = dir.display();
    let found = match rustix::fs::statvfs(dir) {
        Ok(found) => found,
        Err(error) => {
            let advice = "the folder must exist and be readable";
            return vec![Finding::problem(of, format!("{path}: {error}"), advice)];
        }
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let size = found.f_blocks.saturating_mul(found.f_frsize);
    let mut findings = vec![judge_space(of, &path.to_string(), free, size, room)];
    // Some file systems (btrfs) do not count inodes and report 0.
    if found.f_files > 0 && found.f_favail < found.f_files / 100 {
        findings.push(Finding::warning(
            of,
            format!(
                "{path}: {} of {} inodes are free",
                count(found.f_favail),
                count(found.f_files)
            ),
            "remove small files there: no file can be created without a free inode",
        ));
    }
    findings.extend(kind_of_file_system(dir).and_then(|kind| judge_file_system(of, dir, kind)));
    findings
}

fn judge_space(of: &'static str, path: &str, free: u64, size: u64, room: &str) -> Finding {
    let found = format!("{path}: {} of {} free", bytes(free), bytes(size));
    if free < FREE_BYTES_MIN {
        Finding::problem(of, found, room)
    } else if free < size / FREE_PART_MIN {
        Finding::warning(of, found, room)
    } else {
        Finding::ok(of, found)
    }
}

/// Returns the type of the file system, if it matters here (linux/magic.h; cifs:
/// fs/smb/client/cifsfs.h).
fn kind_of_file_system(dir: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(dir).ok()?.f_type;
    Some(match u32::try_from(kind).ok()? {
        0x6969 => "NFS",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x6573_5546 => "FUSE",
        0x0102_1994 => "tmpfs",
        0x794C_7630 => "overlayfs",
        _ => return None,
    })
}

fn judge_file_system(of: &'static str, dir: &Path, kind: &str) -> Option<Finding> {
    if of != "disk" {
        return None;
    }
    let advice = match kind {
        "NFS" | "SMB" => {
            "open the archive on one machine only: locks and synced writes are not reliable across \
             machines. A local disk is also faster"
        }
        "FUSE" => {
            "whether synced writes are really durable depends on the program behind the mount; \
                   prefer a local disk"
        }
        "tmpfs" => "it is in memory, and lost when the machine stops",
        _ => "it is the container's own layer, and lost with the container: mount a volume for the archive",
    };
    Some(Finding::warning(
        of,
        format!("{} is on {kind}", dir.display()),
        advice,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict::{Ok, Problem, Warning};
    use super::*;

    #[test]
    fn limits_are_judged() {
        assert_eq!(judge_open_files(Some(1_024), Some(524_288)).verdict, Warning);
        assert_eq!(judge_open_files(Some(65_536), None).verdict, Ok);
        assert_eq!(judge_open_files(None, None).verdict, Ok);

        let (mib, gib) = (1 << 20, 1 << 30);
        assert_eq!(judge_memory(gib, Some(8 * gib), None).verdict, Ok);
        assert_eq!(judge_memory(gib, Some(8 * gib), Some(gib)).verdict, Warning);
        assert_eq!(judge_memory(gib, Some(gib), Some(8 * gib)).verdict, Warning);
        assert_eq!(judge_memory(256 * mib, Some(gib), None).verdict, Ok);
        assert_eq!(judge_memory(gib, None, None).verdict, Ok);

        let space = |free, size| judge_space("disk", "/x", free, size, "make room").verdict;
        assert_eq!(space(100 * mib, 1000 * gib), Problem);
        assert_eq!(space(20 * gib, 1000 * gib), Warning);
        assert_eq!(space(20 * gib, 100 * gib), Ok);
    }

    #[test]
    fn meminfo_counts_in_kib() {
        let text = "MemTotal:       24661948 kB\nMemAvailable:   23000000 kB\n";
        assert_eq!(meminfo_bytes(text, "MemAvailable:"), Some(23_000_000 * 1024));
        for odd in [
            "",
            "MemAvailable: many kB",
            "MemAvailable: 99999999999999999999 kB",
            "MemAvailable: 1",
        ] {
            assert_eq!(meminfo_bytes(odd, "MemAvailable:"), None, "{odd}");
        }
    }

    #[test]
    fn a_file_system_that_forgets_is_named() {
        let of = |kind| judge_file_system("disk", Path::new("/x"), kind).map(|finding| finding.found);
        assert_eq!(of("NFS").as_deref(), Some("/x is on NFS"));
        assert_eq!(judge_file_system("temporary", Path::new("/tmp"), "tmpfs"), None);
    }
}
