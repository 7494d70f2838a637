//! Inputs of earlier loads that an input of this load may continue.
//!
//! An unfinished input may have been renamed since, so its first bytes identify it. A finished input is
//! continued only by content of the same name or place, so more digests are computed only there.

use std::collections::{HashMap, HashSet};

use weave::{InputId, InputState, LedgerEntry, Weave};

use inputs::{ContentDigest, Found, Place};

/// The inputs of earlier loads.
pub(super) struct Earlier {
    /// Inputs in state `pending`, `loading` or `failed`.
    unfinished: Vec<(InputId, LedgerEntry)>,
    /// Finished inputs at a place, or with a name, of this load.
    done: Vec<(InputId, LedgerEntry)>,
    /// Indices into `done` by place and by name.
    done_at: HashMap<String, Vec<usize>>,
    /// Sizes that a known input has, or several inputs of this load. Equal content has equal sizes.
    sizes_known: HashSet<u64>,
    /// Whether an input of this load may have any size.
    is_size_unknown: bool,
}

impl Earlier {
    /// Collects the earlier inputs that matter for the inputs found.
    pub(super) fn of(weave: &Weave, found: &[Found]) -> Earlier {
        let locations: HashSet<String> = found.iter().map(|found| found.place.location()).collect();
        let names: HashSet<&str> = found.iter().map(|found| found.name.as_str()).collect();
        let done = weave.inputs(|entry| {
            let is_here = locations.contains(&entry.location) || names.contains(&*entry.input);
            is_here && has_ended(entry) && entry.size > 0
        });
        let mut done_at: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (_, entry)) in done.iter().enumerate() {
            done_at.entry(entry.location.clone()).or_default().push(at);
            if entry.input != entry.location {
                done_at.entry(entry.input.clone()).or_default().push(at);
            }
        }
        Earlier {
            unfinished: weave.inputs(|entry| !has_ended(entry)),
            done,
            done_at,
            sizes_known: sizes_known(weave, found),
            is_size_unknown: found.iter().any(is_size_unknown),
        }
    }

    /// Whether this input may have the content of a known one, or of another one of this load.
    pub(super) fn may_be_copy(&self, found: &Found) -> bool {
        self.is_size_unknown || self.sizes_known.contains(&found.size)
    }

    /// Inputs of a size that an interrupted load has read, but not to their end, from this place.
    pub(super) fn interrupted_at(&self, location: &str, size: u64) -> impl Iterator<Item = &LedgerEntry> {
        let entries = self.unfinished.iter().map(|(_, entry)| entry);
        entries.filter(move |entry| {
            let is_begun = matches!(entry.state, InputState::Pending | InputState::Loading);
            is_begun && !entry.is_digested() && entry.location == location && entry.size == size
        })
    }

    fn done_like(&self, name: &str, location: &str) -> Vec<&(InputId, LedgerEntry)> {
        let places = [name, location]
            .into_iter()
            .filter_map(|key| self.done_at.get(key));
        places.flatten().map(|&at| &self.done[at]).collect()
    }

    /// Sizes of all inputs that `found` may continue, or of the beginnings of which their digests are.
    pub(super) fn sizes(&self, found: &Found) -> Vec<u64> {
        let location = found.place.location();
        let done = self.done_like(&found.name, &location);
        let all = self.unfinished.iter().chain(done);
        all.map(|(_, entry)| entry.beginning().0).collect()
    }

    /// Sizes of the inputs at an address, with or without `.open` at its end, that are shorter than `size`
    /// and have another digest than `digest`.
    pub(super) fn sizes_at(&self, address: &str, digest: &str, size: u64) -> Vec<u64> {
        let location = format::file_name::name_text(address.as_bytes());
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
        let begins_with = |entry: &LedgerEntry| {
            let (bytes, digest) = entry.beginning();
            // Of an input that was not read to its end, only the beginning is compared: what is shorter than that
            // input was may be another copy of its beginning, unless it is at its place.
            let is_long_enough = content.size >= entry.size || entry.location == location;
            is_long_enough
                && content
                    .prefixes
                    .get(&bytes)
                    .is_some_and(|prefix| prefix == digest)
        };
        let unfinished = self.unfinished.iter().filter(|(_, entry)| {
            let is_here = entry.location == location;
            // As long as nothing is woven of it, an input that may have been renamed is known by its size, too.
            let is_whole = !entry.is_digested() && entry.size == content.size;
            let is_like = entry.input == found.name || entry.state == InputState::Loading || is_whole;
            // Every content begins with no bytes, so for an empty input the name alone proves nothing.
            is_here && (entry.digest == absent || entry.bytes_done == 0 || begins_with(entry))
                || is_like && entry.size > 0 && begins_with(entry)
        });
        let done = self.done_like(&found.name, &location);
        let done = done
            .into_iter()
            .filter(|(_, entry)| entry.size < content.size && begins_with(entry));
        let all = unfinished.chain(done).filter(|(id, _)| !claimed.contains(id));
        all.max_by_key(|(_, entry)| (begins_with(entry), entry.beginning().0))
    }
}

/// Whether an input was read to its end, or is not read at all because it is taken down.
fn has_ended(entry: &LedgerEntry) -> bool {
    matches!(entry.state, InputState::Done | InputState::TakenDown)
}

/// Sizes of inputs of this load that a known input has as well, or another one of this load.
fn sizes_known(weave: &Weave, found: &[Found]) -> HashSet<u64> {
    let mut sizes = HashSet::new();
    let mut known: HashSet<u64> = found
        .iter()
        .map(|found| found.size)
        .filter(|size| !sizes.insert(*size))
        .collect();
    let earlier = weave.inputs(|entry| entry.is_digested() && sizes.contains(&entry.size));
    known.extend(earlier.iter().map(|(_, entry)| entry.size));
    known
}

/// Whether the size of an input is only known once it is read.
fn is_size_unknown(found: &Found) -> bool {
    found.size == 0 && found.problem.is_none() && matches!(found.place, Place::Address(..))
}
