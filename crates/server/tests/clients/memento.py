"""memento_client, the client of the authors of RFC 7089, over a running Weft."""

import datetime
import sys

import requests
from memento_client import MementoClient

WEFT = sys.argv[1]
STORY = "http://www.story.example/"

# The original is not on the live web, so the client must not look for a TimeGate there.
session = requests.Session()
client = MementoClient(timegate_uri=WEFT + "/timegate/", check_native_timegate=False, session=session)


class Original:
    """The answer of the original resource."""

    url = STORY
    status_code = 200
    headers = {}
    history = []


def capture_at(when):
    info = client.get_memento_info(STORY, when, req_uri_response=Original())
    return info["mementos"]["closest"]


closest = capture_at(datetime.datetime(2014, 1, 27))
uri = closest["uri"][0] if isinstance(closest["uri"], list) else closest["uri"]
assert uri.endswith("/replay/20140126200624/" + STORY), closest
assert closest["datetime"] == datetime.datetime(2014, 1, 26, 20, 6, 24), closest
assert closest["http_status_code"] == 200, closest
newest = capture_at(datetime.datetime(2030, 1, 1))
assert newest["datetime"] > closest["datetime"], newest
assert MementoClient.is_memento(uri, session.head(uri)), uri

timemap = session.get(WEFT + "/timemap/link/" + STORY)
assert timemap.headers["content-type"] == "application/link-format"
links = requests.utils.parse_header_links(timemap.text.replace("\n", ""))
mementos = [link for link in links if "memento" in link["rel"].split()]
assert len(mementos) == 12, mementos
