//! Feeds the index of images: the words of current pages about the images that they show.
//!
//! It is a separate search index, because words of images must not change the statistics of pages.
//! Its documents are images on pages. Each has the key, time, collection, digest and type of its
//! page, so rules and takedowns of the page hold for it. It is stored as an open version of the key
//! ([`index::PastVersion`]), the only form in which a key has several documents; the start of the
//! version is the number of the image on its page. Two documents are alike if their images have the
//! same address.
//!
//! Invariant: after [`catch_up`] the index of images is a function of the snapshot.

use extract::Image;
use index::{Epoch, PageChange, PageRow, Snapshot, SnapshotError};
use search::{Change, Document, Likeness, PastToDelete, SearchIndex, Version};

use super::{Coverage, FeedError, apply, original, text_capture};

/// If the index of images is this many epochs behind, it is rebuilt. The index keeps the changes
/// of somewhat more epochs; beyond them it does not list pages that are gone.
const EPOCHS_BEHIND_MAX: u64 = 1000;

/// Feeds the changes since the epoch that the index of images covers, and makes them searchable.
pub(crate) fn catch_up(images: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
    let (covered, now) = (images.covered_epoch(), snapshot.epoch().0);
    if covered == now {
        return Ok(());
    }
    // An index that covers a later epoch belongs to another state of the archive.
    if covered > now || covered > 0 && now - covered >= EPOCHS_BEHIND_MAX {
        return rebuild(images, snapshot);
    }
    let changes = snapshot.pages_changed_since(Epoch(covered));
    let changes = changes.filter_map(|change| to_change(snapshot, change, covered == 0).transpose());
    apply(images, covered, now, Coverage::Whole, changes)?;
    images.flush()?;
    Ok(())
}

/// Rebuilds the index of images from all pages.
pub(crate) fn rebuild(images: &SearchIndex, snapshot: &Snapshot) -> Result<(), FeedError> {
    if images.covered_epoch() > snapshot.epoch().0 {
        images.clear()?;
    }
    let changes = snapshot.pages_changed_since(Epoch(0));
    let changes = changes.filter_map(|change| to_change(snapshot, change, true).transpose());
    images.replace_all(
        snapshot.epoch().0,
        changes.map(|change| change.map_err(FeedError::Snapshot)),
    )
}

/// Converts a change of a page; `None` if it changes no image. If the index `is_empty`, none is
/// deleted.
fn to_change(
    snapshot: &Snapshot,
    change: Result<PageChange, SnapshotError>,
    is_empty: bool,
) -> Result<Option<Change>, SnapshotError> {
    let url_key = match change? {
        PageChange::Upsert(url_key) | PageChange::Delete(url_key) | PageChange::Past(url_key) => url_key,
        PageChange::Bucket(..) | PageChange::Anchors(_) => return Ok(None),
    };
    let put = documents(snapshot, &url_key)?;
    if is_empty && put.is_empty() {
        return Ok(None);
    }
    Ok(Some(Change::Past {
        // There is never a current document, so nothing has to be deleted.
        current: Box::new(Change::Bucket(url_key.clone(), 0)),
        past_to_delete: PastToDelete::All,
        put,
        url_key,
    }))
}

/// Returns the images of the current version of a key, if that is a page.
fn documents(snapshot: &Snapshot, url_key: &str) -> Result<Vec<Document>, SnapshotError> {
    let images = snapshot.images(url_key)?;
    if images.is_empty() {
        return Ok(Vec::new());
    }
    let Some(page) = snapshot.version(url_key)?.filter(|page| page.is_page) else {
        return Ok(Vec::new());
    };
    let numbered = (0..).zip(images);
    Ok(numbered
        .map(|(number, image)| document(&page, number, image))
        .collect())
}

fn document(page: &PageRow, number: u32, image: Image) -> Document {
    Document {
        text: words(&image),
        likeness: Likeness::Name(image.url.clone()),
        url: image.url,
        title: image.alt,
        url_key: page.url_key.clone(),
        host: urlkey::host_of_key(&page.url_key).to_string(),
        domain: urlkey::domain_of_key(&page.url_key).to_string(),
        collection: page.collection.clone(),
        digest: page.digest.clone(),
        text_capture: page.text_capture.clone().map(text_capture),
        original: page.original.clone().map(original),
        fetch_time_ms: page.fetch_time_ms,
        mime: page.mime.clone(),
        language: page.language.clone(),
        inlink_bucket: 0,
        anchors: Vec::new(),
        version: Version {
            since_ms: i64::from(number),
            until_ms: Some(i64::MAX),
            past_versions: 0,
            text: Some(name_of(number)),
        },
    }
}

/// Returns the words that describe an image on its page, without the alternative text.
pub(crate) fn words(image: &Image) -> String {
    let parts = [
        &image.caption,
        &image.title,
        &image.heading,
        &image.before,
        &image.after,
    ];
    let parts: Vec<&str> = parts
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}

/// Returns the name of the words of the image with this number on its page.
fn name_of(number: u32) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// Returns the number in a name of words.
pub(crate) fn number_of(name: [u8; 16]) -> usize {
    usize::try_from(u128::from_be_bytes(name)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use extract::{Capture, CaptureKind, LinkScope, Page};
    use index::{Batch, CaptureRow, Index, InputId, LedgerRow, Selector, TakedownRequest};
    use search::Query;

    fn page(path: &str, time: u64, alts: &[&str]) -> Capture {
        let image = |alt: &&str| Image {
            url: format!("http://h.org/{alt}.png"),
            alt: (*alt).to_owned(),
            caption: format!("caption of {alt}"),
            ..Image::default()
        };
        let mut page = Page {
            text: format!("text {time}"),
            images: alts.iter().map(image).collect(),
            ..Page::default()
        };
        page.store_images();
        let url = format!("http://h.org/{path}");
        Capture {
            url_key: urlkey::url_key(&url).unwrap(),
            url,
            fetch_time_ms: time as i64 * 1000,
            mime: "text/html".into(),
            status: 200,
            digest: format!("D{path}{time}"),
            offset: time,
            length: 10,
            kind: CaptureKind::Response,
            page: Some(page),
            ..Capture::default()
        }
    }

    struct World {
        home: tempfile::TempDir,
        index: Index,
        images: SearchIndex,
        input: InputId,
    }

    impl World {
        fn new() -> World {
            let home = tempfile::tempdir().unwrap();
            let settings = index::Settings::default();
            let index = Index::open(&home.path().join("index"), Some(LinkScope::All), settings).unwrap();
            let entry = LedgerRow::pending("a.warc", "", "sha256:00", 1, "");
            let (input, _) = index.register_input(entry, None).unwrap();
            let images = SearchIndex::open(&home.path().join("images"), search::Settings::default()).unwrap();
            World {
                home,
                index,
                images,
                input,
            }
        }

        fn load(&self, captures: Vec<Capture>) {
            let mut batch = Batch::default();
            batch
                .captures
                .extend(captures.into_iter().map(|capture| (self.input, capture)));
            self.index.apply(batch).unwrap();
            catch_up(&self.images, &self.index.snapshot()).unwrap();
        }

        /// Returns alternative text and page of each image that a query finds.
        fn found_in(images: &SearchIndex, text: &str, near: bool) -> Vec<(String, String, u64)> {
            let query = Query {
                text: text.to_owned(),
                limit: 100,
                near,
                ..Query::default()
            };
            let sight = access::AccessFilter::everything();
            let results = images.search(&query, &sight, &|_| None).unwrap();
            let mut found: Vec<_> = results
                .hits
                .into_iter()
                .map(|hit| (hit.title, hit.url_key, hit.group.map_or(1, |group| group.of_near)))
                .collect();
            found.sort();
            found
        }

        #[track_caller]
        fn check(&self, text: &str, expected: &[(&str, &str)]) {
            let owned = |(alt, path): &(&str, &str)| ((*alt).to_owned(), format!("org,h)/{path}"), 1);
            let expected: Vec<_> = expected.iter().map(owned).collect();
            assert_eq!(World::found_in(&self.images, text, false), expected, "{text}");
            // What is fed step by step is what a new index gets.
            let anew = self.home.path().join("anew");
            let index = SearchIndex::open(&anew, search::Settings::default()).unwrap();
            catch_up(&index, &self.index.snapshot()).unwrap();
            assert_eq!(World::found_in(&index, text, false), expected, "{text}, anew");
            rebuild(&index, &self.index.snapshot()).unwrap();
            assert_eq!(World::found_in(&index, text, false), expected, "{text}, rebuilt");
            drop(index);
            std::fs::remove_dir_all(anew).unwrap();
        }
    }

    #[test]
    fn images_follow_their_pages() {
        let world = World::new();
        world.load(vec![page("a", 1, &["boat", "crane"]), page("b", 2, &["boat"])]);
        world.check("boat", &[("boat", "a"), ("boat", "b")]);
        world.check("caption", &[("boat", "a"), ("boat", "b"), ("crane", "a")]);
        // The page has other images now.
        world.load(vec![page("a", 5, &["gull"])]);
        world.check("boat", &[("boat", "b")]);
        world.check("gull", &[("gull", "a")]);
        // An older capture changes nothing.
        world.load(vec![page("a", 3, &["whale"])]);
        world.check("whale", &[]);
        let request = TakedownRequest {
            selector: Selector::Url(urlkey::url_key("http://h.org/b").unwrap()),
            who: String::new(),
            reason: String::new(),
            at_ms: 0,
        };
        let mut reread = |_: &CaptureRow| Err("not there".into());
        world.index.take_down(&request, &mut reread, None).unwrap();
        catch_up(&world.images, &world.index.snapshot()).unwrap();
        world.check("boat", &[]);
        world.check("gull", &[("gull", "a")]);
    }

    #[test]
    fn an_image_of_many_pages_is_shown_once() {
        let world = World::new();
        world.load(vec![page("a", 1, &["boat", "crane"]), page("b", 2, &["boat"])]);
        let found = World::found_in(&world.images, "boat", true);
        assert_eq!(found, [("boat".to_owned(), "org,h)/a".to_owned(), 2)]);
    }

    #[test]
    fn names_come_back() {
        for number in [0, 1, 499, u32::MAX] {
            assert_eq!(number_of(name_of(number)), number as usize);
        }
    }
}
