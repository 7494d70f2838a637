//! `/cdx`: captures as CDXJ, streamed.
//!
//! The archive is asked for [`ROWS_AT_ONCE`] rows at a time, by cursor, so memory is bounded however many
//! captures match, and no thread waits for a slow reader.

use std::fmt::Write;

use archive::question::{Answer, Body, CdxQuestion, CdxRow, Question};
use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::table::cdx_question;
use crate::arguments::Arguments;
use crate::ask::Asker;
use crate::failure::Failure;
use crate::stream::{self, Cut, Sender};

/// Rows of one question to the archive.
const ROWS_AT_ONCE: usize = 1000;

/// Form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Cdxj,
    Json,
}

/// Handles `/cdx`.
pub(crate) async fn lines(asker: &Asker, arguments: &Arguments) -> Result<Response, Failure> {
    let mut question = cdx_question(arguments)?;
    let rows_max = arguments.limit("limit");
    let (form, media) = match arguments.text("output") {
        Some("json") => (Form::Json, "application/x-ndjson"),
        _ => (Form::Cdxj, "text/x-cdxj; charset=utf-8"),
    };
    question.limit = ROWS_AT_ONCE.min(rows_max.unwrap_or(ROWS_AT_ONCE));
    // The first answer is awaited, so that a question that cannot be answered has its right status.
    let first = asker.ask(Question::Cdx(question.clone())).await?;
    let epoch = first.epoch;
    let (sender, body) = stream::channel();
    tokio::spawn(send_all(asker.clone(), question, first, rows_max, form, sender));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert("weft-epoch", HeaderValue::from(epoch));
    Ok(response)
}

async fn send_all(
    asker: Asker,
    mut question: CdxQuestion,
    first: Answer,
    rows_max: Option<usize>,
    form: Form,
    sender: Sender,
) {
    let mut left = rows_max.unwrap_or(usize::MAX);
    let mut answer = first;
    loop {
        let Body::Cdx { rows, next } = answer.body else {
            return tracing::error!("the archive answered another question");
        };
        let text: String = rows.iter().take(left).map(|row| line(row, form)).collect();
        left = left.saturating_sub(rows.len());
        if !text.is_empty() && sender.send(Ok(Bytes::from(text))).await.is_err() {
            return;
        }
        let Some(next) = next.filter(|_| left > 0) else {
            return;
        };
        question.after = Some(next);
        question.limit = ROWS_AT_ONCE.min(left);
        answer = match asker.ask(Question::Cdx(question.clone())).await {
            Ok(answer) => answer,
            Err(failure) => {
                // Whether it can be told does not matter: a reader that is gone needs no telling.
                let _ = sender.send(Err(Cut(failure.message))).await;
                return;
            }
        };
    }
}

fn line(row: &CdxRow, form: Form) -> String {
    match form {
        Form::Cdxj => cdxj_line(row),
        Form::Json => {
            let fields = fields(row);
            format!(
                "{{\"urlkey\": {}, \"timestamp\": {}, {fields}\n",
                quoted(&row.url_key),
                quoted(&row.timestamp),
                fields = &fields[1..]
            )
        }
    }
}

/// `urlkey timestamp {json}` and a line end: numbers as strings and no `status` where there is none, nor for
/// revisits, as pywb writes it.
pub fn cdxj_line(row: &CdxRow) -> String {
    format!(
        "{} {} {}\n",
        key_in_line(&row.url_key),
        row.timestamp,
        fields(row)
    )
}

fn fields(row: &CdxRow) -> String {
    let mut json = format!("{{\"url\": {}, \"mime\": {}", quoted(&row.url), quoted(&row.mime));
    let mut add = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = write!(json, ", \"{name}\": {}", quoted(value));
    };
    // That of a revisit is the one of the capture it repeats; the reference leaves it out.
    if row.status != 0 && row.kind != "revisit" {
        add("status", &row.status.to_string());
    }
    add("digest", &row.digest);
    add("length", &row.length.to_string());
    add("offset", &row.offset.to_string());
    add("filename", &row.filename);
    json.push('}');
    json
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A key holds no white space; should one ever, the line's fields must still be told apart.
fn key_in_line(key: &str) -> String {
    let mut line = String::with_capacity(key.len());
    for c in key.chars() {
        match c {
            ' ' | '\u{7f}' | '\0'..='\u{1f}' => line.push_str(&format!("%{:02x}", c as u32)),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> CdxRow {
        CdxRow {
            url_key: "org,iana)/".into(),
            timestamp: "20140126200624".into(),
            url: "http://www.iana.org/".into(),
            mime: "text/html".into(),
            status: 200,
            digest: "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB".into(),
            length: 2258,
            offset: 334,
            filename: "iana.warc.gz".into(),
            ..CdxRow::default()
        }
    }

    #[test]
    fn a_line_is_as_pywb_writes_it() {
        let expected = concat!(
            r#"org,iana)/ 20140126200624 {"url": "http://www.iana.org/", "mime": "text/html", "status": "200", "#,
            r#""digest": "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB", "length": "2258", "offset": "334", "#,
            r#""filename": "iana.warc.gz"}"#,
            "\n"
        );
        assert_eq!(line(&row(), Form::Cdxj), expected);
    }

    #[test]
    fn without_a_status_there_is_no_status() {
        assert!(!cdxj_line(&CdxRow { status: 0, ..row() }).contains("status"));
    }

    #[test]
    fn a_line_stays_one_line_whatever_it_holds() {
        let row = CdxRow {
            url: "http://a/\n\"\\\u{1}".into(),
            url_key: "a)/ \n".into(),
            ..row()
        };
        for form in [Form::Cdxj, Form::Json] {
            let line = line(&row, form);
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            let json = &line[line.find('{').expect("a JSON object")..];
            let value: serde_json::Value = serde_json::from_str(json).expect("valid JSON");
            assert_eq!(value["url"], row.url.as_str());
        }
        assert!(cdxj_line(&row).starts_with("a)/%20%0a 20140126200624 {"));
    }
}
