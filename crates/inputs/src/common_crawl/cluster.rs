//! Searches `cluster.idx`, which has the first line of each block of the index, in order. A line
//! has the URL key and the time, then, separated by tabs, the block's file, offset, length, and
//! number.

use urlkey::KeyRange;
use warc::Input;

use super::{CrawlError, read_exact};

/// Bytes per read while searching: some lines.
const STEP_BYTES: usize = 4 << 10;

/// Bytes per read while listing consecutive blocks.
const RUN_BYTES: usize = 64 << 10;

/// Limit of the length of a line. A URL key is about as long as its URL. Common Crawl's URLs have
/// at most 2,048 bytes; indexes of others contain longer ones.
const LINE_BYTES_MAX: usize = 1 << 20;

/// A block of the index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// Name of the file that contains it: `cdx-00000.gz`.
    pub file: String,
    /// Offset of the block in bytes.
    pub offset: u64,
    /// Length of the block in bytes.
    pub length: u64,
}

/// Returns the blocks that may contain lines with keys in `ranges`, which must be ascending and
/// disjoint. `address` is that of `input`, for errors.
///
/// # Errors
/// [`CrawlError::Read`], and [`CrawlError::Index`] if a line is invalid.
pub fn blocks(input: &dyn Input, address: &str, ranges: &[KeyRange]) -> Result<Vec<Block>, CrawlError> {
    let lines = Lines::open(input, address)?;
    let mut blocks: Vec<Block> = Vec::new();
    for range in ranges {
        let mut at = lines.last_before(&range.start)?;
        let mut run = Vec::new();
        while let Some((line, next)) = lines.next(at, &mut run)? {
            let (key, block) = lines.parse(&line, at)?;
            if key.as_str() >= range.end.as_str() {
                break;
            }
            if !blocks.contains(&block) {
                blocks.push(block);
            }
            at = next;
        }
    }
    Ok(blocks)
}

/// Finds lines of the file by offset.
struct Lines<'a> {
    input: &'a dyn Input,
    address: &'a str,
    size: u64,
}

impl<'a> Lines<'a> {
    fn open(input: &'a dyn Input, address: &'a str) -> Result<Lines<'a>, CrawlError> {
        let size = input.size().map_err(|source| CrawlError::Read {
            address: address.to_owned(),
            offset: 0,
            source,
        })?;
        Ok(Lines { input, address, size })
    }

    /// Returns the line at `at` without its end, and the offset of the next one; `None` at the end
    /// of the file. `run` contains bytes already read, from `at` to `at + run.len()`.
    fn next(&self, at: u64, run: &mut Vec<u8>) -> Result<Option<(Vec<u8>, u64)>, CrawlError> {
        self.line(at, run, RUN_BYTES)
    }

    fn line(&self, at: u64, run: &mut Vec<u8>, step: usize) -> Result<Option<(Vec<u8>, u64)>, CrawlError> {
        let mut searched = 0;
        loop {
            if let Some(end) = run[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = run.split_off(searched + end + 1);
                let mut line = std::mem::replace(run, rest);
                let next = at + line.len() as u64;
                line.pop();
                return Ok(Some((line, next)));
            }
            searched = run.len();
            let read_to = at + run.len() as u64;
            let left = self.size.saturating_sub(read_to);
            if left == 0 {
                // The last line need not have a line end.
                let line = std::mem::take(run);
                return Ok((!line.is_empty()).then_some((line, self.size)));
            }
            if run.len() > LINE_BYTES_MAX {
                return Err(self.wrong(at, format!("a line of more than {LINE_BYTES_MAX} bytes")));
            }
            let more = usize::try_from(left).unwrap_or(usize::MAX).min(step);
            run.extend(read_exact(self.input, self.address, read_to, more)?);
        }
    }

    /// Returns the offset of the last line whose key is before `key`, or 0. Captures with `key` are
    /// in its block or after it.
    fn last_before(&self, key: &str) -> Result<u64, CrawlError> {
        // Invariant: the line at `low` is before `key`, or the first one; every line that begins at
        // or after `high` is not before `key`.
        let (mut low, mut high) = (0, self.size);
        while high > low + 1 {
            let middle = low + (high - low) / 2;
            // The first line that begins after `middle - 1`.
            let mut run = Vec::new();
            let begins = self.line(middle - 1, &mut run, STEP_BYTES)?.map(|(_, next)| next);
            let line = match begins {
                Some(begins) if begins < high => self
                    .line(begins, &mut run, STEP_BYTES)?
                    .map(|(line, _)| (begins, line)),
                _ => None,
            };
            match line {
                Some((begins, line)) if self.parse(&line, begins)?.0.as_str() < key => low = begins,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    fn parse(&self, line: &[u8], at: u64) -> Result<(String, Block), CrawlError> {
        let wrong = || self.wrong(at, format!("{:?}", shown(line)));
        let text = std::str::from_utf8(line).map_err(|_| wrong())?;
        let mut fields = text.trim_end_matches('\r').split('\t');
        let mut field = || fields.next().ok_or_else(wrong);
        let (first, file, offset, length) = (field()?, field()?, field()?, field()?);
        let is_file_name = !file.is_empty() && !file.contains(['/', '\\']) && file != "..";
        let (key, _time) = first
            .rsplit_once(' ')
            .filter(|_| is_file_name)
            .ok_or_else(wrong)?;
        let block = Block {
            file: file.to_owned(),
            offset: offset.parse().map_err(|_| wrong())?,
            length: length.parse().map_err(|_| wrong())?,
        };
        Ok((key.to_owned(), block))
    }

    fn wrong(&self, offset: u64, found: String) -> CrawlError {
        CrawlError::Index {
            address: self.address.to_owned(),
            offset,
            found,
            expected: "a URL key and a time, a file, an offset and a length, separated by tabs",
        }
    }
}

/// Returns the beginning of a line, for an error.
pub(crate) fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: &str, end: &str) -> KeyRange {
        KeyRange {
            start: start.to_owned(),
            end: end.to_owned(),
        }
    }

    fn file(keys: &[String]) -> Vec<u8> {
        let lines = keys.iter().enumerate().map(|(n, key)| {
            format!(
                "{key} 20240520000000\tcdx-{:05}.gz\t{}\t{}\t{n}\n",
                n / 3,
                n * 10,
                n + 1
            )
        });
        lines.collect::<String>().into_bytes()
    }

    /// Returns the blocks that may have keys of the range: from the last that begins before it to
    /// the last that begins in it.
    fn model(keys: &[String], range: &KeyRange) -> Vec<u64> {
        let first = keys.iter().rposition(|key| *key < range.start).unwrap_or(0);
        let blocks = (first..keys.len()).take_while(|n| keys[*n] < range.end);
        blocks.map(|n| n as u64 * 10).collect()
    }

    proptest! {
        #[test]
        fn blocks_are_those_of_a_plain_search(
            mut keys in proptest::collection::vec("[a-d]{1,3}\\)/[a-d]{0,40}", 0..60),
            start in "[a-d]{1,3}",
            longer in "[a-d]{0,2}",
        ) {
            keys.sort();
            let range = range(&start, &format!("{start}{longer}~"));
            let found = blocks(&file(&keys), "cluster.idx", std::slice::from_ref(&range)).expect("blocks");
            let offsets: Vec<u64> = found.iter().map(|block| block.offset).collect();
            prop_assert_eq!(offsets, model(&keys, &range));
        }
    }

    #[test]
    fn a_block_of_two_ranges_comes_once() {
        let keys: Vec<String> = ["a)/", "b)/", "m)/"].map(str::to_owned).into();
        let found = blocks(
            &file(&keys),
            "x",
            &[range("c", "d"), range("e", "f"), range("n", "o")],
        );
        let offsets: Vec<u64> = found.expect("blocks").iter().map(|block| block.offset).collect();
        assert_eq!(offsets, [10, 20]);
    }

    #[test]
    fn what_is_no_index_is_told_with_its_place() {
        for wrong in [
            "<!DOCTYPE html>\n",
            "a)/ 2024\tcdx-0.gz\tx\t1\t0\n",
            "a)/ 2024\t../x\t1\t1\t0\n",
            "\n\n\n",
        ] {
            let error = blocks(
                &wrong.as_bytes().to_vec(),
                "https://a.example/cluster.idx",
                &[range("", "~")],
            );
            let error = error.expect_err("no index").to_string();
            assert!(error.starts_with("https://a.example/cluster.idx at "), "{error}");
        }
        assert_eq!(blocks(&Vec::new(), "x", &[range("a", "b")]).expect("nothing"), []);
    }
}
