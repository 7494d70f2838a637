//! Format detection by content for the files of a directory.
//!
//! The directory is opened when its first file is read, by the names that led the walk there. A
//! file is read only if it is regular and still the listed one, with the same length and time.
//! Opening follows no link and does not block on a pipe. Access times stay unchanged where the
//! system permits it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::{Magic, Scan};
use crate::attributes::{Attributes, Entry, Kind};
use crate::diff::Sniffer;
use crate::format::Format;
use crate::magic::{self, HEAD_BYTES};
use crate::walk::{Dir, Handle, stat_at};

/// Files of one directory.
pub(super) struct Content<'a> {
    scan: &'a Scan,
    dir: &'a Arc<Dir>,
    handle: Option<Result<Handle, Errno>>,
}

impl<'a> Content<'a> {
    pub(super) fn new(scan: &'a Scan, dir: &'a Arc<Dir>) -> Content<'a> {
        Content {
            scan,
            dir,
            handle: None,
        }
    }

    fn handle(&mut self) -> Result<Handle, Errno> {
        let open = || {
            let root = self.scan.root.lock().clone().ok_or(Errno::BADF)?;
            self.scan.handles.reopen_below(&root, self.dir)
        };
        self.handle.get_or_insert_with(open).clone()
    }

    fn head(&mut self, entry: &Entry) -> Result<Option<Vec<u8>>, Errno> {
        let file = open(&self.handle()?, &entry.name)?;
        let looked = stat_at(&file, b"")?;
        let mut now = looked.attributes(entry.attributes.id.volume, &entry.name, None);
        // The listed attributes must still apply to the open file.
        if !now.keep_content(&Attributes {
            is_sniffed: true,
            ..entry.attributes.clone()
        }) {
            return Ok(None);
        }
        let file = File::from(file);
        let mut head = vec![0; HEAD_BYTES];
        let mut length = 0;
        while length < head.len() {
            match file.read_at(&mut head[length..], length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        head.truncate(length);
        Ok(Some(head))
    }
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

fn open(dir: &Handle, name: &[u8]) -> Result<std::os::fd::OwnedFd, Errno> {
    // Only the owner and the administrator can read a file without changing its access time.
    #[cfg(target_os = "linux")]
    match openat(dir, name, FLAGS | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => {}
        opened => return opened,
    }
    openat(dir, name, FLAGS, Mode::empty())
}

impl Sniffer for Content<'_> {
    fn wants(&self, file: &Attributes) -> bool {
        let is_wanted = match self.scan.magic {
            Magic::Off => false,
            Magic::Unnamed => file.format.says_nothing(),
            Magic::All => true,
        };
        is_wanted && file.kind == Kind::File && file.size_bytes > 0 && !file.is_sniffed
    }

    fn sniff(&mut self, entry: &Entry) -> Option<Format> {
        // The next scan reads the remaining files.
        if self.scan.shared.stop.load(Relaxed) {
            return None;
        }
        match self.head(entry) {
            Ok(head) => Some(magic::choose_format(
                entry.attributes.format,
                magic::detect(&head?),
            )),
            Err(error) => {
                let name = String::from_utf8_lossy(&entry.name);
                tracing::debug!(%error, %name, "cannot read the start of a file");
                None
            }
        }
    }
}
