//! Sends captures while they are found.

use archive::cdx::{Order, Writer};
use archive::question::{Answer, CdxBody, CdxQuestion, CdxRow};
use axum::body::{Body as Content, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;

use super::asked::{Asked, Take};
use crate::ask::Asker;
use crate::failure::Failure;
use crate::stream::{self, Cut, Sender};

/// Rows of one question to the archive.
pub(super) const ROWS_AT_ONCE: usize = 1000;

/// Sends everything that was asked for. It waits for the first answer before it sends the status, so that a
/// question that fails gets the right status.
pub(super) async fn captures(asker: &Asker, asked: Asked) -> Result<Response, Failure> {
    let media = asked.form.media();
    let (epoch, body) = match asked.take {
        Take::First(count) => first(asker, asked, count).await?,
        Take::Last(count) => last(asker, asked, count).await?,
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert("weft-epoch", HeaderValue::from(epoch));
    Ok(response)
}

async fn first(asker: &Asker, asked: Asked, count: usize) -> Result<(u64, Content), Failure> {
    let mut found = Found {
        asker: asker.clone(),
        question: asked.question.clone(),
        skip: asked.offset,
        left: count,
    };
    let answer = found.ask().await?;
    let epoch = answer.epoch;
    let (sender, body) = stream::channel();
    tokio::spawn(send_all(found, answer, asked, sender));
    Ok((epoch, body))
}

/// Captures found, one answer after another.
struct Found {
    asker: Asker,
    question: CdxQuestion,
    /// Number of rows still to skip.
    skip: usize,
    /// Number of rows still to return.
    left: usize,
}

impl Found {
    async fn ask(&mut self) -> Result<Answer<CdxBody>, Failure> {
        self.question.limit = self.skip.saturating_add(self.left).min(ROWS_AT_ONCE);
        self.asker.ask(self.question.clone()).await
    }

    /// The rows of an answer that are returned, and the cursor at which the archive continues.
    fn rows(&mut self, found: CdxBody) -> (Vec<CdxRow>, Option<String>) {
        let CdxBody { mut rows, next } = found;
        let skipped = self.skip.min(rows.len());
        rows.drain(..skipped);
        self.skip -= skipped;
        rows.truncate(self.left);
        self.left -= rows.len();
        (rows, next)
    }
}

async fn send_all(found: Found, answer: Answer<CdxBody>, asked: Asked, sender: Sender) {
    let Err(failure) = try_send(found, answer, asked, &sender).await else {
        return;
    };
    // This fails only if the reader is gone, and then nobody needs the error.
    let _ = sender.send(Err(Cut(failure.message))).await;
}

async fn try_send(
    mut found: Found,
    mut answer: Answer<CdxBody>,
    asked: Asked,
    sender: &Sender,
) -> Result<(), Failure> {
    let mut writer = Writer::new(asked.form, asked.dialect, asked.columns);
    loop {
        let (rows, next) = found.rows(answer.body);
        let mut text = writer.rows(&rows);
        let going_on = next.as_ref().is_some_and(|_| found.left > 0);
        if !going_on {
            text.push_str(&writer.end(next.as_deref().filter(|_| asked.show_resume_key)));
        }
        if !text.is_empty() && sender.send(Ok(Bytes::from(text))).await.is_err() {
            return Ok(());
        }
        if !going_on {
            return Ok(());
        }
        found.question.after = next;
        answer = found.ask().await?;
    }
}

/// The last captures are the first ones in the opposite order, reversed. For captures closest to a time
/// nobody wants the last ones, so there the number counts from the front.
async fn last(asker: &Asker, asked: Asked, count: usize) -> Result<(u64, Content), Failure> {
    let order = match asked.question.order {
        Order::Forward => Order::Reverse,
        Order::Reverse => Order::Forward,
        Order::Closest(_) => return first(asker, asked, count).await,
    };
    let mut found = Found {
        asker: asker.clone(),
        question: CdxQuestion {
            order,
            ..asked.question
        },
        skip: asked.offset,
        left: count,
    };
    let mut all = Vec::new();
    let epoch = loop {
        let answer = found.ask().await?;
        let epoch = answer.epoch;
        let (rows, next) = found.rows(answer.body);
        all.extend(rows);
        if next.is_none() || found.left == 0 {
            break epoch;
        }
        found.question.after = next;
    };
    all.reverse();
    let mut writer = Writer::new(asked.form, asked.dialect, asked.columns);
    let text = writer.rows(&all) + &writer.end(None);
    Ok((epoch, Content::from(text)))
}
