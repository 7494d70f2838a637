//! An overview of the catalogue in numbers. The page and the API show the same.

use std::collections::BTreeMap;

use ::catalogue::{Catalogue, CatalogueError, Group, Kind, SIZE_CLASSES, ScanRow, ScanState, Share, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use super::FilesPath;

/// Maximum number of owners and formats listed by name. The others are added up.
const GROUPS_MAX: usize = 12;

/// Number of days of growth.
const DAYS_MAX: u32 = 400;

/// Number of recent scans.
const SCANS_MAX: usize = 10;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Overview of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// When the catalogue was read, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// Number of the last change of the catalogue.
    pub(crate) catalogue_epoch: u64,
    /// Trees of the catalogue, in order of path.
    pub(crate) trees: Vec<FilesTree>,
    /// Totals over all trees.
    pub(crate) total: FilesUsage,
    /// Regular files by size.
    pub(crate) sizes: Vec<FilesClass>,
    /// Regular files by the year of the last change of their content, latest year first.
    pub(crate) ages: Vec<FilesClass>,
    /// Totals by owner, largest first. The last row may add up all others.
    pub(crate) owners: Vec<FilesGroup>,
    /// Totals of regular files by the format that their names indicate, largest first. The last row
    /// may add up all others.
    pub(crate) formats: Vec<FilesGroup>,
    /// Totals at the end of each day on which a scan ended.
    pub(crate) growth: Vec<FilesDay>,
    /// The last scans, newest first.
    pub(crate) scans: Vec<FilesScan>,
}

/// A tree of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesTree {
    /// Root directory of the tree.
    pub(crate) dir: FilesPath,
    /// Totals of the tree.
    pub(crate) usage: FilesUsage,
    /// Number of the last completed scan of the whole tree; 0 if there is none.
    pub(crate) whole_scan: u64,
    /// When that scan ended, in milliseconds since 1970.
    pub(crate) whole_ended_ms: i64,
    /// Directories and names in it that could not be read.
    pub(crate) faults: u64,
}

/// Totals of entries. A file with several names counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesUsage {
    /// Entries of every type.
    pub(crate) entries: u64,
    /// Directories among them.
    pub(crate) directories: u64,
    /// Regular files among them.
    pub(crate) files: u64,
    /// Sum of lengths in bytes.
    pub(crate) size_bytes: u64,
    /// Space used on disk in bytes.
    pub(crate) disk_bytes: u64,
}

/// Regular files of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesClass {
    /// Name of the class.
    #[schemars(example = &"1K-31K")]
    pub(crate) name: String,
    /// Number of files in it.
    pub(crate) files: u64,
    /// Sum of lengths in bytes.
    pub(crate) size_bytes: u64,
}

/// Totals of entries with a common property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesGroup {
    /// The common property. A user is named by its number if the system has no name for it.
    #[schemars(example = &"warc")]
    pub(crate) name: String,
    /// Totals of the entries.
    pub(crate) usage: FilesUsage,
}

/// Totals at the end of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesDay {
    /// The day, in UTC.
    #[schemars(example = &"2026-11-24")]
    pub(crate) day: String,
    /// The day as the number of days since 1970.
    pub(crate) day_number: u32,
    /// Entries of every type.
    pub(crate) entries: u64,
    /// Sum of lengths in bytes.
    pub(crate) size_bytes: u64,
}

/// A scan and its results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FilesScan {
    /// Number of the scan.
    pub(crate) scan: u64,
    /// Directory that was scanned.
    pub(crate) dir: FilesPath,
    /// Whether the scan ended. If not, it is running or was stopped, and the next scan continues
    /// it.
    pub(crate) is_ended: bool,
    /// When it began, in milliseconds since 1970.
    pub(crate) begun_ms: i64,
    /// When it ended or was last known to run, in milliseconds since 1970.
    pub(crate) ended_ms: i64,
    /// Working time in milliseconds.
    pub(crate) spent_ms: u64,
    /// Names seen.
    pub(crate) entries: u64,
    /// Names added.
    pub(crate) added: u64,
    /// Names removed.
    pub(crate) removed: u64,
    /// Names whose file had changed attributes.
    pub(crate) changed: u64,
    /// Directories and names that could not be read.
    pub(crate) faults: u64,
}

impl Overview {
    /// Reads the overview. It is stored as sums, so no entry is read.
    pub(super) fn of(
        catalogue: &Catalogue,
        user_name: fn(u32) -> Option<String>,
    ) -> Result<Overview, CatalogueError> {
        let groups = catalogue.groups()?;
        let mut whole = Usage::default();
        groups.iter().for_each(|(_, usage)| whole.merge(usage));
        let owners = summed(groups.iter(), |group| group.uid);
        let owners = owners
            .into_iter()
            .map(|(uid, usage)| (user_name(uid).unwrap_or_else(|| uid.to_string()), usage));
        let files = groups.iter().filter(|(group, _)| group.kind == Kind::File);
        let formats = summed(files, |group| group.format)
            .into_iter()
            .map(|(format, usage)| (format.name().to_owned(), usage));
        let now_ms = system::wall_ms();
        let today = u32::try_from(now_ms / DAY_MS.unsigned_abs()).unwrap_or(u32::MAX);
        let growth = catalogue.growth(today.saturating_sub(DAYS_MAX))?;
        let trees = catalogue.trees()?.into_iter().map(|tree| FilesTree {
            dir: FilesPath::new(tree.path),
            usage: FilesUsage::of(&tree.usage),
            whole_scan: tree.whole_scan,
            whole_ended_ms: tree.whole_ended_ms,
            faults: tree.faults,
        });
        Ok(Overview {
            time_ms: now_ms,
            catalogue_epoch: catalogue.epoch()?,
            trees: trees.collect(),
            total: FilesUsage::of(&whole),
            sizes: sizes(&whole),
            ages: ages(&whole),
            owners: first(owners.collect()),
            formats: first(formats.collect()),
            growth: growth.into_iter().map(day).collect(),
            scans: catalogue.last_scans(SCANS_MAX)?.into_iter().map(scan).collect(),
        })
    }
}

impl FilesUsage {
    pub(super) fn of(usage: &Usage) -> FilesUsage {
        FilesUsage {
            entries: number(usage.entries),
            directories: number(usage.directories),
            files: number(usage.files()),
            size_bytes: number(usage.size_bytes),
            disk_bytes: number(usage.disk_bytes()),
        }
    }
}

/// Converts a sum. It is negative only if sizes have wrapped, because any user can claim any size
/// for a sparse file.
fn number(sum: i64) -> u64 {
    u64::try_from(sum).unwrap_or(0)
}

fn summed<'a, K: Ord>(
    groups: impl Iterator<Item = &'a (Group, Usage)>,
    key: impl Fn(&Group) -> K,
) -> BTreeMap<K, Usage> {
    let mut sums: BTreeMap<K, Usage> = BTreeMap::new();
    for (group, usage) in groups {
        sums.entry(key(group)).or_default().merge(usage);
    }
    sums
}

/// Returns the largest rows, and one that adds up all others.
fn first(mut rows: Vec<(String, Usage)>) -> Vec<FilesGroup> {
    rows.sort_by(|a, b| {
        b.1.size_bytes
            .cmp(&a.1.size_bytes)
            .then_with(|| b.1.entries.cmp(&a.1.entries))
            .then_with(|| a.0.cmp(&b.0))
    });
    if rows.len() > GROUPS_MAX {
        let others = rows.split_off(GROUPS_MAX - 1);
        let mut sum = Usage::default();
        others.iter().for_each(|(_, usage)| sum.merge(usage));
        rows.push((format!("{} others", others.len()), sum));
    }
    let group = |(name, usage): (String, Usage)| FilesGroup {
        name,
        usage: FilesUsage::of(&usage),
    };
    rows.into_iter().map(group).collect()
}

fn class(name: String, share: Share) -> FilesClass {
    FilesClass {
        name,
        files: number(share.files),
        size_bytes: number(share.size_bytes),
    }
}

fn sizes(whole: &Usage) -> Vec<FilesClass> {
    let names = SIZE_CLASSES.iter().map(|(name, _)| (*name).to_owned());
    names
        .zip(whole.size_profile())
        .map(|(name, share)| class(name, share))
        .collect()
}

fn ages(whole: &Usage) -> Vec<FilesClass> {
    let mut years: BTreeMap<i64, Share> = BTreeMap::new();
    for (day, share) in whole.age_profile() {
        let year = format::date::DateTime::of_ms(i64::from(*day) * DAY_MS).year;
        let sum = years.entry(year).or_default();
        sum.files += share.files;
        sum.size_bytes = sum.size_bytes.saturating_add(share.size_bytes);
    }
    let rows = years.into_iter().rev();
    rows.map(|(year, share)| class(year.to_string(), share)).collect()
}

fn day((day_number, usage): (u32, Usage)) -> FilesDay {
    FilesDay {
        day: format::date::iso(i64::from(day_number) * DAY_MS)[..10].to_owned(),
        day_number,
        entries: number(usage.entries),
        size_bytes: number(usage.size_bytes),
    }
}

fn scan((scan, row): (u64, ScanRow)) -> FilesScan {
    let mut dir = row.root.to_vec();
    if !row.below.is_empty() {
        dir.push(b'/');
        dir.extend_from_slice(&row.below);
    }
    FilesScan {
        scan,
        dir: FilesPath::new(dir),
        is_ended: row.state == ScanState::Done,
        begun_ms: row.begun_ms,
        ended_ms: row.ended_ms,
        spent_ms: row.spent_ms,
        entries: row.counts.entries,
        added: row.counts.added,
        removed: row.counts.removed,
        changed: row.counts.changed,
        faults: row.counts.faults,
    }
}
