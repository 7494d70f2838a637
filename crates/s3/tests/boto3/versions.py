"""Versions and object lock: `versions.py ENDPOINT`, with the keys OWNER, GUEST and WRITER of `owners.py`."""

import datetime
import json
import sys
import traceback

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = sys.argv[1]


def client(key):
    return boto3.client(
        "s3", endpoint_url=ENDPOINT, aws_access_key_id=key, aws_secret_access_key=f"secret-of-{key}",
        region_name="us-east-1", config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}),
    )


OWNER, GUEST, WRITER = map(client, ["OWNER", "GUEST", "WRITER"])


def answer_of(call, *args, **kwargs):
    """Code and headers of what is refused."""
    try:
        call(*args, **kwargs)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPHeaders"]
    return "OK", {}


def refused(code, call, *args, **kwargs):
    found, headers = answer_of(call, *args, **kwargs)
    assert found == code, (found, code)
    return headers


def bucket(name, status="Enabled", **kwargs):
    OWNER.create_bucket(Bucket=name, **kwargs)
    if status:
        OWNER.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": status})
    return name


def put(name, key, body, **kwargs):
    return OWNER.put_object(Bucket=name, Key=key, Body=body, **kwargs)


def read(name, key, **kwargs):
    return OWNER.get_object(Bucket=name, Key=key, **kwargs)["Body"].read()


def listed(name, **kwargs):
    """Key, id, whether it is the latest, whether it is a marker; in order of keys, the newest first."""
    found = []
    for page in OWNER.get_paginator("list_object_versions").paginate(Bucket=name, **kwargs):
        for kind, is_marker in [("Versions", False), ("DeleteMarkers", True)]:
            found += [(v["Key"], v["VersionId"], v["IsLatest"], is_marker, v["LastModified"]) for v in page.get(kind, [])]
    # Versions and markers are apart in what boto3 gives, and of a second the ids tell the order: nulls do not.
    return [line[:4] for line in sorted(found, key=lambda line: (line[0], not line[2], line[1]))]


def test_a_version_stays_and_is_found_by_its_id():
    name = bucket("kept-versions")
    first = put(name, "a", b"first", Metadata={"n": "1"}, Tagging="t=1")
    second = put(name, "a", b"second")
    assert first["VersionId"] != second["VersionId"]
    assert read(name, "a") == b"second" and read(name, "a", VersionId=first["VersionId"]) == b"first"
    head = OWNER.head_object(Bucket=name, Key="a", VersionId=first["VersionId"])
    assert head["VersionId"] == first["VersionId"] and head["ETag"] == first["ETag"] and head["Metadata"] == {"n": "1"}
    assert OWNER.get_object_tagging(Bucket=name, Key="a", VersionId=first["VersionId"])["TagSet"] == [{"Key": "t", "Value": "1"}]
    assert OWNER.get_object(Bucket=name, Key="a", VersionId=first["VersionId"], Range="bytes=1-2")["Body"].read() == b"ir"
    marker = OWNER.delete_object(Bucket=name, Key="a")
    assert marker["DeleteMarker"]
    headers = refused("NoSuchKey", OWNER.get_object, Bucket=name, Key="a")
    assert headers["x-amz-delete-marker"] == "true" and headers["x-amz-version-id"] == marker["VersionId"]
    headers = refused("405", OWNER.head_object, Bucket=name, Key="a", VersionId=marker["VersionId"])
    assert headers["x-amz-delete-marker"] == "true" and headers["allow"] == "DELETE"
    refused("NoSuchVersion", OWNER.get_object, Bucket=name, Key="a", VersionId="0" * 44)
    refused("InvalidArgument", OWNER.get_object, Bucket=name, Key="a", VersionId="what")
    assert "Contents" not in OWNER.list_objects_v2(Bucket=name)
    gone = OWNER.delete_object(Bucket=name, Key="a", VersionId=marker["VersionId"])
    assert gone["DeleteMarker"] and gone["VersionId"] == marker["VersionId"]
    assert read(name, "a") == b"second"
    OWNER.delete_object(Bucket=name, Key="a", VersionId=second["VersionId"])
    assert read(name, "a") == b"first"
    head = OWNER.head_object(Bucket=name, Key="a")
    assert head["VersionId"] == first["VersionId"] and head["Metadata"] == {"n": "1"}
    refused("BucketNotEmpty", OWNER.delete_bucket, Bucket=name)
    OWNER.delete_object(Bucket=name, Key="a", VersionId=first["VersionId"])
    assert listed(name) == []
    OWNER.delete_bucket(Bucket=name)


def test_versions_are_listed_in_pages():
    name = bucket("paged-versions")
    expected = []
    for key in ["a", "dir/x", "dir/y", "e"]:
        ids = [put(name, key, str(turn))["VersionId"] for turn in range(3)]
        ids.append(OWNER.delete_object(Bucket=name, Key=key)["VersionId"])
        ids.reverse()
        expected += [(key, one, at == 0, at == 0) for at, one in enumerate(ids)]
    for size in [1, 2, 3, 5, 1000]:
        assert listed(name, PaginationConfig={"PageSize": size}) == expected, size
    page = OWNER.list_object_versions(Bucket=name, Delimiter="/", MaxKeys=5)
    assert page["IsTruncated"] and [p["Prefix"] for p in page["CommonPrefixes"]] == ["dir/"]
    rest = OWNER.list_object_versions(Bucket=name, Delimiter="/", KeyMarker=page["NextKeyMarker"])
    assert {v["Key"] for v in rest["Versions"]} == {"e"} and "CommonPrefixes" not in rest
    after = [line for line in expected if line[0] == "dir/x"][1][1]
    page = OWNER.list_object_versions(Bucket=name, KeyMarker="dir/x", VersionIdMarker=after, MaxKeys=2)
    assert [v["VersionId"] for v in page["Versions"]] == [line[1] for line in expected if line[0] == "dir/x"][2:]


def test_null_is_one_version():
    name = bucket("null-version", status=None)
    assert "VersionId" not in put(name, "a", b"before")
    OWNER.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    kept = put(name, "a", b"kept")["VersionId"]
    assert read(name, "a", VersionId="null") == b"before"
    OWNER.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Suspended"})
    assert OWNER.get_bucket_versioning(Bucket=name)["Status"] == "Suspended"
    put(name, "a", b"suspended")
    assert read(name, "a", VersionId="null") == b"suspended" and read(name, "a", VersionId=kept) == b"kept"
    marker = OWNER.delete_object(Bucket=name, Key="a")
    assert marker["VersionId"] == "null" and marker["DeleteMarker"]
    assert listed(name) == [("a", "null", True, True), ("a", kept, False, False)]
    refused("IllegalVersioningConfigurationException", OWNER.put_bucket_versioning, Bucket=name, VersioningConfiguration={})


def test_copies_and_uploads_are_versions():
    name = bucket("written-versions")
    first = put(name, "a", b"first")["VersionId"]
    put(name, "a", b"second")
    source = {"Bucket": name, "Key": "a", "VersionId": first}
    copy = OWNER.copy_object(Bucket=name, Key="b", CopySource=source)
    assert copy["CopySourceVersionId"] == first and read(name, "b", VersionId=copy["VersionId"]) == b"first"
    # An older version is made current again by a copy onto its own key.
    again = OWNER.copy_object(Bucket=name, Key="a", CopySource=source)["VersionId"]
    assert read(name, "a") == b"first" and again != first
    upload = OWNER.create_multipart_upload(Bucket=name, Key="b")["UploadId"]
    part = OWNER.upload_part(Bucket=name, Key="b", UploadId=upload, PartNumber=1, Body=b"parts")
    done = OWNER.complete_multipart_upload(
        Bucket=name, Key="b", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    assert [line[1] for line in listed(name, Prefix="b")] == [done["VersionId"], copy["VersionId"]]


def test_who_names_a_version_needs_the_actions_on_versions():
    name = bucket("allowed-versions")
    first = put(name, "a", b"first")["VersionId"]
    put(name, "a", b"second")
    allow = lambda *actions: OWNER.put_bucket_policy(Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": "guest"}, "Action": list(actions), "Resource": f"arn:aws:s3:::{name}/*"}]}))
    allow("s3:GetObject", "s3:DeleteObject")
    assert GUEST.get_object(Bucket=name, Key="a")["Body"].read() == b"second"
    refused("AccessDenied", GUEST.get_object, Bucket=name, Key="a", VersionId=first)
    refused("AccessDenied", GUEST.delete_object, Bucket=name, Key="a", VersionId=first)
    source = {"Bucket": name, "Key": "a", "VersionId": first}
    GUEST.create_bucket(Bucket="guests-copies")
    refused("AccessDenied", GUEST.copy_object, Bucket="guests-copies", Key="a", CopySource=source)
    asked = {"Objects": [{"Key": "a", "VersionId": first}]}
    assert GUEST.delete_objects(Bucket=name, Delete=asked)["Errors"][0]["Code"] == "AccessDenied"
    allow("s3:GetObjectVersion", "s3:DeleteObjectVersion")
    assert GUEST.get_object(Bucket=name, Key="a", VersionId=first)["Body"].read() == b"first"
    refused("AccessDenied", GUEST.get_object, Bucket=name, Key="a")
    GUEST.copy_object(Bucket="guests-copies", Key="a", CopySource=source)
    assert "Errors" not in GUEST.delete_objects(Bucket=name, Delete=asked)
    refused("NoSuchVersion", OWNER.get_object, Bucket=name, Key="a", VersionId=first)


def test_a_list_is_that_of_the_version():
    name = bucket("listed-by-acl")
    first = put(name, "a", b"open", ACL="public-read")["VersionId"]
    put(name, "a", b"closed")
    assert GUEST.get_object(Bucket=name, Key="a", VersionId=first)["Body"].read() == b"open"
    refused("AccessDenied", GUEST.get_object, Bucket=name, Key="a")
    OWNER.put_object_acl(Bucket=name, Key="a", VersionId=first, ACL="private")
    refused("AccessDenied", GUEST.get_object, Bucket=name, Key="a", VersionId=first)
    assert [line[1] for line in listed(name)][1] == first, "an ACL makes no version"


def test_object_lock():
    name = bucket("locked-objects", status=None, ObjectLockEnabledForBucket=True)
    later = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)
    first = put(name, "a", b"first", ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=later)["VersionId"]
    put(name, "a", b"second")
    marker = OWNER.delete_object(Bucket=name, Key="a")["VersionId"]
    refused("AccessDenied", OWNER.delete_object, Bucket=name, Key="a", VersionId=first)
    # Of a version that is not the current one, too.
    retention = OWNER.get_object_retention(Bucket=name, Key="a", VersionId=first)["Retention"]
    assert retention == {"Mode": "GOVERNANCE", "RetainUntilDate": later}
    OWNER.put_object_legal_hold(Bucket=name, Key="a", VersionId=first, LegalHold={"Status": "ON"})
    refused("AccessDenied", OWNER.delete_object, Bucket=name, Key="a", VersionId=first, BypassGovernanceRetention=True)
    head = OWNER.head_object(Bucket=name, Key="a", VersionId=first)
    assert head["ObjectLockLegalHoldStatus"] == "ON" and head["ObjectLockMode"] == "GOVERNANCE", "the retention is still there"
    OWNER.put_object_legal_hold(Bucket=name, Key="a", VersionId=first, LegalHold={"Status": "OFF"})
    # Who may write and delete may set no retention on what is there, end none, and bypass none.
    refused("AccessDenied", WRITER.put_object_retention, Bucket=name, Key="a", VersionId=first, Retention=retention)
    refused("AccessDenied", WRITER.put_object_legal_hold, Bucket=name, Key="a", VersionId=first, LegalHold={"Status": "ON"})
    OWNER.put_bucket_policy(Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": "guest"}, "Action": "s3:DeleteObjectVersion", "Resource": f"arn:aws:s3:::{name}/*"}]}))
    refused("AccessDenied", GUEST.delete_object, Bucket=name, Key="a", VersionId=first, BypassGovernanceRetention=True)
    OWNER.delete_object(Bucket=name, Key="a", VersionId=first, BypassGovernanceRetention=True)
    assert first not in [line[1] for line in listed(name)]
    OWNER.delete_object(Bucket=name, Key="a", VersionId=marker)
    assert read(name, "a") == b"second"
    refused("InvalidBucketState", OWNER.put_bucket_versioning, Bucket=name, VersioningConfiguration={"Status": "Suspended"})
    refused("InvalidArgument", put, name, "b", b"", ObjectLockMode="GOVERNANCE")
    OWNER.put_object_lock_configuration(Bucket=name, ObjectLockConfiguration={
        "ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}})
    by_default = put(name, "b", b"b")["VersionId"]
    refused("AccessDenied", OWNER.delete_object, Bucket=name, Key="b", VersionId=by_default, BypassGovernanceRetention=True)
    unlocked = bucket("unlocked-objects", status=None)
    refused("InvalidRequest", put, unlocked, "a", b"", ObjectLockLegalHoldStatus="ON")


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
