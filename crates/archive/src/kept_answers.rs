//! A cache of whole answers about domains, rankings and links. The home page and the pages of
//! domains ask the same few questions at each visit, and an answer may read each URI of a domain.
//!
//! Invariant: an entry records the epoch, the filter and the question that it answers, and is used
//! for no other. These questions depend on nothing else.

use std::sync::Arc;

use access::AccessFilterId;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::question::{Body, Domains, Inlinks, Question, Top};

/// Memory for answers, in bytes: some 500 parts of lists.
const CACHE_BYTES: u64 = 16 << 20;

/// Approximate memory of an entry in addition to its question and answer.
const ENTRY_BYTES: u64 = 256;

/// Typical memory of an answer.
const ANSWER_BYTES: u64 = 32 << 10;

/// Limit of rows of a kept answer. The home page asks for this many.
const ROWS_MAX: usize = 200;

/// The filter, and the question in JSON.
type CacheKey = (AccessFilterId, Box<str>);

#[derive(Clone)]
struct Kept {
    epoch: u64,
    body: Arc<Body>,
    /// Approximate memory of the answer.
    size_bytes: u64,
}

/// Recent answers.
pub(crate) struct KeptAnswers(Cache<CacheKey, Kept, ByBytes>);

#[derive(Clone)]
struct ByBytes;

impl Weighter<CacheKey, Kept> for ByBytes {
    fn weight(&self, (_, question): &CacheKey, kept: &Kept) -> u64 {
        ENTRY_BYTES + question.len() as u64 + kept.size_bytes
    }
}

impl Default for KeptAnswers {
    fn default() -> KeptAnswers {
        let count = (CACHE_BYTES / ANSWER_BYTES) as usize;
        KeptAnswers(Cache::with_weighter(count, CACHE_BYTES, ByBytes))
    }
}

impl KeptAnswers {
    /// Returns the answer to a question at an epoch, from the cache or from `make`.
    pub(crate) fn get_or_make<E>(
        &self,
        filter: AccessFilterId,
        epoch: u64,
        question: &Question,
        make: impl FnOnce() -> Result<Body, E>,
    ) -> Result<Body, E> {
        if !is_kept(question) {
            return make();
        }
        let Ok(text) = serde_json::to_string(question) else {
            return make();
        };
        let key = (filter, text.into_boxed_str());
        if let Some(kept) = self.0.get(&key).filter(|kept| kept.epoch == epoch) {
            return Ok(Body::clone(&kept.body));
        }
        let body = make()?;
        if let Ok(json) = serde_json::to_vec(&body) {
            let kept = Kept {
                epoch,
                body: Arc::new(body.clone()),
                // An estimate: memory has no names of fields, but unused bytes.
                size_bytes: json.len() as u64,
            };
            self.0.insert(key, kept);
        }
        Ok(body)
    }
}

/// Returns whether answers to the question are kept: if they depend on the snapshot and the filter
/// only, and take milliseconds to make. Parts of exports are long and asked for once.
fn is_kept(question: &Question) -> bool {
    match question {
        Question::Domain(_) => true,
        Question::Domains(Domains { limit, .. })
        | Question::Top(Top { limit, .. })
        | Question::Inlinks(Inlinks { limit, .. }) => *limit <= ROWS_MAX,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use access::{Access, AccessFilter, AccessRules, Groups};

    use super::*;
    use crate::question::{Domain, DomainBody, Status, StatusBody};

    fn domain(name: &str) -> Question {
        Question::Domain(Domain { name: name.into() })
    }

    #[test]
    fn an_answer_is_used_for_its_epoch_filter_and_question_only() {
        let kept = KeptAnswers::default();
        let everything = AccessFilter::everything().id();
        let rules = AccessRules {
            default: Access::Deny,
            ..AccessRules::default()
        };
        let nothing = rules.filter_for(&Groups::public(), 0).unwrap().id();
        let check = |filter, epoch, question: &Question, uris: u64, expected: u64| {
            let made = DomainBody {
                uris,
                ..DomainBody::default()
            };
            let body = kept.get_or_make(filter, epoch, question, || Ok::<_, Infallible>(made.into()));
            let Ok(Body::Domain(body)) = body else {
                panic!("another answer")
            };
            assert_eq!(body.uris, expected);
        };
        check(everything, 1, &domain("example.org"), 1, 1);
        check(everything, 1, &domain("example.org"), 2, 1);
        check(everything, 1, &domain("example.com"), 3, 3);
        check(nothing, 1, &domain("example.org"), 4, 4);
        check(everything, 2, &domain("example.org"), 5, 5);
        check(everything, 2, &domain("example.org"), 6, 5);
        // A question that began before a commit may end after it.
        check(everything, 1, &domain("example.org"), 7, 7);
    }

    #[test]
    fn parts_of_exports_are_not_kept() {
        let top = |limit| {
            Question::Top(Top {
                limit,
                ..Top::default()
            })
        };
        assert!(is_kept(&top(0)) && is_kept(&top(ROWS_MAX)));
        assert!(!is_kept(&top(10_000)));
    }

    #[test]
    fn answers_that_depend_on_more_are_not_kept() {
        let kept = KeptAnswers::default();
        for jobs_active in [1, 0] {
            let made = StatusBody {
                jobs_active,
                ..StatusBody::default()
            };
            let question = Question::Status(Status {});
            let body = kept.get_or_make(AccessFilter::everything().id(), 1, &question, || {
                Ok::<_, Infallible>(made.clone().into())
            });
            assert_eq!(body, Ok(Body::Status(made)));
        }
    }
}
