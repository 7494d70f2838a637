//! Reports how much of the archive the client may see.

use super::basis::Basis;
use crate::AskError;
use crate::question::{Sight, SightBody};

pub(super) fn sight(basis: &Basis<'_>, _: &Sight) -> Result<SightBody, AskError> {
    Ok(SightBody {
        everything: basis.sight.sees_everything(),
        has_rules: basis.open.sights.rules()?.is_some(),
    })
}
