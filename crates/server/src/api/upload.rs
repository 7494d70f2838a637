//! Receives a file, stores it in the archive's directory, and loads it.
//!
//! Only administrators get here (`admit`). An upload reads no file of the server's machine, so it
//! does not need the setting for loads over HTTP. The body is the file itself: it is written while
//! it arrives, and its size is not limited by memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use archive::question::{Answer, Forget, InputState, Ledger, LedgerBody, LoadRequest, Status};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use inputs::{LoadInput, package_of, path_text};
use tokio::sync::mpsc;

use crate::arguments::Arguments;
use crate::failure::{Code, Failure};
use crate::local_owner::OwnersPort;
use crate::sites;
use crate::state::State;
use crate::upload_folder::{ACCEPTED, StoreError, StoredFile, UploadFolder, safe_name};

/// Path of uploads.
pub(crate) const UPLOAD_PATH: &str = "/api/v1/upload";

/// Time limit of a whole upload. A client that sends nothing for `idle_max` is cut off earlier.
const UPLOAD_TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of pieces that are received but not yet written.
const PIECES_AHEAD_MAX: usize = 8;

/// Number of ledger rows requested at a time.
const ROWS_AT_ONCE: usize = 1000;

/// Returns the time limit of a request, if its path is that of uploads.
pub(crate) fn time_max(path: &str) -> Option<Duration> {
    (path == UPLOAD_PATH).then_some(UPLOAD_TIME_MAX)
}

/// A part of a body on its way to the disk.
enum Piece {
    Data(Bytes),
    /// The body is complete. Without it, the end of the channel is an interruption.
    End,
}

/// Handles `POST /api/v1/upload`.
pub(super) async fn receive(state: &State, arguments: &Arguments, request: Request) -> Response {
    let connection = request.extensions().get::<OwnersPort>().cloned();
    match store_and_load(state, arguments, request).await {
        Ok(answer) => super::json(answer),
        Err(failure) => refused(failure, connection),
    }
}

/// Returns the response to a refused upload. Its body may be unread, so the connection is closed
/// such that the client gets the response although it is still sending.
fn refused(failure: Failure, connection: Option<OwnersPort>) -> Response {
    if let Some(OwnersPort(connection)) = connection {
        connection.mark_body_unread();
    }
    let mut response = failure.into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

async fn store_and_load(state: &State, arguments: &Arguments, request: Request) -> Result<Answer, Failure> {
    // All checks come before the body is read.
    let folder = allow(state, request.headers())?;
    let name = safe_name(&arguments.required("name")).ok_or_else(|| {
        unsupported(format!(
            "files of this name cannot be loaded; accepted names end in {ACCEPTED}"
        ))
    })?;
    let bytes_declared = check_headers(request.headers(), folder.settings.bytes_max)?;
    check_writable(state).await?;
    let _permit = folder
        .permits
        .try_acquire()
        .map_err(|_| Failure::unavailable("too many uploads are running; try again when one has ended"))?;
    let idle_max = state.settings.idle_max;
    let failed = failed_inputs(state, &folder.settings.dir.join(&name)).await?;
    let upload = Upload {
        name,
        bytes_declared,
        replaces: !failed.is_empty(),
    };
    let stored = store(Arc::clone(&folder), upload, request.into_body(), idle_max).await?;
    if stored.is_new && !failed.is_empty() {
        // If this is refused because a load runs, the failed rows stay until weft forget --failed.
        let _ = state.archive.ask(Forget { inputs: failed }).await;
    }
    let path = path_text(&stored.path);
    let load = LoadRequest {
        inputs: vec![LoadInput {
            name: path.clone(),
            path,
        }],
        collection: arguments.owned("collection"),
        ..LoadRequest::default()
    };
    match state.archive.ask(load).await {
        Ok(answer) => Ok(answer.any()),
        Err(failure) => {
            if stored.is_new {
                remove(stored.path).await;
            }
            Err(failure)
        }
    }
}

fn allow(state: &State, headers: &HeaderMap) -> Result<Arc<UploadFolder>, Failure> {
    if sites::is_cross_site(headers) {
        return Err(Failure::forbidden("cross-site requests must not upload files"));
    }
    state.uploads.clone().ok_or_else(|| {
        Failure::forbidden("this server accepts no uploads; run weft load INPUT on the server's machine")
    })
}

/// Checks type and size of the body, and returns its size if the client has sent it.
fn check_headers(headers: &HeaderMap, bytes_max: u64) -> Result<Option<u64>, Failure> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::CONTENT_TYPE).is_some_and(|media| media.starts_with("multipart/")) {
        return Err(unsupported(
            "the body must be the file itself, not a form: curl -X POST -T FILE".to_owned(),
        ));
    }
    let bytes = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    match bytes.filter(|bytes| *bytes > bytes_max) {
        Some(_) => Err(too_large(bytes_max)),
        None => Ok(bytes),
    }
}

/// Fails as a load would if the archive is open read-only.
async fn check_writable(state: &State) -> Result<(), Failure> {
    let status = state.archive.ask(Status {}).await?.body;
    if status.read_only {
        return Err(Failure::unavailable(format!(
            "{} is open read-only, so it cannot be changed",
            status.archive
        )));
    }
    Ok(())
}

/// Returns the locations of the inputs of an existing file if all of them failed, so that nothing is
/// lost if the file is replaced.
async fn failed_inputs(state: &State, path: &Path) -> Result<Vec<String>, Failure> {
    // The ledger has paths after links are resolved.
    let Ok(path) = path.canonicalize() else {
        return Ok(Vec::new());
    };
    let (path, mut failed) = (path_text(&path), Vec::new());
    let mut question = Ledger {
        limit: ROWS_AT_ONCE,
        ..Ledger::default()
    };
    loop {
        let LedgerBody { rows, next } = state.archive.ask(question.clone()).await?.body;
        for row in rows.into_iter().filter(|row| file_of(&row.location) == path) {
            let is_failed = matches!(row.state, InputState::Failed { .. });
            if !is_failed || row.captures + row.index_lines > 0 {
                return Ok(Vec::new());
            }
            failed.push(row.location);
        }
        if next.is_none() {
            return Ok(failed);
        }
        question.after = next;
    }
}

/// Returns the file that contains the input at a location: the input itself, or its package.
fn file_of(location: &str) -> String {
    let mut file = location.to_owned();
    while let Some((package, _)) = package_of(&file) {
        file = package;
    }
    file
}

/// A file to store.
struct Upload {
    name: String,
    /// Its size, if the client has sent it.
    bytes_declared: Option<u64>,
    /// Whether it replaces an existing file of its name.
    replaces: bool,
}

/// Writes the body on a blocking thread while it arrives.
async fn store(
    folder: Arc<UploadFolder>,
    upload: Upload,
    body: Body,
    idle_max: Duration,
) -> Result<StoredFile, Failure> {
    let bytes_max = folder.settings.bytes_max;
    let (sender, receiver) = mpsc::channel(PIECES_AHEAD_MAX);
    let storing = system::blocking(move || {
        let Upload {
            name,
            bytes_declared,
            replaces,
        } = upload;
        folder.store(&name, bytes_declared, replaces, pieces(receiver))
    });
    let sent = send(body, sender, bytes_max, idle_max).await;
    let stored = storing.await.map_err(|error| {
        tracing::error!(%error, "a task that stores an upload failed");
        Failure::internal()
    })?;
    sent?;
    stored.map_err(failure_of)
}

/// Passes the body on. Returns early without an error if the receiver has failed, because the
/// receiver reports why.
async fn send(
    mut body: Body,
    pieces: mpsc::Sender<Piece>,
    bytes_max: u64,
    idle_max: Duration,
) -> Result<(), Failure> {
    let mut received: u64 = 0;
    loop {
        let frame = tokio::time::timeout(idle_max, body.frame()).await.map_err(|_| {
            let seconds = idle_max.as_secs();
            Failure::bad_request(format!("the client sent nothing for {seconds} seconds"))
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| failure_of(StoreError::Interrupted))?;
        // Trailers are no data.
        let Ok(data) = frame.into_data() else { continue };
        received = received.saturating_add(data.len() as u64);
        if received > bytes_max {
            return Err(too_large(bytes_max));
        }
        if pieces.send(Piece::Data(data)).await.is_err() {
            return Ok(());
        }
    }
    if received == 0 {
        return Err(Failure::bad_request("the body is empty: expected the file"));
    }
    // If the receiver has failed, it reports why.
    let _ = pieces.send(Piece::End).await;
    Ok(())
}

/// Returns the data of the channel, which ends with an error if the body is incomplete.
fn pieces(mut receiver: mpsc::Receiver<Piece>) -> impl Iterator<Item = Result<Bytes, StoreError>> {
    std::iter::from_fn(move || match receiver.blocking_recv() {
        Some(Piece::Data(data)) => Some(Ok(data)),
        Some(Piece::End) => None,
        None => Some(Err(StoreError::Interrupted)),
    })
}

/// Removes a file whose load could not be started.
async fn remove(path: PathBuf) {
    let removed = system::blocking(move || std::fs::remove_file(path)).await;
    if !matches!(removed, Ok(Ok(()))) {
        tracing::warn!("cannot remove an uploaded file whose load could not be started");
    }
}

fn unsupported(message: String) -> Failure {
    Failure::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::UnsupportedMediaType,
        message,
    )
}

fn too_large(bytes_max: u64) -> Failure {
    Failure::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooLarge,
        format!(
            "the file exceeds {bytes_max} bytes: copy it to the server's machine and run weft load there"
        ),
    )
}

fn failure_of(error: StoreError) -> Failure {
    match error {
        StoreError::Interrupted => Failure::bad_request(error.to_string()),
        StoreError::Exists => Failure::new(
            StatusCode::CONFLICT,
            Code::Conflict,
            format!("{error}; upload the file under another name"),
        ),
        StoreError::NoSpace => Failure::new(
            StatusCode::INSUFFICIENT_STORAGE,
            Code::Unavailable,
            error.to_string(),
        ),
        StoreError::Io(error) => {
            tracing::error!(%error, "cannot store an upload");
            Failure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                Code::Internal,
                format!("the upload cannot be stored: {error}"),
            )
        }
    }
}
