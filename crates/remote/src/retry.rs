//! Retries with growing delays, resuming at the next missing byte, until several consecutive
//! attempts return no byte.

use std::future::Future;
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use crate::failure::Failure;
use crate::range_source::{Body, RangeSource};
use crate::settings::Retry;

/// Counts consecutive failures.
pub(crate) struct Retries {
    retry: Retry,
    failures: u32,
}

impl Retries {
    pub(crate) fn new(retry: Retry) -> Retries {
        Retries { retry, failures: 0 }
    }

    /// Resets the count, because data arrived.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Waits after a temporary failure. Fails if the failure is final or there were too many.
    pub(crate) async fn wait_or_fail(&mut self, failure: Failure) -> io::Result<()> {
        let (what, asked) = match failure {
            Failure::Final(error) => return Err(error),
            Failure::Passing(what, asked) => (what, asked),
        };
        self.failures += 1;
        if self.failures >= self.retry.failures_max {
            let text = format!("{what} (tried {} times; try again later)", self.failures);
            return Err(io::Error::other(text));
        }
        tracing::debug!(what, failures = self.failures, "retrying");
        let own = self
            .retry
            .wait_first
            // Doubled each time. The bound prevents the shift from overflowing, and `wait_max`
            // limits the delay.
            .saturating_mul(1 << (self.failures - 1).min(16));
        sleep(asked.unwrap_or(own).min(self.retry.wait_max)).await;
        Ok(())
    }

    /// Waits for a response, at most [`Retry::silence_max`].
    pub(crate) async fn with_timeout<T>(
        &self,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let silence_max: Duration = self.retry.silence_max;
        match timeout(silence_max, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::passing(format!(
                "nothing came for {} s",
                silence_max.as_secs()
            ))),
        }
    }
}

/// Repeats a request until it succeeds or there were too many failures.
pub(crate) async fn with_retries<T, F>(retry: Retry, mut ask: impl FnMut() -> F) -> io::Result<T>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut retries = Retries::new(retry);
    loop {
        match retries.with_timeout(ask()).await {
            Ok(answer) => return Ok(answer),
            Err(failure) => retries.wait_or_fail(failure).await?,
        }
    }
}

/// Fetches all bytes from `start` up to `end`.
pub(crate) async fn fetch_range(
    fetch: &dyn RangeSource,
    start: u64,
    end: u64,
    retry: Retry,
) -> io::Result<Bytes> {
    let wanted = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
    let mut bytes = BytesMut::with_capacity(wanted);
    let mut retries = Retries::new(retry);
    while bytes.len() < wanted {
        // Resumes at the next missing byte: earlier bytes stay valid, because every response is of
        // one version.
        let reached = start + bytes.len() as u64;
        let failure = match retries.with_timeout(fetch.get(reached, end)).await {
            Ok(body) => drain(body, &mut bytes, wanted, &mut retries).await,
            Err(failure) => Some(failure),
        };
        if let Some(failure) = failure {
            let reached = start + bytes.len() as u64;
            retries
                .wait_or_fail(failure)
                .await
                .map_err(|error| io::Error::new(error.kind(), format!("byte {reached}: {error}")))?;
        }
    }
    Ok(bytes.freeze())
}

/// Appends the received bytes. If the stream ends before `wanted` bytes have arrived, returns the
/// reason.
async fn drain(
    mut body: Body,
    bytes: &mut BytesMut,
    wanted: usize,
    retries: &mut Retries,
) -> Option<Failure> {
    while bytes.len() < wanted {
        let next = retries
            .with_timeout(async { body.next().await.transpose() })
            .await;
        match next {
            Ok(Some(piece)) => {
                if !piece.is_empty() {
                    // A connection that delivers bytes before it breaks makes progress: only
                    // failures without any byte count.
                    retries.reset();
                }
                // A server may send more than requested; bytes beyond `end` belong to another
                // chunk.
                bytes.extend_from_slice(&piece[..piece.len().min(wanted - bytes.len())]);
            }
            Ok(None) => return Some(Failure::passing("the answer ended early")),
            Err(failure) => return Some(failure),
        }
    }
    None
}
