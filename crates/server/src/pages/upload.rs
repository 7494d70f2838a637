//! The form that uploads files. It needs the script, which sends each file as the body of a request:
//! the server reads no multipart forms.

use archive::question::StatusBody;
use maud::{Markup, html};

use crate::api::upload::UPLOAD_PATH;
use crate::present;
use crate::state::State;
use crate::upload_folder::ACCEPTED;

/// File names that browsers offer first. The server decides by the whole name.
const OFFERED: &str = ".warc,.arc,.wat,.wet,.wacz,.gz,.zst,.lz4";

/// Shows the form to administrators, if the archive can be changed. `status` is that of the archive,
/// if it is known.
pub(super) fn form(state: &State, status: Option<&StatusBody>) -> Markup {
    let uploads = state.uploads.as_ref().filter(|_| state.is_admin());
    let Some(uploads) = uploads.filter(|_| status.is_some_and(|status| !status.read_only)) else {
        return html! {};
    };
    let bytes_max = uploads.settings.bytes_max;
    html! {
        section aria-labelledby="upload" {
            h2 #upload { "Upload files" }
            // The script shows the form.
            form.stacked data-upload=(UPLOAD_PATH) data-bytes-max=(bytes_max) hidden {
                label for="upload-files" { "Choose files, or drop them on this page" }
                input #upload-files type="file" multiple required accept=(OFFERED);
                label for="upload-collection" { "Collection (optional)" }
                input #upload-collection type="text" name="collection" maxlength="200" autocomplete="off";
                button type="submit" { "Upload and load" }
            }
            p.soft { "Names end in " (ACCEPTED) ". A file has at most " (present::size(bytes_max)) ". It is kept in the archive's directory." }
            noscript {
                p {
                    "Uploads from this page need a script. Without it, send a file with "
                    code { "curl -X POST -T crawl.wacz '" (UPLOAD_PATH) "?name=crawl.wacz'" }
                    " (with the address of this server), or load it on the server's machine: "
                    code { "weft load crawl.wacz" } "."
                }
            }
        }
    }
}
