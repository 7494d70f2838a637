//! Inputs of earlier loads that an input of this load may continue.
//!
//! An unfinished input may have been renamed since, so it is recognised by its first bytes. A
//! finished input is continued only by content of the same name or place, so only such inputs need
//! more digests.

use std::collections::{HashMap, HashSet};

use index::{Index, InputId, InputState, LedgerRow};

use inputs::{ContentDigest, DiscoveredInput, InputLocation};

/// The inputs of earlier loads.
pub(super) struct EarlierInputs {
    /// Inputs in state `pending`, `loading` or `failed`.
    unfinished: Vec<(InputId, LedgerRow)>,
    /// Finished inputs with the place or the name of an input of this load.
    done: Vec<(InputId, LedgerRow)>,
    /// Indices into `done` by place and by name.
    done_at: HashMap<String, Vec<usize>>,
    /// Sizes of inputs of this load that a known input, or another input of this load, has too.
    /// Equal content has equal sizes.
    sizes_known: HashSet<u64>,
    /// Whether the size of some input of this load is unknown.
    is_size_unknown: bool,
}

impl EarlierInputs {
    /// Collects the earlier inputs that matter for the inputs found.
    pub(super) fn of(index: &Index, found: &[DiscoveredInput]) -> EarlierInputs {
        let locations: HashSet<String> = found.iter().map(|found| found.place.location()).collect();
        let names: HashSet<&str> = found.iter().map(|found| found.name.as_str()).collect();
        let done = index.inputs(|entry| {
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
        EarlierInputs {
            unfinished: index.inputs(|entry| !has_ended(entry)),
            done,
            done_at,
            sizes_known: sizes_known(index, found),
            is_size_unknown: found.iter().any(is_size_unknown),
        }
    }

    /// Returns whether this input may have the content of a known input or of another input of this
    /// load.
    pub(super) fn may_be_copy(&self, found: &DiscoveredInput) -> bool {
        self.is_size_unknown || self.sizes_known.contains(&found.size)
    }

    /// Returns the inputs of this size and place that an interrupted load has not read to their
    /// end.
    pub(super) fn interrupted_at(&self, location: &str, size: u64) -> impl Iterator<Item = &LedgerRow> {
        let entries = self.unfinished.iter().map(|(_, entry)| entry);
        entries.filter(move |entry| {
            let is_begun = matches!(entry.state, InputState::Pending | InputState::Loading);
            is_begun && !entry.is_digested() && entry.location == location && entry.size == size
        })
    }

    fn done_like(&self, name: &str, location: &str) -> Vec<&(InputId, LedgerRow)> {
        let places = [name, location]
            .into_iter()
            .filter_map(|key| self.done_at.get(key));
        places.flatten().map(|&at| &self.done[at]).collect()
    }

    /// Returns the sizes that have a digest in the inputs that `found` may continue. For an input
    /// digested in part this is the size of its beginning.
    pub(super) fn sizes(&self, found: &DiscoveredInput) -> Vec<u64> {
        let location = found.place.location();
        let done = self.done_like(&found.name, &location);
        let all = self.unfinished.iter().chain(done);
        all.map(|(_, entry)| entry.beginning().0).collect()
    }

    /// Returns the sizes of the inputs at an address, with or without `.open` at its end, that are
    /// shorter than `size` and have a digest other than `digest`.
    pub(super) fn sizes_at(&self, address: &str, digest: &str, size: u64) -> Vec<u64> {
        let location = format::file_name::name_text(address.as_bytes());
        let own =
            |entry: &LedgerRow| entry.location.strip_suffix(".open").unwrap_or(&entry.location) == location;
        let all = self.unfinished.iter().chain(&self.done);
        let shorter = all
            .map(|(_, entry)| entry)
            .filter(|entry| own(entry) && entry.digest != digest && entry.size < size);
        shorter.map(|entry| entry.size).collect()
    }

    /// Returns the input that this content continues, if any. The content must begin with exactly
    /// the bytes of that input. The input must be unfinished (it grew or was renamed) or have the
    /// same place or name. An input at the same place also matches if no content was ever found
    /// there or all of it is still unwoven. Inputs that this load has already claimed are excluded,
    /// so that they keep their names.
    pub(super) fn continued_by(
        &self,
        found: &DiscoveredInput,
        content: &ContentDigest,
        absent: &str,
        claimed: &HashSet<InputId>,
    ) -> Option<&(InputId, LedgerRow)> {
        let location = found.place.location();
        let begins_with = |entry: &LedgerRow| {
            let (bytes, digest) = entry.beginning();
            // If an input was not read to its end, only its beginning is compared. Shorter content
            // at another place may be another copy of that beginning.
            let is_long_enough = content.size >= entry.size || entry.location == location;
            is_long_enough
                && content
                    .prefixes
                    .get(&bytes)
                    .is_some_and(|prefix| prefix == digest)
        };
        let unfinished = self.unfinished.iter().filter(|(_, entry)| {
            let is_here = entry.location == location;
            // Before anything of it is indexed, a renamed input is also recognised by its size.
            let is_whole = !entry.is_digested() && entry.size == content.size;
            let is_like = entry.input == found.name || entry.state == InputState::Loading || is_whole;
            // An empty input is a prefix of every content, so a matching name alone proves nothing.
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

/// Returns whether an input was read to its end, or is not read at all because it is taken down.
fn has_ended(entry: &LedgerRow) -> bool {
    matches!(entry.state, InputState::Done | InputState::TakenDown)
}

/// Returns the sizes of inputs of this load that a known input or another input of this load has
/// too.
fn sizes_known(index: &Index, found: &[DiscoveredInput]) -> HashSet<u64> {
    let mut sizes = HashSet::new();
    let mut known: HashSet<u64> = found
        .iter()
        .map(|found| found.size)
        .filter(|size| !sizes.insert(*size))
        .collect();
    let earlier = index.inputs(|entry| entry.is_digested() && sizes.contains(&entry.size));
    known.extend(earlier.iter().map(|(_, entry)| entry.size));
    known
}

/// Returns whether the size of an input is known only after it is read.
fn is_size_unknown(found: &DiscoveredInput) -> bool {
    found.size == 0 && found.problem.is_none() && matches!(found.place, InputLocation::Address(..))
}
