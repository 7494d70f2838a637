//! Archived sites in their own origins: their host names, and the scripts that
//! keep their documents in the archive.
//!
//! `https://www.example.com` at a time is `https--www-example-com.20140126200624.replay.localhost`.
//! A browser gives it its own storage, cookies and address, so documents need no rewriting. A
//! service worker of that origin ([`WORKER`]) answers all requests of its documents. It does not
//! see everything: [`HEAD`] runs before the scripts of each document, and does the rest.
//!
//! Invariants:
//! - A label names one site only. A site without such a label gets a digest.
//! - The path and query of an address are those of the captured URL, byte for byte.

mod host;
mod origins;
mod site;

pub use host::{OriginHost, parse_host};
pub use origins::Origins;
#[cfg(test)]
pub(crate) use origins::{CHECK, policy_tag};
pub use site::{Label, Site};

/// The service worker. The server puts a line before it that sets `SITE`.
pub const WORKER: &str = include_str!("../../assets/origin/worker.js");

/// The script at the head of every document.
pub const HEAD: &str = concat!(
    include_str!("../../assets/origin/in_worker.js"),
    include_str!("../../assets/origin/head.js")
);

/// The script before that of every worker of a page.
pub const IN_WORKER: &str = concat!(
    include_str!("../../assets/origin/in_worker.js"),
    "self.weftInWorker();\n"
);

/// The script of the page that installs [`WORKER`].
pub const INSTALL: &str = include_str!("../../assets/origin/install.js");

/// Prefix of the paths that belong to the archive. No document of a site has such a path: its
/// requests get no answer.
pub const OWN_PREFIX: &str = "/__weft/";

/// Path of [`HEAD`].
pub const HEAD_PATH: &str = "/__weft/head.js";

/// Path of the script of the page that installs the worker.
pub const INSTALL_PATH: &str = "/__weft/install.js";

/// Path of [`WORKER`].
pub const WORKER_PATH: &str = "/__weft/worker.js";

/// Path at which the worker asks for the capture of the parameter `url`. The URL of another site
/// also follows after it ([`is_get`]).
pub const GET_PATH: &str = "/__weft/get";

/// Returns whether the worker asks for a capture at this path.
pub fn is_get(path: &str) -> bool {
    let rest = path.strip_prefix(GET_PATH);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Path of the redirect to the address of the parameter `url`.
pub const TO_PATH: &str = "/__weft/to";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_know_the_paths_and_the_policy() {
        assert!(WORKER.contains(&format!("startsWith(\"{OWN_PREFIX}\")")));
        assert!(WORKER.contains("\"//web\"") && WORKER.contains(&format!("const GET = \"{GET_PATH}\";")));
        assert!(INSTALL.contains(&format!("register(\"{WORKER_PATH}\"")));
        assert!(HEAD.contains(&format!("\"{TO_PATH}?url=\"")));
        assert!(HEAD.contains(&format!("const FRAME = \"{}\";", crate::FRAME_NAME)));
        assert!(HEAD.contains(&policy_tag("${here.origin}")));
        assert!(HEAD.contains(&format!("\"<script>{CHECK}</script>\"")));
    }
}
