//! How nodes talk: HTTP/1.1 in TLS ([`tls`]), every method of [`contract::Volume`] and [`contract::Node`] a route below `/v1/`.
//!
//! A request is `POST /v1/volume/NODE/NAME/OPERATION` or `POST /v1/node/OPERATION`. Its body is the ask as JSON,
//! except for `stage` (raw content, the upload's name in the query) and `stage-whole` (a head frame, then the content).
//! The answer is JSON, except for `read` (a head frame, the table, then raw blocks) and `read-staged` (a head frame, then
//! the content). `GET /v1/ping` answers without touching a disk: it tells a slow disk from a process that is gone.
//!
//! | status | body |
//! |---|---|
//! | 200 | the answer |
//! | 400 | what is wrong with the request, as text |
//! | 401 | none: the request is not signed with the secret, too old, or was seen before |
//! | 409 | the `Layouts` that the node has in force: the request was made under another one |
//! | other | the `VolumeError` or `NodeError` as JSON |
//!
//! Invariants:
//!  - nothing but a refused handshake (a 401 without a body, where there is no TLS) is said to those who do not know the
//!    secret;
//!  - a stream that is cut short is an error on the other side, never a short content;
//!  - no answer is waited for without a limit, and none for long from a process that does not answer pings.

use std::time::Duration;

pub(super) mod ask;
pub(super) mod auth;
pub(super) mod body;
pub(super) mod client;
pub(super) mod frame;
pub(super) mod link;
pub(super) mod nonces;
pub(super) mod remote_node;
pub(super) mod remote_volume;
pub(super) mod secure;
pub(super) mod serve_node;
pub(super) mod serve_volume;
pub(super) mod server;
pub(super) mod tables;
pub(super) mod tls;

/// A stranger has so long to prove that he is none: a handshake is two round trips.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// A connection is made in milliseconds or not at all; two seconds leave room for one lost packet.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// How long an answer may be out before its node is asked whether it lives, and how long that may take. Together they
/// are what a frozen node costs the first of those who wait for it.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How often a node that did not answer in time is tried again.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Longest pause in content on its way from a living node, or to it: its disk is stuck.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Longest time for the answer to a content that was sent whole: the last of it is written, not synced.
const STAGED_MAX: Duration = Duration::from_secs(30);

/// Longest pause in content that a client sends through another node; the client's own patience is shorter.
const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(120);

/// Unused connections are closed by the client first, so that it never sends on one that is being closed.
const CLIENT_KEEPS: Duration = Duration::from_secs(15);

/// See [`CLIENT_KEEPS`]. Also the longest time for a request's head.
const SERVER_KEEPS: Duration = Duration::from_secs(30);

/// Unused connections kept to each node.
const IDLE_CONNECTIONS_MAX: usize = 64;

/// A request's head: the longest query is a few hundred bytes, the rest is ours.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// An ask as JSON. The largest is a layout: some 150 bytes for each volume and node.
const ASK_BYTES_MAX: usize = 8 << 20;

/// An answer as JSON. The largest is a survey whose last partition is very full: some 400 bytes for each replica.
const ANSWER_BYTES_MAX: usize = 512 << 20;

/// Content sent in one request with its description; more goes by `stage` and `prepare`.
const WHOLE_BYTES_MAX: usize = 4 << 20;

/// The table of a 512 GiB object; larger ones cannot be read from another node.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// Tables kept by a client, in bytes: of some ten thousand WARC files of 1 GB, or of all that are being read.
const TABLES_KEPT_BYTES: usize = 64 << 20;

/// How long answers in flight may take when a node ends.
const FAREWELL: Duration = Duration::from_secs(10);
