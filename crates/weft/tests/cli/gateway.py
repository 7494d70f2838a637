"""What clients do through a gateway: `gateway.py PART GATEWAY UPSTREAM`, each an address, a key and its secret.

The gateway believes what it knows for a second, and maps `lake/sales` to `far/warehouse/sales`. PART is `objects` (boto3),
`write` (a Delta table, which deltalake writes) or `read` (pyarrow and Polars read it; prints what they found).
"""

import sys
import time
import urllib.request

part = sys.argv[1]
gateway, upstream = sys.argv[2:5], sys.argv[5:8]
TABLE = "sales/orders"
ROWS = 200_000


def client(endpoint, key, secret):
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1",
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


def objects():
    from boto3.s3.transfer import TransferConfig
    from botocore.exceptions import ClientError

    near, far = client(*gateway), client(*upstream)
    names = {"Bucket": "lake", "Key": "sales/x"}
    for bucket in "lake", "far":
        near.create_bucket(Bucket=bucket)
    near.put_object(**names, Body=b"0123456789", ContentType="text/x-digits", Metadata={"colour": "blue"})
    answer = near.get_object(**names)
    assert answer["Body"].read() == b"0123456789"
    assert (answer["ContentType"], answer["Metadata"]) == ("text/x-digits", {"colour": "blue"})
    assert far.get_object(Bucket="far", Key="warehouse/sales/x")["ETag"] == answer["ETag"]
    assert near.get_object(**names, Range="bytes=2-4")["Body"].read() == b"234"
    assert near.get_object(**names, Range="bytes=-3")["Body"].read() == b"789"
    assert near.get_object(**names, IfMatch=answer["ETag"])["ContentLength"] == 10

    def refusal(call, **kwargs):
        try:
            call(**kwargs)
        except ClientError as error:
            return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]
        raise AssertionError("not refused")

    for asked, status in (
        ({"IfMatch": '"no"'}, 412), ({"IfNoneMatch": answer["ETag"]}, 304), ({"IfModifiedSince": answer["LastModified"]}, 304),
        ({"Range": "bytes=10-"}, 416),
    ):
        found = refusal(near.get_object, **names, **asked)
        assert found == refusal(far.get_object, Bucket="far", Key="warehouse/sales/x", **asked), (asked, found)
        assert found[0] == status, found
    for asked in {"Bucket": "lake", "Key": "none"}, {"Bucket": "nowhere", "Key": "none"}:
        assert refusal(near.get_object, **asked) == refusal(far.get_object, **asked), asked
        assert refusal(near.head_object, **asked) == refusal(far.head_object, **asked), asked

    content = bytes(i * 7 % 251 for i in range(12 << 20))
    near.upload_fileobj(
        __import__("io").BytesIO(content), "lake", "sales/big", Config=TransferConfig(multipart_chunksize=5 << 20))
    for _ in "cold", "warm":
        assert near.get_object(Bucket="lake", Key="sales/big")["Body"].read() == content
    near.copy_object(Bucket="lake", Key="copy", CopySource={"Bucket": "lake", "Key": "sales/big"})
    assert near.get_object(Bucket="lake", Key="copy", Range="bytes=100-199")["Body"].read() == content[100:200]
    listed = near.list_objects_v2(Bucket="lake", Prefix="sales/")
    assert [found["Key"] for found in listed["Contents"]] == ["sales/big", "sales/x"], listed
    pages = near.get_paginator("list_objects_v2").paginate(Bucket="lake", Prefix="sales/", PaginationConfig={"PageSize": 1})
    assert [found["Key"] for page in pages for found in page["Contents"]] == ["sales/big", "sales/x"]
    url = near.generate_presigned_url("get_object", Params={"Bucket": "lake", "Key": "sales/x"})
    assert urllib.request.urlopen(url).read() == b"0123456789"

    # Somebody writes past the gateway: that is seen after a second at most.
    far.put_object(Bucket="far", Key="warehouse/sales/x", Body=b"replaced")
    time.sleep(1)
    assert near.get_object(**names)["Body"].read() == b"replaced"
    # What is written through it is seen at once.
    near.put_object(**names, Body=b"again")
    assert near.get_object(**names)["Body"].read() == b"again"
    deleted = near.delete_objects(Bucket="lake", Delete={"Objects": [{"Key": "sales/big"}, {"Key": "sales/x"}]})
    assert sorted(found["Key"] for found in deleted["Deleted"]) == ["sales/big", "sales/x"], deleted
    assert refusal(near.get_object, **names)[0] == 404
    assert "Contents" not in far.list_objects_v2(Bucket="far")


def options(endpoint, key, secret):
    return {
        "aws_endpoint_url": endpoint, "aws_access_key_id": key, "aws_secret_access_key": secret, "aws_region": "us-east-1",
        "aws_allow_http": "true", "aws_conditional_put": "etag",
    }


def write():
    import deltalake
    import pyarrow

    table = pyarrow.table({
        "id": pyarrow.array(range(ROWS), pyarrow.int64()),
        "shop": [f"shop {i % 97}" for i in range(ROWS)],
        "cents": pyarrow.array([i * i % 100_003 for i in range(ROWS)], pyarrow.int64()),
    })
    for half in table.slice(0, ROWS // 2), table.slice(ROWS // 2):
        deltalake.write_deltalake(f"s3://lake/{TABLE}", half, mode="append", storage_options=options(*gateway))


def read():
    import polars
    import pyarrow.compute
    import pyarrow.dataset
    import pyarrow.fs

    endpoint, key, secret = gateway
    expected = sum(i * i % 100_003 for i in range(ROWS))
    scheme, host = endpoint.split("://")
    files = pyarrow.fs.S3FileSystem(
        access_key=key, secret_key=secret, endpoint_override=host, scheme=scheme, region="us-east-1")
    rows = pyarrow.dataset.dataset(f"lake/{TABLE}", filesystem=files, format="parquet").to_table(columns=["cents"])
    assert (rows.num_rows, pyarrow.compute.sum(rows["cents"]).as_py()) == (ROWS, expected)
    uri = f"s3://lake/{TABLE}"
    found = polars.scan_parquet(f"{uri}/*.parquet", storage_options=options(*gateway)).select(polars.col("cents").sum())
    assert found.collect().item() == expected
    shops = polars.scan_delta(uri, storage_options=options(*gateway)).group_by("shop").agg(polars.col("cents").sum())
    shops = shops.collect()
    assert (shops.height, shops["cents"].sum()) == (97, expected)
    print(ROWS, "rows", expected, "cents in", shops.height, "shops")


globals()[part]()
