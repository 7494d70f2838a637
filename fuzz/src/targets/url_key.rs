//! `urlkey`: any text has a key or gives an error, and keys have their documented properties.

use urlkey::{MatchType, url_key, url_ranges};

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "url_key",
    about: "keys of URLs, and hosts, domains and ranges of keys",
    run,
    seeds,
    from_file: |bytes| bytes,
    tokens: &[
        b"http://",
        b"https://",
        b"dns:",
        b"www.",
        b"www3288.",
        b":443",
        b":80",
        b":99999",
        b"@",
        b"//",
        b"/../",
        b"/./",
        b"%2f",
        b"%C3%A4",
        b"%E4",
        b"%%",
        b"?",
        b"&",
        b";",
        b"=",
        b"#",
        b"[::1]",
        b"3279880203",
        b"0x7f.1",
        b"xn--",
        b"\xc3\xbc",
        b"PHPSESSID=0123456789abcdef0123456789abcdef",
        b";jsessionid=0123456789abcdef0123456789abcdef",
        b"(S(0123456789abcdef01234567))",
        b".co.uk",
        b".github.io",
    ],
};

/// Computes the key and checks it.
pub fn run(bytes: &[u8]) {
    let url = String::from_utf8_lossy(bytes);
    let Ok(key) = url_key(&url) else { return };
    assert_eq!(url_key(&url).as_deref(), Ok(&*key), "the same URL has two keys");
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if (scheme == "http" || scheme == "https") && url[scheme.len()..].starts_with("://") {
        assert!(
            key.bytes().all(|byte| byte.is_ascii_graphic()),
            "{key:?} is not printable ASCII"
        );
        assert!(key.contains(")/"), "the host in {key:?} does not end");
    }
    urlkey::host_of_key(&key);
    urlkey::host_of_url(&url);
    let domain = urlkey::domain_of_key(&key);
    assert!(
        urlkey::same_domain(&key, &key),
        "{key:?} is not in its own domain"
    );
    urlkey::domain_ranges(&domain).ok();

    for match_type in [
        MatchType::Exact,
        MatchType::Prefix,
        MatchType::Host,
        MatchType::Domain,
    ] {
        let Ok(ranges) = url_ranges(&url, match_type) else {
            continue;
        };
        for range in &ranges {
            assert!(
                range.start < range.end,
                "{match_type:?} of {url:?}: an empty range {range:?}"
            );
        }
        for pair in ranges.windows(2) {
            assert!(
                pair[0].end <= pair[1].start,
                "{match_type:?} of {url:?}: {pair:?} overlap"
            );
        }
        // A prefix may end inside a part that the key writes differently. For other match types the
        // ranges contain the key itself.
        if match_type != MatchType::Prefix {
            let contained = ranges.iter().any(|range| range.contains(&key));
            assert!(
                contained,
                "{match_type:?} of {url:?} does not contain {key:?}: {ranges:?}"
            );
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "http://www.archive.org/goo/?a=2&b&a=1",
        "https://www.example.com:443/A/B/?X=1&y=%41",
        "http://b\u{fc}cher.ch:8080/\u{e4}",
        "http://192.168.1.254/info/",
        "http://[::1]:8080/x",
        "http://3279880203/blah",
        "http://example.com/a/../b/./c//d",
        "http://e.com/index.php?PHPSESSID=0123456789abcdef0123456789abcdef&action=profile;u=4221",
        "http://e.com/a;jsessionid=0123456789abcdef0123456789abcdef/b.aspx",
        "dns:example.com",
        "https://www3288.com/",
        "http://user:pass@e.co.uk:81/?%2561&&=&x",
        "data:text/html,<p>",
        "",
    ]
    .map(|url| url.as_bytes().to_vec())
    .to_vec()
}
