//! Tests hosts and registered domains.

use urlkey::{
    domain_key_of_key, domain_of_host, domain_of_key, host_of_key, host_of_url, same_domain, url_key,
};

/// Checks the host and the domain of a URL's key.
fn check(url: &str, host: &str, domain: &str) {
    let key = url_key(url).expect("a key");
    assert_eq!(host_of_key(&key), host, "{url}");
    assert_eq!(domain_of_key(&key), domain, "{url}");
    assert_eq!(domain_of_host(host), domain, "{url}");
    assert!(key.starts_with(domain_key_of_key(&key)));
}

#[test]
fn registered_domains() {
    check("http://www.example.com/x", "example.com", "example.com");
    check("http://a.b.example.com:8080/x", "a.b.example.com", "example.com");
    check(
        "http://shop.example.co.uk/",
        "shop.example.co.uk",
        "example.co.uk",
    );
    check(
        "http://a.someone.github.io/",
        "a.someone.github.io",
        "someone.github.io",
    );
    check(
        "http://bücher.example.de/",
        "xn--bcher-kva.example.de",
        "example.de",
    );
    check("http://a.b.unlisted/", "a.b.unlisted", "b.unlisted");
    check("http://x.y.z.ck/", "x.y.z.ck", "y.z.ck");
    check(
        "http://shop.city.kawasaki.jp/",
        "shop.city.kawasaki.jp",
        "city.kawasaki.jp",
    );
}

#[test]
fn their_own_domain() {
    check("http://192.168.1.254/", "192.168.1.254", "192.168.1.254");
    check("http://192.168.1.254:8080/", "192.168.1.254", "192.168.1.254");
    check("http://[2001:db8::1]/", "[2001:db8::1]", "[2001:db8::1]");
    check(
        "http://[2001:db8:0:0:1:2:3:4]:8080/",
        "[2001:db8::1:2:3:4:8080]",
        "[2001:db8::1:2:3:4:8080]",
    );
    check(
        "http://[1:2:3:4:5:6:7:8]:8080/",
        "[1:2:3:4:5:6:7:8]",
        "[1:2:3:4:5:6:7:8]",
    );
    check("http://localhost:8080/", "localhost", "localhost");
    check("http://co.uk/", "co.uk", "co.uk");
    check("http://github.io/", "github.io", "github.io");
    check("http://www.gov.uk/", "gov.uk", "gov.uk");
}

#[test]
fn keys_of_other_schemes_have_no_host() {
    check_empty("dns:example.com");
    check_empty("mailto:a@example.com");
}

fn check_empty(url: &str) {
    let key = url_key(url).expect("a key");
    assert_eq!(
        (host_of_key(&key), domain_of_key(&key)),
        (String::new(), String::new())
    );
}

#[test]
fn keys_of_one_domain() {
    let key = |url| url_key(url).expect("a key");
    assert!(same_domain(
        &key("http://a.example.com/x"),
        &key("https://example.com:8443/")
    ));
    assert!(!same_domain(
        &key("http://example.com/"),
        &key("http://example-x.com/")
    ));
    assert!(!same_domain(
        &key("http://a.github.io/"),
        &key("http://b.github.io/")
    ));
}

#[test]
fn hosts_of_urls() {
    let hosts = [
        ("http://example.com", Some("example.com")),
        ("https://u:p@Example.com:8080/a@b?c", Some("Example.com")),
        ("http://[::1]:8080/x", Some("[::1]")),
        ("http://[::1", Some("[::1")),
        ("http://example.com?x:y", Some("example.com")),
        ("http:///x", None),
        ("ftp://example.com/", None),
        ("/x", None),
        ("mailto:a@b.com", None),
    ];
    for (url, host) in hosts {
        assert_eq!(host_of_url(url), host, "{url}");
    }
}
