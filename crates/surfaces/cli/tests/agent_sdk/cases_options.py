"""Options that become flags: each has an effect that the model or a tool sees."""

import json

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeSDKClient,
    HookMatcher,
    ProcessError,
    ResultError,
)
from rig import *


@case
async def a_system_prompt_replaces_ours(world):
    world.model(say("ok", expect={"contains": ["You are a pirate."]}))
    assert texts(await ask(world, system_prompt="You are a pirate.")) == ["ok"]


@case
async def a_system_prompt_may_begin_with_a_hyphen(world):
    world.model(say("ok", expect={"contains": ["- be brief"]}))
    assert texts(await ask(world, system_prompt="- be brief")) == ["ok"]


@case
async def no_system_prompt_is_an_empty_one(world):
    world.model(say("ok", expect={"lacks": ["/system"]}))
    assert texts(await ask(world)) == ["ok"]


@case
async def the_preset_keeps_our_system_prompt_and_appends(world):
    world.model(say("ok", expect={"has": ["/system/1"], "contains": ["Speak softly."]}))
    preset = {"type": "preset", "preset": "claude_code", "append": "Speak softly."}
    assert texts(await ask(world, system_prompt=preset)) == ["ok"]


@case
async def a_system_prompt_from_a_file(world):
    (world.root / "prompt.md").write_text("From a file.")
    world.model(say("ok", expect={"contains": ["From a file."]}))
    prompt = {"type": "file", "path": str(world.root / "prompt.md")}
    assert texts(await ask(world, system_prompt=prompt)) == ["ok"]


@case
async def tools_limits_what_is_offered(world):
    world.model(say("ok", expect={"has": ["/tools/1"], "lacks": ["/tools/2"], "tools": ["Read", "Grep"]}))
    messages = await ask(world, tools=["Read", "Grep"])
    assert texts(messages) == ["ok"]
    assert messages[0].data["tools"] == ["Grep", "Read"]


@case
async def no_tools_at_all(world):
    world.model(say("ok", expect={"lacks": ["/tools"]}))
    assert texts(await ask(world, tools=[])) == ["ok"]


@case
async def the_tools_preset_offers_all(world):
    world.model(say("ok", expect={"tools": ["Bash", "Read", "Agent"]}))
    assert texts(await ask(world, tools={"type": "preset", "preset": "claude_code"})) == ["ok"]


@case
async def allowed_tools_run_without_asking(world):
    world.model(call("Bash", command="touch made"), say("done"))
    await ask(world, allowed_tools=["Bash(touch:*)"])
    assert (world.cwd / "made").exists()


@case
async def what_is_not_allowed_is_denied_and_reported(world):
    world.model(call("Bash", command="touch made"), say("done"))
    messages = await ask(world)
    found = result(messages)
    [denial] = found.permission_denials
    assert denial["tool_name"] == "Bash" and denial["tool_input"] == {"command": "touch made"}
    assert tool_results(messages)[0].is_error and not found.is_error
    assert not (world.cwd / "made").exists()
    [denied] = system(messages, "permission_denied")
    assert denied["tool_name"] == "Bash" and denied["decision_reason"]
    assert denied["message"] == tool_results(messages)[0].content


@case
async def disallowed_tools_are_denied_in_every_mode(world):
    world.model(call("Bash", command="touch made"), say("done"))
    messages = await ask(
        world, disallowed_tools=["Bash(touch:*)"], permission_mode="bypassPermissions"
    )
    assert tool_results(messages)[0].is_error and not (world.cwd / "made").exists()


@case
async def accept_edits_lets_files_be_written(world):
    world.model(call("Write", file_path="a.txt", content="new"), say("done"))
    await ask(world, permission_mode="acceptEdits")
    assert (world.cwd / "a.txt").read_text() == "new"


@case
async def plan_mode_changes_nothing(world):
    world.model(call("Write", file_path="a.txt", content="new"), say("done"))
    messages = await ask(world, permission_mode="plan")
    assert messages[0].data["permissionMode"] == "plan"
    assert tool_results(messages)[0].is_error and not (world.cwd / "a.txt").exists()


@case
async def dont_ask_denies(world):
    world.model(call("Bash", command="touch made"), say("done"))
    messages = await ask(world, permission_mode="dontAsk")
    assert len(result(messages).permission_denials) == 1


@case
async def bypass_runs_everything(world):
    world.model(call("Bash", command="touch made"), say("done"))
    await ask(world, permission_mode="bypassPermissions")
    assert (world.cwd / "made").exists()


@case
async def a_further_directory_can_be_used(world):
    other = world.root / "other"
    other.mkdir()
    world.model(call("Write", file_path=str(other / "b.txt"), content="x"), say("done"))
    await ask(world, add_dirs=[other], permission_mode="acceptEdits")
    assert (other / "b.txt").read_text() == "x"


@case
async def settings_as_json_count(world):
    settings = json.dumps({"permissions": {"allow": ["Bash(touch:*)"]}})
    world.model(call("Bash", command="touch made"), say("done"))
    await ask(world, settings=settings)
    assert (world.cwd / "made").exists()


@case
async def settings_from_a_file_count(world):
    path = world.root / "settings.json"
    path.write_text(json.dumps({"permissions": {"deny": ["Bash(echo:*)"]}}))
    world.model(call("Bash", command="echo hi"), say("done"))
    messages = await ask(world, settings=str(path))
    assert tool_results(messages)[0].is_error


@case
async def setting_sources_choose_the_files(world):
    folder = world.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Bash(touch:*)"]}}))
    world.model(call("Bash", command="touch made"), say("done"), call("Bash", command="touch made"), say("done"))
    await ask(world, setting_sources=[])
    assert not (world.cwd / "made").exists()
    await ask(world, setting_sources=["user"])
    assert (world.cwd / "made").exists()


@case
async def betas_are_sent(world):
    world.model(say("ok", expect={"headers": {"anthropic-beta": "context-1m-2025-08-07"}}))
    assert texts(await ask(world, betas=["context-1m-2025-08-07"])) == ["ok"]


@case
async def effort_is_sent_to_models_that_know_it(world):
    world.model(say("ok", expect={"equals": {"/output_config/effort": "low"}}))
    assert texts(await ask(world, effort="low", model="claude-opus-4-8")) == ["ok"]


@case
async def a_thinking_budget_is_sent(world):
    world.model(say("ok", expect={"equals": {"/thinking/budget_tokens": 5000}}))
    assert texts(await ask(world, max_thinking_tokens=5000, model="claude-haiku-4-5")) == ["ok"]


@case
async def thinking_can_be_switched_off(world):
    world.model(say("ok", expect={"equals": {"/thinking/type": "disabled"}}))
    thinking = {"type": "disabled"}
    assert texts(await ask(world, thinking=thinking, model="claude-opus-4-8")) == ["ok"]


@case
async def thinking_can_be_adaptive_with_a_display(world):
    expected = {"/thinking/type": "adaptive", "/thinking/display": "summarized"}
    world.model(say("ok", expect={"equals": expected}))
    thinking = {"type": "adaptive", "display": "summarized"}
    assert texts(await ask(world, thinking=thinking, model="claude-opus-4-8")) == ["ok"]


@case
async def a_task_budget_is_sent(world):
    expected = {"/output_config/task_budget/total": 50000}
    beta = {"anthropic-beta": "task-budgets-2026-03-13"}
    world.model(say("ok", expect={"equals": expected, "headers": beta}))
    assert texts(await ask(world, task_budget={"total": 50000})) == ["ok"]


@case
async def variables_of_the_program_reach_commands(world):
    world.model(call("Bash", command="echo $CLAUDECODE"), say("done"))
    messages = await ask(world)
    assert tool_results(messages)[0].content == "1"


@case
async def skills_of_the_project_are_listed(world):
    folder = world.cwd / ".claude/skills/greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: Greets people\n---\nSay hi.")
    world.model(say("ok", expect={"contains": ["Greets people"]}))
    messages = await ask(world, skills="all")
    assert "greet" in messages[0].data["skills"] and texts(messages) == ["ok"]


@case
async def a_skill_is_a_slash_command(world):
    folder = world.cwd / ".claude/skills/greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: Greets\n---\nGreet $ARGUMENTS warmly.")
    world.model(say("hi Ann", expect={"contains": ["Greet Ann warmly."]}))
    assert texts(await ask(world, "/greet Ann", setting_sources=["project"])) == ["hi Ann"]


@case
async def agents_work_and_are_told_as_tasks(world):
    agents = {"reviewer": AgentDefinition(description="Reviews code", prompt="You review.", tools=["Read", "Bash"])}
    world.model(
        call("Agent", description="Review it", prompt="Look at a.txt", subagent_type="reviewer"),
        {"when": {"contains": ["You review."]}, **call("Bash", command="echo inside")},
        {"when": {"contains": ["You review."]}, "say": "All good."},
        say("The reviewer says all is good.", expect={"tool_result": "All good."}),
    )
    messages = await ask(world, agents=agents)
    assert "reviewer" in messages[0].data["agents"]
    assert texts(messages) == ["The reviewer says all is good."]
    parents = {m.parent_tool_use_id for m in messages if hasattr(m, "parent_tool_use_id")}
    assert len(parents - {None}) == 1, parents
    inner = [m for m in messages if getattr(m, "parent_tool_use_id", None)]
    kinds = [type(m).__name__ for m in inner]
    assert kinds == ["UserMessage", "AssistantMessage", "UserMessage"], kinds
    tasks = [m for m in messages if type(m).__name__.startswith("Task")]
    names = [type(m).__name__ for m in tasks]
    assert names == [
        "TaskStartedMessage", "TaskProgressMessage", "TaskUpdatedMessage", "TaskNotificationMessage",
    ], names
    assert tasks[0].task_type == "local_agent" and tasks[0].description == "Review it"
    assert tasks[1].last_tool_name == "Bash" and tasks[3].status == "completed"


@case
async def the_text_of_agents_can_be_forwarded(world):
    world.model(
        call("Agent", description="Look", prompt="Do you hear me"),
        {"when": {"last_user": "Do you hear me"}, "say": "inner words"},
        say("done"),
    )
    messages = await ask(world, forward_subagent_text=True)
    assert texts(messages) == ["inner words", "done"]


@case
async def an_agent_with_a_model_of_its_own(world):
    agents = {"small": AgentDefinition(description="Small", prompt="You are small.", model="haiku")}
    world.model(
        {"when": {"model": "scripted"}, **call("Agent", description="d", prompt="p", subagent_type="small")},
        {"when": {"contains": ["You are small."]}, "say": "tiny", "expect": {"contains": ["claude-haiku"]}},
        {"when": {"model": "scripted"}, "say": "done"},
    )
    found = result(await ask(world, agents=agents))
    assert found.result == "done" and len(found.model_usage) == 2


@case
async def a_wrong_agent_is_refused_by_name(world):
    agents = {"a b": AgentDefinition(description="d", prompt="p")}
    world.model(say("never"))
    try:
        await ask(world, agents=agents)
        raise AssertionError("no exception")
    except Exception as error:
        assert "a b" in str(error), error


@case
async def structured_output_is_validated_and_returned(world):
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "integer"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    world.model(
        call("StructuredOutput", answer="many") | {"expect": {"tools": ["StructuredOutput"]}},
        call("StructuredOutput", answer=42) | {"expect": {"tool_error": True}},
        say("never"),
    )
    messages = await ask(world, output_format={"type": "json_schema", "schema": schema})
    found = result(messages)
    assert found.structured_output == {"answer": 42} and found.subtype == "success"
    assert found.terminal_reason == "completed" and found.stop_reason == "tool_use"
    errors = [b.is_error for b in tool_results(messages)]
    assert errors == [True, False]


@case
async def structured_output_is_asked_for_once_if_it_is_missing(world):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    world.model(
        say("Here you are."),
        call("StructuredOutput", a="x") | {"expect": {"last_user": "StructuredOutput"}},
    )
    found = result(await ask(world, output_format={"type": "json_schema", "schema": schema}))
    assert found.structured_output == {"a": "x"}


@case
async def without_structured_output_the_text_is_the_result(world):
    schema = {"type": "object", "properties": {}}
    world.model(say("no"), say("still no"))
    found = result(await ask(world, output_format={"type": "json_schema", "schema": schema}))
    assert found.structured_output is None and found.result == "still no" and not found.is_error


@case
async def structured_output_gives_up_in_the_end(world):
    schema = {"type": "object", "required": ["a"]}
    world.model(call("StructuredOutput", b=1) | {"times": 5}, say("never"))
    messages = []
    try:
        async for m in query(prompt="go", options=world.options(output_format={"type": "json_schema", "schema": schema})):
            messages.append(m)
    except ResultError:
        pass
    found = result(messages)
    assert found.subtype == "error_max_structured_output_retries" and found.is_error


@case
async def a_wrong_schema_is_refused(world):
    world.model(say("never"))
    try:
        await ask(world, output_format={"type": "json_schema", "schema": {"type": "array"}})
        raise AssertionError("no exception")
    except Exception:
        pass


@case
async def a_user_named_in_options_is_not_needed(world):
    world.model(say("ok"))
    assert texts(await ask(world, extra_args={"debug-to-stderr": None})) == ["ok"]


@case
async def plugins_are_listed_and_bring_commands(world):
    folder = world.root / "plug"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "commands").mkdir()
    manifest = {"name": "demo", "version": "1.2.0", "description": "x"}
    (folder / ".claude-plugin/plugin.json").write_text(json.dumps(manifest))
    (folder / "commands/hello.md").write_text("---\ndescription: Hi\n---\nGreet from the plugin")
    world.model(say("ok", expect={"contains": ["Greet from the plugin"]}))
    messages = await ask(world, "/demo:hello", plugins=[{"type": "local", "path": str(folder)}])
    init = system(messages, "init")[0]
    assert init["plugins"] == [{"name": "demo", "path": str(folder), "version": "1.2.0"}]
    assert "demo:hello" in init["slash_commands"] and texts(messages) == ["ok"]


def skill(world, name, description="d"):
    folder = world.cwd / ".claude/skills" / name
    folder.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: {description}\nargument-hint: <who>\n---\nDo {name}."
    (folder / "SKILL.md").write_text(text)


@case
async def only_the_skills_that_were_chosen_are_offered(world):
    skill(world, "greet", "Greets people")
    skill(world, "part", "Says goodbye")
    world.model(
        call("Skill", skill="part") | {"expect": {"contains": ["Greets people"]}},
        say("ok", expect={"tool_error": True, "tool_result": "There is no skill"}),
    )
    messages = await ask(world, skills=["greet"], allowed_tools=["Skill"])
    assert messages[0].data["skills"] == ["greet"] and texts(messages) == ["ok"]
    assert {"greet", "part"} <= set(messages[0].data["slash_commands"])


@case
async def no_skills_are_offered_if_none_is_chosen(world):
    skill(world, "greet", "Greets people")
    world.model(say("ok"))
    messages = await ask(world, skills=[], setting_sources=["user", "project"])
    assert messages[0].data["skills"] == [] and texts(messages) == ["ok"]


@case
async def the_hint_of_a_skill_is_told(world):
    skill(world, "greet")
    world.model(say("ok"))
    async with ClaudeSDKClient(world.options(setting_sources=["project"])) as client:
        info = await client.get_server_info()
    [greet] = [c for c in info["commands"] if c["name"] == "greet"]
    assert greet["argumentHint"] == "<who>", greet


@case
async def enabled_thinking_without_a_budget_is_adaptive(world):
    world.model(say("ok", expect={"equals": {"/thinking/type": "adaptive"}}))
    extra = {"thinking": "enabled"}
    assert texts(await ask(world, extra_args=extra, model="claude-opus-4-8")) == ["ok"]


@case
async def flags_without_an_effect_say_so_to_those_who_debug(world):
    world.model(say("ok"), say("ok"))
    await ask(world, extra_args={"prompt-suggestions": None})
    assert world.stderr == []
    await ask(world, extra_args={"debug-to-stderr": None, "prompt-suggestions": None})
    said = [line for line in world.stderr if "no effect" in line]
    assert len(said) == 1 and "--prompt-suggestions" in said[0], world.stderr


@case
async def background_tasks_can_be_switched_off(world):
    world.model(call("Bash", command="true", run_in_background=True), say("ok", expect={"tool_error": True}))
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    assert texts(await ask(world, allowed_tools=["Bash"], env=env)) == ["ok"]


@case
async def what_has_no_effect_is_named_where_a_program_can_ask(world):
    world.model(say("ok"), say("ok"))
    agents = {"a": AgentDefinition(description="d", prompt="p", memory="user")}
    env = {"CLAUDE_CODE_ENABLE_TASKS": "0"}
    await ask(world, agents=agents, env=env)
    assert world.stderr == []

    async def hook(*_):
        return {}

    hooks = {"OfTheFuture": [HookMatcher(hooks=[hook])]}
    async with ClaudeSDKClient(world.options(agents=agents, hooks=hooks)) as client:
        info = await client.get_server_info()
    unused = info["ostler_without_effect"]
    assert unused == ["hooks on the event OfTheFuture", "memory of the agent a"], unused
    await ask(world, agents=agents, env=env, extra_args={"debug-to-stderr": None})
    said = "\n".join(line for line in world.stderr if "no effect" in line)
    assert "CLAUDE_CODE_ENABLE_TASKS" in said and "memory of the agent a" in said, said


@case
async def the_output_style_is_that_of_the_settings(world):
    styles = world.home / ".claude/output-styles"
    styles.mkdir(parents=True)
    (styles / "terse.md").write_text("---\nname: Terse\ndescription: d\n---\nAnswer in three words.")
    (world.cwd / ".claude").mkdir()
    local = world.cwd / ".claude/settings.local.json"
    local.write_text(json.dumps({"outputStyle": "local-test-style"}))
    text = "Answer in three words."
    world.model(
        say("ok"), say("ok"), say("ok", expect={"contains": [text]}), say("ok", expect={"lacks": ["/system"]}),
    )
    own = lambda messages: messages[0].data["output_style"]
    assert own(await ask(world, setting_sources=["user", "project", "local"])) == "local-test-style"
    assert own(await ask(world, setting_sources=["user"])) == "default"
    settings = json.dumps({"outputStyle": "Terse"})
    preset = {"type": "preset", "preset": "claude_code"}
    assert own(await ask(world, settings=settings, system_prompt=preset)) == "Terse"
    # A program that replaces the system prompt replaces the style with it.
    assert own(await ask(world, settings=settings)) == "Terse"
    async with ClaudeSDKClient(world.options(settings=settings)) as client:
        info = await client.get_server_info()
    assert info["output_style"] == "Terse"
    assert info["available_output_styles"] == ["default", "Terse"]
    assert world.stderr == []


@case
async def variables_that_a_program_sets_reach_commands(world):
    world.model(call("Bash", command='echo "$MY_FLAG:$MY_TOKEN:$ANTHROPIC_API_KEY"'), say("done"))
    messages = await ask(world, env={"MY_FLAG": "on", "MY_TOKEN": "secret"})
    assert tool_results(messages)[0].content == "on::", tool_results(messages)


@case
async def a_session_works_as_an_agent(world):
    world.model(say("ok", expect={"contains": ["You review."], "equals": {"/model": "claude-haiku-4-5"}}))
    agents = {"reviewer": AgentDefinition(description="d", prompt="You review.", tools=["Read"], model="claude-haiku-4-5")}
    messages = await ask(world, agents=agents, extra_args={"agent": "reviewer"}, model=None)
    assert texts(messages) == ["ok"] and messages[0].data["tools"] == ["Read"]
    try:
        await ask(world, extra_args={"agent": "nobody"})
        raise AssertionError("no exception")
    except Exception:
        assert any("nobody" in line for line in world.stderr), world.stderr


@case
async def nobody_is_asked_if_prompts_are_switched_off(world):
    world.model(call("Bash", command="touch made"), say("ok", expect={"tool_error": True}))

    async def never(*_):
        raise AssertionError("it was asked")

    messages = await ask(world, can_use_tool=never, extra_args={"permission-prompts": "none"})
    assert texts(messages) == ["ok"] and not (world.cwd / "made").exists()


@case
async def a_plugin_can_be_loaded_without_its_servers(world):
    folder = world.root / "plug"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "commands").mkdir()
    (folder / ".claude-plugin/plugin.json").write_text(json.dumps({"name": "demo"}))
    (folder / "commands/hello.md").write_text("Greet from the plugin")
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"s": {"command": "/bin/false"}}}))
    world.model(say("ok"), say("ok"))
    for flag, servers in (("plugin-dir", ["plugin_demo_s"]), ("plugin-dir-no-mcp", [])):
        init = (await ask(world, extra_args={flag: str(folder)}))[0].data
        assert [s["name"] for s in init["mcp_servers"]] == servers, init["mcp_servers"]
        assert "demo:hello" in init["slash_commands"]
