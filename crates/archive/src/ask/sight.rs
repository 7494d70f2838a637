//! Reports how much of the archive the client may see.

use super::basis::Basis;
use crate::AskError;
use crate::question::{AccessScope, AccessScopeBody};

pub(super) fn sight(basis: &Basis<'_>, _: &AccessScope) -> Result<AccessScopeBody, AskError> {
    Ok(AccessScopeBody {
        everything: basis.filter.sees_everything(),
        has_rules: basis.open.access_filters.rules()?.is_some(),
    })
}
