"""query(): one prompt, its messages, its result, its end."""

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKError,
    ResultError,
    ResultMessage,
    StreamEvent,
    ThinkingBlock,
    ToolUseBlock,
    UserMessage,
    query,
)
from rig import *


@case
async def a_string_prompt_gets_its_answer(world):
    world.model(say("Hello."))
    messages = await ask(world)
    assert texts(messages) == ["Hello."]
    assert result(messages).result == "Hello."


@case
async def init_comes_first_and_describes_the_session(world):
    world.model(say("ok"))
    messages = await ask(world)
    init = messages[0].data
    assert messages[0].subtype == "init"
    assert init["cwd"] == str(world.cwd) and init["model"] == "scripted"
    assert "Task" in init["tools"] and "Bash" in init["tools"] and "Agent" not in init["tools"]
    assert init["permissionMode"] == "default" and init["mcp_servers"] == []
    assert init["apiKeySource"] and init["output_style"] == "default"
    assert {"compact", "context", "cost", "clear"} <= set(init["slash_commands"])


@case
async def the_result_has_every_field(world):
    world.model(say("ok"))
    found = result(await ask(world))
    assert found.subtype == "success" and not found.is_error
    assert found.num_turns == 1 and found.stop_reason == "end_turn"
    assert found.terminal_reason == "completed"
    assert found.duration_ms >= 0 and found.duration_api_ms >= 0
    assert found.total_cost_usd > 0 and found.usage["output_tokens"] > 0
    [(model, used)] = found.model_usage.items()
    assert model == "scripted" and used["outputTokens"] == found.usage["output_tokens"]
    assert used["costUSD"] == found.total_cost_usd and used["contextWindow"] > 0
    assert used["provider"] == "firstParty" and used["webSearchRequests"] == 0
    assert found.permission_denials == [] and found.session_id


@case
async def each_block_is_a_message_with_the_same_id(world):
    world.model(
        {"blocks": [{"think": "hm"}, {"text": "I look."}, {"tool": "Bash", "input": {"command": "ls"}}]},
        say("done"),
    )
    messages = await ask(world)
    answers = [m for m in messages if isinstance(m, AssistantMessage)]
    kinds = [type(m.content[0]).__name__ for m in answers]
    assert kinds == ["ThinkingBlock", "TextBlock", "ToolUseBlock", "TextBlock"], kinds
    assert len({m.message_id for m in answers[:3]}) == 1
    assert answers[0].content[0].signature
    assert all(m.stop_reason is None for m in answers)
    assert answers[0].usage["output_tokens"] <= 1


@case
async def a_tool_result_is_a_user_message_with_its_data(world):
    world.model(call("Bash", command="echo hi"), say("done"))
    messages = await ask(world)
    [block] = tool_results(messages)
    assert block.content == "hi" and not block.is_error
    [user] = [m for m in messages if isinstance(m, UserMessage)]
    assert user.tool_use_result["stdout"] == "hi"
    assert result(messages).num_turns == 2


@case
async def parallel_results_are_counted_as_turns(world):
    three = [{"tool": "Bash", "input": {"command": f"echo {n}"}} for n in range(2)]
    world.model(call("Bash", three, command="echo x"), say("done"))
    messages = await ask(world)
    assert len(tool_results(messages)) == 3
    assert result(messages).num_turns == 4


@case
async def a_failed_command_is_an_error_result(world):
    world.model(call("Bash", command="ls /nonexistent-directory-here"), say("done"))
    messages = await ask(world)
    [block] = tool_results(messages)
    assert block.is_error
    assert result(messages).subtype == "success"


@case
async def an_iterable_prompt_has_a_turn_for_each_message(world):
    world.model(say("one"), say("two"))

    async def prompts():
        for text in ["first", "second"]:
            yield {"type": "user", "message": {"role": "user", "content": text}}

    messages = [m async for m in query(prompt=prompts(), options=world.options())]
    assert texts(messages) == ["one", "two"]
    assert len([m for m in messages if isinstance(m, ResultMessage)]) == 2
    assert len(system(messages, "init")) == 2


@case
async def content_blocks_and_images_reach_the_model(world):
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    world.model(say("seen", expect={"contains": [png, "what is this"]}))

    async def prompts():
        source = {"type": "base64", "media_type": "image/png", "data": png}
        content = [{"type": "text", "text": "what is this"}, {"type": "image", "source": source}]
        yield {"type": "user", "message": {"role": "user", "content": content}}

    messages = [m async for m in query(prompt=prompts(), options=world.options())]
    assert texts(messages) == ["seen"]


@case
async def an_api_error_is_an_error_result_and_an_exception(world):
    world.model({"status": 400, "error": {"type": "invalid_request_error", "message": "no good"}})
    messages = []
    try:
        async for m in query(prompt="go", options=world.options()):
            messages.append(m)
        raise AssertionError("no exception")
    except ResultError as error:
        assert error.exit_code == 1 and "no good" in str(error)
    found = result(messages)
    assert found.is_error and found.subtype == "success" and found.api_error_status == 400
    assert found.terminal_reason == "api_error"
    [synthetic] = [m for m in messages if isinstance(m, AssistantMessage)]
    assert synthetic.error == "invalid_request" and synthetic.model == "<synthetic>"


@case
async def a_failed_login_is_named(world):
    world.model({"status": 401, "forever": True})
    messages = []
    try:
        async for m in query(prompt="go", options=world.options(env={"CLAUDE_CODE_MAX_RETRIES": "0"})):
            messages.append(m)
    except ResultError:
        pass
    [synthetic] = [m for m in messages if isinstance(m, AssistantMessage)]
    assert synthetic.error == "authentication_failed"
    assert result(messages).api_error_status == 401


@case
async def a_retry_is_told(world):
    world.model({"status": 529, "headers": {"retry-after": "0"}}, say("ok"))
    messages = await ask(world)
    [retry] = system(messages, "api_retry")
    assert retry["attempt"] == 1 and retry["max_retries"] == 1 and retry["error_status"] == 529
    assert texts(messages) == ["ok"]


@case
async def the_turn_limit_ends_with_an_error(world):
    world.model(call("Bash", command="ls"), call("Bash", command="ls"), say("never"))
    messages = []
    try:
        async for m in query(prompt="go", options=world.options(max_turns=1)):
            messages.append(m)
        raise AssertionError("no exception")
    except ResultError as error:
        assert "maximum number of turns" in str(error)
    found = result(messages)
    assert found.subtype == "error_max_turns" and found.is_error and found.num_turns == 2
    assert found.terminal_reason == "max_turns" and found.errors and found.result is None
    assert len(tool_results(messages)) == 1


@case
async def the_budget_ends_with_an_error(world):
    big = {"usage": {"input_tokens": 200000, "output_tokens": 5000}}
    world.model(call("Bash", command="ls") | big, say("never"))
    messages = []
    try:
        async for m in query(prompt="go", options=world.options(max_budget_usd=0.5, model="claude-sonnet-4-5")):
            messages.append(m)
        raise AssertionError("no exception")
    except ResultError:
        pass
    found = result(messages)
    assert found.subtype == "error_max_budget_usd" and found.is_error
    assert found.total_cost_usd > 0.5 and found.errors


@case
async def a_final_answer_over_the_budget_is_an_error_too(world):
    world.model(say("done") | {"usage": {"input_tokens": 200000, "output_tokens": 5000}})
    messages = []
    try:
        async for m in query(prompt="go", options=world.options(max_budget_usd=0.5, model="claude-sonnet-4-5")):
            messages.append(m)
    except ResultError:
        pass
    assert result(messages).subtype == "error_max_budget_usd"


@case
async def a_budget_that_suffices_changes_nothing(world):
    world.model(say("done"))
    messages = await ask(world, max_budget_usd=5.0, model="claude-sonnet-4-5")
    assert result(messages).subtype == "success"


@case
async def partial_messages_come_before_their_block(world):
    world.model(say("one two three four"))
    messages = await ask(world, include_partial_messages=True)
    events = [m.event["type"] for m in messages if isinstance(m, StreamEvent)]
    assert events[0] == "message_start" and events[-1] == "message_stop"
    assert "content_block_delta" in events
    deltas = [
        m.event["delta"]["text"]
        for m in messages
        if isinstance(m, StreamEvent) and m.event["type"] == "content_block_delta"
    ]
    assert "".join(deltas) == "one two three four"
    kinds = [
        m.event["type"] if isinstance(m, StreamEvent) else type(m).__name__ for m in messages
    ]
    assert kinds.index("AssistantMessage") > kinds.index("content_block_delta")
    assert kinds.index("AssistantMessage") == kinds.index("content_block_stop") - 1, kinds
    assert [s["status"] for s in system(messages, "status")] == ["requesting"]


@case
async def without_the_option_there_are_no_partial_messages(world):
    world.model(say("one two"))
    messages = await ask(world)
    assert not [m for m in messages if isinstance(m, StreamEvent)]
    assert not system(messages, "status")


@case
async def partial_tool_input_is_streamed(world):
    world.model(call("Bash", command="echo hi"), say("done"))
    messages = await ask(world, include_partial_messages=True)
    parts = [
        m.event["delta"].get("partial_json", "")
        for m in messages
        if isinstance(m, StreamEvent) and m.event["type"] == "content_block_delta"
    ]
    assert "echo hi" in "".join(parts)


@case
async def thinking_is_a_block_with_a_signature(world):
    world.model({"think": "let me see", "say": "ok"})
    messages = await ask(world)
    [thought] = [
        b for m in messages if isinstance(m, AssistantMessage) for b in m.content
        if isinstance(b, ThinkingBlock)
    ]
    assert thought.thinking == "let me see" and thought.signature


@case
async def an_unknown_flag_is_refused_with_code_1(world):
    world.model(say("never"))
    try:
        await ask(world, extra_args={"no-such-flag": None})
        raise AssertionError("no exception")
    except ClaudeSDKError as error:
        assert getattr(error, "exit_code", 1) == 1
    assert any("no-such-flag" in line for line in world.stderr)


@case
async def a_missing_directory_is_the_sdk_s_own_error(world):
    from claude_agent_sdk import CLIConnectionError

    world.model(say("never"))
    options = world.options()
    options.cwd = str(world.cwd / "nowhere")
    try:
        _ = [m async for m in query(prompt="go", options=options)]
        raise AssertionError("no exception")
    except CLIConnectionError:
        pass


@case
async def an_unknown_command_is_answered_without_the_model(world):
    world.model(say("never"))
    messages = await ask(world, "/no-such-command")
    found = result(messages)
    assert found.num_turns == 0 and not found.is_error and "no-such-command" in found.result
    assert texts(messages) == []


@case
async def context_is_a_local_command(world):
    world.model(say("never"))
    found = result(await ask(world, "/context"))
    assert "tokens" in found.result and found.num_turns == 0


@case
async def a_refusal_is_an_error_result(world):
    world.model({"say": "no", "stop": "refusal"})
    messages = []
    try:
        async for m in query(prompt="go", options=world.options()):
            messages.append(m)
    except ResultError:
        pass
    found = result(messages)
    assert found.is_error and found.stop_reason == "refusal"
    assert system(messages, "model_refusal_no_fallback")


@case
async def a_fallback_model_takes_over(world):
    world.model(
        {"when": {"model": "claude-sonnet-4-5"}, "status": 529, "headers": {"retry-after": "0"}, "forever": True},
        {"when": {"model": "claude-haiku-4-5"}, "say": "from the other"},
    )
    messages = await ask(world, model="claude-sonnet-4-5", fallback_model="claude-haiku-4-5")
    [fallback] = system(messages, "model_fallback")
    assert fallback["original_model"] == "claude-sonnet-4-5"
    assert fallback["fallback_model"] == "claude-haiku-4-5"
    assert texts(messages) == ["from the other"]


@case
async def a_verbatim_prompt_is_not_a_command(world):
    world.model(say("ok", expect={"last_user": "/context please"}))
    messages = await ask(world, "/context please", verbatim_prompts=True)
    assert texts(messages) == ["ok"]


@case
async def background_work_ends_with_a_second_result(world):
    world.model(
        call("Bash", command="sleep 0.3; echo over", run_in_background=True),
        say("started"),
        say("it is over"),
    )
    messages = await ask(world, allowed_tools=["Bash"])
    found = [m for m in messages if isinstance(m, ResultMessage)]
    assert [m.result for m in found] == ["started", "it is over"]
    assert found[1].origin == {"kind": "task-notification"}
    kinds = [type(m).__name__ for m in messages if type(m).__name__.startswith("Task")]
    assert kinds == ["TaskStartedMessage", "TaskUpdatedMessage", "TaskNotificationMessage"], kinds


@case
async def a_budget_is_compared_with_what_was_spent(world):
    big = {"usage": {"input_tokens": 20000, "output_tokens": 100}}
    world.model(call("Bash", command="ls") | big, say("never"))
    messages = []
    try:
        options = world.options(max_budget_usd=0.0001, model="claude-sonnet-4-5")
        async for m in query(prompt="go", options=options):
            messages.append(m)
        raise AssertionError("no exception")
    except ResultError:
        pass
    found = result(messages)
    assert found.subtype == "error_max_budget_usd" and found.total_cost_usd > 0.0001
    assert found.num_turns >= 1 and texts(messages) == []
    assert len(world.requests()) == 1


@case
async def calls_of_an_answer_over_the_budget_do_not_run(world):
    big = {"usage": {"input_tokens": 200000, "output_tokens": 5000}}
    world.model(
        call("Bash", command="touch first"),
        call("Bash", command="touch second") | big,
        say("again", expect={"contains": ["the budget of this session is spent"]}),
    )
    options = world.options(max_budget_usd=0.5, model="claude-sonnet-4-5", allowed_tools=["Bash"])
    messages = []
    try:
        async for m in query(prompt="go", options=options):
            messages.append(m)
    except ResultError:
        pass
    found = result(messages)
    assert found.subtype == "error_max_budget_usd" and found.terminal_reason == "budget_exhausted"
    assert found.total_cost_usd > 0.5 and found.num_turns == 2, found
    assert (world.cwd / "first").exists() and not (world.cwd / "second").exists()
    assert len(tool_results(messages)) == 1
    # The call has a result for the model, so that the conversation can continue.
    session = found.session_id
    messages = await ask(world, "more", resume=session, model="claude-sonnet-4-5")
    assert texts(messages) == ["again"]


@case
async def a_result_names_the_messages_that_have_a_uuid(world):
    world.model(say("one"), say("two"))

    async def prompts():
        yield {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "first"}}
        yield {"type": "user", "message": {"role": "user", "content": "second"}}

    messages = [m async for m in query(prompt=prompts(), options=world.options())]
    first, second = [m for m in messages if isinstance(m, ResultMessage)]
    assert first.user_message_uuid == "u-1" and first.user_message_uuids == ["u-1"]
    assert second.user_message_uuid is None and second.user_message_uuids is None


@case
async def the_first_answer_and_event_name_the_message(world):
    world.model(call("Bash", command="echo hi"), say("one"))

    async def prompts():
        yield {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "first"}}

    options = world.options(include_partial_messages=True)
    messages = [m async for m in query(prompt=prompts(), options=options)]
    for kind in (AssistantMessage, StreamEvent):
        found = [m.user_message_uuids for m in messages if isinstance(m, kind)]
        assert found[0] == ["u-1"] and set(map(str, found[1:])) == {"None"}, found


@case
async def where_a_message_comes_from_is_told_back(world):
    world.model(say("one"), say("two"))

    async def prompts():
        origin = {"kind": "human"}
        yield {"type": "user", "origin": origin, "message": {"role": "user", "content": "first"}}
        # A program speaks for nobody else.
        origin = {"kind": "peer", "from": "x"}
        yield {"type": "user", "origin": origin, "message": {"role": "user", "content": "second"}}

    options = world.options(extra_args={"replay-user-messages": None})
    messages = [m async for m in query(prompt=prompts(), options=options)]
    origins = [m.origin for m in messages if isinstance(m, ResultMessage)]
    assert origins == [{"kind": "human"}, None], origins
    replayed = {m.content: m.origin for m in messages if isinstance(m, UserMessage)}
    assert replayed == {"first": {"kind": "human"}, "second": None}, replayed
