//! Checks which fields records of a type must and must not have, and the format of their values
//! (WARC/1.1, clauses 5 and 6).

use std::net::IpAddr;

use warc::{Format, Kind, Record};

use super::date;
use super::rules::{self, FIELD_FORBIDDEN, Rule};

type Broken = Vec<(&'static Rule, String)>;

/// Fields that the standard defines and that must not be repeated.
const ONCE: [&str; 20] = [
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "Content-Length",
    "Content-Type",
    "WARC-Block-Digest",
    "WARC-Payload-Digest",
    "WARC-IP-Address",
    "WARC-Refers-To",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
    "WARC-Target-URI",
    "WARC-Truncated",
    "WARC-Warcinfo-ID",
    "WARC-Filename",
    "WARC-Profile",
    "WARC-Identified-Payload-Type",
    "WARC-Segment-Origin-ID",
    "WARC-Segment-Number",
    "WARC-Segment-Total-Length",
];

/// Adds the violations in the fields of a WARC record.
pub(super) fn check(record: &Record, broken: &mut Broken) {
    repeated(record, broken);
    identity(record, broken);
    date(record, broken);
    target(record, broken);
    forbidden(record, broken);
    revisit(record, broken);
    segment(record, broken);
    values(record, broken);
}

fn is_1_0(record: &Record) -> bool {
    matches!(record.format, Format::Warc(major, minor) if (major, minor) < (1, 1))
}

fn repeated(record: &Record, broken: &mut Broken) {
    for name in ONCE {
        let given = record
            .headers
            .iter()
            .filter(|field| field.0.eq_ignore_ascii_case(name));
        let times = given.count();
        if times > 1 {
            broken.push((&rules::FIELD_REPEATED, format!("{name} occurs {times} times")));
        }
    }
}

fn identity(record: &Record, broken: &mut Broken) {
    match record.headers.get("WARC-Record-ID") {
        None => broken.push((&rules::RECORD_ID_MISSING, "no WARC-Record-ID".to_owned())),
        Some(id) if !is_id(id) => broken.push((&rules::RECORD_ID, format!("WARC-Record-ID is {id:?}"))),
        Some(_) => {}
    }
    for (name, value) in record.headers.iter() {
        let names_a_record = [
            "WARC-Concurrent-To",
            "WARC-Refers-To",
            "WARC-Warcinfo-ID",
            "WARC-Segment-Origin-ID",
        ]
        .iter()
        .any(|field| name.eq_ignore_ascii_case(field));
        if names_a_record && !is_id(value) {
            broken.push((&rules::REFERENCE, format!("{name} is {value:?}")));
        }
    }
}

fn date(record: &Record, broken: &mut Broken) {
    match record.headers.get("WARC-Date") {
        None => broken.push((&rules::DATE_MISSING, "no WARC-Date".to_owned())),
        Some(text) if !date::is_valid(text, is_1_0(record)) => {
            broken.push((&rules::DATE, format!("WARC-Date is {text:?}")));
        }
        Some(_) => {}
    }
    if let Some(text) = record.headers.get("WARC-Refers-To-Date")
        && !date::is_valid(text, is_1_0(record))
    {
        broken.push((&rules::DATE, format!("WARC-Refers-To-Date is {text:?}")));
    }
}

fn target(record: &Record, broken: &mut Broken) {
    let Some(written) = record.headers.get("WARC-Target-URI") else {
        if !matches!(record.kind, Kind::Warcinfo | Kind::Metadata | Kind::Unknown) {
            let detail = format!("a {} record without WARC-Target-URI", record.kind.as_str());
            broken.push((&rules::TARGET_URI_MISSING, detail));
        }
        return;
    };
    let bare = record.target().unwrap_or(written);
    // WARC/1.0 has brackets in its grammar but not in its examples, so both are accepted there.
    if !is_uri(bare) || (bare != written && !is_1_0(record)) {
        broken.push((&rules::TARGET_URI, format!("WARC-Target-URI is {written:?}")));
    } else if bare.contains(|c: char| !c.is_ascii() || "\"<>\\^`{|}".contains(c)) {
        broken.push((
            &rules::TARGET_URI_CHARACTERS,
            format!("WARC-Target-URI is {written:?}"),
        ));
    }
}

fn forbidden(record: &Record, broken: &mut Broken) {
    use Kind::{Continuation, Conversion, Metadata, Request, Resource, Response, Revisit, Warcinfo};
    let [
        concurrent,
        payload,
        ip,
        refers,
        refers_other,
        target,
        warcinfo,
        filename,
        profile,
        origin,
        total,
    ] = &FIELD_FORBIDDEN;
    let not_in: [(&str, &'static Rule, &[Kind]); 6] = [
        (
            "WARC-Concurrent-To",
            concurrent,
            &[Warcinfo, Conversion, Continuation],
        ),
        ("WARC-Payload-Digest", payload, &[Warcinfo, Metadata]),
        ("WARC-IP-Address", ip, &[Warcinfo, Conversion, Continuation]),
        (
            "WARC-Refers-To",
            refers,
            &[Warcinfo, Response, Resource, Request, Continuation],
        ),
        ("WARC-Target-URI", target, &[Warcinfo]),
        ("WARC-Warcinfo-ID", warcinfo, &[Warcinfo]),
    ];
    let only_in: [(&str, &'static Rule, Kind); 6] = [
        ("WARC-Refers-To-Target-URI", refers_other, Revisit),
        ("WARC-Refers-To-Date", refers_other, Revisit),
        ("WARC-Filename", filename, Warcinfo),
        ("WARC-Profile", profile, Revisit),
        ("WARC-Segment-Origin-ID", origin, Continuation),
        ("WARC-Segment-Total-Length", total, Continuation),
    ];
    let mut tell = |name: &str, rule: &'static Rule, is_forbidden: bool| {
        if is_forbidden && record.headers.get(name).is_some() {
            broken.push((rule, format!("a {} record with {name}", record.kind.as_str())));
        }
    };
    for (name, rule, kinds) in not_in {
        tell(name, rule, kinds.contains(&record.kind));
    }
    for (name, rule, kind) in only_in {
        // WARC/1.0 does not define these two fields, so they are extensions there, for which it has
        // no rules.
        let is_extension = std::ptr::eq(rule, refers_other) && is_1_0(record);
        tell(
            name,
            rule,
            !matches!(record.kind, Kind::Unknown) && record.kind != kind && !is_extension,
        );
    }
}

fn revisit(record: &Record, broken: &mut Broken) {
    if record.kind != Kind::Revisit {
        return;
    }
    let has = |name: &str| record.headers.get(name).is_some();
    let Some(profile) = record.headers.get("WARC-Profile") else {
        broken.push((
            &rules::PROFILE_MISSING,
            "a revisit without WARC-Profile".to_owned(),
        ));
        return;
    };
    if !profile
        .trim_end_matches('>')
        .ends_with("/identical-payload-digest")
    {
        return;
    }
    if !has("WARC-Payload-Digest") {
        broken.push((
            &rules::REVISIT_DIGEST,
            "a revisit without WARC-Payload-Digest".to_owned(),
        ));
    }
    let refers = has("WARC-Refers-To") || (has("WARC-Refers-To-Target-URI") && has("WARC-Refers-To-Date"));
    if !refers {
        let detail = "neither WARC-Refers-To nor WARC-Refers-To-Target-URI and -Date";
        broken.push((&rules::REVISIT_REFERS, detail.to_owned()));
    }
}

fn segment(record: &Record, broken: &mut Broken) {
    let number = record.headers.get("WARC-Segment-Number");
    let is_continuation = record.kind == Kind::Continuation;
    let is_right = match (number, is_continuation) {
        (None, is_continuation) => !is_continuation,
        (Some(text), false) => text == "1",
        (Some(text), true) => text.parse::<u64>().is_ok_and(|number| number > 1),
    };
    if !is_right {
        let detail = format!(
            "{} in a {} record",
            number.unwrap_or("missing"),
            record.kind.as_str()
        );
        broken.push((&rules::SEGMENT_NUMBER, format!("WARC-Segment-Number: {detail}")));
    }
    if is_continuation && record.headers.get("WARC-Segment-Origin-ID").is_none() {
        broken.push((&rules::SEGMENT_ORIGIN, "no WARC-Segment-Origin-ID".to_owned()));
    }
}

fn values(record: &Record, broken: &mut Broken) {
    if let Some(text) = record.headers.get("WARC-IP-Address")
        && text.parse::<IpAddr>().is_err()
    {
        broken.push((&rules::IP_ADDRESS, format!("WARC-IP-Address is {text:?}")));
    }
    if record.body_length > 0
        && record.kind != Kind::Continuation
        && record.headers.get("Content-Type").is_none()
    {
        let detail = format!("a {} record without Content-Type", record.kind.as_str());
        broken.push((&rules::CONTENT_TYPE_MISSING, detail));
    }
}

/// Returns whether a text is a URI in angle brackets.
fn is_id(text: &str) -> bool {
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    bare.is_some_and(is_uri)
}

/// Returns whether a text begins with a scheme (RFC 3986, 3.1) and has no blanks.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let begins = scheme
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic());
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    begins
        && scheme.bytes().all(goes_on)
        && !rest.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}
