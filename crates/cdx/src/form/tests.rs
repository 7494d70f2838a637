use super::*;

fn row() -> CdxRow {
    CdxRow {
        url_key: "org,iana)/".into(),
        timestamp: "20140126200624".into(),
        url: "http://www.iana.org/".into(),
        mime: "text/html".into(),
        status: 200,
        digest: "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB".into(),
        length: 2258,
        offset: 334,
        filename: "iana.warc.gz".into(),
        ..CdxRow::default()
    }
}

fn written(form: Form, dialect: Dialect, fl: Option<&str>, rows: &[CdxRow], key: Option<&str>) -> String {
    let mut writer = Writer::new(form, dialect, fl.map(Column::list), &[]);
    writer.rows(rows) + &writer.end(key)
}

#[test]
fn a_line_is_as_pywb_writes_it() {
    let expected = concat!(
        r#"org,iana)/ 20140126200624 {"url": "http://www.iana.org/", "mime": "text/html", "status": "200", "#,
        r#""digest": "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB", "length": "2258", "offset": "334", "#,
        r#""filename": "iana.warc.gz"}"#,
        "\n"
    );
    let whole = |fl| written(Form::Cdxj, Dialect::Pywb, fl, &[row()], None);
    assert_eq!(whole(None), expected);
    assert_eq!(
        whole(Some("urlkey,status,languages")),
        "org,iana)/ 20140126200624 {\"status\": \"200\"}\n"
    );
    let lines = written(Form::Lines, Dialect::Pywb, Some("timestamp,url"), &[row()], None);
    assert_eq!(
        lines,
        "{\"timestamp\": \"20140126200624\", \"url\": \"http://www.iana.org/\"}\n"
    );
}

#[test]
fn columns_are_as_the_internet_archive_writes_them() {
    let ia = |form, fl, rows: &[CdxRow], key| written(form, Dialect::WaybackMachine, fl, rows, key);
    let line = "org,iana)/ 20140126200624 http://www.iana.org/ text/html 200 OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB 2258\n";
    assert_eq!(ia(Form::Text, None, &[row()], None), line);
    assert_eq!(
        ia(Form::Text, None, &[row()], Some("KEY")),
        format!("{line}\nKEY\n")
    );
    let fl = Some("statuscode,original");
    let rows = [row(), row()];
    assert_eq!(
        ia(Form::Arrays, fl, &rows, None),
        "[[\"statuscode\",\"original\"],\n[\"200\",\"http://www.iana.org/\"],\n[\"200\",\"http://www.iana.org/\"]]\n"
    );
    assert_eq!(
        ia(Form::Arrays, fl, &rows[..1], Some("KEY")),
        "[[\"statuscode\",\"original\"],\n[\"200\",\"http://www.iana.org/\"],\n[],\n[\"KEY\"]]\n"
    );
    assert_eq!(ia(Form::Arrays, None, &[], None), "[]\n");
    assert_eq!(ia(Form::Text, None, &[], None), "");
    let line = written(Form::Text, Dialect::Pywb, None, &[row()], None);
    assert!(line.ends_with(" - - 2258 334 iana.warc.gz\n"), "{line}");
}

#[test]
fn without_a_status_there_is_none() {
    let revisit = CdxRow {
        kind: extract::CaptureKind::Revisit,
        ..row()
    };
    assert!(!cdxj_line(&CdxRow { status: 0, ..row() }).contains("status"));
    assert!(!cdxj_line(&revisit).contains("status"));
    let line = written(
        Form::Text,
        Dialect::WaybackMachine,
        Some("statuscode"),
        &[revisit],
        None,
    );
    assert_eq!(line, "-\n");
}

#[test]
fn a_line_stays_one_line_whatever_it_holds() {
    let row = CdxRow {
        url: "http://a/\n\"\\\u{1}\u{2028} x".into(),
        url_key: "a)/ \n".into(),
        mime: "text /html".into(),
        ..row()
    };
    for form in [Form::Cdxj, Form::Lines] {
        let line = written(form, Dialect::Pywb, None, std::slice::from_ref(&row), None);
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let json = &line[line.find('{').expect("a JSON object")..];
        let value: Value = serde_json::from_str(json).expect("valid JSON");
        assert_eq!(value["url"], row.url.as_str());
    }
    assert!(cdxj_line(&row).starts_with("a)/%20%0A 20140126200624 {"));
    let line = written(
        Form::Text,
        Dialect::WaybackMachine,
        None,
        std::slice::from_ref(&row),
        None,
    );
    assert_eq!(line.split_whitespace().count(), 7, "{line}");
    let arrays = written(
        Form::Arrays,
        Dialect::Pywb,
        None,
        std::slice::from_ref(&row),
        None,
    );
    let value: Value = serde_json::from_str(&arrays).expect("valid JSON");
    assert_eq!(value[1][2], row.url.as_str());
}

#[test]
fn arrays_and_objects_are_as_outbackcdx_writes_them() {
    let outback = |form, fl, rows: &[CdxRow]| written(form, Dialect::OutbackCdx, fl, rows, None);
    let expected = concat!(
        r#"[["urlkey","timestamp","url","mime","status","digest","redirecturl","robotflags","length","offset","filename"],"#,
        r#"["org,iana)/",20140126200624,"http://www.iana.org/","text/html",200,"OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB","-","-",2258,334,"iana.warc.gz"]]"#
    );
    assert_eq!(outback(Form::TypedArrays, None, &[row()]), expected);
    let unknown = CdxRow { status: 0, ..row() };
    assert_eq!(
        outback(
            Form::TypedArrays,
            Some("status,range,x"),
            std::slice::from_ref(&unknown)
        ),
        r#"[["status","range","x"],[null,"bytes=334-2591",null]]"#
    );
    assert_eq!(
        outback(Form::TypedObjects, Some("status,offset,url"), &[row(), unknown]),
        r#"[{"status":200,"offset":334,"url":"http://www.iana.org/"},{"offset":334,"url":"http://www.iana.org/"}]"#
    );
    assert_eq!(outback(Form::TypedObjects, None, &[]), "[]");
    assert_eq!(outback(Form::TypedArrays, Some("url"), &[]), r#"[["url"]]"#);
    assert_eq!(
        outback(Form::Cdxj, Some("url,status,redirecturl"), &[row()]),
        "org,iana)/ 20140126200624 {\"url\":\"http://www.iana.org/\",\"status\":\"200\"}\n"
    );
}

#[test]
fn a_resolved_revisit_has_the_place_of_its_original() {
    let mut revisit = CdxRow {
        kind: extract::CaptureKind::Revisit,
        ..row()
    };
    revisit.computed_mut().original = Some(crate::Original {
        length: 7,
        offset: 9,
        filename: "first.warc.gz".into(),
    });
    let write = |form, dialect, rows: &[CdxRow]| {
        let mut writer = Writer::new(form, dialect, None, &Field::ORIGINAL);
        writer.rows(rows) + &writer.end(None)
    };
    let lines = write(Form::Cdxj, Dialect::Pywb, &[revisit.clone(), row()]);
    assert!(
        lines.contains(r#""status": "200""#)
            && lines.contains(r#""orig.length": "7", "orig.offset": "9", "orig.filename": "first.warc.gz"}"#)
            && lines.ends_with("\"orig.length\": \"-\", \"orig.offset\": \"-\", \"orig.filename\": \"-\"}\n"),
        "{lines}"
    );
    let lines = write(Form::Text, Dialect::WaybackMachine, &[revisit, row()]);
    assert!(
        lines.contains(" 2258 7 9 first.warc.gz\n") && lines.ends_with(" 2258 - - -\n"),
        "{lines}"
    );
}
