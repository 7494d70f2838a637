//! Pages of captures by number.
//!
//! A page is a number of blocks, a block [`BLOCK_ROWS`] captures in the order of keys, whatever filters are asked for
//! beside it. Where blocks end is found by passing over the keys once and remembered for [`AGE_MAX`]: so page 500 does
//! not begin with counting from the start, and while a load goes on the pages of one list neither overlap nor leave a
//! capture out; what is new lies within the page it belongs to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::question::{CdxBlocksBody, CdxBlocksQuestion, CdxQuestion, MatchType};
use tokio::sync::Mutex;

use crate::ask::Asker;
use crate::failure::Failure;

/// Captures of a block: clients reckon with this number.
const BLOCK_ROWS: usize = 3000;

/// Lists remembered at once.
const LISTS_MAX: usize = 32;

/// How long a list is remembered.
const AGE_MAX: Duration = Duration::from_secs(600);

/// Blocks of a list at most, some 20 MB of cursors: 300 million captures.
const BLOCKS_MAX: usize = 100_000;

/// Lists asked for lately, the latest last.
#[derive(Default)]
pub(crate) struct PageLists(Mutex<Vec<Remembered>>);

struct Remembered {
    url: String,
    match_type: MatchType,
    made: Instant,
    list: Arc<Mutex<List>>,
}

impl PageLists {
    /// The list of what `question` matches.
    pub(super) async fn of(&self, question: &CdxQuestion) -> Arc<Mutex<List>> {
        let mut lists = self.0.lock().await;
        lists.retain(|list| list.made.elapsed() < AGE_MAX);
        let same = |list: &Remembered| list.url == question.url && list.match_type == question.match_type;
        let found = match lists.iter().position(same) {
            Some(n) => lists.remove(n),
            None => Remembered {
                url: question.url.clone(),
                match_type: question.match_type,
                made: Instant::now(),
                list: Arc::new(Mutex::new(List::new(question))),
            },
        };
        let list = Arc::clone(&found.list);
        lists.push(found);
        if lists.len() > LISTS_MAX {
            lists.remove(0);
        }
        list
    }
}

/// Ends of blocks, as far as they were asked for.
pub(super) struct List {
    /// Goes on after the last end known.
    question: CdxBlocksQuestion,
    ends: Vec<String>,
    /// Whether there are no more.
    whole: bool,
}

impl List {
    fn new(question: &CdxQuestion) -> List {
        List {
            question: CdxBlocksQuestion {
                url: question.url.clone(),
                match_type: question.match_type,
                rows: BLOCK_ROWS,
                after: None,
            },
            ends: Vec::new(),
            whole: false,
        }
    }

    /// All blocks, counted.
    pub(super) async fn count(&mut self, asker: &Asker) -> Result<usize, Failure> {
        self.learn(asker, usize::MAX).await?;
        Ok(self.ends.len())
    }

    /// Where a page begins (after) and ends (until), `None` for the very ends; nothing where there are not so many
    /// pages. There is always a first one. The last one has no end, so that it has what was captured since.
    pub(super) async fn page(
        &mut self,
        asker: &Asker,
        page: usize,
        size: usize,
    ) -> Result<Option<Piece>, Failure> {
        let (Some(begin), Some(end)) = (
            page.checked_mul(size),
            page.checked_add(1).and_then(|next| next.checked_mul(size)),
        ) else {
            return Ok(None);
        };
        self.learn(asker, end.saturating_add(1)).await?;
        if page > 0 && begin >= self.ends.len() {
            return Ok(None);
        }
        let after = begin.checked_sub(1).map(|last| self.ends[last].clone());
        let until = (end < self.ends.len()).then(|| self.ends[end - 1].clone());
        Ok(Some((after, until)))
    }

    /// Asks until `blocks` are known or there are no more. What was learned stays when the asker gives up.
    async fn learn(&mut self, asker: &Asker, blocks: usize) -> Result<(), Failure> {
        while !self.whole && self.ends.len() < blocks {
            if self.ends.len() >= BLOCKS_MAX {
                return Err(Failure::bad_request(
                    "there are too many captures for pages; showResumeKey=true goes through them",
                ));
            }
            let CdxBlocksBody { ends, next } = asker.ask(self.question.clone()).await?.body;
            self.ends.extend(ends);
            self.whole = next.is_none();
            self.question.after = next;
        }
        Ok(())
    }
}

/// Cursors after which a page begins and with which it ends.
type Piece = (Option<String>, Option<String>);
