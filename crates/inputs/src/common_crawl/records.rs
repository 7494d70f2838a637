//! Fetches records by their positions in the files of a crawl.

use std::collections::BTreeMap;
use std::io::Write;

use super::block::Line;
use super::crawl::Crawl;
use super::{CrawlError, Open, read_exact};

/// Records of a file with less than this between them are read at once, because one more request
/// takes longer.
const GAP_BYTES: u64 = 64 << 10;

/// Limit of bytes read at once, unless a single record is longer.
const RUN_BYTES_MAX: u64 = 8 << 20;

/// Limit of the length of a record. Common Crawl cuts captures at 1 MiB (5 MiB since 2025); other
/// crawls keep films.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// The first bytes of a gzip member (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// The result of fetching records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FetchReport {
    /// Number of records written.
    pub records: u64,
    /// Bytes of these records.
    pub bytes: u64,
}

/// Records of one file that are read at once.
struct Run {
    address: String,
    offset: u64,
    end: u64,
    /// Offset and length of each.
    records: Vec<(u64, u64)>,
}

/// Writes the records of `lines` to `out`, in the order of files and offsets. At most `connections`
/// ranges are read at a time. Before each round of them, `should_continue` gets the counts so far and
/// returns whether to continue.
///
/// # Errors
/// [`CrawlError`]; some records may have been written already.
pub fn fetch(
    crawl: &Crawl,
    lines: &[Line],
    open: &Open<'_>,
    connections: usize,
    out: &mut dyn Write,
    should_continue: &mut dyn FnMut(FetchReport) -> bool,
) -> Result<FetchReport, CrawlError> {
    let mut fetched = FetchReport::default();
    for round in runs(crawl, lines)?.chunks(connections.max(1)) {
        if !should_continue(fetched) {
            return Err(CrawlError::Stopped);
        }
        let read: Vec<Result<Vec<u8>, CrawlError>> = std::thread::scope(|scope| {
            let reading: Vec<_> = round
                .iter()
                .map(|run| scope.spawn(move || read_run(run, open)))
                .collect();
            let ended = reading.into_iter().map(|thread| thread.join());
            ended
                .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for (run, bytes) in round.iter().zip(read) {
            let bytes = bytes?;
            for (offset, length) in &run.records {
                let record = record(&bytes, run, *offset, *length)?;
                out.write_all(record).map_err(CrawlError::Output)?;
                fetched.records += 1;
                fetched.bytes += length;
            }
        }
    }
    Ok(fetched)
}

/// Returns the ranges to read, without duplicates.
fn runs(crawl: &Crawl, lines: &[Line]) -> Result<Vec<Run>, CrawlError> {
    let mut by_file: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for line in lines {
        by_file
            .entry(&line.path)
            .or_default()
            .push((line.offset, line.length));
    }
    let mut runs: Vec<Run> = Vec::new();
    for (path, mut records) in by_file {
        records.sort_unstable();
        records.dedup();
        let address = crawl.file(path);
        for (offset, length) in records {
            let end = offset.saturating_add(length);
            if length > RECORD_BYTES_MAX || length < GZIP.len() as u64 {
                return Err(CrawlError::NoRecord {
                    address,
                    offset,
                    length,
                });
            }
            match runs.last_mut() {
                Some(run)
                    if run.address == address
                        && offset <= run.end.saturating_add(GAP_BYTES)
                        && end.saturating_sub(run.offset) <= RUN_BYTES_MAX =>
                {
                    run.end = run.end.max(end);
                    run.records.push((offset, length));
                }
                _ => runs.push(Run {
                    address: address.clone(),
                    offset,
                    end,
                    records: vec![(offset, length)],
                }),
            }
        }
    }
    Ok(runs)
}

fn read_run(run: &Run, open: &Open<'_>) -> Result<Vec<u8>, CrawlError> {
    let input = open(&run.address).map_err(|source| CrawlError::Read {
        address: run.address.clone(),
        offset: run.offset,
        source,
    })?;
    let length = usize::try_from(run.end - run.offset).unwrap_or(usize::MAX);
    read_exact(&*input, &run.address, run.offset, length)
}

/// Returns the bytes of a record in a run.
fn record<'a>(bytes: &'a [u8], run: &Run, offset: u64, length: u64) -> Result<&'a [u8], CrawlError> {
    let begin = usize::try_from(offset - run.offset).unwrap_or(usize::MAX);
    let end = begin.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
    bytes
        .get(begin..end)
        .filter(|record| record.starts_with(&GZIP))
        .ok_or_else(|| CrawlError::NoRecord {
            address: run.address.clone(),
            offset,
            length,
        })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    fn line(path: &str, offset: u64, length: u64) -> Line {
        Line {
            url_key: "a)/".to_owned(),
            timestamp: "2024".to_owned(),
            path: path.to_owned(),
            offset,
            length,
        }
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("compress");
        encoder.finish().expect("compress")
    }

    #[test]
    fn each_record_is_written_once_in_the_order_of_files() {
        let (one, two) = (gzip("one"), gzip("two"));
        let mut first = vec![b'x'; 100];
        first.extend(&one);
        first.extend(vec![b'y'; 200_000]);
        let far = first.len() as u64;
        first.extend(&two);
        let files = [
            ("https://cc/a.warc.gz", first),
            ("https://cc/b.warc.gz", two.clone()),
        ];
        let open = |address: &str| -> io::Result<Arc<dyn warc::Input>> {
            let found = files.iter().find(|(known, _)| *known == address);
            let file = found.ok_or(io::ErrorKind::NotFound)?;
            Ok(Arc::new(file.1.clone()))
        };
        let crawl = Crawl::new("https://cc", "X").expect("a name");
        let lines = [
            line("b.warc.gz", 0, two.len() as u64),
            line("a.warc.gz", far, two.len() as u64),
            line("a.warc.gz", 100, one.len() as u64),
            line("a.warc.gz", 100, one.len() as u64),
        ];
        let mut out = Vec::new();
        let fetched = fetch(&crawl, &lines, &open, 2, &mut out, &mut |_| true).expect("records");
        assert_eq!(out, [one.clone(), two.clone(), two.clone()].concat());
        assert_eq!((fetched.records, fetched.bytes), (3, out.len() as u64));

        for (wrong, said) in [
            (
                line("a.warc.gz", 0, 50),
                "https://cc/a.warc.gz at 0: the index lists a gzip member",
            ),
            (line("c.warc.gz", 7, 50), "read https://cc/c.warc.gz at 7: "),
            (line("b.warc.gz", 0, 5_000), "read https://cc/b.warc.gz at 0: "),
            (
                line("b.warc.gz", 0, 1),
                "https://cc/b.warc.gz at 0: the index lists a gzip member of 1 bytes",
            ),
        ] {
            let error = fetch(&crawl, &[wrong], &open, 2, &mut Vec::new(), &mut |_| true);
            let error = error.expect_err("no record").to_string();
            assert!(error.starts_with(said), "{error}");
        }
        let stopped = fetch(&crawl, &lines, &open, 2, &mut Vec::new(), &mut |_| false);
        assert!(matches!(stopped, Err(CrawlError::Stopped)));
    }
}
