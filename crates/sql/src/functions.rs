//! SQL functions of one text: parts of URLs and hosts, `base_name` of input names, `iso_639_3` of
//! language tags.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use percent_encoding::percent_decode_str;

use crate::languages::iso_639_3;

/// Returns all functions.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    use TextFunction::{BaseName, Domain, Host, Key, LanguageCode, PublicSuffix, UrlDecode, UrlPath};
    [
        Key,
        Host,
        Domain,
        BaseName,
        PublicSuffix,
        LanguageCode,
        UrlPath,
        UrlDecode,
    ]
    .map(|of| Arc::new(ScalarUDF::new_from_impl(Function::new(of))))
    .into()
}

/// Returns the function for the last part of an input's name.
pub(crate) fn base_name() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Function::new(TextFunction::BaseName)))
}

/// Returns the URL key of a URL (a host without a scheme is treated as http).
pub(crate) fn key_of(url: &str) -> Option<String> {
    urlkey::url_key(url).ok()
}

/// Returns the lower-case host of a URL or of a URL key.
fn host_of(text: &str) -> Option<String> {
    if is_key(text) {
        return Some(urlkey::host_of_key(text));
    }
    urlkey::host_of_url(text).map(str::to_ascii_lowercase)
}

/// Returns the registered domain of a URL or of a URL key.
fn domain_of(text: &str) -> Option<String> {
    if is_key(text) {
        return Some(urlkey::domain_of_key(text));
    }
    key_of(text).map(|key| urlkey::domain_of_key(&key))
}

/// Returns whether a text is a URL key: its host ends with a bracket, and it has no scheme.
fn is_key(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    host.ends_with(')') || host.contains("):")
}

/// Returns the path of a URL, decoded.
fn path_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    Some(percent_decode_str(url.path()).decode_utf8_lossy().into_owned())
}

/// Decodes a part of a URL like a form: `+` is a space.
fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// The function to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextFunction {
    Key,
    Host,
    Domain,
    BaseName,
    PublicSuffix,
    LanguageCode,
    UrlPath,
    UrlDecode,
}

impl TextFunction {
    fn apply(self, text: &str) -> Option<String> {
        match self {
            TextFunction::Key => key_of(text),
            TextFunction::Host => host_of(text),
            TextFunction::Domain => domain_of(text),
            TextFunction::BaseName => Some(format::file_name::base_name(text).to_owned()),
            TextFunction::PublicSuffix => urlkey::suffix_of_host(text).map(str::to_owned),
            TextFunction::LanguageCode => iso_639_3(text),
            TextFunction::UrlPath => path_of(text),
            TextFunction::UrlDecode => Some(decoded(text)),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    of: TextFunction,
    signature: Signature,
}

impl Function {
    fn new(of: TextFunction) -> Function {
        Function {
            of,
            signature: Signature::string(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        match self.of {
            TextFunction::Key => "url_key",
            TextFunction::Host => "host",
            TextFunction::Domain => "domain",
            TextFunction::BaseName => "base_name",
            TextFunction::PublicSuffix => "public_suffix",
            TextFunction::LanguageCode => "iso_639_3",
            // The names that Presto gives them.
            TextFunction::UrlPath => "url_extract_path",
            TextFunction::UrlDecode => "url_decode",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // The signature guarantees exactly one argument.
        let [argument] = args.args.as_slice() else {
            return exec_err!("{} takes one text argument", self.name());
        };
        match argument {
            ColumnarValue::Scalar(value) => {
                let text = value.cast_to(&DataType::Utf8)?;
                let text = match &text {
                    ScalarValue::Utf8(text) => text.as_deref(),
                    _ => None,
                };
                let found = text.and_then(|text| self.of.apply(text));
                Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(found)))
            }
            ColumnarValue::Array(array) => {
                let texts = cast(array, &DataType::Utf8View)?;
                let mut out = StringViewBuilder::with_capacity(texts.len());
                for text in texts.as_string_view() {
                    out.append_option(text.and_then(|text| self.of.apply(text)));
                }
                let out: ArrayRef = Arc::new(out.finish());
                Ok(ColumnarValue::Array(out))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_keys_have_hosts_and_domains() {
        for (text, key, host, domain) in [
            (
                "https://www.Example.co.uk:443/A?b=1",
                Some("uk,co,example)/a?b=1"),
                Some("www.example.co.uk"),
                Some("example.co.uk"),
            ),
            (
                "org,archive,web)/x",
                None,
                Some("web.archive.org"),
                Some("archive.org"),
            ),
            (
                "254,1,168,192)/info",
                None,
                Some("192.168.1.254"),
                Some("192.168.1.254"),
            ),
        ] {
            if key.is_some() {
                assert_eq!(key_of(text).as_deref(), key, "{text}");
            }
            assert_eq!(host_of(text).as_deref(), host, "{text}");
            assert_eq!(domain_of(text).as_deref(), domain, "{text}");
        }
    }

    #[test]
    fn parts_of_urls_are_decoded() {
        for (of, text, expected) in [
            (TextFunction::UrlPath, "http://a.example/b%20c?d=e", Some("/b c")),
            (TextFunction::UrlPath, "no url", None),
            (TextFunction::UrlDecode, "caf%C3%A9+noir", Some("caf\u{e9} noir")),
            (TextFunction::UrlDecode, "100%", Some("100%")),
            (TextFunction::PublicSuffix, "www.example.co.uk", Some("co.uk")),
            (TextFunction::PublicSuffix, "192.0.2.1", None),
        ] {
            assert_eq!(of.apply(text).as_deref(), expected, "{text}");
        }
    }
}
