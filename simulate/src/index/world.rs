//! The input files, and all contents they ever had.
//!
//! Files change only between two steps. The ledger identifies contents by digest, so every content
//! that a file ever had is stored with its digest.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use archive::question::LedgerRow;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use store_testkit::Dice;

use super::web::{self, Content};
use crate::Trace;

/// A prefix of a content: its number, and the length.
pub(super) type Beginning = (usize, u64);

/// Files and contents.
pub(super) struct World {
    folder: PathBuf,
    contents: Vec<Content>,
    /// The present content of each file.
    files: BTreeMap<String, Beginning>,
    /// Every name that a file ever had.
    names: Vec<String>,
    known: HashMap<String, Beginning>,
    /// Whether a file was removed, renamed or replaced, so that its loaded content cannot be read
    /// there again.
    pub(super) is_anything_gone: bool,
}

impl World {
    /// Creates a world without files in a new folder.
    pub(super) fn new(folder: PathBuf) -> World {
        fs::create_dir_all(&folder).expect("a folder can be created in the temporary one");
        World {
            folder,
            contents: Vec::new(),
            files: BTreeMap::new(),
            names: Vec::new(),
            known: HashMap::new(),
            is_anything_gone: false,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn files(&self) -> &BTreeMap<String, Beginning> {
        &self.files
    }

    /// Returns every name that a file ever had, in order of creation.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the content of a ledger row. If the digest covers only a prefix, this is any content
    /// of that size with that prefix.
    pub(super) fn of(&self, row: &LedgerRow) -> Option<Beginning> {
        let (bytes, digest) = row.beginning();
        if bytes == row.size {
            return self.known.get(digest).copied();
        }
        let begins_so =
            |(content, length): &Beginning| *length == row.size && self.digest((*content, bytes)) == digest;
        // Sorted, to be deterministic.
        let known: BTreeSet<Beginning> = self.known.values().copied().collect();
        known.into_iter().find(begins_so)
    }

    pub(super) fn bytes(&self, (content, length): Beginning) -> &[u8] {
        &self.contents[content].bytes[..length as usize]
    }

    pub(super) fn digest(&self, beginning: Beginning) -> String {
        format!(
            "sha256:{}",
            HEXLOWER.encode(&Sha256::digest(self.bytes(beginning)))
        )
    }

    /// Returns the unique words of all contents; each is in one capture.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.contents
            .iter()
            .flat_map(|content| &content.words)
            .map(String::as_str)
    }

    /// Changes at most one file; returns the name of one that has grown.
    pub(super) fn change(&mut self, dice: &mut Dice, trace: &Trace) -> Option<String> {
        match dice.roll(16) {
            _ if self.files.is_empty() => self.add(dice, trace),
            0..5 => self.add(dice, trace),
            5..7 => self.copy(dice, trace),
            7..11 => return self.grow(dice, trace),
            11..13 => return self.finish(dice, trace),
            13 => self.replace(dice, trace),
            14 => self.remove(dice, trace),
            _ => {}
        }
        None
    }

    /// Gives all files their final names and lengths.
    pub(super) fn complete(&mut self) {
        for (name, (content, _)) in self.files.clone() {
            let whole = self.contents[content].bytes.len() as u64;
            self.files.remove(&name);
            fs::remove_file(self.folder.join(&name)).expect("the file exists");
            let done = name.strip_suffix(".open").unwrap_or(&name);
            self.write(done.to_owned(), (content, whole));
        }
    }

    fn add(&mut self, dice: &mut Dice, trace: &Trace) {
        let content = self.make(dice);
        self.place(content, dice, trace, "new");
    }

    fn make(&mut self, dice: &mut Dice) -> usize {
        let number = self.contents.len();
        self.contents.push(web::content(number, dice));
        number
    }

    /// Adds a file with the content of an existing one.
    fn copy(&mut self, dice: &mut Dice, trace: &Trace) {
        let (_, (content, _)) = self.any(dice);
        self.place(content, dice, trace, "copy");
    }

    fn place(&mut self, content: usize, dice: &mut Dice, trace: &Trace, what: &str) {
        let open = if dice.roll(4) == 0 { ".open" } else { "" };
        let name = format!(
            "{:02}.{}{open}",
            self.names.len(),
            self.contents[content].extension
        );
        let length = self.length(content, 0, dice);
        trace.count(if length < self.contents[content].bytes.len() as u64 {
            "file cut"
        } else {
            "file whole"
        });
        trace.line(format!(
            "{name}: {what}, {length} of {} bytes of content {content}{}",
            self.contents[content].bytes.len(),
            self.contents[content].damage
        ));
        self.write(name, (content, length));
    }

    /// Returns a length greater than `from`, if there is more; often the full length.
    fn length(&self, content: usize, from: u64, dice: &mut Dice) -> u64 {
        let whole = self.contents[content].bytes.len() as u64;
        let least = from
            .max(self.contents[content].unique_bytes as u64 * 3 / 4)
            .min(whole);
        match dice.roll(2) {
            0 => whole,
            _ => least + dice.roll(whole - least + 1),
        }
    }

    fn grow(&mut self, dice: &mut Dice, trace: &Trace) -> Option<String> {
        let (name, (content, from)) = self.any(dice);
        let length = self.length(content, from, dice);
        if length == from {
            return None;
        }
        trace.count("file grown");
        trace.line(format!("{name}: grows from {from} to {length} bytes"));
        self.write(name.clone(), (content, length));
        Some(name)
    }

    /// Closes an open file: gives it its final name and more bytes.
    fn finish(&mut self, dice: &mut Dice, trace: &Trace) -> Option<String> {
        let open = self.files.iter().find(|(name, _)| name.ends_with(".open"));
        let Some((name, (content, from))) = open.map(|(name, now)| (name.clone(), *now)) else {
            return self.grow(dice, trace);
        };
        let length = self.length(content, from, dice);
        let done = name.strip_suffix(".open").unwrap_or(&name).to_owned();
        trace.count("file closed");
        trace.line(format!("{name}: renamed to {done}, {length} bytes"));
        self.is_anything_gone = true;
        self.files.remove(&name);
        fs::remove_file(self.folder.join(&name)).expect("the file exists");
        self.write(done.clone(), (content, length));
        Some(done)
    }

    fn replace(&mut self, dice: &mut Dice, trace: &Trace) {
        let (name, _) = self.any(dice);
        let content = self.make(dice);
        let length = self.length(content, 0, dice);
        trace.count("file replaced");
        trace.line(format!("{name}: replaced by {length} bytes of content {content}"));
        self.is_anything_gone = true;
        self.write(name, (content, length));
    }

    fn remove(&mut self, dice: &mut Dice, trace: &Trace) {
        let (name, _) = self.any(dice);
        trace.count("file removed");
        trace.line(format!("{name}: removed"));
        self.is_anything_gone = true;
        self.files.remove(&name);
        fs::remove_file(self.folder.join(&name)).expect("the file exists");
    }

    /// Returns any file; there must be one.
    fn any(&self, dice: &mut Dice) -> (String, Beginning) {
        let at = dice.roll(self.files.len() as u64) as usize;
        let (name, now) = self
            .files
            .iter()
            .nth(at)
            .expect("the index is below the number of files");
        (name.clone(), *now)
    }

    fn write(&mut self, name: String, beginning: Beginning) {
        let path = self.folder.join(&name);
        fs::write(&path, self.bytes(beginning)).expect("there is room for a small file");
        // An old time, so that no load waits for a truncated file to grow.
        let file = File::options()
            .write(true)
            .open(&path)
            .expect("the file was just written");
        file.set_modified(SystemTime::now() - Duration::from_secs(3600))
            .expect("the file belongs to this process");
        self.known.insert(self.digest(beginning), beginning);
        if !self.names.contains(&name) {
            self.names.push(name.clone());
        }
        self.files.insert(name, beginning);
    }
}
