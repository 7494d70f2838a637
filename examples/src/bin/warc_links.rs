//! Prints the links of every page in a file of records.
//!
//!     cargo run -p examples --bin warc_links -- FILE.warc.gz

use std::path::PathBuf;

use anyhow::Context as _;
use extract::{Documents, Extracted, LinkScope, Settings};
use warc::{Entry, Reader, ReaderSettings};

fn main() -> anyhow::Result<()> {
    let path: PathBuf = std::env::args_os()
        .nth(1)
        .context("name a file of records")?
        .into();
    let settings = Settings {
        links: LinkScope::All,
        text: false,
        documents: Documents::NONE,
    };
    let mut reader = Reader::open(&path, ReaderSettings::default())?;
    while let Some(entry) = reader.next_entry()? {
        // Padding and damaged bytes are entries too: all of them cover the file without a gap.
        let Entry::Record(record) = entry else { continue };
        if let Extracted::Capture(capture) = extract::extract(&record, &settings)
            && let Some(page) = &capture.page
        {
            for link in &page.links {
                println!("{}\t{}\t{}", capture.url, link.url, link.anchor);
            }
        }
        // Its memory serves the next record.
        reader.recycle(record);
    }
    Ok(())
}
