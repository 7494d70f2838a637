"""Who may do what where users own their buckets: `owners.py ENDPOINT`.

The keys OWNER, GUEST and WRITER belong to users of the same names in lower case; OWNER and GUEST may own everywhere, WRITER
may write and own nothing, NOBODY has no right at all. OWNER2 belongs to `owner` too but may only list `listed-*`. Nothing may
be opened to everybody in `closed-*`.
"""

import itertools
import json
import random
import sys
import traceback
import urllib.error
import urllib.request

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = sys.argv[1]
EVERYBODY = "http://acs.amazonaws.com/groups/global/AllUsers"
AUTHENTICATED = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"


def client(key):
    signing = {"signature_version": UNSIGNED} if key is None else {}
    return boto3.client(
        "s3", endpoint_url=ENDPOINT, aws_access_key_id=key or "x", aws_secret_access_key=f"secret-of-{key}",
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}, **signing),
    )


OWNER, GUEST, WRITER, NOBODY, OWNER2 = map(client, ["OWNER", "GUEST", "WRITER", "NOBODY", "OWNER2"])
ANYBODY = client(None)


def code_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
        return "OK"
    except ClientError as error:
        return error.response["Error"]["Code"]


def refused(code, call, *args, **kwargs):
    found = code_of(call, *args, **kwargs)
    assert found == code, (found, code)


def denied(call, *args, **kwargs):
    found = code_of(call, *args, **kwargs)
    assert found in ("AccessDenied", "403"), found


def bucket(name, **kwargs):
    OWNER.create_bucket(Bucket=name, **kwargs)
    return name


def user(name):
    return {"Type": "CanonicalUser", "ID": name}


def grants(answer):
    found = [(g["Grantee"].get("ID") or g["Grantee"]["URI"].split("/")[-1], g["Permission"]) for g in answer["Grants"]]
    return sorted(found)


def test_private_by_default():
    name = bucket("private-default")
    OWNER.put_object(Bucket=name, Key="x", Body=b"1")
    assert OWNER.get_object(Bucket=name, Key="x")["Body"].read() == b"1"
    for other in (GUEST, NOBODY, OWNER2, ANYBODY):
        denied(other.get_object, Bucket=name, Key="x")
        denied(other.get_object, Bucket=name, Key="none")
        denied(other.list_objects_v2, Bucket=name)
        denied(other.put_object, Bucket=name, Key="x", Body=b"2")
        denied(other.delete_object, Bucket=name, Key="x")
        denied(other.delete_objects, Bucket=name, Delete={"Objects": [{"Key": "x"}]})
        denied(other.delete_bucket, Bucket=name)
        denied(other.put_bucket_acl, Bucket=name, ACL="public-read")
        denied(other.put_object_acl, Bucket=name, Key="x", ACL="public-read")
        denied(other.copy_object, Bucket=name, Key="y", CopySource=f"{name}/x")
    assert name not in [b["Name"] for b in GUEST.list_buckets()["Buckets"]]
    denied(ANYBODY.list_buckets)
    guests = "private-guests"
    GUEST.create_bucket(Bucket=guests)
    denied(GUEST.copy_object, Bucket=guests, Key="y", CopySource=f"{name}/x")
    refused("NoSuchBucket", NOBODY.list_objects_v2, Bucket="no-such-bucket")
    # Who may write by the keys file may do that, and own nothing by it.
    WRITER.put_object(Bucket=name, Key="w", Body=b"w")
    denied(WRITER.get_object, Bucket=name, Key="w")
    denied(WRITER.put_object_acl, Bucket=name, Key="w", ACL="private")
    denied(WRITER.put_object, Bucket=name, Key="w", Body=b"w", ACL="public-read")
    denied(WRITER.put_bucket_acl, Bucket=name, ACL="public-read")


def test_lists_are_kept():
    name = bucket("kept-lists", ACL="public-read")
    assert grants(OWNER.get_bucket_acl(Bucket=name)) == [("AllUsers", "READ"), ("owner", "FULL_CONTROL")]
    made = [b["CreationDate"] for b in OWNER.list_buckets()["Buckets"] if b["Name"] == name]
    policy = {"Owner": {"ID": "owner"}, "Grants": [{"Grantee": user("guest"), "Permission": "WRITE"}]}
    OWNER.put_bucket_acl(Bucket=name, AccessControlPolicy=policy)
    assert grants(OWNER.get_bucket_acl(Bucket=name)) == [("guest", "WRITE")]
    assert made == [b["CreationDate"] for b in OWNER.list_buckets()["Buckets"] if b["Name"] == name]
    OWNER.put_bucket_acl(Bucket=name, ACL="private")
    OWNER.put_object(Bucket=name, Key="x", Body=b"1" * 100_000, Metadata={"m": "1"}, Tagging="t=1")
    before = OWNER.head_object(Bucket=name, Key="x")
    OWNER.put_object_acl(Bucket=name, Key="x", GrantRead='id="guest", emailAddress="writer@example.org"')
    assert grants(OWNER.get_object_acl(Bucket=name, Key="x")) == [("guest", "READ"), ("writer", "READ")]
    OWNER.put_object_acl(Bucket=name, Key="x", ACL="authenticated-read")
    after = OWNER.head_object(Bucket=name, Key="x")
    for what in ("ETag", "LastModified", "Metadata", "ContentLength"):
        assert before[what] == after[what], what
    assert OWNER.get_object_tagging(Bucket=name, Key="x")["TagSet"] == [{"Key": "t", "Value": "1"}]
    assert NOBODY.get_object(Bucket=name, Key="x")["Body"].read() == b"1" * 100_000
    denied(ANYBODY.get_object, Bucket=name, Key="x")
    OWNER.copy_object(Bucket=name, Key="y", CopySource=f"{name}/x")
    assert grants(OWNER.get_object_acl(Bucket=name, Key="y")) == [("owner", "FULL_CONTROL")], "a copy is private"
    refused("InvalidArgument", OWNER.put_object_acl, Bucket=name, Key="x", GrantRead="id=unknown")
    refused("NoSuchKey", OWNER.put_object_acl, Bucket=name, Key="none", ACL="private")


def test_ownership():
    name = bucket("owned-objects", ACL="public-read-write")
    GUEST.put_object(Bucket=name, Key="theirs", Body=b"1")
    ANYBODY.put_object(Bucket=name, Key="unsigned", Body=b"1")
    denied(OWNER.get_object, Bucket=name, Key="theirs")
    assert OWNER.get_object(Bucket=name, Key="unsigned")["Body"].read() == b"1"
    owners = lambda: {o["Key"]: o["Owner"]["ID"] for o in OWNER.list_objects(Bucket=name)["Contents"]}
    assert owners() == {"theirs": "guest", "unsigned": "owner"}
    refused("InvalidBucketAclWithObjectOwnership", OWNER.put_bucket_ownership_controls, Bucket=name,
            OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]})
    OWNER.put_bucket_acl(Bucket=name, ACL="private")
    OWNER.put_bucket_ownership_controls(Bucket=name,
                                        OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]})
    assert OWNER.get_object(Bucket=name, Key="theirs")["Body"].read() == b"1"
    denied(GUEST.get_object, Bucket=name, Key="theirs")
    assert owners() == {"theirs": "owner", "unsigned": "owner"}
    refused("AccessControlListNotSupported", OWNER.put_object_acl, Bucket=name, Key="theirs", ACL="public-read")
    denied(GUEST.put_bucket_ownership_controls, Bucket=name,
           OwnershipControls={"Rules": [{"ObjectOwnership": "ObjectWriter"}]})


def test_keys_file_has_the_last_word():
    closed = bucket("closed-bucket")
    denied(OWNER.put_bucket_acl, Bucket=closed, ACL="public-read")
    denied(OWNER.put_object, Bucket=closed, Key="x", Body=b"1", ACL="authenticated-read")
    denied(OWNER.create_bucket, Bucket="closed-other", ACL="public-read")
    OWNER.put_object(Bucket=closed, Key="x", Body=b"1", GrantRead="id=guest")
    assert GUEST.get_object(Bucket=closed, Key="x")["Body"].read() == b"1"
    # A second key of the owner has what the keys file gives it, and what everybody has.
    listed = bucket("listed-bucket")
    OWNER.put_object(Bucket=listed, Key="x", Body=b"1")
    OWNER2.list_objects_v2(Bucket=listed)
    denied(OWNER2.get_object, Bucket=listed, Key="x")
    denied(OWNER2.put_bucket_acl, Bucket=listed, ACL="private")
    OWNER.put_object_acl(Bucket=listed, Key="x", ACL="public-read")
    OWNER2.get_object(Bucket=listed, Key="x")


def policy(*statements):
    common = {"Effect": "Allow", "Principal": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [{**common, **one} for one in statements]})


def form(name, fields):
    """A form sent without a signature; the answer's status."""
    parts = "".join(f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items())
    body = parts + '--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\ncontent\r\n--x--\r\n'
    request = urllib.request.Request(f"{ENDPOINT}/{name}", body.encode(), method="POST",
                                     headers={"Content-Type": "multipart/form-data; boundary=x"})
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code


def test_policies():
    name = bucket("with-policy")
    arn = f"arn:aws:s3:::{name}"
    for key in ("open/x", "open/y", "closed/x"):
        OWNER.put_object(Bucket=name, Key=key, Body=key.encode())
    text = policy(
        {"Action": "s3:GetObject", "Resource": f"{arn}/open/*"},
        {"Action": ["s3:ListBucket"], "Resource": arn, "Condition": {"StringLike": {"s3:prefix": "open/*"}}},
        {"Action": ["s3:PutObject", "s3:DeleteObject"], "Resource": f"{arn}/drop/*", "Principal": {"AWS": "guest"}},
        {"Effect": "Deny", "Action": "s3:PutObjectAcl", "Resource": f"{arn}/*", "Principal": {"AWS": "guest"}},
        {"Effect": "Deny", "Action": "s3:*", "Resource": f"{arn}/open/y", "Principal": {"AWS": "nobody"}},
    ).replace('"nobody"', '"NOBODY"')
    denied(GUEST.put_bucket_policy, Bucket=name, Policy=text)
    OWNER.put_bucket_policy(Bucket=name, Policy=text)
    assert OWNER.get_bucket_policy(Bucket=name)["Policy"] == text
    assert OWNER.get_bucket_policy_status(Bucket=name)["PolicyStatus"]["IsPublic"]
    denied(GUEST.get_bucket_policy, Bucket=name)
    denied(GUEST.delete_bucket_policy, Bucket=name)
    assert ANYBODY.get_object(Bucket=name, Key="open/x")["Body"].read() == b"open/x"
    denied(ANYBODY.get_object, Bucket=name, Key="closed/x")
    denied(NOBODY.get_object, Bucket=name, Key="open/y")
    ANYBODY.list_objects_v2(Bucket=name, Prefix="open/x")
    denied(ANYBODY.list_objects_v2, Bucket=name, Prefix="")
    denied(ANYBODY.list_objects_v2, Bucket=name)
    refused("NoSuchKey", ANYBODY.get_object, Bucket=name, Key="open/none")
    denied(ANYBODY.get_object, Bucket=name, Key="closed/none")
    # One key may be written, another not; what is denied of many is said of each.
    GUEST.put_object(Bucket=name, Key="drop/x", Body=b"1")
    denied(GUEST.put_object, Bucket=name, Key="drop/x", Body=b"1", ACL="public-read")
    denied(GUEST.put_object, Bucket=name, Key="open/x", Body=b"1")
    denied(GUEST.upload_part, Bucket=name, Key="open/x", UploadId="none", PartNumber=1, Body=b"1")
    denied(GUEST.copy_object, Bucket=name, Key="drop/copy", CopySource=f"{name}/closed/x")
    GUEST.copy_object(Bucket=name, Key="drop/copy", CopySource=f"{name}/open/x")
    answer = GUEST.delete_objects(Bucket=name, Delete={"Objects": [{"Key": "drop/x"}, {"Key": "open/x"}]})
    assert [d["Key"] for d in answer["Deleted"]] == ["drop/x"], answer
    assert [(e["Key"], e["Code"]) for e in answer["Errors"]] == [("open/x", "AccessDenied")], answer
    assert "Deleted" not in ANYBODY.delete_objects(Bucket=name, Delete={"Objects": [{"Key": "open/x"}]})
    # Forms name their key in their body.
    OWNER.put_bucket_policy(Bucket=name, Policy=policy(
        {"Action": "s3:PutObject", "Resource": f"{arn}/drop/*", "Condition": {"StringEquals": {"s3:x-amz-acl": "private"}}}))
    statuses = [form(name, fields) for fields in (
        {"key": "drop/form", "x-amz-acl": "private"}, {"key": "drop/form", "x-amz-acl": "public-read"},
        {"key": "drop/form"}, {"key": "open/form", "x-amz-acl": "private"},
    )]
    assert statuses == [204, 403, 403, 403], statuses
    assert OWNER.get_object(Bucket=name, Key="drop/form")["Body"].read() == b"content"
    OWNER.delete_bucket_policy(Bucket=name)
    refused("NoSuchBucketPolicy", OWNER.get_bucket_policy, Bucket=name)
    denied(ANYBODY.get_object, Bucket=name, Key="open/x")


def test_policies_cannot_lock_their_owner_out():
    name = bucket("locked-out")
    OWNER.put_bucket_policy(Bucket=name, Policy=policy({"Effect": "Deny", "Action": "*", "Resource": "*"}))
    denied(OWNER.list_objects_v2, Bucket=name)
    denied(WRITER.put_object, Bucket=name, Key="x", Body=b"1")
    OWNER.get_bucket_policy(Bucket=name)
    OWNER.delete_bucket_policy(Bucket=name)
    WRITER.put_object(Bucket=name, Key="x", Body=b"1")


def test_policies_by_tags_and_address():
    name = bucket("tag-policy")
    arn = f"arn:aws:s3:::{name}"
    OWNER.put_object(Bucket=name, Key="x", Body=b"1", Tagging="open=yes")
    OWNER.put_object(Bucket=name, Key="y", Body=b"1", Tagging="open=no")
    by_tag = lambda key: {"StringEquals": {f"s3:{key}/open": "yes"}}
    OWNER.put_bucket_policy(Bucket=name, Policy=policy(
        {"Action": ["s3:GetObject"], "Resource": f"{arn}/*", "Condition": by_tag("ExistingObjectTag")},
        {"Action": "s3:PutObjectTagging", "Resource": f"{arn}/*", "Condition": by_tag("RequestObjectTag")}))
    ANYBODY.get_object(Bucket=name, Key="x")
    denied(ANYBODY.get_object, Bucket=name, Key="y")
    tags = lambda value: {"TagSet": [{"Key": "open", "Value": value}]}
    denied(ANYBODY.put_object_tagging, Bucket=name, Key="y", Tagging=tags("no"))
    ANYBODY.put_object_tagging(Bucket=name, Key="y", Tagging=tags("yes"))
    ANYBODY.get_object(Bucket=name, Key="y")
    denied(ANYBODY.delete_object_tagging, Bucket=name, Key="y")
    for net, expected in [("127.0.0.0/8", "OK"), ("10.0.0.0/8", "AccessDenied")]:
        OWNER.put_bucket_policy(Bucket=name, Policy=policy(
            {"Action": "s3:GetObject", "Resource": f"{arn}/*", "Condition": {"IpAddress": {"aws:SourceIp": net}}}))
        assert code_of(ANYBODY.get_object, Bucket=name, Key="x") == expected
        assert not OWNER.get_bucket_policy_status(Bucket=name)["PolicyStatus"]["IsPublic"]
    OWNER.put_bucket_policy(Bucket=name, Policy=policy(
        {"Action": "s3:GetObject", "Resource": f"{arn}/*", "Condition": {"Bool": {"aws:SecureTransport": True}}}))
    denied(ANYBODY.get_object, Bucket=name, Key="x")


def test_public_access_blocks():
    name = bucket("blocked-later", ACL="public-read")
    arn = f"arn:aws:s3:::{name}"
    OWNER.put_object(Bucket=name, Key="x", Body=b"1")
    public = policy({"Action": "s3:GetObject", "Resource": f"{arn}/*"})
    OWNER.put_bucket_policy(Bucket=name, Policy=public)
    ANYBODY.list_objects_v2(Bucket=name)
    ANYBODY.get_object(Bucket=name, Key="x")
    refused("NoSuchPublicAccessBlockConfiguration", OWNER.get_public_access_block, Bucket=name)
    everything = dict.fromkeys(["BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"], True)
    denied(GUEST.put_public_access_block, Bucket=name, PublicAccessBlockConfiguration=everything)
    OWNER.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration=everything)
    denied(ANYBODY.list_objects_v2, Bucket=name)
    denied(ANYBODY.get_object, Bucket=name, Key="x")
    denied(OWNER.put_bucket_policy, Bucket=name, Policy=public)
    denied(OWNER.put_bucket_acl, Bucket=name, ACL="public-read")
    OWNER.get_object(Bucket=name, Key="x")
    OWNER.delete_public_access_block(Bucket=name)
    ANYBODY.get_object(Bucket=name, Key="x")
    closed = bucket("closed-policy")
    denied(OWNER.put_bucket_policy, Bucket=closed, Policy=policy({"Action": "s3:GetObject", "Resource": "*"}))


def test_every_operation_against_random_lists():
    """Random lists on a bucket and its object; every operation by everybody, against what the rule says."""
    name = bucket("random-lists")
    chance = random.Random(2009)
    grantees = [("guest", user("guest")), ("owner", user("owner")),
                ("signed", {"Type": "Group", "URI": AUTHENTICATED}), ("all", {"Type": "Group", "URI": EVERYBODY})]
    permissions = ["READ", "WRITE", "READ_ACP", "WRITE_ACP", "FULL_CONTROL"]
    everything = list(itertools.product(grantees, permissions))
    callers = {"owner": OWNER, "guest": GUEST, "nobody": NOBODY, None: ANYBODY}

    def gives(chosen, caller, wanted, owner="owner"):
        names = {caller, "all"} | ({"signed"} if caller else set())
        if caller == owner and wanted in ("READ_ACP", "WRITE_ACP"):
            return True
        return any(who in names and what in (wanted, "FULL_CONTROL") for (who, _), what in chosen)

    def document(chosen):
        return {"Owner": {"ID": "owner"}, "Grants": [{"Grantee": g, "Permission": p} for (_, g), p in chosen]}

    for _ in range(12):
        of_bucket = chance.sample(everything, chance.randrange(4))
        of_object = chance.sample(everything, chance.randrange(4))
        OWNER.put_bucket_acl(Bucket=name, ACL="private")
        OWNER.put_object(Bucket=name, Key="x", Body=b"content")
        OWNER.put_object_acl(Bucket=name, Key="x", AccessControlPolicy=document(of_object))
        OWNER.put_bucket_acl(Bucket=name, AccessControlPolicy=document(of_bucket))
        for caller, s3 in callers.items():
            on_bucket = lambda wanted: gives(of_bucket, caller, wanted)
            on_object = lambda wanted: gives(of_object, caller, wanted)
            own = caller == "owner"
            x = {"Bucket": name, "Key": "x"}
            checks = [
                (on_object("READ"), s3.get_object, x),
                (on_object("READ"), s3.head_object, x),
                (on_object("READ"), s3.get_object_attributes, {**x, "ObjectAttributes": ["ObjectSize"]}),
                (on_object("FULL_CONTROL"), s3.get_object_tagging, x),
                (on_object("READ_ACP"), s3.get_object_acl, x),
                (on_bucket("READ"), s3.list_objects_v2, {"Bucket": name}),
                (on_bucket("READ"), s3.list_objects, {"Bucket": name}),
                (on_bucket("READ"), s3.list_object_versions, {"Bucket": name}),
                (on_bucket("READ"), s3.list_multipart_uploads, {"Bucket": name}),
                (on_bucket("READ"), s3.head_bucket, {"Bucket": name}),
                (on_bucket("READ_ACP"), s3.get_bucket_acl, {"Bucket": name}),
                (on_bucket("WRITE"), s3.put_object, {"Bucket": name, "Key": "new", "Body": b"1"}),
                (on_bucket("WRITE"), s3.create_multipart_upload, {"Bucket": name, "Key": "new"}),
                (on_bucket("WRITE"), s3.delete_object, {"Bucket": name, "Key": "new"}),
                (on_bucket("WRITE"), s3.delete_objects, {"Bucket": name, "Delete": {"Objects": [{"Key": "new"}]}}),
                (on_bucket("WRITE") and on_object("READ"), s3.copy_object,
                 {"Bucket": name, "Key": "copy", "CopySource": f"{name}/x"}),
                (own, s3.get_bucket_versioning, {"Bucket": name}),
                (own, s3.get_bucket_ownership_controls, {"Bucket": name}),
                (on_object("WRITE_ACP"), s3.put_object_acl, {**x, "AccessControlPolicy": document(of_object)}),
                (on_bucket("WRITE_ACP"), s3.put_bucket_acl, {"Bucket": name, "AccessControlPolicy": document(of_bucket)}),
                (False if not own else None, s3.delete_bucket, {"Bucket": name}),
            ]
            for expected, call, arguments in checks:
                if expected is None:
                    continue
                code = code_of(call, **arguments)
                found = code not in ("AccessDenied", "403")
                assert found == expected, (caller, call.__name__, code, expected, of_bucket, of_object)


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
