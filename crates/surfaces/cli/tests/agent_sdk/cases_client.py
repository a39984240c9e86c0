"""ClaudeSDKClient: several turns, interrupts, and requests while it runs."""

import asyncio

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    UserMessage,
)
from claude_agent_sdk._internal.message_parser import parse_message
from rig import *


@case
async def several_turns_share_one_conversation(world):
    world.model(say("one"), say("two", expect={"contains": ["first", "second", "one"]}))
    async with ClaudeSDKClient(world.options()) as client:
        assert texts(await turn(client, "first")) == ["one"]
        messages = await turn(client, "second")
        assert texts(messages) == ["two"] and len(system(messages, "init")) == 1


@case
async def the_session_id_stays_and_costs_add_up(world):
    world.model(say("one"), say("two"))
    async with ClaudeSDKClient(world.options()) as client:
        first = result(await turn(client, "a"))
        second = result(await turn(client, "b"))
    assert first.session_id == second.session_id
    assert second.total_cost_usd > first.total_cost_usd
    assert second.num_turns == 1


@case
async def the_server_info_describes_us(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        info = await client.get_server_info()
    assert {"compact", "context", "clear"} <= {c["name"] for c in info["commands"]}
    assert all(isinstance(c["argumentHint"], str) for c in info["commands"])
    assert {"Explore", "Plan", "general-purpose"} <= {a["name"] for a in info["agents"]}
    assert all(a["description"] for a in info["agents"])
    assert info["output_style"] == "default" and info["models"][0]["value"] == "default"
    assert info["pid"] > 0 and info["account"]["apiKeySource"]
    assert info["current_permission_mode"] == "default" and info["hook_on_failure_supported"]


async def until(client, wanted):
    messages = []
    async for message in client.receive_messages():
        messages.append(message)
        if wanted(message):
            return messages


@case
async def an_interrupt_in_the_stream(world):
    world.model(
        {"blocks": [{"text": "partial words"}, {"gate": "never"}, {"text": "unseen"}]},
        say("after", expect={"contains": ["go on"]}),
    )
    async with ClaudeSDKClient(world.options(include_partial_messages=True)) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, AssistantMessage))
        await client.interrupt()
        messages = [m async for m in client.receive_response()]
        found = result(messages)
        assert found.subtype == "error_during_execution" and found.is_error
        assert found.terminal_reason == "aborted_streaming"
        said = [m.content[0].text for m in messages if isinstance(m, UserMessage)]
        assert said == ["[Request interrupted by user]"]
        assert texts(await turn(client, "go on")) == ["after"]


def spied(client):
    """The frames that come from now on, as they are written."""
    frames = []

    async def reading():
        async for data in client._query.receive_messages():
            frames.append(data)
            message = parse_message(data)
            if message is not None:
                yield message

    client.receive_messages = reading
    return frames


@case
async def an_interrupt_shows_what_was_written_so_far(world):
    world.model({"events": [{"event": "message_start"}, {"raw": PARTIAL}, {"gate": "never"}]}, say("after"))
    async with ClaudeSDKClient(world.options(include_partial_messages=True)) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, StreamEvent) and m.event["type"] == "content_block_delta")
        frames = spied(client)
        await client.interrupt()
        messages = [m async for m in client.receive_response()]
        assert texts(messages) == ["half a sen"], texts(messages)
        assert [f.get("aborted") for f in frames if f["type"] == "assistant"] == [True]
        assert result(messages).terminal_reason == "aborted_streaming"


PARTIAL = (
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    '"content_block":{"type":"text","text":""}}\n\n'
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    '"delta":{"type":"text_delta","text":"half a sen"}}\n\n'
)


@case
async def an_interrupt_in_a_tool(world):
    world.model(call("Bash", command="sleep 50"), say("after"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, AssistantMessage))
        await client.interrupt()
        messages = [m async for m in client.receive_response()]
        found = result(messages)
        assert found.subtype == "error_during_execution"
        assert found.terminal_reason in ("aborted_tools", "aborted_streaming")
        assert tool_results(messages)[0].is_error
        marks = [
            b.text for m in messages if isinstance(m, UserMessage) for b in m.content
            if hasattr(b, "text")
        ]
        assert marks and marks[-1].startswith("[Request interrupted by user")
        assert texts(await turn(client, "next")) == ["after"]


@case
async def an_interrupt_without_a_turn_changes_nothing(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        await client.interrupt()
        assert texts(await turn(client, "go")) == ["ok"]


@case
async def a_message_during_a_tool_joins_the_turn(world):
    world.model(
        call("Bash", command="sleep 1; echo over"),
        say("heard", expect={"contains": ["and another thing"], "tool_result": "over"}),
    )
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, AssistantMessage))
        await asyncio.sleep(0)
        await client.query("and another thing")
        messages = [m async for m in client.receive_response()]
        assert texts(messages) == ["heard"]
        assert result(messages).num_turns == 2


@case
async def a_message_during_an_answer_waits_for_its_turn(world):
    world.model({"blocks": [{"text": "first"}, {"pause_ms": 500}, {"text": "more"}]}, say("second"))
    async with ClaudeSDKClient(world.options()) as client:
        await client.query("one")
        await until(client, lambda m: isinstance(m, AssistantMessage))
        await client.query("two")
        messages = [m async for m in client.receive_response()]
        assert texts(messages) == ["more"]
        assert texts([m async for m in client.receive_response()]) == ["second"]


@case
async def the_mode_can_be_changed(world):
    world.model(
        call("Write", file_path="a.txt", content="x"), say("no"),
        call("Write", file_path="a.txt", content="x"), say("yes"),
    )
    async with ClaudeSDKClient(world.options()) as client:
        await turn(client, "one")
        assert not (world.cwd / "a.txt").exists()
        await client.set_permission_mode("acceptEdits")
        messages = await turn(client, "two")
        assert (world.cwd / "a.txt").exists()
        assert system(messages, "init")[0]["permissionMode"] == "acceptEdits"
        assert "acceptEdits" in [s.get("permissionMode") for s in system(messages, "status")]


@case
async def bypass_must_be_allowed_at_the_start(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        try:
            await client.set_permission_mode("bypassPermissions")
            raise AssertionError("no exception")
        except Exception as error:
            assert "bypass" in str(error).lower(), error
    extra = {"allow-dangerously-skip-permissions": None}
    async with ClaudeSDKClient(world.options(extra_args=extra)) as client:
        await client.set_permission_mode("bypassPermissions")


@case
async def an_unknown_mode_is_refused(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        try:
            await client.set_permission_mode("yolo")
            raise AssertionError("no exception")
        except Exception as error:
            assert "yolo" in str(error)
        assert texts(await turn(client, "go")) == ["ok"]


@case
async def the_model_can_be_changed_and_set_back(world):
    world.model(
        {"when": {"model": "scripted"}, "say": "a", "times": 2},
        {"when": {"model": "claude-haiku-4-5"}, "say": "b"},
    )
    async with ClaudeSDKClient(world.options()) as client:
        assert texts(await turn(client, "1")) == ["a"]
        await client.set_model("claude-haiku-4-5")
        messages = await turn(client, "2")
        assert texts(messages) == ["b"]
        assert system(messages, "init")[0]["model"] == "claude-haiku-4-5"
        await client.set_model(None)
        assert texts(await turn(client, "3")) == ["a"]


@case
async def the_context_usage_is_told(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        await turn(client, "go")
        usage = await client.get_context_usage()
    names = [c["name"] for c in usage["categories"]]
    assert "System tools" in names and "Messages" in names and names[-1] == "Free space"
    assert 0 < usage["totalTokens"] < usage["maxTokens"] and usage["model"] == "scripted"
    assert 0 <= usage["percentage"] <= 100 and usage["autoCompactThreshold"] > 0
    assert usage["isAutoCompactEnabled"] is True
    assert all(c["kind"] in ("used", "free") and c["color"] for c in usage["categories"])
    async with ClaudeSDKClient(world.options(env={"DISABLE_AUTO_COMPACT": "1"})) as client:
        assert (await client.get_context_usage())["isAutoCompactEnabled"] is False


@case
async def there_are_no_mcp_servers(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        assert (await client.get_mcp_status())["mcpServers"] == []
        try:
            await client.reconnect_mcp_server("nobody")
            raise AssertionError("no exception")
        except Exception as error:
            assert "nobody" in str(error)


async def raw(client, subtype, **fields):
    return await client._query._send_control_request({"subtype": subtype, **fields})


@case
async def thinking_tokens_can_be_changed(world):
    world.model(
        say("a", expect={"equals": {"/thinking/budget_tokens": 3000}}),
        say("b", expect={"lacks": ["/thinking"]}),
    )
    async with ClaudeSDKClient(world.options(model="claude-haiku-4-5")) as client:
        await raw(client, "set_max_thinking_tokens", max_thinking_tokens=3000)
        assert texts(await turn(client, "go")) == ["a"]
        await raw(client, "set_max_thinking_tokens", thinking_display="omitted")
        await raw(client, "set_max_thinking_tokens", max_thinking_tokens=0)
        assert texts(await turn(client, "go")) == ["b"]
        await raw(client, "set_max_thinking_tokens", max_thinking_tokens=None)


@case
async def flag_settings_can_be_applied(world):
    world.model(call("Bash", command="echo hi"), say("done"))
    async with ClaudeSDKClient(world.options()) as client:
        await raw(client, "apply_flag_settings", settings={"permissions": {"deny": ["Bash(echo:*)"]}})
        messages = await turn(client, "go")
        assert tool_results(messages)[0].is_error
        settings = await raw(client, "get_settings")
        assert settings["effective"]["permissions"]["deny"] == ["Bash(echo:*)"]
        unknown = {"ofTheFuture": {"a": [1]}, "effortLevel": None, "outputStyle": "x", "env": None}
        await raw(client, "apply_flag_settings", settings=unknown)
        await raw(client, "apply_flag_settings", settings={"model": "claude-haiku-4-5"})
        assert (await raw(client, "get_settings"))["applied"]["model"] == "claude-haiku-4-5"
        await raw(client, "apply_flag_settings", settings={"model": None})
        assert (await raw(client, "get_settings"))["applied"]["model"] == "scripted"


@case
async def an_unknown_request_is_an_error(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        try:
            await raw(client, "make_coffee")
            raise AssertionError("no exception")
        except Exception as error:
            assert "make_coffee" in str(error)
        assert texts(await turn(client, "go")) == ["ok"]


@case
async def initialize_can_be_repeated(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        again = await raw(client, "initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["x"]}]})
        assert again["commands"] and again["hooks_applied"] is False
        assert again["pending_permission_requests"] == []
        messages = await turn(client, "go")
        assert texts(messages) == ["ok"]
        assert [s["tasks"] for s in system(messages, "background_tasks_changed")] == [[]]


@case
async def a_queued_message_can_be_cancelled(world):
    world.model(call("Bash", command="sleep 1"), say("only this"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, AssistantMessage))

        async def queued():
            yield {
                "type": "user", "uuid": "11111111-2222-4333-8444-555555555555",
                "message": {"role": "user", "content": "never mind"},
            }

        await client.query(queued())
        answer = await raw(client, "cancel_async_message", message_uuid="11111111-2222-4333-8444-555555555555")
        assert answer == {"cancelled": True}
        answer = await raw(client, "cancel_async_message", message_uuid="no-such")
        assert answer == {"cancelled": False}
        messages = [m async for m in client.receive_response()]
        assert texts(messages) == ["only this"]


@case
async def an_interrupt_tells_what_is_still_queued(world):
    world.model(call("Bash", command="sleep 50"), say("for the queued one"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, AssistantMessage))

        async def queued():
            yield {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "later"}}

        await client.query(queued())
        answer = await raw(client, "interrupt", cancel_queued=False)
        assert answer == {"still_queued": ["u-1"]}, answer
        assert result([m async for m in client.receive_response()]).is_error
        assert texts([m async for m in client.receive_response()]) == ["for the queued one"]


@case
async def an_interrupt_can_cancel_what_is_queued(world):
    world.model(call("Bash", command="sleep 50"), say("for the next one"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        await client.query("go")
        await until(client, lambda m: isinstance(m, AssistantMessage))
        await client.query("later")
        answer = await raw(client, "interrupt", cancel_queued=True)
        assert answer == {"still_queued": [], "cancelled": []}
        assert result([m async for m in client.receive_response()]).is_error
        messages = await turn(client, "next")
        assert texts(messages) == ["for the next one"]


@case
async def a_background_task_can_be_stopped(world):
    world.model(
        call("Bash", command="sleep 100", run_in_background=True), say("started"), say("it was stopped")
    )
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        messages = await turn(client, "go")
        [started] = [m for m in messages if type(m).__name__ == "TaskStartedMessage"]
        await client.stop_task(started.task_id)
        more = await until(client, lambda m: type(m).__name__ == "TaskNotificationMessage")
        assert more[-1].status == "stopped" and more[-1].task_id == started.task_id
        await client.stop_task("gone-long-ago")


@case
async def a_message_that_needs_no_answer_is_context(world):
    world.model(say("ok", expect={"contains": ["by the way", "now answer"]}))
    async with ClaudeSDKClient(world.options()) as client:

        async def both():
            yield {"type": "user", "shouldQuery": False, "message": {"role": "user", "content": "by the way"}}
            yield {"type": "user", "message": {"role": "user", "content": "now answer"}}

        await client.query(both())
        messages = [m async for m in client.receive_response()]
        assert texts(messages) == ["ok"]


@case
async def replayed_messages_carry_their_uuid(world):
    world.model(say("ok"))
    extra = {"replay-user-messages": None}
    async with ClaudeSDKClient(world.options(extra_args=extra)) as client:
        messages = await turn(client, "go")
        [user] = [m for m in messages if isinstance(m, UserMessage)]
        assert user.content == "go" and user.uuid


@case
async def files_can_be_rewound(world):
    edit = {"tool": "Edit", "input": {"file_path": "c.txt", "old_string": "two", "new_string": "2\n3"}}
    world.model(
        call("Read", file_path="c.txt"),
        call("Write", [edit], file_path="a.txt", content="new\n"),
        say("written"),
    )
    (world.cwd / "c.txt").write_text("one\ntwo\n")
    (world.cwd / "b.txt").write_text("untouched")
    extra = {"replay-user-messages": None}
    options = world.options(
        extra_args=extra, enable_file_checkpointing=True, permission_mode="acceptEdits"
    )
    async with ClaudeSDKClient(options) as client:
        messages = await turn(client, "go")
        assert (world.cwd / "a.txt").exists()
        uuid = next(m.uuid for m in messages if isinstance(m, UserMessage) and m.content == "go")
        changed = [str(world.cwd / name) for name in ("a.txt", "c.txt")]
        preview = await raw(client, "rewind_files", user_message_id=uuid, dry_run=True)
        assert preview.pop("canRewind") and sorted(preview.pop("filesChanged")) == changed
        assert preview == {"insertions": 1, "deletions": 3}, preview
        assert (world.cwd / "a.txt").exists()
        done = await raw(client, "rewind_files", user_message_id=uuid)
        assert sorted(done["filesChanged"]) == changed
        assert (done["insertions"], done["deletions"]) == (1, 3)
        assert (world.cwd / "c.txt").read_text() == "one\ntwo\n"
        again = await raw(client, "rewind_files", user_message_id="unknown", dry_run=True)
        assert again["canRewind"] is False and "unknown" in again["error"]
        assert not (world.cwd / "a.txt").exists()
        assert (world.cwd / "b.txt").read_text() == "untouched"
        try:
            await client.rewind_files("00000000-0000-4000-8000-000000000000")
            raise AssertionError("no exception")
        except Exception as error:
            assert "00000000-0000-4000" in str(error)


@case
async def a_conversation_can_be_rewound(world):
    world.model(say("one"), say("two"), say("other", expect={"contains": ["third"]}))
    extra = {"replay-user-messages": None}
    async with ClaudeSDKClient(world.options(extra_args=extra)) as client:
        await turn(client, "first")
        messages = await turn(client, "second")
        uuid = next(m.uuid for m in messages if isinstance(m, UserMessage))
        await raw(client, "rewind_conversation", user_message_id=uuid)
        messages = await turn(client, "third")
        assert texts(messages) == ["other"]


@case
async def compacting_is_told(world):
    world.model(*[say("y" * 30000)] * 4, say("<summary>They talked.</summary>"), say("after"))
    async with ClaudeSDKClient(world.options()) as client:
        for n in range(4):
            await turn(client, f"{n}" + "x" * 30000)
        await client.query("/compact")
        messages = [m async for m in client.receive_response()]
    statuses = [s["status"] for s in system(messages, "status")]
    assert statuses == ["compacting", None], statuses
    [boundary] = system(messages, "compact_boundary")
    assert boundary["compact_metadata"]["trigger"] == "manual"
    assert boundary["compact_metadata"]["pre_tokens"] > 10000
    [summary] = [m for m in messages if isinstance(m, UserMessage)]
    assert "They talked." in summary.content and messages.index(summary) > 0
    assert messages[messages.index(summary) - 1].subtype == "compact_boundary"
    assert result(messages).num_turns == 0


@case
async def closing_the_client_ends_the_process(world):
    world.model(call("Bash", command="sleep 100"), say("never"))
    client = ClaudeSDKClient(world.options(allowed_tools=["Bash"]))
    await client.connect()
    await client.query("go")
    await until(client, lambda m: isinstance(m, AssistantMessage))
    process = client._transport._process
    await client.disconnect()
    assert process.returncode is not None


@case
async def a_short_conversation_is_compacted_when_a_program_wants_it(world):
    world.model(
        say("one"), say("two"), say("<summary>They counted.</summary>"),
        say("after", expect={"contains": ["They counted."]}),
    )
    async with ClaudeSDKClient(world.options()) as client:
        await turn(client, "a")
        await turn(client, "b")
        messages = await turn(client, "/compact")
        assert [s["status"] for s in system(messages, "status")] == ["compacting", None]
        [boundary] = system(messages, "compact_boundary")
        assert boundary["compact_metadata"]["trigger"] == "manual"
        assert texts(await turn(client, "c")) == ["after"]


@case
async def what_the_server_reports_decides_about_compacting(world):
    from claude_agent_sdk import HookMatcher

    triggers = []

    async def hook(hook_input, *_):
        triggers.append(hook_input["trigger"])
        return {}

    large = {"usage": {"input_tokens": 170000, "output_tokens": 10}}
    world.model(
        call("Bash", command="echo 1") | large, call("Bash", command="echo 2") | large,
        say("<summary>They echoed.</summary>"), say("done", expect={"contains": ["They echoed."]}),
    )
    hooks = {"PreCompact": [HookMatcher(hooks=[hook])]}
    env = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
    async with ClaudeSDKClient(world.options(hooks=hooks, env=env, allowed_tools=["Bash"])) as client:
        messages = await turn(client, "go")
    [boundary] = system(messages, "compact_boundary")
    metadata = boundary["compact_metadata"]
    assert metadata["trigger"] == "auto" and metadata["pre_tokens"] > 167000 > metadata["post_tokens"]
    assert triggers == ["auto"] and texts(messages) == ["done"]
    [summary] = [m for m in messages if isinstance(m, UserMessage) and isinstance(m.content, str)]
    assert "They echoed." in summary.content
    # Two results, and the summary.
    assert result(messages).num_turns == 4


@case
async def what_sessions_use_and_consist_of_is_told(world):
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options()) as client:
        found = result(await turn(client, "go"))
        usage = await raw(client, "get_usage")
        assert usage["session"]["total_cost_usd"] == found.total_cost_usd
        assert list(usage["session"]["model_usage"]) == ["scripted"] and usage["rate_limits"] is None
        parts = await raw(client, "reload_plugins")
        assert parts["commands"] and parts["agents"] and parts["mcpServers"] == [] and parts["error_count"] == 0
        assert (await raw(client, "reload_skills"))["skills"] is not None
        assert (await raw(client, "reload_output_styles"))["available_output_styles"] == ["default"]
        assert (await raw(client, "list_models"))["models"][0]["value"] == "default"
        assert (await raw(client, "get_binary_version"))["version"]


@case
async def a_running_command_can_go_on_in_the_background(world):
    world.model(call("Bash", command="sleep 100"), say("moved", expect={"tool_result": "background"}), say("ended"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        assert await raw(client, "background_tasks", tool_use_id="nobody") == {"backgrounded": False}
        await client.query("go")
        [*_, asked] = await until(client, lambda m: isinstance(m, AssistantMessage))
        while not (await raw(client, "background_tasks", tool_use_id=asked.content[0].id))["backgrounded"]:
            pass
        messages = [m async for m in client.receive_response()]
        assert texts(messages) == ["moved"]


@case
async def a_command_over_its_timeout_goes_on_in_the_background(world):
    waits = call("Bash", command="until [ -e go ]; do sleep 0.05; done", timeout=500)
    world.model(waits, say("moved", expect={"tool_result": "moved to the background"}), say("over"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        messages = await turn(client, "go")
        [started] = [m for m in messages if type(m).__name__ == "TaskStartedMessage"]
        assert texts(messages) == ["moved"]
        (world.cwd / "go").touch()
        more = await until(client, lambda m: type(m).__name__ == "TaskNotificationMessage")
        assert more[-1].status == "completed" and more[-1].task_id == started.task_id


@case
async def a_command_over_its_timeout_ends_without_background_tasks(world):
    late = call("Bash", command="sleep 100", timeout=500)
    world.model(late, say("ended", expect={"tool_result": "Timed out after 500 ms"}))
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    assert texts(await ask(world, allowed_tools=["Bash"], env=env)) == ["ended"]
