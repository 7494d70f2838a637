//! A synthetic crawl, compressed and plain, with request, response and metadata for each page, like
//! typical crawls.

use std::path::{Path, PathBuf};

use anyhow::bail;
use warc::{Compression, Draft, Entry, Reader, ReaderSettings, Writer};

/// 2020-01-01.
const DATE_MS: i64 = 1_577_836_800_000;

/// Writes about this many bytes of records to a gzip file and to a plain one.
pub(super) fn make(work: &Path, bytes: u64) -> anyhow::Result<[PathBuf; 2]> {
    let paths = [work.join("synthetic.warc.gz"), work.join("synthetic.warc")];
    let mut gzip = Writer::create(&paths[0], Compression::GZIP)?;
    let mut plain = Writer::create(&paths[1], Compression::Plain)?;
    let mut random = Random(0x5eed);
    let words: Vec<String> = (0..20_000).map(|_| random.word()).collect();
    let mut page = 0;
    while plain.position() < bytes {
        for draft in drafts(page, &words, &mut random) {
            gzip.write(&draft)?;
            plain.write(&draft)?;
        }
        page += 1;
    }
    gzip.finish()?;
    plain.finish()?;
    println!(
        "{page} synthetic pages, {} and {} bytes",
        size(&paths[0])?,
        size(&paths[1])?
    );
    Ok(paths)
}

/// Writes a given file's records both compressed one by one and uncompressed.
pub(super) fn both_forms_of(file: &Path, work: &Path) -> anyhow::Result<[PathBuf; 2]> {
    let paths = [work.join("given.warc.gz"), work.join("given.warc")];
    let mut gzip = Writer::create(&paths[0], Compression::GZIP)?;
    let mut plain = Writer::create(&paths[1], Compression::Plain)?;
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = u64::MAX;
    let mut reader = Reader::open(file, settings)?;
    let mut records = 0;
    while let Some(entry) = reader.next_entry()? {
        if let Entry::Record(record) = entry {
            let draft = Draft::from(record);
            gzip.write(&draft)?;
            plain.write(&draft)?;
            records += 1;
        }
    }
    if records == 0 {
        bail!("{} contains no records", file.display());
    }
    gzip.finish()?;
    plain.finish()?;
    println!(
        "{records} records of {}, {} and {} bytes",
        file.display(),
        size(&paths[0])?,
        size(&paths[1])?
    );
    Ok(paths)
}

fn size(path: &Path) -> anyhow::Result<u64> {
    Ok(path.metadata()?.len())
}

fn drafts(page: u64, words: &[String], random: &mut Random) -> [Draft; 3] {
    let url = format!(
        "https://www.site-{}.example/{}/{page}.html",
        page % 997,
        words[random.zipf(words.len())]
    );
    let date_ms = DATE_MS + page as i64 * 1234;
    let request = format!(
        "GET /{page}.html HTTP/1.1\r\nHost: www.site-{}.example\r\nUser-Agent: weft\r\nAccept: text/html,*/*;q=0.8\r\n\r\n",
        page % 997
    );
    // Most pages have some 10 KB, a few are ten times as long.
    let paragraphs = 8 + random.below(40) + if random.below(12) == 0 { 300 } else { 0 };
    let html = html(paragraphs, words, random);
    let header = format!(
        "HTTP/1.1 200 OK\r\nDate: Wed, 01 Jan 2020 00:00:00 GMT\r\nServer: made-up\r\n\
         Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        html.len()
    );
    let response = [header.into_bytes(), html.into_bytes()].concat();
    let metadata = format!(
        "fetchTimeMs: {}\r\ncharset-detected: UTF-8\r\n",
        50 + random.below(900)
    );
    [
        Draft::request(&url, date_ms, request.into_bytes()),
        Draft::response(&url, date_ms, response).field("WARC-IP-Address", "203.0.113.7"),
        Draft::metadata(&url, date_ms, "application/warc-fields", metadata.into_bytes()),
    ]
}

fn html(paragraphs: usize, words: &[String], random: &mut Random) -> String {
    let mut html = String::from("<!doctype html>\n<html lang=\"en\"><head><title>");
    let mut say = |html: &mut String, count: usize| {
        for _ in 0..count {
            html.push_str(&words[random.zipf(words.len())]);
            html.push(' ');
        }
    };
    say(&mut html, 6);
    html.push_str("</title>\n<link rel=\"stylesheet\" href=\"/static/style.css\"></head>\n<body>\n");
    for paragraph in 0..paragraphs {
        html.push_str("<div class=\"text\"><p>");
        say(&mut html, 30);
        html.push_str("<a href=\"https://www.site-");
        html.push_str(&(paragraph * 7919 % 997).to_string());
        html.push_str(".example/page.html\" rel=\"nofollow\">");
        say(&mut html, 4);
        html.push_str("</a></p></div>\n");
    }
    html + "</body></html>\n"
}

/// A generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Returns small numbers more often, about like the frequency of words.
    fn zipf(&mut self, bound: usize) -> usize {
        let even = self.below(1 << 20) as f64 / f64::from(1 << 20);
        ((bound as f64).powf(even) as usize).min(bound) - 1
    }

    fn word(&mut self) -> String {
        let syllables = 1 + self.below(4);
        let sounds = [
            "ra", "ne", "to", "li", "su", "ka", "men", "dor", "pis", "wan", "el", "o",
        ];
        (0..syllables).map(|_| sounds[self.below(sounds.len())]).collect()
    }
}
