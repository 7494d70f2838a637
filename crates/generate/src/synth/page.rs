//! A crawl of a page: its title, text and links, independent of the record format.

use super::random::Random;
use super::web::{Target, Web};

/// Number of links to other sites: mean 13, before duplicates are dropped.
const EXTERNAL_COUNTS: [u64; 13] = [0, 2, 4, 6, 8, 9, 10, 12, 14, 16, 20, 26, 42];

/// Number of sections that every page of a site links to.
const SECTIONS: u64 = 8;

/// Number of links within the site: at least this many, and fewer than `INTERNAL_SPREAD` more.
const INTERNAL_MIN: u64 = 12;
const INTERNAL_SPREAD: u64 = 44;

/// Number of links per thousand that change when a page is crawled again.
const CHANGED_PERMILLE: u64 = 200;

/// Base-2 logarithm of the number of target ranks per page: most linked URLs are never captured.
const TARGETS_PER_PAGE_LOG2: u32 = 3;

/// A link as written in the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// The value of the `href` attribute: a path, or an absolute URL.
    pub href: String,
    /// The absolute URL.
    pub url: String,
    /// Anchor text; may be empty.
    pub anchor: String,
    pub nofollow: bool,
    /// Whether the target is on another site.
    pub external: bool,
}

/// A visit of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visit {
    /// Number of the record group, and the seconds between the first visit and this one.
    pub index: u64,
    pub page: u64,
    /// Whether the page was crawled before.
    pub again: bool,
}

/// The content of a page at one visit.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub url: String,
    /// Scheme and host of `url`.
    pub origin: String,
    pub title: String,
    pub description: String,
    /// The paragraphs.
    pub text: Vec<String>,
    pub links: Vec<Link>,
}

/// The plan of the crawl: which page is visited when.
#[derive(Debug)]
pub(super) struct Crawl {
    pub web: Web,
    pub recrawls_permille: u64,
}

impl Crawl {
    /// Returns the plan of a crawl with `visits` visits.
    pub(super) fn new(seed: u64, visits: u64, recrawls_permille: u64) -> Crawl {
        // Re-crawls add no pages: only the other visits find new ones.
        let recrawls = visits * recrawls_permille / 1000;
        Crawl {
            web: Web::new(seed, visits - recrawls),
            recrawls_permille,
        }
    }

    /// Returns the `index`th visit. It is a re-crawl if the accumulated share of re-crawls reaches
    /// the next whole number. A re-crawl visits a page from the first half of the pages crawled so
    /// far.
    pub(super) fn visit(&self, index: u64) -> Visit {
        let before = index * self.recrawls_permille / 1000;
        let again = (index + 1) * self.recrawls_permille / 1000 > before;
        let first_crawls = index - before;
        let chosen = if again {
            Random::of(self.web.seed, &[6, index]).below(first_crawls.div_ceil(2))
        } else {
            first_crawls
        };
        Visit {
            index,
            page: self.web.crawled(chosen),
            again,
        }
    }

    /// Returns the page at that visit, without text if it is not needed.
    pub(super) fn page(&self, visit: Visit, with_text: bool) -> Page {
        let (web, place) = (&self.web, Target::Page(visit.page));
        let mut page = Page::default();
        web.append_origin(place, &mut page.origin);
        page.url.push_str(&page.origin);
        web.append_path(place, &mut page.url);
        let mut random = Random::of(web.seed, &[7, visit.page]);
        let count = 3 + random.below(5);
        web.words.append_phrase(count, &mut random, &mut page.title);
        let count = 8 + random.below(16);
        web.words.append_phrase(count, &mut random, &mut page.description);
        if with_text {
            page.text = self.text(visit);
        }
        self.add_links(visit, &mut page);
        page
    }

    fn text(&self, visit: Visit) -> Vec<String> {
        let mut random = Random::of(self.web.seed, &[8, visit.page, self.version(visit)]);
        let paragraphs = 2 + random.below(10);
        (0..paragraphs)
            .map(|_| {
                let mut paragraph = String::new();
                let count = 20 + random.below(100);
                self.web.words.append_phrase(count, &mut random, &mut paragraph);
                paragraph
            })
            .collect()
    }

    /// Returns 0 for the first visit of a page, otherwise a number that identifies the visit.
    fn version(&self, visit: Visit) -> u64 {
        if visit.again { visit.index + 1 } else { 0 }
    }

    fn add_links(&self, visit: Visit, page: &mut Page) {
        let mut random = Random::of(self.web.seed, &[9, visit.page]);
        let external = *random.pick(&EXTERNAL_COUNTS);
        let internal = INTERNAL_MIN + random.below(INTERNAL_SPREAD);
        // A page does not link to itself.
        let mut seen = vec![Target::Page(visit.page)];
        page.links.reserve((external + internal) as usize);
        for slot in 0..internal + external {
            let mut random = self.slot(visit, slot);
            let place = if slot < internal {
                self.internal_target(visit.page, slot, &mut random)
            } else {
                self.external_target(visit.page, &mut random)
            };
            // A target counts once per page, as documented in the report.
            if seen.contains(&place) {
                continue;
            }
            seen.push(place);
            page.links
                .push(self.link(place, &page.origin, slot >= internal, &mut random));
        }
    }

    /// Returns the random numbers of a link. They depend on the page alone, or also on the visit
    /// for a changed link.
    fn slot(&self, visit: Visit, slot: u64) -> Random {
        let version = self.version(visit);
        let changed = version > 0
            && Random::of(self.web.seed, &[10, visit.page, slot, version]).chance(CHANGED_PERMILLE);
        Random::of(
            self.web.seed,
            &[11, visit.page, slot, if changed { version } else { 0 }],
        )
    }

    /// Returns the target of a link within the site: first its sections, then pages or articles
    /// with equal probability.
    fn internal_target(&self, page: u64, slot: u64, random: &mut Random) -> Target {
        let site = self.web.site_of(page);
        if slot < SECTIONS {
            return Target::Section {
                site: site.first,
                number: slot,
            };
        }
        if random.chance(500) {
            Target::Page(site.first + random.below(site.pages))
        } else {
            Target::Article {
                site: site.first,
                number: random.below(4 * site.pages + 16),
            }
        }
    }

    /// Returns the target of a link to another site. Four of five follow Zipf's law, and half of
    /// these are front pages; the rest are articles with hardly any other links to them.
    fn external_target(&self, page: u64, random: &mut Random) -> Target {
        let own = self.web.site_of(page).first;
        let ranks_log2 = 64 - self.web.pages.leading_zeros() + TARGETS_PER_PAGE_LOG2;
        // A web of one site has no other targets: give up after some attempts.
        let mut place = Target::Page(page);
        for _ in 0..16 {
            place = self.any_target(random.zipf(ranks_log2), random);
            if self.web.site_of_place(place) != own {
                break;
            }
        }
        place
    }

    fn any_target(&self, rank: u64, random: &mut Random) -> Target {
        let page = self.web.popular_page(rank % self.web.pages);
        let site = self.web.site_of(page).first;
        if random.chance(200) {
            Target::Article {
                site,
                number: 1 << 40 | random.below(1 << 40),
            }
        } else if rank >= self.web.pages {
            Target::Article { site, number: rank }
        } else if rank.is_multiple_of(2) {
            Target::Page(site)
        } else {
            Target::Page(page)
        }
    }

    fn link(&self, place: Target, own_origin: &str, external: bool, random: &mut Random) -> Link {
        let mut url = String::with_capacity(80);
        self.web.append_origin(place, &mut url);
        let relative = url == own_origin && !random.chance(300);
        let path_at = url.len();
        self.web.append_path(place, &mut url);
        let href = if relative {
            url[path_at..].to_owned()
        } else {
            url.clone()
        };
        let mut anchor = String::new();
        if !random.chance(40) {
            let count = 1 + random.below(4);
            self.web.words.append_phrase(count, random, &mut anchor);
        }
        Link {
            href,
            url,
            anchor,
            nofollow: external && random.chance(50),
            external,
        }
    }
}
