//! Rows packed under a dictionary of the archive's own.
//!
//! Rows of links are short and alike: hosts, paths and anchors come again in every one of them, but rarely within one.
//! The first epoch with enough of them trains a dictionary, which is kept in table `meta` from the same batch on that
//! holds the first rows packed under it, and never replaced. Rows before it stay as they are.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 2; any other first byte: the row is not packed |
//! | varint | length of the row |
//! | n | the row, as a frame of zstd under the dictionary |

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zstd::zstd_safe::CParameter;

use crate::codec::{self, Corrupt, Reader};

/// First byte of a packed row; no row that is packed begins with it.
pub(crate) const PACKED: u8 = 2;

/// Longest row, in bytes, that is unpacked: 10,000 links, the most that a page has, fill 40 MiB at most.
const ROW_BYTES_MAX: u64 = 256 << 20;

/// Size of a dictionary: what zstd itself finds sensible for rows of some hundred bytes.
const DICTIONARY_BYTES: usize = 64 << 10;

/// Rows that a dictionary is trained from, at least and at most. Fewer would not pay for it; more make it no better.
const SAMPLE_BYTES_MIN: usize = if cfg!(test) { 64 << 10 } else { 1 << 20 };
const SAMPLE_BYTES_MAX: usize = 4 << 20;

/// Level of compression: rows are written much more often than they are read.
const LEVEL: i32 = 1;

/// What rows of an archive have in common.
#[derive(Debug)]
pub(crate) struct Dictionary {
    /// Tells dictionaries of one process apart.
    id: u64,
    bytes: Vec<u8>,
}

impl Dictionary {
    pub(crate) fn new(bytes: Vec<u8>) -> Arc<Dictionary> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Dictionary {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            bytes,
        })
    }

    /// A dictionary for rows like these, if they are enough.
    pub(crate) fn train<'r>(rows: impl Iterator<Item = &'r [u8]>) -> Option<Arc<Dictionary>> {
        let (mut sample, mut sizes) = (Vec::new(), Vec::new());
        for row in rows {
            if sample.len() + row.len() > SAMPLE_BYTES_MAX {
                break;
            }
            sample.extend_from_slice(row);
            sizes.push(row.len());
        }
        if sample.len() < SAMPLE_BYTES_MIN {
            return None;
        }
        let trained = zstd::dict::from_continuous(&sample, &sizes, DICTIONARY_BYTES);
        match trained {
            Ok(bytes) => Some(Dictionary::new(bytes)),
            // Rows without anything in common: they are kept as they are.
            Err(error) => {
                tracing::debug!(%error, "no dictionary for links");
                None
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Packs rows of one epoch.
pub(crate) struct Packer(Option<zstd::bulk::Compressor<'static>>);

impl Packer {
    pub(crate) fn new(dictionary: Option<&Dictionary>) -> Packer {
        let packer = dictionary.map(|dictionary| {
            let mut packer = zstd::bulk::Compressor::with_dictionary(LEVEL, dictionary.bytes())?;
            // Both are known without the frame's head: 6 bytes of it in every row.
            packer.set_parameter(CParameter::DictIdFlag(false))?;
            packer.set_parameter(CParameter::ContentSizeFlag(false))?;
            Ok::<_, std::io::Error>(packer)
        });
        // Without memory for it, rows are kept as they are.
        Packer(packer.and_then(Result::ok))
    }

    /// Appends the row as it is to be written: packed, where that is shorter.
    pub(crate) fn pack(&mut self, row: &[u8], out: &mut Vec<u8>) {
        let packed = self.0.as_mut().and_then(|zstd| zstd.compress(row).ok());
        match packed {
            Some(packed) if packed.len() + 4 < row.len() => {
                out.push(PACKED);
                codec::put_varint(out, row.len() as u64);
                out.extend_from_slice(&packed);
            }
            _ => out.extend_from_slice(row),
        }
    }
}

/// The row as it was before [`Packer::pack`].
pub(crate) fn unpack<'r>(dictionary: Option<&Dictionary>, row: &'r [u8]) -> Result<Cow<'r, [u8]>, Corrupt> {
    let mut r = Reader::new(row);
    if r.u8()? != PACKED {
        return Ok(Cow::Borrowed(row));
    }
    let dictionary = dictionary.ok_or(Corrupt("packed, but there is no dictionary"))?;
    let length = r.varint()?;
    if length > ROW_BYTES_MAX {
        return Err(Corrupt("packed row too long"));
    }
    let plain =
        decompress(dictionary, r.rest(), length as usize).map_err(|_| Corrupt("row does not unpack"))?;
    if plain.len() as u64 != length {
        return Err(Corrupt("packed row of another length"));
    }
    Ok(Cow::Owned(plain))
}

fn decompress(dictionary: &Dictionary, packed: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    thread_local! {
        /// Making one takes longer than most rows do; with the number of the dictionary that it has read.
        static UNPACKER: RefCell<Option<(u64, zstd::bulk::Decompressor<'static>)>> = const { RefCell::new(None) };
    }
    UNPACKER.with_borrow_mut(|unpacker| {
        let made = match unpacker.take() {
            Some((id, made)) if id == dictionary.id => made,
            _ => zstd::bulk::Decompressor::with_dictionary(dictionary.bytes())?,
        };
        let (_, made) = unpacker.insert((dictionary.id, made));
        made.decompress(packed, length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<u8>> {
        let row = |n: u64| {
            let mut row = vec![1];
            for link in 0..20 {
                let text = format!(
                    "org,example{})/path/{}?page=Read more",
                    (n * 7 + link) % 97,
                    n * link
                );
                row.extend_from_slice(text.as_bytes());
            }
            row
        };
        (0..200).map(row).collect()
    }

    fn pack(packer: &mut Packer, row: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        packer.pack(row, &mut out);
        out
    }

    #[test]
    fn rows_come_back_and_are_smaller() {
        let rows = rows();
        let dictionary = Dictionary::train(rows.iter().map(Vec::as_slice)).expect("enough rows");
        let mut packer = Packer::new(Some(&dictionary));
        let other = Dictionary::new(dictionary.bytes().to_vec());
        let (mut before, mut after) = (0, 0);
        for row in rows {
            let packed = pack(&mut packer, &row);
            (before, after) = (before + row.len(), after + packed.len());
            for dictionary in [&dictionary, &other] {
                assert_eq!(unpack(Some(dictionary), &packed).as_deref(), Ok(row.as_slice()));
            }
            assert_eq!(
                unpack(None, &packed),
                Err(Corrupt("packed, but there is no dictionary"))
            );
        }
        assert!(after * 2 < before, "{before} bytes became {after}");
    }

    #[test]
    fn few_rows_make_no_dictionary() {
        assert!(Dictionary::train(rows()[..10].iter().map(Vec::as_slice)).is_none());
        let row = vec![1, 7, 7];
        assert_eq!(pack(&mut Packer::new(None), &row), row);
        assert_eq!(unpack(None, &row).as_deref(), Ok(row.as_slice()));
    }

    #[test]
    fn damaged_rows_are_errors() {
        let rows = rows();
        let dictionary = Dictionary::train(rows.iter().map(Vec::as_slice));
        let packed = pack(&mut Packer::new(dictionary.as_deref()), &rows[3]);
        for end in 0..packed.len() {
            assert!(unpack(dictionary.as_deref(), &packed[..end]).is_err());
        }
        let mut long = vec![PACKED];
        codec::put_varint(&mut long, u64::MAX);
        assert!(unpack(dictionary.as_deref(), &long).is_err());
    }
}
