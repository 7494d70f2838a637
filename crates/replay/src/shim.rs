//! The script of the archive in rewritten pages.

/// The script that runs before all others in a rewritten page. It redirects requests of scripts to
/// the archive.
pub const SHIM: &str = include_str!("../assets/shim.js");

/// Name of the frame that shows a page. Links that would leave the frame or open a window open in
/// it. [`SHIM`] contains the same name.
pub const FRAME_NAME: &str = "weft-replay";

/// Path of [`SHIM`] on the port that shows archived pages.
pub const SHIM_PATH: &str = "/static/replay.js";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_knows_its_frame() {
        assert!(SHIM.contains(&format!("const FRAME = \"{FRAME_NAME}\";")));
    }
}
