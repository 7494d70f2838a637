//! Decides which packages a list may lead to: those at the list's own place, and those at places
//! that the user of the load has named.
//!
//! Invariant: the author of a list can make a load read only from the list's own origin, unless the
//! user allows other places. Lists come from strangers, while the loading process can reach private
//! networks, buckets and folders.

use std::fs;
use std::path::{Path, PathBuf};

use url::Url;

use super::address::outermost;
use crate::path::path_of;
use crate::path::{is_address, split};

/// Places that lists may lead to besides their own, as given: `HOST`, `HOST:PORT`, `https://HOST`,
/// `s3://BUCKET`, `store://BUCKET`, or the absolute path of a folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedOrigins(Vec<String>);

/// The origin of a list or package. A list may lead to packages of the same origin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// Scheme, host and port.
    Web(url::Origin),
    /// Scheme and bucket.
    Bucket(String),
    /// A folder, with all links resolved.
    Folder(PathBuf),
    /// An origin that equals no other.
    Unknown,
}

impl AllowedOrigins {
    pub(crate) fn new(allowed: &[String]) -> AllowedOrigins {
        AllowedOrigins(allowed.to_vec())
    }

    /// Returns why a list must not lead to a package, or `None` if it may. Both are addresses, or
    /// the texts of absolute paths.
    pub(super) fn refusal(&self, list: &str, package: &str) -> Option<String> {
        let (list, package) = (outermost(list), outermost(package));
        let own = if is_address(&list) {
            Origin::of_address(&list)
        } else {
            // Entries are relative to the path given for the list, even if that is a link.
            Origin::Folder(real(path_of(&list).parent().unwrap_or(Path::new("/"))))
        };
        let is_own = match (&own, is_address(&package)) {
            (Origin::Folder(folder), false) => real(&path_of(&package)).starts_with(folder),
            (Origin::Unknown, _) => false,
            (own, true) => *own == Origin::of_address(&package),
            (_, false) => false,
        };
        let is_allowed = || self.0.iter().any(|allowed| allows(allowed, &package));
        (!is_own && !is_allowed()).then(|| {
            let place = if is_address(&package) { "origin" } else { "folder" };
            format!(
                "which is not of the list's own {place}; weft load --allow-elsewhere {} loads it all the same",
                to_allow(&package)
            )
        })
    }
}

/// Resolves the links in a path. If the path does not exist, resolves its existing folders.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        // `..` after a folder that does not exist leads nowhere.
        _ => PathBuf::from("/"),
    }
}

impl Origin {
    fn of_address(address: &str) -> Origin {
        let (root, _) = split(address);
        let scheme = root.split("://").next().unwrap_or_default().to_ascii_lowercase();
        match &*scheme {
            "http" | "https" => Url::parse(address).map_or(Origin::Unknown, |url| Origin::Web(url.origin())),
            "s3" | "store" => {
                let bucket = &root[scheme.len()..];
                Origin::Bucket(format!("{scheme}{bucket}"))
            }
            _ => Origin::Unknown,
        }
    }
}

/// Returns whether a place given by the user is that of a package.
fn allows(allowed: &str, package: &str) -> bool {
    if !is_address(package) {
        return allowed.starts_with('/') && real(&path_of(package)).starts_with(real(&path_of(allowed)));
    }
    match Origin::of_address(package) {
        origin @ (Origin::Web(_) | Origin::Bucket(_)) if is_address(allowed) => {
            origin == Origin::of_address(allowed)
        }
        // A host alone means https:// and http:// at their default ports.
        Origin::Web(origin) => ["https", "http"].iter().any(|scheme| {
            let url = Url::parse(&format!("{scheme}://{allowed}"));
            url.is_ok_and(|url| url.origin() == origin)
        }),
        _ => false,
    }
}

/// Returns the place that the user must give to allow a package.
fn to_allow(package: &str) -> String {
    if !is_address(package) {
        let path = real(&path_of(package));
        return path.parent().unwrap_or(&path).display().to_string();
    }
    match Origin::of_address(package) {
        Origin::Web(url::Origin::Tuple(scheme, host, port)) => match (&*scheme, port) {
            ("https", 443) | ("http", 80) => host.to_string(),
            _ => format!("{host}:{port}"),
        },
        _ => split(package).0.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(allowed: &[&str], list: &str, package: &str, expected: Option<&str>) {
        let allowed: Vec<String> = allowed.iter().map(|allowed| (*allowed).to_owned()).collect();
        let refusal = AllowedOrigins::new(&allowed).refusal(list, package);
        let flag = refusal
            .as_deref()
            .and_then(|refusal| refusal.split("--allow-elsewhere ").nth(1));
        let flag = flag.and_then(|rest| rest.split(" loads").next());
        assert_eq!(flag, expected, "{list} -> {package}, allowed: {allowed:?}");
    }

    #[test]
    fn a_list_leads_to_its_own_origin() {
        let web = "https://h.example/a/list.json";
        check(&[], web, "https://h.example/b/x.wacz", None);
        check(&[], web, "https://H.example:443/x.wacz", None);
        check(&[], web, "http://h.example/x.wacz", Some("h.example"));
        check(&[], web, "https://h.example:8443/x.wacz", Some("h.example:8443"));
        check(&[], web, "http://127.0.0.1:9000/x", Some("127.0.0.1:9000"));
        check(&[], web, "http://169.254.169.254/latest", Some("169.254.169.254"));
        check(&[], web, "s3://private/x.wacz", Some("s3://private"));
        check(&[], web, "/etc/x.wacz", Some("/etc"));
        check(&[], "s3://b/l.json", "s3://b/other/x.wacz", None);
        check(&[], "s3://b/l.json", "S3://b2/x.wacz", Some("S3://b2"));
        check(&[], "store://b/l.json", "s3://b/x.wacz", Some("s3://b"));
        check(&[], "/nowhere/l.json", "posted://x", Some("posted://x"));
        // A member of a package is at the place of its package.
        check(&[], web, "wacz:///etc/x.wacz#archive/x.warc", Some("/etc"));
        check(&[], web, "wacz+https://h.example/x.wacz#inner.wacz", None);
        check(
            &[],
            "wacz+https://h.example/x.wacz#inner.wacz",
            "https://h.example/y",
            None,
        );
        check(
            &[],
            "wacz:///nowhere/x.wacz#inner.wacz",
            "https://h.example/y",
            Some("h.example"),
        );
    }

    #[test]
    fn more_is_allowed_by_name() {
        let list = "/nowhere/list.json";
        check(&["h.example"], list, "https://h.example/x", None);
        check(&["h.example"], list, "http://h.example/x", None);
        check(
            &["h.example"],
            list,
            "https://h.example:444/x",
            Some("h.example:444"),
        );
        check(&["h.example:444"], list, "https://h.example:444/x", None);
        check(&["h.example"], list, "https://a.h.example/x", Some("a.h.example"));
        check(
            &["https://h.example"],
            list,
            "http://h.example/x",
            Some("h.example"),
        );
        check(&["s3://b"], list, "s3://b/x", None);
        check(&["b"], list, "s3://b/x", Some("s3://b"));
        check(&["/nowhere/else"], list, "/nowhere/else/x", None);
        check(&["/nowhere/else"], "/a/l.json", "/nowhere/x", Some("/nowhere"));
    }

    #[test]
    fn files_are_of_the_lists_own_folder_whatever_links_say() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("in/below")).unwrap();
        fs::create_dir(path("out")).unwrap();
        std::os::unix::fs::symlink(path("out"), path("in/leads")).unwrap();
        std::os::unix::fs::symlink(path("in"), path("link")).unwrap();
        let text = |name: &str| path(name).display().to_string();
        for (package, is_own) in [
            ("in/x.wacz", true),
            ("in/below/x.wacz", true),
            ("in/below/../x.wacz", true),
            ("link/x.wacz", true),
            ("in/../out/x.wacz", false),
            ("in/leads/x.wacz", false),
            ("out/x.wacz", false),
            ("inside.wacz", false),
            ("in/absent/../../out/x.wacz", false),
        ] {
            for list in ["in/list.json", "link/list.json"] {
                let refusal = AllowedOrigins::default().refusal(&text(list), &text(package));
                assert_eq!(refusal.is_none(), is_own, "{list} -> {package}: {refusal:?}");
            }
        }
    }
}
