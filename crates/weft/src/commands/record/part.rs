//! Selectable parts of a record.

use std::io::{self, Read as _, Write};

use anyhow::bail;
use extract::PayloadReader;
use warc::{Format, OpenRecord};

/// Flags that select a part; without any, the whole record.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(in crate::commands) struct Part {
    /// Print only the headers of the record and of HTTP
    #[arg(long)]
    pub(in crate::commands) headers: bool,
    /// Print only the payload, without transfer and content encodings
    #[arg(long)]
    pub(in crate::commands) payload: bool,
    /// Print the bytes as stored in the input (compressed, if it is)
    #[arg(long)]
    pub(in crate::commands) stored: bool,
}

/// Writes the payload, without transfer and content encodings.
pub(in crate::commands) fn write_payload(record: OpenRecord, out: &mut impl Write) -> anyhow::Result<()> {
    write_decoded(PayloadReader::open(record, u64::MAX)?, out)
}

/// Writes the decoded payload.
pub(in crate::commands) fn write_decoded(
    mut payload: PayloadReader,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    io::copy(&mut payload, out)?;
    if payload.has_failed() {
        bail!("the input cannot be read to the end of the record");
    }
    Ok(())
}

/// Writes the header fields of the record as in a WARC file.
pub(in crate::commands) fn write_record_head(record: &OpenRecord, out: &mut impl Write) -> io::Result<()> {
    let (major, minor) = match record.format() {
        Format::Warc(major, minor) => (major, minor),
        _ => (1, 1),
    };
    write!(out, "WARC/{major}.{minor}\r\n")?;
    for (name, value) in record.headers().iter() {
        write!(out, "{name}: {value}\r\n")?;
    }
    out.write_all(b"\r\n")
}

/// Writes the header fields of the record, an empty line, and the HTTP header if there is one.
pub(in crate::commands) fn write_headers(record: OpenRecord, out: &mut impl Write) -> io::Result<()> {
    write_record_head(&record, out)?;
    if record.is_http() {
        let mut head = Vec::new();
        record
            .take(warc::HTTP_HEADER_BYTES_MAX as u64)
            .read_to_end(&mut head)?;
        let length = warc::http_header_length(&head).unwrap_or(head.len());
        out.write_all(&head[..length])?;
    }
    Ok(())
}
