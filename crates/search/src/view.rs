//! A consistent cut of the index for searching.

use std::sync::Arc;

use tantivy::Searcher;

use crate::buckets::Buckets;
use crate::live::Live;
use crate::rows::Rows;
use crate::schema::Fields;

/// What one search sees from beginning to end.
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    /// Epoch the searcher covers.
    pub(crate) epoch: u64,
    pub(crate) live: Live,
    /// Shared by all views of the index.
    pub(crate) rows: Arc<Rows>,
    pub(crate) buckets: Buckets,
    pub(crate) fields: Fields,
}

impl View {
    pub(crate) fn new(
        searcher: Searcher,
        epoch: u64,
        fields: Fields,
        before: Option<&View>,
        buckets: Buckets,
    ) -> tantivy::Result<View> {
        let live = Live::new(&searcher, fields.body, before.map(|view| &view.live))?;
        Ok(View {
            searcher,
            epoch,
            live,
            rows: before.map_or_else(|| Arc::new(Rows::new()), |view| Arc::clone(&view.rows)),
            buckets,
            fields,
        })
    }
}
