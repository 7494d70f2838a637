//! Inputs of earlier loads that an input of this load may continue.
//!
//! An unfinished input may have been renamed since, so its first bytes identify it. A finished input is
//! continued only by content of the same name or place, so more digests are computed only there.

use std::collections::{HashMap, HashSet};

use weave::{InputId, InputState, LedgerEntry, Weave};

use crate::inputs::{ContentDigest, Found};

/// The inputs of earlier loads.
pub(super) struct Earlier {
    /// Inputs in state `pending`, `loading` or `failed`.
    unfinished: Vec<(InputId, LedgerEntry)>,
    /// Finished inputs at a place, or with a name, of this load.
    done: Vec<(InputId, LedgerEntry)>,
    /// Indices into `done` by place and by name.
    done_at: HashMap<String, Vec<usize>>,
}

impl Earlier {
    /// Collects the earlier inputs that matter for the inputs found.
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

    /// Sizes of all inputs that `found` may continue.
    pub(super) fn sizes(&self, found: &Found) -> Vec<u64> {
        let location = found.place.location();
        let done = self.done_like(&found.name, &location);
        let all = self.unfinished.iter().chain(done);
        all.map(|(_, entry)| entry.size).collect()
    }

    /// Sizes of the inputs at an address, with or without `.open` at its end, that are shorter than `size`
    /// and have another digest than `digest`.
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

    /// The input that this content continues, if there is one: the content begins with exactly its bytes, and
    /// it is unfinished (it grew or was renamed) or has the same place or name. It may also be an input at
    /// whose place nothing was ever found, or of which nothing is woven. Inputs that this load has already
    /// claimed are excluded, so that they keep their names.
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
            // Every content begins with no bytes, so for an empty input the name alone proves nothing.
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
