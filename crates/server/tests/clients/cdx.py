"""cdx_toolkit, waybackpy and wayback, as their users call them, over a running Weft.

The clients of the Internet Archive know one address only: requests to it are sent to Weft instead, and nothing else
about them is changed.
"""

import sys

import requests

WEFT = sys.argv[1]
ARCHIVE = "https://web.archive.org/"

send = requests.adapters.HTTPAdapter.send


def send_to_weft(self, request, **settings):
    assert request.url.startswith((ARCHIVE, WEFT)), request.url
    request.url = request.url.replace(ARCHIVE, WEFT + "/", 1)
    return send(self, request, **settings)


requests.adapters.HTTPAdapter.send = send_to_weft

import cdx_toolkit
import wayback
import waybackpy

STORY = "http://www.story.example/"
MANY = 6500


def equal(found, expected, what):
    assert found == expected, f"{what}: {found!r} instead of {expected!r}"


def check_toolkit(name, fetcher):
    captures = fetcher.get(STORY)
    equal(len(captures), 12, f"{name} get")
    equal(captures[0]["timestamp"], "20140126200624", f"{name} timestamp")
    equal((captures[3]["status"], captures[3]["url"], captures[3]["mime"]), ("503", STORY, "text/html"), f"{name} fields")
    equal(fetcher.get("nothing.example"), [], f"{name} get of nothing")
    equal(list(fetcher.iter("nothing.example/*")), [], f"{name} iter of nothing")
    equal(len(fetcher.get(STORY, filter="status:503")), 3, f"{name} filter")
    equal(len(fetcher.get(STORY, filter=["!status:503", "mime:text/html"])), 9, f"{name} filters")
    equal(len(fetcher.get(STORY, from_ts="201405", to="201407")), 3, f"{name} times")
    equal(len(fetcher.get(STORY, limit=5)), 5, f"{name} limit")
    found = fetcher.get(STORY, closest="20140601000000", sort="closest", limit=1)
    equal([capture["timestamp"] for capture in found], ["20140526200624"], f"{name} closest")
    keys = [capture["urlkey"] for capture in fetcher.iter("many.example/*", pageSize=1)]
    equal((len(keys), len(set(keys)), keys == sorted(keys)), (MANY, MANY, True), f"{name} iter")
    equal(len(list(fetcher.iter("many.example/*", limit=4000, pageSize=1))) >= 4000, True, f"{name} iter with a limit")
    equal(fetcher.get_size_estimate("many.example/*", as_pages=True, pageSize=1), 3, f"{name} pages")


# The first treats Weft as the server of Common Crawl, the second as the Internet Archive.
check_toolkit("cdx_toolkit (Common Crawl)", cdx_toolkit.CDXFetcher(source=WEFT + "/all-index"))
check_toolkit("cdx_toolkit (ia)", cdx_toolkit.CDXFetcher(source="ia"))
offset = cdx_toolkit.CDXFetcher(source=WEFT + "/cdx").get(STORY, limit=1)[0]
equal((offset["filename"], offset["offset"]), ("field.warc", "0"), "cdx_toolkit's place of a record")


def snapshots(url, **arguments):
    return list(waybackpy.WaybackMachineCDXServerAPI(url, "test", **arguments).snapshots())


found = snapshots(STORY)
equal((len(found), found[0].timestamp, found[3].statuscode), (12, "20140126200624", "503"), "waybackpy")
equal(len(snapshots(STORY, filters=["statuscode:200", "mimetype:text/html"])), 9, "waybackpy filters")
equal(len(snapshots(STORY, filters=["!statuscode:200"])), 3, "waybackpy filter")
equal(len(snapshots(STORY, collapses=["digest"])), 4, "waybackpy collapse")
equal(len(snapshots(STORY, collapses=["timestamp:4", "statuscode"])), 1, "waybackpy collapses")
equal(len(snapshots(STORY, start_timestamp="201405", end_timestamp="201407")), 3, "waybackpy times")
equal(len(snapshots(STORY, sort="reverse", limit=5)), 12, "waybackpy resumption keys, from the end")
equal(len(snapshots("many.example/*", limit=999)), MANY, "waybackpy resumption keys")
equal(len(snapshots("many.example", match_type="host", use_pagination=True)), MANY, "waybackpy pages")
equal(snapshots("nothing.example"), [], "waybackpy of nothing")
api = waybackpy.WaybackMachineCDXServerAPI(STORY, "test")
equal(api.near(wayback_machine_timestamp="20140601000000").timestamp, "20140526200624", "waybackpy near")
equal(waybackpy.WaybackMachineCDXServerAPI(STORY, "test").oldest().timestamp, "20140126200624", "waybackpy oldest")
equal(waybackpy.WaybackMachineCDXServerAPI(STORY, "test").newest().timestamp, "20141222200624", "waybackpy newest")

session = wayback.WaybackSession(search_calls_per_second=0, retries=0)
client = wayback.WaybackClient(session)


def records(url, **arguments):
    return list(client.search(url, **arguments))


found = records(STORY)
equal((len(found), found[0].timestamp.isoformat(), found[3].status_code), (12, "2014-01-26T20:06:24+00:00", 503), "wayback")
equal((found[0].url, found[0].mime_type), (STORY, "text/html"), "wayback fields")
equal(len(records(STORY, limit=5)), 12, "wayback resumption keys")
equal(len(records("many.example", match_type="host", limit=2000)), MANY, "wayback resumption keys of a host")
equal(len(records(STORY, filter_field="!statuscode:200")), 3, "wayback filter")
equal(len(records(STORY, collapse="digest")), 4, "wayback collapse")
equal(len(records(STORY, from_date="20140501", to_date="20140731")), 3, "wayback times")
equal(len(records("http://www.story.example/", match_type="prefix", resolve_revisits=True)), 15, "wayback prefix")
equal(records("nothing.example"), [], "wayback of nothing")
print("all three clients")
