//! `archive`: lines of capture indexes (CDX, CDXJ, aliases). Each line gives a capture, nothing, or
//! an error, and the stored form of a posted line is read as the same line.

use cdx::kept_lines;

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "index_lines",
    about: "lines of CDX and CDXJ, as they are kept",
    run,
    seeds,
    from_file: |bytes| bytes,
    tokens: &[
        b" CDX N b a m s k r M S V g",
        b" CDX a b g V k s m",
        b"org,iana)/",
        b"20140126200624",
        b"20140126200624123",
        b"http://www.iana.org/",
        b"dns:iana.org",
        b"text/html",
        b"warc/revisit",
        b"99999999999999999999",
        b" - - ",
        b"{\"url\": \"http://a.org/\", \"offset\": \"7\", \"filename\": \"x.warc\"}",
        b"\"status\": 200",
        b"\"digest\": \"sha1:AAAA\"",
        b"\\u0000",
        b"\\ud800",
        b"@alias ",
        b"!",
        b"\n",
        b"\r\n",
        b"\t",
        b"\xc2\xa0",
        b"\xff",
    ],
};

/// Reads the lines and checks the results.
pub fn run(bytes: &[u8]) {
    for line in kept_lines(bytes) {
        match line {
            Ok(None) => {}
            Ok(Some(kept)) => {
                assert!(
                    kept.ends_with('\n') && kept.lines().count() == 1,
                    "{kept:?} is not one line"
                );
                let again = kept_lines(kept.trim_end_matches('\n').as_bytes());
                assert_eq!(
                    again,
                    [Ok(Some(kept.clone()))],
                    "{kept:?} is parsed to another line"
                );
            }
            Err(defect) => assert!(!defect.detail.is_empty(), "a line is refused without a reason"),
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "org,iana)/ 20140126200624 http://www.iana.org/ text/html 200 OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB - - 2258 334 iana.warc.gz\n",
        "org,iana)/ 20140126200624 http://www.iana.org/ text/html 200 OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB - 334 iana.warc.gz",
        " CDX a b g V k s m\nhttp://www.iana.org/ 20140126200624 iana.warc.gz 334 sha1:AAAA 200 text/html\n",
        "org,iana)/ 20140126200624 {\"url\": \"http://www.iana.org/\", \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \"D\", \"length\": \"2258\", \"offset\": \"334\", \"filename\": \"iana.warc.gz\"}\n",
        "@alias http://legacy.example.org/page-one http://www.example.org/page1\n",
        "!weft-posted 1 all 1\n!    \n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
