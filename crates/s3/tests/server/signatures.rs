//! Coverage of signatures: requests that ask for more than was signed.

use time::{Duration, OffsetDateTime};

use crate::bytes::request;
use crate::sign::{Ask, exchange};
use crate::support::{ADMIN, KEYS, OWNERS, Rig};

const OWNER: (&str, &str) = ("OWNER", "secret-of-OWNER");

/// Starts a server with a private object in a bucket of `owner`.
async fn with_secret() -> Rig {
    let rig = Rig::start_with_keys(OWNERS).await;
    for (target, body) in [("/closed", ""), ("/closed/secret", "secret"), ("/drop", "")] {
        let ask = Ask {
            key: OWNER,
            body: body.as_bytes(),
            ..Ask::new("PUT", target)
        };
        let answer = ask.send(rig.server.address()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    rig
}

/// The holder of a presigned URL for an upload adds a header. It would copy a private object,
/// readable by the signer, into a public one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_presigned_put_is_not_turned_into_a_copy() {
    let rig = with_secret().await;
    let address = rig.server.address();
    let attack = [
        ("x-amz-copy-source", "/closed/secret"),
        ("x-amz-acl", "public-read"),
    ];
    let signer = Ask {
        key: OWNER,
        ..Ask::new("PUT", "/drop/upload")
    };
    let url = signer.address(address);
    let put = |headers: &[(&str, &str)]| {
        let lines: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!("PUT {url} HTTP/1.1\r\nHost: {address}\r\n{lines}Content-Length: 0\r\n\r\n")
    };
    for headers in [&attack[..], &attack[..1], &attack[1..], &[("x-amz-meta-a", "b")]] {
        let answer = exchange(address, put(headers).as_bytes()).await;
        assert_eq!(answer.status, 403, "{headers:?}: {}", answer.text());
        assert!(answer.text().contains("<HeadersNotSigned>"), "{}", answer.text());
    }
    assert_eq!(rig.keys("drop/").await, Vec::<String>::new());
    assert_eq!(
        exchange(address, put(&[]).as_bytes()).await.status,
        200,
        "as it was signed"
    );
    let stranger = request("GET", &format!("{}/drop/upload", rig.endpoint()), b"").await;
    assert_eq!(stranger.status, 403, "{}", stranger.text());
    // A header that the signer did sign takes effect.
    let signer = Ask {
        signed: &[("x-amz-acl", "public-read")],
        ..signer
    };
    let url = signer.address(address);
    let text = format!(
        "PUT {url} HTTP/1.1\r\nHost: {address}\r\nx-amz-acl: public-read\r\nContent-Length: 0\r\n\r\n"
    );
    let answer = exchange(address, text.as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let stranger = request("GET", &format!("{}/drop/upload", rig.endpoint()), b"").await;
    assert_eq!(stranger.status, 200, "{}", stranger.text());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_outside_of_a_signed_request_is_refused() {
    let rig = with_secret().await;
    let ask = Ask {
        key: OWNER,
        unsigned: &[("x-amz-copy-source", "/closed/secret")],
        ..Ask::new("PUT", "/drop/upload")
    };
    let answer = ask.send(rig.server.address()).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(answer.text().contains("x-amz-copy-source"), "{}", answer.text());
    let signed = Ask {
        signed: ask.unsigned,
        unsigned: &[],
        ..ask
    };
    let answer = signed.send(rig.server.address()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    rig.stop().await;
}

/// A version 2 signature in a header does not expire by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_2_is_off_and_young_where_it_is_on() {
    let now = OffsetDateTime::now_utc();
    let old = now - Duration::minutes(16);
    for (on, date, status, code) in [
        (false, now, 400, "InvalidRequest"),
        (true, now, 200, ""),
        (true, old, 403, "RequestTimeTooSkewed"),
    ] {
        let rig = Rig::start_changed(KEYS, |settings| settings.version_2 = on).await;
        let address = rig.server.address();
        let bytes = Ask::new("GET", "/").by_version_2(address, date);
        let answer = exchange(address, &bytes).await;
        assert_eq!(answer.status, status, "{on} {date}: {}", answer.text());
        assert!(answer.text().contains(code), "{}", answer.text());
        let boundary = form_of_version_2(address);
        let answer = exchange(address, &boundary).await;
        let told = answer.text().contains("AWS4-HMAC-SHA256");
        assert_eq!(told, !on, "a form: {}", answer.text());
        rig.stop().await;
    }
}

/// Returns a form whose policy has a version 2 signature, as browsers send it.
fn form_of_version_2(address: std::net::SocketAddr) -> Vec<u8> {
    use hmac::{KeyInit as _, Mac as _};
    let policy = r#"{"expiration": "2099-01-01T00:00:00Z", "conditions": [["starts-with", "$key", ""]]}"#;
    let policy = data_encoding::BASE64.encode(policy.as_bytes());
    let mut mac = hmac::Hmac::<sha1::Sha1>::new_from_slice(ADMIN.1.as_bytes()).unwrap();
    mac.update(policy.as_bytes());
    let signature = data_encoding::BASE64.encode(&mac.finalize().into_bytes());
    let fields = [
        ("key", "x"),
        ("AWSAccessKeyId", ADMIN.0),
        ("policy", &policy),
        ("signature", &signature),
    ];
    let mut body: String = fields
        .iter()
        .map(|(name, value)| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        })
        .collect();
    body.push_str(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nx\r\n--b--\r\n",
    );
    let head = format!(
        "POST /forms HTTP/1.1\r\nHost: {address}\r\nContent-Type: multipart/form-data; boundary=b\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// s3cmd signs for `US` by default, which is not a region. It signs again after the refusal names a
/// valid one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_region_that_cannot_be_is_answered_with_one_that_can() {
    let rig = Rig::start().await;
    let ask = Ask {
        region: "US",
        ..Ask::new("GET", "/")
    };
    let answer = ask.send(rig.server.address()).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    for part in [
        "<Code>AuthorizationHeaderMalformed</Code>",
        "<Region>us-east-1</Region>",
    ] {
        assert!(answer.text().contains(part), "{}", answer.text());
    }
    rig.stop().await;
}

/// Overriding response headers needs a signature: otherwise a stranger could present a public
/// object as a web page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_do_not_choose_how_an_object_is_shown() {
    let rig = Rig::start().await;
    let address = rig.server.address();
    Ask::new("PUT", "/shared-open").send(address).await;
    Ask::new("PUT", "/shared-open/x").send(address).await;
    let shown = "/shared-open/x?response-content-type=text%2Fhtml";
    let stranger = request("GET", &format!("{}{shown}", rig.endpoint()), b"").await;
    assert_eq!(stranger.status, 400, "{}", stranger.text());
    let url = Ask::new("GET", shown).address(address);
    let signed = request("GET", &format!("http://{address}{url}"), b"").await;
    assert!(
        signed.status == 200 && signed.head.contains("text/html"),
        "{}",
        signed.text()
    );
    rig.stop().await;
}

/// A web page whose host name is pointed at this machine after it was loaded (DNS rebinding).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_not_ours_is_misdirected_unless_signed() {
    let rig = Rig::start_changed(KEYS, |settings| settings.hosts = vec!["store.example".to_owned()]).await;
    let address = rig.server.address();
    for (host, misdirected) in [
        ("evil.example", true),
        ("127.0.0.1.evil.example:9000", true),
        ("localhost", false),
        ("127.0.0.1:1", false),
        ("store.example:443", false),
    ] {
        for line in [
            "GET / HTTP/1.1",
            "OPTIONS /shared-open/x HTTP/1.1\r\nOrigin: http://evil.example",
        ] {
            let answer = exchange(address, format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes()).await;
            assert_eq!(answer.status == 421, misdirected, "{host}: {}", answer.text());
        }
    }
    // A page has no key, so a signed request may use any host name.
    let signed = Ask::new("GET", "/")
        .by_header("192.0.2.1:9000".parse().unwrap())
        .0;
    assert_eq!(exchange(address, &signed).await.status, 200);
    rig.stop().await;
}
