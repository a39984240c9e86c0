"""Agents in the background, and what a definition says about an agent."""

import asyncio

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    ResultMessage,
    get_subagent_messages,
)
from cases_sessions import reading
from rig import *

LAUNCH = {"description": "Look", "prompt": "look for it", "run_in_background": True}
WORK = [
    {"when": {"last_user": "look for it"}, **call("Bash", command="echo inner")},
    {"when": {"tool_result": "inner"}, "say": "agent words"},
]


def named(messages, name):
    return [m for m in messages if type(m).__name__ == name]


def inside(messages):
    return [m for m in messages if getattr(m, "parent_tool_use_id", None)]


def blocks(messages):
    found = []
    for message in inside(messages):
        content = message.content
        kinds = [type(b).__name__ for b in content] if isinstance(content, list) else ["str"]
        found += [(type(message).__name__, kind) for kind in kinds]
    return found


@case
async def an_agent_in_the_background_tells_everything(world):
    world.model(call("Agent", **LAUNCH), *WORK, say("started"), say("all done"))
    messages = await ask(world)
    found = [m for m in messages if isinstance(m, ResultMessage)]
    assert [m.result for m in found] == ["started", "all done"], found
    assert found[1].origin == {"kind": "task-notification"}
    assert blocks(messages) == [
        ("UserMessage", "TextBlock"), ("AssistantMessage", "ToolUseBlock"),
        ("UserMessage", "ToolResultBlock"), ("AssistantMessage", "TextBlock"),
    ], blocks(messages)
    [started] = named(messages, "TaskStartedMessage")
    assert started.task_type == "local_agent" and started.data["is_backgrounded"] is True
    assert {m.parent_tool_use_id for m in inside(messages)} == {started.tool_use_id}
    [ended] = named(messages, "TaskNotificationMessage")
    assert (ended.task_id, ended.status) == (started.task_id, "completed")
    told = [s["tasks"] for s in system(messages, "background_tasks_changed")]
    assert [[t["task_id"] for t in tasks] for tasks in told] == [[started.task_id], []]


@case
async def an_agent_has_one_name_in_tasks_hooks_and_results(world):
    seen = []

    async def hook(hook_input, *_):
        seen.append((hook_input["hook_event_name"], hook_input["agent_id"]))
        return {}

    hooks = {event: [HookMatcher(hooks=[hook])] for event in ("SubagentStart", "SubagentStop")}
    launch = {**LAUNCH, "run_in_background": False}
    world.model(
        call("Agent", **launch), *WORK, say("done", expect={"tool_result": "agent words"}),
        call("Agent", **LAUNCH), *WORK, say("started"), say("all done"),
    )
    for background in (False, True):
        seen.clear()
        messages = await ask(world, hooks=hooks)
        [started] = named(messages, "TaskStartedMessage")
        id = started.task_id
        assert seen == [("SubagentStart", id), ("SubagentStop", id)], (seen, id)
        [launched] = [
            m for m in messages
            if type(m).__name__ == "UserMessage" and not m.parent_tool_use_id and m.tool_use_result
        ]
        assert launched.tool_use_result["agentId"] == id
        status = "async_launched" if background else "completed"
        assert launched.tool_use_result["status"] == status
        assert started.data["is_backgrounded"] is background


@case
async def an_agent_in_the_background_asks_while_no_turn_runs(world):
    asked = []

    async def callback(tool, _input, context):
        asked.append((tool, context.agent_id))
        return PermissionResultAllow()

    work = {"when": {"last_user": "look for it"}, "blocks": [{"pause_ms": 600}, {"tool": "Bash", "input": {"command": "touch made"}}]}
    world.model(
        call("Agent", **LAUNCH), work, {"when": {"tool_result": "(no output)"}, "say": "agent words"},
        say("started"), say("all done"),
    )
    async with ClaudeSDKClient(world.options(can_use_tool=callback)) as client:
        first = await turn(client, "go")
        second = [m async for m in client.receive_response()]
        [started] = named(first + second, "TaskStartedMessage")
    assert asked == [("Bash", started.task_id)], asked
    assert (world.cwd / "made").exists() and texts(second)[-1] == "all done"


@case
async def an_agent_in_the_background_can_be_stopped(world):
    hang = {"when": {"last_user": "look for it"}, **call("Bash", command="sleep 100")}
    world.model(call("Agent", **LAUNCH), hang, say("started"), say("it was stopped"))
    async with ClaudeSDKClient(world.options(allowed_tools=["Bash"])) as client:
        messages = await turn(client, "go")
        while not named(messages, "TaskStartedMessage"):
            messages.append(await anext(client.receive_messages()))
        [started] = named(messages, "TaskStartedMessage")
        await client.stop_task(started.task_id)
        async for message in client.receive_messages():
            messages.append(message)
            if type(message).__name__ == "TaskNotificationMessage":
                break
        assert (message.task_id, message.status) == (started.task_id, "stopped")


@case
async def a_definition_starts_its_agent_in_the_background(world):
    agents = {"scout": AgentDefinition(description="Scouts", prompt="You scout.", background=True)}
    launch = {"description": "Look", "prompt": "look for it", "subagent_type": "scout"}
    world.model(call("Agent", **launch), *WORK, say("started", expect={"tool_result": "background"}), say("all done"))
    messages = await ask(world, agents=agents)
    found = [m.result for m in messages if isinstance(m, ResultMessage)]
    assert found == ["started", "all done"], found
    # Where nothing may run in the background, the call waits for it.
    world.model(call("Agent", **launch), *WORK, say("waited", expect={"tool_result": "agent words"}))
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    assert texts(await ask(world, agents=agents, env=env)) == ["waited"]


@case
async def a_definition_says_how_hard_its_agent_tries_and_what_it_knows(world):
    folder = world.cwd / ".claude/skills/greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: Greets\n---\nAlways say moin.")
    agents = {
        "scout": AgentDefinition(
            description="Scouts", prompt="You scout.", effort="low", skills=["greet", "no-such"],
        )
    }
    launch = call("Agent", description="Look", prompt="look for it", subagent_type="scout")
    inner = {"equals": {"/output_config/effort": "low"}, "contains": ["You scout.", "Always say moin."]}
    outer = {"equals": {"/output_config/effort": "high"}}
    world.model(
        launch | {"expect": outer},
        {"when": {"last_user": "look for it"}, "say": "agent words", "expect": inner},
        say("done", expect=outer),
    )
    messages = await ask(world, agents=agents, model="claude-opus-4-8", effort="high")
    assert texts(messages) == ["done"] and world.stderr == [], world.stderr


@case
async def an_agent_in_the_background_has_a_transcript(world):
    world.model(call("Agent", **LAUNCH), *WORK, say("started"), say("all done"))
    messages = await ask(world)
    [started] = named(messages, "TaskStartedMessage")
    session = next(m for m in messages if isinstance(m, ResultMessage)).session_id
    read = reading(world, get_subagent_messages, session, started.task_id)
    assert [m.type for m in read] == ["user", "assistant", "user", "assistant"], read
