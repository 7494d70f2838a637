//! Mount points of other file systems, so that the walk does not access one that hangs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Dir, Names};
use crate::attributes::Kind;

/// Mount points below the root of a walk, by the last component of their paths.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    by_name: FxHashMap<Box<[u8]>, Vec<Mount>>,
}

#[derive(Debug)]
struct Mount {
    /// Path below the root.
    path: Vec<u8>,
    /// Whether it is a network or user-space file system, which may hang.
    is_far: bool,
}

/// Prefixes of the types of such file systems.
const FAR: [&str; 12] = [
    "nfs", "cifs", "smb", "fuse", "9p", "ceph", "afs", "autofs", "lustre", "gfs", "ocfs", "beegfs",
];

impl Mounts {
    /// Returns the mount points below a root, as the system lists them; none if the list is not
    /// available.
    pub(crate) fn below(root: &[u8]) -> Mounts {
        Mounts::of_lines(&std::fs::read("/proc/self/mountinfo").unwrap_or_default(), root)
    }

    /// Parses lines of proc_pid_mountinfo(5): the fifth field is the mount point, and the first
    /// field after " - " the type.
    fn of_lines(lines: &[u8], root: &[u8]) -> Mounts {
        let mut mounts = Mounts::default();
        for line in lines.split(|&byte| byte == b'\n') {
            let mut fields = line.split(|&byte| byte == b' ');
            let Some(place) = fields.nth(4) else { continue };
            let kind = fields
                .skip_while(|field| *field != b"-")
                .nth(1)
                .unwrap_or_default();
            let place = unescape(place);
            let prefix = match root {
                b"/" => b"/".to_vec(),
                root => [root, b"/"].concat(),
            };
            let Some(path) = place.strip_prefix(&*prefix) else {
                continue;
            };
            let Some(name) = path
                .rsplit(|&byte| byte == b'/')
                .next()
                .filter(|name| !name.is_empty())
            else {
                continue;
            };
            let is_far = FAR.iter().any(|far| kind.starts_with(far.as_bytes()));
            let mount = Mount {
                path: path.to_vec(),
                is_far,
            };
            mounts.by_name.entry(name.into()).or_default().push(mount);
        }
        mounts
    }

    fn find(&self, parent: &Dir, name: &[u8]) -> Option<&Mount> {
        let mounts = self.by_name.get(name)?;
        let mut path = parent.path();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        // The last mount at a path hides the others.
        mounts.iter().rfind(|mount| mount.path == path)
    }

    /// Returns whether a directory may be opened.
    pub(crate) fn may_enter(&self, parent: &Arc<Dir>, name: &[u8]) -> bool {
        self.find(parent, name).is_none()
    }

    /// Marks names that must not even be stat'ed.
    pub(crate) fn mark(&self, dir: &Dir, names: &mut Names) {
        if self.by_name.is_empty() {
            return;
        }
        let mut start = 0;
        for row in &mut names.rows {
            let name = &names.bytes[start..row.end as usize];
            start = row.end as usize;
            if matches!(row.kind, Kind::Directory | Kind::Unknown) {
                row.is_far = self.find(dir, name).is_some_and(|mount| mount.is_far);
            }
        }
    }
}

/// Decodes octal escapes such as `\040`, which replace separator bytes.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) if byte == b'\\' => {
                out.push(escaped);
                rest = &after[3..];
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = b"\
22 1 0:21 / / rw - ext4 /dev/vda rw
23 22 0:22 / /data/a\\040b rw,relatime shared:1 master:2 - nfs4 server:/x rw
24 22 0:23 / /data/disks/one rw - xfs /dev/sdb rw
25 22 0:24 / /database rw - fuse.sshfs x rw
short line
";

    fn dir(path: &[&[u8]]) -> Dir {
        let mut at = Dir {
            parent: None,
            name: Box::default(),
            id: Default::default(),
            device: 0,
            stamp: Default::default(),
            depth: 0,
            visit: 0,
        };
        for name in path {
            let parent = Some(Arc::new(at));
            at = Dir {
                parent,
                name: (*name).into(),
                id: Default::default(),
                device: 0,
                stamp: Default::default(),
                depth: 0,
                visit: 0,
            };
        }
        at
    }

    #[test]
    fn places_of_mounts_are_found_below_the_root_alone() {
        let mounts = Mounts::of_lines(LINES, b"/data");
        let root = dir(&[]);
        assert!(mounts.find(&root, b"a b").unwrap().is_far);
        assert!(!mounts.find(&dir(&[b"disks"]), b"one").unwrap().is_far);
        assert!(mounts.find(&root, b"one").is_none());
        assert!(mounts.find(&root, b"base").is_none());
        let mut names = Names::default();
        for name in [&b"a b"[..], b"c"] {
            names.push(name, Kind::Directory, 1);
        }
        mounts.mark(&root, &mut names);
        assert_eq!(
            names.iter().map(|listed| listed.is_far).collect::<Vec<_>>(),
            [true, false]
        );
        assert!(
            Mounts::of_lines(LINES, b"/")
                .find(&root, b"database")
                .unwrap()
                .is_far
        );
    }
}
