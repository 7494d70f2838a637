//! Named points at which a test ends the process, to see that what is on disk then is harmless.
//!
//! `WEFT_CRASH_POINT=name` (or `name:3` for the third time) aborts the process at that point. Who writes durable steps
//! lists the names of its points, and says beside them why each is harmless.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ends the process at the point `name`, one of `known`, if the environment says so.
pub fn pass(known: &[&str], name: &str) {
    debug_assert!(known.contains(&name), "{name} is not listed");
    // Read once: the points lie on paths that are taken for every epoch and every replica.
    static CHOSEN: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let chosen = CHOSEN.get_or_init(|| std::env::var("WEFT_CRASH_POINT").ok().map(|v| parse(&v)));
    if let Some((chosen, nth)) = chosen
        && chosen == name
        && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *nth
    {
        // Not `exit`: neither destructors nor buffers may write anything any more.
        std::process::abort();
    }
}

fn parse(value: &str) -> (String, u64) {
    match value.rsplit_once(':') {
        Some((name, nth)) => (name.to_owned(), nth.parse().unwrap_or(1)),
        None => (value.to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_point_is_named_alone_or_with_a_number() {
        assert_eq!(parse("apply.before_sync"), ("apply.before_sync".to_owned(), 1));
        assert_eq!(parse("apply.before_sync:3"), ("apply.before_sync".to_owned(), 3));
        assert_eq!(parse("apply.before_sync:x"), ("apply.before_sync".to_owned(), 1));
    }
}
