use super::*;

fn row() -> CdxRow {
    CdxRow {
        url_key: "org,iana)/a.php".into(),
        timestamp: "20140126200624".into(),
        url: "http://www.iana.org/a.php".into(),
        mime: "text/html".into(),
        status: 404,
        length: 7,
        ..CdxRow::default()
    }
}

#[track_caller]
fn check(text: &str, dialect: Dialect, expected: bool) {
    let filters = [Filter::read(text, dialect).expect("a filter")];
    let fits = Filters::new(&filters).expect("a filter").fit(&row());
    assert_eq!(fits, expected, "{text} ({dialect:?})");
}

#[test]
fn filters_mean_what_each_server_says() {
    use Dialect::{OutbackCdx, Pywb, WaybackMachine};
    for (text, expected) in [
        ("mime:html", true),
        ("=mime:html", false),
        ("=mime:text/html", true),
        ("!=status:200", true),
        (r"~url:.*\.php$", true),
        ("~mime:html", false),
        ("!~mime:text", false),
        ("iana", true),
        ("!warc/revisit", true),
        ("=digest:-", true),
        // Field names of the Internet Archive imply its rules.
        ("statuscode:4..", true),
        ("mimetype:html", false),
        ("!statuscode:200", true),
        ("u:iana", true),
        ("=s:7", true),
    ] {
        check(text, Pywb, expected);
    }
    for (text, expected) in [
        ("statuscode:404", true),
        ("statuscode:[23]..", false),
        ("!statuscode:200", true),
        ("mimetype:html", false),
        ("mimetype:text/.*", true),
        ("urlkey:iana", false),
        ("4:404", true),
        (".*text/html 404.*", true),
        ("=mime:text/html", true),
        ("~mimetype:html", true),
        ("~!mimetype:html", false),
        ("!~mimetype:html", false),
        ("~html 404", true),
    ] {
        check(text, WaybackMachine, expected);
    }
    for (text, expected) in [
        ("status:404", true),
        ("status:40", false),
        ("!status:200", true),
        ("~mime:html", true),
        ("~!mime:html", false),
        ("original:.*iana.*", true),
    ] {
        check(text, OutbackCdx, expected);
    }
}

#[test]
fn what_cannot_be_read_is_told() {
    for text in [
        "colour:red",
        "~url:(",
        "~url:a)|(b",
        r"~url:(?=x)",
        r"~url:(\w{500}){500}",
    ] {
        assert!(Filter::read(text, Dialect::Pywb).is_err(), "{text}");
    }
    for text in ["iana", "4:404", "u:iana"] {
        assert!(Filter::read(text, Dialect::OutbackCdx).is_err(), "{text}");
    }
    let filter = Filter::read("a", Dialect::Pywb).expect("a filter");
    assert!(Filters::new(&vec![filter; FILTERS_MAX + 1]).is_err());
}
