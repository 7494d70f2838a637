//! Limits on work that features share.

/// Maximum number of contents read at a time, over all requests. Each holds the windows of its
/// decoders: usually some hundred KiB, but up to 128 MiB if a record asks for it.
pub(crate) const CONTENTS_MAX: usize = 8;

/// Maximum number of contents read at a time for one address, so that a few slow clients cannot
/// block all others.
pub(crate) const CONTENTS_PER_ADDRESS_MAX: usize = 4;

/// Maximum number of bodies in memory at once. Further ones wait.
pub(crate) const POST_BODIES_MAX: usize = 4;

/// Maximum number of captures read for a page and by the API. For a larger archive the report
/// covers a part and says so.
pub(crate) const REPORT_CAPTURES_MAX: u64 = 500_000;
