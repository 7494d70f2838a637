//! Originals of revisits of other URLs.

use extract::{Capture, CaptureKind, EMPTY_DIGESTS, Original};

use super::{Model, content, is_served, links_of, may_be_current};
use crate::ids::InputId;

impl Model {
    /// Gives every revisit of another URL the content of its original.
    pub(super) fn find_originals(&mut self) {
        let all = self.captures.iter();
        let revisits = all.filter(|(_, c)| c.kind == CaptureKind::Revisit);
        let found = revisits.filter_map(|(at, revisit)| {
            let (input, original) = self.original(revisit)?;
            Some((*at, with_content(revisit, input, original)?))
        });
        self.revisits = found.collect();
    }

    /// Implements section "Revisits" of docs/views.md.
    fn original(&self, revisit: &Capture) -> Option<(InputId, &Capture)> {
        let is_digest = |digest: &&str| !["", "-"].contains(digest) && !EMPTY_DIGESTS.contains(digest);
        let digest = Some(revisit.digest.as_str()).filter(is_digest);
        let all = || self.captures.iter().map(|((input, _), c)| (*input, c));
        let suits = |c: &Capture| {
            let is_success = is_served(c);
            c.kind != CaptureKind::Revisit
                && may_be_current(c)
                && match revisit.status {
                    0 | 304 => true,
                    200..=299 => is_success,
                    300..=399 => !is_success,
                    _ => false,
                }
        };
        let named = revisit.refers_to.as_deref();
        if named.is_some_and(|named| named.url_key == revisit.url_key) || revisit.redirects_to_itself {
            return None;
        }
        if let Some(named) = named
            && let Some(time_ms) = named.time_ms
        {
            let second = |ms: i64| ms.div_euclid(1000);
            let there = all().filter(|(_, c)| {
                c.url_key == named.url_key && second(c.fetch_time_ms) == second(time_ms) && suits(c)
            });
            let order = |(input, c): &(InputId, &Capture)| {
                let is_it = (c.digest == revisit.digest, c.fetch_time_ms == time_ms);
                (
                    is_it,
                    self.content_order(*input, c),
                    c.status,
                    c.kind,
                    c.fetch_time_ms,
                )
            };
            if let Some(found) = there.max_by_key(order) {
                return Some(found);
            }
        }
        let of_own = |c: &Capture| c.url_key == revisit.url_key;
        let digest = digest?;
        let is_known_there =
            |(_, c): (InputId, &Capture)| of_own(c) && c.kind != CaptureKind::Revisit && c.digest == digest;
        if named.is_none() && all().any(is_known_there) {
            return None;
        }
        let same =
            all().filter(|(_, c)| c.digest == digest && !of_own(c) && suits(c) && content(c).is_some());
        let same: Vec<_> = same.collect();
        let first = same.iter().map(|(_, c)| (c.fetch_time_ms, &c.url_key)).min()?;
        let same = same
            .iter()
            .filter(|(_, c)| (c.fetch_time_ms, &c.url_key) == first);
        same.max_by_key(|(input, c)| (self.content_order(*input, c), c.status, c.kind))
            .copied()
    }
}

/// Returns a revisit with the content of its original; `None` if the original leads to the
/// revisit's own key.
fn with_content(revisit: &Capture, input: InputId, original: &Capture) -> Option<Capture> {
    let mut links = links_of(original);
    links.retain(|link| link.url_key != revisit.url_key);
    let mut now = Capture {
        original: Some(Box::new(Original::from_capture(original, input.0))),
        ..revisit.clone()
    };
    if is_served(original) {
        now.page = original.page.clone().map(|page| extract::Page { links, ..page });
        now.document.clone_from(&original.document);
    } else {
        let redirect = revisit.redirect.clone().or(original.redirect.clone());
        if redirect
            .as_ref()
            .is_some_and(|link| link.url_key == revisit.url_key)
        {
            return None;
        }
        now.redirect = redirect.filter(|link| link.url_key != original.url_key || revisit.redirect.is_some());
    }
    Some(now)
}
