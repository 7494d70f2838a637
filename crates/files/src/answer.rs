//! Questions to a file system that may not answer: each is asked on a thread of its own, and waited for for a limited time.
//!
//! A thread that gets no answer cannot be ended from outside. It stays until there is an answer, or the process ends.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long the first look at a directory may take, where nobody says otherwise: servers that are only slow answer in it.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// One question at a time: as long as it has no answer it is not asked again, so that no more than one thread waits.
pub(crate) struct Asked<T> {
    open: Option<Receiver<T>>,
}

impl<T> Default for Asked<T> {
    fn default() -> Asked<T> {
        Asked { open: None }
    }
}

impl<T: Send + 'static> Asked<T> {
    /// Asks, and waits so long at most. `None` without an answer; then the next call takes that of this question, if it is there
    /// by then, and does not wait.
    pub(crate) fn ask(
        &mut self,
        limit: Duration,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, limit) = match self.open.take() {
            Some(answer) => (answer, Duration::ZERO),
            None => {
                let (sender, answer) = channel();
                let ask = move || {
                    // Nobody may wait any more.
                    let _ = sender.send(question());
                };
                let thread = std::thread::Builder::new().name("answer".into());
                if let Err(error) = thread.spawn(ask) {
                    tracing::warn!(%error, "a thread that asks a file system could not be started");
                    return None;
                }
                (answer, limit)
            }
        };
        match answer.recv_timeout(limit) {
            Ok(said) => Some(said),
            Err(_) => {
                self.open = Some(answer);
                None
            }
        }
    }
}

/// Asks once. `None` without an answer in that time.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    question: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    Asked::default().ask(limit, question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_an_answer_is_not_asked_again() {
        let mut asked = Asked::default();
        let long = Duration::from_secs(60);
        assert_eq!(asked.ask(long, || 1), Some(1));
        let (sender, answer) = channel::<i32>();
        assert_eq!(
            asked.ask(Duration::from_millis(10), move || answer.recv().unwrap()),
            None
        );
        // Without waiting, and without a second thread.
        assert_eq!(asked.ask(long, || panic!("it was asked")), None);
        sender.send(2).unwrap();
        let end = std::time::Instant::now() + long;
        let late = loop {
            match asked.ask(long, || panic!("it was asked")) {
                None => assert!(std::time::Instant::now() < end),
                Some(late) => break late,
            }
        };
        assert_eq!(late, 2);
        assert_eq!(asked.ask(long, || 3), Some(3));
    }
}
