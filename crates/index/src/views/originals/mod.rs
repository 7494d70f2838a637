//! Originals of revisits: the captures of other URLs whose content they have (docs/views.md).
//!
//! A revisit that names its own URL has no original. For one that names another URL and a date, it
//! is the best capture of that URL within that second. Otherwise it is the first page or document
//! of all URLs with its digest; a revisit that names no URL must have a digest that no capture of
//! its own URL has. An original must not be a revisit, must be eligible as a current version, and
//! must have a similar status. A revisit without an original is no version.
//!
//! The content of the original is stored with the revisit: title and language in its row of
//! `captures`, text and links under its URL key. So the views are computed as for any capture. When
//! captures come or go, `references` finds the revisits whose original may change, and their keys
//! are decided again.
//!
//! | table | row key |
//! |---|---|
//! | `references` | 1, hash of the target key (16), second (8), key of the revisit's row |
//! | `references` | 2, hash of the digest (16), key of the revisit's row |
//! | `payloads` | hash of the digest (8), time, URL key of a page or document |

mod candidates;
mod change;
mod content;
mod revisit;
mod rows;

pub(crate) use candidates::original_order;
pub(crate) use change::{add, remove};
pub(crate) use content::{read_capture, with_original};
pub(crate) use revisit::{is_known, is_like, may_go_by_digest, names_its_own, target};
pub(crate) use rows::{
    digest_prefix, payload_key, reference_hash, reference_keys, referred_hash, target_prefix,
};
