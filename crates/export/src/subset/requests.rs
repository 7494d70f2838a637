//! Finds the requests of captures whose method is not GET.
//!
//! No index has their positions, so an input with such captures is read when the first of them is
//! copied. Memory is bounded by the number of such captures.

use std::collections::HashMap;
use std::sync::Arc;

use warc::{Entry, RawRecord, Reader, ReaderSettings};

use inputs::Exchanges;
use inputs::Sources;

use crate::results::CopyError;

/// Bytes of a block that suffice to recognise the request, also in WAT.
const REQUEST_BYTES: u64 = 1 << 16;

#[derive(Default)]
pub(super) struct Requests {
    /// For each input, offsets of requests by offsets of responses, or why it cannot be read.
    of_inputs: HashMap<String, Result<HashMap<u64, u64>, Arc<CopyError>>>,
}

impl Requests {
    /// Returns the offset of the request of a capture.
    pub(super) fn of(&mut self, sources: &Sources, location: &str, offset: u64) -> Result<u64, CopyError> {
        let requests = self
            .of_inputs
            .entry(location.to_owned())
            // A failure is kept, too: the input is not read again for each of its captures.
            .or_insert_with(|| read(sources, location).map_err(Arc::new));
        let requests = requests.as_ref().map_err(Arc::clone)?;
        requests.get(&offset).copied().ok_or(CopyError::Gone)
    }

    /// Opens the record of a request. Returns its offset too.
    pub(super) fn open(
        &self,
        sources: &Sources,
        location: &str,
        offset: u64,
    ) -> Result<(RawRecord, u64), CopyError> {
        Ok((warc::raw_from(sources.open(location)?, location, offset)?, offset))
    }
}

fn read(sources: &Sources, location: &str) -> Result<HashMap<u64, u64>, CopyError> {
    let input = sources.open(location)?;
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = REQUEST_BYTES;
    let mut reader = Reader::from_input(Box::new(input), location, settings)?;
    let (mut exchanges, mut requests) = (Exchanges::default(), HashMap::new());
    loop {
        let (next, is_end) = match reader.next_entry()? {
            Some(entry) => {
                exchanges.push(entry);
                (exchanges.pop(), false)
            }
            None => (exchanges.pop_at_end(), true),
        };
        let mut next = next;
        if is_end && next.is_none() {
            return Ok(requests);
        }
        while let Some((entry, request)) = next {
            if let Entry::Record(record) = entry {
                if !matches!(request.method.as_str(), "" | "GET") {
                    requests.insert(record.span.offset, request.offset);
                }
                reader.recycle(record);
            }
            next = exchanges.pop();
        }
    }
}
