//! A tree like those of archives: many directories of some dozens of files, a few of thousands,
//! with sizes over many powers of two.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::Context;
use rustix::fs::{Mode, OFlags, Timespec, Timestamps, ftruncate, futimens, mkdirat, openat};

/// A small random generator. The same number of entries gives the same tree.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        // Xorshift64 (Marsaglia 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::CREATE.union(OFlags::WRONLY).union(OFlags::CLOEXEC);
const FORMATS: [&str; 8] = ["warc.gz", "warc.gz", "cdxj", "pdf", "html", "jpg", "txt", "log"];

/// Creates a tree with this many entries, including its root. Files are sparse: they have a size
/// but no blocks.
pub(crate) fn make(root: &Path, entries: u64) -> anyhow::Result<()> {
    std::fs::create_dir_all(root)?;
    let root = openat(rustix::fs::CWD, root, DIRECTORY, Mode::empty())?;
    let mut dice = Dice(88_172_645_463_325_252);
    let now_s = UNIX_EPOCH
        .elapsed()
        .context("the clock is before 1970")?
        .as_secs();
    let mut left = entries.saturating_sub(1);
    let mut number = 0;
    while left > 0 {
        // Crawls, by host, by day.
        let crawl = directory(&root, &format!("crawl-{number:05}"), &mut left)?;
        number += 1;
        for host in 0..20 {
            let host = directory(&crawl, &format!("host-{host:02}.example"), &mut left)?;
            for day in 0..8 {
                let day = directory(&host, &format!("2026-{day:02}"), &mut left)?;
                let files = if dice.below(200) == 0 {
                    5000
                } else {
                    10 + dice.below(40)
                };
                for file in 0..files.min(left) {
                    let format = FORMATS[dice.below(8) as usize];
                    let name = format!("{:08x}-{file:05}.{format}", dice.below(1 << 32));
                    let file = openat(&day, name, NEW, Mode::RUSR | Mode::WUSR)?;
                    // Few files are large: each power of two is rarer than the one below it.
                    let digits = dice.below(8) + dice.below(8) + dice.below(8) + dice.below(8);
                    ftruncate(&file, dice.below(1 << digits.max(1)))?;
                    let time = Timespec {
                        tv_sec: (now_s - dice.below(12 * 365 * 86_400)) as i64,
                        tv_nsec: 0,
                    };
                    futimens(
                        &file,
                        &Timestamps {
                            last_access: time,
                            last_modification: time,
                        },
                    )?;
                }
                left -= files.min(left);
            }
        }
    }
    Ok(())
}

/// Creates a directory of this many empty files. They are not created in the order of their names.
pub(crate) fn make_one_directory(root: &Path, names: u64) -> anyhow::Result<()> {
    std::fs::create_dir_all(root)?;
    let root = openat(rustix::fs::CWD, root, DIRECTORY, Mode::empty())?;
    for number in 0..names {
        // The factor is odd, so no two numbers give the same name.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let format = FORMATS[(number % 8) as usize];
        openat(
            &root,
            format!("{mixed:016x}.{format}"),
            NEW,
            Mode::RUSR | Mode::WUSR,
        )?;
    }
    Ok(())
}

fn directory(parent: &OwnedFd, name: &str, left: &mut u64) -> anyhow::Result<OwnedFd> {
    if *left > 0 {
        mkdirat(parent, name, Mode::RWXU)?;
        *left -= 1;
        return Ok(openat(parent, name, DIRECTORY, Mode::empty())?);
    }
    // No further entries are created in it.
    Ok(openat(parent, ".", DIRECTORY, Mode::empty())?)
}
