//! The chain of views: captures -> versions -> links -> URIs -> domains -> rankings.
//!
//! Each step takes the changes of the previous step, reads the affected rows once and in key order,
//! writes the new ones, and returns its changes. No step reads what another has written in the same
//! epoch.

pub(crate) mod anchors;
pub(crate) mod capture_key;
pub(crate) mod capture_row;
pub(crate) mod captures;
pub(crate) mod changes;
pub(crate) mod domains;
pub(crate) mod history;
pub(crate) mod index_lines;
pub(crate) mod inlinks;
pub(crate) mod link_set;
pub(crate) mod links;
pub(crate) mod order;
pub(crate) mod originals;
pub(crate) mod past;
pub(crate) mod past_links;
pub(crate) mod rankings;
pub(crate) mod rendered_texts;
pub(crate) mod sources;
pub(crate) mod texts;
pub(crate) mod ties;
pub(crate) mod totals;
pub(crate) mod uris;
pub(crate) mod version_change;
pub(crate) mod version_row;
pub(crate) mod versions;
