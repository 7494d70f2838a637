//! Styles, script and icon, which are part of the program. Their addresses contain a digest of the
//! content, so that browsers may cache them permanently.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// A static file of the pages.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Path of its address.
    pub path: &'static str,
    /// Media type.
    pub media: &'static str,
    /// Content.
    pub content: &'static str,
}

const STYLES: Asset = Asset {
    path: "/static/weft.css",
    media: "text/css; charset=utf-8",
    content: include_str!("../assets/weft.css"),
};
const SCRIPT: Asset = Asset {
    path: "/static/weft.js",
    media: "text/javascript; charset=utf-8",
    content: include_str!("../assets/weft.js"),
};
const ICON: Asset = Asset {
    path: "/static/weft.svg",
    media: "image/svg+xml",
    content: include_str!("../assets/weft.svg"),
};

/// All files. Browsers may cache them: [`CACHE_CONTROL`].
pub const ASSETS: [Asset; 4] = [
    STYLES,
    SCRIPT,
    ICON,
    Asset {
        path: "/favicon.ico",
        ..ICON
    },
];

/// `Cache-Control` of the files. Their addresses change with their content.
pub const CACHE_CONTROL: &str = "public, max-age=31536000, immutable";

/// Addresses of the three files, with a digest of all of them.
pub(crate) struct Addresses {
    pub(crate) styles: String,
    pub(crate) script: String,
    pub(crate) icon: String,
}

pub(crate) static ADDRESSES: LazyLock<Addresses> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    [STYLES, SCRIPT, ICON]
        .map(|asset| asset.content)
        .hash(&mut hasher);
    let digest = hasher.finish();
    let address = |asset: Asset| format!("{}?{digest:016x}", asset.path);
    Addresses {
        styles: address(STYLES),
        script: address(SCRIPT),
        icon: address(ICON),
    }
});
