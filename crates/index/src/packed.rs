//! Rows compressed with a dictionary that is trained for the archive.
//!
//! Rows of links are short and alike: hosts, paths and anchors recur across rows but rarely within
//! one. The first epoch with enough of them trains a dictionary. It is stored in table `meta` in
//! the same batch as the first rows that use it. Earlier rows stay uncompressed. Only a purge
//! removes it, after uncompressing all rows.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | 2; with any other first byte, the row is not packed |
//! | varint | length of the row |
//! | n | the row, as a zstd frame with the dictionary |

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zstd::zstd_safe::CParameter;

use crate::codec::{self, Corrupt, Reader};

/// First byte of a packed row. No unpacked row begins with it.
pub(crate) const PACKED: u8 = 2;

/// Longest row, in bytes, that is unpacked. The maximum of 10,000 links per page takes at most 40
/// MiB.
const ROW_BYTES_MAX: u64 = 256 << 20;

/// Size of a dictionary: the size that zstd suggests for rows of some hundred bytes.
const DICTIONARY_BYTES: usize = 64 << 10;

/// Minimum and maximum size of the training sample, in bytes. A smaller sample is not worth a
/// dictionary, and a larger one does not improve it.
const SAMPLE_BYTES_MIN: usize = if cfg!(test) { 64 << 10 } else { 1 << 20 };
const SAMPLE_BYTES_MAX: usize = 4 << 20;

/// Compression level: rows are written much more often than they are read.
const LEVEL: i32 = 1;

/// A dictionary of the common parts of rows.
#[derive(Debug)]
pub(crate) struct Dictionary {
    /// Distinguishes the dictionaries of one process.
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

    /// Trains a dictionary from rows, if they have at least [`SAMPLE_BYTES_MIN`] bytes.
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
            // The rows have nothing in common, so they are stored uncompressed.
            Err(error) => {
                tracing::debug!(%error, "cannot train a dictionary for links");
                None
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Compresses the rows of one epoch.
pub(crate) struct Packer(Option<zstd::bulk::Compressor<'static>>);

impl Packer {
    pub(crate) fn new(dictionary: Option<&Dictionary>) -> Packer {
        let packer = dictionary.map(|dictionary| {
            let mut packer = zstd::bulk::Compressor::with_dictionary(LEVEL, dictionary.bytes())?;
            // Both are known, so the frame header can omit them: this saves 6 bytes per row.
            packer.set_parameter(CParameter::DictIdFlag(false))?;
            packer.set_parameter(CParameter::ContentSizeFlag(false))?;
            Ok::<_, std::io::Error>(packer)
        });
        // Without memory for a compressor, rows are stored uncompressed.
        Packer(packer.and_then(Result::ok))
    }

    /// Appends the row to `out`, packed if that is shorter.
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

/// Returns the row that was given to [`Packer::pack`].
pub(crate) fn unpack<'r>(dictionary: Option<&Dictionary>, row: &'r [u8]) -> Result<Cow<'r, [u8]>, Corrupt> {
    let mut r = Reader::new(row);
    if r.u8()? != PACKED {
        return Ok(Cow::Borrowed(row));
    }
    let dictionary = dictionary.ok_or(Corrupt("row is packed, but there is no dictionary"))?;
    let length = r.varint()?;
    if length > ROW_BYTES_MAX {
        return Err(Corrupt("packed row is too long"));
    }
    let plain =
        decompress(dictionary, r.rest(), length as usize).map_err(|_| Corrupt("row cannot be unpacked"))?;
    if plain.len() as u64 != length {
        return Err(Corrupt("packed row has the wrong length"));
    }
    Ok(Cow::Owned(plain))
}

fn decompress(dictionary: &Dictionary, packed: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    thread_local! {
        /// Decompressor with the id of its dictionary. It is reused, because creating one takes
        /// longer than unpacking most rows.
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
                Err(Corrupt("row is packed, but there is no dictionary"))
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
