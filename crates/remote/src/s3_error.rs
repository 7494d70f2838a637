//! Errors of S3 stores as readable sentences, without XML and the client's description of the
//! request.

/// Converts `text`, an error of the S3 client, to a sentence for users. `bucket` is the requested
/// one.
///
/// The client's texts end in the server's or the network's error, after ` - `; a server's error has
/// its status before an XML document with a code and a message.
pub(crate) fn in_a_sentence(text: &str, bucket: &str) -> String {
    if code(text) == Some("NoSuchBucket") {
        return format!("there is no bucket {bucket} in this store");
    }
    let told = match text.split_once(" - ") {
        Some((request, told)) if request.contains("Error performing") => told,
        _ => text,
    };
    let Some((_, answer)) = told.split_once("status code: ") else {
        return told.trim().to_owned();
    };
    let status = answer.split(':').next().unwrap_or_default().trim();
    let parts = [code(answer), element(answer, "Message")];
    let parts: Vec<String> = parts.into_iter().flatten().map(unescaped).collect();
    if parts.is_empty() {
        format!("the store says {status}")
    } else {
        format!("the store says {status}: {}", parts.join(": "))
    }
}

fn code(text: &str) -> Option<&str> {
    element(text, "Code")
}

/// Returns the text of the first element with this name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once(&format!("</{name}>"))?;
    (!content.trim().is_empty()).then(|| content.trim())
}

fn unescaped(text: &str) -> String {
    // `&amp;` must be last, so that `&amp;lt;` becomes `&lt;` and not `<`.
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(text.to_owned(), |text, (entity, character)| {
            text.replace(entity, character)
        })
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStore as _;
    use object_store::aws::AmazonS3Builder;
    use object_store::{ClientOptions, RetryConfig};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::in_a_sentence;
    use crate::failure::with_causes;

    /// Returns the S3 client's error if a store answers a listing with `status` and `body`.
    async fn said(status: &str, body: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/xml\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let answering = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let client = AmazonS3Builder::new()
            .with_bucket_name("b")
            .with_region("us-east-1")
            .with_endpoint(format!("http://{address}"))
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_retry(RetryConfig {
                max_retries: 0,
                ..RetryConfig::default()
            })
            .with_skip_signature(true)
            .build()
            .unwrap();
        let error = client.list_with_delimiter(None).await.unwrap_err();
        answering.await.unwrap();
        with_causes(&error)
    }

    /// The client has no typed error for this. The test provokes its actual texts, so that it fails
    /// if a new version changes them.
    #[tokio::test]
    async fn what_the_client_really_says_becomes_a_sentence() {
        let xml = |inner: &str| format!("<?xml version=\"1.0\"?><Error>{inner}</Error>");
        for (status, body, expected) in [
            (
                "404 Not Found",
                xml("<Code>NoSuchBucket</Code><Message>no</Message>"),
                "there is no bucket b in this store",
            ),
            (
                "400 Bad Request",
                xml("<Code>Odd</Code><Message>a &lt;b&gt;</Message>"),
                "the store says 400 Bad Request: Odd: a <b>",
            ),
            (
                "500 Internal Server Error",
                String::new(),
                "the store says 500 Internal Server Error",
            ),
        ] {
            let said = said(status, &body).await;
            assert_eq!(in_a_sentence(&said, "b"), expected, "{said}");
        }
    }

    #[tokio::test]
    async fn a_refused_listing_is_told_from_other_errors() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code></Error>";
        assert!(crate::bucket::is_refused(&said("403 Forbidden", body).await));
        assert!(!crate::bucket::is_refused(&said("400 Bad Request", body).await));
    }

    const LISTING: &str = "Error performing list request: Error performing GET http://127.0.0.1:9000/b?list-type=2 in 1.7ms - \
        Server returned non-2xx status code: ";

    #[test]
    fn answers_become_sentences() {
        let xml = |inner: &str| format!("<?xml version=\"1.0\"?><Error>{inner}</Error>");
        for (said, expected) in [
            (
                format!(
                    "{LISTING}404 Not Found: {}",
                    xml("<Code>NoSuchBucket</Code><Message>no</Message>")
                ),
                "there is no bucket b in this store",
            ),
            (
                format!(
                    "{LISTING}400 Bad Request: {}",
                    xml("<Code>Odd</Code><Message>a &lt;b&gt; &amp;lt;</Message>")
                ),
                "the store says 400 Bad Request: Odd: a <b> &lt;",
            ),
            (
                format!("{LISTING}400 Bad Request: "),
                "the store says 400 Bad Request",
            ),
            (format!("{LISTING}500 Oh: <Code>"), "the store says 500 Oh"),
            (
                "Error performing GET http://h/ in 3s, after 5 retries - HTTP error: refused".into(),
                "HTTP error: refused",
            ),
            ("anything - else".into(), "anything - else"),
            (String::new(), ""),
        ] {
            assert_eq!(in_a_sentence(&said, "b"), expected);
        }
    }
}
