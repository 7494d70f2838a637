//! The addresses of archived sites at one time, for the documents of one of them.

use url::Url;
use url::form_urlencoded::byte_serialize;

use super::site::{Label, Site};
use super::{GET_PATH, HEAD_PATH, TO_PATH};

/// Where browsers reach archived sites at one time, and the site of a document.
///
/// ```
/// use replay::origin::{Label, Origins, Site};
/// use url::Url;
///
/// let url = |text: &str| Url::parse(text).unwrap();
/// let label = Label::Site(Site::of(&url("http://a.example/")).unwrap());
/// let origins = Origins::new("http", &label, "20140126200624", "replay.localhost:8081");
/// assert_eq!(
///     origins.address(&url("https://b.example/c?d#e")).as_deref(),
///     Some("http://https--b-example.20140126200624.replay.localhost:8081/c?d#e")
/// );
/// ```
#[derive(Debug, Clone)]
pub struct Origins {
    scheme: String,
    /// The name of all sites at this time, and the port: `.20140126200624.replay.localhost:8081`.
    rest: String,
    /// Origin of the document.
    own: String,
    /// Parameters of the request for a resource, which a redirect repeats. `None` for a frame.
    resource: Option<String>,
}

impl Origins {
    /// Returns the addresses for documents of the host with `label`. `authority` is the name of the
    /// archive, and the port.
    pub fn new(scheme: &str, label: &Label, time: &str, authority: &str) -> Origins {
        let rest = format!(".{time}.{authority}");
        Origins {
            scheme: scheme.to_owned(),
            own: format!("{scheme}://{}{rest}", label.text()),
            rest,
            resource: None,
        }
    }

    /// Returns the addresses for redirects of a resource, with these parameters of its request.
    #[must_use]
    pub fn of_resource(self, parameters: String) -> Origins {
        Origins {
            resource: Some(parameters),
            ..self
        }
    }

    /// Returns the origin of the document.
    pub fn own(&self) -> &str {
        &self.own
    }

    /// Returns the address of a URL: a name that may be a digest, and path, query and fragment
    /// unchanged. Returns `None` for URLs that are not of the web.
    pub fn address(&self, url: &Url) -> Option<String> {
        let site = Site::of(url)?;
        Some(format!("{}{}", self.origin_of(&site.label()), rest_of(url)))
    }

    /// Like [`Origins::address`], but a site that has a digest is reached by a redirect, because
    /// the server must learn the digest.
    pub fn reference(&self, url: &Url) -> Option<String> {
        match Site::of(url)?.spelled() {
            Some(label) => Some(format!("{}{}", self.origin_of(&label), rest_of(url))),
            None => Some(format!("{}{}", self.own, redirect_path(url))),
        }
    }

    /// Returns the address that a redirect to `url` leads to: for a frame that of its site, for a
    /// resource the request of the worker for it.
    pub(crate) fn redirected(&self, url: &Url) -> Option<String> {
        let Some(parameters) = &self.resource else {
            return self.reference(url);
        };
        let mut url = url.clone();
        url.set_fragment(None);
        // A site may read its own resources without saying so.
        let is_own = self.origin_of(&Site::of(&url)?.label()) == self.own;
        let (place, asked) = if is_own {
            (format!("{}{GET_PATH}", self.own), rest_of(&url))
        } else {
            (format!("{}{}", self.others(), path_of_other(&url)), url.as_str())
        };
        let asked: String = byte_serialize(asked.as_bytes()).collect();
        Some(format!("{place}?{parameters}&url={asked}"))
    }

    /// Returns the origin that answers for other sites.
    pub fn others(&self) -> String {
        self.origin_of(&Label::Others.text())
    }

    fn origin_of(&self, label: &str) -> String {
        format!("{}://{label}{}", self.scheme, self.rest)
    }

    /// Returns the elements that run [`HEAD`](super::HEAD) in a document that was captured at
    /// `time` from `url`, with more attributes before their own. The second stops the document if the
    /// first could not be loaded.
    pub fn head_tags(&self, attributes: &str, url: &str, time: &str) -> String {
        format!(
            "<script{attributes} src=\"{}{HEAD_PATH}\" data-url=\"{}\" data-time=\"{}\"></script>\
             <script{attributes}>{CHECK}</script>",
            self.own,
            attribute(url),
            attribute(time)
        )
    }

    /// Returns the policy for a document of another origin, which the worker does not serve.
    pub(crate) fn policy_tag(&self) -> String {
        policy_tag(&self.own)
    }
}

/// A script that stops a document in which [`HEAD`](super::HEAD) did not run.
pub(crate) const CHECK: &str = "document.currentScript.remove();self.weftHead?delete self.weftHead:stop()";

/// Returns the policy for a document that loads nothing but the script of `origin`.
pub(crate) fn policy_tag(origin: &str) -> String {
    format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src data: blob: 'unsafe-inline' 'unsafe-eval'; \
         frame-src 'none'; object-src 'none'; form-action 'none'; script-src 'unsafe-inline' 'unsafe-eval' data: blob: \
         {origin}\">"
    )
}

/// Returns path and query of the redirect to the address of `url`.
fn redirect_path(url: &Url) -> String {
    let url: String = byte_serialize(url.as_str().as_bytes()).collect();
    format!("{TO_PATH}?url={url}")
}

/// Returns the path at which the worker asks for a resource of another site. It ends like the URL,
/// because browsers resolve the references of a style against it.
fn path_of_other(url: &Url) -> String {
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    format!("{GET_PATH}/{}/{host}{}", url.scheme(), url.path())
}

/// Returns everything of a URL after its origin.
fn rest_of(url: &Url) -> &str {
    &url[url::Position::BeforePath..]
}

/// Returns a value for an attribute in quotation marks, as browsers write it.
fn attribute(value: &str) -> String {
    value.replace('&', "&amp;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_path_and_query() {
        let url = |text: &str| Url::parse(text).expect("a URL");
        let site = Site::of(&url("http://a.example")).expect("a site");
        let origins = Origins::new("https", &Label::Site(site), "20140126200624", "r.example");
        let address = |text: &str| origins.address(&url(text));
        let rest = "20140126200624.r.example";
        assert_eq!(origins.own(), format!("https://http--a-example.{rest}"));
        assert_eq!(origins.others(), format!("https://web.{rest}"));
        for path in ["/", "/a'b/%41;x=(1)?q={}|^&r=a+b%20c#f", "//x//?", "/?"] {
            assert_eq!(
                address(&format!("http://b.example:81{path}")),
                Some(format!("https://http--b-example--81.{rest}{path}"))
            );
        }
        assert_eq!(address("mailto:a@b.example"), None);
        let resource = origins.clone().of_resource("for=image".to_owned());
        for (origins, expected) in [
            (&origins, format!("https://http--b-example.{rest}/c?d#e")),
            (
                &resource,
                format!(
                    "https://web.{rest}/__weft/get/http/b.example/c?for=image&url=http%3A%2F%2Fb.example%2Fc%3Fd"
                ),
            ),
        ] {
            assert_eq!(origins.redirected(&url("http://b.example/c?d#e")), Some(expected));
        }
        let long = url("http://a_b.example/c?d=e&f");
        assert_eq!(
            origins.reference(&long),
            Some(format!(
                "https://http--a-example.{rest}/__weft/to?url=http%3A%2F%2Fa_b.example%2Fc%3Fd%3De%26f"
            ))
        );
    }
}
