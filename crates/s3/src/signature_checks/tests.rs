use http::Request;

use super::*;

const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=A/20261122/us-east-1/s3/aws4_request,\
                      SignedHeaders=host;x-amz-date, Signature=0";
const ADDRESS: &str = "/b/k?X-Amz-Signature=0&X-Amz-SignedHeaders=host&X-Amz-Credential=A%2F20261122%2Fus-east-1%2Fs3\
                       %2Faws4_request";

/// Checks which error a request gets.
#[track_caller]
fn check(method: &str, uri: &str, headers: &[(&str, &str)], expected: &str) {
    for version_2 in [false, true] {
        check_with(version_2, method, uri, headers, expected);
    }
}

#[track_caller]
fn check_with(version_2: bool, method: &str, uri: &str, headers: &[(&str, &str)], expected: &str) {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).unwrap();
    let found = super::check(Head::of(&request), version_2);
    let code = found.map_or_else(|refusal| refusal.code, |_| "");
    assert_eq!(code, expected, "{method} {uri} {headers:?}");
}

#[test]
fn what_is_not_signed_is_not_obeyed() {
    let copy = ("x-amz-copy-source", "b/secret");
    let date = ("x-amz-date", "20261122T000000Z");
    check("PUT", "/b/k", &[("authorization", SIGNED), date], "");
    check(
        "PUT",
        "/b/k",
        &[("authorization", SIGNED), date, copy],
        "AccessDenied",
    );
    check("PUT", ADDRESS, &[], "");
    check("PUT", ADDRESS, &[copy], "AccessDenied");
    check("PUT", ADDRESS, &[("x-amz-acl", "public-read")], "AccessDenied");
    // A signed header name in capitals is not found during verification.
    let capitals = SIGNED.replace("x-amz-date", "X-Amz-Date");
    check(
        "PUT",
        "/b/k",
        &[("authorization", &capitals), date],
        "AccessDenied",
    );
    // Only S3's own headers must be signed, and anonymous requests have no signature.
    check(
        "PUT",
        ADDRESS,
        &[("cache-control", "no-store"), ("range", "bytes=0-1")],
        "",
    );
    check("PUT", "/b/k", &[copy], "");
}

#[test]
fn headers_beside_a_form_are_not_obeyed() {
    let acl = ("x-amz-acl", "public-read");
    for kind in [
        "multipart/form-data; boundary=x",
        "Multipart/Form-Data",
        " multipart/x",
    ] {
        check("POST", "/b", &[("content-type", kind)], "");
        check("POST", "/b", &[("content-type", kind), acl], "AccessDenied");
    }
    check(
        "POST",
        "/b?delete",
        &[("content-type", "application/xml"), acl],
        "",
    );
}

#[test]
fn a_request_is_signed_in_one_way() {
    let authorization = ("authorization", SIGNED);
    check("GET", ADDRESS, &[authorization], "InvalidArgument");
    check("GET", "/b/k?Signature=0", &[authorization], "InvalidArgument");
    check(
        "GET",
        "/b/k?Signature=0&X-Amz-Signature=0",
        &[],
        "InvalidArgument",
    );
    check("GET", "/b/k", &[authorization, authorization], "InvalidArgument");
    check(
        "GET",
        "/b/k",
        &[authorization, ("authorization", "AWS a:b")],
        "InvalidArgument",
    );
}

#[test]
fn what_cannot_be_read_is_refused() {
    let malformed = "AuthorizationHeaderMalformed";
    for (text, code) in [
        ("AWS4-HMAC-SHA256", malformed),
        ("AWS4-HMAC-SHA256 Credential=a/b/c/d/e", malformed),
        (
            "AWS4-HMAC-SHA256 SignedHeaders=host,Credential=a,Signature=0",
            malformed,
        ),
        (
            "AWS4-HMAC-SHA256 Credential=a/b/c/d/e,SignedHeaders=host,SignedHeaders=x,Signature=0",
            malformed,
        ),
        (
            "AWS4-HMAC-SHA256 Credential=a/b/c/d/e,SignedHeaders=host,Signature=0,more",
            malformed,
        ),
        (
            "Bearer Credential=a/b/c/d/e,SignedHeaders=host,Signature=0",
            "InvalidArgument",
        ),
    ] {
        check("GET", "/b/k", &[("authorization", text)], code);
    }
    let parameters = "AuthorizationQueryParametersError";
    check(
        "GET",
        "/b/k?X-Amz-Signature=0&X-Amz-Credential=a",
        &[],
        parameters,
    );
    check(
        "GET",
        &format!("{ADDRESS}&X-Amz-SignedHeaders=x-amz-acl"),
        &[],
        parameters,
    );
}

#[test]
fn a_region_that_cannot_be_is_named_to_the_client() {
    let text = SIGNED.replace("us-east-1", "US");
    let date = ("x-amz-date", "20261122T000000Z");
    let request = Request::builder()
        .header("authorization", text)
        .header(date.0, date.1);
    let request = request.body(()).unwrap();
    let refusal = super::check(Head::of(&request), false).unwrap_err();
    assert_eq!(refusal.code, "AuthorizationHeaderMalformed");
    assert_eq!(refusal.more, Some(("Region", signature::REGION.to_owned())));
    check(
        "GET",
        &ADDRESS.replace("us-east-1", "US"),
        &[],
        "AuthorizationQueryParametersError",
    );
    check("GET", &ADDRESS.replace("us-east-1", "mars-1"), &[], "");
}

#[test]
fn version_2_is_for_those_who_allow_it() {
    let header = ("authorization", "AWS A:b");
    let now = time::OffsetDateTime::now_utc();
    let now = now
        .format(&time::format_description::well_known::Rfc2822)
        .unwrap();
    let dated = [header, ("date", now.as_str())];
    check_with(false, "GET", "/b/k", &dated, "InvalidRequest");
    check_with(
        false,
        "GET",
        "/b/k?Signature=0&Expires=1&AWSAccessKeyId=A",
        &[],
        "InvalidRequest",
    );
    check_with(true, "GET", "/b/k", &dated, "");
    check_with(true, "GET", "/b/k", &[header], "AccessDenied");
    check_with(
        true,
        "GET",
        "/b/k",
        &[header, ("date", "Tue, 27 Mar 2007 19:36:42 +0000")],
        "RequestTimeTooSkewed",
    );
    check_with(
        true,
        "GET",
        "/b/k?Signature=0&Expires=1&AWSAccessKeyId=A",
        &[],
        "",
    );
    check_with(
        true,
        "PUT",
        "/b?ownershipControls&Signature=0",
        &[],
        "AccessDenied",
    );
}

#[test]
fn strangers_do_not_choose_how_an_object_is_shown() {
    check(
        "GET",
        "/b/k?response-content-type=text/html",
        &[],
        "InvalidRequest",
    );
    check(
        "GET",
        &format!("{ADDRESS}&response-content-type=text/html"),
        &[],
        "",
    );
    check("GET", "/b?prefix=response-content-type", &[], "");
}
