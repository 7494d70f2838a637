//! The wire protocol of nodes: HTTP/1.1 in TLS ([`tls`]), with a route below `/v1/` for every
//! method of [`store_protocol::Volume`] and [`store_protocol::Node`].
//!
//! A request is `POST /v1/volume/NODE/NAME/OPERATION` or `POST /v1/node/OPERATION`. Its body is
//! JSON, except for `stage` (raw content, the upload's name in the query) and `stage-whole` (a head
//! frame, then the content). The response is JSON, except for `read` (a head frame, the table, then
//! raw blocks) and `read-staged` (a head frame, then the content). `GET /v1/ping` answers without
//! touching a disk, which distinguishes a slow disk from a dead process.
//!
//! Invariants:
//!  - a caller without the secret learns only that it is refused (by the handshake, or without TLS
//!    by a 401 without a body);
//!  - a stream that is cut short is an error on the other side, never short content;
//!  - every wait for a response has a limit, and a short one if the process does not answer pings.

use std::time::Duration;

pub(super) mod auth;
pub(super) mod body;
mod buffered;
pub(super) mod client;
pub(super) mod frame;
#[cfg(feature = "testing")]
pub mod fuzzing;
pub(super) mod link;
mod link_error;
pub(super) mod nonces;
pub(super) mod remote_node;
pub(super) mod remote_volume;
pub(super) mod requests;
pub(super) mod secure;
pub(super) mod serve_node;
pub(super) mod serve_volume;
pub(super) mod server;
pub(super) mod tables;

/// Longest time for a TLS handshake, which is two round trips.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// Longest time to make a connection. It normally takes milliseconds; two seconds leave room for
/// one lost packet.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// How long to wait for a response before its node is pinged. A frozen node delays the first
/// request that waits for it by this time plus that of the ping.
const PING_AFTER: Duration = Duration::from_millis(1500);

/// How often a node that did not answer in time is retried. Shorter would only send more pings. A
/// node that is back stays unused for up to this long.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Longest pause in content from or to a living node. After it the node's disk is assumed to be
/// stuck.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Longest time for the response after the whole content was sent: the last of it is written, not
/// synced. Shorter would abandon uploads to a disk with a full queue. Longer would make a client
/// wait for a stuck disk.
const RECEIPT_MAX: Duration = Duration::from_secs(30);

/// Longest pause in content that a client sends through another node. The client's own limit is
/// shorter.
const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(120);

/// How long unused connections are kept. The client closes them first, so that it never sends on
/// one that is being closed.
const CLIENT_KEEPS: Duration = Duration::from_secs(15);

/// See [`CLIENT_KEEPS`]. Also the longest time for a request's head.
const SERVER_KEEPS: Duration = Duration::from_secs(30);

/// Unused connections kept to each node. With fewer, requests during a burst would begin with a
/// handshake; more would cost memory on both sides.
const IDLE_CONNECTIONS_MAX: usize = 64;

/// Most bytes of a request's head. The longest query is a few hundred bytes; the rest are our own
/// headers.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Most bytes of a JSON request. The largest is a layout: some 150 bytes for each volume and node.
const ASK_BYTES_MAX: usize = 8 << 20;

/// Most bytes of a JSON response. The largest is a survey whose last partition is very full: some
/// 400 bytes for each replica.
const ANSWER_BYTES_MAX: usize = 512 << 20;

/// Most bytes of content sent in one request with its metadata. Longer content is sent with `stage`
/// and `prepare`.
const WHOLE_BYTES_MAX: usize = 4 << 20;

/// The table of a 512 GiB object; larger ones cannot be read from another node.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// Tables kept by a client, in bytes: those of some ten thousand WARC files of 1 GB, or of every
/// file that is being read.
const TABLES_KEPT_BYTES: usize = 64 << 20;

/// How long responses in flight may take when a node stops. Shorter would interrupt what others
/// have nearly received. Longer would let one slow reader delay a restart.
const FAREWELL: Duration = Duration::from_secs(10);
