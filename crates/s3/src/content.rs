//! Content for the store, with the client's declarations about it: length, MD5, and a checksum in a
//! header or trailer.

use std::sync::Arc;

use data_encoding::BASE64;
use http::{Extensions, HeaderMap};
use s3s::dto::{Checksum, StreamingBlob};
use s3s::stream::ByteStream as _;
use s3s::{S3Error, S3Result, TrailingHeaders};
use store::{ByteStream, Finisher, FinisherError, Put, StoreError};

use crate::body::{self, Faults};
use crate::checksum::{self, Algorithm, Declared, Summing};
use crate::error::{fault, from_store};
use crate::exchange::Exchange;

/// The parts of a request that hold or describe content.
pub(crate) struct RequestContent<'a> {
    pub(crate) body: Option<StreamingBlob>,
    pub(crate) length: Option<i64>,
    pub(crate) md5: Option<String>,
    pub(crate) sums: Checksum,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) trailers: Option<TrailingHeaders>,
    pub(crate) extensions: &'a Extensions,
}

/// Content to be written to the store.
pub(crate) struct UploadContent {
    /// The content's bytes.
    pub(crate) stream: ByteStream,
    /// The declarations that the store checks.
    pub(crate) put: Put,
    faults: Faults,
}

impl UploadContent {
    /// Returns the content of a request. With `algorithm`, that checksum is computed even if the
    /// client declared none; declaring a different algorithm is an error.
    pub(crate) fn of_request(
        request_content: RequestContent<'_>,
        algorithm: Option<Algorithm>,
        bytes_max: u64,
    ) -> S3Result<Self> {
        let declared = Declared::of(&request_content.sums, request_content.headers)?;
        if let (Some(algorithm), Some(declared)) = (algorithm, &declared)
            && algorithm != declared.algorithm
        {
            let (wanted, found) = (algorithm.name(), declared.algorithm.name());
            let detail = format!("checksum type mismatch: the upload has {wanted}, the part {found}");
            return Err(fault("InvalidRequest", detail));
        }
        let size = length(&request_content)?;
        // The declared length is checked before any content is received.
        if size > bytes_max {
            let detail = format!("the body has {size} bytes, at most {bytes_max} are allowed");
            return Err(fault("EntityTooLarge", detail));
        }
        let md5 = request_content.md5.as_deref().map(decode_md5).transpose()?;
        let exchange = request_content.extensions.get::<Arc<Exchange>>().cloned();
        let summing = declared
            .as_ref()
            .map(|declared| declared.algorithm)
            .or(algorithm)
            .map(Summing::new);
        let faults = Faults::default();
        let stream = body::to_store(request_content.body, summing.clone(), faults.clone(), exchange);
        let put = Put {
            size: Some(size),
            md5,
            finisher: summing
                .map(|summing| finisher(summing, declared, request_content.trailers, faults.clone())),
            ..Put::default()
        };
        Ok(Self { stream, put, faults })
    }

    /// Returns content read from an object in the store, with a checksum computed on the way.
    pub(crate) fn of_store(stream: ByteStream, size: u64, algorithm: Option<Algorithm>) -> Self {
        let faults = Faults::default();
        let summing = algorithm.map(Summing::new);
        let stream = body::summed(stream, summing.clone());
        let put = Put {
            size: Some(size),
            finisher: summing.map(|summing| finisher(summing, None, None, faults.clone())),
            ..Put::default()
        };
        Self { stream, put, faults }
    }

    /// Returns the bytes, the declarations, and a function that converts errors of the store to
    /// S3's.
    pub(crate) fn into_parts(self) -> (ByteStream, Put, impl FnOnce(StoreError) -> S3Error) {
        let faults = self.faults;
        (self.stream, self.put, move |error| {
            // An error noted by the stream is the cause: the store saw only that the content broke
            // off.
            faults.take().unwrap_or_else(|| from_store(error))
        })
    }
}

/// Returns the store's finisher, which compares the checksum and stores it.
fn finisher(
    summing: Summing,
    declared: Option<Declared>,
    trailers: Option<TrailingHeaders>,
    faults: Faults,
) -> Finisher {
    Box::new(move |digests, _, attributes| {
        let found = summing.finish(&digests.sha256);
        if let Some(declared) = declared {
            checksum::compare(&declared, trailers.as_ref(), &found).map_err(|error| {
                let text = error.message().unwrap_or_default().to_owned();
                faults.note(error);
                FinisherError::from(text)
            })?;
        }
        attributes.insert(summing.algorithm().header().to_owned(), found);
        attributes.insert(checksum::TYPE.to_owned(), checksum::FULL_OBJECT.to_owned());
        Ok(())
    })
}

/// Returns the content's length, which S3 requires.
fn length(request_content: &RequestContent<'_>) -> S3Result<u64> {
    let of_body = || match &request_content.body {
        Some(body) => body.remaining_length().exact().map(|length| length as u64),
        None => Some(0),
    };
    let length = match request_content.length {
        Some(length) => u64::try_from(length).ok(),
        None => of_body(),
    };
    length.ok_or_else(|| fault("MissingContentLength", "content requires a Content-Length"))
}

fn decode_md5(text: &str) -> S3Result<[u8; 16]> {
    let bytes = BASE64
        .decode(text.as_bytes())
        .ok()
        .and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| fault("InvalidDigest", "Content-MD5 is not 16 bytes in Base64"))
}
