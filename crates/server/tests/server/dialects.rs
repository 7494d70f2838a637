//! Every parameter of docs/cdx.md, for every server that supports it.
//!
//! The cases are compared with the table in the document: a cell with text has a case here, and
//! where the cell is `-`, the parameter has no effect.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use archive::question::{JobState, LoadRequest};
use axum::Router;
use inputs::LoadInput;
use server::ServerSettings;
use tempfile::TempDir;
use warc::{Compression, Draft, Writer};

use crate::fake::{Reply, get};
use crate::loaded::{Loaded, load};

const PAGE: &str = include_str!("../../../../docs/cdx.md");

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Server {
    Pywb,
    Wayback,
    Outback,
}

use Server::{Outback, Pywb, Wayback};

/// In the order of the table's columns.
const SERVERS: [Server; 3] = [Pywb, Wayback, Outback];

impl Server {
    fn address(self) -> &'static str {
        match self {
            Pywb => "/cdx",
            Wayback => "/cdx/search/cdx",
            Outback => "/outbackcdx/all",
        }
    }
}

/// An expected response.
enum Answer {
    /// These captures, by the letters of [`CAPTURES`].
    Are(&'static str),
    Is(&'static str),
    Holds(&'static str),
    /// The same response as without the parameter.
    Plain,
    /// Status 400.
    Refused,
}

use Answer::{Are, Holds, Is, Plain, Refused};

/// Prefix of a key, time, and the letter for this capture.
const CAPTURES: [(&str, &str, char); 10] = [
    ("example,a)/", "20130101000000", 'o'),
    ("example,a)/", "20140101000000", '1'),
    ("example,a)/", "20140101003000", '2'),
    ("example,a)/", "20140102000000", '3'),
    ("example,a)/", "20150101000000", '4'),
    ("example,a)/", "20150101000500", '5'),
    ("example,a)/find?", "20140101000000", 'p'),
    ("example,a)/next", "20140101000000", 'n'),
    ("example,a,b)/", "20140101000000", 'b'),
    ("example,z)/", "20140101000000", 'z'),
];

/// The query of most cases: all captures of one URL.
const URL: &str = "?url=http://a.example/";

/// SHA-1 of the first capture's payload.
const DIGEST: &str = "sha1:MSUZ7UE6YJT5IN7DIXLSN5BKGX62NBFL";

/// Parameter, server, query after [`URL`] (or the whole query, with a question mark), and expected
/// response.
const CASES: &[(&str, Server, &str, Answer)] = &[
    ("url", Pywb, "?url=a.example/*", Are("o12345pn")),
    ("url", Pywb, "?url=example,a)/", Are("o12345")),
    ("url", Wayback, "?url=*.a.example", Are("o12345pnb")),
    ("url", Outback, "?url=https://www.a.example", Are("o12345")),
    ("url", Outback, "", Are("o12345")),
    ("urlkey", Outback, "?urlkey=example,a)/", Are("o12345")),
    (
        "urlkey",
        Outback,
        "?urlkey=example,a)/&matchType=domain",
        Are("o12345pnb"),
    ),
    ("urlkey", Outback, "&urlkey=example,a)/", Refused),
    ("matchType", Pywb, "&matchType=prefix", Are("o12345pn")),
    ("matchType", Pywb, "&matchType=range", Refused),
    ("matchType", Wayback, "&matchType=domain", Are("o12345pnb")),
    (
        "matchType",
        Outback,
        "?url=a.example/next&matchType=range&limit=3",
        Are("nbz"),
    ),
    (
        "matchType",
        Outback,
        "?urlkey=example,a,&matchType=range",
        Are("bz"),
    ),
    ("matchType", Outback, "&matchType=range&sort=reverse", Refused),
    ("matchType", Outback, "&matchType=default", Plain),
    ("from", Pywb, "&from=2015", Are("45")),
    ("from", Wayback, "&from=2015", Are("45")),
    ("from", Outback, "&from=2015", Are("45")),
    ("from_ts", Pywb, "&from_ts=2015", Are("45")),
    ("to", Pywb, "&to=2014", Are("o123")),
    ("to", Wayback, "&to=2014", Are("o123")),
    ("to", Outback, "&to=2014", Are("o123")),
    ("filter", Pywb, "&filter=mime:htm", Are("o1245")),
    ("filter", Pywb, "&filter=!=s:1", Are("o12345")),
    ("filter", Wayback, "&filter=mimetype:htm", Are("")),
    ("filter", Wayback, "&filter=~mimetype:htm", Are("o1245")),
    ("filter", Outback, "&filter=!status:200", Are("23")),
    ("filter", Outback, "&filter=~!mime:htm", Are("3")),
    ("filter", Outback, "&filter=htm", Refused),
    ("collapse", Pywb, "&collapse=digest", Are("o1234")),
    (
        "collapse",
        Pywb,
        "&collapse=timestamp:4&collapse=statuscode",
        Are("o1234"),
    ),
    (
        "collapse",
        Wayback,
        "&collapse=timestamp:4&collapse=statuscode",
        Are("o"),
    ),
    ("collapse", Wayback, "&collapse=1:4&limit=-2", Are("14")),
    ("collapse", Outback, "&collapse=timestamp:4", Are("o14")),
    ("collapseTime", Pywb, "&collapseTime=8", Are("o1234")),
    ("collapseTime", Wayback, "&collapseTime=8", Are("o134")),
    (
        "collapseToFirst",
        Outback,
        "&collapseToFirst=timestamp:4",
        Are("o14"),
    ),
    (
        "collapseToLast",
        Outback,
        "&collapseToLast=timestamp:4",
        Are("o35"),
    ),
    (
        "collapseToLast",
        Outback,
        "&collapseToLast=timestamp:4&limit=2",
        Are("o3"),
    ),
    (
        "collapseToLast",
        Outback,
        "&collapseToLast=timestamp:4&collapse=timestamp:4",
        Are("o14"),
    ),
    ("sort", Pywb, "&sort=reverse", Are("54321o")),
    ("sort", Pywb, "&sort=sideways", Refused),
    ("sort", Wayback, "&sort=regular", Plain),
    ("sort", Outback, "&sort=reverse", Are("54321o")),
    ("reverse", Pywb, "&reverse=true", Are("54321o")),
    ("closest", Pywb, "&closest=2014&limit=2", Are("12")),
    ("closest", Wayback, "&closest=2014&limit=2", Are("o1")),
    (
        "closest",
        Wayback,
        "&closest=2014&limit=2&sort=closest",
        Are("12"),
    ),
    ("closest", Outback, "&closest=&sort=closest", Plain),
    (
        "closest",
        Outback,
        "&closest=2014&limit=2&sort=closest",
        Are("12"),
    ),
    ("limit", Pywb, "&limit=2", Are("o1")),
    ("limit", Pywb, "&limit=0", Plain),
    ("limit", Wayback, "&limit=-2", Are("45")),
    ("limit", Wayback, "&limit=-1&sort=reverse", Are("o")),
    ("limit", Outback, "&limit=0", Are("")),
    ("limit", Outback, "&limit=-2", Refused),
    ("last", Wayback, "&last=true", Are("5")),
    ("fastLatest", Wayback, "&fastLatest=true", Plain),
    ("fastLatest", Wayback, "&fastLatest=true&limit=-1", Are("5")),
    ("offset", Pywb, "&offset=4", Are("45")),
    ("offset", Wayback, "&offset=4&limit=1", Are("4")),
    (
        "fields",
        Pywb,
        "&fields=url,status&fl=digest&limit=1",
        Is("example,a)/ 20130101000000 {\"url\": \"http://a.example/\", \"status\": \"200\"}\n"),
    ),
    (
        "fl",
        Pywb,
        "&fl=timestamp,languages,mime&limit=1&output=text",
        Is("20130101000000 - text/html\n"),
    ),
    (
        "fl",
        Wayback,
        "&fl=statuscode,timestamp&limit=1",
        Is("200 20130101000000\n"),
    ),
    ("fl", Outback, "&fl=status,range&limit=1", Holds("200 bytes=0-")),
    (
        "output",
        Pywb,
        "&output=json",
        Holds("{\"urlkey\": \"example,a)/\", \"timestamp\": \"2013"),
    ),
    (
        "output",
        Pywb,
        "&output=link&limit=1",
        Holds(
            "<http://a.example/>; rel=\"memento\"; datetime=\"Tue, 01 Jan 2013 00:00:00 GMT\"; collection=\"old\"",
        ),
    ),
    (
        "output",
        Wayback,
        "&output=json",
        Holds("[[\"urlkey\",\"timestamp\",\"original\""),
    ),
    ("output", Wayback, "&output=link", Holds("rel=\"first memento\"")),
    ("output", Wayback, "&output=link&limit=2", Holds("&resumeKey=")),
    (
        "output",
        Outback,
        "&output=json",
        Holds("[\"example,a)/\",20130101000000,\"http://a.example/\""),
    ),
    (
        "output",
        Outback,
        "&output=jsondict",
        Holds("[{\"urlkey\":\"example,a)/\",\"timestamp\":20130101000000,"),
    ),
    (
        "output",
        Outback,
        "&output=cdxj",
        Holds("example,a)/ 20130101000000 {\"url\":\"http://a.example/\","),
    ),
    ("output", Outback, "&output=xml", Refused),
    (
        "resolveRevisits",
        Pywb,
        "&resolveRevisits=true&filter=mime:html&from=20140102&to=20140102",
        Holds("\"status\": \"200\""),
    ),
    (
        "resolveRevisits",
        Pywb,
        "&resolveRevisits=true&filter=mime:revisit",
        Are(""),
    ),
    (
        "resolveRevisits",
        Wayback,
        "&resolveRevisits=true&filter=mimetype:warc/revisit&fl=mimetype,statuscode,orig.offset,orig.filename",
        Is("text/html 200 0 news.warc\n"),
    ),
    (
        "showDupeCount",
        Wayback,
        "&showDupeCount=true&output=json&fl=dupecount",
        Is("[[\"dupecount\"],\n[\"0\"],\n[\"0\"],\n[\"0\"],\n[\"1\"],\n[\"0\"],\n[\"1\"]]\n"),
    ),
    (
        "showSkipCount",
        Wayback,
        "&collapse=timestamp:4&showSkipCount=true&fl=timestamp,skipcount",
        Is("20130101000000 0\n20140101000000 2\n20150101000000 1\n"),
    ),
    (
        "showGroupCount",
        Wayback,
        "&filter=statuscode:503&showGroupCount=true&limit=-1",
        Holds(" 4\n"),
    ),
    (
        "showUniqCount",
        Wayback,
        "&collapse=urlkey&showUniqCount=true&lastSkipTimestamp=true&fl=groupcount,uniqcount",
        Is("6 4\n"),
    ),
    (
        "lastSkipTimestamp",
        Wayback,
        "&collapse=timestamp:4&lastSkipTimestamp=true&fl=endtimestamp",
        Is("20130101000000\n20140102000000\n20150101000500\n"),
    ),
    (
        "showResumeKey",
        Pywb,
        "&limit=2&showResumeKey=true",
        Holds("\n\n"),
    ),
    (
        "showResumeKey",
        Wayback,
        "&limit=2&showResumeKey=true&output=json",
        Holds(",\n[],\n[\""),
    ),
    ("resumeKey", Pywb, "&resumeKey=unheard-of", Refused),
    ("resumeKey", Wayback, "&resumeKey=unheard-of", Refused),
    ("page", Pywb, "&page=0", Plain),
    ("page", Pywb, "&page=1", Refused),
    ("page", Wayback, "&page=-1", Plain),
    ("page", Wayback, "&page=1", Is("")),
    ("pageSize", Pywb, "&pageSize=0", Refused),
    ("pageSize", Wayback, "&pageSize=1&page=0", Plain),
    (
        "showNumPages",
        Pywb,
        "&showNumPages=true",
        Is("{\"blocks\":1,\"pageSize\":5,\"pages\":1}"),
    ),
    ("showNumPages", Wayback, "&showNumPages=true", Is("1\n")),
    (
        "showPagedIndex",
        Pywb,
        "&showPagedIndex=true&output=json",
        Holds("\"urlkey\":\"example,a)/ 20130101000000\""),
    ),
    (
        "showPagedIndex",
        Wayback,
        "&showPagedIndex=true&page=0",
        Is("example,a)/ 20130101000000\tcaptures\t0\t6\t1\n"),
    ),
    ("gzip", Pywb, "&gzip=false", Plain),
    ("gzip", Wayback, "&gzip=false", Plain),
    ("method", Outback, "?url=a.example/find&method=POST", Are("")),
    ("method", Outback, "&method=get", Plain),
    (
        "requestBody",
        Outback,
        "?url=a.example/find&method=post&requestBody=q%3Dloom",
        Are("p"),
    ),
    ("allowFuzzy", Pywb, "&allowFuzzy=true", Plain),
    (
        "allowFuzzy",
        Pywb,
        "?url=a.example/next%3Futm_source%3Dx",
        Are(""),
    ),
    (
        "allowFuzzy",
        Pywb,
        "?url=a.example/next%3Futm_source%3Dx&allowFuzzy=true",
        Are("n"),
    ),
    (
        "allowFuzzy",
        Pywb,
        "?url=a.example/next%3Futm_source%3Dx&allowFuzzy=true&closest=2014&limit=1",
        Are("n"),
    ),
    (
        "allowFuzzy",
        Pywb,
        "?url=a.example/none%3Fx%3Dy&allowFuzzy=true",
        Are(""),
    ),
    ("omitSelfRedirects", Outback, "&omitSelfRedirects=true", Plain),
    ("collection", Pywb, "&collection=old", Are("o")),
    ("collection", Wayback, "&collection=old", Are("o")),
    (
        // Only the owner sees folders: see the tests of paths.
        "filenames",
        Pywb,
        "&filenames=path&limit=1",
        Holds("\"old.warc\""),
    ),
    (
        "filenames",
        Wayback,
        "&filenames=base&fl=filename&limit=1",
        Is("old.warc\n"),
    ),
    (
        "filenames",
        Outback,
        "&filenames=path&fl=filename&limit=1",
        Is("old.warc\n"),
    ),
    (
        "q",
        Outback,
        "?q=type:urlquery+url:http%253A%252F%252Fa.example%252F",
        Holds("<numresults>6</numresults>"),
    ),
    (
        "q",
        Outback,
        "?q=type:urlquery+date:20140102+url:http%253A%252F%252Fa.example%252F",
        Holds("<capturedate>20140102000000</capturedate><closest>true</closest>"),
    ),
    (
        "q",
        Outback,
        "?q=type:prefixquery+url:a.example%252F",
        Holds(
            "<numversions>5</numversions><numcaptures>6</numcaptures><firstcapturets>20130101000000</firstcapturets>",
        ),
    ),
    (
        "q",
        Outback,
        "?q=type:urlquery+url:nothing.example",
        Holds("<title>Resource Not In Archive</title>"),
    ),
    (
        "q",
        Outback,
        "?q=type:oddquery+url:a.example",
        Holds("<title>Unsupported query type</title>"),
    ),
    ("q", Outback, "?q=nothing", Refused),
    (
        "count",
        Outback,
        "?q=url:a.example&count=2",
        Holds("<numreturned>2</numreturned><numresults>6</numresults>"),
    ),
    (
        "start_page",
        Outback,
        "?q=url:a.example&count=2&start_page=3",
        Holds("<firstreturned>4</firstreturned>"),
    ),
    (
        "start_page",
        Outback,
        "?q=url:a.example&count=2&start_page=3",
        Holds("<capturedate>20150101000500</capturedate>"),
    ),
];

struct Made {
    loaded: Loaded,
    _folder: TempDir,
}

/// Returns the captures of [`CAPTURES`]: the oldest in the collection `old`, the others in `news`.
fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, drafts: &[Draft]| {
            let path = folder.path().join(name);
            let mut writer = Writer::create(&path, Compression::Plain).expect("a file");
            for draft in drafts {
                writer.write(draft).expect("a record");
            }
            writer.finish().expect("written");
            path
        };
        let response = |url: &str, time: &str, status: u16, body: &str| {
            let block = format!("HTTP/1.1 {status} X\r\nContent-Type: text/html\r\n\r\n<p>{body}");
            Draft::response(url, format::date::ms_of_digits(time), block.into_bytes())
        };
        let url = "http://a.example/";
        let revisited = b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\n".to_vec();
        let news = [
            response(url, "20140101000000", 200, "one"),
            response(url, "20140101003000", 503, "two"),
            Draft::revisit(
                url,
                format::date::ms_of_digits("20140102000000"),
                DIGEST,
                revisited,
            ),
            response(url, "20150101000000", 200, "three"),
            response(url, "20150101000500", 200, "three"),
            response("http://a.example/next", "20140101000000", 200, "next"),
            response(
                "http://a.example/find?__wb_method=POST&q=loom",
                "20140101000000",
                200,
                "found",
            ),
            response("http://b.a.example/", "20140101000000", 200, "b"),
            response("http://z.example/", "20140101000000", 200, "z"),
        ];
        let old = write("old.warc", &[response(url, "20130101000000", 200, "old")]);
        let loaded = load(&[write("news.warc", &news)], Some("news"));
        let request = LoadRequest {
            inputs: vec![LoadInput {
                name: "crawls/old.warc".to_owned(),
                path: old.display().to_string(),
            }],
            collection: Some("old".to_owned()),
            ..LoadRequest::default()
        };
        let (_, job) = loaded.archive.load(&request, &mut |_, _| true).expect("a load");
        assert_eq!(job.state, JobState::Done, "{:?}", job.error);
        Made {
            loaded,
            _folder: folder,
        }
    })
}

fn router() -> Router {
    server::router(made().loaded.archive.clone(), ServerSettings::default())
}

/// Returns the letters of the captures in a response.
fn letters(body: &str) -> String {
    let letter = |line: &str| {
        let mut words = line.split(' ');
        let (key, time) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let is_of = |known: &str| key == known || known.ends_with('?') && key.starts_with(known);
        let known = CAPTURES.iter().find(|(known, at, _)| is_of(known) && *at == time);
        known.map_or('?', |(_, _, letter)| *letter)
    };
    body.lines().map(letter).collect()
}

async fn asked(router: &Router, server: Server, query: &str) -> Reply {
    let query = match query.strip_prefix('?') {
        Some(whole) => format!("?{whole}"),
        None => format!("{URL}{query}"),
    };
    get(router, &format!("{}{query}", server.address())).await
}

#[tokio::test]
async fn each_parameter_means_what_the_page_says() {
    let router = router();
    for (parameter, server, query, expected) in CASES {
        let about = format!("{parameter} at {server:?}: {query}");
        let reply = asked(&router, *server, query).await;
        let status = if matches!(expected, Refused) { 400 } else { 200 };
        assert_eq!(reply.status.as_u16(), status, "{about}: {}", reply.body);
        let body = reply.body.as_str();
        match expected {
            Are(expected) => assert_eq!(letters(body), *expected, "{about}: {body}"),
            Is(expected) => assert_eq!(body, *expected, "{about}"),
            Holds(part) => assert!(body.contains(part), "{about}: {body}"),
            Plain => assert_eq!(body, asked(&router, *server, "").await.body, "{about}"),
            Refused => {}
        }
    }
}

/// Returns the rows of the document's table: the parameter, and whether each server has it.
fn rows() -> Vec<(String, [bool; 3])> {
    let head = "| parameter | pywb | Internet Archive | OutbackCDX |\n";
    let (_, table) = PAGE.split_once(head).expect("the table of parameters");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{row}");
        let has = [1, 2, 3].map(|n| cells[n] != "-");
        (cells[0].trim_matches('`').to_owned(), has)
    })
    .collect()
}

#[tokio::test]
async fn each_cell_of_the_page_has_a_case_or_changes_nothing() {
    let router = router();
    let cases: BTreeSet<(&str, Server)> = CASES.iter().map(|(name, server, ..)| (*name, *server)).collect();
    let rows = rows();
    for (name, has) in &rows {
        for (server, has) in SERVERS.into_iter().zip(*has) {
            let has_case = cases.contains(&(name.as_str(), server));
            assert_eq!(has_case, has, "{name} at {server:?}");
            if !has {
                let with = asked(&router, server, &format!("&{name}=1")).await.body;
                assert_eq!(
                    with,
                    asked(&router, server, "").await.body,
                    "{name} at {server:?}"
                );
            }
        }
    }
    for (name, server) in cases {
        assert!(
            rows.iter().any(|(row, _)| row == name),
            "{name} at {server:?} has no row"
        );
    }
}

#[tokio::test]
async fn collections_have_addresses_of_their_own() {
    let router = router();
    let of = async |path: &str| get(&router, path).await;
    for (path, expected) in [
        ("/old/cdx", "o"),
        ("/news/cdx", "12345"),
        ("/all/cdx", "o12345"),
        ("/old-index", "o"),
        ("/all-index", "o12345"),
        ("/outbackcdx/news", "12345"),
        ("/api/v1/cdx", "o12345"),
        // A collection in the path takes precedence.
        ("/old/cdx?collection=news", "o"),
        ("/unheard-of/cdx", ""),
        ("/outbackcdx/unheard-of", ""),
    ] {
        let sign = if path.contains('?') { '&' } else { '?' };
        let reply = of(&format!("{path}{sign}url=http://a.example/")).await;
        assert_eq!(
            (reply.status.as_u16(), letters(&reply.body).as_str()),
            (200, expected),
            "{path}"
        );
    }
    // Common Crawl's clients treat an empty response as broken.
    for path in [
        "/unheard-of-index?url=a.example",
        "/all-index?url=nothing.example&output=json",
    ] {
        let reply = of(path).await;
        assert_eq!(reply.status, 404, "{path}");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("No Captures found for"), "{message}");
    }
    // Other paths with one segment are unknown addresses, and do not shadow pages.
    for path in ["/unheard-of", "/-index", "/index"] {
        let reply = of(path).await;
        assert_eq!(
            (reply.status.as_u16(), reply.header("content-type")),
            (404, "text/html; charset=utf-8"),
            "{path}"
        );
    }
    assert_eq!(of("/about").await.status, 200);
    let listed = of("/collinfo.json").await.json();
    let ids: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(ids, ["all", "news", "old"]);
    assert_eq!(listed[2]["cdx-api"], "http://localhost/old-index");
}

/// A response that fits into one answer is sent with its length, and is not compressed if it fits
/// into a packet.
#[tokio::test]
async fn small_answers_are_sent_whole() {
    let reply = asked(&router(), Pywb, "").await;
    assert_eq!(reply.header("content-length"), reply.body.len().to_string());
    assert!(reply.header("etag").starts_with("W/"), "{:?}", reply.headers);
}
