"""The permission callback: allow, deny, modify, remember."""

import asyncio

from claude_agent_sdk import (
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    query,
)
from claude_agent_sdk.types import PermissionRuleValue
from rig import *


async def asked(world, answer, **more):
    """All messages of a query whose callback answers so, and what it was asked."""
    seen = []

    async def callback(tool, tool_input, context):
        seen.append((tool, tool_input, context))
        found = answer(tool, tool_input, context)
        return await found if asyncio.iscoroutine(found) else found

    async def prompts():
        yield {"type": "user", "message": {"role": "user", "content": "go"}}

    options = world.options(can_use_tool=callback, **more)
    messages = [m async for m in query(prompt=prompts(), options=options)]
    return messages, seen


@case
async def an_allow_lets_the_call_run(world):
    world.model(call("Bash", command="touch made", description="Make it"), say("done"))
    messages, seen = await asked(world, lambda *_: PermissionResultAllow())
    assert (world.cwd / "made").exists()
    [(tool, tool_input, context)] = seen
    assert tool == "Bash" and tool_input["command"] == "touch made"
    assert context.tool_use_id and context.display_name == "Bash"
    assert context.description == "Make it" and context.decision_reason
    assert result(messages).permission_denials == []


@case
async def a_deny_is_told_to_the_model(world):
    world.model(
        call("Bash", command="touch made"), say("sorry", expect={"tool_result": "not on my watch"})
    )
    messages, _ = await asked(world, lambda *_: PermissionResultDeny(message="not on my watch"))
    assert not (world.cwd / "made").exists()
    assert texts(messages) == ["sorry"] and len(result(messages).permission_denials) == 1


@case
async def a_deny_can_end_the_turn(world):
    world.model(
        call("Bash", command="touch made"),
        say("I read it.", expect={"contains": ["stop it", "go on"]}),
    )

    async def callback(*_):
        return PermissionResultDeny(message="stop it", interrupt=True)

    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        messages = await turn(client, "go")
        assert texts(await turn(client, "go on")) == ["I read it."]
    found = result(messages)
    assert found.subtype == "error_during_execution" and texts(messages) == []
    [block] = tool_results(messages)
    assert block.is_error and "stop it" in block.content, block
    [denial] = found.permission_denials
    assert denial["tool_name"] == "Bash" and denial["tool_input"] == {"command": "touch made"}


@case
async def the_input_can_be_changed(world):
    world.model(call("Bash", command="touch wrong"), say("done"))
    changed = {"command": "touch right"}
    await asked(world, lambda *_: PermissionResultAllow(updated_input=changed))
    assert (world.cwd / "right").exists() and not (world.cwd / "wrong").exists()


@case
async def the_result_of_a_changed_call_is_only_its_result(world):
    told = "The user changed the input"
    world.model(call("Bash", command="touch wrong"), say("done", expect={"contains": [told, "right"]}))
    changed = {"command": "echo right"}
    messages, _ = await asked(world, lambda *_: PermissionResultAllow(updated_input=changed))
    [block] = tool_results(messages)
    assert block.content == "right", block
    [user] = [m for m in messages if type(m).__name__ == "UserMessage"]
    assert user.tool_use_result["stdout"] == "right", user.tool_use_result


@case
async def a_changed_input_is_still_denied_by_rules(world):
    world.model(call("Bash", command="touch wrong"), say("done"))
    changed = {"command": "rm -rf precious"}
    (world.cwd / "precious").mkdir()
    await asked(
        world,
        lambda *_: PermissionResultAllow(updated_input=changed),
        disallowed_tools=["Bash(rm:*)"],
    )
    assert (world.cwd / "precious").exists()


@case
async def suggestions_can_be_accepted_for_the_session(world):
    world.model(call("Bash", command="touch a"), call("Bash", command="touch a"), say("done"))

    def answer(_tool, _input, context):
        return PermissionResultAllow(updated_permissions=context.suggestions)

    messages, seen = await asked(world, answer)
    assert seen[0][2].suggestions, "nothing was suggested"
    assert len(seen) == 1, len(seen)
    assert len(tool_results(messages)) == 2


@case
async def rules_can_be_added_with_an_answer(world):
    world.model(call("Bash", command="touch a"), call("Bash", command="touch b"), say("done"))
    update = PermissionUpdate(
        type="addRules",
        rules=[PermissionRuleValue(tool_name="Bash", rule_content="touch:*")],
        behavior="allow",
        destination="session",
    )
    _, seen = await asked(world, lambda *_: PermissionResultAllow(updated_permissions=[update]))
    assert len(seen) == 1 and (world.cwd / "b").exists()


@case
async def rules_can_be_kept_for_the_project(world):
    step = [call("Bash", command="touch a"), say("done")]
    world.model(*step, *step)
    update = PermissionUpdate(
        type="addRules",
        rules=[PermissionRuleValue(tool_name="Bash", rule_content="touch:*")],
        behavior="allow",
        destination="localSettings",
    )
    answer = lambda *_: PermissionResultAllow(updated_permissions=[update])
    _, first = await asked(world, answer)
    _, second = await asked(world, answer)
    assert (len(first), len(second)) == (1, 0)


@case
async def a_mode_can_be_set_with_an_answer(world):
    world.model(
        call("Write", file_path="a", content="1"), call("Write", file_path="b", content="2"), say("done")
    )
    update = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    _, seen = await asked(world, lambda *_: PermissionResultAllow(updated_permissions=[update]))
    assert len(seen) == 1 and (world.cwd / "b").read_text() == "2"


@case
async def a_directory_can_be_added_with_an_answer(world):
    other = world.root / "other"
    other.mkdir()
    world.model(
        call("Bash", command="touch a"),
        call("Write", file_path=str(other / "b"), content="2"),
        say("done"),
    )
    update = PermissionUpdate(type="addDirectories", directories=[str(other)], destination="session")
    mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    await asked(world, lambda *_: PermissionResultAllow(updated_permissions=[update, mode]))
    assert (other / "b").read_text() == "2"


@case
async def a_deny_rule_can_be_added_with_an_answer(world):
    world.model(call("Bash", command="touch a"), call("Bash", command="touch b"), say("done"))
    update = PermissionUpdate(
        type="addRules",
        rules=[PermissionRuleValue(tool_name="Bash", rule_content="touch b:*")],
        behavior="deny",
        destination="session",
    )
    messages, seen = await asked(world, lambda *_: PermissionResultAllow(updated_permissions=[update]))
    assert len(seen) == 1 and not (world.cwd / "b").exists()


@case
async def bypass_cannot_be_set_with_an_answer(world):
    world.model(call("Bash", command="touch a"), say("done"))
    update = PermissionUpdate(type="setMode", mode="bypassPermissions", destination="session")
    await asked(world, lambda *_: PermissionResultAllow(updated_permissions=[update]))
    assert not (world.cwd / "a").exists()


@case
async def a_callback_that_raises_denies(world):
    world.model(call("Bash", command="touch a"), say("done", expect={"tool_error": True}))

    def answer(*_):
        raise RuntimeError("broken")

    messages, _ = await asked(world, answer)
    assert not (world.cwd / "a").exists() and texts(messages) == ["done"]


@case
async def what_is_allowed_anyway_is_not_asked(world):
    world.model(call("Bash", command="echo hi"), call("Read", file_path="x"), say("done"))
    (world.cwd / "x").write_text("content")
    _, seen = await asked(world, lambda *_: PermissionResultDeny(message="no"))
    assert seen == []


@case
async def a_deny_rule_is_not_asked_about(world):
    world.model(call("Bash", command="touch a"), say("done"))
    _, seen = await asked(
        world, lambda *_: PermissionResultAllow(), disallowed_tools=["Bash(touch:*)"]
    )
    assert seen == [] and not (world.cwd / "a").exists()


@case
async def questions_come_one_after_the_other(world):
    two = [{"tool": "Bash", "input": {"command": "touch b"}}]
    world.model(call("Bash", two, command="touch a"), say("done"))
    open_now = []

    async def answer(*_):
        open_now.append(1)
        most = len(open_now)
        await asyncio.sleep(0.05)
        open_now.pop()
        assert most == 1
        return PermissionResultAllow()

    _, seen = await asked(world, answer)
    assert len(seen) == 2 and (world.cwd / "a").exists() and (world.cwd / "b").exists()


@case
async def an_interrupt_withdraws_the_question(world):
    world.model(call("Bash", command="touch a"), say("after"))
    waiting, cancelled = asyncio.Event(), asyncio.Event()

    async def callback(*_):
        waiting.set()
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return PermissionResultAllow()

    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        await client.query("go")
        await waiting.wait()
        await client.interrupt()
        messages = [m async for m in client.receive_response()]
        assert result(messages).subtype == "error_during_execution"
        await asyncio.wait_for(cancelled.wait(), 10)
        assert texts(await turn(client, "next")) == ["after"]
    assert not (world.cwd / "a").exists()


@case
async def questions_of_agents_name_the_agent(world):
    world.model(
        call("Agent", description="d", prompt="please touch it"),
        {"when": {"last_user": "please touch it"}, **call("Bash", command="touch a")},
        {"when": {"tool_error": False, "lacks": ["/nothing"]}, "say": "touched"},
        say("done"),
    )
    _, seen = await asked(world, lambda *_: PermissionResultAllow())
    agents = [context.agent_id for _, _, context in seen]
    assert len(seen) == 1 and agents[0], agents
    assert (world.cwd / "a").exists()


@case
async def the_state_requires_action_while_a_question_is_open(world):
    world.model(call("Bash", command="touch a"), say("done"))
    states = []

    async def callback(*_):
        states.append(client._query._session_state)
        return PermissionResultAllow()

    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        await turn(client, "go")
        await asyncio.sleep(0.05)
        states.append(client._query._session_state)
    assert states[0] in ("requires_action", "running") and states[-1] == "idle", states


QUESTIONS = {
    "questions": [{
        "question": "Which one?", "header": "Pick", "multiSelect": False,
        "options": [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}],
    }]
}


@case
async def a_question_of_the_model_is_answered_through_the_callback(world):
    world.model(call("AskUserQuestion", **QUESTIONS), say("ok", expect={"tool_result": "Which one? B"}))
    seen = []

    async def callback(tool, inputs, _):
        seen.append((tool, inputs))
        return PermissionResultAllow(updated_input={**inputs, "answers": {"Which one?": "B"}})

    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        messages = await turn(client, "go")
    assert {"AskUserQuestion", "ExitPlanMode"} <= set(system(messages, "init")[0]["tools"])
    assert seen == [("AskUserQuestion", QUESTIONS)] and texts(messages) == ["ok"]
    [user] = [m for m in messages if isinstance(m, UserMessage)]
    assert user.tool_use_result["answers"] == {"Which one?": "B"}


@case
async def without_a_callback_nothing_that_asks_is_offered(world):
    world.model(say("ok"))
    tools = system(await ask(world), "init")[0]["tools"]
    assert not {"AskUserQuestion", "ExitPlanMode"} & set(tools)


@case
async def a_plan_is_approved_through_the_callback(world):
    world.model(
        call("ExitPlanMode", plan="1. write a file"),
        call("Write", file_path="a.txt", content="x"),
        say("done"),
    )
    seen = []

    async def callback(tool, inputs, _):
        seen.append(tool)
        return PermissionResultAllow()

    options = world.options(can_use_tool=callback, permission_mode="plan")
    async with ClaudeSDKClient(options) as client:
        messages = await turn(client, "go")
        assert system(await turn(client, "/cost"), "init")[0]["permissionMode"] == "default"
    assert seen == ["ExitPlanMode", "Write"], seen
    assert "default" in [s.get("permissionMode") for s in system(messages, "status")]
    assert (world.cwd / "a.txt").exists()


@case
async def a_plan_can_be_left_without_words(world):
    world.model(call("ExitPlanMode"), say("done"))

    async def callback(*_):
        return PermissionResultAllow()

    options = world.options(can_use_tool=callback, permission_mode="plan")
    async with ClaudeSDKClient(options) as client:
        messages = await turn(client, "go")
    assert "default" in [s.get("permissionMode") for s in system(messages, "status")]


@case
async def a_plan_is_rejected_through_the_callback(world):
    world.model(call("ExitPlanMode", plan="1. burn it"), say("ok", expect={"tool_result": "not like this"}))

    async def callback(*_):
        return PermissionResultDeny(message="not like this")

    options = world.options(can_use_tool=callback, permission_mode="plan")
    async with ClaudeSDKClient(options) as client:
        messages = await turn(client, "go")
        assert texts(messages) == ["ok"]
        assert system(await turn(client, "/cost"), "init")[0]["permissionMode"] == "plan"


@case
async def the_reason_of_a_hook_is_the_reason_of_the_question(world):
    from claude_agent_sdk import HookMatcher

    world.model(call("Bash", command="echo hi"), say("ok"))
    seen = []

    async def callback(_tool, _inputs, context):
        seen.append(context.decision_reason)
        return PermissionResultAllow()

    async def hook(*_):
        decision = {"permissionDecision": "ask", "permissionDecisionReason": "look at it"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}

    hooks = {"PreToolUse": [HookMatcher(hooks=[hook])]}
    async with ClaudeSDKClient(world.options(can_use_tool=callback, hooks=hooks)) as client:
        await turn(client, "go")
    assert len(seen) == 1 and seen[0].startswith("look at it"), seen


@case
async def questions_and_hooks_know_an_agent_by_the_same_id(world):
    from claude_agent_sdk import HookMatcher

    world.model(
        call("Agent", description="d", prompt="sub task", subagent_type="general-purpose"),
        call("Bash", command="touch by-agent"), say("sub done"), say("done"),
    )
    asked, hooked = [], []

    async def callback(_tool, _inputs, context):
        asked.append(context.agent_id)
        return PermissionResultAllow()

    async def hook(hook_input, *_):
        hooked.append(hook_input)
        return {}

    hooks = {
        name: [HookMatcher(matcher="general-purpose", hooks=[hook])]
        for name in ["SubagentStart", "SubagentStop"]
    }
    async with ClaudeSDKClient(world.options(can_use_tool=callback, hooks=hooks)) as client:
        messages = await turn(client, "go")
    assert [h["agent_type"] for h in hooked] == ["general-purpose"] * 2, hooked
    assert asked == [hooked[0]["agent_id"]] and hooked[1]["agent_id"] == asked[0]
    answer = [m.tool_use_result for m in messages if isinstance(m, UserMessage)][-1]
    assert answer["agentId"] == asked[0] and answer["status"] == "completed"


@case
async def accepting_edits_is_suggested_for_files(world):
    world.model(
        call("Write", file_path="a.txt", content="x"), call("Write", file_path="b.txt", content="x"), say("ok"),
    )
    seen = []

    async def callback(tool, _, context):
        seen.append(context.suggestions)
        return PermissionResultAllow(updated_permissions=context.suggestions)

    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        messages = await turn(client, "go")
    [[suggested]] = seen
    assert (suggested.type, suggested.mode) == ("setMode", "acceptEdits")
    assert [s["permissionMode"] for s in system(messages, "status")] == ["acceptEdits"]
    assert (world.cwd / "b.txt").exists()


@case
async def rules_that_change_are_no_change_of_the_mode(world):
    world.model(call("Bash", command="touch a"), call("Bash", command="touch a"), say("ok"))
    seen = []

    async def callback(tool, _, context):
        seen.append(tool)
        return PermissionResultAllow(updated_permissions=context.suggestions)

    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        messages = await turn(client, "go")
    assert seen == ["Bash"] and system(messages, "status") == []
    shown = [m.tool_use_result["stdout"] for m in messages if isinstance(m, UserMessage)]
    assert shown == ["", ""]
