use super::*;

fn name(request: &str, headers: &[(&'static str, &'static str)]) -> Result<(&'static str, bool), String> {
    let (method, target) = request.split_once(' ').unwrap();
    let uri: http::Uri = target.parse().unwrap();
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    let about = if uri.path().matches('/').count() > 1 {
        About::Object
    } else {
        About::Bucket
    };
    let named = named(&Request {
        method: &method.parse().unwrap(),
        about,
        query: &Query::of(&uri),
        headers: &headers,
        is_form: headers.contains_key("content-type"),
    });
    named
        .map(|named| (named.name, named.is_sure))
        .map_err(|refusal| format!("{} {}", refusal.status.as_u16(), refusal.message))
}

#[test]
fn what_is_not_known_is_no_plain_write() {
    for (request, expected) in [
        ("PUT /b/k?renameObject", "501 RenameObject is not implemented"),
        (
            "DELETE /b/k?annotation&annotationName=a",
            "501 DeleteObjectAnnotation is not implemented",
        ),
        (
            "PUT /b/k?encryption",
            "501 UpdateObjectEncryption is not implemented",
        ),
        (
            "DELETE /b?metadataConfiguration",
            "501 DeleteBucketMetadataConfiguration is not implemented",
        ),
        (
            "POST /b?metadataTable",
            "501 CreateBucketMetadataTableConfiguration is not implemented",
        ),
        ("GET /b?session", "501 CreateSession is not implemented"),
        (
            "DELETE /b/k?foo",
            "501 the query parameter \"foo\" of DeleteObject is not implemented",
        ),
        (
            "PUT /b?foo=1",
            "501 the query parameter \"foo\" of CreateBucket is not implemented",
        ),
        (
            "POST /b/k?foo",
            "501 the query parameter \"foo\" is not implemented",
        ),
        (
            "PUT /b/k?append&position=0",
            "501 the query parameter \"append\" of PutObject is not implemented",
        ),
        (
            "PUT /b/k?x-id=RenameObject",
            "501 RenameObject is not implemented",
        ),
        (
            "PUT /b/k?X-Amz-Copy-Source=a%2Fb",
            "501 x-amz-copy-source in the query is not implemented",
        ),
        (
            "PUT /b/k?partNumber=1",
            "400 PutObject has no parameter partNumber",
        ),
        ("PUT /b/k?uploadId=1", "400 a part requires partNumber"),
        (
            "DELETE /b/k?versions",
            "400 DeleteObject has no parameter versions",
        ),
        ("PUT /b/k?versionId=1", "400 PutObject has no parameter versionId"),
        ("DELETE /b?acl&cors", "400 a request has at most one sub-resource"),
        ("DELETE /b/k?acl", "405 the resource does not allow the method"),
        ("HEAD /b/k?acl", "405 the resource does not allow the method"),
        ("POST /b", "405 the resource does not allow the method"),
    ] {
        assert_eq!(name(request, &[]), Err(expected.to_owned()), "{request}");
    }
    for (request, header, expected) in [
        (
            "PUT /b/k",
            "x-amz-rename-source",
            "501 RenameObject is not implemented",
        ),
        (
            "POST /WriteGetObjectResponse",
            "x-amz-request-route",
            "501 WriteGetObjectResponse is not implemented",
        ),
        (
            "PUT /b/k",
            "x-amz-write-offset-bytes",
            "501 PutObject with an offset is not implemented",
        ),
        (
            "PUT /b/k",
            "x-amz-move-source",
            "501 the header x-amz-move-source is not implemented",
        ),
        (
            "DELETE /b/k",
            COPY_SOURCE,
            "400 DeleteObject does not take x-amz-copy-source",
        ),
    ] {
        assert_eq!(
            name(request, &[(header, "x")]),
            Err(expected.to_owned()),
            "{request} {header}"
        );
    }
}

#[test]
fn operations_have_their_parameters() {
    for (request, expected) in [
        ("PUT /b/k?x-id=PutObject&X-Amz-Signature=1", ("PutObject", true)),
        ("PUT /b/k?x-note=backup&x-amz-acl=private", ("PutObject", true)),
        ("PUT /b/k?partNumber=1&uploadId=2", ("UploadPart", true)),
        ("POST /b/k?select&select-type=2", ("SelectObjectContent", true)),
        ("DELETE /b/k?versionId=1", ("DeleteObject", true)),
        ("PUT /b/k?retention&versionId=1", ("PutObjectRetention", true)),
        ("PUT /b?inventory&id=1", ("PutBucketInventoryConfiguration", true)),
        ("GET /b?inventory&id=1", ("GetBucketInventoryConfiguration", true)),
        ("GET /b?inventory", ("ListBucketInventoryConfigurations", true)),
        ("GET /b/k?response-content-type=x", ("GetObject", true)),
        // A read may have unknown parameters: web pages add some to bypass caches.
        ("GET /b/k?iefix", ("GetObject", false)),
        ("HEAD /b?read-stats=true", ("HeadBucket", false)),
        ("GET /b?list-type=2&usage", ("ListObjectsV2", false)),
    ] {
        assert_eq!(name(request, &[]), Ok(expected), "{request}");
    }
    assert_eq!(
        name("PUT /b/k", &[(COPY_SOURCE, "a/b")]),
        Ok(("CopyObject", true))
    );
    // As sent by pyarrow.
    assert_eq!(
        name("POST /b/k?uploads", &[("x-amz-api-version", "2006-03-01")]),
        Ok(("CreateMultipartUpload", true))
    );
    assert_eq!(
        name("POST /b", &[("content-type", "x")]),
        Ok(("PostObject", true))
    );
}
