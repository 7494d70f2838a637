//! Lists versions: merges the listings of the objects and of their older versions, name by name.
//!
//! Objects are requested before older versions, so that a version that is replaced meanwhile is
//! found in one of the two listings, or in both, and counted once.

use std::collections::VecDeque;

use store_protocol::{Key, Meta};

use super::entry::{Entry, listed};
use super::read::ObjectVersion;
use crate::client::{List, Store, StoreError};
use crate::version_id::{Position, VersionId, escaped};

/// Sorts after every continuation of a prefix.
const LAST_CHAR: char = char::MAX;

/// Sorts after all places of a name, and before all names that continue it.
const PAST_PLACES: &str = "g";

/// Options for listing a bucket's versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListVersions {
    /// The bucket.
    pub bucket: String,
    /// Lists only names that begin with this text.
    pub prefix: String,
    /// Names are rolled up to the next occurrence of this text after the prefix.
    pub delimiter: Option<String>,
    /// Lists only entries after this name, or after this version of it. The text may be a rolled-up
    /// prefix.
    pub after: Option<(String, Option<VersionId>)>,
    /// Maximum number of versions, markers and prefixes together.
    pub limit: usize,
}

/// A page of a listing of versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionListing {
    /// Versions and delete markers in order of names, for each name the newest first.
    pub versions: Vec<ObjectVersion>,
    /// Prefixes of names up to and including the delimiter, in order.
    pub prefixes: Vec<String>,
    /// Where the next page starts, to be passed as `after`. `None` on the last page.
    pub next: Option<(String, Option<VersionId>)>,
}

/// One line of a page.
enum Line {
    Version(ObjectVersion),
    Prefix(String),
}

/// One of the two listings.
struct Cursor {
    list: List,
    waiting: VecDeque<Meta>,
    ended: bool,
}

/// What has been seen of the name that the merge has reached.
struct Group {
    name: String,
    /// Place and id of the current version.
    current: Option<(Position, VersionId)>,
    /// Whether a version or marker of the name that counts was already seen.
    is_begun: bool,
    /// Whether a version with the id `null` was seen.
    has_null: bool,
}

struct Merge<'a> {
    store: &'a Store,
    ask: &'a ListVersions,
    objects: Cursor,
    older: Cursor,
    group: Option<Group>,
    /// The last prefix that was rolled up.
    rolled_up: Option<String>,
}

impl Store {
    /// Returns a page of the versions of a bucket's objects, and of delete markers. A listing made
    /// while a newest version is being removed may miss the version below it.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub async fn list_versions(&self, ask: &ListVersions) -> Result<VersionListing, StoreError> {
        let mut page = VersionListing::default();
        if ask.limit == 0 {
            return Ok(page);
        }
        let mut merge = Merge::begin(self, ask).await?;
        let mut last = None;
        while let Some(line) = merge.next().await? {
            if page.versions.len() + page.prefixes.len() == ask.limit {
                page.next = last;
                break;
            }
            match line {
                Line::Version(version) => {
                    last = Some((version.meta.key.name().to_owned(), Some(version.id)));
                    page.versions.push(version);
                }
                Line::Prefix(prefix) => {
                    last = Some((prefix.clone(), None));
                    page.prefixes.push(prefix);
                }
            }
        }
        Ok(page)
    }
}

impl<'a> Merge<'a> {
    async fn begin(store: &'a Store, ask: &'a ListVersions) -> Result<Self, StoreError> {
        let limit = ask.limit.saturating_add(1).clamp(32, 1000);
        let cursor = |prefix| Cursor {
            list: List {
                prefix,
                limit,
                ..List::default()
            },
            waiting: VecDeque::new(),
            ended: false,
        };
        let mut merge = Self {
            store,
            ask,
            objects: cursor(format!("{}/{}", ask.bucket, ask.prefix)),
            older: cursor(listed(&ask.bucket, &escaped(&ask.prefix))),
            group: None,
            rolled_up: None,
        };
        if let Some((name, id)) = &ask.after {
            match (rolled(ask, name), id) {
                (Some(prefix), _) => merge.seek_past_prefix(&prefix),
                (None, None) => merge.seek_after_place(name, PAST_PLACES),
                (None, Some(id)) => merge.seek_after_version(name, *id).await?,
            }
        }
        Ok(merge)
    }

    /// Continues after everything that begins with `prefix`.
    fn seek_past_prefix(&mut self, prefix: &str) {
        self.rolled_up = Some(prefix.to_owned());
        self.group = None;
        self.objects
            .seek(format!("{}/{prefix}{LAST_CHAR}", self.ask.bucket));
        self.older.seek(listed(
            &self.ask.bucket,
            &format!("{}{LAST_CHAR}", escaped(prefix)),
        ));
    }

    /// Continues after an object, and after a place among its older versions.
    fn seek_after_place(&mut self, name: &str, place: &str) {
        self.objects.seek(format!("{}/{name}", self.ask.bucket));
        self.older
            .seek(listed(&self.ask.bucket, &format!("{}\0{place}", escaped(name))));
    }

    /// Continues after a version of an object.
    async fn seek_after_version(&mut self, name: &str, id: VersionId) -> Result<(), StoreError> {
        let key = Key::new(&self.ask.bucket, name)?;
        let current = self.store.current(&key).await?;
        let current = current.map(|meta| (Position::of_current(&meta), VersionId::of(&meta)));
        let place = match (id.place(), current) {
            // Places above the current version do not count.
            (_, Some((place, of_current))) if of_current == id => Some(place),
            (Some(place), _) => Some(place),
            (None, _) => self.store.entry(&key, id).await?.map(|entry| entry.place),
        };
        let is_begun = match (place, current) {
            (_, Some(_)) => true,
            (Some(place), None) => {
                let newest = self.store.newest_entry(&key, None).await?;
                newest.is_some_and(|newest| newest.place <= place)
            }
            (None, None) => false,
        };
        match place {
            Some(place) => self.seek_after_place(name, &place.to_string()),
            // The version has disappeared, and its place is not known: better list some versions
            // twice than never.
            None => self.seek_after_place(name, ""),
        }
        self.group = Some(Group {
            name: name.to_owned(),
            current,
            is_begun,
            has_null: id == VersionId::NULL || current.is_some_and(|(_, id)| id == VersionId::NULL),
        });
        Ok(())
    }

    /// Returns the next version or rolled-up prefix.
    async fn next(&mut self) -> Result<Option<Line>, StoreError> {
        loop {
            if self.objects.refill(self.store).await? {
                // Older versions must be requested after the objects.
                self.older.restart();
            }
            self.older.refill(self.store).await?;
            let object = self
                .objects
                .waiting
                .front()
                .map(|meta| meta.key.name().to_owned());
            let older = self.older.waiting.front().map(|meta| Entry::read(meta.clone()));
            let name = match (&object, &older) {
                (None, None) => return Ok(None),
                (_, Some(None)) => {
                    self.older.pop();
                    continue;
                }
                (Some(object), Some(Some(older))) if older.name < *object => older.name.clone(),
                (Some(object), _) => object.clone(),
                (None, Some(Some(older))) => older.name.clone(),
            };
            if let Some(prefix) = rolled(self.ask, &name) {
                let is_new = self.rolled_up.as_ref() < Some(&prefix);
                self.seek_past_prefix(&prefix);
                if is_new {
                    return Ok(Some(Line::Prefix(prefix)));
                }
                // The prefix is followed by the last character of Unicode.
                self.drop_name(&name);
                continue;
            }
            let is_object = object.as_ref() == Some(&name);
            let version = if is_object {
                self.take_object()
            } else {
                self.take_older(&name)
            };
            if let Some(version) = version {
                return Ok(Some(Line::Version(version)));
            }
        }
    }

    /// Drops all waiting entries of a name.
    fn drop_name(&mut self, name: &str) {
        self.objects.waiting.retain(|meta| meta.key.name() != name);
        let is_other = |meta: &Meta| Entry::read(meta.clone()).is_none_or(|entry| entry.name != name);
        self.older.waiting.retain(is_other);
    }

    fn take_object(&mut self) -> Option<ObjectVersion> {
        let meta = self.objects.pop()?;
        let id = VersionId::of(&meta);
        self.group = Some(Group {
            name: meta.key.name().to_owned(),
            current: Some((Position::of_current(&meta), id)),
            is_begun: true,
            has_null: id == VersionId::NULL,
        });
        Some(ObjectVersion {
            id,
            is_latest: true,
            meta,
        })
    }

    /// Takes the next older version of a name. Returns `None` if it does not count.
    fn take_older(&mut self, name: &str) -> Option<ObjectVersion> {
        let entry = Entry::read(self.older.pop()?)?;
        let group = self.group.take_if(|group| group.name == name);
        let group = self.group.insert(group.unwrap_or_else(|| Group {
            name: name.to_owned(),
            current: None,
            is_begun: false,
            has_null: false,
        }));
        let id = entry.id();
        let is_unfinished = group
            .current
            .is_some_and(|(place, current)| entry.place < place || id == current);
        if is_unfinished || (id == VersionId::NULL && group.has_null) {
            return None;
        }
        group.has_null |= id == VersionId::NULL;
        let is_latest = !std::mem::replace(&mut group.is_begun, true);
        let key = Key::new(&self.ask.bucket, name).ok()?;
        Some(ObjectVersion {
            id,
            is_latest,
            meta: Meta { key, ..entry.meta },
        })
    }
}

impl Cursor {
    /// Continues after a text and drops the waiting entries.
    fn seek(&mut self, after: String) {
        self.waiting.clear();
        self.ended = false;
        self.list.after = Some(after);
    }

    /// Drops the waiting entries so that they are requested again.
    fn restart(&mut self) {
        self.waiting.clear();
        self.ended = false;
    }

    fn pop(&mut self) -> Option<Meta> {
        let meta = self.waiting.pop_front()?;
        self.list.after = Some(meta.key.as_str().to_owned());
        Some(meta)
    }

    /// Requests more entries if none are waiting. Returns whether it did.
    async fn refill(&mut self, store: &Store) -> Result<bool, StoreError> {
        if !self.waiting.is_empty() || self.ended {
            return Ok(false);
        }
        let page = store.list(&self.list).await?;
        self.ended = page.next.is_none();
        self.waiting = page.objects.into();
        Ok(true)
    }
}

/// Returns the rolled-up prefix of a name, if the listing rolls it up.
fn rolled(ask: &ListVersions, name: &str) -> Option<String> {
    let delimiter = ask
        .delimiter
        .as_deref()
        .filter(|delimiter| !delimiter.is_empty())?;
    let rest = name.strip_prefix(&ask.prefix)?;
    let at = rest.find(delimiter)?;
    Some(name[..ask.prefix.len() + at + delimiter.len()].to_owned())
}
