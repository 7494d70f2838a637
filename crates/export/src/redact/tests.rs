use proptest::prelude::*;
use warc::{Compression, Draft, Kind, Writer};

use super::*;

/// Captures fetched before this time, in milliseconds, are taken down.
const BEFORE_MS: i64 = 1_000_000;

fn rules() -> TakedownRules {
    let written = serde_json::json!({
        "key": vec![0; 32],
        "rules": [[1, { "kind": "before", "before_ms": BEFORE_MS }]],
        "returning": [],
    });
    serde_json::from_value(written).unwrap()
}

/// A part of a synthetic input.
#[derive(Debug, Clone)]
enum Piece {
    Info,
    /// A response, and whether it is old and so taken down.
    Response(bool),
    /// The request of the piece with this number, if that is a response.
    Request(usize),
    /// Metadata of the piece with this number, without a web address.
    Metadata(usize),
    /// A new capture of the same content as the response with this number.
    Revisit(usize),
    /// A response that cannot be used, and whether it is old.
    Unusable(bool),
    Dns,
    /// Bytes that are not a record.
    Damage,
}

fn id(number: usize) -> String {
    format!("<urn:x:{number}>")
}

fn time_ms(old: bool) -> i64 {
    if old { BEFORE_MS - 1000 } else { BEFORE_MS }
}

fn draft(number: usize, piece: &Piece) -> Option<Draft> {
    let url = format!("http://a.example/{number}");
    let http = |text: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{text}").into_bytes();
    let draft = match piece {
        Piece::Info => Draft::warcinfo(0, &[("software", "test")]),
        Piece::Response(old) => Draft::response(&url, time_ms(*old), http("<p>text")),
        // Written later than their responses, so their own time is not old.
        Piece::Request(of) => Draft::request(&url, BEFORE_MS, b"GET / HTTP/1.1\r\n\r\n".to_vec())
            .field("WARC-Concurrent-To", &id(*of)),
        Piece::Metadata(of) => {
            Draft::new(Kind::Metadata, BEFORE_MS, b"via: x".to_vec()).field("WARC-Refers-To", &id(*of))
        }
        Piece::Revisit(of) => {
            Draft::revisit(&url, BEFORE_MS, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", http(""))
                .field("WARC-Refers-To", &id(*of))
        }
        Piece::Unusable(old) => Draft::response(&url, time_ms(*old), b"no HTTP".to_vec()),
        Piece::Dns => Draft::resource("dns:a.example", 0, "text/dns", b"a".to_vec()),
        Piece::Damage => return None,
    };
    Some(draft.field("WARC-Record-ID", &id(number)))
}

/// A plain model of the rules, for one piece.
fn goes(pieces: &[Piece], piece: &Piece) -> bool {
    let mut piece = piece;
    // The record to which a record belongs may itself belong to another, even in a cycle.
    for _ in pieces {
        match piece {
            Piece::Response(old) | Piece::Unusable(old) => return *old,
            Piece::Request(of) | Piece::Metadata(of) => match pieces.get(*of) {
                Some(of) => piece = of,
                None => return false,
            },
            Piece::Dns => return lookup_goes(pieces),
            Piece::Info | Piece::Revisit(_) | Piece::Damage => return false,
        }
    }
    false
}

/// The lookup of the one host is removed with its last response.
fn lookup_goes(pieces: &[Piece]) -> bool {
    let stays = |piece: &Piece| match piece {
        Piece::Response(old) | Piece::Unusable(old) => Some(!old),
        Piece::Revisit(_) => Some(true),
        _ => None,
    };
    let mut contents = pieces.iter().filter_map(stays).peekable();
    contents.peek().is_some() && contents.all(|stays| !stays)
}

fn bytes_of(number: usize, piece: &Piece, compression: Compression) -> Vec<u8> {
    let Some(draft) = draft(number, piece) else {
        return b"no record, and no end of line".repeat(3);
    };
    let mut writer = Writer::new(Vec::new(), compression).unwrap();
    writer.write(&draft).unwrap();
    writer.finish().unwrap()
}

#[track_caller]
fn check(pieces: &[Piece], compression: Compression) {
    let rules = rules();
    let leave_out = RedactionRules {
        rules: &rules,
        collection: "",
        whole: false,
    };
    let bytes: Vec<Vec<u8>> = (0..)
        .zip(pieces)
        .map(|(number, piece)| bytes_of(number, piece, compression.clone()))
        .collect();
    let stays = |piece: &Piece| !goes(pieces, piece);
    let kept: Vec<u8> = pieces
        .iter()
        .zip(&bytes)
        .filter(|(piece, _)| stays(piece))
        .flat_map(|(_, bytes)| bytes.clone())
        .collect();
    let input: Arc<dyn Input> = Arc::new(bytes.concat());
    let redaction = Redaction::plan(input.clone(), "made up", leave_out, |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.warc");
    redaction.write(&*input, &out, false, leave_out, |_| {}).unwrap();
    assert!(std::fs::read(&out).unwrap() == kept, "{pieces:?}");
    let counts = redaction.counts();
    let is_record = |piece: &&Piece| !matches!(piece, Piece::Damage);
    let records = pieces.iter().filter(is_record);
    let (stay, go): (Vec<&Piece>, Vec<&Piece>) = records.partition(|piece| stays(piece));
    assert_eq!(counts.records_kept, stay.len() as u64, "{pieces:?}");
    assert_eq!(
        counts.records_selected + counts.records_concerned,
        go.len() as u64,
        "{pieces:?}"
    );
    assert_eq!(
        (counts.input_bytes, counts.kept_bytes),
        (input.size().unwrap(), kept.len() as u64)
    );
    let naming = |piece: &&&Piece| matches!(piece, Piece::Revisit(of) if pieces.get(*of).is_some_and(|of| goes(pieces, of)));
    assert_eq!(
        counts.records_naming,
        stay.iter().filter(naming).count() as u64,
        "{pieces:?}"
    );
    // Only that file: the temporary file was renamed to it.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        Just(Piece::Info),
        any::<bool>().prop_map(Piece::Response),
        (0..12_usize).prop_map(Piece::Request),
        (0..12_usize).prop_map(Piece::Metadata),
        (0..12_usize).prop_map(Piece::Revisit),
        any::<bool>().prop_map(Piece::Unusable),
        Just(Piece::Dns),
    ]
}

proptest! {
    #[test]
    fn a_copy_has_the_other_records_byte_for_byte(pieces in prop::collection::vec(piece(), 0..12), gzip in any::<bool>()) {
        check(&pieces, if gzip { Compression::GZIP } else { Compression::Plain });
    }

    #[test]
    fn damage_between_members_is_copied(pieces in prop::collection::vec(prop_oneof![4 => piece(), 1 => Just(Piece::Damage)], 1..12)) {
        check(&pieces, Compression::GZIP);
    }
}

#[test]
fn records_that_share_a_member_are_not_cut_out() {
    let both: Vec<u8> = [true, false]
        .iter()
        .zip(0..)
        .flat_map(|(old, number)| bytes_of(number, &Piece::Response(*old), Compression::Plain))
        .collect();
    let mut writer = Writer::new(Vec::new(), Compression::GZIP).unwrap();
    writer.write_encoded(&both).unwrap();
    let input: Arc<dyn Input> = Arc::new(writer.finish().unwrap());
    let rules = rules();
    let leave_out = RedactionRules {
        rules: &rules,
        collection: "",
        whole: false,
    };
    let redaction = Redaction::plan(input.clone(), "made up", leave_out, |_| {}).unwrap();
    assert_eq!(redaction.counts().records_selected, 1);
    let folder = tempfile::tempdir().unwrap();
    let failed = redaction.write(&*input, &folder.path().join("out"), false, leave_out, |_| {});
    assert!(matches!(failed, Err(WriteError::CopyMismatch(_))), "{failed:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_request_goes_that_only_its_response_names() {
    let request = Draft::request(
        "http://other.example/",
        BEFORE_MS,
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    );
    let request = request.field("WARC-Record-ID", &id(1));
    let response = draft(0, &Piece::Response(true))
        .unwrap()
        .field("WARC-Concurrent-To", &id(1));
    let mut writer = Writer::new(Vec::new(), Compression::GZIP).unwrap();
    writer.write(&request).unwrap();
    writer.write(&response).unwrap();
    let rules = rules();
    let leave_out = RedactionRules {
        rules: &rules,
        collection: "",
        whole: false,
    };
    let redaction =
        Redaction::plan(Arc::new(writer.finish().unwrap()), "made up", leave_out, |_| {}).unwrap();
    let counts = redaction.counts();
    assert_eq!(
        (
            counts.records_selected,
            counts.records_concerned,
            counts.kept_bytes
        ),
        (1, 1, 0)
    );
}

/// Writes records with these addresses, some taken down by URL, and returns the addresses that are
/// kept.
fn staying(gone: &[&str], records: &[(Kind, &str, Option<&str>)]) -> Vec<String> {
    let key = [7; 32];
    let rule = |url: &&str| {
        let url_key = extract::named_url_key(url).unwrap();
        // As specified in docs/format-index.md.
        let hash = blake3::Hasher::new_keyed(&key)
            .update(b"u")
            .update(url_key.as_bytes())
            .finalize();
        serde_json::json!([1, { "kind": "url", "hash": hash.to_hex().as_str() }])
    };
    let written = serde_json::json!({
        "key": key,
        "rules": gone.iter().map(rule).collect::<Vec<_>>(),
        "returning": [],
    });
    let rules: TakedownRules = serde_json::from_value(written).unwrap();
    let mut writer = Writer::new(Vec::new(), Compression::GZIP).unwrap();
    for (number, (kind, url, refers)) in records.iter().enumerate() {
        let mut draft = match kind {
            Kind::Response => Draft::response(
                url,
                BEFORE_MS,
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text".to_vec(),
            ),
            _ => Draft::new(*kind, BEFORE_MS, b"text".to_vec())
                .field("WARC-Target-URI", url)
                .field("Content-Type", "text/plain"),
        };
        if let Some(refers) = refers {
            draft = draft.field("WARC-Refers-To-Target-URI", refers);
        }
        writer.write(&draft.field("WARC-Record-ID", &id(number))).unwrap();
    }
    let leave_out = RedactionRules {
        rules: &rules,
        collection: "",
        whole: false,
    };
    let input: Arc<dyn Input> = Arc::new(writer.finish().unwrap());
    let redaction = Redaction::plan(input.clone(), "made up", leave_out, |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    redaction
        .write(&*input, &folder.path().join("out"), false, leave_out, |_| {})
        .unwrap();
    let stays = redaction.records.iter().zip(records);
    stays
        .filter(|(row, _)| row.fate == Fate::Stays)
        .map(|(_, (_, url, _))| (*url).to_owned())
        .collect()
}

#[test]
fn what_crawlers_derive_from_a_page_goes_with_it() {
    let (gone, kept) = ("http://a.example/gone?x=1", "http://a.example/kept");
    let mut records = vec![
        (Kind::Response, gone.to_owned(), None),
        (Kind::Response, kept.to_owned(), None),
        (Kind::Resource, "file:///screenshot.png".to_owned(), Some(gone)),
        (Kind::Resource, "file:///summary.html".to_owned(), None),
        (Kind::Resource, "dns:a.example".to_owned(), None),
        (Kind::Resource, "urn:other:x".to_owned(), None),
    ];
    let mut expected = vec![
        kept.to_owned(),
        "file:///summary.html".to_owned(),
        "dns:a.example".to_owned(),
        "urn:other:x".to_owned(),
    ];
    for scheme in [
        "urn:text:",
        "urn:pageinfo:",
        "urn:thumbnail:",
        "urn:view:",
        "urn:screenshot:",
        "urn:fullpage:",
        "screenshot:",
        "thumbnail:",
        "onreadydom:",
        "youtube-dl:00001:",
        "metadata:",
    ] {
        for kind in [Kind::Resource, Kind::Metadata] {
            // The same URL as crawlers write it.
            records.push((
                kind,
                format!("{scheme}HTTP://www.A.example:80/gone?x=1#part"),
                None,
            ));
            records.push((kind, format!("{scheme}{kept}"), None));
            expected.push(format!("{scheme}{kept}"));
        }
    }
    let records: Vec<(Kind, &str, Option<&str>)> = records
        .iter()
        .map(|(kind, url, refers)| (*kind, url.as_str(), *refers))
        .collect();
    assert_eq!(staying(&[gone], &records), expected);
}

#[test]
fn lookups_and_summaries_go_with_the_last_capture_that_they_are_about() {
    let records = [
        (Kind::Resource, "dns:a.example", None),
        (Kind::Resource, "dns:www.b.example", None),
        (Kind::Resource, "dns:c.example", None),
        (Kind::Response, "http://a.example/", None),
        (Kind::Response, "http://a.example/2", None),
        (Kind::Response, "http://b.example/", None),
        (Kind::Resource, "file:///provenance-summary.html", None),
    ];
    let a = ["http://a.example/", "http://a.example/2"];
    assert_eq!(staying(&a[..1], &records).len(), 6);
    assert_eq!(
        staying(&a, &records),
        [
            "dns:www.b.example",
            "dns:c.example",
            "http://b.example/",
            "file:///provenance-summary.html"
        ]
    );
    // No record in the file is about that host.
    assert_eq!(
        staying(&[a[0], a[1], "http://b.example/"], &records),
        ["dns:c.example"]
    );
}
