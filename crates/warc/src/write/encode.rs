//! The compressors behind the writer, each reused from record to record.

use std::io::{self, Write};

use flate2::{Compress, Crc, FlushCompress, Status};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::container::DICTIONARY_MAGIC;
use crate::write::Compression;

pub(crate) enum Encoder {
    Plain,
    Gzip(Box<Compress>),
    Zstd(Box<Compressor<'static>>),
    Lz4,
}

/// Member header without name and time, so that equal records are equal bytes; system 255 is "unknown".
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

impl Encoder {
    /// The compressor, and the bytes that begin the file.
    pub(crate) fn new(compression: Compression) -> io::Result<(Encoder, Vec<u8>)> {
        Ok(match compression {
            Compression::Plain => (Encoder::Plain, Vec::new()),
            Compression::Gzip { level } => {
                let level = flate2::Compression::new(level.min(9));
                (Encoder::Gzip(Box::new(Compress::new(level, false))), Vec::new())
            }
            Compression::Zstd { level, dictionary } => {
                let mut compressor = match &dictionary {
                    Some(dictionary) => Compressor::with_dictionary(level, dictionary)?,
                    None => Compressor::new(level)?,
                };
                compressor.set_parameter(CParameter::ChecksumFlag(true))?;
                let preamble = match &dictionary {
                    Some(dictionary) => dictionary_frame(dictionary)?,
                    None => Vec::new(),
                };
                (Encoder::Zstd(Box::new(compressor)), preamble)
            }
            Compression::Lz4 => (Encoder::Lz4, Vec::new()),
        })
    }

    /// The stored form of one record, in `into` or, if plain, as it is.
    pub(crate) fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        into.clear();
        match self {
            Encoder::Plain => return Ok(record),
            Encoder::Gzip(compress) => encode_gzip(compress, record, into)?,
            Encoder::Zstd(compressor) => {
                into.resize(zstd::zstd_safe::compress_bound(record.len()), 0);
                let written = compressor.compress_to_buffer(record, into.as_mut_slice())?;
                into.truncate(written);
            }
            Encoder::Lz4 => encode_lz4(record, into)?,
        }
        Ok(into)
    }
}

fn encode_gzip(compress: &mut Compress, record: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
    into.extend_from_slice(&GZIP_HEADER);
    compress.reset();
    loop {
        let left = &record[compress.total_in() as usize..];
        // An estimate of what is to come; the loop goes on if it is more.
        into.reserve(left.len() / 2 + 256);
        if compress.compress_vec(left, into, FlushCompress::Finish)? == Status::StreamEnd {
            break;
        }
    }
    let mut crc = Crc::new();
    crc.update(record);
    into.extend_from_slice(&crc.sum().to_le_bytes());
    into.extend_from_slice(&crc.amount().to_le_bytes());
    Ok(())
}

fn encode_lz4(record: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
    let info = FrameInfo::new()
        .block_mode(BlockMode::Linked)
        .block_size(BlockSize::Max256KB)
        .content_size(Some(record.len() as u64))
        .content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, into);
    encoder.write_all(record)?;
    encoder.finish().map_err(io::Error::other)?;
    Ok(())
}

/// The first frame of a `.warc.zst` with a dictionary: skippable, the dictionary in it compressed.
fn dictionary_frame(dictionary: &[u8]) -> io::Result<Vec<u8>> {
    let content = zstd::bulk::compress(dictionary, 19)?;
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    let mut frame = DICTIONARY_MAGIC.to_le_bytes().to_vec();
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&content);
    Ok(frame)
}
