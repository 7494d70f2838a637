"""Has py-wacz validate a package, and pywb look up a URL in a ZipNum cluster."""

import sys

from pywb.warcserver.index.zipnum import ZipNumIndexSource
from wacz.main import main

package, cluster, url, key = sys.argv[1:]
if main(["validate", "-f", package]) != 0:
    sys.exit("py-wacz: the package is not valid")
source = ZipNumIndexSource(cluster, config={})
params = {"url": url, "key": key.encode(), "end_key": key.encode() + b"!"}
for cdx in source.load_index(params):
    print(cdx["urlkey"], cdx["timestamp"], cdx["url"], cdx["offset"], cdx["filename"])
