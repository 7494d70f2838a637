//! Images: size in pixels, perceptual hash, thumbnail.
//!
//! The hash is pHash: 64 bits, one for each low frequency of the image at 32 by 32 pixels (Zauner,
//! "Implementation and Benchmarking of Perceptual Image Hash Functions", 2010). Copies in another
//! size, format or quality differ in few bits.

use std::f64::consts::PI;
use std::io::{self, Cursor};

use extract::{ImageFacts, Thumbnail};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Rgba};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::image_exif;

/// Width and height of a thumbnail are at most this, in pixels.
const THUMBNAIL_PIXELS_MAX: u32 = 240;

/// Largest decoded image, in bytes: 40 megapixels of three colours. Half of a worker's memory must
/// stay free for the decoder.
const DECODED_BYTES_MAX: u64 = 128 << 20;

/// The image is hashed at this width and height, in pixels.
const HASH_PIXELS: usize = 32;

/// Number of frequencies in each direction. Their product is the number of bits.
const FREQUENCIES: usize = 8;

/// In an image of one colour no frequency but the first is above this. Such images have no hash:
/// all of them would look alike.
const FLAT_MAX: i64 = 200;

/// An `svg` element comes after at most this many comments and declarations.
const PROLOGUE_EVENTS_MAX: usize = 100;

/// Why nothing is known of an image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// Its header has no size.
    #[error("no size: {0}")]
    Size(imagesize::ImageError),
    #[error(transparent)]
    Decode(#[from] image::ImageError),
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("it decodes to {0} bytes, more than {max}", max = DECODED_BYTES_MAX)]
    TooLarge(u64),
    #[error("it has no pixels")]
    Empty,
}

/// Returns size and hash of an image, and its EXIF data if `exif` asks for it. The hash is missing
/// if the image cannot be decoded: its format has no decoder here, or it is damaged behind its
/// header.
///
/// # Errors
/// [`ImageError`]: it has no size.
pub(crate) fn describe(bytes: &[u8], exif: bool) -> Result<ImageFacts, ImageError> {
    let (width, height) = size(bytes)?;
    let image = decode(bytes).ok();
    Ok(ImageFacts {
        width,
        height,
        hash: image.and_then(|image| perceptual_hash(&image)),
        exif: exif.then(|| image_exif::read(bytes)).flatten(),
    })
}

/// Returns a small copy of an image, as JPEG or, if it has transparent parts, as PNG. Of an
/// animation it shows the first picture.
///
/// # Errors
/// [`ImageError`].
pub(crate) fn thumbnail(bytes: &[u8]) -> Result<Thumbnail, ImageError> {
    let mut image = decode(bytes)?;
    if image.width().max(image.height()) > THUMBNAIL_PIXELS_MAX {
        image = image.thumbnail(THUMBNAIL_PIXELS_MAX, THUMBNAIL_PIXELS_MAX);
    }
    let (format, mime, image) = if image.color().has_alpha() {
        (
            ImageFormat::Png,
            "image/png",
            DynamicImage::ImageRgba8(image.to_rgba8()),
        )
    } else {
        (
            ImageFormat::Jpeg,
            "image/jpeg",
            DynamicImage::ImageRgb8(image.to_rgb8()),
        )
    };
    let mut data = Cursor::new(Vec::new());
    image.write_to(&mut data, format)?;
    Ok(Thumbnail {
        mime: mime.to_owned(),
        data: data.into_inner(),
    })
}

/// Decodes an image and turns it as its metadata says.
fn decode(bytes: &[u8]) -> Result<DynamicImage, ImageError> {
    let mut decoder = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()?
        .into_decoder()?;
    let decoded_bytes = decoder.total_bytes();
    if decoded_bytes > DECODED_BYTES_MAX {
        return Err(ImageError::TooLarge(decoded_bytes));
    }
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    if image.width() == 0 || image.height() == 0 {
        return Err(ImageError::Empty);
    }
    image.apply_orientation(orientation);
    Ok(image)
}

/// Returns width and height from the header.
fn size(bytes: &[u8]) -> Result<(u32, u32), ImageError> {
    let found = imagesize::blob_size(bytes).map(|size| {
        let pixels = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        (pixels(size.width), pixels(size.height))
    });
    let size = match found {
        Ok(size) => size,
        Err(error) => size_of_svg(bytes).ok_or(ImageError::Size(error))?,
    };
    if size.0 == 0 || size.1 == 0 {
        return Err(ImageError::Empty);
    }
    Ok(size)
}

/// Returns the size of an SVG drawing: its `width` and `height`, or else those of its `viewBox`.
fn size_of_svg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut reader = Reader::from_reader(bytes);
    for _ in 0..PROLOGUE_EVENTS_MAX {
        match reader.read_event().ok()? {
            Event::Start(element) | Event::Empty(element) => return size_of_element(&element),
            Event::Eof => return None,
            _ => {}
        }
    }
    None
}

fn size_of_element(element: &BytesStart<'_>) -> Option<(u32, u32)> {
    if element.local_name().as_ref() != b"svg" {
        return None;
    }
    let attribute = |name: &str| {
        let found = element.attributes().filter_map(Result::ok);
        let mut named = found.filter(|attribute| attribute.key.as_ref() == name.as_bytes());
        let value = named.next()?.value;
        Some(String::from_utf8_lossy(&value).into_owned())
    };
    let declared = |name| pixels(attribute(name)?.trim());
    if let (Some(width), Some(height)) = (declared("width"), declared("height")) {
        return Some((width, height));
    }
    let view_box = attribute("viewBox")?;
    let mut numbers = view_box
        .split(|c: char| c == ',' || c.is_ascii_whitespace())
        .filter(|number| !number.is_empty())
        .skip(2);
    Some((pixels(numbers.next()?)?, pixels(numbers.next()?)?))
}

/// Returns a length in pixels; `None` for other units.
fn pixels(length: &str) -> Option<u32> {
    let number: f64 = length.strip_suffix("px").unwrap_or(length).parse().ok()?;
    // A cast to an integer keeps to its bounds.
    (number >= 0.5).then_some(number.round() as u32)
}

/// Returns the hash of an image; `None` if it has one colour.
fn perceptual_hash(image: &DynamicImage) -> Option<u64> {
    let side = HASH_PIXELS as u32;
    let small = image.thumbnail_exact(side, side).to_rgba8();
    let luma: Vec<f64> = small.pixels().map(luma_on_white).collect();
    let frequencies = low_frequencies(&luma);
    if frequencies.iter().skip(1).all(|value| value.abs() <= FLAT_MAX) {
        return None;
    }
    let mut sorted = frequencies.clone();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let twice_median = sorted[middle - 1] + sorted[middle];
    Some(
        frequencies
            .iter()
            .fold(0, |hash, value| hash << 1 | u64::from(2 * value > twice_median)),
    )
}

/// Returns the brightness of a pixel on a white page, from 0 to 255 (ITU-R BT.601).
fn luma_on_white(Rgba([red, green, blue, alpha]): &Rgba<u8>) -> f64 {
    let luma = 0.299 * f64::from(*red) + 0.587 * f64::from(*green) + 0.114 * f64::from(*blue);
    let opacity = f64::from(*alpha) / 255.0;
    luma * opacity + 255.0 * (1.0 - opacity)
}

/// Returns the lowest frequencies of a square of [`HASH_PIXELS`] (DCT-II), row by row. They are
/// rounded: the last bits of a number must not decide a bit of the hash.
fn low_frequencies(luma: &[f64]) -> Vec<i64> {
    let wave = |place: usize, frequency: usize| {
        let angle = PI * frequency as f64 * (2 * place + 1) as f64 / (2 * HASH_PIXELS) as f64;
        angle.cos()
    };
    let waves: Vec<Vec<f64>> = (0..FREQUENCIES)
        .map(|frequency| (0..HASH_PIXELS).map(|place| wave(place, frequency)).collect())
        .collect();
    let sum = |values: &mut dyn Iterator<Item = f64>, frequency: usize| -> f64 {
        values
            .zip(&waves[frequency])
            .map(|(value, wave)| value * wave)
            .sum()
    };
    let rows: Vec<Vec<f64>> = luma
        .chunks(HASH_PIXELS)
        .map(|row| {
            (0..FREQUENCIES)
                .map(|f| sum(&mut row.iter().copied(), f))
                .collect()
        })
        .collect();
    (0..FREQUENCIES)
        .flat_map(|vertical| (0..FREQUENCIES).map(move |horizontal| (vertical, horizontal)))
        .map(|(vertical, horizontal)| {
            let column = &mut rows.iter().map(|row| row[horizontal]);
            sum(column, vertical).round() as i64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::RgbaImage;

    /// A picture that differs with its seed: soft shapes, as in photographs.
    fn picture(seed: u32, width: u32, height: u32) -> DynamicImage {
        let shade = |x: u32, y: u32, step: u32| {
            let (x, y) = (f64::from(x) / f64::from(width), f64::from(y) / f64::from(height));
            let phase = f64::from(seed + step);
            let slope = (x * (3.0 + phase) + y * 2.0 * phase).sin();
            let wave = slope + (y * (5.0 + phase) * (x + 0.5) - phase).cos();
            (127.0 + 60.0 * wave) as u8
        };
        DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, |x, y| {
            Rgba([shade(x, y, 0), shade(x, y, 1), shade(x, y, 2), 255])
        }))
    }

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut data = Cursor::new(Vec::new());
        let image = match format {
            ImageFormat::Jpeg => DynamicImage::ImageRgb8(image.to_rgb8()),
            _ => image.clone(),
        };
        image.write_to(&mut data, format).unwrap();
        data.into_inner()
    }

    fn hash_of(bytes: &[u8]) -> u64 {
        describe(bytes, false).unwrap().hash.unwrap()
    }

    #[test]
    fn copies_in_other_sizes_and_formats_look_alike() {
        let original = encoded(&picture(1, 300, 200), ImageFormat::Png);
        let hash = hash_of(&original);
        for (copy, format) in [
            (picture(1, 300, 200), ImageFormat::Jpeg),
            (picture(1, 150, 100), ImageFormat::Png),
            (picture(1, 200, 134), ImageFormat::Jpeg),
            (picture(1, 300, 200), ImageFormat::Bmp),
        ] {
            let distance = (hash ^ hash_of(&encoded(&copy, format))).count_ones();
            assert!(distance <= 6, "{format:?} {}: {distance}", copy.width());
        }
        for seed in 2..12 {
            let other = hash_of(&encoded(&picture(seed, 300, 200), ImageFormat::Png));
            assert!((hash ^ other).count_ones() > 6, "{seed}");
        }
    }

    #[test]
    fn sizes_are_known_without_decoding() {
        let png = encoded(&picture(1, 30, 20), ImageFormat::Png);
        assert!(describe(&png, false).unwrap().hash.is_some());
        let cut = describe(&png[..40], false).unwrap();
        assert_eq!((cut.width, cut.height, cut.hash), (30, 20, None));
        let gif = encoded(&picture(1, 7, 5), ImageFormat::Gif);
        assert_eq!(size(&gif).unwrap(), (7, 5));
        for bytes in [&b""[..], b"<html>", b"\x89PNG\r\n\x1a\n", b"GIF89a"] {
            assert!(describe(bytes, false).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn sizes_of_drawings() {
        let check = |svg: &str, expected: Option<(u32, u32)>| {
            assert_eq!(size_of_svg(svg.as_bytes()), expected, "{svg}");
        };
        check("<svg width='20' height='10px'/>", Some((20, 10)));
        check(
            "<?xml version='1.0'?><!-- x --><svg:svg viewBox='0 0 24.4 12'>",
            Some((24, 12)),
        );
        check(
            "<svg width='100%' height='100%' viewBox='0,0,8,9'></svg>",
            Some((8, 9)),
        );
        check("<svg width='20'/>", None);
        check("<html><svg width='1' height='1'/></html>", None);
        check("<svg width='-4' height='0'/>", None);
    }

    #[test]
    fn pictures_of_one_colour_have_no_hash() {
        for colour in [[0, 0, 0, 255], [255, 255, 255, 255], [9, 99, 200, 0]] {
            let flat = DynamicImage::ImageRgba8(RgbaImage::from_pixel(40, 40, Rgba(colour)));
            assert_eq!(perceptual_hash(&flat), None, "{colour:?}");
        }
    }

    #[test]
    fn thumbnails_are_small_and_keep_their_shape() {
        let large = encoded(&picture(1, 900, 300), ImageFormat::Png);
        let small = thumbnail(&large).unwrap();
        assert_eq!(
            (small.mime.as_str(), size(&small.data).unwrap()),
            ("image/png", (240, 80))
        );
        let photograph = encoded(&picture(1, 100, 300), ImageFormat::Jpeg);
        let small = thumbnail(&photograph).unwrap();
        assert_eq!(
            (small.mime.as_str(), size(&small.data).unwrap()),
            ("image/jpeg", (80, 240))
        );
        let tiny = thumbnail(&encoded(&picture(1, 3, 2), ImageFormat::Jpeg)).unwrap();
        assert_eq!(size(&tiny.data).unwrap(), (3, 2));
        assert!(thumbnail(&large[..60]).is_err());
    }
}
