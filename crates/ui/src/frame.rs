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
            Section::Loads
            | Section::Quarantine
            | Section::Statistics
            | Section::Report
            | Section::Rights
            | Section::Takedowns => self.running,
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
    Pages,
    Domains,
    Ranking,
    Graph,
    Captures,
    Collections,
    Trends,
    Images,
    Loads,
    Quarantine,
    Statistics,
    Report,
    Files,
    Store,
    Cache,
    Rights,
    Takedowns,
    Sql,
    About,
    SignIn,
    None,
}

/// A page in the navigation: its section, address and name.
type Entry = (Section, &'static str, &'static str);

/// Pages about the content of the archive.
const BROWSE: [Entry; 8] = [
    (Section::Pages, "/pages", "Pages"),
    (Section::Domains, "/domains", "Domains"),
    (Section::Ranking, "/ranking", "Rankings"),
    (Section::Graph, "/graph", "Graph"),
    (Section::Captures, "/captures", "Captures"),
    (Section::Collections, "/collections", "Collections"),
    (Section::Trends, "/trends", "Trends"),
    (Section::Images, "/images", "Images"),
];

/// Pages for administrators.
const OPERATE: [Entry; 10] = [
    (Section::Loads, "/loads", "Loads"),
    (Section::Quarantine, "/quarantine", "Quarantine"),
    (Section::Statistics, "/statistics", "Statistics"),
    (Section::Report, "/report", "Report"),
    (Section::Files, "/files", "Files"),
    (Section::Store, "/store", "Store"),
    (Section::Cache, "/cache", "Cache"),
    (Section::Rights, "/rights", "Rights"),
    (Section::Takedowns, "/takedowns", "Takedowns"),
    (Section::Sql, "/sql", "SQL"),
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
                            @if self.parts.archive { li { (self.entry((Section::Results, "/search", "Search"))) } }
                            (self.menu("Browse", &BROWSE))
                            (self.menu("Operate", &OPERATE))
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

    /// Returns a menu of the pages that the server has, or an empty result. It opens without a
    /// script, and opening it closes the other one.
    fn menu(&self, name: &str, entries: &[Entry]) -> Markup {
        let entries: Vec<Entry> = entries
            .iter()
            .copied()
            .filter(|entry| self.parts.has(entry.0))
            .collect();
        html! {
            @if !entries.is_empty() {
                li {
                    details.submenu name="navigation" {
                        summary { (name) }
                        ul { @for entry in entries { li { (self.entry(entry)) } } }
                    }
                }
            }
        }
    }

    fn entry(&self, (section, address, name): Entry) -> Markup {
        html! { a href=(address) aria-current=[(section == self.section).then_some("page")] { (name) } }
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
                        @if self.parts.archive { (self.entry((Section::About, "/about", "About and API"))) " \u{b7} " }
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
        form.search.large[large] role="search" aria-label="Pages" action="/search" method="get" {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn page(parts: Parts, section: Section) -> String {
        let frame = Frame {
            title: "",
            section,
            parts,
            viewer: None,
            query: "",
            epoch: None,
        };
        frame.around(html! {}).into_string()
    }

    #[test]
    fn readers_get_no_menu_for_administrators() {
        let archive = true;
        let reader = Parts {
            archive,
            ..Parts::default()
        };
        let html = page(reader, Section::Home);
        assert!(html.contains("<summary>Browse</summary>"), "{html}");
        assert!(!html.contains("Operate"), "{html}");
        for (_, address, _) in OPERATE {
            assert!(!html.contains(&format!("\"{address}\"")), "{address}: {html}");
        }
        let (running, sql) = (true, true);
        let admin = Parts {
            archive,
            running,
            sql,
            ..Parts::default()
        };
        let html = page(admin, Section::Sql);
        assert!(html.contains("<summary>Operate</summary>"), "{html}");
        assert!(
            html.contains("<a href=\"/sql\" aria-current=\"page\">SQL</a>"),
            "{html}"
        );
        assert!(
            html.contains("\"/report\"") && !html.contains("\"/store\""),
            "{html}"
        );
    }

    #[test]
    fn a_server_of_sql_alone_has_one_menu() {
        let sql = true;
        let html = page(
            Parts {
                sql,
                ..Parts::default()
            },
            Section::Sql,
        );
        assert!(html.contains("Operate") && !html.contains("Browse"), "{html}");
        assert!(!html.contains("\"/search\""), "{html}");
    }
}
