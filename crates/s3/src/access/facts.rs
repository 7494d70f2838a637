//! Properties of a request that the conditions of a policy can test.

use std::net::IpAddr;

use http::{HeaderMap, Uri};
use s3s::dto::{PostObjectInput, Tag};
use time::OffsetDateTime;
use url::form_urlencoded;

use crate::policy::{Facts, MAX_KEYS, REQUEST_TAG, SECURE, SOURCE_IP, TIME, header_keys};

/// The retention mode that a form requests.
pub(super) const LOCK_MODE: &str = "s3:object-lock-mode";

/// The legal hold that a form requests.
pub(super) const LOCK_HOLD: &str = "s3:object-lock-legal-hold";

/// The remote end of a connection. `X-Forwarded-For` and similar headers are ignored, because any
/// client can send them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// Its IP address.
    pub(crate) address: IpAddr,
    /// Whether the connection uses TLS.
    pub(crate) secure: bool,
}

/// Returns the facts from a request's headers, URL and connection.
pub(super) fn of_request(headers: &HeaderMap, uri: &Uri, user: Option<&str>, peer: Option<Peer>) -> Facts {
    let mut facts = Facts::new();
    let mut add = |key: &str, value: String| facts.insert(key.to_owned(), value);
    for (key, header) in header_keys() {
        if let Some(value) = headers.get(header) {
            add(key, String::from_utf8_lossy(value.as_bytes()).into_owned());
        }
    }
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "prefix" => add("s3:prefix", value.into_owned()),
            "delimiter" => add("s3:delimiter", value.into_owned()),
            "max-keys" => add(MAX_KEYS, value.into_owned()),
            _ => None,
        };
    }
    if let Some(user) = user {
        add("aws:username", user.to_owned());
    }
    if let Some(peer) = peer {
        add(SOURCE_IP, peer.address.to_string());
        add(SECURE, peer.secure.to_string());
    }
    add(
        TIME,
        OffsetDateTime::from(system::wall()).unix_timestamp().to_string(),
    );
    if let Some(tags) = headers.get("x-amz-tagging") {
        facts.extend(request_tags(form_urlencoded::parse(tags.as_bytes())));
    }
    facts
}

/// Returns the facts from the fields of a form, which take the place of headers.
pub(super) fn of_form(input: &PostObjectInput) -> Facts {
    let fields = [
        (
            "s3:x-amz-acl",
            input.acl.as_ref().map(|acl| acl.as_str().to_owned()),
        ),
        (
            LOCK_MODE,
            input
                .object_lock_mode
                .as_ref()
                .map(|mode| mode.as_str().to_owned()),
        ),
        (
            LOCK_HOLD,
            input
                .object_lock_legal_hold_status
                .as_ref()
                .map(|status| status.as_str().to_owned()),
        ),
        ("s3:x-amz-grant-full-control", input.grant_full_control.clone()),
        ("s3:x-amz-grant-read", input.grant_read.clone()),
        ("s3:x-amz-grant-read-acp", input.grant_read_acp.clone()),
        ("s3:x-amz-grant-write-acp", input.grant_write_acp.clone()),
        (
            "s3:x-amz-storage-class",
            input
                .storage_class
                .as_ref()
                .map(|class| class.as_str().to_owned()),
        ),
        (
            "s3:x-amz-website-redirect-location",
            input.website_redirect_location.clone(),
        ),
    ];
    let fields = fields.into_iter();
    let mut facts: Facts = fields
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect();
    let tags = input.tagging.as_deref().unwrap_or_default();
    facts.extend(request_tags(form_urlencoded::parse(tags.as_bytes())));
    facts
}

/// Returns the facts from the tags to be set on an object.
pub(super) fn of_tags(tags: &[Tag]) -> Facts {
    let pairs = tags.iter().map(|tag| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default().into();
        (text(&tag.key), text(&tag.value))
    });
    request_tags(pairs)
}

fn request_tags<'a>(
    tags: impl Iterator<Item = (std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)>,
) -> Facts {
    tags.map(|(name, value)| (format!("{REQUEST_TAG}{name}"), value.into_owned()))
        .collect()
}
