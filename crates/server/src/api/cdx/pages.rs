//! Pages of captures by number.
//!
//! A page is a number of blocks, and a block is [`BLOCK_ROWS`] captures in the order of keys, whatever
//! filters the request has. The ends of blocks are found by skipping over the keys once, and are remembered
//! for [`AGE_MAX`]. So page 500 need not count from the start. While a load runs, the pages of one list
//! neither overlap nor leave a capture out; new captures are in the page where their keys belong.

use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::question::{CdxBlocksBody, CdxBlocksQuestion, CdxQuestion, MatchType};
use tokio::sync::Mutex;

use crate::ask::Asker;
use crate::failure::Failure;

/// Captures of a block. Clients compute with this number.
const BLOCK_ROWS: usize = 3000;

/// Most lists remembered at once.
const LISTS_MAX: usize = 32;

/// How long a list is remembered.
const AGE_MAX: Duration = Duration::from_secs(600);

/// Most blocks of a list: some 20 MB of cursors, enough for 300 million captures.
const BLOCKS_MAX: usize = 100_000;

/// Lists that were used lately, the last one used at the end.
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

/// The ends of blocks that are known so far.
pub(super) struct List {
    /// The question for the ends after the last known one.
    question: CdxBlocksQuestion,
    ends: Vec<String>,
    /// Whether all ends are known.
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

    /// The number of all blocks.
    pub(super) async fn count(&mut self, asker: &Asker) -> Result<usize, Failure> {
        self.learn(asker, usize::MAX).await?;
        Ok(self.ends.len())
    }

    /// The cursors after which a page begins and with which it ends, `None` at the ends of the list. Returns
    /// nothing if there are fewer pages; the first page always exists. The last page has no end, so that it
    /// includes captures made since.
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

    /// Asks until `blocks` are known or there are no more. What was learned is kept if the client gives up.
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
