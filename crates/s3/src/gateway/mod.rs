//! A gateway: the S3 interface of a remote store, with a cache tier for reads.
//!
//! s3s checks the signature and decodes the chunks of the content; then it passes every request to
//! the gateway. Plain reads of objects are answered from the tier. All other requests are
//! forwarded, signed with the gateway's key.
//!
//! Invariants:
//!  - a request is forwarded only if the keys file gives its sender the right, by the client's name
//!    of the bucket. A request that the upstream could read as a different operation is refused, or
//!    needs the right `own`;
//!  - a response of the upstream is returned unchanged, except for names that a [`Map`] changes;
//!  - content that differs from its client's declarations never becomes an object;
//!  - after a write through the gateway, the next read of the object asks the upstream.
//!
//! The gateway ignores ACLs and policies: the upstream would apply them to the gateway's key.

use std::sync::Arc;

use async_trait::async_trait;
use cache::Cache;
use http::{Extensions, HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;
use s3s::path::{S3Path, parse_path_style};
use s3s::route::S3Route;
use s3s::{Body, S3, S3Request, S3Response, S3Result};

mod conditions;
mod deletion;
mod documents;
mod download;
mod forward;
mod headers;
mod invalidation;
mod operation;
mod origin;
mod places;
mod reads;
mod settings;
mod sign;
mod upload;
mod upstream;

use self::deletion::Deletion;
use self::forward::ForwardedRequest;
use self::invalidation::{InvalidatedObjects, Invalidation};
use self::operation::{OTHER, Operation, PREFLIGHT};
use self::places::{Places, Route};

use self::reads::{Read, Reads};
use self::upstream::Upstream;
use crate::access::check_lifetime;
use crate::digests::Digests;
use crate::error::fault;
use crate::exchange::Exchange;
use crate::keys::{Keys, Right};
use crate::operation::COPY_SOURCE;
use crate::query::Query;
use crate::signature_checks::Head;

pub(crate) use self::forward::FromUpstream;
pub use self::places::{BucketPrefix, BucketPrefixError, Map, Scope};
pub use self::settings::{GatewayError, GatewaySettings};
pub use self::sign::Credential;

/// Operation name of listing all buckets.
const LIST_BUCKETS: &str = "ListBuckets";

/// Answers reads from the cache tier and forwards all other requests.
pub(crate) struct Gateway {
    keys: Arc<Keys>,
    places: Places,
    upstream: Arc<Upstream>,
    reads: Reads,
    /// Longest XML body in bytes.
    document_bytes_max: usize,
}

/// The operations of s3s, objects are never called.
pub(crate) struct NoOperations;

impl S3 for NoOperations {}

/// A request and its properties.
struct IncomingRequest {
    request: S3Request<Body>,
    id: Option<String>,
    bucket: String,
    key: Option<String>,
    query: Query,
    operation: Operation,
}

impl Gateway {
    /// Creates a gateway.
    ///
    /// # Errors
    /// If the settings contradict each other, or are not valid for the upstream.
    pub(crate) fn new(
        settings: &GatewaySettings,
        cache: Cache,
        keys: Arc<Keys>,
        document_bytes_max: usize,
    ) -> Result<Self, GatewayError> {
        let upstream = Arc::new(Upstream::new(settings)?);
        Ok(Self {
            keys,
            places: Places::new(settings.scope.clone(), settings.maps.clone())?,
            reads: Reads::new(cache, upstream.clone()),
            upstream,
            document_bytes_max,
        })
    }

    async fn answer(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let head = Head {
            method: &request.method,
            uri: &request.uri,
            headers: &request.headers,
        };
        if head.is_form() {
            return Err(fault("NotImplemented", "the gateway accepts no browser forms"));
        }
        check_lifetime(&request.uri)?;
        let id = request.credentials.as_ref();
        let id = id.map(|credentials| credentials.access_key.clone());
        let query = Query::of(&request.uri);
        let (bucket, key) = match path(&request.uri)? {
            S3Path::Root => return self.buckets(request, id, query).await,
            S3Path::Bucket { bucket } => (bucket.into_string(), None),
            S3Path::Object { bucket, key } => (bucket.into_string(), Some(key.into_string())),
        };
        let operation = Operation::of(&request.method, key.is_some(), &query, &request.headers)?;
        let incoming = IncomingRequest {
            request,
            id,
            bucket,
            key,
            query,
            operation,
        };
        self.note(&incoming);
        self.admit(&incoming)?;
        match (&incoming.key, incoming.operation.name) {
            (None, "DeleteObjects") => self.delete_many(incoming).await,
            (None, _) => self.of_bucket(incoming).await,
            (Some(_), _) => self.of_object(incoming).await,
        }
    }

    /// Records the operation and the sender for the metrics, the log and the connection.
    fn note(&self, incoming: &IncomingRequest) {
        let Some(exchange) = incoming.request.extensions.get::<Arc<Exchange>>() else {
            return;
        };
        exchange.name(incoming.operation.name);
        if incoming.id.is_some() {
            exchange.trust();
        }
        exchange.note(|entry| {
            entry.requester = incoming.id.as_deref().map(|id| self.keys.user(id));
            entry.access_key.clone_from(&incoming.id);
            entry.bucket = Some(incoming.bucket.clone());
            entry.key.clone_from(&incoming.key);
        });
    }

    fn admit(&self, incoming: &IncomingRequest) -> S3Result<()> {
        let id = incoming.id.as_deref();
        if incoming.operation.name == PREFLIGHT
            || self.keys.may(id, &incoming.bucket, incoming.operation.right)
        {
            Ok(())
        } else {
            Err(denied())
        }
    }

    /// Lists the buckets in objects the sender has a right.
    async fn buckets(
        &self,
        mut request: S3Request<Body>,
        id: Option<String>,
        query: Query,
    ) -> S3Result<S3Response<Body>> {
        let Some(id) = id else { return Err(denied()) };
        if request.method != Method::GET {
            return Err(fault("MethodNotAllowed", "buckets are listed with GET"));
        }
        if let Some(exchange) = request.extensions.get::<Arc<Exchange>>() {
            exchange.name(LIST_BUCKETS);
            exchange.trust();
            exchange.note(|entry| {
                entry.requester = Some(self.keys.user(&id));
                entry.access_key = Some(id.clone());
            });
        }
        let forwarded = forward::forwarded_request(&mut request, &Route::without_bucket(), "", query)?;
        let answer = self.ask(forwarded).await?;
        if !answer.status().is_success() {
            return Ok(forward::unchanged(answer));
        }
        // The owner of a bucket is unknown here, so the right `own` is sufficient to see it.
        let shows = |name: &str| {
            let may = |right| self.keys.may(Some(&id), name, right);
            self.places.shows_bucket(name) && crate::keys::ALL_RIGHTS.into_iter().any(may)
        };
        forward::edited(answer, |document| documents::filter_buckets(document, shows)).await
    }

    /// Answers a request about a bucket, or a listing of its content.
    async fn of_bucket(&self, mut incoming: IncomingRequest) -> S3Result<S3Response<Body>> {
        let name = incoming.operation.name;
        let lists = is_listing(name);
        let route = if lists {
            let prefix = incoming.query.get("prefix").unwrap_or_default();
            self.places.route(&incoming.bucket, prefix)
        } else {
            let only_asks = matches!(name, "HeadBucket" | "GetBucketLocation" | PREFLIGHT);
            self.places.bucket_route(&incoming.bucket, only_asks)
        };
        let route = route.ok_or_else(denied)?;
        if lists && route.renames() {
            incoming
                .query
                .change("prefix", |prefix| route.to_upstream(prefix));
            for marker in ["marker", "start-after", "key-marker"] {
                incoming
                    .query
                    .change(marker, |marker| route.marker_to_upstream(marker));
            }
        }
        let _invalidation = incoming.operation.changes.then(|| {
            let bucket = self.reads.of(&route.upstream.bucket);
            Invalidation::new(bucket, InvalidatedObjects::All)
        });
        let forwarded = forward::forwarded_request(&mut incoming.request, &route, "", incoming.query)?;
        let answer = self.ask(forwarded).await?;
        forward::renamed(answer, &route).await
    }

    /// Answers a request about an object.
    async fn of_object(&self, mut incoming: IncomingRequest) -> S3Result<S3Response<Body>> {
        let (route, key) = self.object(&incoming.bucket, incoming.key.as_deref().unwrap_or_default())?;
        if let Some(read) = Read::of(incoming.operation, &incoming.query, &incoming.request.headers)
            && let Some(answer) = self.reads.answer(&read, &route, &key).await?
        {
            return Ok(answer);
        }
        let source = self.source(&incoming)?;
        let _invalidation = incoming.operation.changes.then(|| {
            let objects = match incoming.operation.name {
                OTHER => InvalidatedObjects::All,
                _ => InvalidatedObjects::Keys(vec![key.clone()]),
            };
            Invalidation::new(self.reads.of(&route.upstream.bucket), objects)
        });
        let mut forwarded = forward::forwarded_request(&mut incoming.request, &route, &key, incoming.query)?;
        if let Some(source) = source {
            forwarded.ask.headers.insert(COPY_SOURCE, source);
        }
        let answer = self.ask(forwarded).await?;
        if incoming.operation.name == "GetObject" && answer.status().is_success() {
            // An object's content may look like a document of the upstream.
            Ok(forward::unchanged(answer))
        } else {
            forward::renamed(answer, &route).await
        }
    }

    /// Returns the route and the upstream key of an object.
    fn object(&self, bucket: &str, key: &str) -> S3Result<(Route, String)> {
        let route = self.places.route(bucket, key).ok_or_else(denied)?;
        let key = route.to_upstream(key);
        if key.is_empty() {
            // Without a key the request would concern the bucket.
            Err(fault("NoSuchKey", "a mapped folder is not an object"))
        } else {
            Ok((route, key))
        }
    }

    /// Returns the source of a copy under its upstream names.
    fn source(&self, incoming: &IncomingRequest) -> S3Result<Option<http::HeaderValue>> {
        if !matches!(incoming.operation.name, "CopyObject" | "UploadPartCopy") {
            return Ok(None);
        }
        let (bucket, key, version) = forward::copy_source(&incoming.request.headers)?;
        if !self.keys.may(incoming.id.as_deref(), &bucket, Right::Read) {
            return Err(denied());
        }
        let (route, key) = self.object(&bucket, &key)?;
        forward::copy_source_value(&route, &key, version.as_deref()).map(Some)
    }

    async fn delete_many(&self, mut incoming: IncomingRequest) -> S3Result<S3Response<Body>> {
        let exchange = incoming.request.extensions.get::<Arc<Exchange>>();
        if let (Some(exchange), Some(digests)) = (
            exchange,
            Digests::of(incoming.operation.name, &incoming.request.headers)?,
        ) {
            exchange.body.expect(digests);
        }
        let body = &mut incoming.request.input;
        let document = body.store_all_limited(self.document_bytes_max).await;
        let document = document.map_err(|error| fault("IncompleteBody", error.to_string()))?;
        let deletion = Deletion::read(&document, &incoming.bucket, &self.places)?;
        let bucket = self.reads.of(&deletion.route.upstream.bucket);
        let _invalidation = Invalidation::new(bucket, InvalidatedObjects::Keys(deletion.keys.clone()));
        let mut forwarded =
            forward::forwarded_request(&mut incoming.request, &deletion.route, "", incoming.query)?;
        deletion.set_digest(&mut forwarded.ask.headers)?;
        forwarded.ask.payload = sign::UNSIGNED.to_owned();
        forwarded.ask.content = upstream::whole(deletion.document.into());
        let answer = self.ask(forwarded).await?;
        forward::renamed(answer, &deletion.route).await
    }

    async fn ask(&self, forwarded: ForwardedRequest) -> S3Result<http::Response<hyper::body::Incoming>> {
        let answer = self.upstream.ask(forwarded.ask).await;
        answer.map_err(|error| forward::no_response_error(&error, &forwarded.faults))
    }
}

#[async_trait]
impl S3Route for Gateway {
    fn is_match(&self, _: &Method, _: &Uri, _: &HeaderMap, _: &mut Extensions) -> bool {
        true
    }

    /// Allows everything: [`S3Route::call`] decides, because it knows the operation, and public
    /// objects need no signature.
    async fn check_access(&self, _: &mut S3Request<Body>) -> S3Result<()> {
        Ok(())
    }

    async fn call(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        self.answer(request).await
    }
}

fn denied() -> s3s::S3Error {
    fault("AccessDenied", "access denied")
}

/// Reports whether an operation lists keys with a prefix.
fn is_listing(operation: &str) -> bool {
    matches!(
        operation,
        "ListObjects" | "ListObjectsV2" | "ListObjectVersions" | "ListMultipartUploads"
    )
}

/// Returns the bucket and the key in a URL.
fn path(uri: &Uri) -> S3Result<S3Path> {
    let wrong = || fault("InvalidURI", "the path must be /BUCKET/KEY");
    let path = percent_decode_str(uri.path());
    let path = path.decode_utf8().map_err(|_| wrong())?;
    parse_path_style(&path).map_err(|_| wrong())
}
