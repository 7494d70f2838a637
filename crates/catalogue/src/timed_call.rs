//! Calls to a file system that may hang: each runs on a separate thread, and the caller waits for a
//! limited time.
//!
//! A thread blocked in such a call cannot be cancelled. It stays until the call returns or the
//! process ends.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Default time limit for the first look at a directory. Slow servers answer within it.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A call that runs at most once at a time. While an earlier call is pending no new one starts, so
/// that at most one thread is blocked.
pub(crate) struct TimedCall<T> {
    open: Option<Receiver<T>>,
}

impl<T> Default for TimedCall<T> {
    fn default() -> TimedCall<T> {
        TimedCall { open: None }
    }
}

impl<T: Send + 'static> TimedCall<T> {
    /// Runs `question` on a separate thread and waits for at most `limit`. Returns `None` on
    /// timeout. The next call then polls the pending answer without waiting and does not run its
    /// own question.
    pub(crate) fn call(
        &mut self,
        limit: Duration,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, limit) = match self.open.take() {
            Some(answer) => (answer, Duration::ZERO),
            None => {
                let (sender, answer) = channel();
                let run = move || {
                    // The receiver may have given up.
                    let _ = sender.send(question());
                };
                let thread = std::thread::Builder::new().name("answer".into());
                if let Err(error) = thread.spawn(run) {
                    tracing::warn!(%error, "cannot start a thread to query a file system");
                    return None;
                }
                (answer, limit)
            }
        };
        match answer.recv_timeout(limit) {
            Ok(result) => Some(result),
            Err(_) => {
                self.open = Some(answer);
                None
            }
        }
    }
}

/// Runs `question` once; returns `None` if it does not return within `limit`.
pub(crate) fn call_within<T: Send + 'static>(
    limit: Duration,
    question: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    TimedCall::default().call(limit, question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_an_answer_is_not_asked_again() {
        let mut timed = TimedCall::default();
        let long = Duration::from_secs(60);
        assert_eq!(timed.call(long, || 1), Some(1));
        let (sender, answer) = channel::<i32>();
        assert_eq!(
            timed.call(Duration::from_millis(10), move || answer.recv().unwrap()),
            None
        );
        // This neither waits nor starts a second thread.
        assert_eq!(timed.call(long, || panic!("it was asked")), None);
        sender.send(2).unwrap();
        let end = std::time::Instant::now() + long;
        let late = loop {
            match timed.call(long, || panic!("it was asked")) {
                None => assert!(std::time::Instant::now() < end),
                Some(late) => break late,
            }
        };
        assert_eq!(late, 2);
        assert_eq!(timed.call(long, || 3), Some(3));
    }
}
