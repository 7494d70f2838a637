//! Every list of captured pages opens the archived page in one click.

use archive::question::Answer;
use archive::question::{Body, Question};
use archive::{AskError, ErrorCode};

use crate::fake::{error, get, router, sample};
use crate::port::{Running, with_replay};

/// Pages that list captured pages, and the time of the capture that they open.
const LISTS: [(&str, &str); 10] = [
    ("/search?q=example", "&amp;at=20140126200624"),
    ("/search?q=example&show=concordance", "&amp;at=20"),
    ("/page?url=http://example.com/", "&amp;at=2014"),
    (
        "/page/inlinks?url=http://example.com/&ever=1",
        "&amp;at=20120126200624",
    ),
    ("/page/diff?url=http://example.com/", "&amp;at=20"),
    ("/captures?url=http://example.com/", "&amp;at=20140126200624"),
    ("/pages", "&amp;at=2014"),
    ("/ranking", "\""),
    ("/domain?name=example.com", "\""),
    ("/", "\""),
];

/// Answers with the samples, in which all ranked URLs are captured.
fn captured(question: &Question) -> Result<Answer, AskError> {
    let mut answer = sample(question)?;
    match &mut answer.body {
        Body::Top(top) => top.rows.iter_mut().for_each(|row| row.captured = true),
        // The home page of an empty archive lists nothing.
        Body::Status(status) => status.captures = 1,
        Body::Domain(domain) => domain.top.iter_mut().for_each(|row| row.captured = true),
        _ => {}
    }
    Ok(answer)
}

#[tokio::test]
async fn without_replay_a_click_opens_the_sandbox() {
    let router = router(captured);
    for (path, time) in LISTS {
        let body = get(&router, path).await.body;
        let link = format!("href=\"/sandbox/content?url=http%3A%2F%2Fexample.com%2F{time}");
        assert!(body.contains(&link), "{path} has no {link}: {body}");
        assert!(!body.contains("href=\"/replay"), "{path}: {body}");
    }
}

#[test]
fn with_replay_a_click_opens_the_page_in_replay() {
    let running = Running::start(captured, with_replay());
    for (path, time) in LISTS {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let body = running.raw(request.as_bytes());
        let link = format!("href=\"/replay?url=http%3A%2F%2Fexample.com%2F{time}");
        assert!(body.contains(&link), "{path} has no {link}: {body}");
    }
}

/// A URL that is only linked to has nothing to open.
#[tokio::test]
async fn what_was_not_captured_cannot_be_opened() {
    let router = router(|question| match question {
        Question::Top(_) | Question::Domain(_) => sample(question),
        _ => Err(error(ErrorCode::NotFound)),
    });
    for path in ["/ranking", "/domain?name=example.com"] {
        let body = get(&router, path).await.body;
        assert!(
            body.contains("not captured") && !body.contains("class=\"open\""),
            "{path}: {body}"
        );
    }
}
