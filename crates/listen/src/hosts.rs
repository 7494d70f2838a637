//! The names that a server accepts requests for.
//!
//! A web page may point its own name at 127.0.0.1 after it was loaded (DNS rebinding). The browser
//! then treats a server on this machine as part of that page and lets the page's scripts read all
//! of it. Only the name in the request reveals the attack, so a request for a foreign name gets
//! status 421.
//!
//! This is not access control, because a program can send any name. Ports are not compared, because
//! tunnels and proxies change them.

use std::net::{IpAddr, SocketAddr};

use http::uri::Authority;
use http::{HeaderMap, Uri, Version, header};

use crate::machine;

/// The names of one server.
#[derive(Debug, Clone)]
pub struct Hosts {
    listen: IpAddr,
    /// Names in the form that [`plain`] returns.
    names: Vec<String>,
}

/// Reason why a request is not addressed to this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misaddressed {
    /// An HTTP/1.1 request has no `Host`, or a request of any version has two (RFC 9112, 3.2):
    /// status 400.
    Malformed,
    /// The request names another server: status 421 (RFC 9110, 15.5.20).
    NotOurs,
}

impl Hosts {
    /// Accepts `localhost`, the names of this machine ([`machine`]), the address `listen`, and
    /// `names` (host names or addresses).
    ///
    /// If `listen` is unspecified (all addresses of the machine), every address is accepted. That
    /// is safe, because a page can have an address as its name only if it was loaded from there.
    pub fn new<N: AsRef<str>>(listen: SocketAddr, names: impl IntoIterator<Item = N>) -> Hosts {
        let plain_name = |name: N| match name.as_ref().parse::<Authority>() {
            Ok(authority) => plain(authority.host()),
            // An IPv6 address without brackets.
            Err(_) => plain(name.as_ref()),
        };
        let given = names.into_iter().map(plain_name);
        let names = given
            .chain(machine::names().iter().map(|name| plain(name)))
            .collect();
        Hosts {
            listen: listen.ip().to_canonical(),
            names,
        }
    }

    /// Checks whether a request is for this server. An HTTP/1.0 request without any name is
    /// accepted: browsers always send one.
    ///
    /// # Errors
    /// [`Misaddressed`] if the request is malformed or names another server.
    pub fn admit(&self, version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), Misaddressed> {
        let mut given = headers.get_all(header::HOST).iter();
        let (first, second) = (given.next(), given.next());
        // With two names, a proxy in front of this server could use the other one.
        if second.is_some() || (first.is_none() && version == Version::HTTP_11) {
            return Err(Misaddressed::Malformed);
        }
        let named = first.is_none_or(|host| {
            host.to_str()
                .is_ok_and(|host| host.parse().is_ok_and(|host| self.knows(&host)))
        });
        if named && uri.authority().is_none_or(|host| self.knows(host)) {
            Ok(())
        } else {
            Err(Misaddressed::NotOurs)
        }
    }

    fn knows(&self, authority: &Authority) -> bool {
        // A `Host` has no user name (RFC 9110, 7.2).
        if authority.as_str().contains('@') {
            return false;
        }
        let name = plain(authority.host());
        let ours = match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || self.listen.is_unspecified() || address == self.listen,
            // Names below `localhost` belong to this machine (RFC 6761, 6.3). Browsers do not
            // resolve them with DNS.
            Err(_) => name == "localhost" || name.ends_with(".localhost"),
        };
        ours || self.names.contains(&name)
    }
}

/// Returns the form in which names and addresses are compared: lower case, without the final dot
/// and without brackets.
fn plain(name: &str) -> String {
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(listen: &str, names: &[&str], host: &str, expected: bool) {
        let hosts = Hosts::new(listen.parse().unwrap(), names);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        let expected = if expected {
            Ok(())
        } else {
            Err(Misaddressed::NotOurs)
        };
        let admitted = hosts.admit(Version::HTTP_11, &Uri::from_static("/"), &headers);
        assert_eq!(admitted, expected, "{host}");
        if let Ok(uri) = format!("http://{host}/").parse() {
            let admitted = hosts.admit(Version::HTTP_10, &uri, &HeaderMap::new());
            assert_eq!(admitted, expected, "{host}");
        }
    }

    #[test]
    fn loopback_and_the_listen_address_are_ours_and_nothing_else() {
        let lan = "192.0.2.7:8080";
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "a.localhost",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:8080",
            "192.0.2.7",
            "192.0.2.7:80",
            "[::ffff:192.0.2.7]",
        ] {
            check(lan, &[], host, true);
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example",
            "192.0.2.8",
            "[::2]",
            "",
            "localhost@evil.example",
            "evil.example@localhost",
            "a b",
            "2130706433",
        ] {
            check(lan, &[], host, false);
        }
    }

    #[test]
    fn names_given_are_ours_whatever_their_case_and_port() {
        let names = ["Archive.Example.:8443", "2001:DB8:0::1", "203.0.113.9"];
        for host in [
            "archive.example",
            "ARCHIVE.example:8443",
            "archive.example.",
            "[2001:db8::1]:80",
            "203.0.113.9",
        ] {
            check("127.0.0.1:8080", &names, host, true);
        }
        for host in ["www.archive.example", "archive.example.evil", "203.0.113.8"] {
            check("127.0.0.1:8080", &names, host, false);
        }
    }

    #[test]
    fn where_all_addresses_are_served_all_addresses_are_ours_but_no_name_is() {
        for listen in ["0.0.0.0:80", "[::]:80"] {
            check(listen, &[], "192.0.2.8", true);
            check(listen, &[], "[2001:db8::1]", true);
            check(listen, &[], "evil.example", false);
        }
    }

    #[test]
    fn the_machine_answers_to_its_own_names() {
        for name in machine::names() {
            check("127.0.0.1:8080", &[], name, true);
            check("127.0.0.1:8080", &[], &format!("{name}:80"), true);
            check("127.0.0.1:8080", &[], &format!("{name}.evil.example"), false);
        }
    }

    #[test]
    fn no_name_is_an_old_program_and_two_names_are_nobody() {
        let hosts = Hosts::new("127.0.0.1:8080".parse().unwrap(), [""; 0]);
        let root = Uri::from_static("/");
        let mut headers = HeaderMap::new();
        assert_eq!(hosts.admit(Version::HTTP_10, &root, &headers), Ok(()));
        let malformed = Err(Misaddressed::Malformed);
        assert_eq!(hosts.admit(Version::HTTP_11, &root, &headers), malformed);
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        let elsewhere = Uri::from_static("http://evil.example/");
        let admitted = hosts.admit(Version::HTTP_11, &elsewhere, &headers);
        assert_eq!(admitted, Err(Misaddressed::NotOurs));
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert_eq!(hosts.admit(Version::HTTP_11, &root, &headers), malformed);
        assert_eq!(hosts.admit(Version::HTTP_10, &root, &headers), malformed);
    }
}
