//! Pages of an S3 store's listing, requested here because the object store client parses keys as
//! paths: it refuses keys with empty segments and strips a trailing slash.

use std::io::{self, ErrorKind};

use http::{Method, Request, StatusCode};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{HttpClient, HttpErrorKind, HttpRequestBody};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use serde::Deserialize;

use crate::bucket::{WRONG_REGION, is_no_bucket, is_refused, is_wrong_region};
use crate::failure::{Failure, with_causes};
use crate::listed_page::{ListedObject, ListedPage};
use crate::remote::Shared;
use crate::s3::{options, refused, region};
use crate::s3_error::in_a_sentence;

/// Characters that a signature leaves unescaped (RFC 3986, 2.3).
const KEPT: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The listing of one bucket.
pub(crate) struct S3Listing {
    client: HttpClient,
    bucket: String,
    /// Its URL, without a trailing slash.
    url: String,
    region: String,
    /// Credentials; without them requests are not signed.
    credential: Option<AwsCredential>,
    /// Advice for the error when access is refused.
    refused: String,
}

/// The relevant fields of a response. A response without `IsTruncated` is not a listing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    is_truncated: bool,
    encoding_type: Option<String>,
    next_continuation_token: Option<String>,
    #[serde(default)]
    contents: Vec<Contents>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Contents {
    key: String,
    size: u64,
    last_modified: String,
}

impl S3Listing {
    pub(crate) async fn new(shared: &Shared, bucket: &str) -> io::Result<S3Listing> {
        let settings = shared.s3_settings();
        let region = region(settings, bucket, &options(settings)).await;
        let endpoint = match &settings.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://s3.{region}.amazonaws.com"),
        };
        let keys = settings
            .access_key_id
            .clone()
            .zip(settings.secret_access_key.clone());
        Ok(S3Listing {
            client: shared.client()?,
            bucket: bucket.to_owned(),
            url: format!("{endpoint}/{}", percent_encode(bucket.as_bytes(), &KEPT)),
            region,
            credential: keys.map(|(key_id, secret_key)| AwsCredential {
                key_id,
                secret_key,
                token: settings.session_token.clone(),
            }),
            refused: refused(settings),
        })
    }

    pub(crate) async fn page(&self, prefix: &[u8], after: Option<&[u8]>) -> Result<ListedPage, Failure> {
        let mut token: Option<String> = None;
        loop {
            let mut query = Vec::new();
            if let Some(token) = &token {
                query.push(("continuation-token", token.as_bytes()));
            }
            // XML cannot represent some characters that keys may have.
            query.push(("encoding-type", b"url"));
            query.push(("list-type", b"2"));
            query.push(("prefix", prefix));
            if let (None, Some(after)) = (&token, after) {
                query.push(("start-after", after));
            }
            let answer = self.answer(&query).await?;
            let is_encoded = answer.encoding_type.as_deref() == Some("url");
            let page = ListedPage {
                objects: answer
                    .contents
                    .iter()
                    .map(|object| listed(object, is_encoded))
                    .collect::<Result<_, _>>()?,
                is_last: !answer.is_truncated,
            };
            if page.is_last || !page.objects.is_empty() {
                return Ok(page);
            }
            // A store may return an empty page that is not the last one.
            let next = answer
                .next_continuation_token
                .filter(|next| token.as_ref() != Some(next));
            token = Some(next.ok_or_else(|| {
                let what = "the store has more objects, but its response has no continuation token";
                Failure::lasting(ErrorKind::InvalidData, what)
            })?);
        }
    }

    async fn answer(&self, query: &[(&str, &[u8])]) -> Result<Answer, Failure> {
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", percent_encode(value, &KEPT)))
            .collect();
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(format!("{}?{}", self.url, query.join("&")))
            .body(HttpRequestBody::empty())
            .map_err(|error| Failure::lasting(ErrorKind::InvalidInput, error.to_string()))?;
        if let Some(credential) = &self.credential {
            AwsAuthorizer::new(credential, "s3", &self.region).authorize(&mut request, None);
        }
        let response = self.client.execute(request).await.map_err(|error| {
            let text = with_causes(&error);
            match error.kind() {
                HttpErrorKind::Decode => Failure::lasting(ErrorKind::InvalidData, text),
                _ => Failure::passing(text),
            }
        })?;
        let status = response.status();
        let body = response.into_body().bytes().await;
        let body = body.map_err(|error| Failure::passing(with_causes(&error)))?;
        match status {
            StatusCode::OK => quick_xml::de::from_reader(&*body).map_err(|error| {
                let what = format!("the response is not an S3 listing: {error}");
                Failure::lasting(ErrorKind::InvalidData, what)
            }),
            status => Err(self.refusal(status, &String::from_utf8_lossy(&body))),
        }
    }

    /// Returns the failure for a response that is not a listing.
    fn refusal(&self, status: StatusCode, body: &str) -> Failure {
        let text = format!("status code: {status}: {body}");
        let sentence = in_a_sentence(&text, &self.bucket);
        if is_no_bucket(&text) {
            Failure::lasting(ErrorKind::NotFound, sentence)
        } else if is_refused(&text) {
            let told = format!("refused ({}): {}; {sentence}", status.as_u16(), self.refused);
            Failure::lasting(ErrorKind::PermissionDenied, told)
        } else if status.is_redirection() || is_wrong_region(&text) {
            Failure::lasting(ErrorKind::Other, format!("{sentence}; {WRONG_REGION}"))
        } else if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT
        {
            Failure::passing(sentence)
        } else {
            Failure::lasting(ErrorKind::Other, sentence)
        }
    }
}

fn listed(object: &Contents, is_encoded: bool) -> Result<ListedObject, Failure> {
    let key = if is_encoded {
        // A literal plus sign is always escaped; an unescaped one is a space.
        percent_decode_str(&object.key.replace('+', " ")).collect()
    } else {
        object.key.clone().into_bytes()
    };
    let digits: String = object
        .last_modified
        .chars()
        .filter(char::is_ascii_digit)
        .take(17)
        .collect();
    if digits.len() < 14 {
        let what = format!(
            "the modification time of an object is {:?}, expected a date",
            object.last_modified
        );
        return Err(Failure::lasting(ErrorKind::InvalidData, what));
    }
    Ok(ListedObject {
        key,
        size_bytes: object.size,
        modified_ms: format::date::ms_of_digits(&digits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(xml: &str) -> Result<(Vec<ListedObject>, bool), String> {
        let answer: Answer = quick_xml::de::from_reader(xml.as_bytes()).map_err(|error| error.to_string())?;
        let is_encoded = answer.encoding_type.as_deref() == Some("url");
        let objects = answer.contents.iter().map(|object| listed(object, is_encoded));
        let objects = objects
            .collect::<Result<_, _>>()
            .map_err(|_| "an object".to_owned())?;
        Ok((objects, answer.is_truncated))
    }

    #[test]
    fn keys_are_as_they_were_written() {
        let xml = "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <Name>b</Name><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>\n\
            <Contents><Key>a//b%2B+c%20%01/</Key><LastModified>2009-10-12T17:50:30.250Z</LastModified><ETag>&quot;x&quot;</ETag><Size>7</Size></Contents>\n\
            <Contents><Key>%C3%A4</Key><LastModified>1970-01-01T00:00:01Z</LastModified><Size>0</Size><StorageClass>STANDARD</StorageClass></Contents>\
            </ListBucketResult>";
        let (objects, is_truncated) = read(xml).unwrap();
        let expected = [
            (&b"a//b+ c \x01/"[..], 7, 1_255_369_830_250),
            ("ä".as_bytes(), 0, 1_000),
        ];
        let found: Vec<_> = objects
            .iter()
            .map(|object| (&*object.key, object.size_bytes, object.modified_ms))
            .collect();
        assert_eq!(found, expected);
        assert!(is_truncated);
    }

    /// Regression test: a proxy answered with its own page and status 200. Taken as an empty
    /// listing, it would have emptied a tree of the file catalogue.
    #[test]
    fn what_is_no_listing_is_not_taken_for_an_empty_one() {
        for wrong in [
            "",
            "<html><body>Welcome</body></html>",
            "<ListBucketResult></ListBucketResult>",
            "{}",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let empty = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(read(empty), Ok((Vec::new(), false)));
    }
}
