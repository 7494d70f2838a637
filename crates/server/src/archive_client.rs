//! Asks the archive questions from async code.
//!
//! Invariants: the archive is called on blocking threads only. At most `questions_max` calls run at
//! once, even if the requests have been dropped, because the permit is held until the call ends.

use std::sync::Arc;

use access::Groups;
use archive::AskError;
use archive::question::{Answer, Ask, Body, Question};
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

    /// Asks questions whose answers are shown together. The answers come from one epoch if that
    /// succeeds within [`TOGETHER_TRIES`] attempts. While a load commits epochs quickly, the
    /// answers of the last attempt are returned.
    pub(crate) async fn ask_together<T: Together<N>, const N: usize>(
        &self,
        questions: T,
    ) -> Result<T::Answers, Failure> {
        let questions = questions.any();
        let counters = Arc::clone(&self.counters);
        let answers = self.blocking(move |source| {
            let mut answers = questions.each_ref().map(|q| ask_measured(source, q, &counters));
            for _ in 1..TOGETHER_TRIES {
                if is_one_epoch(&answers) {
                    break;
                }
                answers = questions.each_ref().map(|q| ask_measured(source, q, &counters));
            }
            answers
        });
        Ok(T::typed(answers.await?))
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

/// `N` questions whose answers are shown together.
pub(crate) trait Together<const N: usize> {
    /// An answer or an error for each.
    type Answers;

    fn any(self) -> [Question; N];

    fn typed(answers: [Outcome<Body>; N]) -> Self::Answers;
}

/// The outcome of one question.
pub(crate) type Outcome<A> = Result<Answer<A>, AskError>;

impl<A: Ask, B: Ask> Together<2> for (A, B) {
    type Answers = (Outcome<A::Answer>, Outcome<B::Answer>);

    fn any(self) -> [Question; 2] {
        [self.0.into(), self.1.into()]
    }

    fn typed([a, b]: [Outcome<Body>; 2]) -> Self::Answers {
        (a.and_then(Answer::to::<A>), b.and_then(Answer::to::<B>))
    }
}

impl<A: Ask, B: Ask, C: Ask> Together<3> for (A, B, C) {
    type Answers = (Outcome<A::Answer>, Outcome<B::Answer>, Outcome<C::Answer>);

    fn any(self) -> [Question; 3] {
        [self.0.into(), self.1.into(), self.2.into()]
    }

    fn typed([a, b, c]: [Outcome<Body>; 3]) -> Self::Answers {
        let (a, b) = <(A, B)>::typed([a, b]);
        (a, b, c.and_then(Answer::to::<C>))
    }
}

impl<A: Ask, B: Ask, C: Ask, D: Ask> Together<4> for (A, B, C, D) {
    type Answers = (
        Outcome<A::Answer>,
        Outcome<B::Answer>,
        Outcome<C::Answer>,
        Outcome<D::Answer>,
    );

    fn any(self) -> [Question; 4] {
        [self.0.into(), self.1.into(), self.2.into(), self.3.into()]
    }

    fn typed([a, b, c, d]: [Outcome<Body>; 4]) -> Self::Answers {
        let (a, b, c) = <(A, B, C)>::typed([a, b, c]);
        (a, b, c, d.and_then(Answer::to::<D>))
    }
}

fn ask_measured(source: &dyn Answers, question: &Question, counters: &Counters) -> Result<Answer, AskError> {
    let begun = system::now();
    let answer = source.ask(question);
    // Searches have a separate metric, because their duration depends on what clients search for.
    if matches!(question, Question::Search(_)) {
        counters.search_took(system::since(begun));
    }
    answer
}

fn is_one_epoch(answers: &[Result<Answer, AskError>]) -> bool {
    let mut epochs = answers.iter().flatten().map(|answer| answer.epoch);
    let first = epochs.next();
    epochs.all(|epoch| Some(epoch) == first)
}
