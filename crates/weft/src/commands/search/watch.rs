//! `weft search --watch`: new captures that match, as they can be found.
//!
//! A capture is new if a result is of it now and none was when it was asked before. So nothing is told twice, what is made anew or
//! moves is not told again, and nobody is told of what is hidden from them. For that a number is kept for each result, and all results are
//! asked for again whenever the archive has changed: a watch is for queries whose results somebody reads.

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
use crate::exit::Outcome;
use crate::stderr::progress_line;
use crate::stop::Stop;

/// How often the archive is asked whether there is anything new. Search itself commits about once a second.
const INTERVAL: Duration = Duration::from_secs(1);

/// Results asked for at a time.
const RESULTS_AT_ONCE: usize = 1000;

/// Prints new results until a stop is asked for, or whoever reads them has gone.
pub(super) fn run(question: SearchQuestion, context: &mut Context) -> anyhow::Result<Outcome> {
    let stop = Stop::listen()?;
    let archive = ask::open(context)?;
    let mut watch = Watch {
        question: SearchQuestion {
            query: question.query,
            all_versions: question.all_versions,
            // Pages that come meanwhile move none of the others.
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
        "watching, {} results so far; Ctrl-C ends it",
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
    /// A number for each result of the last look.
    known: HashSet<u64>,
    /// Epoch of search at the last look.
    covered: Option<u64>,
}

impl Watch {
    /// Calls `tell` with each result that was none before, if anything has changed.
    fn look(
        &mut self,
        archive: &Archive,
        tell: &mut dyn FnMut(&SearchHit) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let covered = self.ask(archive, 0, None)?.body.search_epoch;
        if self.covered == Some(covered) {
            return Ok(());
        }
        let mut results = HashSet::with_capacity(self.known.len());
        let mut after = None;
        loop {
            let found = self.ask(archive, RESULTS_AT_ONCE, after)?.body;
            if found.has_most_alone() {
                // Nobody asked to be told of pages with most of the words.
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
        // What came while results were read is looked for in the next look.
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

    /// What of the query is not used.
    fn notes(&self, archive: &Archive) -> anyhow::Result<Vec<SearchNote>> {
        let mut notes = self.ask(archive, 0, None)?.body.notes;
        notes.retain(|note| note.kind != SearchNoteKind::MostOfTheWords);
        Ok(notes)
    }
}

/// The same for the same capture of a version. Two of a million results share one with a chance of some 1 in 40 million.
fn number_of(hit: &SearchHit) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&hit.url_key, &hit.since, &hit.fetch_time).hash(&mut hasher);
    hasher.finish()
}

fn print(hit: &SearchHit, context: &mut Context) -> std::io::Result<()> {
    match context.json {
        true => context.out.json(hit),
        false => super::hit_text(hit, &mut context.out),
    }
}
