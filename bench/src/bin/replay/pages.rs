//! Pages as sites have them: a head with styles and scripts, navigation, paragraphs with links, pictures, and a footer.

use std::fmt::Write as _;
use std::path::Path;

use warc::{Compression, Draft, Writer};

/// 2014-01-26T20:06:24Z
const CAPTURED_MS: i64 = 1_390_766_784_000;

/// The same as digits.
pub(crate) const CAPTURED: &str = "20140126200624";

/// A page of the benchmark.
pub(crate) struct Page {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) html: String,
    /// References in it.
    pub(crate) links: usize,
}

/// A small, a middle and a large page.
pub(crate) fn all() -> Vec<Page> {
    [("small", 4 << 10), ("middle", 25 << 10), ("large", 100 << 10)]
        .map(|(name, bytes)| page(name, bytes))
        .into()
}

/// A page of at least so many bytes, with a reference in each 180 or so.
fn page(name: &'static str, bytes: usize) -> Page {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Looms and threads</title>\n\
         <link rel=\"stylesheet\" href=\"/styles/main.css\"><link rel=\"shortcut icon\" href=\"/favicon.ico\">\n\
         <style>body { margin: 0; background: #fff url(/images/paper.png) repeat } .nav li { display: inline }</style>\n\
         <script src=\"/scripts/main.js\"></script><script>var section = 'looms'; if (!section) { location.href = '/'; }</script>\n\
         </head><body class=\"front\">\n",
    );
    for number in 0.. {
        if html.len() >= bytes {
            break;
        }
        // Writing to a string does not fail.
        let _ = match number % 8 {
            0 => writeln!(
                html,
                "<div class=\"teaser\" style=\"background:url('/images/bg{}.gif')\"><img src=\"/images/{number}.jpg\" width=\"120\" height=\"80\" alt=\"A loom\"></div>",
                number % 5
            ),
            1 => writeln!(
                html,
                "<li class=\"nav-item\"><a href=\"http://www.weavers.example/section/{}/\" title=\"To the section\">Section</a></li>",
                number % 12
            ),
            2 => writeln!(
                html,
                "<p class=\"ad\"><a href=\"//ads.example/click?id={number}&amp;to=loom\" target=\"_blank\" onclick=\"count({number})\">A word from those who pay</a></p>"
            ),
            _ => writeln!(
                html,
                "<p>The warp is what the weft goes through, over and under, and number {number} of the threads is \
                 <a href=\"../threads/{number}.html\" class=\"more\">told of at length</a> where the pattern is.</p>"
            ),
        };
    }
    html.push_str("</body></html>\n");
    let links = ["href=", "src=", "url("].map(|word| html.matches(word).count());
    Page {
        name,
        url: format!("http://www.weavers.example/front/{name}"),
        links: links.iter().sum(),
        html,
    }
}

/// Writes the pages as captures.
pub(crate) fn write(file: &Path, pages: &[Page]) -> anyhow::Result<()> {
    let mut writer = Writer::create(file, Compression::GZIP)?;
    for page in pages {
        let message = format!(
            "HTTP/1.1 200 OK\r\nServer: Apache\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{}",
            page.html.len(),
            page.html
        );
        writer.write(&Draft::response(&page.url, CAPTURED_MS, message.into_bytes()))?;
    }
    writer.finish()?;
    Ok(())
}
