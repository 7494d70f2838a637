//! Documents in their own origin. A service worker answers their requests, so these stay unchanged.
//! This module changes elements that the worker does not see:
//!
//! | element | change |
//! |---|---|
//! | `iframe`, `frame` | the address, if it leads to another site; a `srcdoc` begins with the script of documents |
//! | `link` that only opens connections, speculation rules | removed |
//! | `meta` with a policy or a cookie | removed: the policy does not know the addresses of frames |
//! | `meta` with a refresh, `base` | the address, if it names a site |
//! | `template` with `shadowrootmode` | the attribute is renamed, because the script of documents could not follow the tree. The script makes the tree |

use lol_html::send::Element;

use super::{State, set};
use crate::elements;
use crate::origin::Site;

/// Attribute of a declared shadow tree (HTML, section 4.12.3), and its name until the script makes
/// the tree.
const SHADOW_MODE: &str = "shadowrootmode";
const LATER_SHADOW_MODE: &str = "data-shadowrootmode";

impl State {
    /// Prepares an element of a document in its own origin.
    pub(super) fn prepare(&mut self, tag: &str, element: &mut Element<'_, '_>) {
        match tag {
            "iframe" | "frame" => self.prepare_frame(element),
            "link" => {
                let rel = element.get_attribute("rel").unwrap_or_default();
                if elements::link(&htmlize::unescape_attribute(rel.as_str()), "").is_none() {
                    element.remove();
                }
            }
            "meta" => self.prepare_meta(element),
            "base" if self.is_of_the_document(element) => self.prepare_base(element),
            "script" => {
                let kind = element.get_attribute("type").unwrap_or_default();
                let kind = htmlize::unescape_attribute(kind.as_str());
                if kind.trim_ascii().eq_ignore_ascii_case("speculationrules") {
                    element.remove();
                }
            }
            "template" => {
                self.template(element);
                if let Some(mode) = element.get_attribute(SHADOW_MODE) {
                    element.remove_attribute(SHADOW_MODE);
                    set(element, LATER_SHADOW_MODE, &mode);
                }
            }
            _ => {}
        }
    }

    fn prepare_base(&mut self, element: &mut Element<'_, '_>) {
        let Some(href) = element.get_attribute("href") else {
            return;
        };
        // Only the first one with an address counts (HTML, section 4.2.3).
        if std::mem::replace(&mut self.has_base, true) {
            return;
        }
        self.prepare_reference(element, "href");
        self.scope.set_base(&htmlize::unescape_attribute(href.as_str()));
    }

    fn prepare_frame(&self, element: &mut Element<'_, '_>) {
        self.prepare_reference(element, "src");
        let (Some(document), Some(origins)) = (element.get_attribute("srcdoc"), self.scope.origins()) else {
            return;
        };
        let sandbox = element.get_attribute("sandbox");
        let has_own_origin = sandbox.is_none_or(|flags| {
            htmlize::unescape_attribute(flags.as_str())
                .split_ascii_whitespace()
                .any(|flag| flag.eq_ignore_ascii_case("allow-same-origin"))
        });
        let is_apart = !has_own_origin || element.has_attribute("credentialless");
        let mut head = if is_apart {
            origins.policy_tag()
        } else {
            String::new()
        };
        // The script gives documents in attributes the same head.
        let site = Site::of(self.scope.url()).map_or_else(String::new, |site| format!("{site}/"));
        head.push_str(&origins.head_tags("", &site, ""));
        // The document is already escaped. The writer escapes quotation marks.
        let prepared = format!("{}{document}", head.replace('&', "&amp;"));
        let _ = element.set_attribute("srcdoc", &prepared);
    }

    fn prepare_meta(&self, element: &mut Element<'_, '_>) {
        let kind = element.get_attribute("http-equiv").unwrap_or_default();
        let kind = htmlize::unescape_attribute(kind.as_str());
        match kind.trim_ascii().to_ascii_lowercase().as_str() {
            "content-security-policy"
            | "content-security-policy-report-only"
            | "set-cookie"
            | "x-dns-prefetch-control" => element.remove(),
            "refresh" => {
                let content = element.get_attribute("content").unwrap_or_default();
                let content = htmlize::unescape_attribute(content.as_str());
                let led = elements::refresh(&content)
                    .and_then(|(before, url)| Some((before, self.scope.lead(url)?)));
                if let Some((before, address)) = led {
                    let before = before.trim_end_matches(['"', '\'']);
                    set(element, "content", &format!("{before}{address}"));
                }
            }
            _ => {}
        }
    }

    /// Changes a reference that leads to another site.
    fn prepare_reference(&self, element: &mut Element<'_, '_>, name: &str) {
        let value = element.get_attribute(name).unwrap_or_default();
        if let Some(address) = self.scope.lead(&htmlize::unescape_attribute(value.as_str())) {
            set(element, name, &address);
        }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use crate::origin::{Label, Origins, Site};
    use crate::{Markup, Rewriter, Scope, Scripts};

    const OWN: &str = "http://http--a-example.20140126200624.r.example";
    const OTHER: &str = "http://https--b-example.20140126200624.r.example";

    fn sent(html: &str, markup: Markup) -> String {
        let url = Url::parse("http://a.example/p?q&r").expect("a URL");
        let label = Label::Site(Site::of(&url).expect("a site"));
        let origins = Origins::new("http", &label, "20140126200624", "r.example");
        let scope = Scope::new("20140126200624", url).in_origin(origins);
        let mut rewriter = Rewriter::new(scope, markup, Scripts::On).expect("a rewriter");
        let mut rest = html.as_bytes();
        let mut sent = Vec::new();
        while !rest.is_empty() {
            sent.extend(rewriter.write(&mut rest).expect("rewritten"));
        }
        sent.extend(rewriter.end().expect("an end"));
        String::from_utf8(sent).expect("text")
    }

    fn head(attributes: &str) -> String {
        head_of("http://a.example/p?q&amp;r", "20140126200624", attributes)
    }

    fn head_of(url: &str, time: &str, attributes: &str) -> String {
        format!(
            "<script{attributes} src=\"{OWN}/__weft/head.js\" data-url=\"{url}\" data-time=\"{time}\"></script>\
             <script{attributes}>{}</script>",
            crate::origin::CHECK
        )
    }

    /// Checks what becomes of markup after the script.
    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(
            sent(&format!("<p>{html}"), Markup::Page),
            format!("{}<p>{expected}", head(""))
        );
    }

    #[test]
    fn a_document_only_gets_its_script() {
        for html in [
            "<img src=http://b.example/x srcset='//b.example/y 2x' integrity=z><a ping=x href=https://b.example/>",
            "<style>@import 'http://b.example/';</style><script>location = 'http://b.example/'</script>",
            "<link rel=stylesheet href=//b.example/><link rel=preload as=style href=x>",
            "<iframe src=/own></iframe><iframe src=?x></iframe><iframe src='javascript:1'></iframe><iframe></iframe>",
            "<noscript><img src=x></noscript><svg><use href=x /></svg><meta name=x content='&amp;'><base target=_top>",
            "<BR/ a = 'b'\t><!-- x --><template><p></template>&nbsp;\0",
        ] {
            check(html, html);
        }
        assert_eq!(
            sent("<!doctype html>\n<html a><HEAD b><title>", Markup::Page),
            format!("<!doctype html>\n<html a><HEAD b>{}<title>", head(""))
        );
        assert_eq!(
            sent(
                "<html xmlns='http://www.w3.org/1999/xhtml'><head/></html>",
                Markup::Xhtml
            ),
            format!(
                "<html xmlns='http://www.w3.org/1999/xhtml'>{}<head/></html>",
                head(super::super::XML_ATTRIBUTES)
            )
        );
    }

    #[test]
    fn what_the_worker_does_not_see_is_changed() {
        for (html, expected) in [
            (
                "<iframe src='https://b.example/x?y&amp;z#f'></iframe>",
                format!("<iframe src=\"{OTHER}/x?y&amp;z#f\"></iframe>"),
            ),
            ("<frame src=//a.example/x>", format!("<frame src=\"{OWN}/x\">")),
            (
                "<base href='http://a.example/d/'><iframe src=x></iframe>",
                format!("<base href=\"{OWN}/d/\"><iframe src=x></iframe>"),
            ),
            (
                "<meta http-equiv=Refresh content='0; url=https://b.example/'>",
                format!("<meta http-equiv=Refresh content=\"0; url={OTHER}/\">"),
            ),
            (
                "<link rel='Preconnect x' href=//b.example><script type=SpeculationRules>{}</script>",
                String::new(),
            ),
            (
                "<meta http-equiv=Content-Security-Policy content=x><meta http-equiv=set-cookie content=x>",
                String::new(),
            ),
            (
                "<template shadowrootmode=closed><p></template>",
                "<template data-shadowrootmode=\"closed\"><p></template>".to_owned(),
            ),
        ] {
            check(html, &expected);
        }
    }

    #[test]
    fn a_document_in_an_attribute_begins_with_the_script() {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
        let head = head_of("http://a.example/", "", "");
        check(
            "<iframe srcdoc='<p>&quot;&amp;lt;'></iframe>",
            &format!("<iframe srcdoc=\"{}<p>&quot;&amp;lt;\"></iframe>", escaped(&head)),
        );
        let policy = crate::origin::policy_tag(OWN);
        for attributes in ["sandbox", "sandbox='x-allow-same-origin'", "credentialless"] {
            check(
                &format!("<iframe {attributes} srcdoc=x></iframe>"),
                &format!(
                    "<iframe {attributes} srcdoc=\"{}x\"></iframe>",
                    escaped(&format!("{policy}{head}"))
                ),
            );
        }
        check(
            "<iframe sandbox='Allow-Same-Origin' srcdoc=x></iframe>",
            &format!(
                "<iframe sandbox='Allow-Same-Origin' srcdoc=\"{}x\"></iframe>",
                escaped(&head)
            ),
        );
    }
}
