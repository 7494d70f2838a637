//! A line of the access log: the sender, the request and the outcome.

use http::HeaderMap;
use listen::TlsSession;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode, utf8_percent_encode};
use serde::Serialize;
use time::OffsetDateTime;

use crate::signature_checks::SigningMethod;

/// Characters that would end or break a quoted field.
const QUOTED: AsciiSet = CONTROLS.add(b'"').add(b'\\');

/// Characters that would break an unquoted field.
const BARE: AsciiSet = QUOTED.add(b' ');

/// Query parameters that would let a reader of the log reuse the URL.
const SECRET: [&str; 3] = ["X-Amz-Signature", "Signature", "X-Amz-Security-Token"];

/// Month names as in S3's logs.
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// One request. Times are in milliseconds, sizes in bytes; unknown values are `None`.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Entry {
    /// When it arrived, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    pub(crate) request_id: String,
    /// IP address of the remote end of the connection.
    pub(crate) remote_ip: String,
    /// User of the key that signed the request.
    pub(crate) requester: Option<String>,
    pub(crate) access_key: Option<String>,
    /// Owner of the bucket, if the access check read it.
    pub(crate) bucket_owner: Option<String>,
    pub(crate) bucket: Option<String>,
    pub(crate) key: Option<String>,
    /// S3's operation name.
    pub(crate) operation: String,
    pub(crate) method: String,
    /// Path and query, without signatures and tokens.
    pub(crate) uri: String,
    pub(crate) status: u16,
    /// S3's error code.
    pub(crate) error: Option<String>,
    /// Bytes of the response's body.
    pub(crate) bytes_sent: u64,
    /// Bytes of the request's body.
    pub(crate) bytes_received: u64,
    /// Bytes of the whole object, if any of it was read.
    pub(crate) object_bytes: Option<u64>,
    /// From the request's head to the response's last byte.
    pub(crate) total_ms: u64,
    /// From the request's head to the response's head.
    pub(crate) turnaround_ms: u64,
    pub(crate) referer: Option<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) host: Option<String>,
    #[serde(skip)]
    pub(crate) signing_method: SigningMethod,
    #[serde(skip)]
    pub(crate) tls: Option<TlsSession>,
}

/// A line in JSON: an entry with additional fields.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    entry: &'a Entry,
    signature: Option<&'static str>,
    authentication: Option<&'static str>,
    tls: Option<&'a str>,
}

impl Entry {
    /// Creates an entry from the head of a request.
    pub(crate) fn of<B>(request: &http::Request<B>) -> Self {
        let headers = request.headers();
        let now = OffsetDateTime::from(system::wall()).unix_timestamp_nanos() / 1_000_000;
        Self {
            time_ms: u64::try_from(now).unwrap_or_default(),
            method: request.method().as_str().to_owned(),
            uri: without_secrets(request.uri()),
            referer: text(headers, "referer"),
            user_agent: text(headers, "user-agent"),
            host: text(headers, "host"),
            ..Self::default()
        }
    }

    /// Returns the entry as JSON on one line.
    pub(super) fn to_json(&self) -> String {
        let line = Line {
            time: iso(self.time_ms),
            entry: self,
            signature: self.signing_method.version,
            authentication: self.signing_method.place,
            tls: self.tls.as_ref().map(|tls| tls.version.as_str()),
        };
        // Texts and numbers always serialize to JSON.
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Returns the entry as a line of S3's server access logs, up to the field `aclRequired`.
    pub(super) fn to_s3(&self) -> String {
        let key = self
            .key
            .as_ref()
            .map(|key| utf8_percent_encode(key, &BARE).to_string());
        let uri = format!("{} {} HTTP/1.1", self.method, self.uri);
        let (version, cipher) = self.tls.clone().map(|tls| (tls.version, tls.cipher)).unzip();
        let number = |number: u64| {
            if number == 0 {
                "-".to_owned()
            } else {
                number.to_string()
            }
        };
        [
            bare(self.bucket_owner.as_deref()),
            bare(self.bucket.as_deref()),
            format!("[{}]", clf(self.time_ms)),
            bare(Some(&self.remote_ip)),
            bare(self.requester.as_deref()),
            bare(Some(&self.request_id)),
            rest_name(&self.method, &self.operation),
            key.unwrap_or_else(|| "-".to_owned()),
            quoted(Some(&uri)),
            number(u64::from(self.status)),
            bare(self.error.as_deref()),
            number(self.bytes_sent),
            self.object_bytes
                .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            self.total_ms.to_string(),
            self.turnaround_ms.to_string(),
            quoted(self.referer.as_deref()),
            quoted(self.user_agent.as_deref()),
            // Unused fields: version of the object, and host id.
            "- -".to_owned(),
            bare(self.signing_method.version),
            bare(cipher.as_deref()),
            bare(self.signing_method.place),
            bare(self.host.as_deref()),
            bare(version.as_deref()),
            // Unused fields: access point, and whether an ACL was needed.
            "- -".to_owned(),
        ]
        .join(" ")
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    Some(percent_encode(value.as_bytes(), &QUOTED).to_string())
}

fn without_secrets(uri: &http::Uri) -> String {
    let Some(query) = uri.query() else {
        return uri.path().to_owned();
    };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if SECRET.contains(&name) => format!("{name}=..."),
        _ => pair.to_owned(),
    });
    format!("{}?{}", uri.path(), pairs.collect::<Vec<_>>().join("&"))
}

fn bare(text: Option<&str>) -> String {
    let text = text.filter(|text| !text.is_empty());
    text.map_or_else(
        || "-".to_owned(),
        |text| utf8_percent_encode(text, &BARE).to_string(),
    )
}

fn quoted(text: Option<&str>) -> String {
    let text = text.map(|text| utf8_percent_encode(text, &QUOTED).to_string());
    format!("\"{}\"", text.as_deref().unwrap_or("-"))
}

fn civil(time_ms: u64) -> OffsetDateTime {
    let seconds = i64::try_from(time_ms / 1000).unwrap_or_default();
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn iso(time_ms: u64) -> String {
    let time = civil(time_ms);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time_ms % 1000,
    )
}

/// Formats a time like `22/Nov/2026:10:15:00 +0000`.
fn clf(time_ms: u64) -> String {
    let time = civil(time_ms);
    let month = MONTHS[usize::from(u8::from(time.month())) - 1];
    format!(
        "{:02}/{month}/{:04}:{:02}:{:02}:{:02} +0000",
        time.day(),
        time.year(),
        time.hour(),
        time.minute(),
        time.second(),
    )
}

/// Returns an operation's name in S3's access logs, such as `REST.PUT.OBJECT`.
fn rest_name(method: &str, operation: &str) -> String {
    let resource = match operation {
        "GetObject" | "HeadObject" | "PutObject" | "DeleteObject" | "PostObject" => "OBJECT",
        "CopyObject" => return "REST.COPY.OBJECT".to_owned(),
        "UploadPartCopy" => return "REST.COPY.PART".to_owned(),
        "GetObjectAttributes" => "OBJECT_ATTRIBUTES",
        "ListBuckets" => "SERVICE",
        "ListObjects" | "ListObjectsV2" | "CreateBucket" | "DeleteBucket" | "HeadBucket" => "BUCKET",
        "ListObjectVersions" => "BUCKETVERSIONS",
        "DeleteObjects" => "MULTI_OBJECT_DELETE",
        "CreateMultipartUpload" | "ListMultipartUploads" => "UPLOADS",
        "CompleteMultipartUpload" | "AbortMultipartUpload" | "ListParts" => "UPLOAD",
        "UploadPart" => "PART",
        "GetObjectTagging" | "PutObjectTagging" | "DeleteObjectTagging" => "OBJECT_TAGGING",
        "GetBucketTagging" | "PutBucketTagging" | "DeleteBucketTagging" => "TAGGING",
        "GetBucketPolicy" | "PutBucketPolicy" | "DeleteBucketPolicy" => "BUCKETPOLICY",
        "GetBucketCors" | "PutBucketCors" | "DeleteBucketCors" => "CORS",
        "Preflight" => "PREFLIGHT",
        name if name.ends_with("Acl") => "ACL",
        "GetBucketLocation" => "LOCATION",
        "GetBucketVersioning" => "VERSIONING",
        name => name,
    };
    format!("REST.{method}.{}", resource.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let request = http::Request::builder()
            .uri("/crawls/a%20b?X-Amz-Signature=abc&x=%22")
            .header("user-agent", "a \"b\"\\")
            .header("host", "localhost:9000");
        Entry {
            time_ms: 1_772_600_767_089,
            request_id: "ID".to_owned(),
            remote_ip: "192.0.2.1".to_owned(),
            requester: Some("ann b".to_owned()),
            bucket: Some("crawls".to_owned()),
            key: Some("a b\n\"".to_owned()),
            operation: "GetObject".to_owned(),
            status: 206,
            bytes_sent: 10,
            object_bytes: Some(99),
            total_ms: 7,
            turnaround_ms: 3,
            ..Entry::of(&request.body(()).unwrap())
        }
    }

    /// Amazon's documentation has an example with these fields in this order.
    #[test]
    fn a_line_in_the_format_of_s3() {
        let mut entry = entry();
        entry.time_ms = 1_772_600_767_089;
        entry.signing_method = SigningMethod {
            version: Some("SigV4"),
            place: Some("QueryString"),
        };
        assert_eq!(
            entry.to_s3(),
            "- crawls [04/Mar/2026:05:06:07 +0000] 192.0.2.1 ann%20b ID REST.GET.OBJECT a%20b%0A%22 \
             \"GET /crawls/a%20b?X-Amz-Signature=...&x=%22 HTTP/1.1\" 206 - 10 99 7 3 \"-\" \"a %22b%22%5C\" - - SigV4 - \
             QueryString localhost:9000 - - -"
        );
    }

    #[test]
    fn a_line_of_json_has_no_line_end_inside() {
        let mut entry = entry();
        entry.time_ms = 1_772_600_767_089;
        let line = entry.to_json();
        assert!(!line.contains('\n'), "{line}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["time"], "2026-03-04T05:06:07.089Z");
        assert_eq!(value["key"], "a b\n\"");
        assert_eq!(value["bytes_sent"], 10);
        assert!(value["uri"].as_str().is_some_and(|uri| !uri.contains("abc")));
    }
}
