"""Sizes and numbers beyond every limit: `limits.py ENDPOINT KEY SECRET [gateway]`. All are refused as the client's mistake (4xx), never as
the server's. KEY may do everything.
"""

import http.client
import sys
import urllib.parse

import boto3
import botocore.auth
import botocore.awsrequest
from botocore.config import Config

ENDPOINT, KEY, SECRET = sys.argv[1:4]
GATEWAY = sys.argv[4:] == ["gateway"]
PLACE = urllib.parse.urlsplit(ENDPOINT)
client = boto3.client(
    "s3", endpoint_url=ENDPOINT, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1",
    config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}),
)
client.create_bucket(Bucket="limits")
client.put_object(Bucket="limits", Key="k", Body=b"content")
UPLOAD = client.create_multipart_upload(Bucket="limits", Key="parts")["UploadId"]
wrong = []


def send(method, path, headers=(), body=b"", chunked=False):
    """A signed request as it is, whatever a client would think of it. Returns the status; a refused connection is 400."""
    request = botocore.awsrequest.AWSRequest(method, ENDPOINT + path, data=b"", headers=dict(headers))
    payload = dict(headers).get("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
    signer = botocore.auth.S3SigV4Auth(client._request_signer._credentials, "s3", "us-east-1")
    signer.payload = lambda request: payload
    signer.add_auth(request)
    connection = http.client.HTTPConnection(PLACE.netloc, timeout=60)
    sent = {name: value for name, value in request.headers.items()}
    try:
        if chunked:
            connection.request(method, path, body=iter([body]), headers=sent, encode_chunked=True)
        else:
            sent.setdefault("Content-Length", str(len(body)))
            connection.request(method, path, body=body or None, headers=sent)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
        return 400
    finally:
        connection.close()


def check(what, status, allowed=()):
    if not (400 <= status < 500 or status in allowed):
        wrong.append(f"{what}: {status}")


BIG = 9 * 1024 * 1024
XML = b"<x>" + b" " * BIG + b"</x>"
MD5 = {"content-md5": "XrY7u+Ae7tCTyyK7j1rNww=="}

# Bodies.
for path, method in [
    ("/limits?delete", "POST"), ("/limits?acl", "PUT"), ("/limits?cors", "PUT"), ("/limits?tagging", "PUT"),
    ("/limits?policy", "PUT"), ("/limits?versioning", "PUT"), ("/limits?object-lock", "PUT"), ("/limits/k?acl", "PUT"),
    ("/limits/k?tagging", "PUT"), ("/limits/k?retention", "PUT"), ("/limits/k?legal-hold", "PUT"), ("/limits?ownershipControls", "PUT"),
    ("/limits?publicAccessBlock", "PUT"), (f"/limits/parts?uploadId={UPLOAD}", "POST"), ("/new-limits", "PUT"),
]:
    check(f"{method} {path} of 9 MiB", send(method, path, MD5, XML))
    check(f"{method} {path} of 9 MiB in chunks", send(method, path, MD5, XML, chunked=True))
for path in ["/limits/big", f"/limits/parts?partNumber=1&uploadId={UPLOAD}"]:
    for length in [str(5 * 1024 ** 3 + 1), str(2 ** 63), str(2 ** 64), "9" * 30, "-1"]:
        check(f"PUT {path} of {length} bytes", send("PUT", path, {"Content-Length": length}))
    for length in [str(5 * 1024 ** 3 + 1), str(2 ** 63), str(2 ** 64), "-1"]:
        headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-decoded-content-length": length,
                   "x-amz-trailer": "x-amz-checksum-crc32", "content-encoding": "aws-chunked"}
        check(f"PUT {path} of {length} decoded bytes", send("PUT", path, headers, b"0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"))
    headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-decoded-content-length": "5",
               "content-encoding": "aws-chunked"}
    check(f"PUT {path} of a chunk without end", send("PUT", path, headers, b"f" * 5000 + b"\r\n"))
    check(f"PUT {path} of a long extension", send("PUT", path, headers, b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n"))

# Names and headers.
check("a key of 1025 bytes", send("PUT", "/limits/" + "x" * 1025))
check("a key of 1025 bytes, read", send("GET", "/limits/" + "x" * 1025))
check("a bucket's name of 64 bytes", send("PUT", "/" + "x" * 64))
for name, length in [("content-type", 20_000), ("cache-control", 20_000), ("content-disposition", 20_000), ("content-encoding", 20_000),
                     ("content-language", 20_000), ("x-amz-website-redirect-location", 20_000), ("x-amz-tagging", 20_000),
                     ("x-amz-meta-a", 2048), ("x-amz-storage-class", 20_000), ("x-amz-acl", 20_000), ("x-amz-grant-read", 20_000),
                     ("x-amz-meta-a", 33_000)]:
    for method, path in [("PUT", "/limits/h"), ("POST", "/limits/h?uploads")]:
        # What fits is kept.
        status = send(method, path, {name: "x" * length})
        check(f"{method} {path} with {name} of {length} bytes", status, allowed=(200,))
        if status == 200 and method == "PUT":
            check(f"GET after {name} of {length} bytes", send("GET", path), allowed=(200,))
many = {f"x-amz-meta-{number}": "x" * 20 for number in range(150)}
check("150 metadata", send("PUT", "/limits/h", many))
check("a tag's name of 129 characters", send("PUT", "/limits/h", {"x-amz-tagging": "x" * 129 + "=1"}))
check("11 tags", send("PUT", "/limits/h", {"x-amz-tagging": "&".join(f"a{number}=1" for number in range(11))}))
check("an address of 40,000 bytes", send("GET", "/limits?prefix=" + "x" * 40_000))
check("a range beyond numbers", send("GET", "/limits/k", {"range": "bytes=" + "9" * 40 + "-"}), allowed=(200,))
check("a copy of a range beyond the end", send("PUT", f"/limits/parts?partNumber=1&uploadId={UPLOAD}", {
    "x-amz-copy-source": "/limits/k", "x-amz-copy-source-range": "bytes=0-" + "9" * 18}))
check("a copy source of 3,000 bytes", send("PUT", "/limits/h", {"x-amz-copy-source": "/limits/" + "x" * 3000}))

# Numbers.
for number in ["0", "10001", "-1", "2147483648", "9" * 30, "x", ""]:
    check(f"part {number}", send("PUT", f"/limits/parts?partNumber={number}&uploadId={UPLOAD}", body=b"x"))
    check(f"part {number}, read", send("GET", f"/limits/k?partNumber={number}"))
for parameter, path in [("max-keys", "/limits?"), ("max-keys", "/limits?list-type=2&"), ("max-keys", "/limits?versions&"),
                        ("max-uploads", "/limits?uploads&"), ("max-parts", f"/limits/parts?uploadId={UPLOAD}&"),
                        ("part-number-marker", f"/limits/parts?uploadId={UPLOAD}&"), ("max-buckets", "/?")]:
    for number in ["-1", "2147483648", "9" * 30, "x"]:
        check(f"{path}{parameter}={number}", send("GET", f"{path}{parameter}={number}"), allowed=(200,))
for parameter in ["prefix", "delimiter", "marker", "key-marker", "upload-id-marker"]:
    for path in ["/limits?", "/limits?uploads&", "/limits?versions&"]:
        check(f"{path}{parameter}", send("GET", f"{path}{parameter}={'x' * 5000}"), allowed=(200,))
check("a token of 5,000 bytes", send("GET", "/limits?list-type=2&continuation-token=" + "x" * 5000), allowed=(200,))
check("a version of 5,000 bytes", send("GET", "/limits/k?versionId=" + "x" * 5000))
check("an upload of 5,000 bytes", send("POST", "/limits/parts?uploadId=" + "x" * 5000, body=b"<x/>"))
check("an upload of 5,000 bytes, part", send("PUT", "/limits/parts?partNumber=1&uploadId=" + "x" * 5000, body=b"x"))

# Documents.
keys = "".join(f"<Object><Key>{number}</Key></Object>" for number in range(1001))


def document(path, text, method="PUT"):
    import base64
    import hashlib
    data = text.encode()
    headers = {"content-md5": base64.b64encode(hashlib.md5(data).digest()).decode()}
    return send(method, path, headers, data)


check("1001 keys to delete", document("/limits?delete", f"<Delete>{keys}</Delete>", "POST"))
check("a key of 1025 bytes to delete", document(
    "/limits?delete", f"<Delete><Object><Key>{'x' * 1025}</Key></Object></Delete>", "POST"), allowed=(200,))
tags = "".join(f"<Tag><Key>{number}</Key><Value>1</Value></Tag>" for number in range(60))
for path in ["/limits?tagging", "/limits/k?tagging"]:
    check(f"60 tags: {path}", document(path, f"<Tagging><TagSet>{tags}</TagSet></Tagging>"))
rule = "<CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>"
check("101 rules", document("/limits?cors", f"<CORSConfiguration>{rule * 101}</CORSConfiguration>"))
check("100 rules of long origins", document("/limits?cors", "<CORSConfiguration>" + rule.replace("*", "http://" + "x" * 5000) * 100
                                            + "</CORSConfiguration>"), allowed=(200,))
check("a policy of 21 KB", send("PUT", "/limits?policy", body=b'{"Version":"2012-10-17","Statement":[' + b" " * 21_000 + b"]}"))
grant = ('<Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Group">'
         "<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI></Grantee><Permission>READ</Permission></Grant>")
for path in ["/limits?acl", "/limits/k?acl"]:
    check(f"{path} of 10,000 grants", document(
        path, f"<AccessControlPolicy><AccessControlList>{grant * 10_000}</AccessControlList></AccessControlPolicy>"), allowed=(200,))
part = "<Part><ETag>x</ETag><PartNumber>{}</PartNumber></Part>"
parts = "".join(part.format(number) for number in range(1, 10_002))
check("10,001 parts", document(f"/limits/parts?uploadId={UPLOAD}", f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>", "POST"))
check("part 10,001", document(
    f"/limits/parts?uploadId={UPLOAD}", f"<CompleteMultipartUpload>{part.format(9 * 10**9)}</CompleteMultipartUpload>", "POST"))

# Forms.
if not GATEWAY:
    def form(fields, file):
        lines = []
        for name, value in fields.items():
            lines += ["--b", f'Content-Disposition: form-data; name="{name}"', "", value]
        lines += ["--b", 'Content-Disposition: form-data; name="file"; filename="f"', "", ""]
        body = "\r\n".join(lines).encode() + file + b"\r\n--b--\r\n"
        connection = http.client.HTTPConnection(PLACE.netloc, timeout=60)
        try:
            connection.request("POST", "/limits", body, {"Content-Type": "multipart/form-data; boundary=b"})
            return connection.getresponse().status
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            return 400
        finally:
            connection.close()

    check("a form's file of 9 MiB", form({"key": "f"}, b"x" * BIG))
    check("a form's field of 70 KB", form({"key": "f", "x-amz-meta-a": "x" * 70_000}, b"x"))
    check("a form's field of 9 MiB", form({"key": "f", "x-ignore-a": "x" * BIG}, b"x"))
    check("a form of 200 fields", form({"key": "f", **{f"x-ignore-{number}": "1" for number in range(200)}}, b"x"))
    check("a form's key of 1025 bytes", form({"key": "x" * 1025}, b"x"))

assert not wrong, "\n".join(wrong)
print("no limit is the server's mistake")
