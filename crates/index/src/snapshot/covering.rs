//! Decides which index lines are covered, and so not shown, as `views::index_lines` defines it.

use extract::IndexLine;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Snapshot;
use crate::cut::Rows;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::capture_key::{is_of_key, time_prefix};
use crate::views::capture_row::StoredCapture;
use crate::views::captures;
use crate::views::index_lines::{self, FilePlace, file_name, place_of};
use crate::views::originals::is_known;

/// Decides which lines are covered. Caches the data of the last moment, so that the lines of one
/// moment are read once.
#[derive(Default)]
pub(crate) struct Covering {
    moment: Option<Moment>,
}

impl Covering {
    pub(crate) fn covers(
        &mut self,
        snapshot: &Snapshot,
        input: InputId,
        line: &IndexLine,
    ) -> Result<bool, SnapshotError> {
        if line.is_attachment() {
            return Ok(false);
        }
        let second = line.fetch_time_ms.div_euclid(1000);
        if let Some(moment) = &self.moment
            && (moment.second, moment.url_key.as_str()) == (second, line.url_key.as_str())
        {
            return Ok(moment.covers(input, line));
        }
        let moment = Moment::read(snapshot, &line.url_key, second)?;
        let covers = moment.covers(input, line);
        self.moment = Some(moment);
        Ok(covers)
    }
}

/// Position of a line among those of its key: time, input, offset in it.
type LinePlace = (i64, InputId, u64);

/// The captures and lines of one URL key and second.
struct Moment {
    url_key: String,
    second: i64,
    /// Places of captures: base name of the file, and offset.
    places: FxHashSet<FilePlace>,
    /// URLs and digests of captures.
    contents: FxHashSet<(String, String)>,
    /// The first line of each collection for each place.
    first: FxHashMap<(String, FilePlace), LinePlace>,
    /// The collections of the inputs.
    collections: FxHashMap<InputId, String>,
}

impl Moment {
    fn read(snapshot: &Snapshot, url_key: &str, second: i64) -> Result<Moment, SnapshotError> {
        let mut moment = Moment {
            url_key: url_key.to_owned(),
            second,
            places: FxHashSet::default(),
            contents: FxHashSet::default(),
            first: FxHashMap::default(),
            collections: FxHashMap::default(),
        };
        for stored in captures_within(snapshot, url_key, second)? {
            let name = file_name(&snapshot.input(stored.input)?.input);
            let capture = stored.capture;
            moment.places.insert((name, capture.offset));
            moment.contents.insert((capture.url, capture.digest));
        }
        for (input, line) in lines_within(snapshot, url_key, second)? {
            let collection = snapshot.input(input)?.collection.clone();
            let at = (line.fetch_time_ms, input, line.offset);
            let place = (collection.clone(), place_of(&line));
            moment.first.entry(place).or_insert(at);
            moment.collections.insert(input, collection);
        }
        Ok(moment)
    }

    fn covers(&self, input: InputId, line: &IndexLine) -> bool {
        let place = place_of(line);
        let is_recorded = self.places.contains(&place)
            || is_known(&line.digest) && self.contents.contains(&(line.url.clone(), line.digest.clone()));
        if is_recorded {
            return true;
        }
        let this = (line.fetch_time_ms, input, line.offset);
        let collection = self.collections.get(&input).cloned().unwrap_or_default();
        self.first
            .get(&(collection, place))
            .is_some_and(|first| *first < this)
    }
}

/// Returns the captures of a URL key within a second.
pub(super) fn captures_within(
    snapshot: &Snapshot,
    url_key: &str,
    second: i64,
) -> Result<Vec<StoredCapture>, SnapshotError> {
    let cut = snapshot.cut();
    let mut within = Vec::new();
    for row in rows_within(snapshot, Table::Captures, url_key, second) {
        let (key, value) = row?;
        if is_of_key(&key, url_key) {
            within.push(captures::read_row(cut, &key, &value)?);
        }
    }
    Ok(within)
}

/// Returns the lines of a URL key within a second, covered or not, in the order of their rows.
pub(super) fn lines_within(
    snapshot: &Snapshot,
    url_key: &str,
    second: i64,
) -> Result<Vec<(InputId, IndexLine)>, SnapshotError> {
    let cut = snapshot.cut();
    let mut within = Vec::new();
    for row in rows_within(snapshot, Table::IndexLines, url_key, second) {
        let (key, value) = row?;
        if is_of_key(&key, url_key) {
            within.push(cut.decode(Table::IndexLines, &key, index_lines::decode(&key, &value))?);
        }
    }
    Ok(within)
}

fn rows_within(snapshot: &Snapshot, table: Table, url_key: &str, second: i64) -> Rows {
    let from = time_prefix(url_key, second.saturating_mul(1000));
    let to = time_prefix(url_key, second.saturating_add(1).saturating_mul(1000));
    snapshot.cut().range(table, &from, &to)
}
