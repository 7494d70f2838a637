//! Ranges of objects: always of a single version, and as HEAD describes them.

use crate::gateway::{GatewayRig, UPSTREAM, send};
use crate::sign::Ask;
use crate::support::ADMIN;

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then_some(value))
}

/// A download was cut, the object was replaced, and the download resumed with the rest of the new
/// object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_is_of_the_version_that_the_client_has() {
    let rig = GatewayRig::start(&[]).await;
    for (key, address, bucket) in [
        (UPSTREAM, rig.upstream.server.address(), "face"),
        (ADMIN, rig.address(), "gateway"),
    ] {
        let target = format!("/{bucket}/film");
        let put = async |target: &str, body: &[u8]| {
            let ask = Ask {
                key,
                body,
                ..Ask::new("PUT", target)
            };
            let answer = send(&ask, address).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            header(&answer.head, "etag").unwrap_or_default().to_owned()
        };
        put(&format!("/{bucket}"), b"").await;
        let old = put(&target, &[b'A'; 100]).await;
        let new = put(&target, &[b'B'; 100]).await;
        assert_ne!(old, new);
        let weak = format!("W/{new}");
        for (if_range, status) in [
            (None, 206),
            (Some(new.as_str()), 206),
            (Some(old.as_str()), 200),
            (Some(&weak), 200),
            (Some("Wed, 01 Jan 2020 00:00:00 GMT"), 200),
            (Some("nonsense"), 200),
        ] {
            for method in ["GET", "HEAD"] {
                let mut unsigned = vec![("range", "bytes=50-")];
                unsigned.extend(if_range.map(|validator| ("if-range", validator)));
                let ask = Ask {
                    key,
                    unsigned: &unsigned,
                    ..Ask::new(method, &target)
                };
                let answer = send(&ask, address).await;
                let about = format!("{bucket}: {method} {if_range:?}: {}", answer.text());
                assert_eq!(answer.status, status, "{about}");
                let (range, length) = match status {
                    206 => (Some("bytes 50-99/100"), 50),
                    _ => (None, 100),
                };
                assert_eq!(header(&answer.head, "content-range"), range, "{about}");
                assert_eq!(
                    header(&answer.head, "content-length"),
                    Some(&*length.to_string()),
                    "{about}"
                );
                let body = if method == "GET" { length } else { 0 };
                assert_eq!(answer.body, vec![b'B'; body], "{about}");
            }
        }
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_describes_the_part_that_get_answers_with() {
    let rig = GatewayRig::start(&[]).await;
    for (key, address, bucket) in [
        (UPSTREAM, rig.upstream.server.address(), "face"),
        (ADMIN, rig.address(), "gateway"),
    ] {
        for (target, body) in [(format!("/{bucket}"), ""), (format!("/{bucket}/k"), "0123456789")] {
            let ask = Ask {
                key,
                body: body.as_bytes(),
                ..Ask::new("PUT", &target)
            };
            assert_eq!(send(&ask, address).await.status, 200);
        }
        let range: &[(&str, &str)] = &[("range", "bytes=1-4")];
        for (query, unsigned, content_range, length) in [
            ("", range, "bytes 1-4/10", "4"),
            ("?partNumber=1", &[][..], "bytes 0-9/10", "10"),
        ] {
            let target = format!("/{bucket}/k{query}");
            for method in ["GET", "HEAD"] {
                let ask = Ask {
                    key,
                    unsigned,
                    ..Ask::new(method, &target)
                };
                let answer = send(&ask, address).await;
                let about = format!("{bucket}: {method} {query}: {}", answer.text());
                assert_eq!(answer.status, 206, "{about}");
                assert_eq!(
                    header(&answer.head, "content-range"),
                    Some(content_range),
                    "{about}"
                );
                assert_eq!(header(&answer.head, "content-length"), Some(length), "{about}");
            }
        }
    }
    rig.stop().await;
}
