//! Entries of the bucket of versions.

use store_protocol::{Key, Meta};

use crate::client::{List, Store, StoreError};
use crate::version_id::{BUCKET, Position, VersionId, is_delete_marker};

/// An older version, or a delete marker.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The object's name, without the bucket.
    pub(super) name: String,
    pub(super) place: Position,
    /// The metadata as stored: key and version number are those of the copy.
    pub(super) meta: Meta,
}

impl Entry {
    /// Reads an entry of the listing of a bucket's versions. Returns `None` if this program did not
    /// write it.
    pub(super) fn read(meta: Meta) -> Option<Self> {
        let (_, text) = meta.key.name().split_once('/')?;
        let (name, place) = crate::version_id::read(text)?;
        Some(Self { name, place, meta })
    }

    pub(super) fn id(&self) -> VersionId {
        VersionId::of(&self.meta)
    }

    pub(super) fn is_marker(&self) -> bool {
        is_delete_marker(&self.meta.attributes)
    }
}

/// Returns the text after which the listing of a bucket has the entries that begin with this
/// escaped text.
pub(super) fn listed(bucket: &str, escaped: &str) -> String {
    format!("{BUCKET}/{bucket}/{escaped}")
}

impl Store {
    /// Returns entries of an object below a place, newest first; all of them if `below` is `None`.
    pub(super) async fn entries(
        &self,
        object: &Key,
        below: Option<Position>,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let prefix = format!("{BUCKET}/{}", crate::version_id::name(object));
        let mut list = List {
            after: below.map(|place| format!("{prefix}{place}")),
            prefix,
            limit: limit.min(PAGE),
            ..List::default()
        };
        let mut entries = Vec::new();
        loop {
            let page = self.list(&list).await?;
            entries.extend(page.objects.into_iter().filter_map(Entry::read));
            match page.next {
                Some(next) if entries.len() < limit => list.after = Some(next),
                _ => return Ok(entries),
            }
        }
    }

    /// Returns the newest entry of an object below a place.
    pub(super) async fn newest_entry(
        &self,
        object: &Key,
        below: Option<Position>,
    ) -> Result<Option<Entry>, StoreError> {
        Ok(self.entries(object, below, 1).await?.into_iter().next())
    }

    /// Returns the entry with an id.
    pub(super) async fn entry(&self, object: &Key, id: VersionId) -> Result<Option<Entry>, StoreError> {
        let Some(place) = id.place() else {
            // Searched only in buckets whose versioning was suspended, or if a request names the
            // id.
            let entries = self.entries(object, None, usize::MAX).await?;
            return Ok(entries.into_iter().find(|entry| entry.id() == VersionId::NULL));
        };
        match self.head(&place.key(object)?).await {
            Ok(meta) if VersionId::of(&meta) == id => Ok(Entry::read(meta)),
            Ok(_) | Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a bucket has older versions or delete markers.
    pub(crate) async fn has_older_versions(&self, bucket: &str) -> Result<bool, StoreError> {
        let list = List {
            prefix: listed(bucket, ""),
            limit: 1,
            ..List::default()
        };
        Ok(!self.list(&list).await?.objects.is_empty())
    }

    /// Returns the current version of an object.
    pub(crate) async fn current(&self, object: &Key) -> Result<Option<Meta>, StoreError> {
        match self.head(object).await {
            Ok(meta) => Ok(Some(meta)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Entries per page when all versions of an object are read.
const PAGE: usize = 1000;
