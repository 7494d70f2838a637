//! Archived sites whose host names are too long or ambiguous for a label. Their label is a digest.
//! A server knows the digests that it gave out since its start.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use replay::origin::{Label, Site};

/// Maximum number of sites. The oldest is forgotten first, because pages can make the server give
/// out digests.
const SITES_MAX: usize = 4096;

/// Maximum length of a site, in bytes. A host name has 253 at most (RFC 1035, section 2.3.4).
const SITE_BYTES_MAX: usize = 300;

/// The sites of digests.
#[derive(Debug, Default)]
pub(crate) struct SiteDigests(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    sites: HashMap<String, Site>,
    /// The digests, oldest first.
    order: VecDeque<String>,
}

impl SiteDigests {
    /// Remembers a site, if its label is a digest.
    pub(crate) fn learn(&self, site: &Site) {
        if site.spelled().is_some() || site.as_str().len() > SITE_BYTES_MAX {
            return;
        }
        let mut known = self.lock();
        let label = site.label();
        if known.sites.insert(label.clone(), site.clone()).is_some() {
            return;
        }
        known.order.push_back(label);
        if known.order.len() > SITES_MAX
            && let Some(oldest) = known.order.pop_front()
        {
            known.sites.remove(&oldest);
        }
    }

    /// Returns the site of a label, if it is known.
    pub(crate) fn site(&self, label: &Label) -> Option<Site> {
        match label {
            Label::Site(site) => Some(site.clone()),
            Label::Digest(label) => self.lock().sites.get(label).cloned(),
            Label::Others => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn site(url: &str) -> Site {
        Site::of(&Url::parse(url).expect("a URL")).expect("a site")
    }

    #[test]
    fn the_newest_digests_are_known() {
        let digests = SiteDigests::default();
        let label = |site: &Site| Label::parse(&site.label()).expect("a label");
        let spelled = site("http://a.example/");
        assert_eq!(digests.site(&label(&spelled)), Some(spelled));
        let sites: Vec<Site> = (0..=SITES_MAX)
            .map(|n| site(&format!("http://a_{n}.example/")))
            .collect();
        for site in &sites {
            digests.learn(site);
        }
        assert_eq!(digests.site(&label(&sites[0])), None);
        for site in &sites[1..] {
            assert_eq!(digests.site(&label(site)).as_ref(), Some(site));
        }
    }
}
