use super::*;

fn of(text: &str, headers: &[(&'static str, &'static str)]) -> Result<(&'static str, Right, bool), String> {
    let (method, target) = text.split_once(' ').unwrap();
    let uri: http::Uri = target.parse().unwrap();
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let is_object = uri.path().matches('/').count() > 1;
    let found = Operation::of(&method.parse().unwrap(), is_object, &Query::of(&uri), &headers);
    found
        .map(|found| (found.name, found.right, found.changes))
        .map_err(|error| error.code().as_str().to_owned())
}

#[test]
fn operations_and_their_rights() {
    for (request, expected) in [
        ("GET /b/k", ("GetObject", Right::Read, false)),
        (
            "GET /b/k?x-id=GetObject&versionId=1",
            ("GetObject", Right::Read, false),
        ),
        ("HEAD /b/k?partNumber=1", ("HeadObject", Right::Read, false)),
        ("PUT /b/k", ("PutObject", Right::Write, true)),
        (
            "PUT /b/k?partNumber=1&uploadId=2",
            ("UploadPart", Right::Write, true),
        ),
        ("POST /b/k?uploads", ("CreateMultipartUpload", Right::Write, true)),
        (
            "POST /b/k?uploadId=2",
            ("CompleteMultipartUpload", Right::Write, true),
        ),
        (
            "DELETE /b/k?uploadId=2",
            ("AbortMultipartUpload", Right::Write, true),
        ),
        ("DELETE /b/k?versionId=2", ("DeleteObject", Right::Delete, true)),
        ("POST /b?delete", ("DeleteObjects", Right::Delete, true)),
        (
            "GET /b?list-type=2&prefix=acl",
            ("ListObjectsV2", Right::List, false),
        ),
        ("GET /b", ("ListObjects", Right::List, false)),
        ("HEAD /b", ("HeadBucket", Right::List, false)),
        (
            "GET /b?uploads&max-uploads=2",
            ("ListMultipartUploads", Right::List, false),
        ),
        ("GET /b?location", ("GetBucketLocation", Right::List, false)),
        (
            "POST /b/k?select&select-type=2",
            ("SelectObjectContent", Right::Read, false),
        ),
        ("OPTIONS /b/k", (PREFLIGHT, Right::Read, false)),
    ] {
        assert_eq!(of(request, &[]), Ok(expected), "{request}");
    }
    let copied = of("PUT /b/k", &[("x-amz-copy-source", "a/b")]);
    assert_eq!(copied, Ok(("CopyObject", Right::Write, true)));
}

/// The upstream obeys the gateway's key, so granting permissions needs the right `own`.
#[test]
fn what_gives_rights_away_needs_own() {
    for request in [
        "PUT /b?policy",
        "PUT /b/k?acl",
        "PUT /b?lifecycle",
        "PUT /b?replication",
        "DELETE /b?publicAccessBlock",
        "PUT /b/k?x-amz-acl=public-read",
        "GET /b?events=x",
    ] {
        assert_eq!(
            of(request, &[]).map(|(_, right, _)| right),
            Ok(Right::Own),
            "{request}"
        );
    }
    let acl = |value| of("PUT /b/k", &[("x-amz-acl", value)]).map(|(_, right, _)| right);
    assert_eq!(acl("public-read"), Ok(Right::Own));
    assert_eq!(acl("private"), Ok(Right::Write));
    assert_eq!(acl("bucket-owner-full-control"), Ok(Right::Write));
    let grants = of("PUT /b/k", &[("x-amz-grant-read", "id=x")]);
    assert_eq!(grants, Ok(("PutObject", Right::Own, true)));
    let overruled = of("DELETE /b/k", &[("x-amz-bypass-governance-retention", "true")]);
    assert_eq!(overruled, Ok(("DeleteObject", Right::Own, true)));
}

#[test]
fn two_readings_are_refused() {
    for (request, code) in [
        ("PUT /b/k?acl&tagging", "InvalidRequest"),
        ("DELETE /b?policy&cors", "InvalidRequest"),
        ("POST /b/k", "MethodNotAllowed"),
        ("PUT /b?delete", "MethodNotAllowed"),
        ("PATCH /b/k", "MethodNotAllowed"),
        ("PUT /b/k?metadata", "NotImplemented"),
        ("GET /b?session", "NotImplemented"),
    ] {
        assert_eq!(of(request, &[]), Err(code.to_owned()), "{request}");
    }
}
