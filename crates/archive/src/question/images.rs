//! Search by images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SearchOrder, SearchSummary, Snippet};

/// Asks for images that pages show, by the words that describe them there.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImagesQuestion {
    /// The query, in the query language. Ignored if `same` is given.
    pub query: String,
    /// Return the captured images that look like the one with this perceptual hash, over all
    /// addresses and times.
    pub same: Option<String>,
    /// Maximum number of results per answer.
    pub limit: usize,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
    /// Order of the results.
    pub order: SearchOrder,
    /// Whether an image is a result for each page that shows it, and not once.
    pub every_page: bool,
}

/// Results of a search by images.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImagesBody {
    /// What was understood and found.
    #[serde(flatten)]
    pub summary: SearchSummary,
    /// The results, best first.
    pub hits: Vec<ImageHit>,
    /// Cursor for the next part; absent after the last result.
    pub next: Option<String>,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageHit {
    /// Address of the image.
    #[schemars(example = &"http://example.com/boat.jpg")]
    pub url: String,
    /// Its alternative text on the page.
    pub alt: String,
    /// The title of its element on the page.
    pub title: String,
    /// Its caption on the page.
    pub caption: String,
    /// The words near it that match best. In JSON it is `snippet_html`: escaped text with `<mark>`
    /// around matches and no other markup.
    #[serde(rename = "snippet_html", with = "crate::snippet_html")]
    #[schemars(with = "String", example = &"a red <mark>boat</mark>")]
    pub snippet: Snippet,
    /// Width in pixels: that of its file if known, or else the declared one.
    pub width: Option<u32>,
    /// Height in pixels, in the same way.
    pub height: Option<u32>,
    /// The page that shows it; absent if the question is for the same picture.
    pub page: Option<ImagePage>,
    /// Its file, if that was captured.
    pub capture: Option<ImageCapture>,
    /// Number of results with the same address, of which this one is the first; absent if each is
    /// shown.
    pub pages: Option<u64>,
    /// The part of a query that finds these results.
    #[schemars(example = &"like:0123456789abcdef")]
    pub like: Option<String>,
    /// Score of the match; 0 in an order by time.
    pub score: f64,
}

/// The page that shows an image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePage {
    /// Sort key of the page's URL.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// URL of the page.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Title of the page.
    pub title: String,
    /// When the page was captured (ISO 8601).
    pub fetch_time: String,
    /// BCP 47 language of the page; empty if unknown.
    pub language: String,
    /// Label of the input that the page comes from; empty if it has none.
    pub collection: String,
}

/// The file of an image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageCapture {
    /// Its URL: that of the image, or another size or format that the page names.
    #[schemars(example = &"http://example.com/boat.jpg")]
    pub url: String,
    /// When it was last captured (ISO 8601).
    pub fetch_time: String,
    /// When this version of it was first captured (ISO 8601); known if the question is for the same
    /// picture.
    pub since: Option<String>,
    /// When the following version was first captured (ISO 8601); absent for the current version.
    pub until: Option<String>,
    /// Media type.
    #[schemars(example = &"image/jpeg")]
    pub mime: String,
    /// Perceptual hash: 16 hexadecimal digits. Absent if it was not computed.
    #[schemars(example = &"0123456789abcdef")]
    pub hash: Option<String>,
    /// When the picture was taken, in the time of the camera (ISO 8601 without a time zone). Known in
    /// archives with `--documents exif`, like `exif_location`.
    #[schemars(example = &"2012-05-06T07:08:09")]
    pub exif_time: Option<String>,
    /// Where it was taken: latitude and longitude in degrees.
    #[schemars(example = &"57.050000,9.920000")]
    pub exif_location: Option<String>,
}

/// Asks for a small copy of a captured image.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ThumbnailQuestion {
    /// The URL of the image, or its key.
    pub url: String,
    /// Use the capture nearest to this time, 1 to 17 digits. If absent, the current version.
    #[serde(default)]
    pub at: Option<String>,
}

/// A small copy of an image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThumbnailBody {
    /// Media type: `image/jpeg` or `image/png`.
    pub mime: String,
    /// The file in Base64.
    pub data: String,
}
