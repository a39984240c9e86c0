"""Hooks of the program, every kind."""

import asyncio
import json

from cases_sessions import reading
from claude_agent_sdk import (
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    get_session_messages,
    query,
)
from rig import *


def hooked(event, answer, matcher=None, **more):
    """Options with one hook, and the inputs it got."""
    seen = []

    async def hook(hook_input, tool_use_id, _context):
        seen.append((hook_input, tool_use_id))
        found = answer(hook_input) if callable(answer) else answer
        return await found if asyncio.iscoroutine(found) else found

    return {event: [HookMatcher(matcher=matcher, hooks=[hook], **more)]}, seen


def special(event, **fields):
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


@case
async def before_a_tool_with_everything_about_it(world):
    world.model(call("Bash", command="echo hi"), say("done"))
    hooks, seen = hooked("PreToolUse", {})
    messages = await ask(world, hooks=hooks)
    [(hook_input, tool_use_id)] = seen
    assert hook_input["hook_event_name"] == "PreToolUse" and hook_input["tool_name"] == "Bash"
    assert hook_input["tool_input"] == {"command": "echo hi"}
    assert hook_input["tool_use_id"] == tool_use_id == tool_results(messages)[0].tool_use_id
    assert hook_input["cwd"] == str(world.cwd) and hook_input["permission_mode"] == "default"
    assert hook_input["session_id"] == result(messages).session_id
    assert hook_input["transcript_path"].endswith(f"{hook_input['session_id']}.jsonl")


@case
async def a_matcher_chooses_the_tools(world):
    world.model(call("Bash", command="echo hi"), call("Read", file_path="x"), say("done"))
    (world.cwd / "x").write_text("x")
    hooks, seen = hooked("PreToolUse", {}, matcher="Read|Write")
    await ask(world, hooks=hooks)
    assert [i["tool_name"] for i, _ in seen] == ["Read"]


@case
async def a_hook_denies_with_a_reason(world):
    world.model(call("Bash", command="echo hi"), say("ok", expect={"tool_result": "policy says no"}))
    deny = special("PreToolUse", permissionDecision="deny", permissionDecisionReason="policy says no")
    hooks, _ = hooked("PreToolUse", deny)
    messages = await ask(world, hooks=hooks)
    assert tool_results(messages)[0].is_error and texts(messages) == ["ok"]
    assert len(result(messages).permission_denials) == 1


@case
async def a_hook_blocks_the_old_way(world):
    world.model(call("Bash", command="echo hi"), say("ok", expect={"tool_result": "old way"}))
    hooks, _ = hooked("PreToolUse", {"decision": "block", "reason": "old way"})
    assert tool_results(await ask(world, hooks=hooks))[0].is_error


@case
async def a_hook_allows_what_would_be_asked(world):
    world.model(call("Bash", command="touch made"), say("ok"))
    hooks, _ = hooked("PreToolUse", special("PreToolUse", permissionDecision="allow"))
    await ask(world, hooks=hooks)
    assert (world.cwd / "made").exists()


@case
async def a_hook_s_allow_never_beats_a_deny_rule(world):
    world.model(call("Bash", command="touch made"), say("ok"))
    hooks, _ = hooked("PreToolUse", special("PreToolUse", permissionDecision="allow"))
    await ask(world, hooks=hooks, disallowed_tools=["Bash(touch:*)"])
    assert not (world.cwd / "made").exists()


@case
async def a_hook_changes_the_input(world):
    world.model(call("Bash", command="echo wrong"), say("ok"))
    change = special("PreToolUse", updatedInput={"command": "echo right"})
    hooks, _ = hooked("PreToolUse", change)
    assert tool_results(await ask(world, hooks=hooks))[0].content == "right"


@case
async def a_hook_allows_with_another_input(world):
    world.model(call("Bash", command="touch wrong"), say("ok"))
    change = special("PreToolUse", permissionDecision="allow", updatedInput={"command": "touch right"})
    hooks, _ = hooked("PreToolUse", change)
    await ask(world, hooks=hooks)
    assert (world.cwd / "right").exists() and not (world.cwd / "wrong").exists()


@case
async def a_hook_asks_for_a_person(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    raised = special("PreToolUse", permissionDecision="ask", permissionDecisionReason="look at it")
    hooks, _ = hooked("PreToolUse", raised)
    assert tool_results(await ask(world, hooks=hooks))[0].is_error


@case
async def a_hook_ends_the_turn_before_a_tool(world):
    world.model(call("Bash", command="touch made"), say("never"))
    hooks, _ = hooked("PreToolUse", {"continue_": False, "stopReason": "enough"})
    messages = await ask(world, hooks=hooks, allowed_tools=["Bash"])
    assert result(messages).terminal_reason == "hook_stopped" and texts(messages) == []
    assert not result(messages).is_error and not (world.cwd / "made").exists()


@case
async def a_hook_defers_a_call(world):
    world.model(call("Bash", command="echo hi"), say("never"))
    hooks, _ = hooked("PreToolUse", special("PreToolUse", permissionDecision="defer"))
    found = result(await ask(world, hooks=hooks))
    assert found.stop_reason == "tool_deferred" and found.terminal_reason == "tool_deferred"
    assert found.deferred_tool_use.name == "Bash"
    assert found.deferred_tool_use.input == {"command": "echo hi"}


@case
async def a_hook_adds_context_before_a_tool(world):
    world.model(call("Bash", command="echo hi"), say("ok", expect={"contains": ["mind the gap"]}))
    hooks, _ = hooked("PreToolUse", special("PreToolUse", additionalContext="mind the gap"))
    assert texts(await ask(world, hooks=hooks)) == ["ok"]


@case
async def after_a_tool_with_its_response(world):
    world.model(call("Bash", command="echo hi"), say("ok", expect={"contains": ["well done"]}))
    hooks, seen = hooked("PostToolUse", special("PostToolUse", additionalContext="well done"))
    assert texts(await ask(world, hooks=hooks)) == ["ok"]
    [(hook_input, _)] = seen
    assert hook_input["tool_response"] and hook_input["duration_ms"] >= 0
    assert "hi" in json.dumps(hook_input["tool_response"])


@case
async def a_hook_objects_after_a_tool(world):
    world.model(call("Bash", command="echo hi"), say("ok", expect={"contains": ["that was bad"]}))
    hooks, _ = hooked("PostToolUse", {"decision": "block", "reason": "that was bad"})
    assert texts(await ask(world, hooks=hooks)) == ["ok"]


@case
async def a_hook_ends_the_turn_after_a_tool(world):
    world.model(call("Bash", command="echo hi"), say("never"))
    hooks, _ = hooked("PostToolUse", {"continue_": False, "stopReason": "enough"})
    messages = await ask(world, hooks=hooks)
    assert result(messages).terminal_reason == "hook_stopped"
    assert tool_results(messages)[0].content == "hi"


@case
async def after_a_tool_that_failed(world):
    world.model(call("Bash", command="exit 3"), say("ok"))
    hooks, seen = hooked("PostToolUseFailure", {})
    await ask(world, hooks=hooks, allowed_tools=["Bash"])
    [(hook_input, _)] = seen
    assert hook_input["error"] and hook_input["is_interrupt"] is False


@case
async def a_prompt_gets_context(world):
    world.model(say("ok", expect={"contains": ["today is Monday"]}))
    hooks, seen = hooked("UserPromptSubmit", special("UserPromptSubmit", additionalContext="today is Monday"))
    assert texts(await ask(world, "hello", hooks=hooks)) == ["ok"]
    assert seen[0][0]["prompt"] == "hello"


@case
async def a_prompt_is_blocked(world):
    world.model(say("never"))
    hooks, _ = hooked("UserPromptSubmit", {"decision": "block", "reason": "not this"})
    messages = await ask(world, hooks=hooks)
    found = result(messages)
    assert texts(messages) == [] and not found.is_error and "not this" in found.result
    assert found.num_turns == 0


@case
async def a_stop_is_blocked_once(world):
    world.model(say("done?"), say("done!", expect={"contains": ["one more thing"]}))
    answer = lambda i: {} if i["stop_hook_active"] else {"decision": "block", "reason": "one more thing"}
    hooks, seen = hooked("Stop", answer)
    messages = await ask(world, hooks=hooks)
    assert texts(messages) == ["done?", "done!"] and len(seen) == 2
    assert seen[0][0]["last_assistant_message"] == "done?"
    assert result(messages).num_turns == 2


@case
async def what_a_stop_hook_wants_is_a_message_of_the_user(world):
    world.model(say("done?"), say("done!"))
    answer = lambda i: {} if i["stop_hook_active"] else {"decision": "block", "reason": "one more thing"}
    hooks, _ = hooked("Stop", answer)
    messages = await ask(world, hooks=hooks)
    kinds = [type(m).__name__ for m in messages if isinstance(m, (AssistantMessage, UserMessage))]
    assert kinds == ["AssistantMessage", "UserMessage", "AssistantMessage"], kinds
    [told] = [m for m in messages if isinstance(m, UserMessage)]
    assert told.content == "Stop hook feedback:\none more thing", told
    session = result(messages).session_id
    recorded = reading(world, get_session_messages, session)
    assert [m.type for m in recorded] == ["user", "assistant", "assistant"], recorded


@case
async def agents_start_and_stop(world):
    started, begun = hooked("SubagentStart", {})
    stopped, ended = hooked("SubagentStop", {})
    world.model(
        call("Agent", description="d", prompt="look", subagent_type="general-purpose"),
        {"when": {"last_user": "look"}, "say": "seen"},
        say("done"),
    )
    await ask(world, hooks={**started, **stopped})
    assert begun[0][0]["agent_id"] == ended[0][0]["agent_id"]
    assert ended[0][0]["agent_type"] and ended[0][0]["last_assistant_message"] == "seen"
    assert "stop_hook_active" in ended[0][0] and "agent_transcript_path" in ended[0][0]


@case
async def hooks_inside_agents_name_the_agent(world):
    hooks, seen = hooked("PreToolUse", {}, matcher="Bash")
    world.model(
        call("Agent", description="d", prompt="look"),
        {"when": {"last_user": "look"}, **call("Bash", command="echo inner")},
        {"when": {"tool_result": "inner"}, "say": "seen"},
        say("done"),
    )
    await ask(world, hooks=hooks)
    [(hook_input, _)] = seen
    assert hook_input["agent_id"] and hook_input["agent_type"]


@case
async def before_compaction(world):
    long = "x" * 40000
    hooks, seen = hooked("PreCompact", {})
    world.model(call("Bash", command="echo one"), say(long), say(long), say("<summary>s</summary>"), say("after"))
    async with ClaudeSDKClient(world.options(hooks=hooks)) as client:
        await turn(client, "one")
        await turn(client, "two")
        await client.query("/compact the names")
        async for message in client.receive_messages():
            if seen:
                break
    assert seen[0][0]["trigger"] == "manual" and seen[0][0]["custom_instructions"] == "the names"


@case
async def a_notification_of_a_question(world):
    from claude_agent_sdk import PermissionResultAllow

    hooks, seen = hooked("Notification", {})
    world.model(call("Bash", command="touch a"), say("done"))

    async def callback(*_):
        await asyncio.sleep(0.2)
        return PermissionResultAllow()

    async with ClaudeSDKClient(world.options(hooks=hooks, can_use_tool=callback)) as client:
        await turn(client, "go")
    assert seen[0][0]["notification_type"] == "permission_prompt" and seen[0][0]["message"]


@case
async def a_permission_request_is_answered_by_a_hook(world):
    allow = special("PermissionRequest", decision={"behavior": "allow"})
    hooks, seen = hooked("PermissionRequest", allow)
    world.model(call("Bash", command="touch a"), say("done"))
    await ask(world, hooks=hooks)
    assert (world.cwd / "a").exists()
    assert seen[0][0]["tool_name"] == "Bash"
    assert isinstance(seen[0][0]["permission_suggestions"], list)


@case
async def a_permission_request_is_denied_by_a_hook(world):
    deny = special("PermissionRequest", decision={"behavior": "deny", "message": "never"})
    hooks, _ = hooked("PermissionRequest", deny)
    world.model(call("Bash", command="touch a"), say("ok", expect={"tool_result": "never"}))
    assert texts(await ask(world, hooks=hooks)) == ["ok"]


@case
async def the_start_and_the_end_of_a_session(world):
    seen = []

    async def hook(hook_input, *_):
        seen.append((hook_input["hook_event_name"], hook_input.get("source") or hook_input.get("reason")))
        return {}

    matcher = [HookMatcher(hooks=[hook])]
    world.model(say("ok"))
    await ask(world, hooks={"SessionStart": matcher, "SessionEnd": matcher})
    assert seen[0] == ("SessionStart", "startup"), seen


@case
async def a_hook_that_raises_denies(world):
    world.model(call("Bash", command="echo hi"), say("ok", expect={"tool_error": True}))

    def broken(_):
        raise RuntimeError("broken hook")

    hooks, _ = hooked("PreToolUse", broken)
    assert tool_results(await ask(world, hooks=hooks))[0].is_error


@case
async def a_hook_that_takes_too_long_denies(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    hooks, _ = hooked("PreToolUse", lambda _: asyncio.sleep(100), timeout=0.2)
    messages = await ask(world, hooks=hooks)
    assert tool_results(messages)[0].is_error and "answer" in tool_results(messages)[0].content


@case
async def a_hook_may_fail_where_it_says_so(world):
    world.model(call("Bash", command="echo hi"), say("ok"))

    def broken(_):
        raise RuntimeError("broken hook")

    hooks, _ = hooked("PreToolUse", broken, on_failure="continue")
    assert tool_results(await ask(world, hooks=hooks))[0].content == "hi"


@case
async def hooks_that_must_not_fail_are_supported(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    hooks, seen = hooked("PreToolUse", {}, on_failure="block")
    await ask(world, hooks=hooks)
    assert len(seen) == 1


@case
async def an_asynchronous_hook_decides_nothing(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    hooks, _ = hooked("PreToolUse", {"async_": True})
    assert tool_results(await ask(world, hooks=hooks))[0].content == "hi"


@case
async def several_hooks_are_all_asked(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    one, seen_one = hooked("PreToolUse", {})
    two, seen_two = hooked("PreToolUse", special("PreToolUse", permissionDecision="deny"))
    messages = await ask(world, hooks={"PreToolUse": one["PreToolUse"] + two["PreToolUse"]})
    assert len(seen_one) == len(seen_two) == 1 and tool_results(messages)[0].is_error


@case
async def a_message_for_the_person_is_told(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    hooks, _ = hooked("PostToolUse", {"systemMessage": "please note"})
    messages = await ask(world, hooks=hooks)
    assert any("please note" in s["content"] for s in system(messages, "informational"))


@case
async def command_hooks_are_reported_where_that_is_wanted(world):
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}
    world.model(call("Bash", command="echo hi"), say("ok"))
    messages = await ask(world, settings=json.dumps(settings), include_hook_events=True)
    names = [m.subtype for m in messages if type(m).__name__ == "HookEventMessage"]
    assert names == ["hook_started", "hook_response"], names


@case
async def responses_have_the_fields_of_each_tool(world):
    path = world.cwd / "a.txt"
    path.write_text("one\ntwo\n")
    world.model(
        call("Bash", command="echo hi"),
        call("Read", file_path=str(path)),
        call("Edit", file_path=str(path), old_string="one", new_string="uno"),
        call("Write", file_path=str(world.cwd / "b.txt"), content="new\n"),
        say("done"),
    )
    hooks, seen = hooked("PostToolUse", {})
    messages = await ask(world, hooks=hooks, permission_mode="acceptEdits")
    command, read, edit, write = [i["tool_response"] for i, _ in seen]
    assert command["stdout"] == "hi" and command["stderr"] == "" and command["interrupted"] is False
    assert read["type"] == "text" and read["file"]["content"] == "one\ntwo\n"
    assert read["file"]["filePath"] == str(path)
    assert (edit["filePath"], edit["oldString"], edit["newString"]) == (str(path), "one", "uno")
    assert "+uno" in edit["structuredPatch"][0]["lines"]
    assert write["type"] == "create" and write["content"] == "new\n"
    shown = [m.tool_use_result for m in messages if type(m).__name__ == "UserMessage"]
    assert shown == [command, read, edit, write]


@case
async def a_hook_replaces_a_result(world):
    world.model(call("Bash", command="echo secret"), say("ok", expect={"tool_result": "nothing to see"}))
    output = {"stdout": "nothing to see", "stderr": "", "interrupted": False, "isImage": False}
    hooks, _ = hooked("PostToolUse", special("PostToolUse", updatedToolOutput=output))
    messages = await ask(world, hooks=hooks)
    assert texts(messages) == ["ok"] and tool_results(messages)[0].content == "nothing to see"


@case
async def a_result_that_is_none_replaces_nothing(world):
    world.model(call("Bash", command="echo hi"), say("ok"))
    hooks, _ = hooked("PostToolUse", special("PostToolUse", updatedToolOutput={"weather": "fine"}))
    messages = await ask(world, hooks=hooks)
    assert tool_results(messages)[0].content == "hi"


@case
async def a_stop_hook_adds_something_to_answer(world):
    world.model(say("one"), say("two", expect={"contains": ["and the tests?"]}))
    answers = [special("Stop", additionalContext="and the tests?")]
    hooks, seen = hooked("Stop", lambda _: answers.pop() if answers else {})
    messages = await ask(world, hooks=hooks)
    assert texts(messages) == ["one", "two"] and result(messages).subtype == "success"
    assert [i["stop_hook_active"] for i, _ in seen] == [False, True]


@case
async def a_blocked_prompt_is_told_as_a_message(world):
    world.model(say("never"))
    hooks, _ = hooked("UserPromptSubmit", {"decision": "block", "reason": "not today"})
    messages = await ask(world, hooks=hooks)
    [told] = system(messages, "informational")
    assert "not today" in told["content"] and told["prevent_continuation"] is True
    assert "not today" in result(messages).result and not result(messages).is_error


@case
async def the_start_of_a_session_reports_command_hooks(world):
    hook = {"hooks": [{"type": "command", "command": "echo hello"}]}
    settings = {"hooks": {"SessionStart": [hook], "Stop": [hook]}}
    world.model(say("ok", expect={"contains": ["hello"]}))
    messages = await ask(world, settings=json.dumps(settings))
    told = [m for m in messages if type(m).__name__ == "HookEventMessage"]
    assert [m.subtype for m in told] == ["hook_started", "hook_response"], told
    assert told[1].hook_event_name == "SessionStart" and told[1].data["stdout"].strip() == "hello"


@case
async def hooks_of_a_turn_name_its_prompt(world):
    world.model(call("Bash", command="echo hi"), say("ok"), say("next"))
    before, seen = hooked("PreToolUse", {})
    submit, prompts = hooked("UserPromptSubmit", {})
    async with ClaudeSDKClient(world.options(hooks={**before, **submit})) as client:
        await turn(client, "one")
        await turn(client, "two")
    ids = [i["prompt_id"] for i, _ in prompts]
    assert len(set(ids)) == 2 and seen[0][0]["prompt_id"] == ids[0]


@case
async def a_matcher_may_use_an_older_name(world):
    world.model(call("Agent", description="d", prompt="p", subagent_type="Explore"), say("sub"), say("done"))
    hooks, seen = hooked("PreToolUse", {}, matcher="Task")
    await ask(world, hooks=hooks)
    assert len(seen) == 1
