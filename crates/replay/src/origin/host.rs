//! Host names of archived sites: `<label>.<14 digits>.<name of the archive>`.

use super::site::Label;

/// Number of digits of the time in a host name.
const TIME_DIGITS: usize = 14;

/// The site and the time of a host name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginHost {
    /// The site, or what answers for others.
    pub label: Label,
    /// The time, as 14 digits.
    pub time: String,
}

/// Reads a host name, which may have a port, below the name `domain` of the archive.
///
/// ```
/// use replay::origin::{Label, parse_host};
///
/// let host = parse_host("http--a-example.20140126200624.replay.localhost:8081", "replay.localhost").unwrap();
/// assert_eq!(host.time, "20140126200624");
/// assert!(matches!(host.label, Label::Site(site) if site.as_str() == "http://a.example"));
/// ```
pub fn parse_host(host: &str, domain: &str) -> Option<OriginHost> {
    let host = host.to_ascii_lowercase();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) => return None,
        None => &host,
    };
    let (label, time) = name.strip_suffix(domain)?.strip_suffix('.')?.split_once('.')?;
    if time.len() != TIME_DIGITS || !time.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(OriginHost {
        label: Label::parse(label)?,
        time: time.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sites_at_a_time_are_read() {
        let read = |host: &str| parse_host(host, "replay.localhost");
        let site = "http--a-example.20140126200624.replay.localhost";
        for host in [site.to_owned(), format!("{site}:80"), site.to_ascii_uppercase()] {
            assert!(read(&host).is_some(), "{host}");
        }
        for host in [
            "replay.localhost",
            "20140126200624.replay.localhost",
            "http--a-example.2014.replay.localhost",
            "http--a-example.20140126200624.replay.example",
            "http--a-example.20140126200624.other.replay.localhost",
            "http--a-example.20140126200624xreplay.localhost",
            "x.http--a-example.20140126200624.replay.localhost",
            "http--a-example.20140126200624.replay.localhost:80a",
            "http--a-example.20140126200624.replay.localhost.",
            "",
        ] {
            assert_eq!(read(host), None, "{host}");
        }
    }
}
