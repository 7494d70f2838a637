//! Elements of XML responses.

use quick_xml::Writer;
use quick_xml::events::BytesText;

use crate::present;

/// A response that is being written.
pub(in crate::api) type Xml = Writer<Vec<u8>>;

/// Writes an element with a text, without characters that XML does not allow.
pub(in crate::api) fn text(xml: &mut Xml, name: &str, text: &str) -> std::io::Result<()> {
    let shown = present::xml_text(text);
    xml.create_element(name)
        .write_text_content(BytesText::new(&shown))?;
    Ok(())
}
