//! Sends captures while they are found.

use std::collections::VecDeque;

use archive::question::{Answer, CdxBody, CdxQuestion, CdxRow};
use axum::body::{Body as Content, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use cdx::{Order, Writer};

use super::links::{LINK_FORMAT, Links};
use super::request::{CdxRequest, Output, Take};
use super::stage::Stage;
use crate::archive_client::ArchiveClient;
use crate::failure::Failure;
use crate::state::State;
use crate::stream::{self, Cut, Sender};

/// Maximum number of rows per question to the archive.
pub(super) const ROWS_AT_ONCE: usize = 1000;

/// A response, and whether it has no capture, as far as known when it begins.
pub(super) struct Sent {
    pub(super) response: Response,
    pub(super) is_empty: bool,
}

/// Sends all requested captures. Waits for the first answer before it sends the status, so that a
/// question that fails gets the right status.
pub(super) async fn captures(state: &State, asked: CdxRequest, request: &Parts) -> Result<Sent, Failure> {
    let text = match asked.output {
        Output::Rows(form) => Text::Rows(Writer::new(
            form,
            asked.dialect,
            asked.columns.clone(),
            &asked.added,
        )),
        Output::Links => Text::Links(Box::new(Links::of(state, &asked, request))),
    };
    let media = match asked.output {
        Output::Rows(form) => form.media(),
        Output::Links => LINK_FORMAT,
    };
    let writer = RowWriter {
        stage: Stage::of(&asked),
        text,
        show_resume_key: asked.show_resume_key,
    };
    let (epoch, is_empty, body) = match asked.take {
        Take::First(count) => first(&state.archive, asked, writer, count).await?,
        Take::Last(count) => last(&state.archive, asked, writer, count).await?,
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert("weft-epoch", HeaderValue::from(epoch));
    Ok(Sent { response, is_empty })
}

/// Writes captures in the requested format.
enum Text {
    Rows(Writer),
    Links(Box<Links>),
}

/// Makes the text of a response, piece by piece.
struct RowWriter {
    stage: Stage,
    text: Text,
    show_resume_key: bool,
}

impl RowWriter {
    fn rows(&mut self, rows: &[CdxRow]) -> String {
        match &mut self.text {
            Text::Rows(writer) => writer.rows(rows),
            Text::Links(links) => links.rows(rows),
        }
    }

    fn end(&mut self, next: Option<&str>) -> String {
        let key = next.filter(|_| self.show_resume_key);
        match &mut self.text {
            Text::Rows(writer) => writer.end(key),
            Text::Links(links) => links.end(key),
        }
    }
}

async fn first(
    archive: &ArchiveClient,
    asked: CdxRequest,
    mut writer: RowWriter,
    count: usize,
) -> Result<(u64, bool, Content), Failure> {
    let mut found = RowSource::of(archive, &asked, asked.question.clone(), count);
    let answer = found.ask().await?;
    let epoch = answer.epoch;
    let is_empty = answer.body.rows.is_empty() && answer.body.next.is_none();
    let piece = found.piece(&mut writer, answer.body);
    if !found.goes_on {
        return Ok((epoch, is_empty, Content::from(piece)));
    }
    let (sender, body) = stream::channel();
    tokio::spawn(send_all(found, writer, piece, sender));
    Ok((epoch, is_empty, body))
}

/// A cursor over the captures found, one answer after another.
struct RowSource {
    archive: ArchiveClient,
    question: CdxQuestion,
    /// Number of rows still to skip.
    skip: usize,
    /// Number of rows still to return.
    left: usize,
    /// Whether rows are counted when they are written, because collapsing to the last omits some.
    counts_written: bool,
    /// Whether there are more rows to ask for.
    goes_on: bool,
}

impl RowSource {
    fn of(archive: &ArchiveClient, asked: &CdxRequest, question: CdxQuestion, count: usize) -> RowSource {
        RowSource {
            archive: archive.clone(),
            question,
            skip: asked.offset,
            left: count,
            counts_written: asked.collapse_to_last.is_some(),
            goes_on: true,
        }
    }

    async fn ask(&mut self) -> Result<Answer<CdxBody>, Failure> {
        let wanted = self.skip.saturating_add(self.left).min(ROWS_AT_ONCE);
        // 0 would mean the archive's default limit.
        self.question.limit = if self.counts_written {
            ROWS_AT_ONCE
        } else {
            wanted.max(1)
        };
        self.archive.ask(self.question.clone()).await
    }

    /// Returns the text of the rows of an answer, and sets the question for the next ones.
    fn piece(&mut self, writer: &mut RowWriter, found: CdxBody) -> String {
        let CdxBody { rows, skipped, next } = found;
        let rows = if self.counts_written {
            rows
        } else {
            self.counted(rows)
        };
        let mut rows = writer.stage.add(rows, skipped.as_ref());
        self.goes_on = next.is_some() && (self.left > 0 || self.counts_written);
        if !self.goes_on {
            rows.extend(writer.stage.end());
        }
        if self.counts_written {
            rows = self.counted(rows);
            self.goes_on &= self.left > 0;
        }
        let mut text = writer.rows(&rows);
        if !self.goes_on {
            text.push_str(&writer.end(next.as_deref()));
        }
        self.question.after = next;
        text
    }

    /// Applies `skip` and `left` to the rows found.
    fn counted(&mut self, mut rows: Vec<CdxRow>) -> Vec<CdxRow> {
        let skipped = self.skip.min(rows.len());
        rows.drain(..skipped);
        self.skip -= skipped;
        rows.truncate(self.left);
        self.left -= rows.len();
        rows
    }
}

async fn send_all(found: RowSource, writer: RowWriter, first: String, sender: Sender) {
    let Err(failure) = try_send(found, writer, first, &sender).await else {
        return;
    };
    // This fails only if the reader is gone, and then nobody needs the error.
    let _ = sender.send(Err(Cut(failure.message))).await;
}

async fn try_send(
    mut found: RowSource,
    mut writer: RowWriter,
    mut piece: String,
    sender: &Sender,
) -> Result<(), Failure> {
    loop {
        if !piece.is_empty() && sender.send(Ok(Bytes::from(piece))).await.is_err() {
            return Ok(());
        }
        if !found.goes_on {
            return Ok(());
        }
        // With filters, many answers may have no rows, so that nothing is sent.
        let answer = tokio::select! {
            answer = found.ask() => answer?,
            () = sender.closed() => return Ok(()),
        };
        piece = found.piece(&mut writer, answer.body);
    }
}

/// Returns the last captures. In order of distance to a time the last captures are useless, so the
/// number counts from the front.
async fn last(
    archive: &ArchiveClient,
    asked: CdxRequest,
    mut writer: RowWriter,
    count: usize,
) -> Result<(u64, bool, Content), Failure> {
    let (epoch, all) = match &asked.question.order {
        Order::Closest(_) => return first(archive, asked, writer, count).await,
        // Which captures are omitted or counted depends on the captures before them.
        _ if depends_on_those_before(&asked) => last_of_all(archive, &asked, &mut writer, count).await?,
        _ => last_by_reading_back(archive, &asked, &mut writer, count).await?,
    };
    let text = writer.rows(&all) + &writer.end(None);
    Ok((epoch, all.is_empty(), Content::from(text)))
}

fn depends_on_those_before(asked: &CdxRequest) -> bool {
    let question = &asked.question;
    !question.collapse.is_empty()
        || question.collapse_time.is_some()
        || question.count_skipped
        || asked.count_duplicates
        || asked.collapse_to_last.is_some()
}

/// Reads the first captures in the opposite order and reverses them.
async fn last_by_reading_back(
    archive: &ArchiveClient,
    asked: &CdxRequest,
    writer: &mut RowWriter,
    count: usize,
) -> Result<(u64, Vec<CdxRow>), Failure> {
    let order = match asked.question.order {
        Order::Reverse => Order::Forward,
        _ => Order::Reverse,
    };
    let question = CdxQuestion {
        order,
        ..asked.question.clone()
    };
    let mut found = RowSource::of(archive, asked, question, count);
    let mut all = Vec::new();
    let epoch = loop {
        let Answer { epoch, body } = found.ask().await?;
        all.extend(found.counted(body.rows));
        if body.next.is_none() || found.left == 0 {
            break epoch;
        }
        found.question.after = body.next;
    };
    all.reverse();
    let mut rows = writer.stage.add(all, None);
    rows.extend(writer.stage.end());
    Ok((epoch, rows))
}

/// Reads all captures and keeps the last ones.
async fn last_of_all(
    archive: &ArchiveClient,
    asked: &CdxRequest,
    writer: &mut RowWriter,
    count: usize,
) -> Result<(u64, Vec<CdxRow>), Failure> {
    let mut found = RowSource::of(archive, asked, asked.question.clone(), usize::MAX);
    let mut kept = VecDeque::new();
    loop {
        let Answer { epoch, body } = found.ask().await?;
        let rows = found.counted(body.rows);
        let mut rows = writer.stage.add(rows, body.skipped.as_ref());
        if body.next.is_none() {
            rows.extend(writer.stage.end());
        }
        kept.extend(rows);
        kept.drain(..kept.len().saturating_sub(count));
        match body.next {
            Some(next) => found.question.after = Some(next),
            None => return Ok((epoch, kept.into())),
        }
    }
}
