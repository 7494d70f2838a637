//! Adds and deletes captures by lines of indexes.

use super::basis::Basis;
use crate::question::{Post, PostedBody, Unpost};
use crate::{AskError, posts};

pub(super) fn post(basis: &Basis<'_>, question: &Post) -> Result<PostedBody, AskError> {
    posts::post(basis.open, question)
}

pub(super) fn unpost(basis: &Basis<'_>, question: &Unpost) -> Result<PostedBody, AskError> {
    posts::unpost(basis.open, question)
}
