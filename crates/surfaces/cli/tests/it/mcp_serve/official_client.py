"""Uses `ostler mcp serve` with the official client. Arguments: address and token of a server, and the program."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult

URL, TOKEN, PROGRAM = sys.argv[1:4]
done = []


async def look(session):
    await session.initialize()
    tools = [tool.name for tool in (await session.list_tools()).tools]
    assert tools == ["Read", "Write"], tools
    result = await session.call_tool("Read", {"file_path": "notes.txt"})
    assert not result.isError and "alpha" in result.content[0].text, result


async def write(session, name):
    return await session.call_tool("Write", {"file_path": name, "content": "x"})


async def approve(_context, params):
    assert "approved.txt" in params.message, params
    return ElicitResult(action="accept", content={"allow": True})


async def main():
    tools = ["mcp", "serve", "--tools", "Read,Write"]
    server = StdioServerParameters(command=PROGRAM, args=tools, env=dict(os.environ))
    async with stdio_client(server) as (read, send), ClientSession(read, send) as session:
        await look(session)
        result = await write(session, "denied.txt")
        assert result.isError and "nobody is there to ask" in result.content[0].text, result
        done.append("denied")
    async with stdio_client(server) as (read, send):
        async with ClientSession(read, send, elicitation_callback=approve) as session:
            await look(session)
            result = await write(session, "approved.txt")
            assert not result.isError, result
            done.append("approved")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with streamablehttp_client(URL, headers=headers) as (read, send, _):
        async with ClientSession(read, send) as session:
            await look(session)
            assert (await write(session, "denied.txt")).isError
            done.append("over HTTP")
    print(", ".join(done))


asyncio.run(main())
