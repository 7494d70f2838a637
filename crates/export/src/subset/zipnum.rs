//! Writes ZipNum: a sorted index in gzip members with a fixed number of lines, and a second index
//! of the members.

use std::io::{self, Write};

use cdx::{CdxRow, cdxj_line};
use flate2::Compression;
use flate2::write::GzEncoder;
use inputs::digest_text;
use sha2::{Digest, Sha256};

use super::hashing_writer::HashingWriter;

/// Lines per member, as in the indexes of Common Crawl and of other tools.
const LINES: usize = 3000;

/// Position of a member.
pub(super) struct Block {
    /// Counted from 1.
    pub(super) number: u64,
    /// Key and time of its first line.
    pub(super) place: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Digest of the member (`sha256:<hex>`).
    pub(super) digest: String,
}

/// Writes members to `out`, and the result of `line` for each to `second`.
pub(super) struct ZipNum<W, S> {
    out: HashingWriter<W>,
    second: S,
    line: fn(&Block) -> String,
    blocks: u64,
    lines: usize,
    place: String,
    block: Vec<u8>,
}

impl<W: Write, S: Write> ZipNum<W, S> {
    pub(super) fn new(out: W, second: S, line: fn(&Block) -> String) -> ZipNum<W, S> {
        ZipNum {
            out: HashingWriter::new(out),
            second,
            line,
            blocks: 0,
            lines: 0,
            place: String::new(),
            block: Vec::new(),
        }
    }

    /// Adds the next capture. Captures must come in order.
    pub(super) fn push(&mut self, row: &CdxRow) -> io::Result<()> {
        self.push_line(&cdxj_line(row))
    }

    /// Adds the line of the next capture, with its end.
    pub(super) fn push_line(&mut self, line: &str) -> io::Result<()> {
        if self.lines == 0 {
            place_of(line).clone_into(&mut self.place);
        }
        self.block.extend_from_slice(line.as_bytes());
        self.lines += 1;
        match self.lines {
            LINES => self.end_block(),
            _ => Ok(()),
        }
    }

    fn end_block(&mut self) -> io::Result<()> {
        // In memory first: the second index needs the length and the digest of the member.
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        member.write_all(&self.block)?;
        let member = member.finish()?;
        self.blocks += 1;
        let block = Block {
            number: self.blocks,
            place: std::mem::take(&mut self.place),
            offset: self.out.bytes,
            length: member.len() as u64,
            digest: digest_text(&Sha256::digest(&member)),
        };
        self.out.write_all(&member)?;
        self.second.write_all((self.line)(&block).as_bytes())?;
        self.block.clear();
        self.lines = 0;
        Ok(())
    }

    /// Ends the last member. An index without lines is one empty member.
    pub(super) fn finish(mut self) -> io::Result<(W, S)> {
        if self.lines > 0 || self.out.bytes == 0 {
            let is_empty = self.lines == 0;
            if is_empty {
                // The empty member has no first key that the second index could name.
                self.line = |_| String::new();
            }
            self.end_block()?;
        }
        self.out.flush()?;
        self.second.flush()?;
        Ok((self.out.finish().0, self.second))
    }
}

/// Returns key and time of a line: the part before its object.
pub(super) fn place_of(line: &str) -> &str {
    line.split_once(" {").map_or(line, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn line(block: &Block) -> String {
        let Block {
            number,
            place,
            offset,
            length,
            digest,
        } = block;
        format!("{number}\t{place}\t{offset}\t{length}\t{digest}\n")
    }

    fn check(rows: usize) {
        let mut zipnum = ZipNum::new(Vec::new(), Vec::new(), line);
        let mut expected = String::new();
        for number in 0..rows {
            let row = CdxRow {
                url_key: format!("com,example)/{number:06}"),
                timestamp: "20140126200624".to_owned(),
                ..CdxRow::default()
            };
            expected.push_str(&cdxj_line(&row));
            zipnum.push(&row).unwrap();
        }
        let (members, second) = zipnum.finish().unwrap();
        let (mut at, mut found) = (0, String::new());
        let second = String::from_utf8(second).unwrap();
        for (number, line) in (1..).zip(second.lines()) {
            let columns: Vec<&str> = line.split('\t').collect();
            let length: usize = columns[3].parse().unwrap();
            let member = &members[at..at + length];
            let digest = digest_text(&Sha256::digest(member));
            assert_eq!(
                [columns[0], columns[2], columns[4]],
                [&format!("{number}"), &format!("{at}"), &*digest]
            );
            let before = found.len();
            GzDecoder::new(member).read_to_string(&mut found).unwrap();
            assert!(found[before..].starts_with(columns[1]), "{line}");
            assert!(found[before..].lines().count() <= LINES);
            at += length;
        }
        assert_eq!(second.lines().count(), rows.div_ceil(LINES));
        assert_eq!((found, at), (expected, if rows == 0 { 0 } else { members.len() }));
        let mut whole = String::new();
        flate2::read::MultiGzDecoder::new(&members[..])
            .read_to_string(&mut whole)
            .unwrap();
        assert_eq!(whole.lines().count(), rows);
    }

    #[test]
    fn every_block_is_where_the_second_index_says() {
        for rows in [0, 1, LINES - 1, LINES, LINES + 1, 2 * LINES + 7] {
            check(rows);
        }
    }
}
