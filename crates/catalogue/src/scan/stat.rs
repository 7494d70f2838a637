//! STAT: examines every listed name.

use std::sync::atomic::Ordering::Relaxed;

use pipeline::{Out, StageResult};
use rustix::io::Errno;

use super::Scan;
use super::items::{Examined, ExaminedPiece, Work};
use crate::attributes::{Attributes, Entry, FileId, Kind};
use crate::walk::{Dir, Handle, Listed, Piece, PieceContent, stat_at, target_of};

impl Scan {
    pub(super) fn stat_piece(&self, Work(piece): Work, out: &mut Out<'_, ExaminedPiece>) -> StageResult {
        let Piece { dir, number, found } = piece;
        let found = match found {
            PieceContent::Fault(errno) => Examined::Fault(errno),
            PieceContent::Known => Examined::Known,
            PieceContent::Some { handle, names } => {
                // A missing directory is reported through its parent.
                let looked = names.iter().map(|listed| self.entry(&dir, &handle, &listed));
                Examined::Some(looked.filter_map(Result::ok).collect())
            }
            PieceContent::Names {
                handle,
                names,
                is_last,
            } => {
                let mut entries = Vec::with_capacity(names.len());
                let mut faults = Vec::new();
                for listed in names.iter() {
                    match self.entry(&dir, &handle, &listed) {
                        Ok(entry) => entries.push(entry),
                        Err(Errno::NOENT) => {
                            self.shared.vanished.fetch_add(1, Relaxed);
                        }
                        Err(fault) => faults.push((listed.name.into(), fault)),
                    }
                }
                self.shared.entries.fetch_add(names.len() as u64, Relaxed);
                Examined::Entries {
                    entries,
                    faults,
                    is_last,
                }
            }
        };
        out.send(ExaminedPiece { dir, number, found })
    }

    fn entry(&self, dir: &Dir, handle: &Handle, listed: &Listed<'_>) -> Result<Entry, Errno> {
        let name: Box<[u8]> = listed.name.into();
        if listed.is_far {
            // A stat call might hang forever.
            let id = FileId {
                volume: dir.id.volume,
                inode: listed.inode,
                born_ns: 0,
            };
            let attributes = Attributes {
                id,
                kind: Kind::Directory,
                links: 1,
                ..Attributes::default()
            };
            return Ok(Entry { name, attributes });
        }
        let looked = stat_at(handle, &name)?;
        let volume = if looked.device == dir.device {
            dir.id.volume
        } else {
            // A mount point has another file system. The walk, if it enters, must find the same
            // number.
            self.volume_of_mount(handle, &name, looked.device)?
        };
        let target = match looked.kind() {
            Kind::Symlink => Some(target_of(handle, &name)?),
            _ => None,
        };
        Ok(Entry {
            attributes: looked.attributes(volume, &name, target),
            name,
        })
    }

    fn volume_of_mount(&self, dir: &Handle, name: &[u8], device: u64) -> Result<u32, Errno> {
        match self.handles.open(dir, name) {
            Ok(mounted) => self.volume(device, &mounted),
            // A file mounted over another one.
            Err(_) => self.volume_named(&format!("device {device:x}")),
        }
    }
}
