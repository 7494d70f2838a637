//! What those who ask see, kept for the next question.
//!
//! Invariants:
//! - the rules are looked at when a question begins: what changed before holds for it;
//! - rules that cannot be read show nothing to anybody but the owner.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rights::{Groups, RightsFile, Rules, Sight};
use rustc_hash::FxHashMap;

use crate::AskError;

/// Sights that are kept. A server sees few combinations of groups; should there be more, they are made again.
const KEPT_MAX: usize = 1000;

/// The rules of an archive, and what they came to.
pub(crate) struct Sights {
    file: RightsFile,
    owner: Arc<Sight>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// What `sights` were made of.
    rules: Option<Arc<Rules>>,
    holds_until_ms: i64,
    sights: FxHashMap<Groups, Arc<Sight>>,
}

impl Sights {
    /// Of the rules in a file, which need not be there.
    pub(crate) fn of_file(path: PathBuf) -> Sights {
        Sights {
            file: RightsFile::at(path),
            owner: Arc::new(Sight::everything()),
            kept: Mutex::default(),
        }
    }

    /// What somebody sees now; the owner of the archive if there are no groups.
    pub(crate) fn of(&self, groups: Option<&Groups>) -> Result<Arc<Sight>, AskError> {
        let Some(groups) = groups else {
            return Ok(Arc::clone(&self.owner));
        };
        let Some(rules) = self.rules()? else {
            return Ok(Arc::clone(&self.owner));
        };
        let now_ms = i64::try_from(system::wall_ms()).unwrap_or(i64::MAX);
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

    /// The rules, if there are any.
    pub(crate) fn rules(&self) -> Result<Option<Arc<Rules>>, AskError> {
        self.file.rules().map_err(AskError::unavailable)
    }
}
