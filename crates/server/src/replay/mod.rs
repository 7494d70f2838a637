//! Replay of archived pages. A second port, the replay origin, serves captures whose references
//! lead to captures. The main port shows them in a frame, below a bar.
//!
//! The second port also has a host name for each archived site and time ([`origin`]). What follows
//! is about addresses with a path; these origins have their own invariants.
//!
//! Invariants:
//! - Archived code never shares an origin with the archive's pages and API, nor with other archived
//!   pages. It runs on a separate port, and every document there has a unique origin (`sandbox`,
//!   without `allow-same-origin`), so no cookies, storage or service workers outlive it.
//! - No request of an archived document leaves the archive. Its policy ([`policy`]) names only this
//!   origin, and it is always in a frame whose own policy keeps it there.
//! - Other sites show archived documents in frames only if the settings name them, and then within
//!   a page of this origin ([`frame`]), which keeps the document in the archive.
//! - The replay origin serves only captures: no API and no pages of the archive. It accepts no
//!   cookies and no tokens, so it shows what the public may see, or what the groups named by a
//!   proxy may see. Pages on the main port say which captures it does not show ([`is_shown`]).

mod answer;
mod bar;
mod body;
mod check;
mod completeness;
mod content;
mod find;
mod frame;
mod headers;
mod origin;
mod partial;
mod policy;
mod port;
mod posted;
mod redirects;
mod request;

pub(crate) use answer::FUZZY;
pub(crate) use bar::{HIDDEN_IN_REPLAY, redirect_to_address, show as bar};
pub use check::{CheckedPage, CheckedPart, FoundPart, check_page};
pub(crate) use completeness::show as check;
pub(crate) use find::{can_replay, is_shown, nearest};
pub(crate) use frame::preview;
pub(crate) use port::router;
