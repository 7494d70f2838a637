//! What the EXIF data of an image says of the picture: when, where, in which version of EXIF.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Millionths of a degree in a degree.
const DEGREE: f64 = 1e6;

/// Time, place and version of EXIF data. [`Display`](fmt::Display) writes the known ones as one
/// line: `taken 2012-05-06T07:08:09 at 57.050000,9.920000 exif 0231`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exif {
    /// When the picture was taken, as 14 digits in the time of the camera, whose time zone is
    /// mostly unknown.
    pub time: Option<u64>,
    /// Latitude and longitude in millionths of a degree.
    pub location: Option<(i32, i32)>,
    /// Version: four digits, of which the first two are the major one (231 is 2.31).
    pub version: Option<u16>,
}

impl Exif {
    /// Returns the time as ISO 8601 without a time zone.
    pub fn time_text(&self) -> Option<String> {
        let time = self.time?;
        let two = |divisor: u64| time / divisor % 100;
        Some(format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            time / 10_000_000_000,
            two(100_000_000),
            two(1_000_000),
            two(10_000),
            two(100),
            two(1)
        ))
    }

    /// Returns the place as latitude and longitude in degrees.
    pub fn location_text(&self) -> Option<String> {
        let degrees = |millionths: i32| f64::from(millionths) / DEGREE;
        let (latitude, longitude) = self.location?;
        Some(format!("{:.6},{:.6}", degrees(latitude), degrees(longitude)))
    }

    /// Returns the version as four digits.
    pub fn version_text(&self) -> Option<String> {
        self.version.map(|version| format!("{version:04}"))
    }

    /// Reads a line. It may differ from the one that would be written.
    pub(super) fn parse(line: &str) -> Option<Exif> {
        let mut exif = Exif::default();
        let mut words = line.split(' ');
        while let Some(name) = words.next() {
            let value = words.next()?;
            match name {
                "taken" => exif.time = Some(time_of(value)?),
                "at" => exif.location = Some(location_of(value)?),
                "exif" => exif.version = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        Some(exif)
    }
}

fn time_of(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn location_of(text: &str) -> Option<(i32, i32)> {
    let millionths = |degrees: &str| {
        let degrees: f64 = degrees.parse().ok()?;
        // A cast to an integer keeps to its bounds.
        Some((degrees * DEGREE).round() as i32)
    };
    let (latitude, longitude) = text.split_once(',')?;
    Some((millionths(latitude)?, millionths(longitude)?))
}

impl fmt::Display for Exif {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("taken", self.time_text()),
            ("at", self.location_text()),
            ("exif", self.version_text()),
        ];
        let mut gap = "";
        for (name, value) in parts {
            if let Some(value) = value {
                write!(f, "{gap}{name} {value}")?;
                gap = " ";
            }
        }
        Ok(())
    }
}
