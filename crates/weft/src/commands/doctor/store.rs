//! Checks of the store that the environment names, if any.

use server::storage::gather;

use super::finding::Finding;
use crate::commands::store::session::{StoreMode, with_store};
use crate::store_args::{self, STORE_VARIABLE};
use crate::units::counted;

/// Returns findings about the store. Replicas are not counted: `weft store status` does that.
pub(super) fn findings() -> Vec<Finding> {
    if std::env::var_os(STORE_VARIABLE).is_none_or(|text| text.is_empty()) {
        return Vec::new();
    }
    let place = match store_args::from_environment() {
        Ok(place) => place,
        Err(error) => {
            return vec![Finding::problem(
                "store",
                error.0,
                "docs/store.md describes its values",
            )];
        }
    };
    let asked = with_store(place, StoreMode::Existing, async |session| {
        Ok(gather(session.store().cluster()).await)
    });
    let report = match asked {
        Ok(report) => report,
        Err(error) => {
            let found = crate::exit::chain_text(&error);
            return vec![Finding::problem(
                "store",
                found,
                "run weft store status on a machine of the store for details",
            )];
        }
    };
    let troubles = report.troubles();
    if troubles.is_empty() {
        let found = format!(
            "{} and {} are well",
            counted(report.nodes.len() as u64, "node", "nodes"),
            counted(report.volumes.len() as u64, "volume", "volumes")
        );
        return vec![Finding::ok("store", found)];
    }
    let trouble =
        |trouble: String| Finding::problem("store", trouble, "weft store status also counts replicas");
    troubles.into_iter().map(trouble).collect()
}
