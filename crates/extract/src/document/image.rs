//! What is known of an image file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Size and perceptual hash of an image. [`Display`](fmt::Display) writes them as one line, which
/// is the text of the image as a document: `640x480 0123456789abcdef`, or `640x480` without a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Perceptual hash. Hashes of images that look alike differ in few bits. `None` if the image
    /// cannot be decoded or has one colour.
    pub hash: Option<u64>,
}

impl ImageFacts {
    /// Reads the line that [`Display`](fmt::Display) writes; `None` for any other text.
    pub fn parse(text: &str) -> Option<ImageFacts> {
        let (size, hash) = match text.split_once(' ') {
            Some((size, hash)) => (size, Some(hash)),
            None => (text, None),
        };
        let (width, height) = size.split_once('x')?;
        let facts = ImageFacts {
            width: width.parse().ok()?,
            height: height.parse().ok()?,
            hash: match hash {
                Some(hash) => Some(u64::from_str_radix(hash, 16).ok()?),
                None => None,
            },
        };
        // Signs, leading zeros and the like are not written.
        (facts.to_string() == text).then_some(facts)
    }
}

impl fmt::Display for ImageFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)?;
        match self.hash {
            Some(hash) => write!(f, " {hash:016x}"),
            None => Ok(()),
        }
    }
}

/// A small copy of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thumbnail {
    /// Media type: `image/jpeg` or `image/png`.
    pub mime: String,
    /// The file.
    pub data: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_comes_back_and_others_do_not() {
        for hash in [None, Some(0), Some(0x0123_4567_89ab_cdef), Some(u64::MAX)] {
            let facts = ImageFacts {
                width: 640,
                height: 480,
                hash,
            };
            assert_eq!(ImageFacts::parse(&facts.to_string()), Some(facts));
        }
        for text in [
            "",
            "640",
            "640x",
            "+640x480",
            "640x480 ",
            "640x480 12",
            "a 640x480",
            "640 x 480",
        ] {
            assert_eq!(ImageFacts::parse(text), None, "{text}");
        }
    }
}
