//! The needed fields of the JSON of WAT, undecoded.

use super::json::{Json, Name, Result, Text};
use crate::LinkKind;
use crate::links::is_nofollow;

/// One WAT record. Texts are decoded only when they are used.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    warc_type: Option<Text<'a>>,
    pub(super) target_uri: Option<Text<'a>>,
    pub(super) date: Option<Text<'a>>,
    pub(super) truncated: Option<Text<'a>>,
    pub(super) id: Option<Text<'a>>,
    pub(super) concurrent: Option<Text<'a>>,
    pub(super) payload_digest: Option<Text<'a>>,
    pub(super) entity_digest: Option<Text<'a>>,
    /// Method of a request.
    pub(super) method: Option<Text<'a>>,
    status: Option<Text<'a>>,
    /// Length of the payload, as counted by the writer of WAT.
    entity_length: Option<Text<'a>>,
    pub(super) content_range: Option<Text<'a>>,
    pub(super) content_type: Option<Text<'a>>,
    pub(super) content_language: Option<Text<'a>>,
    pub(super) location: Option<Text<'a>>,
    /// The `Refresh` of the HTTP header.
    pub(super) refresh_header: Option<Text<'a>>,
    /// Whether the writer recognised the payload as HTML.
    pub(super) has_html: bool,
    pub(super) title: Option<Text<'a>>,
    pub(super) base: Option<Text<'a>>,
    /// Content of the first `meta http-equiv=refresh`.
    pub(super) refresh: Option<Text<'a>>,
    pub(super) robots: Option<Text<'a>>,
    pub(super) html_language: Option<Text<'a>>,
    pub(super) meta_language: Option<Text<'a>>,
    pub(super) canonical: Option<Text<'a>>,
    /// `a` and `area` only.
    pub(super) links: Vec<LinkEntry<'a>>,
}

/// One entry of `Links`.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LinkEntry<'a> {
    pub(super) reference: Text<'a>,
    pub(super) text: Option<Text<'a>>,
    pub(super) title: Option<Text<'a>>,
    pub(super) alt: Option<Text<'a>>,
    rel: Option<Text<'a>>,
    is_area: bool,
}

impl LinkEntry<'_> {
    pub(super) fn is_nofollow(&self) -> bool {
        is_nofollow(self.rel.map(|rel| rel.raw))
    }

    pub(super) fn kind(&self) -> LinkKind {
        if self.is_area { LinkKind::Area } else { LinkKind::A }
    }
}

impl<'a> Envelope<'a> {
    pub(super) fn parse(block: &'a [u8]) -> Result<Envelope<'a>> {
        let mut envelope = Envelope::default();
        Json::new(block).object(|json, name| match name {
            b"Envelope" => envelope.read(json),
            _ => json.skip(),
        })?;
        Ok(envelope)
    }

    pub(super) fn is_response(&self) -> bool {
        self.warc_type
            .is_some_and(|word| word.raw.eq_ignore_ascii_case(b"response"))
    }

    pub(super) fn is_request(&self) -> bool {
        self.warc_type
            .is_some_and(|word| word.raw.eq_ignore_ascii_case(b"request"))
    }

    /// Returns whether the payload is empty, as far as WAT shows.
    pub(super) fn is_empty(&self) -> bool {
        self.entity_length
            .is_some_and(|length| length.decode().trim() == "0")
    }

    /// Returns the HTTP status, or 0 if it is missing.
    pub(super) fn status(&self) -> u16 {
        let status = self
            .status
            .map(Text::decode)
            .and_then(|text| text.trim().parse().ok());
        status.filter(|status| (100..1000).contains(status)).unwrap_or(0)
    }

    fn read(&mut self, json: &mut Json<'a>) -> Result<()> {
        json.object(|json, name| match name {
            b"WARC-Header-Metadata" => self.read_warc_header(json),
            b"Payload-Metadata" => json.object(|json, name| match name {
                b"HTTP-Response-Metadata" => self.read_http(json),
                b"HTTP-Request-Metadata" => self.read_request(json),
                _ => json.skip(),
            }),
            _ => json.skip(),
        })
    }

    fn read_warc_header(&mut self, json: &mut Json<'a>) -> Result<()> {
        json.object(|json, name| {
            let slot = match name {
                b"WARC-Type" => &mut self.warc_type,
                b"WARC-Target-URI" => &mut self.target_uri,
                b"WARC-Date" => &mut self.date,
                b"WARC-Truncated" => &mut self.truncated,
                b"WARC-Record-ID" => &mut self.id,
                b"WARC-Concurrent-To" => &mut self.concurrent,
                b"WARC-Payload-Digest" => &mut self.payload_digest,
                _ => return json.skip(),
            };
            *slot = json.scalar()?;
            Ok(())
        })
    }

    fn read_request(&mut self, json: &mut Json<'a>) -> Result<()> {
        json.object(|json, name| match name {
            b"Request-Message" => json.object(|json, name| match name {
                b"Method" => json.scalar().map(|method| self.method = method),
                _ => json.skip(),
            }),
            _ => json.skip(),
        })
    }

    fn read_http(&mut self, json: &mut Json<'a>) -> Result<()> {
        json.object(|json, name| match name {
            b"Response-Message" => json.object(|json, name| match name {
                b"Status" => json.scalar().map(|status| self.status = status),
                _ => json.skip(),
            }),
            b"Headers" => self.read_http_headers(json),
            b"Entity-Length" => json.scalar().map(|length| self.entity_length = length),
            b"Entity-Digest" => json.scalar().map(|digest| self.entity_digest = digest),
            b"HTML-Metadata" => {
                self.has_html = true;
                self.read_html(json)
            }
            _ => json.skip(),
        })
    }

    fn read_http_headers(&mut self, json: &mut Json<'a>) -> Result<()> {
        json.object(|json, name| {
            let slot = match name.len() {
                12 if name.eq_ignore_ascii_case(b"content-type") => &mut self.content_type,
                16 if name.eq_ignore_ascii_case(b"content-language") => &mut self.content_language,
                8 if name.eq_ignore_ascii_case(b"location") => &mut self.location,
                7 if name.eq_ignore_ascii_case(b"refresh") => &mut self.refresh_header,
                13 if name.eq_ignore_ascii_case(b"content-range") => &mut self.content_range,
                _ => return json.skip(),
            };
            let value = json.scalar()?;
            *slot = slot.or(value);
            Ok(())
        })
    }

    fn read_html(&mut self, json: &mut Json<'a>) -> Result<()> {
        json.object(|json, name| match name {
            b"Links" => json.array(|json| read_link(json, &mut self.links)),
            b"Head" => json.object(|json, name| match name {
                b"Title" => json.scalar().map(|title| self.title = title),
                b"Base" => json.scalar().map(|base| self.base = base),
                b"Metas" => json.array(|json| self.read_meta(json)),
                b"Link" => json.array(|json| self.read_head_link(json)),
                _ => json.skip(),
            }),
            _ => json.skip(),
        })
    }

    fn read_meta(&mut self, json: &mut Json<'a>) -> Result<()> {
        let (mut name, mut http_equiv, mut content) = (None, None, None);
        json.object(|json, field| {
            let slot = match field {
                b"name" => &mut name,
                b"http-equiv" => &mut http_equiv,
                b"content" => &mut content,
                _ => return json.skip(),
            };
            *slot = json.scalar()?;
            Ok(())
        })?;
        let is = |text: Option<Text>, word: &[u8]| {
            text.is_some_and(|t| t.raw.trim_ascii().eq_ignore_ascii_case(word))
        };
        let slot = if is(http_equiv, b"refresh") {
            &mut self.refresh
        } else if is(http_equiv, b"content-language") {
            &mut self.meta_language
        } else if is(name, b"robots") {
            &mut self.robots
        } else if is(name, b"HTML@/lang") || is(name, b"HTML@\\/lang") || is(name, b"HTML@/xml:lang") {
            &mut self.html_language
        } else {
            return Ok(());
        };
        *slot = slot.or(content);
        Ok(())
    }

    fn read_head_link(&mut self, json: &mut Json<'a>) -> Result<()> {
        let (mut rel, mut reference) = (None, None);
        json.object(|json, field| {
            let slot = match field {
                b"rel" => &mut rel,
                b"url" | b"href" => &mut reference,
                _ => return json.skip(),
            };
            *slot = json.scalar()?;
            Ok(())
        })?;
        let is_canonical = |rel: Text| {
            rel.raw
                .split(u8::is_ascii_whitespace)
                .any(|w| w.eq_ignore_ascii_case(b"canonical"))
        };
        if rel.is_some_and(is_canonical) {
            self.canonical = self.canonical.or(reference);
        }
        Ok(())
    }
}

const PATH: Name = Name::of(b"path");
const URL: Name = Name::of(b"url");
const HREF: Name = Name::of(b"href");
const TEXT: Name = Name::of(b"text");
const TITLE: Name = Name::of(b"title");
const ALT: Name = Name::of(b"alt");
const REL: Name = Name::of(b"rel");

/// Reads an entry of `Links`, and adds it to `links` if it describes an `a` or `area`.
fn read_link<'a>(json: &mut Json<'a>, links: &mut Vec<LinkEntry<'a>>) -> Result<()> {
    let mut link = LinkEntry::default();
    let (mut is_wanted, mut has_reference) = (false, false);
    let is_read = json.strings(|name, value| {
        match name {
            PATH => {
                is_wanted = is_path_of_link(value);
                link.is_area = is_path_of_area(value);
                return is_wanted;
            }
            URL | HREF => {
                link.reference = value;
                has_reference = true;
            }
            TEXT => link.text = Some(value),
            TITLE => link.title = Some(value),
            ALT => link.alt = Some(value),
            REL => link.rel = Some(value),
            _ => {}
        }
        true
    });
    if !is_read {
        return read_link_of_any_form(json, links);
    }
    if is_wanted && has_reference {
        links.push(link);
    }
    Ok(())
}

/// As [`read_link`], for an entry in any form.
fn read_link_of_any_form<'a>(json: &mut Json<'a>, links: &mut Vec<LinkEntry<'a>>) -> Result<()> {
    let mut link = LinkEntry::default();
    let (mut is_wanted, mut has_reference) = (false, false);
    json.object(|json, name| {
        let slot = match name {
            b"path" => {
                let path = json.scalar()?.unwrap_or_default();
                is_wanted = is_path_of_link(path);
                link.is_area = is_path_of_area(path);
                return if is_wanted { Ok(()) } else { json.skip_fields() };
            }
            b"url" | b"href" => {
                if let Some(reference) = json.scalar()? {
                    link.reference = reference;
                    has_reference = true;
                }
                return Ok(());
            }
            b"text" => &mut link.text,
            b"title" => &mut link.title,
            b"alt" => &mut link.alt,
            b"rel" => &mut link.rel,
            _ => return json.skip(),
        };
        *slot = json.scalar()?;
        Ok(())
    })?;
    if is_wanted && has_reference {
        links.push(link);
    }
    Ok(())
}

/// Returns whether a path is that of an `a` or `area`. Slashes may be escaped, as in all JSON.
fn is_path_of_link(path: Text<'_>) -> bool {
    match path.raw.len() {
        // Compared as an array, which compiles without a call.
        7 => path.raw.first_chunk() == Some(b"A@/href"),
        8 | 10 | 11 => matches!(path.raw, b"A@\\/href" | b"AREA@/href" | b"AREA@\\/href"),
        _ => false,
    }
}

/// Returns whether the path of a link is that of an `area`.
fn is_path_of_area(path: Text<'_>) -> bool {
    path.raw.len() >= 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that an entry is read the same in its usual form and, with a blank at the beginning,
    /// in any form.
    fn check(entry: &str, reference: Option<&str>) {
        let read = |input: &str| {
            let mut json = Json::new(input.as_bytes());
            let mut links = Vec::new();
            read_link(&mut json, &mut links).unwrap();
            let link = links.pop()?;
            let texts = [Some(link.reference), link.text, link.title, link.alt, link.rel];
            Some(texts.map(|text| text.map(|text| text.decode().into_owned())))
        };
        let link = read(&format!("{{{entry}}},        "));
        assert_eq!(link, read(&format!("{{ {entry}}},        ")), "{entry}");
        assert_eq!(
            link.and_then(|[reference, ..]| reference).as_deref(),
            reference,
            "{entry}"
        );
    }

    #[test]
    fn entries_of_links() {
        check(
            r#""path":"A@/href","url":"/x","text":"a","title":"b","alt":"c","rel":"d","e":"f""#,
            Some("/x"),
        );
        check(r#""path":"A@\/href","href":"\/x","text":"\"}""#, Some("/x"));
        check(
            r#""text":"a","url":"/x","url":"/y","path":"AREA@/href""#,
            Some("/y"),
        );
        check(r#""text":"a","url":"/x","path":"IMG@/src","alt":"}""#, None);
        check(r#""path":"A@/href","url":"/x","path":"IMG@/src""#, None);
        check(r#""path":"IMG@/src","path":"A@/href","url":"/x""#, None);
        check(r#""path":"A@/href","text":"a""#, None);
        check(r#""url":"/x","text":"a""#, None);
        check(r#""path":"A@/href","url":["/x"],"text":1"#, Some("/x"));
        check(r#""path":"A@/href","url":{},"text":{"a":["}"]}"#, None);
        check(
            "\"path\0\":\"IMG@/src\",\"path\":\"A@/href\",\"url\":\"/x\"",
            Some("/x"),
        );
    }
}
