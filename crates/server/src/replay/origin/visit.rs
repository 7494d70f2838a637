//! The archived site's origin that a request names.

use axum::http::{HeaderMap, header};
use replay::origin::{Label, Origins, Site, parse_host};

use super::super::policy::is_plain;
use crate::replay_origin::without_port;
use crate::state::Common;

/// The origin that a request names.
pub(in crate::replay) struct Visit {
    pub(super) label: Label,
    /// The site. `None` for the host that answers for others, and for a digest that this server did
    /// not give out.
    pub(super) site: Option<Site>,
    /// The time of all pages of this origin, as 14 digits.
    pub(super) time: String,
    pub(super) origins: Origins,
    /// All origins of archived sites, as a source of a policy.
    pub(super) all: String,
    /// Origins that may show these pages in frames: all archived sites, and the archive's pages.
    pub(super) ancestors: String,
}

impl Visit {
    /// Returns the archived site's origin that a request with these headers names.
    pub(in crate::replay) fn of(state: &Common, headers: &HeaderMap) -> Option<Visit> {
        let place = state.replay_origin()?;
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, None) = (hosts.next()?.to_str().ok()?, hosts.next()) else {
            return None;
        };
        let named = parse_host(host, place.domain()?)?;
        let (scheme, authority) = place.sites()?;
        let all = format!("{scheme}://*.{authority}");
        let mut ancestors = all.clone();
        if place.settings.url.is_some() {
            // A proxy gives the archive one of the server's names, at a port that is not known.
            for name in state.settings.hosts.iter().map(|host| without_port(host)) {
                if is_plain(name) {
                    ancestors.push_str(&format!(" {scheme}://{name}:*"));
                }
            }
        } else {
            let port = place.main_port;
            ancestors.push_str(&format!(" http://localhost:{port} http://127.0.0.1:{port}"));
        }
        Some(Visit {
            site: place.digests.site(&named.label),
            origins: Origins::new(scheme, &named.label, &named.time, &authority),
            label: named.label,
            time: named.time,
            all,
            ancestors,
        })
    }
}
