"""Uses `weft mcp` with the client of the protocol's Python package, in each way that it has to connect."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp import Client  # since 2.0
except ImportError:
    Client = None

LIBRARY = "http://www.library.example/"


async def use(client):
    """Lists the tools and calls them."""
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert tools == {"search", "page", "inlinks", "versions", "diff", "captures"}, tools
    page = await client.call_tool("page", {"url": LIBRARY, "at": "2014"})
    assert "> title: The Library" in page.content[0].text, page
    found = await client.call_tool("search", {"query": "reading room", "limit": 1})
    assert "1 of 3 results" in found.content[0].text, found
    wrong = await client.call_tool("search", {"query": "maps", "limit": 0})
    assert is_error(wrong) and "from 1 to 50" in wrong.content[0].text, wrong
    assert not is_error(page), page


def is_error(result):
    """The field has another name since 2.0."""
    return getattr(result, "is_error", None) or getattr(result, "isError", None)


async def with_handshake(server):
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await use(session)


async def with_discovery(server):
    if Client is not None:
        async with Client(stdio_client(server)) as client:
            await use(client)


def main():
    program, archive = sys.argv[1:]
    server = StdioServerParameters(command=program, args=["mcp", "--archive", archive])
    for way in (with_handshake, with_discovery):
        asyncio.run(asyncio.wait_for(way(server), 60))
        print(way.__name__)


main()
