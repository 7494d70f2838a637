"""Every operation that botocore knows, against a server: `sweep.py ENDPOINT KEY SECRET`.

Each is called with the least that its model asks for. No call may change an object or a bucket that is not what the
operation is about, and an operation that is not one of SUPPORTED is refused by status 501. The same is asked of each method with
each sub-resource that botocore knows, and with ones that nobody knows. KEY may do everything.
"""

import datetime
import sys

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.httpsession
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT, KEY, SECRET = sys.argv[1:4]
BUCKET = "sweep"

# What the server has. Reads of settings that cannot be set say that there is none.
SUPPORTED = set("""
    AbortMultipartUpload CompleteMultipartUpload CopyObject CreateBucket CreateMultipartUpload DeleteBucket DeleteBucketCors
    DeleteBucketOwnershipControls DeleteBucketPolicy DeleteBucketTagging DeleteObject DeleteObjectTagging DeleteObjects
    DeletePublicAccessBlock GetBucketAccelerateConfiguration GetBucketAcl GetBucketCors GetBucketEncryption GetBucketLifecycle
    GetBucketLifecycleConfiguration GetBucketLocation GetBucketLogging GetBucketNotification GetBucketNotificationConfiguration
    GetBucketOwnershipControls GetBucketPolicy GetBucketPolicyStatus GetBucketReplication GetBucketRequestPayment GetBucketTagging
    GetBucketVersioning GetBucketWebsite GetObject GetObjectAcl GetObjectAttributes GetObjectLegalHold GetObjectLockConfiguration
    GetObjectRetention GetObjectTagging GetPublicAccessBlock HeadBucket HeadObject ListBucketAnalyticsConfigurations
    ListBucketIntelligentTieringConfigurations ListBucketInventoryConfigurations ListBucketMetricsConfigurations ListBuckets
    ListMultipartUploads ListObjectVersions ListObjects ListObjectsV2 ListParts PutBucketAcl PutBucketCors
    PutBucketOwnershipControls PutBucketPolicy PutBucketTagging PutBucketVersioning PutObject PutObjectAcl PutObjectLegalHold
    PutObjectLockConfiguration PutObjectRetention PutObjectTagging PutPublicAccessBlock UploadPart UploadPartCopy
""".split())

# A read that is sent as ListBuckets, but for the host and what some clients say of it: it may be answered as such.
SAME_AS_ANOTHER = {"ListDirectoryBuckets"}

# Operations that write or remove the object `k`.
OF_THE_OBJECT = {"CompleteMultipartUpload", "CopyObject", "DeleteObject", "DeleteObjects", "PutObject"}

GIVEN = {"Bucket": BUCKET, "Key": "k", "CopySource": f"{BUCKET}/other", "RenameSource": f"/{BUCKET}/other"}

client = boto3.client(
    "s3", endpoint_url=ENDPOINT, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1",
    config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}, inject_host_prefix=False),
)


def least(shape, name=""):
    """The least value that a shape of the model allows."""
    if name in GIVEN and shape.type_name == "string":
        return GIVEN[name]
    if shape.type_name == "structure":
        if getattr(shape, "is_tagged_union", False):
            first = next(iter(shape.members))
            return {first: least(shape.members[first], first)}
        return {member: least(shape.members[member], member) for member in shape.required_members}
    values = {
        "string": lambda: (getattr(shape, "enum", None) or ["x" * max(1, shape.metadata.get("min", 1))])[0],
        "list": lambda: [least(shape.member)],
        "map": lambda: {"x": least(shape.value)},
        "boolean": lambda: True,
        "timestamp": lambda: datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc),
        "blob": lambda: b"",
    }
    return values.get(shape.type_name, lambda: 1)()


def state():
    buckets = sorted(bucket["Name"] for bucket in client.list_buckets()["Buckets"])
    listed = client.list_objects_v2(Bucket=BUCKET).get("Contents", []) if BUCKET in buckets else []
    return buckets, {found["Key"]: found["ETag"] for found in listed}


def begin():
    """Makes the state that calls begin with, and returns it."""
    names = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
    for name in {BUCKET, "sweep-empty"} - names:
        client.create_bucket(Bucket=name)
    for key in ["k", "other"]:
        client.put_object(Bucket=BUCKET, Key=key, Body=f"content of {key}".encode())
    return state()


def sweep_operations():
    model = client.meta.service_model
    count, begun = 0, begin()
    for name in model.operation_names:
        operation = model.operation_model(name)
        given = least(operation.input_shape) if operation.input_shape else {}
        if name == "CreateBucket":
            given["Bucket"] = "sweep-new"
        elif name == "DeleteBucket":
            given["Bucket"] = "sweep-empty"
        status = 200
        try:
            client._make_api_call(name, given)
        except ClientError as error:
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        found = state()
        (before, after), is_changed = ((begun[0], dict(begun[1])), found), found != begun
        if name in OF_THE_OBJECT:
            before[1].pop("k")
            after = (found[0], {key: tag for key, tag in found[1].items() if key != "k"})
        elif name in {"CreateBucket", "DeleteBucket"}:
            before, after = before[1:], after[1:]
        assert before == after, f"{name} changed {before} to {after}, with status {status}"
        if name in SAME_AS_ANOTHER:
            assert status in (200, 501), f"{name}: {status}"
        elif name not in SUPPORTED:
            assert status == 501, f"{name}: {status}"
        else:
            assert status < 500, f"{name}: {status}"
        count += 1
        if name == "PutBucketPolicy" and status < 300:
            client.delete_bucket_policy(Bucket=BUCKET)
        if is_changed:
            begun = begin()
    assert count > 100, count
    return count


def send(method, path, headers=(), body=b""):
    """A signed request of any kind. Returns the status."""
    request = botocore.awsrequest.AWSRequest(method, ENDPOINT + path, data=body, headers=dict(headers))
    credentials = client._get_credentials() if hasattr(client, "_get_credentials") else client._request_signer._credentials
    botocore.auth.S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
    return SESSION.send(request.prepare()).status_code


SESSION = botocore.httpsession.URLLib3Session()


def sweep_requests():
    """Methods, sub-resources and headers in all combinations. The few that are operations on objects are left out."""
    model = client.meta.service_model
    resources, headers = set(), set()
    for name in model.operation_names:
        operation = model.operation_model(name)
        _, _, query = operation.http["requestUri"].partition("?")
        resources |= {part.partition("=")[0] for part in query.split("&") if part}
        for member in operation.input_shape.members.values() if operation.input_shape else []:
            place, sent = member.serialization.get("location"), member.serialization.get("name", "")
            if place == "querystring":
                resources.add(sent)
            elif place == "header" and sent.lower().endswith("-source"):
                headers.add(sent.lower())
    resources -= {"x-id"}
    resources |= {"foo", "foo=1", "renameObject&x-id=RenameObject", "append&position=0", "x-id=RenameObject",
                  "x-amz-copy-source=sweep/other", "versions", "partNumber=1", "uploadId=x", "events", "Delete"}
    allowed = {("DELETE", "versionId")}
    before, count = begin(), 0
    for resource in sorted(resources):
        statuses = []
        for method in ["PUT", "POST", "DELETE"]:
            for path in [f"/{BUCKET}", f"/{BUCKET}/k", f"/{BUCKET}/new"]:
                if (method, resource) in allowed or resource.startswith("response-"):
                    continue
                status = send(method, f"{path}?{resource}")
                assert status < 500 or status == 501, f"{method} {path}?{resource}: {status}"
                statuses.append((method, path, status))
        after = state()
        assert before == after, f"one of {statuses} with ?{resource} changed {before} to {after}"
        count += len(statuses)
    assert "x-amz-rename-source" in headers, headers
    for header in sorted(headers - {"x-amz-copy-source"}) + ["x-amz-new-source"]:
        for method in ["PUT", "DELETE"]:
            status = send(method, f"/{BUCKET}/k", {header: f"/{BUCKET}/other"})
            assert (status, state()) == (501, before), f"{method} with {header}: {status}"
    for method in ["POST", "DELETE"]:
        status = send(method, f"/{BUCKET}/k", {"x-amz-copy-source": f"/{BUCKET}/other"})
        assert status >= 400 and state() == before, f"{method} with x-amz-copy-source: {status}"
    # Notes for the log and a parameter against caches are no operations.
    for method, path in [("GET", f"/{BUCKET}/k?v=1"), ("PUT", f"/{BUCKET}/k?x-note=a"), ("DELETE", f"/{BUCKET}/k?x-note=a")]:
        assert send(method, path) in (200, 204), path
    return count


print(f"{sweep_operations()} operations and {sweep_requests()} requests")
