//! Caches what clients may see.
//!
//! Invariants:
//! - the rules are checked when a question begins; earlier changes apply to it;
//! - if the rules cannot be read, only the owner sees anything.

use std::path::PathBuf;
use std::sync::Arc;

use access::{AccessFilter, AccessRules, AccessRulesFile, Groups};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::AskError;

/// Limit of cached filters. A server has few combinations of groups; beyond the limit, filters are
/// made again.
const CACHED_MAX: usize = 1000;

/// The rules of an archive, and the filters made from them.
pub(crate) struct AccessFilters {
    file: AccessRulesFile,
    owner: Arc<AccessFilter>,
    cached: Mutex<CachedFilters>,
}

#[derive(Default)]
struct CachedFilters {
    /// The rules from which `filters` were made.
    rules: Option<Arc<AccessRules>>,
    holds_until_ms: i64,
    filters: FxHashMap<Groups, Arc<AccessFilter>>,
}

impl AccessFilters {
    /// Uses the rules in a file, which need not exist.
    pub(crate) fn of_file(path: PathBuf) -> AccessFilters {
        AccessFilters {
            file: AccessRulesFile::at(path),
            owner: Arc::new(AccessFilter::everything()),
            cached: Mutex::default(),
        }
    }

    /// Returns what a client may see now; everything for the owner of the archive, who has no
    /// groups.
    pub(crate) fn of(&self, groups: Option<&Groups>) -> Result<Arc<AccessFilter>, AskError> {
        let Some(groups) = groups else {
            return Ok(Arc::clone(&self.owner));
        };
        let Some(rules) = self.rules()? else {
            return Ok(Arc::clone(&self.owner));
        };
        let now_ms = system::time_ms();
        let mut cached = self.cached.lock();
        let is_same = cached
            .rules
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &rules));
        if !is_same || now_ms >= cached.holds_until_ms || cached.filters.len() >= CACHED_MAX {
            cached.filters.clear();
            cached.holds_until_ms = rules.valid_until_ms(now_ms);
            cached.rules = Some(Arc::clone(&rules));
        }
        if let Some(filter) = cached.filters.get(groups) {
            return Ok(Arc::clone(filter));
        }
        let filter = rules.filter_for(groups, now_ms).map_err(|(number, error)| {
            AskError::unavailable(format!(
                "rule {number} of {}: {error}",
                self.file.path().display()
            ))
        })?;
        let filter = Arc::new(filter);
        cached.filters.insert(groups.clone(), Arc::clone(&filter));
        Ok(filter)
    }

    /// Returns the rules, if there are any.
    pub(crate) fn rules(&self) -> Result<Option<Arc<AccessRules>>, AskError> {
        self.file.rules().map_err(AskError::unavailable)
    }
}
