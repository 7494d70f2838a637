//! The value by which records are assigned to parts.

use warc::Record;

/// Maximum length of a host in a file name, in bytes.
const HOST_BYTES_MAX: usize = 150;

/// The property by which a file is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitKey {
    /// The host of their URL.
    Host,
    /// Their type.
    Type,
    /// The day of their date (UTC).
    Date,
}

impl SplitKey {
    /// Returns the value of a record, which is safe as part of a file name.
    pub(super) fn key(self, record: &Record) -> String {
        match self {
            SplitKey::Host => record
                .target()
                .and_then(host)
                .unwrap_or_else(|| "no-host".to_owned()),
            SplitKey::Type => record.kind.as_str().to_owned(),
            SplitKey::Date => day(record).unwrap_or_else(|| "no-date".to_owned()),
        }
    }
}

fn day(record: &Record) -> Option<String> {
    let date = warc::parse_date(record.headers.get("WARC-Date")?)?;
    warc::format_date(date.ms).get(..10).map(str::to_owned)
}

/// Returns the host of a URL in lower case. Characters that are unsafe in file names become `_`.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':')?;
    let authority = match rest.strip_prefix("//") {
        Some(rest) => rest.split(['/', '?', '#']).next()?,
        // DNS records: dns:example.com.
        None if scheme.eq_ignore_ascii_case("dns") => rest.trim_start_matches('/'),
        None => return None,
    };
    let host = authority.rsplit('@').next()?;
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || ".-_".contains(c) {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = host.chars().map(safe).take(HOST_BYTES_MAX).collect();
    let name = name.trim_matches('.');
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn hosts_are_fit_for_names_of_files() {
        for (url, expected) in [
            ("http://Example.COM/a/b", Some("example.com")),
            ("https://user:word@example.com:8080?x", Some("example.com")),
            ("http://[::1]:80/", Some("___1_")),
            ("dns:www.example.com", Some("www.example.com")),
            ("http://../../etc/passwd", None),
            ("http://b\u{fc}cher.example/", Some("b_cher.example")),
            ("urn:uuid:1", None),
            ("http:///x", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }
}
