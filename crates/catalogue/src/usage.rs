//! Sums over files: count, size, age. Reports read these sums, which are updated by differences, so
//! that they are immediate.

use crate::attributes::{Attributes, Kind};
use crate::varint::{Corrupt, Reader, put, put_signed};

/// Sums over a set of entries, or differences of such sums.
///
/// A file with several names counts once in the whole catalogue, under its first name (by
/// directory, then by name).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of entries of every kind.
    pub entries: i64,
    /// Number of directories among them.
    pub directories: i64,
    /// Total length in bytes.
    pub size_bytes: i64,
    /// Total number of allocated blocks of 512 bytes.
    pub blocks: i64,
    /// Files by size: class `n` holds sizes with `n` binary digits (0 is empty). [`SIZE_CLASSES`]
    /// groups the classes.
    sizes: Histogram,
    /// Files by day of their last content change, counted from 1970.
    days: Histogram,
    /// Bound on the oldest file, more precise than the first of the days.
    oldest: Oldest,
}

/// A lower bound on modification times, in nanoseconds since 1970. Adding a file lowers it;
/// removing one does not raise it. Comparisons of sums ignore it.
#[derive(Debug, Clone, Copy)]
struct Oldest(i64);

impl Oldest {
    const UNKNOWN: Oldest = Oldest(i64::MIN);

    fn lower(&mut self, to: Oldest) {
        self.0 = self.0.min(to.0);
    }
}

impl Default for Oldest {
    /// The bound of an empty set.
    fn default() -> Oldest {
        Oldest(i64::MAX)
    }
}

impl PartialEq for Oldest {
    fn eq(&self, _: &Oldest) -> bool {
        true
    }
}

impl Eq for Oldest {}

/// Number and total bytes of files in a class of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Share {
    /// Files.
    pub files: i64,
    /// Their bytes.
    pub size_bytes: i64,
}

/// Non-empty classes, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Histogram(Vec<(u16, Share)>);

/// Names of the classes of [`Usage::size_profile`], and the numbers of binary digits that each
/// covers.
pub const SIZE_CLASSES: [(&str, std::ops::RangeInclusive<u16>); 10] = [
    ("0", 0..=0),
    ("1-31", 1..=5),
    ("32-1K", 6..=10),
    ("1K-31K", 11..=15),
    ("32K-1M", 16..=20),
    ("1M-31M", 21..=25),
    ("32M-1G", 26..=30),
    ("1G-31G", 31..=35),
    ("32G-1T", 36..=40),
    ("more", 41..=u16::MAX),
];

/// Returns the size class: the number of binary digits.
pub(crate) fn size_class(size_bytes: u64) -> u16 {
    (u64::BITS - size_bytes.leading_zeros()) as u16
}

/// Returns the day of a time, counted from 1970. Earlier times count as day 0, and times after June
/// 2149 as the last day.
pub(crate) fn day_of(modified_ns: i64) -> u16 {
    u16::try_from(modified_ns.div_euclid(DAY_NS).max(0)).unwrap_or(u16::MAX)
}

/// Nanoseconds in a day.
pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

impl Histogram {
    fn add(&mut self, class: u16, share: Share) {
        match self.0.binary_search_by_key(&class, |row| row.0) {
            Ok(at) => {
                let sum = &mut self.0[at].1;
                sum.files += share.files;
                sum.size_bytes = sum.size_bytes.wrapping_add(share.size_bytes);
                if *sum == Share::default() {
                    self.0.remove(at);
                }
            }
            Err(at) if share != Share::default() => self.0.insert(at, (class, share)),
            Err(_) => {}
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.0.len() as u64);
        for (class, share) in &self.0 {
            put(out, u64::from(*class));
            put_signed(out, share.files);
            put_signed(out, share.size_bytes);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Histogram, Corrupt> {
        let count = reader.small::<u16>()?;
        let row = |reader: &mut Reader<'_>| {
            let class = reader.small()?;
            let share = Share {
                files: reader.signed()?,
                size_bytes: reader.signed()?,
            };
            Ok((class, share))
        };
        Ok(Histogram(
            (0..count).map(|_| row(reader)).collect::<Result<_, _>>()?,
        ))
    }
}

impl Usage {
    /// Adds (`sign` 1) or subtracts (-1) a file.
    pub(crate) fn count(&mut self, file: &Attributes, sign: i64) {
        let size_bytes = sign * i64::try_from(file.size_bytes).unwrap_or(i64::MAX);
        self.entries += sign;
        // Sparse files may have lengths up to 63 bits. A sum that wraps becomes right again when
        // they are removed.
        self.size_bytes = self.size_bytes.wrapping_add(size_bytes);
        self.blocks = self
            .blocks
            .wrapping_add(sign * i64::try_from(file.blocks).unwrap_or(i64::MAX));
        match file.kind {
            Kind::Directory => self.directories += sign,
            Kind::File => {
                let share = Share {
                    files: sign,
                    size_bytes,
                };
                self.sizes.add(size_class(file.size_bytes), share);
                self.days.add(day_of(file.modified_ns), share);
                if sign > 0 {
                    self.oldest.lower(Oldest(file.modified_ns));
                }
            }
            _ => {}
        }
    }

    /// Adds (`sign` 1) or subtracts (-1) other sums or differences.
    pub(crate) fn add(&mut self, other: &Usage, sign: i64) {
        // Subtracting a difference may add a file.
        self.oldest.lower(other.oldest);
        self.entries += sign * other.entries;
        self.directories += sign * other.directories;
        self.size_bytes = self.size_bytes.wrapping_add(sign.wrapping_mul(other.size_bytes));
        self.blocks = self.blocks.wrapping_add(sign.wrapping_mul(other.blocks));
        for (mine, theirs) in [(&mut self.sizes, &other.sizes), (&mut self.days, &other.days)] {
            for &(class, share) in &theirs.0 {
                mine.add(
                    class,
                    Share {
                        files: sign * share.files,
                        size_bytes: sign.wrapping_mul(share.size_bytes),
                    },
                );
            }
        }
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: &Usage) {
        self.add(other, 1);
    }

    /// Returns whether all sums are zero.
    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }

    /// Returns whether adding this difference changes nothing. A replacement of a file by one of
    /// the same day and size leaves all sums zero, but may still lower the bound on the oldest
    /// file.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.is_empty() && self.oldest.0 == i64::MAX
    }

    /// Returns the number of regular files.
    pub fn files(&self) -> i64 {
        self.sizes.0.iter().map(|(_, share)| share.files).sum()
    }

    /// Returns the allocated bytes on disk.
    pub fn disk_bytes(&self) -> i64 {
        // statx(2): blocks have 512 bytes, regardless of the block size of the file system.
        self.blocks.saturating_mul(512)
    }

    /// Returns regular files by size, one row for each of [`SIZE_CLASSES`].
    pub fn size_profile(&self) -> [Share; SIZE_CLASSES.len()] {
        SIZE_CLASSES.map(|(_, digits)| {
            let mut sum = Share::default();
            for (class, share) in &self.sizes.0 {
                if digits.contains(class) {
                    sum.files += share.files;
                    sum.size_bytes = sum.size_bytes.wrapping_add(share.size_bytes);
                }
            }
            sum
        })
    }

    /// Returns regular files by the day of their last content change: days since 1970, in order.
    pub fn age_profile(&self) -> &[(u16, Share)] {
        &self.days.0
    }

    /// Returns an upper bound on the size of a file; `None` if there are no files. The bound is
    /// exact if the largest class holds one file.
    pub(crate) fn size_bytes_max(&self) -> Option<u64> {
        let (class, share) = *self.sizes.0.last()?;
        let Some(digits) = class.checked_sub(1) else {
            return Some(0);
        };
        let least = 1u64 << digits.min(63);
        let most = least + (least - 1);
        let others = u128::from(least) * u128::try_from(share.files - 1).unwrap_or(0);
        let together = u128::try_from(share.size_bytes).unwrap_or(u128::MAX);
        match together.checked_sub(others) {
            Some(rest) if rest >= u128::from(least) => Some(u64::try_from(rest).unwrap_or(most).min(most)),
            // The sum has wrapped.
            _ => Some(most),
        }
    }

    /// Returns a lower bound on the modification times, in nanoseconds since 1970; `None` if there
    /// are no files. `first_day` is the first day of the age profile.
    pub(crate) fn oldest_ns(&self, first_day: Option<u16>) -> Option<i64> {
        // Times before 1970 count as day 0.
        first_day.map(|day| match day {
            0 => self.oldest.0,
            day => self.oldest.0.max(i64::from(day) * DAY_NS),
        })
    }

    /// Returns whether the bound on the oldest file also holds for `others`.
    pub(crate) fn bounds(&self, others: &Usage) -> bool {
        self.oldest.0 <= others.oldest.0
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.push(HAS_OLDEST);
        for number in [self.entries, self.directories, self.size_bytes, self.blocks] {
            put_signed(&mut out, number);
        }
        self.sizes.write(&mut out);
        let oldest = if self.days.0.is_empty() {
            Oldest::default()
        } else {
            self.oldest
        };
        put_signed(&mut out, oldest.0);
        self.days.write(&mut out);
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Usage, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of sums");
        let mut usage = Usage::read_without_days(reader)?;
        usage.days = Histogram::read(reader)?;
        Ok(usage)
    }

    /// Reads everything but the per-day histogram, which may have thousands of rows, and its first
    /// day.
    pub(crate) fn head_of_bytes(bytes: &[u8]) -> Result<(Usage, Option<u16>), Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of sums");
        let usage = Usage::read_without_days(reader)?;
        let first = match reader.number()? {
            0 => None,
            _ => Some(reader.small()?),
        };
        Ok((usage, first))
    }

    fn read_without_days(reader: &mut Reader<'_>) -> Result<Usage, Corrupt> {
        let has_oldest = reader.peek() == Some(HAS_OLDEST);
        if has_oldest {
            reader.byte()?;
        }
        Ok(Usage {
            entries: reader.signed()?,
            directories: reader.signed()?,
            size_bytes: reader.signed()?,
            blocks: reader.signed()?,
            sizes: Histogram::read(reader)?,
            oldest: if has_oldest {
                Oldest(reader.signed()?)
            } else {
                Oldest::UNKNOWN
            },
            days: Histogram::default(),
        })
    }
}

/// First byte of a row with a bound on the oldest file. Rows of the old format begin with the
/// number of entries, which is not negative and so is encoded as an even byte.
const HAS_OLDEST: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size_bytes: u64, modified_ns: i64) -> Attributes {
        Attributes {
            size_bytes,
            modified_ns,
            blocks: 8,
            links: 1,
            ..Attributes::default()
        }
    }

    #[test]
    fn sizes_fall_into_the_classes_that_users_of_profiles_know() {
        for (size_bytes, class) in [
            (0, "0"),
            (1, "1-31"),
            (31, "1-31"),
            (32, "32-1K"),
            (1023, "32-1K"),
            (1024, "1K-31K"),
            (32 << 10, "32K-1M"),
            (1 << 20, "1M-31M"),
            (32 << 20, "32M-1G"),
            (1 << 30, "1G-31G"),
            (32 << 30, "32G-1T"),
            (1 << 40, "more"),
            (u64::MAX, "more"),
        ] {
            let mut usage = Usage::default();
            usage.count(&file(size_bytes, 0), 1);
            let profile = usage.size_profile();
            let found = profile.iter().position(|share| share.files == 1).unwrap();
            assert_eq!(SIZE_CLASSES[found].0, class, "{size_bytes}");
        }
    }

    #[test]
    fn what_is_added_and_taken_away_leaves_nothing() {
        let mut usage = Usage::default();
        let files = [
            file(0, 0),
            file(5000, 1_700_000_000_000_000_000),
            file(1 << 41, -5),
        ];
        for file in &files {
            usage.count(file, 1);
        }
        assert_eq!(Usage::of_bytes(&usage.to_bytes()).unwrap(), usage);
        assert_eq!(usage.files(), 3);
        let (head, first) = Usage::head_of_bytes(&usage.to_bytes()).unwrap();
        assert_eq!((first, head.size_bytes_max()), (Some(0), usage.size_bytes_max()));
        let mut twice = usage.clone();
        twice.add(&usage, 1);
        twice.add(&usage, -1);
        assert_eq!(twice, usage);
        for file in &files {
            usage.count(file, -1);
        }
        assert!(usage.is_empty());
    }

    #[test]
    fn no_file_is_older_than_is_said() {
        const NOON: i64 = 20_000 * DAY_NS + DAY_NS / 2;
        let said = |usage: &Usage| {
            let (head, first) = Usage::head_of_bytes(&usage.to_bytes()).unwrap();
            head.oldest_ns(first)
        };
        let mut usage = Usage::default();
        assert_eq!(said(&usage), None);
        usage.count(&file(1, NOON + 5), 1);
        usage.count(&file(1, NOON), 1);
        assert_eq!(said(&usage), Some(NOON));
        // The next oldest file of that day is not known.
        usage.count(&file(1, NOON), -1);
        assert_eq!(said(&usage), Some(NOON));
        usage.count(&file(1, NOON + DAY_NS), 1);
        usage.count(&file(1, NOON + 5), -1);
        assert_eq!(
            said(&usage),
            Some(NOON - DAY_NS / 2 + DAY_NS),
            "the day says more"
        );
        // A difference whose sums are zero but whose bound is not.
        let mut difference = Usage::default();
        difference.count(&file(1, NOON + DAY_NS), -1);
        difference.count(&file(1, NOON + DAY_NS - 3), 1);
        assert!(difference.is_empty() && !difference.changes_nothing());
        usage.add(&difference, 1);
        assert!(said(&usage).unwrap() <= NOON + DAY_NS - 3);
        let mut alone = Usage::default();
        alone.add(&difference, 1);
        alone.count(&file(1, NOON + DAY_NS), 1);
        assert_eq!(said(&alone), Some(NOON + DAY_NS - 3));
        usage.count(&file(1, -7), 1);
        assert_eq!(said(&usage), Some(-7));
        for time in [-7, NOON + DAY_NS - 3] {
            usage.count(&file(1, time), -1);
        }
        assert_eq!(said(&usage), None);
        assert!(Usage::default().changes_nothing());
    }

    /// A row as the first version of the program wrote it: 300 entries, 5 bytes, 8 blocks, one file
    /// of 5 bytes on day 3.
    #[test]
    fn a_row_without_the_oldest_can_be_read() {
        let row = [0xd8, 0x04, 0, 10, 16, 1, 3, 2, 10, 1, 3, 2, 10];
        let usage = Usage::of_bytes(&row).unwrap();
        let mut expected = Usage::default();
        expected.count(&file(5, 3 * DAY_NS), 1);
        expected.entries = 300;
        assert_eq!(usage, expected);
        assert!(usage.bounds(&expected));
        let (head, first) = Usage::head_of_bytes(&row).unwrap();
        assert_eq!(head.oldest_ns(first), Some(3 * DAY_NS));
    }

    #[test]
    fn a_day_is_that_of_the_calendar() {
        assert_eq!(
            (day_of(0), day_of(-1), day_of(DAY_NS - 1), day_of(DAY_NS)),
            (0, 0, 0, 1)
        );
        assert_eq!(day_of(i64::MAX), u16::MAX);
    }

    #[test]
    fn no_file_is_larger_than_is_said() {
        for sizes in [
            &[0][..],
            &[0, 0],
            &[1],
            &[5, 7, 4],
            &[1 << 20, 3],
            &[u64::MAX],
            &[u64::MAX, u64::MAX, u64::MAX - 1],
        ] {
            let mut usage = Usage::default();
            for &size_bytes in sizes {
                usage.count(&file(size_bytes, 0), 1);
            }
            let largest = *sizes.iter().max().unwrap();
            let said = usage.size_bytes_max().unwrap();
            assert!(said >= largest, "{sizes:?}: {said}");
            assert!(
                sizes.len() > 1 || size_class(largest) > 63 || said == largest,
                "{sizes:?}: {said}"
            );
        }
        assert_eq!(Usage::default().size_bytes_max(), None);
    }
}
