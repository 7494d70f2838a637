//! Decides which idle connections are closed. The types are plain values without sockets.

use std::time::{Duration, Instant};

use super::connection_table::Standing;

/// When to close a connection that breaks no other rule. The time begins when the connection is
/// usable, after its handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleLimit {
    /// Close it if no complete request has arrived within this time. After the first request only
    /// the limits of the HTTP server apply.
    FirstRequest(Duration),
    /// Close it if no request with a valid signature has arrived within this time, even if others
    /// have. For servers where every request must be signed.
    FirstSignature(Duration),
    /// Close it if it never had a valid signature and no request was in progress for this time. For
    /// servers that also serve strangers: long responses must not be cut off, but an idle
    /// connection should not keep its permit.
    IdleStranger(Duration),
}

/// What a connection has done so far.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) standing: Standing,
    /// Whether a complete request has arrived.
    pub(crate) has_request: bool,
    /// Number of requests in progress.
    pub(crate) under_way: usize,
    /// When the handshake ended.
    usable: Instant,
    /// When the last request ended, if any.
    ended: Option<Instant>,
}

impl Activity {
    /// Returns the state of a new connection.
    pub(crate) fn new(now: Instant) -> Activity {
        Activity {
            standing: Standing::Stranger,
            has_request: false,
            under_way: 0,
            usable: now,
            ended: None,
        }
    }

    /// Notes that the handshake is done.
    pub(crate) fn set_usable(&mut self, now: Instant) {
        self.usable = now;
    }

    /// Notes that a request has ended.
    pub(crate) fn end(&mut self, now: Instant) {
        debug_assert!(self.under_way > 0, "a request cannot end before it begins");
        self.under_way = self.under_way.saturating_sub(1);
        self.ended = Some(now);
    }

    /// Returns how much longer the connection may stay open if nothing changes. Zero: close it now.
    /// `None`: no limit.
    pub(crate) fn left(&self, patience: IdleLimit, now: Instant) -> Option<Duration> {
        if self.standing == Standing::Trusted {
            return None;
        }
        let left = |max: Duration, since| max.saturating_sub(now.saturating_duration_since(since));
        match patience {
            IdleLimit::FirstRequest(_) if self.has_request => None,
            IdleLimit::FirstRequest(max) | IdleLimit::FirstSignature(max) => Some(left(max, self.usable)),
            IdleLimit::IdleStranger(max) if self.under_way > 0 => Some(max),
            IdleLimit::IdleStranger(max) => Some(left(max, self.ended.unwrap_or(self.usable))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(10);

    #[track_caller]
    fn check(change: impl FnOnce(&mut Activity), seconds: u64, left: [Option<u64>; 3]) {
        let come = Instant::now();
        let mut activity = Activity::new(come);
        change(&mut activity);
        let rules: [fn(Duration) -> IdleLimit; 3] = [
            IdleLimit::FirstRequest,
            IdleLimit::FirstSignature,
            IdleLimit::IdleStranger,
        ];
        for (rule, left) in rules.into_iter().zip(left) {
            let patience = rule(MAX);
            let found = activity.left(patience, come + Duration::from_secs(seconds));
            assert_eq!(found, left.map(Duration::from_secs), "{patience:?}");
        }
    }

    #[test]
    fn who_says_nothing_goes_and_who_signed_stays() {
        check(|_| {}, 3, [Some(7), Some(7), Some(7)]);
        check(|_| {}, 11, [Some(0), Some(0), Some(0)]);
        check(
            |activity| activity.standing = Standing::Trusted,
            11,
            [None, None, None],
        );
    }

    #[test]
    fn unsigned_requests_hold_a_connection_only_where_strangers_may_ask() {
        check(
            |activity| activity.has_request = true,
            11,
            [None, Some(0), Some(0)],
        );
        check(
            |activity| (activity.has_request, activity.under_way) = (true, 1),
            11,
            [None, Some(0), Some(10)],
        );
        let answered = |activity: &mut Activity| {
            (activity.has_request, activity.under_way) = (true, 1);
            activity.end(activity.usable + Duration::from_secs(8));
        };
        check(answered, 11, [None, Some(0), Some(7)]);
    }
}
