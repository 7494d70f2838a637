//! The form in which an archive stores a page's text and images together: the visible text and, if
//! images are known, a NUL and one image a line, as JSON.
//!
//! Images have no separate rows, because they come and change with the text: the rules for texts
//! of versions, revisits and takedowns also apply to images.
//!
//! Invariant: a visible text contains no NUL.

use super::Image;
use crate::Page;

/// Ends the visible text.
const SEPARATOR: char = '\0';

/// Largest size of the images of a page in this form, in bytes. Further ones are left out.
const STORED_BYTES_MAX: usize = 512 << 10;

impl Page {
    /// Moves the images into the text. An empty text stays empty: the text of another capture of
    /// the same time may take its place, and an image alone must not prevent that.
    pub fn store_images(&mut self) {
        if self.text.contains(SEPARATOR) {
            // In HTML it has no meaning, too (HTML standard, 13.2.6.4.7).
            self.text.retain(|c| c != SEPARATOR);
        }
        let images = std::mem::take(&mut self.images);
        if self.text.is_empty() {
            return;
        }
        let (mut stored_bytes, mut end) = (0, SEPARATOR);
        for image in images {
            // Serialising strings and numbers cannot fail. JSON escapes line ends and NUL.
            let line = serde_json::to_string(&image).unwrap_or_default();
            stored_bytes += line.len() + 1;
            if stored_bytes > STORED_BYTES_MAX {
                return;
            }
            self.text.push(end);
            self.text.push_str(&line);
            end = '\n';
        }
    }
}

/// Returns the visible part of a stored text.
pub fn visible_text(stored: &str) -> &str {
    stored.split_once(SEPARATOR).map_or(stored, |(text, _)| text)
}

/// Returns the images in a stored text as they are stored: one a line, as JSON; empty without
/// images.
pub fn stored_image_lines(stored: &str) -> &str {
    stored.split_once(SEPARATOR).map_or("", |(_, images)| images)
}

/// Returns the images in a stored text. A line that is no image is skipped.
pub fn stored_images(stored: &str) -> Vec<Image> {
    stored_image_lines(stored)
        .lines()
        // An array would be read as an image without fields.
        .filter(|line| line.starts_with('{'))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(url: &str, alt: &str) -> Image {
        Image {
            url: url.to_owned(),
            alt: alt.to_owned(),
            ..Image::default()
        }
    }

    fn stored(text: &str, images: Vec<Image>) -> String {
        let mut page = Page {
            text: text.to_owned(),
            images,
            ..Page::default()
        };
        page.store_images();
        assert!(page.images.is_empty());
        page.text
    }

    #[test]
    fn text_and_images_come_back() {
        let images = vec![image("http://a/1", "line\nend \0 \"é\""), image("http://a/2", "")];
        let both = stored("Some\ntext", images.clone());
        assert_eq!(
            (visible_text(&both), stored_images(&both)),
            ("Some\ntext", images)
        );
        assert_eq!(stored_image_lines(&both).lines().count(), 2);
        let alone = stored("Some\ntext", Vec::new());
        assert_eq!(stored_image_lines(&alone), "");
        assert_eq!((alone.as_str(), stored_images(&alone).len()), ("Some\ntext", 0));
    }

    #[test]
    fn a_text_cannot_hold_images_of_its_own() {
        let text = "before\0{\"url\":\"http://forged/\"}";
        assert_eq!(stored(text, Vec::new()), "before{\"url\":\"http://forged/\"}");
        let both = stored(text, vec![image("http://a/1", "")]);
        assert_eq!(stored_images(&both), vec![image("http://a/1", "")]);
        assert_eq!(stored("\0", vec![image("http://a/1", "")]), "");
        assert!(stored_images("text\0{\nnothing\n[]").is_empty());
    }

    #[test]
    fn the_size_is_bounded() {
        let long = "x".repeat(4000);
        let images = (0..500).map(|n| image(&format!("http://a/{n}"), &long)).collect();
        let both = stored("text", images);
        assert!(both.len() <= STORED_BYTES_MAX + 4);
        assert!(stored_images(&both).len() > 100);
    }
}
