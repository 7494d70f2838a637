//! `/record`: the stored record of a capture, as a file with one record, streamed.

use std::io::{ErrorKind, Read};

use archive::question::{Body, CdxRow, Question, RecordBody};
use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use warc::{RawRecord, ReadError};

use crate::arguments::Arguments;
use crate::ask::Asker;
use crate::failure::Failure;
use crate::stream::{self, Cut, Sender};

/// Bytes read at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Characters of a URL key that become part of a file name.
const NAME_CHARS_MAX: usize = 80;

/// Finds the record of the capture of `url` nearest to `at`, with the epoch of the answer.
pub(crate) async fn locate(
    asker: &Asker,
    url: String,
    at: Option<String>,
) -> Result<(u64, RecordBody), Failure> {
    let answer = asker.ask(Question::Record { url, at }).await?;
    match answer.body {
        Body::Record(record) => Ok((answer.epoch, record)),
        _ => Err(Failure::internal()),
    }
}

/// Handles `/record`.
pub(crate) async fn download(asker: &Asker, arguments: &Arguments) -> Result<Response, Failure> {
    let (epoch, record) = locate(asker, arguments.required("url"), arguments.owned("at")).await?;
    let capture = record.capture.clone();
    let raw = asker
        .blocking(move |source| archive::raw_record(&source.sources(), &record))
        .await?
        .map_err(|error| no_bytes(&capture, &error))?;
    let (length, extension) = (raw.length(), raw.extension());
    let (sender, content) = stream::channel();
    tokio::spawn(send(asker.clone(), raw, sender));
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media(extension)));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(HeaderName::from_static("weft-epoch"), HeaderValue::from(epoch));
    let disposition = format!("attachment; filename=\"{}\"", file_name(&capture, extension));
    if let Ok(disposition) = HeaderValue::try_from(disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

async fn send(asker: Asker, mut raw: RawRecord, sender: Sender) {
    loop {
        let read = asker.blocking(move |_| {
            let piece = read_piece(&mut raw);
            (raw, piece)
        });
        let (rest, piece) = match read.await {
            Ok((rest, Ok(piece))) => (rest, piece),
            Ok((_, Err(error))) => return cut(&sender, &error.to_string()).await,
            Err(failure) => return cut(&sender, &failure.message).await,
        };
        match (piece.is_empty(), rest.length()) {
            (true, 0) => return,
            (true, _) => return cut(&sender, "the input became shorter").await,
            (false, _) => {}
        }
        raw = rest;
        if sender.send(Ok(piece)).await.is_err() {
            return;
        }
    }
}

fn read_piece(raw: &mut RawRecord) -> std::io::Result<Bytes> {
    let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(raw.length()).unwrap_or(PIECE_BYTES))];
    let read = raw.read(&mut piece)?;
    piece.truncate(read);
    Ok(Bytes::from(piece))
}

async fn cut(sender: &Sender, why: &str) {
    tracing::warn!(why, "a record could not be sent whole");
    // Whether it can be told does not matter: a reader that is gone needs no telling.
    let _ = sender.send(Err(Cut(why.to_owned()))).await;
}

/// What an asker is told when the input does not give the record.
pub(crate) fn no_bytes(capture: &CdxRow, error: &ReadError) -> Failure {
    tracing::warn!(%error, "a record's bytes cannot be had");
    match error {
        ReadError::Io { source, .. } if source.kind() == ErrorKind::NotFound => Failure::new(
            StatusCode::NOT_FOUND,
            "input_missing",
            format!(
                "the input {} is no longer where it was loaded from",
                capture.filename
            ),
        ),
        ReadError::NoRecord { offset, .. } => Failure::new(
            StatusCode::CONFLICT,
            "input_changed",
            format!(
                "the input {} has no record at offset {offset} any more: was it changed?",
                capture.filename
            ),
        ),
        _ => Failure::internal(),
    }
}

fn media(extension: &str) -> &'static str {
    match extension.rsplit('.').next() {
        Some("gz") => "application/gzip",
        Some("zst") => "application/zstd",
        Some("lz4") => "application/x-lz4",
        Some("arc") => "application/x-internet-archive",
        _ => "application/warc",
    }
}

/// `org_archive_about-20140126200624.warc.gz`
fn file_name(capture: &CdxRow, extension: &str) -> String {
    let plain = capture
        .url_key
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let mut name = String::new();
    for c in plain.take(NAME_CHARS_MAX) {
        if c != '_' || !name.ends_with('_') {
            name.push(c);
        }
    }
    let time: String = capture.timestamp.chars().filter(char::is_ascii_digit).collect();
    format!("{}-{time}.{extension}", name.trim_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain() {
        let capture = |key: &str| CdxRow {
            url_key: key.into(),
            timestamp: "20140126200624".into(),
            ..CdxRow::default()
        };
        assert_eq!(
            file_name(&capture("org,archive)/about?x=\"1\""), "warc.gz"),
            "org_archive_about_x_1-20140126200624.warc.gz"
        );
        assert_eq!(file_name(&capture("../../\n"), "warc"), "-20140126200624.warc");
        assert!(file_name(&capture(&"a".repeat(5000)), "warc").len() < 120);
    }
}
