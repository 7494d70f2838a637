//! Stage `digest`: computes the content digest, and decides where the input is read from
//! afterwards.
//!
//! A file is read completely if a known input, or another input of this load, has the same size.
//! Otherwise it is read only as far as the largest input that it may continue, and the rest is
//! digested while it is read by the load. Equal content has equal sizes, so most inputs are read
//! only once.
//!
//! An input at an address is read to compute its digest. If there is space, it is copied at the
//! same time, so that it is read only once. The digest is remembered. An input whose digest is
//! stored with it (in our own store) or remembered is not read at all. Such an input is compared
//! only with earlier inputs of the same address, with or without `.open` at the end, because a
//! comparison has to read it.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use inputs::{
    ContentDigest, Digesting, DiscoveredInput, FileVersion, InputLocation, InputReader, InputStat, Spool,
};
use pipeline::{Out, StageResult};

use super::chunk::{DigestError, DigestedInput};
use super::context::Context;
use super::growth;
use super::saved_digest::SavedDigest;

/// Runs stage `digest` on one input.
pub(super) fn digest(
    context: &Context,
    found: DiscoveredInput,
    out: &mut Out<'_, DigestedInput>,
) -> StageResult {
    if context.job.is_stopped() {
        return Ok(());
    }
    let growing = growth::growth_of(&found.place);
    let read = match (&found.problem, &found.place) {
        (Some(problem), _) => Err(DigestError::Problem(problem.clone())),
        (None, InputLocation::File(path)) => file(context, path, &found)
            .map(|(content, version, rest)| (content, None, Some(version), rest))
            .map_err(DigestError::from),
        (None, InputLocation::Address(address, stat)) => at_address(context, address, stat, &found)
            .map(|(content, copy)| (content, copy, None, None))
            .map_err(DigestError::from),
    };
    let (content, copy, version, rest) = match read {
        Ok((content, copy, version, rest)) => (Ok(content), copy.map(Arc::new), version, rest),
        Err(error) => (Err(error), None, None, None),
    };
    out.send(DigestedInput {
        found,
        content,
        copy,
        version,
        growing,
        rest,
    })
}

/// Digests as much of a file as must be known before it is read. If that is not the whole file, the
/// state of the digest is returned too. Bytes appended since the file was found are not read.
fn file(
    context: &Context,
    path: &Path,
    found: &DiscoveredInput,
) -> io::Result<(ContentDigest, FileVersion, Option<Digesting>)> {
    let file = inputs::open_file(path)?;
    // Taken before reading, so that a change during the read is noticed at the end of the load.
    let version = FileVersion::of(&file)?;
    let sizes = context.earlier.sizes(found);
    let reach = reach(context, found, &sizes);
    if reach < found.size
        && let Some(digesting) = interrupted(context, found, &version)
    {
        return Ok((
            beginning(found, &digesting, Default::default()),
            version,
            Some(digesting),
        ));
    }
    let mut digesting = Digesting::default();
    let prefixes = digesting.take_all(file.take(reach), &sizes, |piece| count(context, piece))?;
    if reach < found.size && digesting.position() == reach {
        return Ok((beginning(found, &digesting, prefixes), version, Some(digesting)));
    }
    let content = ContentDigest {
        size: digesting.position(),
        digest: digesting.digest(),
        prefixes,
    };
    Ok((content, version, None))
}

/// Returns how many bytes of a file must be digested before it is read. This is the whole file if
/// it may be a copy. Otherwise it is the size of the largest input that it may continue, but at
/// least `digest_first_bytes`, to distinguish it from other inputs.
fn reach(context: &Context, found: &DiscoveredInput, sizes: &[u64]) -> u64 {
    // A position in an index is a line number, so the digest of a beginning would not match it.
    if context.earlier.may_be_copy(found) || format::file_name::is_index_name(&found.place.location()) {
        return found.size;
    }
    let shorter = sizes.iter().copied().filter(|size| *size <= found.size);
    let reach = shorter.max().unwrap_or_default();
    reach.max(context.digest_first_bytes).min(found.size)
}

/// Returns the digest state of a file that an interrupted load has read in part, if the file has
/// not changed since.
fn interrupted(context: &Context, found: &DiscoveredInput, version: &FileVersion) -> Option<Digesting> {
    let location = found.place.location();
    let mut here = context.earlier.interrupted_at(&location, found.size);
    let digesting = here.find_map(|entry| SavedDigest::resume(entry, version))?;
    context.job.counters.bytes_digested.add(digesting.position());
    Some(digesting)
}

/// Returns the content digest of a file of which only the beginning is digested.
fn beginning(
    found: &DiscoveredInput,
    digesting: &Digesting,
    mut prefixes: HashMap<u64, String>,
) -> ContentDigest {
    let (bytes, digest) = (digesting.position(), digesting.digest());
    let of_beginning = index::digest_of_beginning(&digest, bytes);
    prefixes.insert(bytes, digest);
    ContentDigest {
        size: found.size,
        digest: of_beginning,
        prefixes,
    }
}

/// Digests the first `size` bytes that the input has now.
pub(super) fn digest_again(
    context: &Context,
    input: Arc<dyn warc::Input>,
    size: u64,
) -> io::Result<ContentDigest> {
    inputs::digest(Stoppable::of(context, input).take(size), &[], |_| {})
}

fn at_address(
    context: &Context,
    address: &str,
    stat: &InputStat,
    found: &DiscoveredInput,
) -> io::Result<(ContentDigest, Option<Spool>)> {
    let kept = stat.sha256.map(|sha256| inputs::digest_text(&sha256));
    match kept.or_else(|| context.open.known_digests.get(address, stat)) {
        Some(digest) => {
            context.job.counters.bytes_digested.add(stat.size);
            Ok((known(context, address, stat, digest)?, None))
        }
        None => read_whole(context, address, stat, &context.earlier.sizes(found)),
    }
}

/// Counts bytes read for digests, so that users see progress in the first pass over a large input.
fn count(context: &Context, piece: &[u8]) {
    context.job.counters.bytes_digested.add(piece.len() as u64);
}

/// Returns the content digest of an input whose digest is known. Reads only as far as the largest
/// input that it may continue.
fn known(context: &Context, address: &str, stat: &InputStat, digest: String) -> io::Result<ContentDigest> {
    let sizes = context.earlier.sizes_at(address, &digest, stat.size);
    let mut prefixes = match sizes.iter().max() {
        Some(&reach) if reach > 0 => {
            let input = context
                .open
                .sources
                .source_of(address)?
                .open(address, Some(stat))?;
            inputs::digest(InputReader::of(input).take(reach), &sizes, |_| {})?.prefixes
        }
        _ => Default::default(),
    };
    prefixes.insert(stat.size, digest.clone());
    Ok(ContentDigest {
        size: stat.size,
        digest,
        prefixes,
    })
}

fn read_whole(
    context: &Context,
    address: &str,
    stat: &InputStat,
    sizes: &[u64],
) -> io::Result<(ContentDigest, Option<Spool>)> {
    let input = context
        .open
        .sources
        .source_of(address)?
        .open(address, Some(stat))?;
    let mut copy = match stat.size {
        // A local file need not be copied to disk.
        _ if inputs::is_local_member(address) => None,
        0 => None,
        size => context.spool_room.begin(size),
    };
    let content = inputs::digest(Stoppable::of(context, input), sizes, |piece| {
        count(context, piece);
        if let Some(Err(error)) = copy.as_mut().map(|copy| copy.push(piece)) {
            tracing::info!(%error, address, "no room for a copy, reading the input twice");
            copy = None;
        }
    })?;
    // The version of a file does not prove its content, so the digests of local files are not
    // remembered.
    if !inputs::is_local_member(address) {
        context.open.known_digests.put(address, stat, &content.digest);
    }
    Ok((content, copy))
}

/// A reader that fails when the load is stopped, because reading may take long.
struct Stoppable<'a> {
    context: &'a Context,
    input: InputReader,
}

impl<'a> Stoppable<'a> {
    fn of(context: &'a Context, input: std::sync::Arc<dyn warc::Input>) -> Stoppable<'a> {
        Stoppable {
            context,
            input: InputReader::of(input),
        }
    }
}

impl Read for Stoppable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.context.job.is_stopped() {
            return Err(io::Error::other("the load was stopped"));
        }
        self.input.read(into)
    }
}
