//! Files that break readers. Those of internetarchive/CDX-Writer are compared with its results.

use super::data;
use extract::{Capture, CaptureKind, Extracted, LinkScope};
use std::collections::BTreeMap;

#[test]
fn every_file_is_extracted_without_panic_and_every_loss_has_a_reason() {
    let Some(folder) = data::file("edge") else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut losses = BTreeMap::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let outcomes = data::outcomes(&path, LinkScope::All);
        for (record, outcome) in data::records(&path).iter().zip(outcomes) {
            match outcome {
                Extracted::Capture(capture) => check_capture(&capture),
                Extracted::Unusable(defect) => {
                    assert!(is_loss(record, defect.reason), "{name}: {defect:?}");
                    losses.insert(name.clone(), defect.reason);
                }
                Extracted::Counted | Extracted::Attachment(_) => {}
            }
        }
    }
    let expected = [
        ("cdxwriter-hex_instead_of_date.arc.gz", extract::reason::BAD_DATE),
        // A response of length 0, without a type.
        (
            "cdxwriter-missing_content_type.warc.gz",
            extract::reason::NOT_HTTP,
        ),
    ];
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|(name, reason)| (name.to_owned(), reason))
        .collect();
    losses.retain(|name, _| expected.contains_key(name));
    assert_eq!(losses, expected);
}

/// Returns whether the record itself shows this reason.
fn is_loss(record: &warc::Record, reason: &str) -> bool {
    let header = |name| record.headers.get(name).unwrap_or_default().trim();
    match reason {
        extract::reason::MISSING_TARGET_URI => header("WARC-Target-URI").is_empty(),
        extract::reason::BAD_TARGET_URI => urlkey::url_key(header("WARC-Target-URI")).is_err(),
        extract::reason::MISSING_DATE => header("WARC-Date").is_empty(),
        extract::reason::BAD_DATE => warc::parse_date(header("WARC-Date")).is_none(),
        extract::reason::NOT_HTTP => !record.body.starts_with(b"HTTP/"),
        _ => false,
    }
}

/// Checks the properties of every capture.
fn check_capture(capture: &Capture) {
    assert_eq!(
        urlkey::url_key(&capture.url).as_deref(),
        Ok(capture.url_key.as_str())
    );
    assert!(!capture.digest.is_empty() && !capture.digest.contains(':'));
    assert_eq!(capture.mime, capture.mime.to_lowercase());
    assert!(!capture.url.contains([' ', '\r', '\n', '\t']), "{}", capture.url);
    let Some(page) = &capture.page else { return };
    assert!(page.text.len() <= extract::TEXT_BYTES_MAX && page.links.len() <= extract::LINKS_MAX);
    for link in &page.links {
        assert_ne!(link.url_key, capture.url_key);
        assert!(
            link.url.starts_with("http") && !link.url.contains('#'),
            "{}",
            link.url
        );
        assert!(link.anchor.chars().count() <= extract::ANCHOR_CHARS_MAX);
    }
}

/// File, key, time, type, status and digest of its one capture, from CDX-Writer's
/// tests/test_small_warcs.py. Comments explain the differences.
#[rustfmt::skip]
const CDX_WRITER: &[(&str, &str, &str, &str, u16, &str)] = &[
    // The HTTP header says text/xml. CDX-Writer uses text/html from the ARC header line (also in
    // the next file).
    ("10_digit_date.arc.gz", "com,facebook)/vanishing-ireland-110498185666457", "2016-02-09T00:00:00Z", "text/xml", 200, "2QHUP2CGE5UURBV5YBDCEQR6SHQ3MSOW"),
    ("14_digit_plus_text_date.arc.gz", "net,fbcdn,xx,scontent-cdg2-1)/300261_10150266886136400_4821326_n.", "2016-02-11T00:00:00Z", "text/xml", 200, "ZRNNAI6EJ7HCNZWNB4ZNHQSXBWTEXZQ7"),
    // CDX-Writer keeps the day 00.
    ("15_digit_date.arc.gz", "com,twitter)/unesco_fr.xml", "2015-12-01T00:00:00Z", "text/xml", 200, "Q6TYZPCHPZEMHLLIXWNW6MBBCGAJV3MR"),
    ("16_digit_date.arc.gz", "com,afp)/home/img/es.gif", "2000-08-23T05:41:00Z", "image/gif", 200, "FL5ZDSVRACUUD2GUCKOWWY6LPPLR7TSJ"),
    ("18_digit_date.arc.gz", "com,spaceports,mars)/~jddp/images/links_off.gif", "2000-09-18T00:23:00Z", "image/gif", 200, "CKCNEH3454KSTUD7ZKXOIBTE5UEAIJH5"),
    ("304-response.warc.gz", "gov,nasa,kepler)/layout/mws/main.css", "2017-03-03T02:42:45Z", "unk", 304, "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
    ("304-revisit.warc.gz", "org,wikipedia)/", "2017-03-29T20:57:48Z", "warc/revisit", 0, "LC43NA4MJILWX5KPDVBVIRD2OMPTNLJD"),
    ("alexa_charset_in_header.arc.gz", "fr,allocine,free)/tv/cineaction.asp", "2000-08-24T01:51:05Z", "text/html", 200, "YSO3GBFJ7KRO3OPF7J43J4NMM4LVR7ZY"),
    ("alexa_short_header.arc.gz", "net,killerjo)/robots.txt", "2011-08-04T18:11:42Z", "unk", 0, "YZI2NMZ5ILYICUL3PNYVYQR3KI2YY5EH"),
    ("arc_v1_with_v2_header.arc.gz", "com,cdnow)/cgi-bin/mserver/pagename=/rp/cdn/find/discography.html/artistid=henderson*joe/select=music", "2000-11-10T11:20:00Z", "text/html", 200, "Z7XLU7KXZVH3AAC6ZZLMMRVWPHC44ALO"),
    ("bad_mime_type.arc.gz", "net,naver,cafethumb)/20101223_84/qkrgns3_129303386816936xuq_jpg/imag0030_qkrgns3.jpg", "2012-04-07T15:24:47Z", "unk", 200, "OUK52MTLKPEA6STHTFFPFI2JP7G4QBUZ"),
    ("carriage_return_in_url.arc.gz", "org,cheapchicks)/cgi-bin/count/slcnt.cgi?c=3", "2007-02-16T13:41:17Z", "text/html", 200, "DRN2R2KFMNP6SQ6MYXFGSW366YL2IDOA"),
    ("empty_payload_header_ending_with_lf.arc.gz", "1,120,179,210)/test", "2003-08-01T00:45:48Z", "unk", 200, "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
    // The head ends with CR CR LF CR LF. CDX-Writer counts the last two bytes as payload.
    ("empty_record.arc.gz", "com,bfast,service)/bfast/serve?bfmid=1821322&bfpage=page_d_accueil&siteid=18015626", "2012-03-12T16:36:04Z", "unk", 410, "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
    ("giant_html.warc.gz", "com,guide-fleurs)/site/partenaires.htm", "2012-01-21T17:35:11Z", "text/html", 200, "BGA6K3VEQVACI7KVTAGRNMBAPIYIGELF"),
    ("meta_tag_FI.arc.gz", "ru,peskomment)/img/yandex.png", "2012-03-12T16:15:55Z", "text/html", 404, "GPQYK2UWAU4ZOITDYRRE2DJ67NX74QN6"),
    ("meta_tag_large.warc.gz", "com,richmondstrikers)/alumni/index_e.html", "2013-11-04T22:26:33Z", "text/html", 200, "U7ST7H2CUXSLGCOYR3KT5POAPZI3KY7B"),
    ("no_sha1_whitespace_in_contenttype.warc.gz", "com,channel4)/static/globalnav/css/globalnav.css", "2014-02-18T16:37:36Z", "text/css", 200, "5YMS42S5QTOOT5OMMYSXM23ZLZJB6KPR"),
    ("password-protected.warc.gz", "com,facebook)/login.php?login_attempt=1", "2014-03-31T21:43:28Z", "text/html", 200, "I45Q4NNB7NJJQ6CULNCSXQBAYSDTYB7U"),
    ("transposed_header.arc.gz", "com,mp3,play)/cgi-bin/play/play.cgi/aaiaqo93mqdabg5vcm1qbaaaafj88quauqeaaabdnyyxp6sbry55rya.wo2ewl.61xo-/losing_time.mp3", "2003-12-19T21:50:23Z", "text/plain", 302, "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
    ("wget_ia.warc.gz", "org,archive)/", "2014-03-14T17:32:16Z", "text/html", 200, "ZSSZNM66RWQWZ7FMNEP2XEAORAULQHMY"),
    ("bracket_in_target_uri.warc.gz", "com,example)/data.json", "2018-06-25T01:35:19Z", "application/json", 200, "XFQPAJHSLBVGHHRSMGJ3OPHNQYYJH3QZ"),
];

#[test]
fn captures_agree_with_cdx_writer() {
    for &(name, url_key, time, mime, status, digest) in CDX_WRITER {
        let captures = data::captures(&format!("edge/cdxwriter-{name}"));
        let Some(capture) = captures.first() else {
            assert!(data::file("edge").is_none(), "{name}: no capture");
            return;
        };
        assert_eq!(captures.len(), 1, "{name}");
        let date = warc::format_date(capture.fetch_time_ms);
        let found = (
            capture.url_key.as_str(),
            date.as_str(),
            capture.mime.as_str(),
            capture.status,
            capture.digest.as_str(),
        );
        assert_eq!(found, (url_key, time, mime, status, digest), "{name}");
    }
}

fn titles(name: &str) -> Vec<String> {
    let captures = data::captures(&format!("edge/{name}"));
    captures
        .into_iter()
        .filter_map(|capture| Some(capture.page?.title))
        .collect()
}

#[test]
fn content_codings_of_real_servers() {
    let payload = |name: &str| {
        let path = data::file(&format!("edge/transfer_compression_{name}.warc.gz"))?;
        let records = data::records(&path);
        let response = records
            .iter()
            .find(|record| record.kind == warc::Kind::Response)?;
        Some(data::payload(response))
    };
    let Some(plain) = payload("none") else { return };
    assert_eq!(plain.len(), 246);
    assert_eq!(payload("gzip").map(|bytes| bytes.len()), Some(plain.len()));
    assert_eq!(payload("brotli").map(|bytes| bytes.len()), Some(plain.len()));
    assert_eq!(
        titles("transfer_compression_gzip.warc.gz"),
        titles("transfer_compression_none.warc.gz")
    );
    assert_eq!(
        titles("transfer_compression_brotli.warc.gz"),
        titles("transfer_compression_none.warc.gz")
    );
}

#[test]
fn chunks_that_are_none_or_wrong() {
    if data::file("edge").is_none() {
        return;
    }
    for name in [
        "warcio-example-bad-non-chunked.warc.gz",
        "warcio-example-wrong-chunks.warc.gz",
        "warcio-example-iana.org-chunked.warc",
    ] {
        let captures = data::captures(&format!("edge/{name}"));
        assert!(
            captures
                .iter()
                .any(|c| c.page.as_ref().is_some_and(|page| !page.title.is_empty())),
            "{name}"
        );
    }
}

#[test]
fn a_status_line_without_text() {
    for capture in data::captures("edge/missing-status-text.warc") {
        assert_eq!(capture.status, 302);
        assert!(
            capture
                .redirect
                .is_some_and(|link| link.url == "http://www.iana.org/badst")
        );
    }
}

#[test]
fn targets_with_brackets_and_blanks() {
    for name in [
        "warcio-example-wget-bad-target-uri.warc.gz",
        "warcio-example-space-in-url.arc",
    ] {
        let captures = data::captures(&format!("edge/{name}"));
        assert!(data::file("edge").is_none() || !captures.is_empty(), "{name}");
        for capture in captures {
            assert!(
                capture.url.starts_with("http") && !capture.url.contains(['<', '>', ' ']),
                "{}",
                capture.url
            );
        }
    }
}

#[test]
fn one_crawl_as_warc_and_as_arc_is_the_same_captures() {
    let rows = |name: &str| {
        let captures = data::captures(name);
        let row = |c: Capture| {
            (
                c.url_key,
                c.fetch_time_ms / 1000,
                c.mime,
                c.status,
                c.digest,
                c.page.map(|p| (p.title, p.text, p.links)),
            )
        };
        let mut rows: Vec<_> = captures
            .into_iter()
            .filter(|c| c.kind != CaptureKind::Revisit)
            .map(row)
            .collect();
        rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        rows
    };
    let (warc, arc) = (rows("crawls/blackbook.warc.gz"), rows("crawls/blackbook.arc.gz"));
    println!("{} of WARC, {} of ARC", warc.len(), arc.len());
    let differing: Vec<_> = warc.iter().zip(&arc).filter(|(w, a)| w != a).collect();
    for (w, a) in differing.iter().take(5) {
        println!(
            "{:?}\n{:?}",
            (&w.0, w.1, &w.2, w.3, &w.4),
            (&a.0, a.1, &a.2, a.3, &a.4)
        );
    }
    assert_eq!(warc.len(), arc.len());
    assert!(differing.is_empty(), "{} differ", differing.len());
}
