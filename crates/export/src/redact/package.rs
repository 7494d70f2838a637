//! Copies a package (WACZ) without what takedowns keep out.
//!
//! - Each member that holds records is redacted like a file.
//! - Lists of pages lose the lines of these pages, and the lines that cannot be read.
//! - The index and the descriptions are new. A signature does not fit the new content, so it is not
//!   copied.
//! - Any other member, such as a log, may name these pages in any form. None is copied.
//!
//! Memory grows with the number of records, as for a file.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem;
use std::path::Path;

use archive::{OneInput, Part};
use cdx::{CdxRow, cdxj_line};
use extract::{Capture, LinkScope};
use index::TakedownRules;
use inputs::{
    FileVersion, InputReader, ListedPage, MAIN_LIST, Sources, is_package, member_location, package_of,
    package_parts, path_of, path_text,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{PackageError, Redaction, RedactionCounts, RedactionRules, io_error, publish, temporary_for};
use crate::subset::{Package, SortedRows};

const DESCRIPTION: &str = "datapackage.json";

/// Members that the copy replaces, in addition to those below [`INDEXES`].
const REPLACED: [&str; 2] = [DESCRIPTION, "datapackage-digest.json"];

const INDEXES: &str = "indexes/";

/// Limit of the size of a description in bytes, as in a load.
const DESCRIPTION_BYTES_MAX: u64 = 16 << 20;

/// Texts of the description that are copied.
const TEXTS: [&str; 2] = ["title", "description"];

/// The field of the description that names other packages. It is copied.
const RELATION: &str = "relation";

/// What takedowns mean for a member of a package.
#[derive(Debug, Clone, Default)]
pub struct MemberRules {
    /// The label with which it was, or would be, loaded.
    pub collection: String,
    /// Whether the whole member is taken down.
    pub whole: bool,
}

/// What a copy of a package keeps and leaves out.
pub struct PackageRedaction<'a> {
    location: String,
    version: FileVersion,
    sources: Sources,
    rules: &'a TakedownRules,
    members: Vec<Member>,
    /// Names of the lists of pages.
    lists: Vec<String>,
    /// Lines of the index of the copy.
    index: SortedRows,
    /// URL keys of the captures in the copy, and of those left out.
    kept: HashSet<String>,
    gone: HashSet<String>,
    counts: PackageCounts,
}

/// A member that holds records.
struct Member {
    name: String,
    rules: MemberRules,
    redaction: Redaction,
}

/// What a copy of a package leaves out in addition to records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PackageCounts {
    /// Number of pages in the lists of the copy.
    pub pages_kept: u64,
    /// Number of pages left out of the lists.
    pub pages_left_out: u64,
    /// Number of lines left out of the lists because they are no page.
    pub lines_left_out: u64,
    /// Names of the members that are not copied, because they may name removed pages.
    pub members_left_out: Vec<String>,
}

impl<'a> PackageRedaction<'a> {
    /// Reads the package in a local file, and decides what a copy keeps. `known` returns what
    /// takedowns mean for a member at a location. Members are copied into the folder `copies` while
    /// they are read, one after the other, as unnamed files.
    ///
    /// # Errors
    /// [`PackageError`].
    pub fn plan(
        path: &Path,
        rules: &'a TakedownRules,
        copies: &Path,
        known: &mut dyn FnMut(&OneInput, &str) -> MemberRules,
    ) -> Result<PackageRedaction<'a>, PackageError> {
        let sources = Sources::default();
        let location = path_text(path);
        let version = version_of(path).map_err(unread(&location))?;
        let names = sources.packages().members(&location).map_err(unread(&location))?;
        let lists = sources
            .packages()
            .page_lists(&location)
            .map_err(unread(&location))?;
        let mut package = PackageRedaction {
            location,
            version,
            sources,
            rules,
            members: Vec::new(),
            lists: Vec::new(),
            index: SortedRows::default(),
            kept: HashSet::new(),
            gone: HashSet::new(),
            counts: PackageCounts::default(),
        };
        // A name may occur several times. Only the last member of a name can be read.
        for name in names.into_iter().collect::<BTreeSet<String>>() {
            let base_name = name.rsplit('/').next().unwrap_or_default();
            if warc::is_record_file_name(base_name.as_bytes()) {
                package.plan_member(name, copies, known)?;
            } else if is_package(&name) {
                return Err(PackageError::Nested(name));
            } else if lists.contains(&name) {
                package.lists.push(name);
            } else if !REPLACED.contains(&&*name) && !name.starts_with(INDEXES) {
                package.counts.members_left_out.push(name);
            }
        }
        // A line depends on the captures of all members.
        for list in mem::take(&mut package.lists) {
            let of_list = package.each_page(&list, &mut |_| Ok(()))?;
            package.counts.pages_kept += of_list.pages_kept;
            package.counts.pages_left_out += of_list.pages_left_out;
            package.counts.lines_left_out += of_list.lines_left_out;
            package.lists.push(list);
        }
        Ok(package)
    }

    fn plan_member(
        &mut self,
        name: String,
        copies: &Path,
        known: &mut dyn FnMut(&OneInput, &str) -> MemberRules,
    ) -> Result<(), PackageError> {
        let location = member_location(&self.location, &name);
        let input = OneInput::open(&location, &self.sources, copies).map_err(unread(&name))?;
        let rules = known(&input, &location);
        let redaction = Redaction::plan(input.input(), &name, leave_out(self.rules, &rules), |_| {})?;
        self.index_member(&name, &input, &redaction)?;
        self.members.push(Member {
            name,
            rules,
            redaction,
        });
        Ok(())
    }

    /// Adds the lines of the index for the kept captures of a member.
    fn index_member(
        &mut self,
        name: &str,
        input: &OneInput,
        redaction: &Redaction,
    ) -> Result<(), PackageError> {
        let moved = redaction.moved();
        // Players look for files of the index in this folder.
        let filename = name.strip_prefix("archive/").unwrap_or(name);
        let mut parts = input.parts(LinkScope::External)?;
        while let Some(part) = parts.next()? {
            let Part::Capture(capture) = part else { continue };
            let Some(offset) = moved.get(&capture.offset) else {
                self.gone.insert(capture.url_key);
                continue;
            };
            self.kept.insert(capture.url_key.clone());
            let line = cdxj_line(&row_of(*capture, *offset, filename));
            self.index.push(line.into_bytes()).map_err(unread(name))?;
        }
        Ok(())
    }

    /// Calls `each` for every page of a list that the copy keeps. Returns the counts of the list.
    fn each_page(
        &self,
        list: &str,
        each: &mut dyn FnMut(ListedPage) -> io::Result<()>,
    ) -> Result<PackageCounts, PackageError> {
        let unread = unread(list);
        let packages = self.sources.packages();
        let mut lines = packages.page_lines(&self.location, list, 0, 0).map_err(&unread)?;
        let mut counts = PackageCounts::default();
        while let Some(line) = lines.next_line().map_err(&unread)? {
            match line.page {
                // The header line, which the copy replaces, or an empty one.
                Ok(None) => {}
                Ok(Some(page)) if self.keeps(&page) => {
                    each(page).map_err(&unread)?;
                    counts.pages_kept += 1;
                }
                Ok(Some(_)) => counts.pages_left_out += 1,
                Err(_) => counts.lines_left_out += 1,
            }
        }
        Ok(counts)
    }

    fn keeps(&self, page: &ListedPage) -> bool {
        if self.takes_down(&page.url_key, page.fetch_time_ms) {
            return false;
        }
        // Its captures may be taken down by their own time or with their input. Of an input that is
        // taken down whole it is unknown which pages without captures belonged to it.
        let is_suspect =
            self.gone.contains(&page.url_key) || self.members.iter().any(|member| member.rules.whole);
        !is_suspect || self.kept.contains(&page.url_key)
    }

    /// Returns whether a rule takes a page down, under any label of the package.
    fn takes_down(&self, url_key: &str, fetch_time_ms: i64) -> bool {
        let labels = self.members.iter().map(|member| &*member.rules.collection);
        // A package without records has no label.
        labels.chain([""]).any(|label| {
            let takedown = self.rules.takes_down(url_key.as_bytes(), fetch_time_ms, label);
            takedown.is_some()
        })
    }

    /// Returns how many records are kept and left out, in all members.
    pub fn counts(&self) -> RedactionCounts {
        let mut sum = RedactionCounts::default();
        for member in &self.members {
            sum.add(member.redaction.counts());
        }
        sum
    }

    /// Returns what else is left out.
    pub fn package_counts(&self) -> &PackageCounts {
        &self.counts
    }

    /// Returns the members that hold records.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Redaction)> {
        self.members
            .iter()
            .map(|member| (&*member.name, &member.redaction))
    }

    /// Writes the copy to `out`: to a temporary file that is synced, read again and compared, and
    /// only then renamed. An existing file is replaced if `replaces` is set. `each` gets the numbers
    /// of bytes of records written, then of bytes read again.
    ///
    /// # Errors
    /// [`PackageError`]. Then neither the file nor its folder has changed.
    pub fn write(
        &mut self,
        out: &Path,
        replaces: bool,
        each: &mut dyn FnMut(u64),
    ) -> Result<(), PackageError> {
        let aside = temporary_for(out)?;
        let file = aside.as_file().try_clone().map_err(io_error("write", out))?;
        self.put_members(file, out, each)?;
        if version_of(&path_of(&self.location)).ok() != Some(self.version) {
            return Err(PackageError::Changed);
        }
        self.compare(aside.path(), each)?;
        Ok(publish(aside, out, replaces)?)
    }

    fn put_members(&mut self, file: File, out: &Path, each: &mut dyn FnMut(u64)) -> Result<(), PackageError> {
        let failed = io_error("write", out);
        let mut package = Package::begin(file).map_err(&failed)?;
        for Member { name, redaction, .. } in &self.members {
            let input = self.sources.open(&member_location(&self.location, name));
            let input = input.map_err(unread(name))?;
            package
                .put(name, |mut out| redaction.copy(&*input, &mut out, &mut *each))
                .map_err(&failed)?;
        }
        let mut lines = mem::take(&mut self.index).finish().map_err(&failed)?;
        package
            .put_index(|each| {
                while let Some(line) = lines.pop()? {
                    each(&String::from_utf8_lossy(&line))?;
                }
                Ok(())
            })
            .map_err(&failed)?;
        for list in &self.lists {
            package
                .put(list, |out| self.put_pages(list, out))
                .map_err(&failed)?;
        }
        package.finish(self.fields()).map_err(&failed)?;
        Ok(())
    }

    fn put_pages(&self, list: &str, out: &mut dyn Write) -> io::Result<()> {
        let id = if list == MAIN_LIST { "pages" } else { "extra" };
        writeln!(
            out,
            "{}",
            json!({"format": "json-pages-1.0", "id": id, "title": "Pages"})
        )?;
        let put = self.each_page(list, &mut |page| writeln!(out, "{}", Value::Object(page.object)));
        put.map(drop).map_err(io::Error::other)
    }

    /// Returns the fields of the description that the copy keeps.
    fn fields(&self) -> Map<String, Value> {
        let mut described = self.description().unwrap_or_default();
        let names_removed = |text: &str| {
            let mut keys = text.split_whitespace().filter_map(extract::named_url_key);
            keys.any(|key| self.takes_down(&key, i64::MAX) || self.gone.contains(&key))
        };
        let mut fields = Map::new();
        for name in TEXTS {
            if let Some(Value::String(text)) = described.remove(name)
                && !names_removed(&text)
            {
                fields.insert(name.to_owned(), Value::String(text));
            }
        }
        if let Some(relation) = described.remove(RELATION) {
            fields.insert(RELATION.to_owned(), relation);
        }
        fields
    }

    /// Returns the description of the package; `None` if it cannot be read.
    fn description(&self) -> Option<Map<String, Value>> {
        let location = member_location(&self.location, DESCRIPTION);
        let input = InputReader::of(self.sources.open(&location).ok()?);
        let mut text = String::new();
        input.take(DESCRIPTION_BYTES_MAX).read_to_string(&mut text).ok()?;
        // Some tools write a byte order mark.
        serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
    }

    /// Reads the copy again, as a load would. It must be a package whose members have the kept
    /// records and no others.
    fn compare(&self, copy: &Path, each: &mut dyn FnMut(u64)) -> Result<(), PackageError> {
        let copy = copy.canonicalize().map_err(unread(&copy.display().to_string()))?;
        let sources = Sources::default();
        let mut compared = 0;
        for part in package_parts(&path_text(&copy), &sources) {
            if let Some(problem) = part.problem {
                return Err(PackageError::Wrong(format!("{}: {problem}", part.name)));
            }
            let Some((_, name)) = package_of(&part.location) else {
                continue;
            };
            let member = self.members.iter().find(|member| member.name == name);
            let more = || PackageError::Wrong(format!("{name} is not a member of the original"));
            let member = member.ok_or_else(more)?;
            let input = sources.open(&part.location).map_err(unread(&name))?;
            let rules = leave_out(self.rules, &member.rules);
            let mut before = 0;
            let same = member.redaction.compare(input, &name, rules, |at| {
                each(at - before);
                before = at;
            });
            same.map_err(|source| PackageError::Member { name, source })?;
            compared += 1;
        }
        let expected = self.members.len();
        if compared == expected {
            Ok(())
        } else {
            let what = format!("it has {compared} files of records, expected {expected}");
            Err(PackageError::Wrong(what))
        }
    }
}

fn leave_out<'r>(rules: &'r TakedownRules, member: &'r MemberRules) -> RedactionRules<'r> {
    RedactionRules {
        rules,
        collection: &member.collection,
        whole: member.whole,
    }
}

fn row_of(capture: Capture, offset: u64, filename: &str) -> CdxRow {
    CdxRow {
        kind: capture.kind,
        url_key: capture.url_key,
        url: capture.url,
        mime: capture.mime,
        status: capture.status,
        method: capture.method,
        digest: capture.digest,
        length: capture.length,
        offset,
        filename: filename.to_owned(),
        ..CdxRow::at(capture.fetch_time_ms)
    }
}

fn version_of(path: &Path) -> io::Result<FileVersion> {
    FileVersion::of(&inputs::open_file(path)?)
}

fn unread(name: &str) -> impl Fn(io::Error) -> PackageError + use<> {
    let name = name.to_owned();
    move |source| PackageError::Read {
        name: name.clone(),
        source,
    }
}
