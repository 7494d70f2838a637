//! A source of inputs that are members of packages.

use std::io::{self, BufReader, ErrorKind};
use std::sync::Arc;

use parking_lot::Mutex;
use warc::Input;

use super::address::{is_member, of_member, outermost, parts};
use super::manifest::Manifest;
use super::page_lines::{PageLines, is_page_list};
use super::zip_file::{Member, ZipFile};
use crate::declared::DeclaredContent;
use crate::file::{FileVersion, open_file};
use crate::path::{is_address, path_of};
use crate::source::{InputReader, InputSource, InputStat};

/// Limit of the nesting of packages.
const DEPTH_MAX: usize = 4;

/// Bytes of a list of pages read at a time.
const LINE_BUFFER_BYTES: usize = 256 << 10;

/// Reads members of packages, which are files or objects of another source.
#[derive(Clone, Default)]
pub struct Packages {
    beyond: Option<Arc<dyn InputSource>>,
    /// The package opened last. Members are requested one after the other, so its directory is read
    /// once.
    opened: Arc<Mutex<Option<OpenPackage>>>,
    /// The member unpacked last, by address and validator. Single records are requested one after
    /// the other.
    unpacked: Arc<Mutex<Option<UnpackedMember>>>,
}

struct OpenPackage {
    package: String,
    size: u64,
    validator: String,
    zip: ZipFile,
}

struct UnpackedMember {
    address: String,
    stat: InputStat,
    input: Arc<dyn Input>,
}

impl Packages {
    /// Returns a source for packages in files and in objects that `beyond` reaches.
    pub(crate) fn with(beyond: Arc<dyn InputSource>) -> Packages {
        Packages {
            beyond: Some(beyond),
            ..Packages::default()
        }
    }

    /// Opens a package: the text of an absolute path, an address, or the address of a member. Also
    /// returns a validator of its version.
    ///
    /// # Errors
    /// The error of reading it; [`ErrorKind::InvalidData`] if it is not a ZIP file.
    pub(super) fn package(&self, package: &str) -> io::Result<(ZipFile, Option<String>)> {
        if package.matches('#').count() > DEPTH_MAX && is_member(package) {
            let what = format!("more than {DEPTH_MAX} packages lie in one another");
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        let (input, validator) = self.version_of(package)?;
        let size = input.size()?;
        // Without a validator the directory read before may belong to another version.
        let Some(version) = validator.clone() else {
            return Ok((ZipFile::open(input)?, None));
        };
        if let Some(last) = &*self.opened.lock()
            && last.package == package
            && (last.size, &last.validator) == (size, &version)
        {
            return Ok((last.zip.over(input), validator));
        }
        let zip = ZipFile::open(input)?;
        *self.opened.lock() = Some(OpenPackage {
            package: package.to_owned(),
            size,
            validator: version,
            zip: zip.clone(),
        });
        Ok((zip, validator))
    }

    fn version_of(&self, package: &str) -> io::Result<(Arc<dyn Input>, Option<String>)> {
        if is_member(package) {
            let (zip, member, stat) = self.member(package)?;
            return Ok((self.opened(package, zip, member, &stat)?, stat.validator));
        }
        if !is_address(package) {
            let file = open_file(&path_of(package))?;
            let version = serde_json::to_string(&FileVersion::of(&file)?)?;
            return Ok((Arc::new(file), Some(version)));
        }
        let source = self.beyond.as_ref().filter(|source| source.serves(package));
        let source = source.ok_or_else(|| {
            io::Error::new(
                ErrorKind::Unsupported,
                "packages of this kind cannot be read here",
            )
        })?;
        let stat = source.stat(&[package]).pop().unwrap_or(Ok(None))?;
        let stat = stat.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "no such package"))?;
        Ok((source.open(package, Some(&stat))?, stat.validator))
    }

    /// Finds a member by its address.
    fn member(&self, address: &str) -> io::Result<(ZipFile, Member, InputStat)> {
        let (package, name) = parts(address)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "no address of a member of a package"))?;
        let (mut zip, validator) = self.package(&package)?;
        let member = zip
            .member(&name)?
            .ok_or_else(|| io::Error::new(ErrorKind::NotFound, format!("{package} has no member {name}")))?;
        let stat = member.stat(validator.as_deref());
        Ok((zip, member, stat))
    }

    fn opened(
        &self,
        address: &str,
        zip: ZipFile,
        member: Member,
        stat: &InputStat,
    ) -> io::Result<Arc<dyn Input>> {
        if !member.is_deflated() {
            return zip.input(member);
        }
        let mut unpacked = self.unpacked.lock();
        if let Some(last) = &*unpacked
            && last.address == address
            && last.stat == *stat
            && stat.validator.is_some()
        {
            return Ok(last.input.clone());
        }
        let input = zip.input(member)?;
        *unpacked = Some(UnpackedMember {
            address: address.to_owned(),
            stat: stat.clone(),
            input: input.clone(),
        });
        Ok(input)
    }

    /// Returns the names of all members of a package that are files, in the order of its directory.
    ///
    /// # Errors
    /// The package cannot be read.
    pub fn members(&self, package: &str) -> io::Result<Vec<String>> {
        let (zip, _) = self.package(package)?;
        Ok(zip.names())
    }

    /// Returns the names of the lists of pages in a package, in the order of its directory.
    ///
    /// # Errors
    /// The package cannot be read.
    pub fn page_lists(&self, package: &str) -> io::Result<Vec<String>> {
        let (zip, _) = self.package(package)?;
        let mut names = zip.names();
        names.retain(|name| is_page_list(name));
        Ok(names)
    }

    /// Returns the lines of a list of pages after the first `offset` bytes and `lines` lines.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn page_lines(
        &self,
        package: &str,
        list: &str,
        offset: u64,
        lines: u64,
    ) -> io::Result<PageLines<BufReader<InputReader>>> {
        let input = self.open(&of_member(package, list), None)?;
        let from = InputReader {
            input,
            position: offset,
        };
        Ok(PageLines::at(
            BufReader::with_capacity(LINE_BUFFER_BYTES, from),
            offset,
            lines,
        ))
    }

    /// Returns the declarations of a package about a member.
    pub(crate) fn declared(&self, address: &str) -> DeclaredContent {
        let opened = parts(address).and_then(|(package, name)| Some((self.package(&package).ok()?.0, name)));
        let Some((mut zip, name)) = opened else {
            return DeclaredContent::default();
        };
        Manifest::of(&mut zip).declared(&name, &zip)
    }
}

impl InputSource for Packages {
    fn serves(&self, address: &str) -> bool {
        is_member(address)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>> {
        let look = |address: &&str| match self.member(address) {
            Ok((_, _, stat)) => Ok(Some(stat)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        addresses.iter().map(look).collect()
    }

    fn list(&self, _folder: &str) -> io::Result<Vec<(String, InputStat)>> {
        Err(io::Error::new(
            ErrorKind::Unsupported,
            "name the package to load its members",
        ))
    }

    fn open(&self, address: &str, seen: Option<&InputStat>) -> io::Result<Arc<dyn Input>> {
        let (zip, member, stat) = self.member(address)?;
        if seen.is_some_and(|seen| *seen != stat) {
            return Err(io::Error::other(
                "the package was changed since it was found; load it again",
            ));
        }
        self.opened(address, zip, member, &stat)
    }

    fn drop_cached(&self, address: &str) {
        *self.unpacked.lock() = None;
        *self.opened.lock() = None;
        let package = outermost(address);
        if let Some(beyond) = self.beyond.as_ref().filter(|beyond| beyond.serves(&package)) {
            beyond.drop_cached(&package);
        }
    }
}
