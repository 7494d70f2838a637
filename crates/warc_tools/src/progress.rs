//! Progress of a tool.

/// Called with the number of stored bytes read so far. Stops the work by returning false.
pub type Progress<'a> = dyn FnMut(u64) -> bool + 'a;
