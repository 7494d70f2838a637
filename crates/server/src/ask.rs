//! Putting questions to the archive from async code.
//!
//! Invariants: the archive is only called on blocking threads; never more than `questions_max` calls run at
//! once, also when the requests that asked have given up, because the permit travels with the call.

use std::sync::Arc;
use std::time::Instant;

use archive::question::{Answer, Question};
use archive::{Archive, AskError, Sources};
use tokio::sync::Semaphore;

use crate::counters::Counters;
use crate::failure::Failure;

/// What the server asks: an archive, or what stands for one.
pub trait Ask: Send + Sync + 'static {
    /// Answers a question; may block.
    ///
    /// # Errors
    /// [`AskError`] with a code of `not_found`, `bad_request`, `unavailable` or `internal`.
    fn ask(&self, question: &Question) -> Result<Answer, AskError>;

    /// Where the records that answers name are read from.
    fn sources(&self) -> Sources {
        Sources::default()
    }
}

impl Ask for Archive {
    fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        Archive::ask(self, question)
    }

    fn sources(&self) -> Sources {
        Archive::sources(self).clone()
    }
}

/// How often questions that belong together are asked again to get them from one epoch.
const TOGETHER_TRIES: usize = 3;

/// Asks on blocking threads, within a cap.
#[derive(Clone)]
pub(crate) struct Asker {
    source: Arc<dyn Ask>,
    permits: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl Asker {
    pub(crate) fn new(source: Arc<dyn Ask>, questions_max: usize, counters: Arc<Counters>) -> Asker {
        Asker {
            source,
            permits: Arc::new(Semaphore::new(questions_max.max(1))),
            counters,
        }
    }

    /// One question.
    pub(crate) async fn ask(&self, question: Question) -> Result<Answer, Failure> {
        let counters = Arc::clone(&self.counters);
        let answer = self
            .blocking(move |source| ask_measured(source, &question, &counters))
            .await?;
        Ok(answer?)
    }

    /// Questions whose answers are shown together. They come from one epoch where that can be had within
    /// [`TOGETHER_TRIES`]; while a load is running fast, the last try stands.
    pub(crate) async fn ask_together<const N: usize>(
        &self,
        questions: [Question; N],
    ) -> Result<[Result<Answer, AskError>; N], Failure> {
        let counters = Arc::clone(&self.counters);
        self.blocking(move |source| {
            let mut answers = questions.each_ref().map(|q| ask_measured(source, q, &counters));
            for _ in 1..TOGETHER_TRIES {
                if one_epoch(&answers) {
                    break;
                }
                answers = questions.each_ref().map(|q| ask_measured(source, q, &counters));
            }
            answers
        })
        .await
    }

    /// Runs `work` on a blocking thread, within the cap.
    pub(crate) async fn blocking<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Ask) -> T + Send + 'static,
    {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| Failure::unavailable("the server is shutting down"))?;
        let source = Arc::clone(&self.source);
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(source.as_ref())
        });
        task.await.map_err(|error| {
            tracing::error!(%error, "a question did not come to its end");
            Failure::internal()
        })
    }
}

fn ask_measured(source: &dyn Ask, question: &Question, counters: &Counters) -> Result<Answer, AskError> {
    let begun = Instant::now();
    let answer = source.ask(question);
    if matches!(question, Question::Search(_)) {
        counters.search_took(begun.elapsed());
    }
    answer
}

fn one_epoch(answers: &[Result<Answer, AskError>]) -> bool {
    let mut epochs = answers.iter().flatten().map(|answer| answer.epoch);
    let first = epochs.next();
    epochs.all(|epoch| Some(epoch) == first)
}
