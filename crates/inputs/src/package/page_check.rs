//! Reads the lists of pages of a package when it is loaded. Compares their digests, and reports
//! lines that cannot be used.

use std::io::{self, BufReader, Read};

use super::address::name_of_member;
use super::manifest::Manifest;
use super::page_lines::PageLines;
use super::zip_file::{Member, ZipFile};
use crate::digest::Digesting;
use crate::discovery::Discovery;

/// The result of reading a list of pages.
#[derive(Debug, Default)]
struct PageListCheck {
    digest: String,
    /// Number of lines that cannot be used.
    damaged: u64,
    /// Position of the first of them, and why.
    first: Option<String>,
}

impl Discovery<'_> {
    /// Reports the problems of a list of pages.
    pub(super) fn page_list(
        &mut self,
        (name, package): (&str, &str),
        list: &str,
        zip: &mut ZipFile,
        manifest: &Manifest,
    ) {
        let defects = manifest.defects(list, zip).into_iter();
        let mut problems: Vec<String> = defects.map(|defect| defect.detail).collect();
        let member = zip.member(list);
        let checked = member.and_then(|member| member.map(|member| checked(zip, member)).transpose());
        match checked {
            Err(error) => problems.push(format!("cannot be read: {error}")),
            Ok(None) => {}
            Ok(Some(checked)) => {
                let declared = manifest.resource(list).and_then(|resource| resource.hash());
                if let Some(other) = checked.other_than(declared.as_deref()) {
                    self.warn(name_of_member(name, list), other);
                }
                problems.extend(checked.unusable());
            }
        }
        if !problems.is_empty() {
            self.not_in_package(name, package, list, problems.join("; "));
        }
    }
}

impl PageListCheck {
    fn other_than(&self, declared: Option<&str>) -> Option<String> {
        let declared = declared.filter(|declared| declared.starts_with("sha256:"))?;
        let is_other = !declared.eq_ignore_ascii_case(&self.digest);
        is_other.then(|| {
            format!(
                "found {}, expected {declared} as datapackage.json declares",
                self.digest
            )
        })
    }

    fn unusable(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(match self.damaged {
            1 => format!("{first}; the line is not used"),
            lines => format!("{lines} lines are not used, the first of them: {first}"),
        })
    }
}

fn checked(zip: &mut ZipFile, member: Member) -> io::Result<PageListCheck> {
    let read = DigestingReader {
        file: zip.read(member)?,
        digesting: Digesting::default(),
    };
    let mut lines = PageLines::at(BufReader::new(read), 0, 0);
    let mut checked = PageListCheck::default();
    while let Some(line) = lines.next_line()? {
        if let Err(why) = line.page {
            checked.damaged += 1;
            let place = format!("line {} at offset {}: {why}", line.number, line.offset);
            checked.first.get_or_insert(place);
        }
    }
    checked.digest = lines.into_reader().into_inner().digesting.digest();
    Ok(checked)
}

/// A member that is digested while it is read.
struct DigestingReader<R> {
    file: R,
    digesting: Digesting,
}

impl<R: Read> Read for DigestingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(into)?;
        self.digesting.take(&into[..bytes]);
        Ok(bytes)
    }
}
