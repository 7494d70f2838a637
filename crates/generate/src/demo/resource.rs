//! What a server of the demo's site answers for one address.

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    /// The address to which a redirect leads.
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Content type of pages.
pub(super) const HTML: &str = "text/html; charset=utf-8";

impl Resource {
    /// Creates the answer with a page.
    pub(super) fn page(url: &str, html: String) -> Resource {
        Resource::file(url, HTML, html.into_bytes())
    }

    /// Creates the answer with a file.
    pub(super) fn file(url: &str, content_type: &'static str, body: impl Into<Vec<u8>>) -> Resource {
        Resource {
            url: url.to_owned(),
            status: 200,
            content_type,
            location: None,
            body: body.into(),
        }
    }

    /// Creates the answer of an address that was moved to another.
    pub(super) fn moved(url: &str, location: &str) -> Resource {
        let text = format!("<p>Moved to <a href=\"{location}\">{location}</a>.</p>\n");
        Resource {
            status: 301,
            location: Some(location.to_owned()),
            ..Resource::page(url, text)
        }
    }

    /// Creates the answer of an address that does not exist.
    pub(super) fn missing(url: &str, html: String) -> Resource {
        Resource {
            status: 404,
            ..Resource::page(url, html)
        }
    }

    /// Returns whether this is a page, not a file, redirect or error.
    pub(super) fn is_page(&self) -> bool {
        self.status == 200 && self.content_type == HTML
    }

    /// Returns the start of the HTTP response, with the empty line.
    pub(super) fn http_head(&self, date: &str) -> String {
        let reason = match self.status {
            301 => "Moved Permanently",
            404 => "Not Found",
            _ => "OK",
        };
        let mut head = format!("HTTP/1.1 {} {reason}\r\nDate: {date}\r\n", self.status);
        if let Some(location) = &self.location {
            head.push_str(&format!("Location: {location}\r\n"));
        }
        head.push_str(&format!(
            "Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
            self.content_type,
            self.body.len()
        ));
        head
    }
}
