//! Remembers where the pages of CDX look-ups begin and end (`cdx::Blocks` says what a page is).
//!
//! The ends of blocks are found by skipping over the keys once, and are remembered for [`AGE_MAX`]. So a client
//! that goes through the pages of a list does not make the server count from the start for each of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::question::{CdxBlocksBody, CdxBlocksQuestion, CdxQuestion, MatchType};
use cdx::{BLOCK_ROWS, Blocks};
use tokio::sync::Mutex;

use crate::ask::Asker;
use crate::failure::Failure;

/// Most lists remembered at once.
const LISTS_MAX: usize = 32;

/// How long a list is remembered.
const AGE_MAX: Duration = Duration::from_secs(600);

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
    /// The list of what `question` matches, for somebody who sees everything or not: where blocks end for others depends on what
    /// is hidden from them now, so it is not remembered.
    pub(crate) async fn of(&self, question: &CdxQuestion, everything: bool) -> Arc<Mutex<List>> {
        if !everything {
            return Arc::new(Mutex::new(List::new(question)));
        }
        let mut lists = self.0.lock().await;
        lists.retain(|list| system::since(list.made) < AGE_MAX);
        let same = |list: &Remembered| list.url == question.url && list.match_type == question.match_type;
        let found = match lists.iter().position(same) {
            Some(n) => lists.remove(n),
            None => Remembered {
                url: question.url.clone(),
                match_type: question.match_type,
                made: system::now(),
                list: Arc::new(Mutex::new(List::new(question))),
            },
        };
        let list = Arc::clone(&found.list);
        // At the end, as the one used last, so that the first is the one to forget.
        lists.push(found);
        if lists.len() > LISTS_MAX {
            lists.remove(0);
        }
        list
    }
}

/// The ends of blocks that are known so far.
pub(crate) struct List {
    /// The question for the ends after the last known one.
    question: CdxBlocksQuestion,
    blocks: Blocks,
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
            blocks: Blocks::default(),
        }
    }

    /// All blocks.
    pub(crate) async fn all(&mut self, asker: &Asker) -> Result<&Blocks, Failure> {
        self.learn(asker, usize::MAX).await?;
        Ok(&self.blocks)
    }

    /// The cursors of a page, as [`Blocks::page`] gives them.
    pub(crate) async fn page(
        &mut self,
        asker: &Asker,
        page: usize,
        size: usize,
    ) -> Result<Option<Piece>, Failure> {
        let Some(needed) = Blocks::needed(page, size) else {
            return Ok(None);
        };
        self.learn(asker, needed).await?;
        Ok(self.blocks.page(page, size))
    }

    /// Asks until `blocks` are known or there are no more. What was learned is kept if the client gives up.
    async fn learn(&mut self, asker: &Asker, blocks: usize) -> Result<(), Failure> {
        // Each answer has some hundred ends at most, so that no question holds a thread for long.
        while !self.blocks.knows(blocks) {
            if self.blocks.is_full() {
                return Err(Failure::bad_request(
                    "there are too many captures for pages; showResumeKey=true goes through them",
                ));
            }
            self.question.after = self.blocks.next().map(str::to_owned);
            let CdxBlocksBody { ends, next } = asker.ask(self.question.clone()).await?.body;
            self.blocks.add(ends, next);
        }
        Ok(())
    }
}

/// Cursors after which a page begins and with which it ends.
type Piece = (Option<String>, Option<String>);
