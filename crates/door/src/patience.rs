//! Which connections are closed for asking nothing: a rule and what it looks at, plain values without sockets.

use std::time::{Duration, Instant};

use crate::book::Standing;

/// When a connection is closed though it breaks no rule. The time begins when the connection can be used, after its
/// handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// No whole request came for so long. Afterwards the limits of whoever reads heads count.
    FirstRequest(Duration),
    /// No good signature came for so long, whatever else was asked. Where every request has to be signed, others are no
    /// reason to hold a connection.
    FirstSignature(Duration),
    /// No good signature ever came, and nothing was under way for so long. Where strangers may ask, long answers to them
    /// must not be cut, but between two requests a place is worth more than their comfort.
    IdleStranger(Duration),
}

/// What a connection has done so far.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) standing: Standing,
    /// A whole request came.
    pub(crate) heard: bool,
    /// Requests under way.
    pub(crate) under_way: usize,
    /// When the connection could be used.
    usable: Instant,
    /// When the last request ended, if one did.
    ended: Option<Instant>,
}

impl Activity {
    /// Of a connection that comes now.
    pub(crate) fn new(now: Instant) -> Activity {
        Activity {
            standing: Standing::Stranger,
            heard: false,
            under_way: 0,
            usable: now,
            ended: None,
        }
    }

    /// The handshake is done.
    pub(crate) fn set_usable(&mut self, now: Instant) {
        self.usable = now;
    }

    /// A request ended.
    pub(crate) fn end(&mut self, now: Instant) {
        debug_assert!(self.under_way > 0, "only what began can end");
        self.under_way = self.under_way.saturating_sub(1);
        self.ended = Some(now);
    }

    /// How much longer the connection may stay as it is; zero if it must go, `None` for ever.
    pub(crate) fn left(&self, patience: Patience, now: Instant) -> Option<Duration> {
        if self.standing == Standing::Trusted {
            return None;
        }
        let left = |max: Duration, since| max.saturating_sub(now.saturating_duration_since(since));
        match patience {
            Patience::FirstRequest(_) if self.heard => None,
            Patience::FirstRequest(max) | Patience::FirstSignature(max) => Some(left(max, self.usable)),
            Patience::IdleStranger(max) if self.under_way > 0 => Some(max),
            Patience::IdleStranger(max) => Some(left(max, self.ended.unwrap_or(self.usable))),
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
        let rules: [fn(Duration) -> Patience; 3] = [
            Patience::FirstRequest,
            Patience::FirstSignature,
            Patience::IdleStranger,
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
        check(|activity| activity.heard = true, 11, [None, Some(0), Some(0)]);
        check(
            |activity| (activity.heard, activity.under_way) = (true, 1),
            11,
            [None, Some(0), Some(10)],
        );
        let answered = |activity: &mut Activity| {
            (activity.heard, activity.under_way) = (true, 1);
            activity.end(activity.usable + Duration::from_secs(8));
        };
        check(answered, 11, [None, Some(0), Some(7)]);
    }
}
