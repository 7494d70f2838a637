//! The generated web: its pages, their sites and their URLs.
//!
//! Pages have numbers `0..pages`. A site is a range of pages, identified by its first page. Levels
//! of site sizes have equal weight: as many pages are on sites of 4 as on sites of 4,096, so there
//! are many small sites and few large ones. In addition there are URLs that are linked to but never
//! captured: sections of sites, and articles.
//!
//! Invariants: different numbers have different URL keys; each site is a separate registered
//! domain.

use super::random::{Random, scatter};
use super::words::{Words, append_syllables};

/// Number of site sizes, which are 4 times the powers of two from 2^0 on.
const LEVELS: u64 = 11;

/// Suffixes of domains; common ones are repeated.
const SUFFIXES: [&str; 16] = [
    "com", "com", "com", "com", "com", "com", "org", "org", "net", "de", "de", "co.uk", "ru", "fr", "com.br",
    "co.jp",
];

/// Hosts of a site besides its main one.
const SIDE_HOSTS: [&str; 4] = ["blog.", "shop.", "en.", "news."];

/// What a URL of this web identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// A captured page.
    Page(u64),
    /// A section of a site: all pages of the site link to it, and it is never captured.
    Section { site: u64, number: u64 },
    /// An article of a site that is never captured.
    Article { site: u64, number: u64 },
}

/// A range of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Site {
    /// The number of the first page, which identifies the site.
    pub first: u64,
    /// Number of pages, at least 1.
    pub pages: u64,
}

/// The web of a seed.
#[derive(Debug)]
pub(super) struct Web {
    pub seed: u64,
    /// Number of pages; at least 1, at most 2^32.
    pub pages: u64,
    pub words: Words,
}

impl Web {
    pub(super) fn new(seed: u64, pages: u64) -> Web {
        Web {
            seed,
            pages: pages.clamp(1, 1 << 32),
            words: Words::new(seed),
        }
    }

    /// Returns the site of a page.
    pub(super) fn site_of(&self, page: u64) -> Site {
        let level_pages = self.pages.div_ceil(LEVELS);
        let level = page / level_pages;
        let size = 4 << level;
        let first = page - (page % level_pages) % size;
        let end = (first + size).min((level + 1) * level_pages).min(self.pages);
        Site {
            first,
            pages: end - first,
        }
    }

    /// Returns the site of a place.
    pub(super) fn site_of_place(&self, place: Target) -> u64 {
        match place {
            Target::Page(page) => self.site_of(page).first,
            Target::Section { site, .. } | Target::Article { site, .. } => site,
        }
    }

    /// Returns the page at `rank` among the most popular link targets: a bijection on the pages.
    pub(super) fn popular_page(&self, rank: u64) -> u64 {
        let mut page = rank;
        loop {
            page = self.scatter_within(page);
            if page < self.pages {
                return page;
            }
        }
    }

    /// Returns the `index`th page to be crawled for the first time: a bijection on the pages.
    pub(super) fn crawled(&self, index: u64) -> u64 {
        let stride = self.stride();
        ((u128::from(index) * u128::from(stride) + u128::from(self.seed >> 33)) % u128::from(self.pages))
            as u64
    }

    /// Maps a number to another below the next power of two: a bijection.
    fn scatter_within(&self, number: u64) -> u64 {
        let bits = 64 - (self.pages - 1).leading_zeros().min(63);
        let (half, mask) = (bits.div_ceil(2), (1u64 << bits) - 1);
        let mut x = number;
        // Each step can be undone: multiplication by an odd number, and exclusive or with the upper
        // bits.
        for round in 0..3 {
            x = x.wrapping_mul(self.seed.rotate_left(17 * round) | 1) & mask;
            x ^= x >> half.max(1);
        }
        x
    }

    /// Returns a number near the golden section of the number of pages and coprime to it.
    fn stride(&self) -> u64 {
        let mut stride = (u128::from(self.pages) * 618_033_988 / 1_000_000_000) as u64 | 1;
        // If coprime, the steps reach every page before they repeat.
        while gcd(stride, self.pages) != 1 {
            stride += 2;
        }
        stride
    }

    /// Returns the random numbers that decide the style of a site's URLs: https or http, `www.` or
    /// not, style of paths.
    fn url_style(&self, site: u64) -> Random {
        Random::of(self.seed, &[1, site])
    }

    /// Appends the origin of a place, such as `https://www.name.com`.
    pub(super) fn append_origin(&self, place: Target, out: &mut String) {
        let site = self.site_of_place(place);
        let mut random = self.url_style(site);
        out.push_str(if random.chance(850) { "https://" } else { "http://" });
        let www = random.chance(600);
        match self.side_host(place, site) {
            Some(side) => out.push_str(side),
            None if www => out.push_str("www."),
            None => {}
        }
        append_syllables(scatter(site as u32, self.seed as u32), 4, out);
        out.push('.');
        out.push_str(random.pick::<&str>(&SUFFIXES));
    }

    /// Returns the host of a page that is not on the main host of its site. The front page always
    /// is.
    fn side_host(&self, place: Target, site: u64) -> Option<&'static str> {
        let Target::Page(page) = place else { return None };
        let mut random = Random::of(self.seed, &[2, page]);
        // The first page identifies the site, so `page == site` is the front page.
        (page != site && random.chance(80)).then(|| *random.pick(&SIDE_HOSTS))
    }

    /// Appends the path and query of a place.
    pub(super) fn append_path(&self, place: Target, out: &mut String) {
        out.push('/');
        match place {
            Target::Page(page) => self.append_page_path(page, out),
            Target::Section { site, number } => {
                let mut random = Random::of(self.seed, &[3, site, number]);
                self.words.append_plain(&mut random, out);
                out.push_str("-s");
                append_base36(number, out);
                out.push('/');
            }
            Target::Article { site, number } => {
                let mut random = Random::of(self.seed, &[4, site, number]);
                self.words.append_plain(&mut random, out);
                out.push('-');
                self.words.append_plain(&mut random, out);
                out.push_str("-a");
                append_base36(number, out);
            }
        }
    }

    fn append_page_path(&self, page: u64, out: &mut String) {
        let site = self.site_of(page).first;
        if page == site {
            return;
        }
        let style = self.url_style(site).bits() >> 62;
        let mut random = Random::of(self.seed, &[5, page]);
        match style {
            0 => {
                self.words.append_plain(&mut random, out);
                out.push('/');
                self.words.append_plain(&mut random, out);
                out.push_str("-p");
                append_base36(page, out);
            }
            1 => {
                self.words.append_plain(&mut random, out);
                out.push_str("/p");
                append_base36(page, out);
                out.push_str(".html");
            }
            2 => {
                for _ in 0..3 {
                    self.words.append_plain(&mut random, out);
                    out.push('-');
                }
                out.push('p');
                append_base36(page, out);
                out.push('/');
            }
            _ => {
                out.push_str("index.php?p=");
                append_base36(page, out);
                out.push_str("&cat=");
                self.words.append_plain(&mut random, out);
            }
        }
    }
}

fn append_base36(mut number: u64, out: &mut String) {
    let mut digits = [0u8; 13];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize];
        number /= 36;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
