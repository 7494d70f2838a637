//! An argument of a load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One argument of a load. Paths are bytes, so both texts have the form of [`path_text`](crate::path_text): a byte that
/// is not part of valid UTF-8 is written as `\xNN`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadInput {
    /// The argument as the user wrote it. The ledger uses it as the name of a file.
    #[schemars(example = &"crawl.warc.gz")]
    pub name: String,
    /// Absolute path or address (`scheme://...`). A path list that the user marked with `@` may have the mark
    /// here too.
    #[schemars(example = &"/data/crawl.warc.gz")]
    pub path: String,
}
