"""A client of SolrCloud: requests that move on to another node if one is lost.

Requests are repeated, which documents with versions allow: what has come already is ignored the second time.
"""

import hashlib
import io
import itertools
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence

#: How long to try again, in seconds: the time in which a cluster notices that a node is lost, several times over. After an
#: error within Solr less, because most of these are errors of the query.
_PATIENCE_SECONDS = 120
_PATIENCE_AFTER_ERROR_SECONDS = 30

#: Most documents of a request, and about the most characters.
_DOCUMENTS_MAX, _CHARACTERS_MAX = 500, 8_000_000

#: Documents of an answer to a cursor.
_PAGE_ROWS = 1_000


class SolrError(Exception):
    """Solr refused a request, or no node answered."""


@dataclass
class Collection:
    """A collection. It can be sent to the workers of Spark."""

    nodes: List[str]
    name: str
    #: Differs if a collection was deleted and made again.
    identity: str = ""
    _first: int = field(default=0, repr=False)

    def call(self, path: str, parameters: Mapping[str, Any], body: Optional[bytes] = None) -> Dict[str, Any]:
        """Sends a request to one node after another until one answers. Raises :class:`SolrError`."""
        query = urllib.parse.urlencode({"wt": "json", **parameters}, doseq=True)
        headers = {"Content-Type": "application/json"}
        if body is None and path == f"{self.name}/select":
            # Long queries do not fit into an address.
            query, body = "", query.encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
        begun, problem, patience = time.monotonic(), "", _PATIENCE_SECONDS
        while True:
            for node in self.nodes[self._first :] + self.nodes[: self._first]:
                try:
                    request = urllib.request.Request(f"{node}/{path}?{query}", data=body, headers=headers)
                    with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS) as answer:
                        self._first = self.nodes.index(node)
                        return json.load(answer)
                except urllib.error.HTTPError as error:
                    problem = _problem(node, error)
                    patience = _PATIENCE_AFTER_ERROR_SECONDS if error.code == 500 else _PATIENCE_SECONDS
                    # A node may not have heard of a new collection yet.
                    is_passing = error.code >= 500 or (error.code in (404, 429) and path.startswith(f"{self.name}/"))
                    if not is_passing:
                        raise SolrError(problem) from None
                except (OSError, ValueError) as error:
                    problem = f"{node}: {error}"
            if time.monotonic() > begun + patience:
                raise SolrError(problem)
            time.sleep(0.5)

    def select(self, **parameters: Any) -> Dict[str, Any]:
        """Returns the answer to a query. It is whole: if a part of the index is away, this raises :class:`SolrError`."""
        return self.call(f"{self.name}/select", {"shards.tolerant": "false", **parameters})

    def all(self, fields: str = "*", **parameters: Any) -> Iterator[Dict[str, Any]]:
        """Yields all documents of a query in order of their ids, by a cursor."""
        mark = "*"
        query = {"q": "*:*", "defType": "lucene", "fl": fields, "sort": "id asc", "rows": _PAGE_ROWS, "hl": "false"}
        while True:
            answer = self.select(**{**query, **parameters, "facet": "false", "cursorMark": mark})
            yield from answer["response"]["docs"]
            if answer["nextCursorMark"] == mark:
                return
            mark = answer["nextCursorMark"]

    def add(self, documents: "Iterator[Dict[str, Any]]") -> int:
        """Sends documents. Those that have an older or equal version are ignored. Returns how many were sent."""
        count, part, size = 0, [], 0
        for document in documents:
            text = json.dumps(document, ensure_ascii=False)
            part.append(text)
            size += len(text)
            count += 1
            if len(part) >= _DOCUMENTS_MAX or size >= _CHARACTERS_MAX:
                self._update(part)
                part, size = [], 0
        self._update(part)
        return count

    def _update(self, documents: Sequence[str]) -> None:
        if documents:
            body = f"[{','.join(documents)}]".encode()
            self.call(f"{self.name}/update", {}, body)

    def delete(self, ids: Iterable[str], version: int) -> int:
        """Deletes documents. A mark with the version stays, so that an older document does not come back. Returns the number
        of ids.
        """
        left, count = iter(ids), 0
        while part := list(itertools.islice(left, _DOCUMENTS_MAX)):
            self.call(f"{self.name}/update", {"weft_version": version}, json.dumps({"delete": part}).encode())
            count += len(part)
        return count

    def commit(self) -> None:
        """Makes all that was sent durable and visible."""
        self.call(f"{self.name}/update", {"commit": "true", "waitSearcher": "true"}, b"[]")


def open_collection(
    solr: str, name: str, *, create: bool, shards: Optional[int] = None, replicas: Optional[int] = None
) -> Collection:
    """Returns a collection, which is made if it is missing and ``create`` is set.

    ``solr`` consists of addresses of nodes (``http://host:8983/solr``, separated by commas), or is the address of ZooKeeper
    (``host:2181,host:2181/solr``). All live nodes of the cluster are used.
    """
    nodes = solr.split(",") if "://" in solr else _nodes_of_zookeeper(solr)
    collection = Collection([node.rstrip("/") for node in nodes], name)
    status = collection.call("admin/collections", {"action": "CLUSTERSTATUS"})["cluster"]
    collection.nodes = _urls(status["live_nodes"], collection.nodes[0])
    if name not in status["collections"]:
        if not create:
            raise SolrError(f"{name}: no such collection")
        _create(collection, shards or len(collection.nodes), replicas or min(2, len(collection.nodes)))
        status = collection.call("admin/collections", {"action": "CLUSTERSTATUS", "collection": name})["cluster"]
    made = status["collections"][name].get("creationTimeMillis", 0)
    collection.identity = f"{name}/{made}"
    return collection


def configset() -> bytes:
    """Returns the configset as a Zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
        folder = resources.files("weft_archive.solr").joinpath("configset")
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            # The same bytes each time: without a date.
            files.writestr(zipfile.ZipInfo(file.name), file.read_bytes())
    return packed.getvalue()


def _create(collection: Collection, shards: int, replicas: int) -> None:
    packed = configset()
    # Collections of other versions keep theirs.
    config = f"weft-{hashlib.sha256(packed).hexdigest()[:12]}"
    known = collection.call("admin/configs", {"action": "LIST"})["configSets"]
    if config not in known:
        collection.call("admin/configs", {"action": "UPLOAD", "name": config}, packed)
    asked = {"action": "CREATE", "name": collection.name, "collection.configName": config, "waitForFinalState": "true"}
    collection.call("admin/collections", {**asked, "numShards": shards, "replicationFactor": replicas})


def _urls(live: Sequence[str], example: str) -> List[str]:
    """Returns the addresses of nodes: ``host:8983_solr`` is ``http://host:8983/solr``."""
    scheme = example.partition("://")[0]
    return [f"{scheme}://{host}/{urllib.parse.unquote(path)}" for host, _, path in (node.partition("_") for node in sorted(live))]


def _nodes_of_zookeeper(address: str) -> List[str]:
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException
        from kazoo.handlers.threading import KazooTimeoutError
    except ImportError as error:
        raise SolrError(f"{error}; pip install 'weft-archive[solr]', or give addresses of nodes") from error
    client = KazooClient(hosts=address, read_only=True)
    try:
        client.start(timeout=_PATIENCE_SECONDS / 4)
        live = client.get_children("/live_nodes")
    except (KazooException, KazooTimeoutError) as error:
        raise SolrError(f"ZooKeeper at {address}: {error or type(error).__name__}") from error
    finally:
        client.stop()
        client.close()
    if not live:
        raise SolrError(f"ZooKeeper at {address} knows no live node")
    return _urls(live, "http://")


def _problem(node: str, error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        text = json.loads(text)["error"]["msg"]
    except (ValueError, KeyError, TypeError):
        text = text.strip()[:300]
    return f"{node}: {error.code}: {text or error.reason}"
