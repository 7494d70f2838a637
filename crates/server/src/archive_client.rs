//! Asks the archive questions from async code.
//!
//! Invariants: the archive is called on blocking threads only. At most `questions_max` calls run at
//! once, even if the requests have been dropped, because the permit is held until the call ends.

use std::sync::Arc;

use access::Groups;
use archive::AskError;
use archive::question::{Answer, Ask, Question};
use tokio::sync::Semaphore;

use crate::answers::Answers;
use crate::counters::Counters;
use crate::failure::Failure;
use crate::redact_paths::PathRedactor;

/// Number of attempts to get answers that are shown together from one epoch.
const TOGETHER_TRIES: usize = 3;

/// Asks on blocking threads, with a limit on concurrent calls.
#[derive(Clone)]
pub(crate) struct ArchiveClient {
    source: Arc<dyn Answers>,
    permits: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl ArchiveClient {
    pub(crate) fn new(
        source: Arc<dyn Answers>,
        questions_max: usize,
        counters: Arc<Counters>,
    ) -> ArchiveClient {
        ArchiveClient {
            source,
            permits: Arc::new(Semaphore::new(questions_max.max(1))),
            counters,
        }
    }

    /// Returns a client with the permissions of these groups, within the same limit.
    pub(crate) fn seen_by(&self, groups: &Groups) -> ArchiveClient {
        ArchiveClient {
            source: self
                .source
                .seen_by(groups)
                .unwrap_or_else(|| Arc::clone(&self.source)),
            ..self.clone()
        }
    }

    /// Returns a client whose answers name files without their folders.
    pub(crate) fn redact_paths(self) -> ArchiveClient {
        ArchiveClient {
            source: Arc::new(PathRedactor(self.source)),
            ..self
        }
    }

    /// Returns whether no rules hide anything, as far as that is known without waiting.
    pub(crate) fn has_no_rules(&self) -> bool {
        self.source.has_no_rules()
    }

    /// Returns the source of answers, for work that asks several questions in a row
    /// ([`ArchiveClient::blocking`]).
    pub(crate) fn source(&self) -> Arc<dyn Answers> {
        Arc::clone(&self.source)
    }

    /// Asks one question.
    pub(crate) async fn ask<Q: Ask>(&self, question: Q) -> Result<Answer<Q::Answer>, Failure> {
        let (answer, ()) = self.ask_then(question, |_, _| ()).await?;
        Ok(answer)
    }

    /// Asks one question and runs `then` on the answer on the same thread. Waking another thread
    /// costs more than most answers.
    pub(crate) async fn ask_then<Q, T, F>(
        &self,
        question: Q,
        then: F,
    ) -> Result<(Answer<Q::Answer>, T), Failure>
    where
        Q: Ask,
        T: Send + 'static,
        F: FnOnce(&dyn Answers, &Q::Answer) -> T + Send + 'static,
    {
        let question = question.into();
        let counters = Arc::clone(&self.counters);
        let asked = self.blocking(move |source| {
            // An owner of another version could answer another question. Only this function checks
            // that.
            let answer = ask_measured(source, &question, &counters)?.to::<Q>()?;
            let more = then(source, &answer.body);
            Ok((answer, more))
        });
        asked.await?
    }

    /// Calls `ask`, which asks questions whose answers are shown together and returns the answers.
    /// The answers come from one epoch if that succeeds within [`TOGETHER_TRIES`] attempts. While a
    /// load commits epochs quickly, the answers of the last attempt are returned.
    pub(crate) async fn ask_together<T, F>(&self, ask: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Fn(&mut Together<'_>) -> T + Send + 'static,
    {
        let counters = Arc::clone(&self.counters);
        let asked = self.blocking(move |source| {
            let mut tries = 0;
            loop {
                tries += 1;
                let mut together = Together {
                    source,
                    counters: &counters,
                    epochs: Vec::new(),
                };
                let answers = ask(&mut together);
                if together.is_one_epoch() || tries == TOGETHER_TRIES {
                    return answers;
                }
            }
        });
        asked.await
    }

    /// Runs `work` on a blocking thread, within the limit.
    pub(crate) async fn blocking<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Answers) -> T + Send + 'static,
    {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| Failure::unavailable("the server is shutting down"))?;
        let source = Arc::clone(&self.source);
        let task = system::blocking(move || {
            // Held until the call ends, even if the request has been dropped by then.
            let _permit = permit;
            work(source.as_ref())
        });
        task.await.map_err(|error| {
            tracing::error!(%error, "a query task failed");
            Failure::internal()
        })
    }
}

/// Asks questions whose answers are shown together ([`ArchiveClient::ask_together`]).
pub(crate) struct Together<'a> {
    source: &'a dyn Answers,
    counters: &'a Counters,
    /// Epochs of the answers so far.
    epochs: Vec<u64>,
}

impl Together<'_> {
    /// Asks one question.
    pub(crate) fn ask<Q: Ask>(&mut self, question: Q) -> Outcome<Q::Answer> {
        let answer = ask_measured(self.source, &question.into(), self.counters)?;
        self.epochs.push(answer.epoch);
        answer.to::<Q>()
    }

    fn is_one_epoch(&self) -> bool {
        self.epochs.windows(2).all(|two| two[0] == two[1])
    }
}

/// The outcome of one question.
pub(crate) type Outcome<A> = Result<Answer<A>, AskError>;

fn ask_measured(source: &dyn Answers, question: &Question, counters: &Counters) -> Result<Answer, AskError> {
    let begun = system::now();
    let answer = source.ask(question);
    // Searches have a separate metric, because their duration depends on what clients search for.
    if matches!(question, Question::Search(_)) {
        counters.search_took(system::since(begun));
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use archive::question::{Body, Jobs, JobsBody};

    use super::*;

    /// Commits an epoch with every question, up to the last one.
    struct Loading {
        epoch: AtomicU64,
        last: u64,
    }

    impl Answers for Loading {
        fn ask(&self, _: &Question) -> Result<Answer, AskError> {
            let epoch = self.epoch.fetch_add(1, Ordering::Relaxed).min(self.last);
            let body = Body::Jobs(JobsBody { rows: Vec::new() });
            Ok(Answer { epoch, body })
        }

        fn seen_by(&self, _: &Groups) -> Option<Arc<dyn Answers>> {
            None
        }
    }

    #[tokio::test]
    async fn answers_come_from_one_epoch_unless_a_load_is_too_quick() {
        for (last, expected) in [(0, [0_u64, 0]), (1, [1, 1]), (u64::MAX, [4, 5])] {
            let epoch = AtomicU64::new(0);
            let source = Arc::new(Loading { epoch, last });
            let client = ArchiveClient::new(source, 1, Arc::new(Counters::new()));
            let asked = client
                .ask_together(|together| [(); 2].map(|()| together.ask(Jobs {}).map(|jobs| jobs.epoch)));
            let Ok(epochs) = asked.await else {
                panic!("no answers");
            };
            assert_eq!(epochs.map(Result::ok), expected.map(Some), "epochs up to {last}");
        }
    }
}
