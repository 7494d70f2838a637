//! A fake archive, and helpers to send requests.

use std::path::Path;
use std::sync::Arc;

use access::Groups;
use archive::question::{
    AccessScopeBody, Answer, Body, CdxBlocksBody, CdxBody, GraphEdge, GraphPartBody, Question, SearchBody,
    ThumbnailBody,
};
use archive::{AskError, ErrorCode};
use axum::Router;
use axum::body::{Body as Content, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use cache::{Cache, Directory, Settings};
use server::storage::{Storage, StoreReport};
use server::{Answers, ServerParts, ServerSettings};
use tower::ServiceExt;

/// Answers by a function.
pub(crate) struct Fake<F>(pub(crate) F);

impl<F> Answers for Fake<F>
where
    F: Fn(&Question) -> Result<Answer, AskError> + Send + Sync + 'static,
{
    fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        // The fake has no rules.
        match question {
            Question::Sight(_) => Ok(Answer {
                epoch: 12,
                body: Body::Sight(AccessScopeBody {
                    everything: true,
                    has_rules: false,
                }),
            }),
            question => (self.0)(question),
        }
    }

    fn seen_by(&self, _: &Groups) -> Option<Arc<dyn Answers>> {
        None
    }
}

/// Returns the kind of a question's answer.
pub(crate) fn kind(question: &Question) -> &'static str {
    match question {
        Question::Status(_) => "status",
        Question::Check(_) => "check",
        Question::Stages(_) => "stages",
        Question::Ledger(_) => "ledger",
        Question::Quarantine(_) => "quarantine",
        Question::Page(_) => "page",
        Question::PageText(_) => "page_text",
        Question::Attachments(_) => "attachments",
        Question::Calendar(_) => "calendar",
        Question::Diff(_) => "diff",
        Question::Inlinks(_) | Question::Outlinks(_) => "links",
        Question::LinkCounts(_) => "link_counts",
        Question::Domain(_) => "domain",
        Question::Domains(_) => "domains",
        Question::Top(_) => "top",
        Question::GraphPart(_) => "graph_part",
        Question::Collections(_) => "collections",
        Question::Cdx(_) => "cdx",
        Question::CdxBlocks(_) => "cdx_blocks",
        Question::Search(_) => "search",
        Question::Concordance(_) => "concordance",
        Question::Images(_) => "images",
        Question::Thumbnail(_) => "thumbnail",
        Question::Suggest(_) => "suggestions",
        Question::Trends(_) => "trends",
        Question::Events(_) => "events",
        Question::Report(_) => "report",
        Question::Record(_) => "record",
        Question::ListedPages(_) => "listed_pages",
        Question::Load(_) | Question::Job(_) | Question::Cancel(_) => "job",
        Question::Jobs(_) => "jobs",
        Question::Post(_) | Question::Unpost(_) => "posted",
        Question::Forget(_) => "forgotten",
        Question::TakeDown(_) => "taken_down",
        Question::Takedowns(_) => "takedowns",
        Question::UndoTakedown(_) => "undone",
        Question::Purge(_) => "purged",
        Question::TakedownRules(_) => "takedown_rules",
        Question::Rebuild(_) => "rebuilt",
        Question::Rebuilding(_) => "rebuilding",
        Question::Sight(_) => "sight",
        Question::Rights(_) => "rights",
        Question::RightsTest(_) => "rights_test",
    }
}

/// Returns the sample answer of the question's kind.
pub(crate) fn sample(question: &Question) -> Result<Answer, AskError> {
    if let Question::CdxBlocks(_) = question {
        let (ends, next) = (Vec::new(), None);
        return Ok(Answer {
            epoch: 12,
            body: Body::CdxBlocks(CdxBlocksBody { ends, next }),
        });
    }
    // Only pages ask for a part of a graph, so it is not documented.
    if let Question::GraphPart(_) = question {
        return Ok(Answer {
            epoch: 12,
            body: Body::GraphPart(a_graph()),
        });
    }
    // Its bytes are sent as an image.
    if let Question::Thumbnail(_) = question {
        return Ok(Answer {
            epoch: 12,
            body: Body::Thumbnail(ThumbnailBody {
                mime: "image/png".into(),
                data: "iVBORw0KGgo=".into(),
            }),
        });
    }
    let wanted = kind(question);
    let found = crate::sample::samples()
        .into_iter()
        .find(|(name, _)| *name == wanted);
    let mut answer = found.expect("a sample of every kind").1;
    if let (Question::LinkCounts(asked), Body::LinkCounts(counts)) = (question, &mut answer.body) {
        counts.first_links = vec![crate::sample::link(); asked.first_links.min(1)];
    }
    // The second page of a list is the last.
    if let (Question::Cdx(cdx), Body::Cdx(CdxBody { next, .. })) = (question, &mut answer.body)
        && cdx.after.is_some()
    {
        *next = None;
    }
    if let (Question::Search(search), Body::Search(SearchBody { next, .. })) = (question, &mut answer.body)
        && search.after.is_some()
    {
        *next = None;
    }
    Ok(answer)
}

/// Returns two domains that link to each other, one of them also to itself.
fn a_graph() -> GraphPartBody {
    let edge = |source: &str, target: &str, links| GraphEdge {
        source: source.into(),
        target: target.into(),
        links,
        pages: 1,
        first_ms: 1_390_766_784_000,
        last_ms: 1_422_302_784_000,
    };
    GraphPartBody {
        pages: 3,
        edges: vec![
            edge("example.com", "<b>other", 3),
            edge("<b>other", "example.com", 1),
            edge("example.com", "example.com", 2),
        ],
        next: None,
    }
}

/// Returns an error of the archive.
pub(crate) fn error(code: ErrorCode) -> AskError {
    AskError {
        code,
        message: format!("because of {}", code.name()),
    }
}

/// Returns a cache with one directory, without content.
fn a_cache() -> Cache {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let settings = Settings {
        directories: vec![Directory::at(directory)],
        ..Settings::default()
    };
    Cache::open(&settings, "").expect("a cache")
}

/// Returns a server's components with `answers` as the archive and a store that reports the sample.
pub(crate) fn served(
    answers: impl Fn(&Question) -> Result<Answer, AskError> + Send + Sync + 'static,
) -> ServerParts {
    ServerParts {
        archive: Arc::new(Fake(answers)),
        store: Some(Arc::new(FakeStore(crate::sample::store()))),
        gateway: None,
        cache: Some(a_cache()),
        sql: None,
        files: None,
    }
}

/// Reports the given report.
pub(crate) struct FakeStore(pub(crate) StoreReport);

#[async_trait::async_trait]
impl Storage for FakeStore {
    async fn report(&self) -> StoreReport {
        self.0.clone()
    }
}

/// Returns a router whose requests come from the owner of the archive.
pub(crate) fn owned(router: Router) -> Router {
    router.layer(axum::Extension(server::OwnerRequest))
}

/// Returns a router that answers with `answers`, for the owner of the archive.
pub(crate) fn router(
    answers: impl Fn(&Question) -> Result<Answer, AskError> + Send + Sync + 'static,
) -> Router {
    owned(server::router(served(answers), ServerSettings::default()))
}

/// A response over HTTP.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("a header of text"))
    }
}

/// Sends one request through the router.
pub(crate) async fn send(router: &Router, mut request: Request<Content>) -> Reply {
    let host = request.headers_mut().entry("host");
    host.or_insert(HeaderValue::from_static("localhost"));
    let response = router
        .clone()
        .oneshot(request)
        .await
        .expect("routers do not fail");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX)
        .await
        .expect("a whole body");
    Reply {
        status,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}

/// Sends `GET path`.
pub(crate) async fn get(router: &Router, path: &str) -> Reply {
    send(
        router,
        Request::get(path).body(Content::empty()).expect("a request"),
    )
    .await
}
