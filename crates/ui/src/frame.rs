//! The frame of every page: head, landmarks, navigation, search box, and epoch.

use maud::{DOCTYPE, Markup, html};

use crate::assets::ADDRESSES;
use crate::text::{clean, cut};

/// Everything of a page except its content.
pub struct Frame<'a> {
    /// Title for the browser's tab and history.
    pub title: &'a str,
    /// The page's section of the navigation.
    pub section: Section,
    /// Parts of the navigation.
    pub parts: Parts,
    /// Identity of the viewer, if pages depend on it.
    pub viewer: Option<Viewer>,
    /// Text in the search box.
    pub query: &'a str,
    /// The epoch of the content, if it has one.
    pub epoch: Option<u64>,
}

/// Identity of the viewer of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// Their groups, or `the public`.
    pub name: String,
    /// Whether the server supports signing in.
    pub can_sign_in: bool,
    /// Whether the viewer is signed in.
    pub is_signed_in: bool,
}

/// Parts of a server, which its navigation leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// Pages of an archive.
    pub archive: bool,
    /// Pages of its operation: rights, loads and statistics.
    pub running: bool,
    /// Pages of a store.
    pub store: bool,
    /// Page of SQL.
    pub sql: bool,
    /// Pages of a catalogue of files.
    pub files: bool,
    /// Page of a cache.
    pub cache: bool,
}

impl Parts {
    fn has(self, section: Section) -> bool {
        match section {
            Section::Store => self.store,
            Section::Sql => self.sql,
            Section::Files => self.files,
            Section::Cache => self.cache,
            Section::Rights | Section::Loads | Section::Statistics => self.running,
            _ => self.archive,
        }
    }
}

/// The entry of the navigation that a page belongs to.
#[expect(missing_docs, reason = "each variant names its page")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Home,
    Results,
    Ranking,
    Domains,
    Graph,
    Report,
    Captures,
    Sql,
    Rights,
    Loads,
    Statistics,
    Store,
    Files,
    Cache,
    About,
    SignIn,
    None,
}

const NAVIGATION: [(Section, &str, &str); 13] = [
    (Section::Ranking, "/ranking", "Ranking"),
    (Section::Domains, "/domains", "Domains"),
    (Section::Graph, "/graph", "Graph"),
    (Section::Captures, "/captures", "Captures"),
    (Section::Report, "/report", "Report"),
    (Section::Sql, "/sql", "SQL"),
    (Section::Rights, "/rights", "Rights"),
    (Section::Loads, "/loads", "Loads"),
    (Section::Statistics, "/statistics", "Statistics"),
    (Section::Store, "/store", "Store"),
    (Section::Files, "/files", "Files"),
    (Section::Cache, "/cache", "Cache"),
    (Section::About, "/about", "About"),
];

impl Frame<'_> {
    /// Returns the whole document around `content`.
    pub fn around(&self, content: Markup) -> Markup {
        let title = match clean(self.title) {
            title if title.is_empty() => "Weft".to_owned(),
            title => format!("{} \u{b7} Weft", cut(&title, 120).0),
        };
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) }
                    link rel="stylesheet" href=(ADDRESSES.styles);
                    link rel="icon" type="image/svg+xml" href=(ADDRESSES.icon);
                    script src=(ADDRESSES.script) defer {}
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    (self.header())
                    main #main tabindex="-1" { (content) }
                    (self.footer())
                }
            }
        }
    }

    fn header(&self) -> Markup {
        html! {
            header.site {
                div.bar {
                    a.brand href=(if self.parts.archive { "/" } else { "/sql" }) aria-current=[(self.section == Section::Home).then_some("page")] {
                        (mark()) span { "Weft" }
                    }
                    @if self.section != Section::Home && self.parts.archive {
                        (search_box(self.query, false))
                    }
                    nav aria-label="Main" {
                        // On narrow screens the list below is folded until this element is open, so
                        // no script is needed.
                        details.menu { summary { "Menu" } }
                        ul {
                            @for (section, address, name) in NAVIGATION.into_iter().filter(|entry| self.parts.has(entry.0)) {
                                li { a href=(address) aria-current=[(section == self.section).then_some("page")] { (name) } }
                            }
                            @if let Some(viewer) = self.viewer.as_ref().filter(|viewer| viewer.can_sign_in) {
                                li { a href="/sign-in" aria-current=[(self.section == Section::SignIn).then_some("page")] {
                                    @if viewer.is_signed_in { "Sign out" } @else { "Sign in" }
                                } }
                            }
                        }
                    }
                }
            }
        }
    }

    fn footer(&self) -> Markup {
        html! {
            footer.site {
                div.bar {
                    p {
                        @if let Some(epoch) = self.epoch {
                            "This page shows epoch " span.epoch { (format::number::count(epoch)) } " of the archive."
                        } @else {
                            "Search and query a web archive."
                        }
                    }
                    @if let Some(viewer) = &self.viewer {
                        p { "Viewing as " span.viewer { bdi { (clean(cut(&viewer.name, 120).0)) } } "." }
                    }
                    p {
                        @if self.parts.archive { a href="/about" { "About and API" } " \u{b7} " }
                        "Weft " (env!("CARGO_PKG_VERSION"))
                    }
                }
            }
        }
    }
}

/// Returns the search form; `large` on the home page.
pub fn search_box(query: &str, large: bool) -> Markup {
    html! {
        form.search.large[large] role="search" action="/search" method="get" {
            label.hidden for="q" { "Search the archive" }
            input #q type="search" name="q" value=(clean(query)) placeholder="Search the archive"
                autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="2000" dir="auto"
                aria-keyshortcuts="/" data-suggest="/api/v1/suggest";
            button type="submit" { "Search" }
        }
    }
}

/// Draws the logo: interwoven threads.
fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false" {
            path d="M3 7h5m4 0h9M3 12h9m4 0h5M3 17h5m4 0h9" {}
            path d="M10 3v6m0 4v8M14 3v2m0 4v5m0 4v3" {}
        }
    }
}
