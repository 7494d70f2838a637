//! Remembers where the pages of CDX queries begin and end (`archive::cdx::Blocks` defines a page).
//!
//! The ends of blocks are found by skipping over the keys once, and are remembered for [`AGE_MAX`].
//! So the server does not count from the start for each page that a client requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use archive::question::{CdxBlocksBody, CdxBlocksQuestion, CdxQuestion, MatchType};
use cdx::{BLOCK_ROWS, Blocks};
use tokio::sync::Mutex;

use crate::archive_client::ArchiveClient;
use crate::failure::Failure;

/// Maximum number of lists remembered at once.
const LISTS_MAX: usize = 32;

/// How long a list is remembered.
const AGE_MAX: Duration = Duration::from_secs(600);

/// Recently used lists. The most recently used one is last.
#[derive(Default)]
pub(crate) struct PageLists(Mutex<Vec<CachedList>>);

struct CachedList {
    url: String,
    match_type: MatchType,
    made: Instant,
    list: Arc<Mutex<BlockList>>,
}

impl PageLists {
    /// Returns the list for the matches of `question`. It is not remembered unless the client sees
    /// everything: for other clients the ends of blocks depend on the rules in force.
    pub(crate) async fn get(&self, question: &CdxQuestion, everything: bool) -> Arc<Mutex<BlockList>> {
        if !everything {
            return Arc::new(Mutex::new(BlockList::new(question)));
        }
        let mut lists = self.0.lock().await;
        lists.retain(|list| system::since(list.made) < AGE_MAX);
        let same = |list: &CachedList| list.url == question.url && list.match_type == question.match_type;
        let found = match lists.iter().position(same) {
            Some(n) => lists.remove(n),
            None => CachedList {
                url: question.url.clone(),
                match_type: question.match_type,
                made: system::now(),
                list: Arc::new(Mutex::new(BlockList::new(question))),
            },
        };
        let list = Arc::clone(&found.list);
        // The most recently used list is last, so the first one is evicted.
        lists.push(found);
        if lists.len() > LISTS_MAX {
            lists.remove(0);
        }
        list
    }
}

/// The ends of blocks that are known so far.
pub(crate) struct BlockList {
    /// Question for the ends after the last known one.
    question: CdxBlocksQuestion,
    blocks: Blocks,
}

impl BlockList {
    fn new(question: &CdxQuestion) -> BlockList {
        BlockList {
            question: CdxBlocksQuestion {
                url: question.url.clone(),
                match_type: question.match_type,
                rows: BLOCK_ROWS,
                after: None,
            },
            blocks: Blocks::default(),
        }
    }

    /// Returns all blocks.
    pub(crate) async fn all(&mut self, archive: &ArchiveClient) -> Result<&Blocks, Failure> {
        self.load(archive, usize::MAX).await?;
        Ok(&self.blocks)
    }

    /// Returns the cursors of a page (see [`Blocks::page`]).
    pub(crate) async fn page(
        &mut self,
        archive: &ArchiveClient,
        page: usize,
        size: usize,
    ) -> Result<Option<Piece>, Failure> {
        let Some(needed) = Blocks::needed(page, size) else {
            return Ok(None);
        };
        self.load(archive, needed).await?;
        Ok(self.blocks.page(page, size))
    }

    /// Asks until `blocks` are known or all are. Blocks learned so far are kept if the client
    /// disconnects.
    async fn load(&mut self, archive: &ArchiveClient, blocks: usize) -> Result<(), Failure> {
        // Each answer has at most some hundred ends, so that no question holds a thread for long.
        while !self.blocks.knows(blocks) {
            if self.blocks.is_full() {
                return Err(Failure::bad_request(
                    "too many captures to list by page; use showResumeKey=true",
                ));
            }
            self.question.after = self.blocks.next().map(str::to_owned);
            let CdxBlocksBody { ends, next } = archive.ask(self.question.clone()).await?.body;
            self.blocks.add(ends, next);
        }
        Ok(())
    }
}

/// Cursors of the start and the end of a page. The page begins after the first.
type Piece = (Option<String>, Option<String>);
