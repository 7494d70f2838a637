//! Whose content revisits of other URLs have.
//!
//! Definition (docs/views.md, "Revisits"): a revisit that names its own URL has no original. One that names another URL and a date has the
//! best capture of that URL within that second; if there is none that suits, or no date, and of a revisit that names no URL and has a digest that no
//! capture of its own URL has, it is the first page or document of all URLs with its digest. An original is no revisit, may be current itself, and
//! has a status like that of the revisit. Without one a revisit is no version.
//!
//! What a revisit has of its original is kept with the revisit as if it were its own: title and language in its row of `captures`, text
//! and links with its URL key. So everything that follows from captures knows nothing of originals. When captures come or go, the
//! revisits that may have another original now are found by `references`, and their keys are decided anew.
//!
//! `references` has rows of revisits that do not name their own URL:
//! - 1, hash of the target key (16), second (8), key of the revisit's row; of those with a date;
//! - 2, hash of the digest (16), key of the revisit's row; of those with a digest.
//!
//! `payloads` has a row for each page and document that is no revisit and has a digest: the first 8 bytes of the hash of the digest, time, URL key.

mod candidates;
mod change;
mod content;
mod revisit;
mod rows;

pub(crate) use candidates::original_order;
pub(crate) use change::{arrive, leave};
pub(crate) use content::{given, whole};
pub(crate) use revisit::{Revisit, is_known};
pub(crate) use rows::{
    digest_prefix, payload_key, reference_hash, reference_keys, referred_hash, target_prefix,
};
