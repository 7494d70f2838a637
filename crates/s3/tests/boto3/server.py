"""What boto3 does with the S3 server: `server.py ENDPOINT KEY SECRET READER_KEY READER_SECRET [gateway]`.

Every function named test_... is run; the first failure of each is printed. READER may read and list buckets whose
name begins with `shared-`; anybody may read the bucket `shared-open`. `gateway` says that the server is behind one, which
passes no forms, and does not know which pages may learn of its own refusals.
"""

import base64
import hashlib
import http.client
import io
import sys
import traceback
import urllib.error
import urllib.parse
import urllib.request
import zlib

import boto3
from boto3.s3.transfer import TransferConfig
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT, KEY, SECRET, READER_KEY, READER_SECRET = sys.argv[1:6]
GATEWAY = sys.argv[6:] == ["gateway"]
PART = 5 * 1024 * 1024

ODD_KEYS = [
    "//", "/leading", "a//b", "..", "../up", "./here", "a/../b", " space ", "plus+plus", "percent%41", "a?b#c&d=e",
    "ünïcödé/日本語/🦀", "trailing/", "\\back", "quote\"'<>", "~tilde", "x" * 1024, "semi;colon,comma", "a\tb",
]


def client(key=KEY, secret=SECRET, **config):
    config.setdefault("retries", {"max_attempts": 1})
    config.setdefault("s3", {"addressing_style": "path"})
    return boto3.client(
        "s3", endpoint_url=ENDPOINT, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1",
        config=Config(**config),
    )


S3 = client()
# Left to itself boto3 signs addresses by version 2 for such endpoints.
SIGNER = client(signature_version="s3v4")


def refused(code, status, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ClientError as error:
        found = (error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"])
        # Answers to HEAD have no body: the status is the code.
        assert found in [(code, status), (str(status), status)], found
        return error.response
    raise AssertionError(f"expected {code}")


def bucket(name):
    S3.create_bucket(Bucket=name)
    return name


def body(bucket, key, **kwargs):
    return S3.get_object(Bucket=bucket, Key=key, **kwargs)["Body"].read()


def test_buckets():
    name = bucket("first-bucket")
    refused("BucketAlreadyOwnedByYou", 409, S3.create_bucket, Bucket=name)
    assert name in [b["Name"] for b in S3.list_buckets()["Buckets"]]
    assert S3.get_bucket_location(Bucket=name)["LocationConstraint"] is None
    S3.head_bucket(Bucket=name)
    S3.put_object(Bucket=name, Key="x", Body=b"1")
    refused("BucketNotEmpty", 409, S3.delete_bucket, Bucket=name)
    S3.delete_object(Bucket=name, Key="x")
    S3.create_multipart_upload(Bucket=name, Key="never finished")
    S3.delete_bucket(Bucket=name)
    refused("NoSuchBucket", 404, S3.head_bucket, Bucket=name)
    refused("NoSuchBucket", 404, S3.delete_bucket, Bucket=name)
    refused("NoSuchBucket", 404, S3.get_object, Bucket=name, Key="x")
    refused("NoSuchBucket", 404, S3.put_object, Bucket=name, Key="x")
    refused("NoSuchBucket", 404, S3.list_objects_v2, Bucket=name)


def test_payloads():
    """Signed, unsigned, streamed with a trailer, and all checksums in a header or a trailer."""
    name = bucket("payloads")
    content = bytes(range(256)) * 1000
    clients = {
        "default": client(),
        "signed": client(s3={"addressing_style": "path", "payload_signing_enabled": True}),
        "unsigned": client(s3={"addressing_style": "path", "payload_signing_enabled": False}),
        "no checksum": client(request_checksum_calculation="when_required"),
    }
    for label, s3 in clients.items():
        for stream in (content, io.BytesIO(content)):
            etag = s3.put_object(Bucket=name, Key=label, Body=stream)["ETag"]
            assert etag.strip('"') == hashlib.md5(content).hexdigest(), label
            assert body(name, label) == content, label
    s3 = client(request_checksum_calculation="when_required")
    s3.put_object(Bucket=name, Key="md5", Body=b"hello", ContentMD5=base64.b64encode(hashlib.md5(b"hello").digest()).decode())
    refused("BadDigest", 400, s3.put_object, Bucket=name, Key="md5", Body=b"other",
            ContentMD5=base64.b64encode(hashlib.md5(b"hello").digest()).decode())
    assert body(name, "md5") == b"hello"


def test_checksums():
    name = bucket("checksums")
    content = b"content of a checksum" * 1000
    try:
        import awscrt  # noqa: F401
        algorithms = ["CRC32", "SHA1", "SHA256", "CRC32C", "CRC64NVME"]
    except ImportError:
        print("skipped: CRC32C and CRC64NVME, boto3 computes them with awscrt only")
        algorithms = ["CRC32", "SHA1", "SHA256"]
    for algorithm in algorithms:
        field = "Checksum" + algorithm
        put = S3.put_object(Bucket=name, Key=algorithm, Body=io.BytesIO(content), ChecksumAlgorithm=algorithm)
        head = S3.head_object(Bucket=name, Key=algorithm, ChecksumMode="ENABLED")
        assert head[field] == put[field] and head["ChecksumType"] == "FULL_OBJECT", head
        assert field not in S3.head_object(Bucket=name, Key=algorithm)
        # The client compares, too.
        assert body(name, algorithm, ChecksumMode="ENABLED") == content
        attributes = S3.get_object_attributes(Bucket=name, Key=algorithm, ObjectAttributes=["Checksum", "ObjectSize", "ETag"])
        assert attributes["ETag"] == put["ETag"].strip('"'), attributes["ETag"]
        assert attributes["Checksum"][field] == put[field] and attributes["ObjectSize"] == len(content)
        copied = S3.copy_object(Bucket=name, Key="copy", CopySource={"Bucket": name, "Key": algorithm})
        assert copied["CopyObjectResult"][field] == put[field]
        wrong = base64.b64encode(bytes(len(base64.b64decode(put[field])))).decode()
        refused("BadDigest", 400, S3.put_object, Bucket=name, Key="never", Body=content, **{field: wrong})
    refused("NoSuchKey", 404, S3.head_object, Bucket=name, Key="never")
    sums = S3.head_object(Bucket=name, Key="CRC32", ChecksumMode="ENABLED")
    assert base64.b64decode(sums["ChecksumCRC32"]) == zlib.crc32(content).to_bytes(4, "big")


def test_keys_and_names():
    name = bucket("odd-names")
    for index, key in enumerate(ODD_KEYS):
        S3.put_object(Bucket=name, Key=key, Body=str(index).encode())
    for index, key in enumerate(ODD_KEYS):
        assert body(name, key) == str(index).encode(), key
    listed = [o["Key"] for page in S3.get_paginator("list_objects_v2").paginate(Bucket=name) for o in page["Contents"]]
    assert listed == sorted(ODD_KEYS, key=lambda key: key.encode()), listed
    for key in ODD_KEYS:
        S3.copy_object(Bucket=name, Key="copy/" + key[:1000], CopySource={"Bucket": name, "Key": key})
        url = SIGNER.generate_presigned_url("get_object", Params={"Bucket": name, "Key": key})
        assert urllib.request.urlopen(url).read() == body(name, key), key
    deleted = S3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": key} for key in ODD_KEYS]})
    assert sorted(d["Key"] for d in deleted["Deleted"]) == sorted(ODD_KEYS)
    refused("KeyTooLongError", 400, S3.put_object, Bucket=name, Key="y" * 1025)
    for wrong in ["Upper", "ab", "a..b", "under_score", "10.1.2.3"]:
        try:
            S3.create_bucket(Bucket=wrong)
        except Exception:
            continue
        raise AssertionError(wrong)


def test_metadata():
    name = bucket("metadata")
    expires = "Wed, 21 Oct 2026 07:28:00 GMT"
    S3.put_object(
        Bucket=name, Key="x", Body=b"", Metadata={"colour": "blue", "Mixed-Case": "Yes"}, ContentType="text/x; charset=utf-8",
        CacheControl="no-store", ContentDisposition="attachment", ContentEncoding="gzip", ContentLanguage="de",
        Expires=expires,
    )
    head = S3.head_object(Bucket=name, Key="x")
    assert head["Metadata"] == {"colour": "blue", "mixed-case": "Yes"}, head
    assert head["ContentType"] == "text/x; charset=utf-8" and head["CacheControl"] == "no-store"
    assert (head["ContentDisposition"], head["ContentEncoding"], head["ContentLanguage"]) == ("attachment", "gzip", "de")
    assert head["ResponseMetadata"]["HTTPHeaders"]["expires"] == expires
    got = S3.get_object(Bucket=name, Key="x", ResponseContentType="text/y", ResponseCacheControl="max-age=1")
    assert (got["ContentType"], got["CacheControl"]) == ("text/y", "max-age=1")
    S3.put_object(Bucket=name, Key="plain", Body=b"")
    assert S3.head_object(Bucket=name, Key="plain")["ContentType"] == "binary/octet-stream"
    copy = {"Bucket": name, "Key": "x"}
    S3.copy_object(Bucket=name, Key="kept", CopySource=copy)
    assert S3.head_object(Bucket=name, Key="kept")["Metadata"] == head["Metadata"]
    S3.copy_object(Bucket=name, Key="x", CopySource=copy, MetadataDirective="REPLACE", Metadata={"new": "1"})
    assert S3.head_object(Bucket=name, Key="x")["Metadata"] == {"new": "1"}
    refused("InvalidRequest", 400, S3.copy_object, Bucket=name, Key="x", CopySource=copy)
    refused("MetadataTooLarge", 400, S3.put_object, Bucket=name, Key="y", Metadata={"a": "b" * 3000})


def test_ranges():
    name = bucket("ranges")
    content = bytes(range(250)) * 4000
    S3.put_object(Bucket=name, Key="x", Body=content)
    for spec, expected in [
        ("0-0", content[:1]), ("10-19", content[10:20]), ("999999-", content[999999:]), ("-7", content[-7:]),
        ("5-99999999", content[5:]), ("-99999999", content), ("262143-262145", content[262143:262146]),
    ]:
        got = S3.get_object(Bucket=name, Key="x", Range=f"bytes={spec}")
        assert got["Body"].read() == expected and got["ResponseMetadata"]["HTTPStatusCode"] == 206, spec
        assert got["ContentRange"].endswith("/1000000"), got["ContentRange"]
    for spec in ["1000000-", "-0"]:
        answer = refused("InvalidRange", 416, S3.get_object, Bucket=name, Key="x", Range=f"bytes={spec}")
        assert answer["ResponseMetadata"]["HTTPHeaders"]["content-range"] == "bytes */1000000"
    S3.put_object(Bucket=name, Key="empty", Body=b"")
    assert body(name, "empty") == b""
    refused("InvalidRange", 416, S3.get_object, Bucket=name, Key="empty", Range="bytes=0-")


def test_conditions():
    name = bucket("conditions")
    etag = S3.put_object(Bucket=name, Key="x", Body=b"1")["ETag"]
    when = S3.head_object(Bucket=name, Key="x")["LastModified"]
    get = {"Bucket": name, "Key": "x"}
    S3.get_object(**get, IfMatch=etag)
    refused("PreconditionFailed", 412, S3.get_object, **get, IfMatch='"other"')
    refused("304", 304, S3.get_object, **get, IfNoneMatch=etag)
    refused("304", 304, S3.head_object, **get, IfModifiedSince=when)
    S3.get_object(**get, IfUnmodifiedSince=when)
    refused("PreconditionFailed", 412, S3.get_object, **get, IfUnmodifiedSince="Wed, 21 Oct 2015 07:28:00 GMT")
    refused("PreconditionFailed", 412, S3.put_object, **get, Body=b"2", IfNoneMatch="*")
    S3.put_object(Bucket=name, Key="new", Body=b"2", IfNoneMatch="*")
    refused("PreconditionFailed", 412, S3.put_object, **get, Body=b"2", IfMatch='"other"')
    etag = S3.put_object(**get, Body=b"3", IfMatch=etag)["ETag"]
    refused("NoSuchKey", 404, S3.put_object, Bucket=name, Key="absent", Body=b"", IfMatch=etag)
    copy = {"Bucket": name, "Key": "copy", "CopySource": get}
    refused("PreconditionFailed", 412, S3.copy_object, **copy, CopySourceIfMatch='"other"')
    refused("PreconditionFailed", 412, S3.copy_object, **copy, CopySourceIfNoneMatch=etag)
    S3.copy_object(**copy, CopySourceIfMatch=etag)
    refused("PreconditionFailed", 412, S3.delete_object, **get, IfMatch='"other"')
    S3.delete_object(**get, IfMatch=etag)


def test_listings():
    name = bucket("listings")
    keys = [f"{a}/{b}/{c}" for a in "xyz" for b in "123" for c in "pq"] + ["top", "x", "y-"]
    for key in keys:
        S3.put_object(Bucket=name, Key=key, Body=b"")
    keys.sort()
    for operation, limit in [("list_objects_v2", 1), ("list_objects", 2), ("list_objects_v2", 7), ("list_objects", 1000)]:
        pages = list(S3.get_paginator(operation).paginate(Bucket=name, PaginationConfig={"PageSize": limit}))
        assert [o["Key"] for page in pages for o in page["Contents"]] == keys, (operation, limit)
        for prefix, delimiter in [("", "/"), ("x/", "/"), ("x", "/"), ("", "/1/"), ("z/", "p"), ("none", "/")]:
            pages = S3.get_paginator(operation).paginate(
                Bucket=name, Prefix=prefix, Delimiter=delimiter, PaginationConfig={"PageSize": limit})
            found, prefixes = [], []
            for page in pages:
                found += [o["Key"] for o in page.get("Contents", [])]
                prefixes += [p["Prefix"] for p in page.get("CommonPrefixes", [])]
            matching = [key for key in keys if key.startswith(prefix)]
            rolled = {key: key[:key.find(delimiter, len(prefix)) + len(delimiter)]
                      for key in matching if delimiter in key[len(prefix):]}
            assert found == [key for key in matching if key not in rolled], (operation, limit, prefix, delimiter)
            assert prefixes == sorted(set(rolled.values())), (operation, limit, prefix, delimiter, prefixes)
    after = S3.list_objects_v2(Bucket=name, StartAfter="y/", FetchOwner=True)
    assert [o["Key"] for o in after["Contents"]] == [key for key in keys if key > "y/"]
    assert after["Contents"][0]["Owner"]["ID"] == "archive"
    assert S3.list_objects_v2(Bucket=name, MaxKeys=0)["KeyCount"] == 0
    versions = S3.list_object_versions(Bucket=name)["Versions"]
    assert [v["Key"] for v in versions] == keys and all(v["VersionId"] == "null" for v in versions)
    quiet = S3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True})
    assert "Deleted" not in quiet and "Errors" not in quiet
    assert S3.list_objects_v2(Bucket=name)["KeyCount"] == 0


def upload(name, key, parts, order, **create):
    upload_id = S3.create_multipart_upload(Bucket=name, Key=key, **create)["UploadId"]
    etags = {}
    for number in order:
        part = S3.upload_part(Bucket=name, Key=key, UploadId=upload_id, PartNumber=number, Body=parts[number])
        etags[number] = part["ETag"]
    return upload_id, [{"PartNumber": number, "ETag": etags[number]} for number in sorted(parts)]


def complete(name, key, upload_id, parts, **kwargs):
    return S3.complete_multipart_upload(
        Bucket=name, Key=key, UploadId=upload_id, MultipartUpload={"Parts": parts}, **kwargs)


def test_multipart():
    name = bucket("multipart")
    parts = {1: b"a" * PART, 5: b"b" * (PART + 1), 9: b"c"}
    content = b"".join(parts[n] for n in sorted(parts))
    upload_id, listed = upload(name, "big", parts, [9, 1, 5], Metadata={"m": "1"}, ContentType="text/z")
    found = S3.list_parts(Bucket=name, Key="big", UploadId=upload_id)["Parts"]
    assert [(p["PartNumber"], p["Size"]) for p in found] == [(1, PART), (5, PART + 1), (9, 1)]
    page = S3.list_parts(Bucket=name, Key="big", UploadId=upload_id, MaxParts=1, PartNumberMarker=1)
    assert page["IsTruncated"] and page["Parts"][0]["PartNumber"] == 5
    uploads = S3.list_multipart_uploads(Bucket=name)["Uploads"]
    assert [(u["Key"], u["UploadId"]) for u in uploads] == [("big", upload_id)]
    refused("NoSuchKey", 404, S3.head_object, Bucket=name, Key="big")
    refused("InvalidPart", 400, complete, name, "big", upload_id, [{"PartNumber": 1, "ETag": '"wrong"'}])
    refused("InvalidPart", 400, complete, name, "big", upload_id, listed + [{"PartNumber": 10, "ETag": listed[0]["ETag"]}])
    refused("InvalidPartOrder", 400, complete, name, "big", upload_id, listed[::-1])
    done = complete(name, "big", upload_id, listed)
    md5s = b"".join(hashlib.md5(parts[n]).digest() for n in sorted(parts))
    assert done["ETag"] == f'"{hashlib.md5(md5s).hexdigest()}-3"', done
    assert complete(name, "big", upload_id, listed)["ETag"] == done["ETag"], "asked again, answered again"
    head = S3.head_object(Bucket=name, Key="big")
    assert (head["ContentLength"], head["ContentType"], head["Metadata"]) == (len(content), "text/z", {"m": "1"})
    assert body(name, "big") == content
    second = S3.get_object(Bucket=name, Key="big", PartNumber=2)
    assert second["Body"].read() == parts[5] and second["PartsCount"] == 3
    assert "Uploads" not in S3.list_multipart_uploads(Bucket=name)


def test_multipart_refusals():
    name = bucket("multipart-refused")
    upload_id, listed = upload(name, "x", {1: b"small", 2: b"last"}, [1, 2])
    refused("EntityTooSmall", 400, complete, name, "x", upload_id, listed)
    S3.abort_multipart_upload(Bucket=name, Key="x", UploadId=upload_id)
    refused("NoSuchUpload", 404, S3.abort_multipart_upload, Bucket=name, Key="x", UploadId=upload_id)
    refused("NoSuchUpload", 404, complete, name, "x", upload_id, listed)
    refused("NoSuchUpload", 404, S3.upload_part, Bucket=name, Key="x", UploadId=upload_id, PartNumber=1, Body=b"")
    refused("NoSuchUpload", 404, S3.list_parts, Bucket=name, Key="x", UploadId="nonsense")
    S3.put_object(Bucket=name, Key="x", Body=b"there")
    upload_id, listed = upload(name, "x", {1: b"new"}, [1])
    refused("InvalidArgument", 400, S3.upload_part, Bucket=name, Key="x", UploadId=upload_id, PartNumber=10001, Body=b"")
    refused("PreconditionFailed", 412, complete, name, "x", upload_id, listed, IfNoneMatch="*")
    complete(name, "x", upload_id, listed)
    assert body(name, "x") == b"new"


def test_multipart_checksums():
    name = bucket("multipart-sums")
    parts = {1: b"1" * PART, 2: b"2" * PART, 3: b"3"}
    content = b"".join(parts.values())
    upload_id, listed = upload(name, "full", parts, [1, 2, 3], ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    refused("BadDigest", 400, complete, name, "full", upload_id, listed, ChecksumCRC32="AAAAAA==", ChecksumType="FULL_OBJECT")
    whole = base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()
    done = complete(name, "full", upload_id, listed, ChecksumCRC32=whole, ChecksumType="FULL_OBJECT")
    assert (done["ChecksumCRC32"], done["ChecksumType"]) == (whole, "FULL_OBJECT"), done
    assert body(name, "full", ChecksumMode="ENABLED") == content
    upload_id = S3.create_multipart_upload(Bucket=name, Key="composite", ChecksumAlgorithm="SHA256")["UploadId"]
    listed = []
    for number, part in parts.items():
        answer = S3.upload_part(Bucket=name, Key="composite", UploadId=upload_id, PartNumber=number, Body=part,
                                ChecksumAlgorithm="SHA256")
        listed.append({"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": answer["ChecksumSHA256"]})
    done = complete(name, "composite", upload_id, listed)
    sums = b"".join(hashlib.sha256(part).digest() for part in parts.values())
    assert done["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(sums).digest()).decode() + "-3", done
    assert S3.head_object(Bucket=name, Key="composite", ChecksumMode="ENABLED")["ChecksumType"] == "COMPOSITE"
    asked = S3.get_object_attributes(Bucket=name, Key="composite", ObjectAttributes=["ObjectParts"])["ObjectParts"]["Parts"]
    for number, part in parts.items():
        sum_ = listed[number - 1]["ChecksumSHA256"]
        head = S3.head_object(Bucket=name, Key="composite", PartNumber=number, ChecksumMode="ENABLED")
        assert (head["ChecksumSHA256"], head["ContentLength"]) == (sum_, len(part)), head
        assert (asked[number - 1]["ChecksumSHA256"], asked[number - 1]["Size"]) == (sum_, len(part)), asked
    assert "ChecksumSHA256" not in S3.head_object(Bucket=name, Key="composite", Range="bytes=0-9", ChecksumMode="ENABLED")


def test_multipart_copy():
    name = bucket("multipart-copy")
    content = bytes(range(256)) * 50_000
    S3.put_object(Bucket=name, Key="from", Body=content)
    upload_id = S3.create_multipart_upload(Bucket=name, Key="to")["UploadId"]
    source = {"Bucket": name, "Key": "from"}
    listed = []
    for number, spec in enumerate([f"0-{PART - 1}", f"{PART}-{len(content) - 1}"], 1):
        answer = S3.upload_part_copy(Bucket=name, Key="to", UploadId=upload_id, PartNumber=number, CopySource=source,
                                     CopySourceRange=f"bytes={spec}")
        listed.append({"PartNumber": number, "ETag": answer["CopyPartResult"]["ETag"]})
    refused("InvalidRange", 416, S3.upload_part_copy, Bucket=name, Key="to", UploadId=upload_id, PartNumber=3,
            CopySource=source, CopySourceRange=f"bytes=0-{len(content)}")
    complete(name, "to", upload_id, listed)
    assert body(name, "to") == content


def test_transfer_manager():
    name = bucket("transfers")
    content = bytes(range(256)) * 80_000
    config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)
    S3.upload_fileobj(io.BytesIO(content), name, "x", Config=config)
    back = io.BytesIO()
    S3.download_fileobj(name, "x", back, Config=config)
    assert back.getvalue() == content
    S3.copy({"Bucket": name, "Key": "x"}, name, "y", Config=config)
    assert body(name, "y") == content


def test_presigned():
    name = bucket("presigned")
    url = SIGNER.generate_presigned_url("put_object", Params={"Bucket": name, "Key": "a b"}, ExpiresIn=60)
    request = urllib.request.Request(url, data=b"by address", method="PUT")
    assert urllib.request.urlopen(request).status == 200
    url = SIGNER.generate_presigned_url("get_object", Params={"Bucket": name, "Key": "a b"}, ExpiresIn=60)
    assert urllib.request.urlopen(url).read() == b"by address"
    url = SIGNER.generate_presigned_url("get_object", Params={"Bucket": name, "Key": "a b"}, ExpiresIn=7 * 86_400 + 1)
    try:
        urllib.request.urlopen(url)
        raise AssertionError("valid for more than a week")
    except urllib.error.HTTPError as error:
        assert error.code == 403, error
    url = S3.generate_presigned_url("get_object", Params={"Bucket": name, "Key": "a b"})
    try:
        urllib.request.urlopen(url)
        raise AssertionError("signed by version 2")
    except urllib.error.HTTPError as error:
        assert error.code == 400 and b"s3v4" in error.read(), error


def test_forms():
    name = bucket("forms")
    post = SIGNER.generate_presigned_post(name, "form", Conditions=[["content-length-range", 1, 100]])
    boundary = "frontier"
    fields = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in post["fields"].items())
    data = f'{fields}--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nby form\r\n--{boundary}--\r\n'
    request = urllib.request.Request(post["url"], data=data.encode(), headers={"Content-Type": f"multipart/form-data; boundary={boundary}"})
    if GATEWAY:
        try:
            urllib.request.urlopen(request)
            raise AssertionError("a form passed")
        except urllib.error.HTTPError as error:
            assert error.code == 501 and b"NotImplemented" in error.read(), error
        return
    assert urllib.request.urlopen(request).status == 204
    assert body(name, "form") == b"by form"


def test_rights():
    shared, private = bucket("shared-data"), bucket("private-data")
    for name in (shared, private):
        S3.put_object(Bucket=name, Key="x", Body=b"1")
    reader = client(READER_KEY, READER_SECRET)
    assert reader.get_object(Bucket=shared, Key="x")["Body"].read() == b"1"
    assert reader.list_objects_v2(Bucket=shared)["KeyCount"] == 1
    assert all(b["Name"].startswith("shared-") for b in reader.list_buckets()["Buckets"])
    denied = lambda call, **kwargs: refused("AccessDenied", 403, call, **kwargs)
    denied(reader.put_object, Bucket=shared, Key="y", Body=b"")
    denied(reader.delete_object, Bucket=shared, Key="x")
    denied(reader.delete_objects, Bucket=shared, Delete={"Objects": [{"Key": "x"}]})
    denied(reader.create_multipart_upload, Bucket=shared, Key="y")
    denied(reader.get_object, Bucket=private, Key="x")
    denied(reader.head_object, Bucket=private, Key="x")
    denied(reader.list_objects_v2, Bucket=private)
    denied(reader.create_bucket, Bucket="private-more")
    denied(reader.delete_bucket, Bucket=shared)
    denied(reader.copy_object, Bucket=shared, Key="y", CopySource={"Bucket": private, "Key": "x"})
    refused("InvalidAccessKeyId", 403, client("NOBODY", "x").list_buckets)
    refused("SignatureDoesNotMatch", 403, client(READER_KEY, "wrong").list_buckets)


def test_anonymous():
    name = bucket("shared-open")
    S3.put_object(Bucket=name, Key="x", Body=b"open")
    anybody = client(signature_version=UNSIGNED)
    assert anybody.get_object(Bucket=name, Key="x")["Body"].read() == b"open"
    assert urllib.request.urlopen(f"{ENDPOINT}/{name}/x").read() == b"open"
    refused("AccessDenied", 403, anybody.list_objects_v2, Bucket=name)
    refused("AccessDenied", 403, anybody.put_object, Bucket=name, Key="y", Body=b"")
    refused("AccessDenied", 403, anybody.list_buckets)
    refused("AccessDenied", 403, anybody.get_object, Bucket="shared-data", Key="x")


def test_tags():
    name = bucket("tags")
    S3.put_object(Bucket=name, Key="x", Body=b"1", Tagging="a=1&b=%C3%A4", Metadata={"m": "1"})
    pairs = lambda: [(t["Key"], t["Value"]) for t in S3.get_object_tagging(Bucket=name, Key="x")["TagSet"]]
    assert pairs() == [("a", "1"), ("b", "ä")]
    before = S3.head_object(Bucket=name, Key="x")
    S3.put_object_tagging(Bucket=name, Key="x", Tagging={"TagSet": [{"Key": "c d", "Value": "e+f"}]})
    assert pairs() == [("c d", "e+f")]
    after = S3.head_object(Bucket=name, Key="x")
    assert (before["ETag"], before["Metadata"]) == (after["ETag"], after["Metadata"])
    assert after["TagCount"] == 1, after
    S3.delete_object_tagging(Bucket=name, Key="x")
    assert pairs() == []
    assert "TagCount" not in S3.head_object(Bucket=name, Key="x")


def test_tags_of_buckets():
    name = bucket("bucket-tags")
    refused("NoSuchTagSet", 404, S3.get_bucket_tagging, Bucket=name)
    tags = lambda *names: {"TagSet": [{"Key": key, "Value": "of " + key} for key in names]}
    S3.put_bucket_tagging(Bucket=name, Tagging=tags("project", "owner"))
    assert S3.get_bucket_tagging(Bucket=name)["TagSet"] == tags("owner", "project")["TagSet"]
    refused("InvalidTag", 400, S3.put_bucket_tagging, Bucket=name, Tagging=tags("twice", "twice"))
    S3.delete_bucket_tagging(Bucket=name)
    refused("NoSuchTagSet", 404, S3.get_bucket_tagging, Bucket=name)


def test_refusals():
    name = bucket("refusals")
    not_done = lambda call, **kwargs: refused("NotImplemented", 501, call, Bucket=name, **kwargs)
    not_done(S3.put_object, Key="x", ServerSideEncryption="AES256")
    not_done(S3.put_bucket_versioning, VersioningConfiguration={"Status": "Enabled", "MFADelete": "Enabled"})
    until = "2100-01-01T00:00:00Z"
    refused("InvalidRequest", 400, S3.put_object, Bucket=name, Key="x", ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=until)
    refused("InvalidStorageClass", 400, S3.put_object, Bucket=name, Key="x", StorageClass="GLACIER")
    S3.put_object(Bucket=name, Key="x", ACL="private")
    S3.put_bucket_acl(Bucket=name, ACL="private")
    S3.put_object_acl(Bucket=name, Key="x", ACL="private")
    # No key may own here, so that no ACL means anything.
    for call in (S3.put_object, S3.put_object_acl):
        refused("AccessDenied", 403, call, Bucket=name, Key="x", ACL="public-read")
    refused("AccessDenied", 403, S3.put_bucket_acl, Bucket=name, ACL="public-read")
    policy = '{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}}'
    refused("AccessDenied", 403, S3.put_bucket_policy, Bucket=name, Policy=policy)
    refused("MalformedPolicy", 400, S3.put_bucket_policy, Bucket=name, Policy="{}")
    refused("NoSuchBucketPolicy", 404, S3.get_bucket_policy, Bucket=name)
    refused("AccessDenied", 403, S3.create_bucket, Bucket="refused-bucket", ACL="public-read")
    assert S3.get_bucket_acl(Bucket=name)["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert "Status" not in S3.get_bucket_versioning(Bucket=name)


def ask(method, url, **headers):
    """What a browser does: a request that nobody has signed."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        return urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers))
    except urllib.error.HTTPError as error:
        return error


def test_web_pages():
    # Made by test_anonymous, readable by anybody.
    name = "shared-open"
    S3.put_object(Bucket=name, Key="page", Body=b"x")
    page = "https://replay.example.org"
    refused("NoSuchCORSConfiguration", 404, S3.get_bucket_cors, Bucket=name)
    url = f"{ENDPOINT}/{name}/page"
    assert ask("OPTIONS", url, Origin=page, Access_Control_Request_Method="GET").status == 403
    rule = {
        "AllowedOrigins": ["https://*.example.org"],
        "AllowedMethods": ["GET", "HEAD"],
        "AllowedHeaders": ["range"],
        "ExposeHeaders": ["ETag"],
        "MaxAgeSeconds": 600,
    }
    S3.put_bucket_cors(Bucket=name, CORSConfiguration={"CORSRules": [rule]})
    assert S3.get_bucket_cors(Bucket=name)["CORSRules"] == [rule]
    allowed = ask("OPTIONS", url, Origin=page, Access_Control_Request_Method="GET", Access_Control_Request_Headers="Range")
    assert allowed.status == 200 and allowed.headers["Access-Control-Allow-Origin"] == page
    assert allowed.headers["Access-Control-Allow-Headers"] == "range"
    assert allowed.headers["Access-Control-Max-Age"] == "600"
    assert ask("OPTIONS", url, Origin=page).status == 400
    assert ask("OPTIONS", url, Origin=page, Access_Control_Request_Method="PUT").status == 403
    read = ask("GET", url, Origin=page)
    assert (read.status, read.read()) == (200, b"x")
    assert read.headers["Access-Control-Expose-Headers"] == "ETag" and "Origin" in read.headers["Vary"]
    # No right comes of a rule, and a page learns of the refusal.
    denied = ask("GET", f"{ENDPOINT}/{name}", Origin=page)
    assert denied.status == 403 and denied.headers["Access-Control-Allow-Origin"] == (None if GATEWAY else page)
    assert ask("GET", url, Origin="https://example.com").headers["Access-Control-Allow-Origin"] is None
    S3.delete_bucket_cors(Bucket=name)
    assert ask("GET", url, Origin=page).headers["Access-Control-Allow-Origin"] is None


def main():
    failed = 0
    for label, test in list(globals().items()):
        if not label.startswith("test_"):
            continue
        try:
            test()
            print("passed", label)
        except Exception:
            failed += 1
            print("FAILED", label)
            traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)


main()
