use super::*;
use crate::html;
use crate::mime::Markup;

const PAGE: &str = "http://example.com/dir/page.html";

fn images(html: &str) -> Vec<Image> {
    let document = html::read(html, Markup::Html, true);
    let resolver = Resolver::new(PAGE, document.base.as_deref()).unwrap();
    let text = document.text.finish().0;
    resolve(document.images.into_list(), &resolver, &text)
}

/// Returns address, alternative text, title and caption of each image.
fn labels(html: &str) -> Vec<[String; 4]> {
    let labels = |image: Image| [image.url, image.alt, image.title, image.caption];
    images(html).into_iter().map(labels).collect()
}

fn check_labels(html: &str, expected: &[[&str; 4]]) {
    assert_eq!(labels(html), expected, "{html}");
}

#[test]
fn addresses_and_labels() {
    check_labels("<img>", &[]);
    check_labels("<img src=''><img src='data:image/gif;base64,AA=='>", &[]);
    check_labels(
        "<img src=a.png alt=' A  red\nbicycle ' title=Tooltip>",
        &[["http://example.com/dir/a.png", "A red bicycle", "Tooltip", ""]],
    );
    check_labels(
        "<base href=/files/><img src='b.png#x'><image src=//cdn.example/c>",
        &[
            ["http://example.com/files/b.png", "", "", ""],
            ["http://cdn.example/c", "", "", ""],
        ],
    );
    check_labels(
        "<svg><image href=d.png /></svg><template><img src=e></template>",
        &[],
    );
}

#[test]
fn one_image_for_each_address() {
    check_labels(
        "<img src=a><img src=a alt=first title=t><img src=/dir/a alt=second><img src=b>",
        &[
            ["http://example.com/dir/a", "first", "t", ""],
            ["http://example.com/dir/b", "", "", ""],
        ],
    );
    let spacers = "<img src=a width=1 height=1><img src=b height=2><img src=c width=3>";
    check_labels(spacers, &[["http://example.com/dir/c", "", "", ""]]);
}

#[test]
fn images_that_are_loaded_late_or_have_several_sizes() {
    let check = |html: &str, url: &str, sources: &[&str]| {
        let found = images(html);
        let image = found.first().unwrap();
        let full = |name: &str| format!("http://example.com/dir/{name}");
        let expected: Vec<String> = sources.iter().map(|name| full(name)).collect();
        assert_eq!(
            (image.url.as_str(), &image.sources),
            (full(url).as_str(), &expected),
            "{html}"
        );
        assert_eq!(found.len(), 1, "{html}");
    };
    check(
        "<img src=blank.gif data-src=real.jpg>",
        "real.jpg",
        &["blank.gif"],
    );
    check("<img src=data:, data-original=real.jpg>", "real.jpg", &[]);
    check("<img srcset='s.jpg 1x, l.jpg 2x' src=s.jpg>", "s.jpg", &["l.jpg"]);
    check(
        "<picture><source srcset=a.avif><source srcset='a.webp 1x'><img src=a.jpg></picture>",
        "a.jpg",
        &["a.avif", "a.webp"],
    );
    check("<video><source srcset=v></video><img src=a.jpg>", "a.jpg", &[]);
    // The image that a script would load, and the same one for readers without scripts.
    check(
        "<img data-src=k.png><noscript><img src=k.png></noscript>",
        "k.png",
        &[],
    );
}

#[test]
fn captions_of_the_same_figure() {
    check_labels(
        "<figure><img src=a><img src=b><figcaption>Two <b>boats</b></figcaption></figure><img src=c>",
        &[
            ["http://example.com/dir/a", "", "", "Two boats"],
            ["http://example.com/dir/b", "", "", "Two boats"],
            ["http://example.com/dir/c", "", "", ""],
        ],
    );
    check_labels(
        "<figure><figcaption>Outer</figcaption><figure><img src=a><figcaption>Inner</figure><img src=b></figure>",
        &[
            ["http://example.com/dir/a", "", "", "Inner"],
            ["http://example.com/dir/b", "", "", "Outer"],
        ],
    );
    check_labels(
        "<figure><img src=a><figcaption>Not closed",
        &[["http://example.com/dir/a", "", "", "Not closed"]],
    );
}

#[test]
fn words_near_an_image() {
    let check = |html: &str, heading: &str, before: &str, after: &str| {
        let found = images(html);
        let image = found.first().unwrap();
        let words = (
            image.heading.as_str(),
            image.before.as_str(),
            image.after.as_str(),
        );
        assert_eq!(words, (heading, before, after), "{html}");
    };
    check("<img src=a>", "", "", "");
    check("one <img src=a> two", "", "one", "two");
    check(
        "<h1>Boats</h1><h2>Red ones</h2><p>In the harbour:</p><img src=a><p>A boat.</p><h2>Blue</h2>",
        "Red ones",
        "Boats Red ones In the harbour:",
        "A boat. Blue",
    );
    let (words, chars) = ("word ".repeat(100), "字".repeat(300));
    let found = images(&format!("{words}<img src=a>{words}"));
    assert_eq!(found[0].before, "word ".repeat(40).trim_end());
    assert_eq!(found[0].after, "word ".repeat(40).trim_end());
    let found = images(&format!("{chars}<img src=a>{chars}"));
    assert_eq!(found[0].before.chars().count(), 200);
    assert_eq!(found[0].after.chars().count(), 200);
}

#[test]
fn limits() {
    let many: String = (0..IMAGES_MAX + 9).map(|n| format!("<img src={n}>")).collect();
    let found = images(&many);
    assert_eq!(found.len(), IMAGES_MAX);
    assert_eq!(
        found[IMAGES_MAX - 1].url,
        format!("http://example.com/dir/{}", IMAGES_MAX - 1)
    );
    assert_eq!(
        images(&format!("<img src={}><img src=a>", "x".repeat(5000))).len(),
        1
    );
    let long = images(&format!("<img src=a alt={}>", "x".repeat(5000)));
    assert_eq!(long[0].alt.len(), LABEL_CHARS_MAX);
    // A long base is read again for each relative reference, so it uses up the bytes of the page.
    let base = format!("<base href=http://example.com/{}/>", "x".repeat(1 << 20));
    let relative = format!("{base}{}<img src=/b>", "<img src=a>".repeat(99));
    assert!(images(&relative).is_empty());
    let nested = "<figure><figcaption>x<img src=a>".repeat(50_000);
    assert_eq!(images(&nested).len(), 1);
}

#[test]
fn an_image_comes_back_from_json() {
    for image in images("<h1>H</h1><figure><img src=a alt=b width=9 height=8 srcset=c><figcaption>d") {
        let json = serde_json::to_string(&image).unwrap();
        assert_eq!(serde_json::from_str::<Image>(&json).unwrap(), image);
    }
}
