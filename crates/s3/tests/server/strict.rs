//! Comparisons, refusals and responses that must equal S3's, tested byte by byte.

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::bytes::{Answer, open_to_writers, request};
use crate::sign::{Ask, exchange, next_answer};
use crate::support::{OWNERS, Rig};

const DELETE: &str = "<Delete><Object><Key>x</Key></Object></Delete>";

async fn with_object() -> Rig {
    let rig = Rig::start().await;
    for target in ["/data", "/data/x"] {
        let answer = Ask::new("PUT", target).send(rig.server.address()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    rig
}

async fn delete_objects(rig: &Rig, headers: &[(&str, &str)]) -> Answer {
    let ask = Ask {
        signed: headers,
        body: DELETE.as_bytes(),
        ..Ask::new("POST", "/data?delete")
    };
    ask.send(rig.server.address()).await
}

/// A delete request that is damaged in transit, or lacks a digest, deletes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_body_deletes_nothing() {
    let rig = with_object().await;
    let good = BASE64.encode(&Sha256::digest(DELETE.as_bytes()));
    for (headers, code) in [
        (vec![], "InvalidRequest"),
        (vec![("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], "BadDigest"),
        (vec![("content-md5", "short")], "InvalidDigest"),
        (vec![("x-amz-checksum-crc32", "AAAAAA==")], "BadDigest"),
    ] {
        let answer = delete_objects(&rig, &headers).await;
        assert_eq!(answer.status, 400, "{headers:?}: {}", answer.text());
        assert!(
            answer.text().contains(&format!("<Code>{code}</Code>")),
            "{headers:?}: {}",
            answer.text()
        );
        assert_eq!(rig.keys("data/").await, ["data/x"]);
    }
    let answer = delete_objects(&rig, &[("x-amz-checksum-sha256", &good)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(rig.keys("data/").await, Vec::<String>::new());
    rig.stop().await;
}

/// The bucket may have been removed and created again by another user since the client last saw it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_of_another_owner_is_not_touched() {
    let rig = Rig::start_with_keys(OWNERS).await;
    let address = rig.server.address();
    let key = ("OWNER", "secret-of-OWNER");
    let ask = |method, target, signed: &'static [(&'static str, &'static str)]| Ask {
        key,
        signed,
        ..Ask::new(method, target)
    };
    for target in ["/mine", "/mine/x"] {
        assert_eq!(ask("PUT", target, &[]).send(address).await.status, 200);
    }
    const OURS: (&str, &str) = ("x-amz-expected-bucket-owner", "owner");
    const THEIRS: (&str, &str) = ("x-amz-expected-bucket-owner", "guest");
    for (method, target) in [
        ("GET", "/mine/x"),
        ("GET", "/mine?list-type=2"),
        ("GET", "/mine?acl"),
        ("PUT", "/mine/y"),
        ("POST", "/mine/y?uploads"),
        ("DELETE", "/mine/x"),
    ] {
        let answer = ask(method, target, &[THEIRS]).send(address).await;
        assert_eq!(answer.status, 403, "{method} {target}: {}", answer.text());
        let answer = ask(method, target, &[OURS]).send(address).await;
        assert!(answer.status < 300, "{method} {target}: {}", answer.text());
    }
    let address_of = ask("GET", "/mine?X-Amz-Expected-Bucket-Owner=guest", &[]).address(address);
    let answer = request("GET", &format!("http://{address}{address_of}"), b"").await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    let copy = [
        ("x-amz-copy-source", "/mine/y"),
        ("x-amz-source-expected-bucket-owner", "guest"),
    ];
    let copy = Ask {
        key,
        signed: &copy,
        ..Ask::new("PUT", "/mine/z")
    };
    assert_eq!(copy.send(address).await.status, 403);
    rig.stop().await;
}

/// After an early error response a client sends its next request on the same connection, unless
/// told not to. In that case the response must reach it although it is still sending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_early_error_the_next_request_is_answered_or_the_end_was_told() {
    let rig = Rig::start().await;
    for (size, kept) in [(0, true), (10, true), (60_000, true), (1_000_000, false)] {
        let mut stream = TcpStream::connect(rig.server.address()).await.unwrap();
        let body = vec![b'x'; size];
        let head = format!("PUT /data/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n");
        stream
            .write_all(&[head.as_bytes(), &body].concat())
            .await
            .unwrap();
        let answer = next_answer(&mut stream).await;
        assert_eq!(answer.status, 403, "{size}: {}", answer.text());
        let closes = answer.head.to_lowercase().contains("connection: close");
        assert_eq!(closes, !kept, "{size}: {}", answer.text());
        if kept {
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .await
                .unwrap();
            assert_eq!(next_answer(&mut stream).await.status, 403, "{size}");
        }
    }
    rig.stop().await;
}

/// A chunk's signature does not cover the chunks after it, so all signatures in a truncated body
/// are valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_body_without_its_last_chunk_is_incomplete() {
    let rig = Rig::start().await;
    let address = rig.server.address();
    Ask::new("PUT", "/data").send(address).await;
    for (last, status) in [(true, 200), (false, 400)] {
        let mut ask = Ask {
            payload: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
            signed: &[
                ("x-amz-decoded-content-length", "5"),
                ("content-encoding", "aws-chunked"),
            ],
            ..Ask::new("PUT", "/data/chunked")
        };
        let (_, seed, stamp) = ask.by_header(address);
        let first = ask.chunk_signature(&seed, &stamp, b"hello");
        let end = ask.chunk_signature(&first, &stamp, b"");
        let mut body = format!("5;chunk-signature={first}\r\nhello\r\n");
        if last {
            body.push_str(&format!("0;chunk-signature={end}\r\n\r\n"));
        }
        ask.body = body.as_bytes();
        let (bytes, again, _) = ask.by_header(address);
        if again != seed {
            // The clock advanced by a second in between, so the chunks are signed for the previous
            // second.
            continue;
        }
        let answer = exchange(address, &bytes).await;
        assert_eq!(answer.status, status, "{last}: {}", answer.text());
        if last {
            assert_eq!(rig.keys("data/").await, ["data/chunked"]);
            assert_eq!(
                Ask::new("DELETE", "/data/chunked").send(address).await.status,
                204
            );
        }
    }
    assert_eq!(rig.keys("data/").await, Vec::<String>::new());
    rig.stop().await;
}

/// The causes of a broken body can be recognized only by the texts of s3s's errors. This test
/// provokes each of them, so that it fails if a new version of s3s changes the texts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_broke_a_body_off_is_named() {
    let rig = Rig::start().await;
    let address = rig.server.address();
    Ask::new("PUT", "/data").send(address).await;
    let other = HEXLOWER.encode(&Sha256::digest(b"hullo"));
    let whole = Ask {
        payload: &other,
        body: b"hello",
        ..Ask::new("PUT", "/data/whole")
    };
    let chunked = |body| Ask {
        payload: "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        signed: &[
            ("x-amz-decoded-content-length", "5"),
            ("content-encoding", "aws-chunked"),
        ],
        body,
        ..Ask::new("PUT", "/data/chunked")
    };
    let forged = format!("5;chunk-signature={other}\r\nhello\r\n0;chunk-signature={other}\r\n\r\n");
    let cut = format!("5;chunk-signature={other}\r\nhel");
    for (ask, code) in [
        (whole, "XAmzContentSHA256Mismatch"),
        (chunked(forged.as_bytes()), "SignatureDoesNotMatch"),
        (chunked(cut.as_bytes()), "IncompleteBody"),
    ] {
        let answer = ask.send(address).await;
        let named = format!("<Code>{code}</Code>");
        assert!(
            answer.text().contains(&named),
            "{named} is not in {}",
            answer.text()
        );
    }
    assert_eq!(rig.keys("data/").await, Vec::<String>::new());
    rig.stop().await;
}

/// Clients repeat a request because its response is late: one request joins the parts, and all get
/// its result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_completes_of_one_upload_all_succeed() {
    let rig = Rig::start().await;
    let address = rig.server.address();
    Ask::new("PUT", "/data").send(address).await;
    for (round, condition) in [&[][..], &[("if-none-match", "*")], &[], &[("if-none-match", "*")]]
        .into_iter()
        .enumerate()
    {
        let target = format!("/data/joined-{round}");
        let begun = Ask::new("POST", &format!("{target}?uploads"))
            .send(address)
            .await
            .text();
        let id = begun
            .split("<UploadId>")
            .nth(1)
            .unwrap()
            .split('<')
            .next()
            .unwrap()
            .to_owned();
        let part = format!("{target}?partNumber=1&uploadId={id}");
        let part = Ask {
            body: b"part",
            ..Ask::new("PUT", &part)
        };
        let head = part.send(address).await.head;
        let etag = head
            .lines()
            .find_map(|line| line.strip_prefix("etag: "))
            .unwrap()
            .to_owned();
        let body = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></CompleteMultipartUpload>"
        );
        let complete = || {
            let (target, id, body) = (target.clone(), id.clone(), body.clone());
            tokio::spawn(async move {
                let target = format!("{target}?uploadId={id}");
                let ask = Ask {
                    body: body.as_bytes(),
                    unsigned: condition,
                    ..Ask::new("POST", &target)
                };
                ask.send(address).await
            })
        };
        for racing in (0..8).map(|_| complete()).collect::<Vec<_>>() {
            let answer = racing.await.unwrap();
            assert_eq!(answer.status, 200, "round {round}: {}", answer.text());
            assert!(
                answer.text().contains("CompleteMultipartUploadResult"),
                "{}",
                answer.text()
            );
        }
    }
    rig.stop().await;
}

/// XML 1.0 cannot express most control characters: a listing that contained one could not be
/// parsed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_can_be_read_whatever_is_in_a_key() {
    let rig = open_to_writers(s3::Limits::default()).await;
    let list = async |query: &str| {
        let mut keys = std::fs::read_to_string(rig.dir().join("keys.toml")).unwrap();
        keys = keys.replace(r#""read", "write"]"#, r#""read", "write", "list"]"#);
        std::fs::write(rig.dir().join("keys.toml"), keys).unwrap();
        loop {
            let answer = request("GET", &format!("{}/drop{query}", rig.endpoint()), b"").await;
            if answer.status == 200 {
                return answer.text();
            }
            assert_eq!(answer.status, 403, "{}", answer.text());
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let put = async |key: &str| {
        let answer = request("PUT", &format!("{}/drop/{key}", rig.endpoint()), b"").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    put("a%0Db%20c").await;
    let plain = list("").await;
    assert!(
        plain.contains("<Key>a&#13;b c</Key>") && !plain.contains("EncodingType"),
        "{plain}"
    );
    put("z%01%1F").await;
    for query in ["", "?list-type=2", "?versions"] {
        let text = list(query).await;
        assert!(text.contains("<EncodingType>url</EncodingType>"), "{text}");
        assert!(
            text.contains("<Key>z%01%1F</Key>") && text.contains("<Key>a%0Db%20c</Key>"),
            "{text}"
        );
    }
    let text = list("?prefix=%02").await;
    assert!(text.contains("<Prefix>%02</Prefix>"), "{text}");
    let missing = request("GET", &format!("{}/drop/none%01", rig.endpoint()), b"").await;
    assert!(
        missing.status == 404 && !missing.text().contains('\u{1}'),
        "{}",
        missing.text()
    );
    rig.stop().await;
}

/// Clients that manage buckets request every configuration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configurations_never_set_are_answered_as_s3_does() {
    let rig = with_object().await;
    for (query, status, part) in [
        ("lifecycle", 404, "NoSuchLifecycleConfiguration"),
        (
            "encryption",
            404,
            "ServerSideEncryptionConfigurationNotFoundError",
        ),
        ("website", 404, "NoSuchWebsiteConfiguration"),
        ("replication", 404, "ReplicationConfigurationNotFoundError"),
        ("object-lock", 404, "ObjectLockConfigurationNotFoundError"),
        ("notification", 200, "<NotificationConfiguration"),
        ("logging", 200, "<BucketLoggingStatus"),
        ("accelerate", 200, "<AccelerateConfiguration"),
        ("requestPayment", 200, "<Payer>BucketOwner</Payer>"),
        ("versioning", 200, "<VersioningConfiguration"),
        ("inventory", 200, "<IsTruncated>false</IsTruncated>"),
        ("metrics", 200, "<IsTruncated>false</IsTruncated>"),
        ("analytics", 200, "<IsTruncated>false</IsTruncated>"),
    ] {
        let answer = Ask::new("GET", &format!("/data?{query}"))
            .send(rig.server.address())
            .await;
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
        assert!(answer.text().contains(part), "{query}: {}", answer.text());
        let answer = Ask::new("GET", &format!("/absent?{query}"))
            .send(rig.server.address())
            .await;
        assert!(
            answer.text().contains("NoSuchBucket"),
            "{query}: {}",
            answer.text()
        );
    }
    // Lock operations are refused as in a bucket without object lock. These keys must not change
    // the protection of objects.
    for (method, target, status, code) in [
        ("GET", "/data/x?retention", 400, "InvalidRequest"),
        ("GET", "/data/x?legal-hold", 400, "InvalidRequest"),
        ("PUT", "/data?object-lock", 403, "AccessDenied"),
    ] {
        let ask = Ask {
            body: b"<ObjectLockConfiguration/>",
            ..Ask::new(method, target)
        };
        let answer = ask.send(rig.server.address()).await;
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert!(answer.text().contains(code), "{target}: {}", answer.text());
    }
    rig.stop().await;
}

/// boto3 refuses to send such metadata; other clients send UTF-8 or RFC 2047.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_beyond_ascii_are_kept() {
    let rig = with_object().await;
    for sent in ["köln", "=?UTF-8?B?a8O2bG4=?="] {
        let headers = [("x-amz-meta-city", sent)];
        let put = Ask {
            signed: &headers,
            ..Ask::new("PUT", "/data/city")
        };
        assert_eq!(put.send(rig.server.address()).await.status, 200);
        let head = Ask::new("GET", "/data/city")
            .send(rig.server.address())
            .await
            .head;
        assert!(head.contains("x-amz-meta-city: =?UTF-8?B?a8O2bG4=?="), "{head}");
    }
    rig.stop().await;
}
