//! Listing: merges the sorted listings of all volumes. The newest version of each key counts, and
//! tombstones hide keys.
//!
//! Memory is bounded by volumes times entries per request. With a delimiter, the volumes skip each
//! rolled-up prefix, so that the cost of a page depends on the entries it shows, not on those it
//! hides.
//!
//! A page is certain if the unknown volumes (failed, late, or being rebuilt) are too few, or on too
//! few nodes or zones, to hold all copies of an acknowledged version. Then each such version is on
//! a volume that answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use placement::Width;
use store_protocol::{Key, ListQuery, Meta, ReplicaEntry, ReplicaState, VolumeError, VolumeId};
use tokio::time::{Instant, sleep_until};

use super::error::StoreError;
use super::store::{ReadMode, Store};
use crate::cluster::Topology;

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// `bucket/` and the beginning of a name.
    pub prefix: String,
    /// Names are rolled up to the next occurrence of this text after the prefix.
    pub delimiter: Option<String>,
    /// Lists only entries after this text (bytewise; `bucket/name` or a rolled-up prefix).
    pub after: Option<String>,
    /// Maximum number of objects and prefixes together.
    pub limit: usize,
}

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Live objects in order of keys.
    pub objects: Vec<Meta>,
    /// Key prefixes up to and including the delimiter, in order; empty without a delimiter.
    pub prefixes: Vec<String>,
    /// Where the next page starts, to be passed as `after`. `None` on the last page.
    pub next: Option<String>,
}

/// Fewest and most entries asked of a volume per request. Fewer would need more requests if the
/// keys of a page are spread unevenly. The maximum is one page of S3, which one request then
/// covers.
const ASK_MIN: usize = 32;
const ASK_MAX: usize = 1000;

/// Keys whose unfinished writes are finished in parallel. Each is a decision with its syncs: one at
/// a time, a listing after a crash would wait for each in turn; more would slow down writes.
const FINISHED_AT_ONCE: usize = 16;

/// Sorts after every continuation of a prefix, except one that begins with this character.
const LAST_CHAR: char = char::MAX;

/// One volume's listing.
struct Source {
    volume: VolumeId,
    /// Entries received and not merged yet.
    waiting: VecDeque<ReplicaEntry>,
    /// Key after which the next request continues.
    after: Option<String>,
    /// The volume has no further entries.
    ended: bool,
}

/// All listings, merged.
struct Merge<'a> {
    store: &'a Store,
    list: &'a List,
    sources: Vec<Source>,
    /// The last prefix returned, or the text that all entries must follow.
    rolled_up: Option<String>,
    /// Entries asked of a volume per request.
    ask: usize,
    /// Volumes that failed, were late, or are being rebuilt.
    unknown: BTreeSet<VolumeId>,
    doubts: Vec<String>,
    /// [`Topology::guaranteed_width_min`].
    guaranteed_width: Width,
    topology: Arc<Topology>,
}

/// One line of a page.
enum Entry {
    Object(Box<Meta>),
    Prefix(String),
}

impl Store {
    /// Returns a page of live objects.
    ///
    /// # Errors
    /// `Unavailable` if the volumes that do not answer could hold all copies of an object, which
    /// the page would miss.
    pub async fn list(&self, list: &List) -> Result<Listing, StoreError> {
        match self.list_once(list).await {
            Err(StoreError::Unavailable { .. }) if self.ask_for_layouts().await => self.list_once(list).await,
            page => page,
        }
    }

    async fn list_once(&self, list: &List) -> Result<Listing, StoreError> {
        let mut page = Listing::default();
        let mut merge = Merge::new(self, list);
        merge.probe().await?;
        if list.limit == 0 {
            return Ok(page);
        }
        let mut last = None;
        while let Some(entry) = merge.next().await? {
            if page.objects.len() + page.prefixes.len() == list.limit {
                page.next = last;
                break;
            }
            match entry {
                Entry::Object(meta) => {
                    last = Some(meta.key.as_str().to_owned());
                    page.objects.push(*meta);
                }
                Entry::Prefix(prefix) => {
                    last = Some(prefix.clone());
                    page.prefixes.push(prefix);
                }
            }
        }
        Ok(page)
    }
}

impl<'a> Merge<'a> {
    fn new(store: &'a Store, list: &'a List) -> Self {
        let topology = store.cluster().topology();
        let guaranteed_width = topology.guaranteed_width_min();
        let after = match (
            &list.after,
            list.after.as_deref().and_then(|after| rolled(list, after)),
        ) {
            (_, Some(prefix)) => Some(end_of_prefix(&prefix)),
            (after, None) => after.clone(),
        };
        let source = |volume: &VolumeId| Source {
            volume: volume.clone(),
            waiting: VecDeque::new(),
            after: after.clone(),
            ended: false,
        };
        let share = list.limit.saturating_mul(guaranteed_width.volumes) / topology.volumes.len().max(1);
        Self {
            store,
            list,
            sources: topology.volumes.keys().map(source).collect(),
            rolled_up: list.after.clone(),
            ask: (share + share / 4).clamp(ASK_MIN, ASK_MAX),
            unknown: BTreeSet::new(),
            doubts: Vec::new(),
            guaranteed_width,
            topology,
        }
    }

    /// Finds out which volumes are being rebuilt, whose listings are used but prove nothing. Then
    /// finishes interrupted writes, whose versions only some volumes may list.
    async fn probe(&mut self) -> Result<(), StoreError> {
        let prefix = self.list.prefix.clone();
        let mut in_doubt = BTreeSet::new();
        let answers = self
            .gather(
                self.sources.iter().map(|source| source.volume.clone()).collect(),
                |store, volume| {
                    let prefix = prefix.clone();
                    async move {
                        store
                            .ask(&volume, |asked| {
                                let prefix = prefix.clone();
                                async move { asked.keys_in_doubt(&prefix).await }
                            })
                            .await
                    }
                },
            )
            .await;
        for (volume, answer) in answers {
            match answer {
                Ok(answer) => {
                    in_doubt.extend(answer.keys);
                    if !answer.complete {
                        self.doubt(volume.clone(), format!("volume {volume} is being rebuilt"));
                    }
                }
                Err(error) => self.mark_unknown(volume, &error),
            }
        }
        self.certain()?;
        if self.store.reading() == ReadMode::Current {
            self.finish_in_doubt(in_doubt).await?;
        }
        Ok(())
    }

    /// Finishes the interrupted writes of keys, and merges the resulting versions like the listing
    /// of one more volume: they may be held by other volumes than those that answered.
    async fn finish_in_doubt(&mut self, in_doubt: BTreeSet<Key>) -> Result<(), StoreError> {
        let store = self.store;
        let finishing = in_doubt
            .into_iter()
            .map(|key| async move { store.finish_in_doubt(&key).await });
        let finished: Vec<Option<Meta>> = stream::iter(finishing)
            .buffered(FINISHED_AT_ONCE)
            .try_collect()
            .await?;
        let after = self.sources.first().and_then(|source| source.after.clone());
        let is_after = |meta: &Meta| after.as_deref().is_none_or(|after| meta.key.as_str() > after);
        let entries = finished
            .into_iter()
            .flatten()
            .filter(is_after)
            .map(|meta| ReplicaEntry {
                meta,
                state: ReplicaState::Good,
                bad_blocks: None,
            });
        self.sources.push(Source {
            volume: VolumeId::from("settled".to_owned()),
            waiting: entries.collect(),
            after: None,
            ended: true,
        });
        Ok(())
    }

    /// Returns the next live object or rolled-up prefix.
    async fn next(&mut self) -> Result<Option<Entry>, StoreError> {
        loop {
            self.refill().await?;
            let Some(newest) = self.pop() else { return Ok(None) };
            if newest.deleted {
                continue;
            }
            let Some(prefix) = rolled(self.list, newest.key.as_str()) else {
                return Ok(Some(Entry::Object(Box::new(newest))));
            };
            self.skip(&prefix);
            if self.rolled_up.as_ref() < Some(&prefix) {
                self.rolled_up = Some(prefix.clone());
                return Ok(Some(Entry::Prefix(prefix)));
            }
        }
    }

    /// Removes the smallest key from all sources and returns its newest version.
    fn pop(&mut self) -> Option<Meta> {
        let heads = self.sources.iter().filter_map(|source| source.waiting.front());
        let key = heads.map(|held| &held.meta.key).min()?.clone();
        let same = self.sources.iter_mut().filter_map(|source| {
            let is_same = source.waiting.front().is_some_and(|held| held.meta.key == key);
            if is_same { source.waiting.pop_front() } else { None }
        });
        same.map(|held| held.meta).max_by_key(|meta| meta.version)
    }

    /// Continues after everything that begins with `prefix`.
    fn skip(&mut self, prefix: &str) {
        let past = end_of_prefix(prefix);
        for source in &mut self.sources {
            while source
                .waiting
                .front()
                .is_some_and(|held| held.meta.key.as_str().starts_with(prefix))
            {
                source.waiting.pop_front();
            }
            if source.waiting.is_empty() && source.after.as_ref().is_none_or(|after| *after < past) {
                source.after = Some(past.clone());
            }
        }
    }

    /// Asks every source that has no entries waiting.
    async fn refill(&mut self) -> Result<(), StoreError> {
        loop {
            let dry = |source: &&Source| source.waiting.is_empty() && !source.ended;
            let dry: BTreeMap<_, _> = self
                .sources
                .iter()
                .filter(dry)
                .map(|source| (source.volume.clone(), source.after.clone()))
                .collect();
            if dry.is_empty() {
                return Ok(());
            }
            self.fetch(dry).await?;
        }
    }

    /// Asks volumes for the entries after the given texts.
    async fn fetch(&mut self, dry: BTreeMap<VolumeId, Option<String>>) -> Result<(), StoreError> {
        let (prefix, limit) = (self.list.prefix.clone(), self.ask);
        let answers = self
            .gather(dry.keys().cloned().collect(), |store, volume| {
                let query = ListQuery {
                    prefix: prefix.clone(),
                    after: dry.get(&volume).cloned().flatten(),
                    limit,
                };
                async move {
                    store
                        .ask(&volume, |asked| {
                            let query = query.clone();
                            async move { asked.list(&query).await }
                        })
                        .await
                }
            })
            .await;
        for (volume, answer) in answers {
            match answer {
                Ok(entries) => self.received(&volume, entries),
                Err(error) => self.mark_unknown(volume, &error),
            }
        }
        self.certain()
    }

    fn received(&mut self, volume: &VolumeId, entries: Vec<ReplicaEntry>) {
        let ask = self.ask;
        let Some(source) = self.sources.iter_mut().find(|source| source.volume == *volume) else {
            return;
        };
        source.ended = entries.len() < ask;
        if let Some(last) = entries.last() {
            source.after = Some(last.meta.key.as_str().to_owned());
        }
        source.waiting = entries.into();
    }

    /// Asks volumes in parallel. Once the volumes that have not answered are no longer needed,
    /// waits only a little longer for them.
    async fn gather<T, F>(
        &self,
        volumes: Vec<VolumeId>,
        question: impl Fn(&'a Store, VolumeId) -> F,
    ) -> Vec<(VolumeId, Result<T, VolumeError>)>
    where
        F: Future<Output = Result<T, VolumeError>>,
    {
        let mut late: BTreeSet<_> = volumes.iter().cloned().collect();
        let mut waiting: FuturesUnordered<_> = volumes
            .into_iter()
            .map(|volume| {
                let answer = question(self.store, volume.clone());
                async move { (volume, answer.await) }
            })
            .collect();
        let mut answers = Vec::new();
        let mut deadline = Instant::now() + self.store.timeouts().answer;
        while !waiting.is_empty() {
            tokio::select! {
                // An answer that has arrived wins over a deadline that passes at the same moment.
                biased;
                Some((volume, answer)) = waiting.next() => {
                    late.remove(&volume);
                    answers.push((volume, answer));
                    if self.is_visible_without(&late) {
                        deadline = deadline.min(Instant::now() + self.store.timeouts().hedge * 10);
                    }
                }
                () = sleep_until(deadline) => break,
            }
        }
        drop(waiting);
        answers.extend(late.into_iter().map(|volume| {
            let detail = "no answer yet".to_owned();
            (volume.clone(), Err(VolumeError::Unreachable { volume, detail }))
        }));
        answers
    }

    /// Marks a volume as failed and continues without it.
    fn mark_unknown(&mut self, volume: VolumeId, error: &VolumeError) {
        if let Some(source) = self.sources.iter_mut().find(|source| source.volume == volume) {
            source.ended = true;
        }
        self.doubt(volume, error.to_string());
    }

    fn doubt(&mut self, volume: VolumeId, why: String) {
        self.unknown.insert(volume);
        self.doubts.push(why);
    }

    /// Returns whether no acknowledged version can be only on these volumes.
    fn is_visible_without(&self, unknown: &BTreeSet<VolumeId>) -> bool {
        self.guaranteed_width
            .is_visible_without(&self.topology.domains.width(unknown))
    }

    fn certain(&self) -> Result<(), StoreError> {
        if self.is_visible_without(&self.unknown) || self.store.reading() == ReadMode::Any {
            return Ok(());
        }
        let detail = match self.guaranteed_width.volumes {
            0 => "the layout has no volumes".to_owned(),
            _ => self.doubts.join("; "),
        };
        Err(StoreError::Unavailable {
            key: format!("listing of {:?}", self.list.prefix),
            detail,
        })
    }
}

/// Returns the rolled-up prefix of a key, if the list rolls it up.
fn rolled(list: &List, key: &str) -> Option<String> {
    let delimiter = list
        .delimiter
        .as_deref()
        .filter(|delimiter| !delimiter.is_empty())?;
    let rest = key.strip_prefix(&list.prefix)?;
    let at = rest.find(delimiter)?;
    Some(key[..list.prefix.len() + at + delimiter.len()].to_owned())
}

/// Returns a text that sorts after all keys that begin with `prefix`, except those that continue
/// with the last character of Unicode. These are seen again and rolled up again.
fn end_of_prefix(prefix: &str) -> String {
    let mut past = prefix.to_owned();
    past.push(LAST_CHAR);
    past
}
