//! HTTP routes: `/sql` for browsers, `/api/v1/sql` for programs.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use listen::{Hosts, Misaddressed};
use serde_json::json;
use sql::SqlError;
use tokio::sync::mpsc;
use ui::{CACHE_CONTROL, PAGE_POLICY, Parts};

use super::page;
use super::statements::{RunningStatement, StatementOptions, StatementRunner};
use crate::output_format::{Format, Writer};

/// Size limit of a statement.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// Number of answer pieces buffered before sending.
const AHEAD: usize = 2;

/// Response header with the epoch, for formats that cannot contain it.
const EPOCH: HeaderName = HeaderName::from_static("weft-epoch");

/// Request header with the form of input names: `base` means without folders. The proxying server
/// sets it on each request.
const NAMES: HeaderName = HeaderName::from_static("weft-names");

/// State shared by all handlers.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) runner: StatementRunner,
    /// Accepted host names; `None` if another program has checked the host.
    pub(super) hosts: Option<Hosts>,
    /// Targets of the navigation.
    pub(super) parts: Parts,
}

/// Returns all routes.
pub(super) fn routes(shared: Shared) -> Router {
    let router = Router::new()
        .route("/", get(async || Redirect::temporary("/sql")))
        .route("/healthz", get(async || "ok\n"))
        .route("/sql", get(show))
        .route("/api/v1/sql", get(get_statement).post(post_statement))
        .route("/api/v1/sql/tables", get(tables));
    let router = ui::ASSETS.iter().fold(router, |router, asset| {
        let headers = [
            (header::CONTENT_TYPE, asset.media),
            (header::CACHE_CONTROL, CACHE_CONTROL),
        ];
        router.route(asset.path, get(async move || (headers, asset.content)))
    });
    router
        .layer(from_fn_with_state(shared.clone(), admit_and_add_headers))
        .with_state(shared)
}

async fn admit_and_add_headers(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let admitted = match &shared.hosts {
        Some(hosts) => hosts.admit(request.version(), request.uri(), request.headers()),
        None => Ok(()),
    };
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(Misaddressed::Malformed) => json_error(
            StatusCode::BAD_REQUEST,
            "bad_request",
            "a request must have exactly one Host (RFC 9112, section 3.2)",
        ),
        Err(Misaddressed::NotOurs) => json_error(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong_host",
            "this server does not have that host name; set its names with weft-sql serve --host NAME",
        ),
    };
    for (name, value) in ui::HEADERS {
        response
            .headers_mut()
            .entry(HeaderName::from_static(name))
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The parameters of a request.
#[derive(Debug, Default)]
struct StatementRequest {
    /// The statement.
    statement: String,
    /// Name of the output format.
    format: Option<String>,
    /// The epoch to show.
    at_epoch: Option<u64>,
}

impl StatementRequest {
    /// Adds the fields of a query or a form. The error names the invalid field.
    fn add_fields(&mut self, fields: &[u8]) -> anyhow::Result<()> {
        for (name, value) in url::form_urlencoded::parse(fields) {
            match &*name {
                "q" => self.statement = value.into_owned(),
                "format" => self.format = Some(value.into_owned()),
                "at_epoch" => {
                    let epoch = value.parse::<u64>().ok();
                    self.at_epoch =
                        Some(epoch.with_context(|| format!("at_epoch: {value:?} is not a number"))?);
                }
                _ => bail!("unknown parameter {name:?}; the parameters are q, format and at_epoch"),
            }
        }
        Ok(())
    }

    /// Returns the options for the statement.
    fn options(&self, headers: &HeaderMap) -> StatementOptions {
        StatementOptions {
            at_epoch: self.at_epoch,
            base_names: headers.get(NAMES).is_some_and(|names| names == "base"),
            parameters: None,
        }
    }

    /// Parses the query string of a URI.
    fn from_query(uri: &Uri) -> anyhow::Result<StatementRequest> {
        let mut request = StatementRequest::default();
        request.add_fields(uri.query().unwrap_or_default().as_bytes())?;
        Ok(request)
    }
}

async fn get_statement(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    match StatementRequest::from_query(&uri) {
        Ok(request) => answer(&shared, request, &headers).await,
        Err(wrong) => json_error(StatusCode::BAD_REQUEST, "bad_request", &wrong.to_string()),
    }
}

/// Accepts the statement as the body, or as a field of a form.
async fn post_statement(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    let body = match axum::body::to_bytes(body, STATEMENT_BYTES_MAX).await {
        Ok(body) => body,
        Err(_) => {
            return json_error(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                "a statement can have at most 1 MiB",
            );
        }
    };
    match read_request(&uri, &headers, body) {
        Ok(Some(request)) => answer(&shared, request, &headers).await,
        Ok(None) => json_error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "expected application/sql, text/plain or a form with the field q",
        ),
        Err(wrong) => json_error(StatusCode::BAD_REQUEST, "bad_request", &wrong.to_string()),
    }
}

/// Parses a request with a body. Returns `None` if the body has an unknown media type.
fn read_request(uri: &Uri, headers: &HeaderMap, body: Bytes) -> anyhow::Result<Option<StatementRequest>> {
    let mut request = StatementRequest::from_query(uri)?;
    let media = headers
        .get(header::CONTENT_TYPE)
        .and_then(|media| media.to_str().ok());
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default();
    match media.trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => request.add_fields(&body)?,
        "application/sql" | "text/plain" => {
            let statement = String::from_utf8(body.into());
            request.statement = statement.ok().context("the statement is not UTF-8")?;
        }
        _ => return Ok(None),
    }
    Ok(Some(request))
}

/// Formats that can be requested, with their media types.
const FORMATS: [(&str, Format, &str); 5] = [
    ("json", Format::Json, "application/json"),
    ("jsonl", Format::Jsonl, "application/x-ndjson"),
    ("csv", Format::Csv, "text/csv; charset=utf-8"),
    ("parquet", Format::Parquet, "application/vnd.apache.parquet"),
    ("arrow", Format::Arrow, "application/vnd.apache.arrow.stream"),
];

async fn answer(shared: &Shared, request: StatementRequest, headers: &HeaderMap) -> Response {
    let name = request.format.as_deref().unwrap_or("json");
    let Some((name, format, media)) = FORMATS.into_iter().find(|(known, ..)| *known == name) else {
        let names = FORMATS.map(|(name, ..)| name).join(", ");
        let message = format!("unknown format {name:?}; the formats are {names}");
        return json_error(StatusCode::BAD_REQUEST, "bad_request", &message);
    };
    if request.statement.trim().is_empty() {
        return json_error(
            StatusCode::BAD_REQUEST,
            "bad_request",
            "the parameter q (an SQL statement) is missing",
        );
    }
    let running = match shared
        .runner
        .begin(&request.statement, request.options(headers))
        .await
    {
        Ok(running) => running,
        Err(error) => return error_response(&error),
    };
    let epoch = running.epoch;
    let mut response = Response::new(body(running, format));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(EPOCH, HeaderValue::from(epoch));
    if format != Format::Json
        && let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"answer.{name}\""))
    {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// Returns a body that streams all rows. An error aborts it, so that the client sees that it is
/// incomplete.
fn body(mut running: RunningStatement, format: Format) -> Body {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(AHEAD);
    tokio::spawn(async move {
        if let Err(error) = send_all(&mut running, format, &sender).await {
            tracing::warn!(%error, "a response was cut off");
            // Fails only if the reader has gone.
            let _ = sender.send(Err(error)).await;
        }
    });
    let pieces = futures_util::stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    Body::from_stream(pieces)
}

async fn send_all(
    running: &mut RunningStatement,
    format: Format,
    sender: &mpsc::Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let buffer = SharedBuffer::default();
    let mut writer = Writer::new(format, buffer.clone(), &running.schema, running.epoch)?;
    loop {
        // If the client has gone, return: this stops the statement.
        let next = tokio::select! {
            next = running.next() => next,
            () = sender.closed() => return Ok(()),
        };
        let Some(batch) = next else { break };
        writer.write(&batch.map_err(io::Error::other)?)?;
        if sender.send(Ok(buffer.take())).await.is_err() {
            return Ok(());
        }
    }
    writer.finish()?;
    // As above.
    let _ = sender.send(Ok(buffer.take())).await;
    Ok(())
}

/// Output of a writer that has not been taken yet.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn take(&self) -> Bytes {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn tables(State(shared): State<Shared>) -> Response {
    let tables = match shared.runner.database.tables().await {
        Ok(tables) => tables,
        Err(error) => return error_response(&error),
    };
    let tables = tables.iter().map(|(table, schema)| {
        let columns = schema.fields().iter().map(|field| {
            json!({ "name": field.name(), "type": page::type_name(field.data_type()), "nullable": field.is_nullable() })
        });
        json!({ "name": table.name, "row": table.row, "columns": columns.collect::<Vec<_>>() })
    });
    axum::Json(json!({ "tables": tables.collect::<Vec<_>>() })).into_response()
}

/// Shows the page, with the result of its statement if it has one.
async fn show(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    // A malformed query string gives the page without a result.
    let request = StatementRequest::from_query(&uri).unwrap_or_default();
    let statement = request.statement.trim().to_owned();
    let begun = system::now();
    let result = if statement.is_empty() {
        None
    } else {
        Some(page::result(&shared.runner, &statement, request.options(&headers), begun).await)
    };
    let tables = shared.runner.database.tables().await;
    let status = match (&result, &tables) {
        (Some(Err(error)), _) | (None, Err(error)) => status_of(error).0,
        _ => StatusCode::OK,
    };
    let markup = page::page(
        shared.parts,
        &statement,
        request.at_epoch,
        result.as_ref(),
        tables.as_ref(),
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (status, headers, markup.into_string()).into_response()
}

/// Returns the status and code of an error, as in the archive's API.
fn status_of(error: &SqlError) -> (StatusCode, &'static str) {
    match error {
        error if error.is_of_statement() => (StatusCode::BAD_REQUEST, "bad_request"),
        SqlError::Epoch { .. } => (StatusCode::BAD_REQUEST, "bad_request"),
        SqlError::TimeLimit { .. } | SqlError::Open(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        error if error.is_in_use() => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

fn error_response(error: &SqlError) -> Response {
    let (status, code) = status_of(error);
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(%error, "a statement failed");
    }
    let mut reason = json!({ "code": code, "message": error.to_string() });
    if let SqlError::Statement {
        line: line @ 1..,
        column,
        ..
    } = error
    {
        reason["line"] = json!(line);
        reason["column"] = json!(column);
    }
    (status, axum::Json(json!({ "error": reason }))).into_response()
}

fn json_error(status: StatusCode, code: &str, message: &str) -> Response {
    (
        status,
        axum::Json(json!({ "error": { "code": code, "message": message } })),
    )
        .into_response()
}
