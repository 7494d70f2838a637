//! Caches what clients may see.
//!
//! Invariants:
//! - the rules are checked when a question begins; earlier changes apply to it;
//! - if the rules cannot be read, only the owner sees anything.

use std::path::PathBuf;
use std::sync::Arc;

use access::{Groups, RightsFile, Rules, Sight};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::AskError;

/// Limit of cached sights. A server has few combinations of groups; beyond the limit, sights are
/// made again.
const KEPT_MAX: usize = 1000;

/// The rules of an archive, and the sights made from them.
pub(crate) struct Sights {
    file: RightsFile,
    owner: Arc<Sight>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The rules from which `sights` were made.
    rules: Option<Arc<Rules>>,
    holds_until_ms: i64,
    sights: FxHashMap<Groups, Arc<Sight>>,
}

impl Sights {
    /// Uses the rules in a file, which need not exist.
    pub(crate) fn of_file(path: PathBuf) -> Sights {
        Sights {
            file: RightsFile::at(path),
            owner: Arc::new(Sight::everything()),
            kept: Mutex::default(),
        }
    }

    /// Returns what a client may see now; everything for the owner of the archive, who has no
    /// groups.
    pub(crate) fn of(&self, groups: Option<&Groups>) -> Result<Arc<Sight>, AskError> {
        let Some(groups) = groups else {
            return Ok(Arc::clone(&self.owner));
        };
        let Some(rules) = self.rules()? else {
            return Ok(Arc::clone(&self.owner));
        };
        let now_ms = system::time_ms();
        let mut kept = self.kept.lock();
        let is_same = kept
            .rules
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &rules));
        if !is_same || now_ms >= kept.holds_until_ms || kept.sights.len() >= KEPT_MAX {
            kept.sights.clear();
            kept.holds_until_ms = rules.holds_until_ms(now_ms);
            kept.rules = Some(Arc::clone(&rules));
        }
        if let Some(sight) = kept.sights.get(groups) {
            return Ok(Arc::clone(sight));
        }
        let sight = rules.sight(groups, now_ms).map_err(|(number, error)| {
            AskError::unavailable(format!(
                "rule {number} of {}: {error}",
                self.file.path().display()
            ))
        })?;
        let sight = Arc::new(sight);
        kept.sights.insert(groups.clone(), Arc::clone(&sight));
        Ok(sight)
    }

    /// Returns the rules, if there are any.
    pub(crate) fn rules(&self) -> Result<Option<Arc<Rules>>, AskError> {
        self.file.rules().map_err(AskError::unavailable)
    }
}
