//! `weft search --watch`: prints new matching captures as they become searchable.
//!
//! A capture is new if it is among the results now but was not at the last check. So no capture is
//! printed twice, rebuilt or moved captures are not printed again, and hidden captures are never
//! printed. This takes one number per result in memory and fetches all results whenever the archive
//! has changed, so a watch suits queries with results that a person reads.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::time::Duration;

use archive::Archive;
use archive::question::{
    Answer, SearchBody, SearchHit, SearchNote, SearchNoteKind, SearchOrder, SearchQuestion,
};

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::stderr::progress_line;
use crate::stop::Stop;

/// How often to check for changes. Search commits about once a second.
const INTERVAL: Duration = Duration::from_secs(1);

/// Results requested at a time.
const RESULTS_AT_ONCE: usize = 1000;

/// Prints new results until a stop is requested or the reader has closed its end.
pub(super) fn run(question: SearchQuestion, context: &mut Context) -> anyhow::Result<Outcome> {
    let stop = Stop::listen()?;
    let archive = ask::open(context)?;
    let mut watch = Watch {
        question: SearchQuestion {
            query: question.query,
            all_versions: question.all_versions,
            // In this order, pages added meanwhile do not shift the others.
            order: SearchOrder::Url,
            limit: RESULTS_AT_ONCE,
            ..SearchQuestion::default()
        },
        known: HashSet::new(),
        covered: None,
    };
    watch.look(&archive, &mut |_| Ok(()))?;
    super::notes(&watch.notes(&archive)?, &mut context.out)?;
    progress_line(&format!(
        "watching, {} results so far; press Ctrl-C to stop",
        watch.known.len()
    ));
    while !stop.wait_for(INTERVAL) && !context.out.closed() {
        watch.look(&archive, &mut |hit| print(hit, context))?;
        context.out.flush()?;
    }
    Ok(Outcome::Done)
}

struct Watch {
    question: SearchQuestion,
    /// The numbers of the results of the last check.
    known: HashSet<u64>,
    /// The search epoch of the last check.
    covered: Option<u64>,
}

impl Watch {
    /// Calls `tell` with each new result, if anything has changed.
    fn look(
        &mut self,
        archive: &Archive,
        tell: &mut dyn FnMut(&SearchHit) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let covered = self.ask(archive, 0, None)?.body.summary.search_epoch;
        if self.covered == Some(covered) {
            return Ok(());
        }
        let mut results = HashSet::with_capacity(self.known.len());
        let mut after = None;
        loop {
            let found = self.ask(archive, RESULTS_AT_ONCE, after)?.body;
            if found.has_few_alone() {
                // Pages with too few of the words do not match the query.
                break;
            }
            for hit in &found.hits {
                let number = number_of(hit);
                if !self.known.contains(&number) {
                    tell(hit)?;
                }
                results.insert(number);
            }
            after = found.next;
            if after.is_none() {
                break;
            }
        }
        self.known = results;
        // Results added while reading are found by the next check.
        self.covered = Some(covered);
        Ok(())
    }

    fn ask(
        &self,
        archive: &Archive,
        limit: usize,
        after: Option<String>,
    ) -> anyhow::Result<Answer<SearchBody>> {
        Ok(archive.ask(SearchQuestion {
            limit,
            after,
            ..self.question.clone()
        })?)
    }

    /// Returns notes on parts of the query that are ignored.
    fn notes(&self, archive: &Archive) -> anyhow::Result<Vec<SearchNote>> {
        let mut notes = self.ask(archive, 0, None)?.body.summary.notes;
        notes.retain(|note| note.kind != SearchNoteKind::FewOfTheWords);
        Ok(notes)
    }
}

/// Returns a hash that identifies a capture of a version. Among a million results the chance of a
/// collision is about 1 in 40 million.
fn number_of(hit: &SearchHit) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&hit.url_key, &hit.since, &hit.fetch_time).hash(&mut hasher);
    hasher.finish()
}

fn print(hit: &SearchHit, context: &mut Context) -> std::io::Result<()> {
    if context.json {
        context.out.json(hit)
    } else {
        super::hit_text(hit, &mut context.out)
    }
}
