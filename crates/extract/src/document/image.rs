//! What is known of an image file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Exif;

/// Size and perceptual hash of an image. [`Display`](fmt::Display) writes them as one line, which
/// is the text of the image as a document: `640x480 0123456789abcdef`, or `640x480` without a hash.
/// EXIF data is a second line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Perceptual hash. Hashes of images that look alike differ in few bits. `None` if the image
    /// cannot be decoded or has one colour.
    pub hash: Option<u64>,
    /// What its EXIF data says, if that is known.
    pub exif: Option<Exif>,
}

impl ImageFacts {
    /// Reads what [`Display`](fmt::Display) writes; `None` for any other text.
    pub fn parse(text: &str) -> Option<ImageFacts> {
        let (line, exif) = match text.split_once('\n') {
            Some((line, exif)) => (line, Some(Exif::parse(exif)?)),
            None => (text, None),
        };
        let (size, hash) = match line.split_once(' ') {
            Some((size, hash)) => (size, Some(hash)),
            None => (line, None),
        };
        let (width, height) = size.split_once('x')?;
        let facts = ImageFacts {
            width: width.parse().ok()?,
            height: height.parse().ok()?,
            hash: match hash {
                Some(hash) => Some(u64::from_str_radix(hash, 16).ok()?),
                None => None,
            },
            exif,
        };
        // Signs, leading zeros and the like are not written.
        (facts.to_string() == text).then_some(facts)
    }
}

impl fmt::Display for ImageFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)?;
        if let Some(hash) = self.hash {
            write!(f, " {hash:016x}")?;
        }
        match &self.exif {
            Some(exif) => write!(f, "\n{exif}"),
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
    fn the_lines_come_back_and_others_do_not() {
        let everything = Exif {
            time: Some(20_120_506_070_809),
            location: Some((-57_050_000, 9_920_001)),
            version: Some(231),
        };
        let place = Exif {
            location: Some((1, -180_000_000)),
            ..Exif::default()
        };
        for hash in [None, Some(0), Some(0x0123_4567_89ab_cdef), Some(u64::MAX)] {
            for exif in [None, Some(everything), Some(place)] {
                let facts = ImageFacts {
                    width: 640,
                    height: 480,
                    hash,
                    exif,
                };
                assert_eq!(ImageFacts::parse(&facts.to_string()), Some(facts));
            }
        }
        assert_eq!(
            everything.to_string(),
            "taken 2012-05-06T07:08:09 at -57.050000,9.920001 exif 0231"
        );
        for text in [
            "",
            "640",
            "640x",
            "+640x480",
            "640x480 ",
            "640x480 12",
            "a 640x480",
            "640 x 480",
            "640x480\n",
            "640x480\ntaken",
            "640x480\ntaken 2012-05-06",
            "640x480\nat 1,2",
            "640x480\nexif 0231 taken 2012-05-06T07:08:09",
        ] {
            assert_eq!(ImageFacts::parse(text), None, "{text}");
        }
    }
}
