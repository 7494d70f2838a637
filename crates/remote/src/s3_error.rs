//! What an S3 store said when it refused, in a sentence: without its XML and the client's account of the request.

/// What `text`, an error of the S3 client, says to a person. `bucket` is the one asked for.
///
/// The client's texts end in what the server or the network said, after ` - `; the server's answer has its status before
/// an XML document with a code and a message.
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
    match parts.is_empty() {
        true => format!("the store says {status}"),
        false => format!("the store says {status}: {}", parts.join(": ")),
    }
}

fn code(text: &str) -> Option<&str> {
    element(text, "Code")
}

/// The text of the first element of this name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once(&format!("</{name}>"))?;
    (!content.trim().is_empty()).then(|| content.trim())
}

fn unescaped(text: &str) -> String {
    // `&amp;` comes last, so that `&amp;lt;` becomes `&lt;` and not `<`.
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
    use super::in_a_sentence;

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
