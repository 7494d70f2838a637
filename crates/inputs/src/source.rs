//! A source of inputs other than local files, which the program implements.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use system::FileStore;
use warc::Input;

/// Inputs other than local files, named by addresses (`scheme://...`).
///
/// An error has a kind and a text that says what to do next; the caller adds the address. Calls
/// block.
pub trait InputSource: Send + Sync + 'static {
    /// Returns whether this source serves addresses of this form. Sends no request.
    fn serves(&self, address: &str) -> bool;

    /// Returns the status of the object at each address, in the order of `addresses`; `None` if
    /// there is no object. A source queries many at once if it can.
    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>>;

    /// Returns every input whose address begins with `folder`, which ends with a slash, sorted by
    /// address. Fails with [`ErrorKind::Unsupported`] if the source cannot list.
    fn list(&self, folder: &str) -> io::Result<Vec<(String, InputStat)>>;

    /// Opens an input for reading at any position. All bytes belong to one version: the version
    /// `seen` if given, otherwise the version found first. Reading fails if another version has
    /// replaced it.
    fn open(&self, address: &str, seen: Option<&InputStat>) -> io::Result<Arc<dyn Input>>;

    /// Drops cached data of an input, because something in it was taken down.
    fn drop_cached(&self, _address: &str) {}

    /// Returns the folder at an address as a place for tables of facts. Sends no request. Fails for
    /// a source that cannot write.
    fn tables(&self, address: &str) -> io::Result<Arc<dyn FileStore>> {
        let what = format!("cannot write to {address}: its source is read-only");
        Err(io::Error::new(ErrorKind::Unsupported, what))
    }
}

/// The status of an input before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputStat {
    /// Size in bytes; 0 if it is not known before reading.
    pub size: u64,
    /// A value that changes whenever the content does (a strong entity tag); `None` if there is
    /// none.
    pub validator: Option<String>,
    /// SHA-256 of the content, if it is stored with it.
    pub sha256: Option<[u8; 32]>,
}

/// Reads an input from front to back.
pub struct InputReader {
    /// The input.
    pub input: Arc<dyn Input>,
    /// Number of bytes read so far.
    pub position: u64,
}

impl InputReader {
    /// Reads an input from its beginning.
    pub fn of(input: Arc<dyn Input>) -> InputReader {
        InputReader { input, position: 0 }
    }
}

impl io::Read for InputReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read_at(into, self.position)?;
        self.position += bytes as u64;
        Ok(bytes)
    }
}
