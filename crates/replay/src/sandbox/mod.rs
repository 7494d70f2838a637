//! Rewrites archived HTML so that it can be shown beside the archive's own pages: it runs nothing,
//! loads nothing, and links lead to pages of the archive.
//!
//! The policy in the headers of a response guarantees most of this. For some references (frames,
//! `<link rel=preconnect>`) browsers open connections before they check the policy, so the
//! rewritten HTML contains none of them. The caller sets the headers, and gives the address of each
//! page of the archive ([`ArchivedPage::page_address`]).
//!
//! Memory is bounded for any page, and the page is returned in pieces.

mod allow_list;
mod interrupted_reader;
mod links;
mod rewriter;
mod writer;

pub use links::ArchivedPage;
pub use rewriter::{Rewriter, first_base};
