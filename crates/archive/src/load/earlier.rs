//! Inputs of earlier loads that an input of this one may be a continuation of.
//!
//! An input that was not finished may have any name now: its first bytes tell. One that was done is continued only by
//! content of the same name or place, so only there more digests are taken.

use std::collections::{HashMap, HashSet};

use weave::{InputId, InputState, LedgerEntry, Weave};

use crate::inputs::{ContentDigest, Found};

/// What earlier loads left.
pub(super) struct Earlier {
    /// In state `pending`, `loading` or `failed`.
    unfinished: Vec<(InputId, LedgerEntry)>,
    /// Those done at a place, or under a name, of this load.
    done: Vec<(InputId, LedgerEntry)>,
    /// Places and names of `done`.
    done_at: HashMap<String, Vec<usize>>,
}

impl Earlier {
    /// As far as it concerns the inputs found.
    pub(super) fn of(weave: &Weave, found: &[Found]) -> Earlier {
        let locations: HashSet<String> = found.iter().map(|found| found.place.location()).collect();
        let names: HashSet<&str> = found.iter().map(|found| found.name.as_str()).collect();
        let done = weave.inputs(|entry| {
            let is_here = locations.contains(&entry.location) || names.contains(&*entry.input);
            is_here && entry.state == InputState::Done && entry.size > 0
        });
        let mut done_at: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (_, entry)) in done.iter().enumerate() {
            done_at.entry(entry.location.clone()).or_default().push(at);
            if entry.input != entry.location {
                done_at.entry(entry.input.clone()).or_default().push(at);
            }
        }
        Earlier {
            unfinished: weave.inputs(|entry| entry.state != InputState::Done),
            done,
            done_at,
        }
    }

    fn done_like(&self, name: &str, location: &str) -> Vec<&(InputId, LedgerEntry)> {
        let places = [name, location]
            .into_iter()
            .filter_map(|key| self.done_at.get(key));
        places.flatten().map(|&at| &self.done[at]).collect()
    }

    /// Sizes of all that `found` may continue.
    pub(super) fn sizes(&self, found: &Found) -> Vec<u64> {
        let location = found.place.location();
        let done = self.done_like(&found.name, &location);
        let all = self.unfinished.iter().chain(done);
        all.map(|(_, entry)| entry.size).collect()
    }

    /// Sizes of those at an address, with or without `.open` at its end, that are shorter than `size` and no content of
    /// digest `digest`.
    pub(super) fn sizes_at(&self, address: &str, digest: &str, size: u64) -> Vec<u64> {
        let location = weave::name_text(address.as_bytes());
        let own =
            |entry: &LedgerEntry| entry.location.strip_suffix(".open").unwrap_or(&entry.location) == location;
        let all = self.unfinished.iter().chain(&self.done);
        let shorter = all
            .map(|(_, entry)| entry)
            .filter(|entry| own(entry) && entry.digest != digest && entry.size < size);
        shorter.map(|entry| entry.size).collect()
    }

    /// The input that this content continues: it begins with the very bytes of the other, which is unfinished (it
    /// grew or was renamed) or stands at the same place or under the same name; or nothing was ever found at its place,
    /// or nothing is woven of what was. Not one that this load has already: that keeps its name.
    pub(super) fn continued_by(
        &self,
        found: &Found,
        content: &ContentDigest,
        absent: &str,
        claimed: &HashSet<InputId>,
    ) -> Option<&(InputId, LedgerEntry)> {
        let location = found.place.location();
        let begins_with = |entry: &LedgerEntry| content.prefixes.get(&entry.size) == Some(&entry.digest);
        let unfinished = self.unfinished.iter().filter(|(_, entry)| {
            let is_here = entry.location == location;
            let is_like = entry.input == found.name || entry.state == InputState::Loading;
            // Every content begins with nothing: a name alone is no sign then.
            is_here && (entry.digest == absent || entry.bytes_done == 0 || begins_with(entry))
                || is_like && entry.size > 0 && begins_with(entry)
        });
        let done = self.done_like(&found.name, &location);
        let done = done
            .into_iter()
            .filter(|(_, entry)| entry.size < content.size && begins_with(entry));
        let all = unfinished.chain(done).filter(|(id, _)| !claimed.contains(id));
        all.max_by_key(|(_, entry)| (begins_with(entry), entry.size))
    }
}
