//! The captures of each key.

use super::damage::Damage;
use crate::cut::Cut;
use crate::error::DumpError;
use crate::tables::Table;
use crate::views::capture_row::StoredCapture;
use crate::views::captures;

/// Examines the captures of one key.
type Look<'a> = dyn FnMut(&[StoredCapture]) -> Result<Option<Damage>, DumpError> + 'a;

/// Passes the captures of each key to `look` until it returns damage.
pub(super) fn each_key(cut: &Cut, look: &mut Look<'_>) -> Result<Option<Damage>, DumpError> {
    let mut group: Vec<StoredCapture> = Vec::new();
    for row in cut.iter(Table::Captures) {
        let (key, value) = row?;
        let stored = captures::read_row(cut, &key, &value)?;
        if group
            .first()
            .is_some_and(|first| first.capture.url_key != stored.capture.url_key)
        {
            let damage = look(&group)?;
            if damage.is_some() {
                return Ok(damage);
            }
            group.clear();
        }
        group.push(stored);
    }
    look(&group)
}
