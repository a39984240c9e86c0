"""MCP servers: those of the program, and those that are programs of their own."""

import asyncio
import json
import sys
from pathlib import Path

from claude_agent_sdk import ClaudeSDKClient, create_sdk_mcp_server, tool
from rig import *

SERVER = str(Path(__file__).parent / "stdio_server.py")


def calculator(seen=None):
    @tool("add", "Add two numbers", {"a": float, "b": float})
    async def add(args):
        if seen is not None:
            seen.append(args)
        return {"content": [{"type": "text", "text": f"sum {args['a'] + args['b']:g}"}]}

    @tool("fail", "Always fails", {})
    async def fail(_args):
        return {"content": [{"type": "text", "text": "it broke"}], "is_error": True}

    return create_sdk_mcp_server("calc", tools=[add, fail])


@case
async def a_tool_of_the_program_is_called(world):
    seen = []
    world.model(
        call("mcp__calc__add", a=2, b=3) | {"expect": {"tools": ["mcp__calc__add"]}},
        say("five", expect={"tool_result": "sum 5"}),
    )
    messages = await ask(world, mcp_servers={"calc": calculator(seen)}, allowed_tools=["mcp__calc__add"])
    assert texts(messages) == ["five"] and seen == [{"a": 2, "b": 3}]
    assert messages[0].data["mcp_servers"] == [{"name": "calc", "status": "connected"}]
    assert "mcp__calc__add" in messages[0].data["tools"]


@case
async def a_tool_of_the_program_needs_permission(world):
    seen = []
    world.model(call("mcp__calc__add", a=2, b=3), say("ok"))
    messages = await ask(world, mcp_servers={"calc": calculator(seen)})
    assert seen == [] and len(result(messages).permission_denials) == 1


@case
async def a_tool_of_the_program_fails(world):
    world.model(call("mcp__calc__fail"), say("ok", expect={"tool_result": "it broke", "tool_error": True}))
    messages = await ask(world, mcp_servers={"calc": calculator()}, allowed_tools=["mcp__calc"])
    assert texts(messages) == ["ok"]


@case
async def tools_of_the_program_stay_without_built_in_tools(world):
    world.model(call("mcp__calc__add", a=1, b=1), say("ok", expect={"tool_result": "sum 2"}))
    messages = await ask(
        world, tools=[], mcp_servers={"calc": calculator()}, allowed_tools=["mcp__calc__add"]
    )
    assert texts(messages) == ["ok"]


@case
async def two_servers_of_the_program(world):
    @tool("hello", "Say hello", {"name": str})
    async def hello(args):
        return {"content": [{"type": "text", "text": f"hello {args['name']}"}]}

    servers = {"calc": calculator(), "greet": create_sdk_mcp_server("greet", tools=[hello])}
    two = [{"tool": "mcp__greet__hello", "input": {"name": "Ann"}}]
    world.model(call("mcp__calc__add", two, a=1, b=1), say("ok", expect={"tool_result": "hello Ann"}))
    messages = await ask(world, mcp_servers=servers, allowed_tools=["mcp__calc", "mcp__greet"])
    assert len(tool_results(messages)) == 2 and texts(messages) == ["ok"]


@case
async def hooks_see_tools_of_servers(world):
    from claude_agent_sdk import HookMatcher

    seen = []

    async def hook(hook_input, *_):
        seen.append(hook_input["tool_name"])
        return {}

    world.model(call("mcp__calc__add", a=1, b=1), say("ok"))
    hooks = {"PreToolUse": [HookMatcher(matcher="mcp__calc__.*", hooks=[hook])]}
    await ask(world, mcp_servers={"calc": calculator()}, allowed_tools=["mcp__calc"], hooks=hooks)
    assert seen == ["mcp__calc__add"]


@case
async def the_status_of_servers(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options(mcp_servers={"calc": calculator()})) as client:
        await turn(client, "go")
        [server] = (await client.get_mcp_status())["mcpServers"]
        usage = await client.get_context_usage()
    assert server["name"] == "calc" and server["status"] == "connected"
    assert server["config"] == {"type": "sdk", "name": "calc"} and server["scope"] == "dynamic"
    assert [t["name"] for t in usage["mcpTools"]] == ["mcp__calc__add", "mcp__calc__fail"]
    assert all(t["serverName"] == "calc" and t["tokens"] > 0 for t in usage["mcpTools"])
    assert [t["name"] for t in server["tools"]] == ["add", "fail"]
    assert server["serverInfo"]["name"] == "calc" and server["config"]["type"] == "sdk"


@case
async def a_server_is_switched_off_and_on(world):
    world.model(say("a"), say("b"))
    async with ClaudeSDKClient(world.options(mcp_servers={"calc": calculator()})) as client:
        await turn(client, "go")
        await client.toggle_mcp_server("calc", False)
        [server] = (await client.get_mcp_status())["mcpServers"]
        assert server["status"] == "disabled"
        await client.toggle_mcp_server("calc", True)
        await client.reconnect_mcp_server("calc")
        await turn(client, "go")
        [server] = (await client.get_mcp_status())["mcpServers"]
        assert server["status"] == "connected", server


def stdio(*words, **more):
    return {"type": "stdio", "command": sys.executable, "args": [SERVER, *words], **more}


def behind(gate, *words):
    """A server that answers when there is such a file."""
    return stdio(f"gate={gate}", *words, sandbox={"enabled": False})


async def raw(client, subtype, **fields):
    return await client._query._send_control_request({"subtype": subtype, **fields})


async def asked(client, request):
    """Sends a request, and comes back when it was read."""
    answer = asyncio.ensure_future(request)
    await asyncio.sleep(0)
    for _ in range(2):
        await raw(client, "get_settings")
    return answer


@case
async def a_server_that_is_a_program(world):
    world.model(
        call("mcp__echo__echo", text="hi"), say("ok", expect={"tool_result": "echo: hi"})
    )
    messages = await ask(world, mcp_servers={"echo": stdio()}, allowed_tools=["mcp__echo"])
    assert texts(messages) == ["ok"], [t.content for t in tool_results(messages)]


@case
async def servers_from_a_file(world):
    path = world.root / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"echo": stdio()}}))
    world.model(call("mcp__echo__echo", text="hi"), say("ok", expect={"tool_result": "echo: hi"}))
    messages = await ask(world, mcp_servers=str(path), allowed_tools=["mcp__echo"])
    assert texts(messages) == ["ok"]


@case
async def a_server_that_cannot_start_does_not_stop_the_rest(world):
    broken = {"type": "stdio", "command": "/nonexistent/server"}
    world.model(call("mcp__calc__add", a=1, b=1), say("ok"))
    servers = {"broken": broken, "calc": calculator()}
    messages = await ask(world, mcp_servers=servers, allowed_tools=["mcp__calc"])
    states = {s["name"]: s["status"] for s in messages[0].data["mcp_servers"]}
    assert states["calc"] == "connected" and states["broken"] in ("failed", "pending")
    assert texts(messages) == ["ok"]


@case
async def servers_can_be_set_while_it_runs(world):
    world.model(say("a"), say("b"))
    async with ClaudeSDKClient(world.options()) as client:
        await turn(client, "go")
        request = {"subtype": "mcp_set_servers", "servers": {"echo": stdio()}}
        answer = await client._query._send_control_request(request)
        assert answer["added"] == ["echo"] and answer["errors"] == {}
        [server] = (await client.get_mcp_status())["mcpServers"]
        assert server["name"] == "echo" and server["status"] == "connected"
        again = await client._query._send_control_request(request)
        assert again == {"added": [], "removed": [], "errors": {}}
        request = {"subtype": "mcp_set_servers", "servers": {}}
        answer = await client._query._send_control_request(request)
        assert answer["removed"] == ["echo"]


@case
async def a_tool_of_a_server_answers_questions(world):
    world.model(call("Bash", command="touch yes"), call("Bash", command="touch no"), say("done"))
    messages = await ask(
        world, mcp_servers={"echo": stdio()}, permission_prompt_tool_name="mcp__echo__decide"
    )
    assert (world.cwd / "yes").exists() and not (world.cwd / "no").exists()
    assert texts(messages) == ["done"]


@case
async def strict_leaves_out_the_servers_of_the_project(world):
    (world.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"other": stdio()}}))
    world.model(say("ok"))
    messages = await ask(world, mcp_servers={"calc": calculator()}, strict_mcp_config=True)
    assert [s["name"] for s in messages[0].data["mcp_servers"]] == ["calc"]


@case
async def servers_that_are_on_their_way_are_waited_for(world):
    world.model(say("ok"))
    gate = world.root / "gate"
    async with ClaudeSDKClient(world.options(mcp_servers={"echo": behind(gate)})) as client:
        status = await asked(client, client.get_mcp_status())
        gate.touch()
        [server] = (await status)["mcpServers"]
        assert server["status"] == "connected" and len(server["tools"]) == 3, server


@case
async def a_reconnect_is_answered_when_the_server_is_there(world):
    world.model(say("ok"))
    gate = world.root / "gate"
    gate.touch()
    async with ClaudeSDKClient(world.options(mcp_servers={"echo": behind(gate)})) as client:
        await client.get_mcp_status()
        gate.unlink()
        again = [
            lambda: client.reconnect_mcp_server("echo"),
            lambda: raw(client, "mcp_set_servers", servers={"other": behind(gate, "other")}),
        ]
        for request in again:
            answer = await asked(client, request())
            assert not answer.done()
            gate.touch()
            await answer
            servers = (await client.get_mcp_status())["mcpServers"]
            assert all(s["status"] == "connected" for s in servers), servers
            gate.unlink()


@case
async def a_server_that_cannot_be_connected_is_an_error(world):
    world.model(say("ok"))
    broken = {"type": "stdio", "command": "/nonexistent/server"}
    async with ClaudeSDKClient(world.options(mcp_servers={"broken": broken})) as client:
        [server] = (await client.get_mcp_status())["mcpServers"]
        assert server["status"] == "failed" and "/nonexistent/server" in server["error"], server
        for again in (client.reconnect_mcp_server, lambda name: client.toggle_mcp_server(name, True)):
            try:
                await again("broken")
                raise AssertionError("no exception")
            except Exception as error:
                assert "/nonexistent/server" in str(error), error
        answer = await raw(client, "mcp_set_servers", servers={"worse": broken, "echo": stdio()})
        assert answer["added"] == ["worse", "echo"] and list(answer["errors"]) == ["worse"], answer


@case
async def servers_of_the_program_are_replaced(world):
    world.model(say("a"), say("b"))
    servers = {"calc": calculator(), "echo": stdio()}
    async with ClaudeSDKClient(world.options(mcp_servers=servers)) as client:
        await turn(client, "go")
        sdk = {"type": "sdk", "name": "calc"}
        answer = await raw(client, "mcp_set_servers", servers={"calc": sdk, "more": stdio("x")})
        assert answer == {"added": ["more"], "removed": [], "errors": {}}, answer
        answer = await raw(client, "mcp_set_servers", servers={})
        assert answer == {"added": [], "removed": ["calc", "more"], "errors": {}}, answer
        [server] = (await client.get_mcp_status())["mcpServers"]
        assert server["name"] == "echo" and server["status"] == "connected", server


@case
async def servers_start_again_with_the_next_session(world):
    world.model(say("a"), say("b"))
    for _ in range(2):
        messages = await ask(world, mcp_servers={"echo": stdio()})
        assert messages[0].data["mcp_servers"] == [{"name": "echo", "status": "connected"}]


@case
async def many_tools_are_searched_for_if_that_is_wanted(world):
    world.model(say("a", expect={"tools": ["ToolSearch"]}), say("b", expect={"tools": ["mcp__echo__echo"]}))
    for value, searched in (("true", True), ("false", False)):
        messages = await ask(world, mcp_servers={"echo": stdio()}, env={"ENABLE_TOOL_SEARCH": value})
        assert ("ToolSearch" in messages[0].data["tools"]) == searched and len(texts(messages)) == 1


@case
async def calls_to_a_server_can_be_asked_about_in_every_mode(world):
    world.model(call("mcp__calc__add", a=1, b=1), say("no"), call("mcp__calc__add", a=1, b=1), say("yes"))
    options = world.options(mcp_servers={"calc": calculator()}, allowed_tools=["mcp__calc"])
    async with ClaudeSDKClient(options) as client:
        answer = await raw(client, "set_mcp_permission_mode_override", serverName="calc", mode="default")
        assert answer == {}
        assert tool_results(await turn(client, "go"))[0].is_error
        await raw(client, "set_mcp_permission_mode_override", serverName="calc", mode=None)
        assert not tool_results(await turn(client, "go"))[0].is_error
        answer = await raw(client, "set_mcp_permission_mode_override", serverName="x", mode="auto")
        assert "x" in answer["warning"]


@case
async def a_silent_server_keeps_nobody_from_working(world):
    world.model(call("mcp__calc__add", a=2, b=3), say("a", expect={"tool_result": "sum 5"}), say("b"))
    servers = {"mute": behind(world.root / "never"), "calc": calculator()}
    options = world.options(mcp_servers=servers, allowed_tools=["mcp__calc"])
    async with ClaudeSDKClient(options) as client:
        messages = await turn(client, "go")
        states = {s["name"]: s["status"] for s in messages[0].data["mcp_servers"]}
        assert states == {"mute": "pending", "calc": "connected"} and texts(messages) == ["a"]
        states = {s["name"]: s["status"] for s in (await client.get_mcp_status())["mcpServers"]}
        assert states == {"mute": "pending", "calc": "connected"}
        assert texts(await turn(client, "again")) == ["b"]


@case
async def a_call_without_an_answer_ends_at_its_limit(world):
    world.model(
        call("mcp__echo__hang"),
        call("mcp__echo__echo", text="hi") | {"expect": {"tool_error": True, "tool_result": "was not answered"}},
        say("ok", expect={"tool_result": "echo: hi"}),
    )
    messages = await ask(world, mcp_servers={"echo": stdio(timeout=300)}, allowed_tools=["mcp__echo"])
    assert texts(messages) == ["ok"]


@case
async def a_server_reads_what_lies_beside_it(world):
    text = Path(SERVER).read_text()
    for place in (world.home / "servers", world.root / "servers"):
        place.mkdir()
        (place / "helper.py").write_text("")
        (place / "main.py").write_text(f"import helper\n{text}")
        world.model(call("mcp__echo__echo", text="hi"), say("ok", expect={"tool_result": "echo: hi"}))
        server = {"type": "stdio", "command": sys.executable, "args": [str(place / "main.py")]}
        messages = await ask(world, mcp_servers={"echo": server}, allowed_tools=["mcp__echo"])
        assert texts(messages) == ["ok"], place
