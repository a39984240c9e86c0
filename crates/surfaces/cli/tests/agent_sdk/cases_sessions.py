"""Sessions: resume, continue, fork, go back; transcripts and stores."""

import json
import stat
import uuid

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    InMemorySessionStore,
    ProcessError,
    ResultError,
    UserMessage,
    fork_session,
    get_session_info,
    get_session_messages,
    list_sessions,
    rename_session,
)
from rig import *


@case
async def a_session_is_resumed_by_its_id(world):
    world.model(say("one"), say("two", expect={"contains": ["first", "one"]}))
    first = result(await ask(world, "first"))
    second = result(await ask(world, "second", resume=first.session_id))
    assert second.session_id == first.session_id and second.result == "two"


@case
async def an_unknown_session_is_an_error_result(world):
    world.model(say("never"))
    missing = str(uuid.uuid4())
    try:
        await ask(world, resume=missing)
        raise AssertionError("no exception")
    except ResultError as error:
        assert missing in str(error) and error.exit_code == 1


@case
async def the_newest_session_is_continued(world):
    world.model(say("one"), say("two", expect={"contains": ["first", "one"]}))
    first = result(await ask(world, "first"))
    second = result(await ask(world, "second", continue_conversation=True))
    assert second.session_id == first.session_id


@case
async def without_a_session_to_continue_a_new_one_begins(world):
    world.model(say("fresh"))
    assert texts(await ask(world, continue_conversation=True)) == ["fresh"]


@case
async def a_fork_has_a_new_id_and_leaves_the_original(world):
    world.model(say("one"), say("fork", expect={"contains": ["first"]}), say("original", expect={"contains": ["first"]}))
    first = result(await ask(world, "first"))
    fork = result(await ask(world, "second", resume=first.session_id, fork_session=True))
    assert fork.session_id != first.session_id
    again = result(await ask(world, "third", resume=first.session_id))
    assert again.session_id == first.session_id and again.result == "original"


@case
async def a_session_gets_the_id_it_was_given(world):
    world.model(say("one"))
    wanted = str(uuid.uuid4())
    assert result(await ask(world, session_id=wanted)).session_id == wanted


@case
async def a_fork_gets_the_id_it_was_given(world):
    world.model(say("one"), say("two"))
    first = result(await ask(world)).session_id
    wanted = str(uuid.uuid4())
    fork = result(await ask(world, resume=first, fork_session=True, session_id=wanted))
    assert fork.session_id == wanted


@case
async def the_newest_session_is_forked_under_an_id(world):
    world.model(say("one"), say("two", expect={"contains": ["first"]}))
    first = result(await ask(world, "first")).session_id
    wanted = str(uuid.uuid4())
    more = {"continue_conversation": True, "session_id": wanted}
    fork = result(await ask(world, "second", fork_session=True, **more))
    assert fork.session_id == wanted != first
    try:
        await ask(world, "third", **more)
        raise AssertionError("no exception")
    except (ProcessError, ResultError) as error:
        assert error.exit_code == 1


@case
async def an_id_cannot_be_used_twice(world):
    world.model(say("one"))
    wanted = str(uuid.uuid4())
    await ask(world, session_id=wanted)
    try:
        await ask(world, session_id=wanted)
        raise AssertionError("no exception")
    except (ProcessError, ResultError) as error:
        assert error.exit_code == 1


@case
async def a_session_is_resumed_at_an_earlier_message(world):
    world.model(say("one"), say("two"), say("other", expect={"contains": ["first", "third"]}))
    messages = await ask(world, "first")
    id, at = result(messages).session_id, messages[1].uuid
    await ask(world, "second", resume=id)
    found = result(await ask(world, "third", resume=id, resume_session_at=at))
    assert found.result == "other" and found.session_id == id
    kept = [m.message for m in reading(world, get_session_messages, id)]
    assert "second" not in json.dumps(kept) and "third" in json.dumps(kept)


@case
async def a_fork_begins_at_an_earlier_message(world):
    world.model(say("one"), say("two"), say("other", expect={"contains": ["first", "third"]}))
    messages = await ask(world, "first")
    id, at = result(messages).session_id, messages[1].uuid
    await ask(world, "second", resume=id)
    found = result(await ask(world, "third", resume=id, fork_session=True, resume_session_at=at))
    assert found.session_id != id and found.result == "other"
    assert "two" in json.dumps([m.message for m in reading(world, get_session_messages, id)])


@case
async def a_turn_can_be_dropped_on_resume(world):
    world.model(say("one"), say("two"), say("other"))
    id = result(await ask(world, "first")).session_id
    messages = await ask(world, "second", resume=id)
    dropped = next(m.uuid for m in messages if isinstance(m, AssistantMessage))
    await ask(world, "third", resume=id, resume_drops_turn=dropped)
    kept = json.dumps([m.message for m in reading(world, get_session_messages, id)])
    assert "first" in kept and "third" in kept and "second" not in kept


@case
async def an_unknown_message_to_resume_at_is_refused(world):
    world.model(say("one"))
    id = result(await ask(world)).session_id
    try:
        await ask(world, resume=id, resume_session_at=str(uuid.uuid4()))
        raise AssertionError("no exception")
    except (ProcessError, ResultError):
        pass


def reading(world, function, *args, **more):
    """Calls a function of the SDK that reads transcripts of this world."""
    import os

    had = os.environ.get("CLAUDE_CONFIG_DIR")
    os.environ["CLAUDE_CONFIG_DIR"] = str(world.home / ".claude")
    try:
        return function(*args, directory=str(world.cwd), **more)
    finally:
        if had is None:
            del os.environ["CLAUDE_CONFIG_DIR"]
        else:
            os.environ["CLAUDE_CONFIG_DIR"] = had


@case
async def sessions_are_listed(world):
    world.model(say("one"), say("two"))
    first = result(await ask(world, "the first prompt")).session_id
    second = result(await ask(world, "the second prompt")).session_id
    listed = {s.session_id: s for s in reading(world, list_sessions)}
    assert set(listed) == {first, second}
    assert listed[first].first_prompt == "the first prompt"
    info = reading(world, get_session_info, second)
    assert info.summary == "the second prompt" and info.cwd == str(world.cwd)


@case
async def the_messages_of_a_session_can_be_read(world):
    world.model(call("Bash", command="echo hi"), say("done"))
    messages = await ask(world, "do it")
    id = result(messages).session_id
    read = reading(world, get_session_messages, id)
    assert [m.type for m in read] == ["user", "assistant", "user", "assistant"]
    assert read[0].message["content"] == "do it"
    assert read[-1].message["content"][0]["text"] == "done"
    shown = [m.uuid for m in messages if isinstance(m, (AssistantMessage, UserMessage))]
    assert [m.uuid for m in read[1:]] == shown


@case
async def a_resumed_session_grows_in_the_same_file(world):
    world.model(say("one"), say("two"))
    id = result(await ask(world, "first")).session_id
    await ask(world, "second", resume=id)
    read = reading(world, get_session_messages, id)
    assert [m.type for m in read] == ["user", "assistant"] * 2


@case
async def a_fork_s_transcript_begins_with_the_history(world):
    world.model(say("one"), say("two"))
    id = result(await ask(world, "first")).session_id
    fork = result(await ask(world, "second", resume=id, fork_session=True)).session_id
    assert len(reading(world, get_session_messages, fork)) == 4
    assert len(reading(world, get_session_messages, id)) == 2


@case
async def transcripts_are_private(world):
    world.model(say("one"))
    await ask(world)
    [path] = (world.home / ".claude/projects").glob("*/*.jsonl")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@case
async def transcripts_can_be_switched_off(world):
    world.model(say("one"))
    await ask(world, extra_args={"no-session-persistence": None})
    assert not list((world.home / ".claude").glob("projects/*/*.jsonl"))


@case
async def a_file_of_claude_code_is_never_changed(world):
    wanted = str(uuid.uuid4())
    folder = world.home / ".claude/projects" / "".join(c if c.isalnum() else "-" for c in str(world.cwd))
    folder.mkdir(parents=True)
    path = folder / f"{wanted}.jsonl"
    content = json.dumps({"type": "user", "uuid": "x", "entrypoint": "cli", "sessionId": wanted}) + "\n"
    path.write_text(content)
    world.model(say("one"))
    try:
        await ask(world, session_id=wanted)
    except (ProcessError, ResultError):
        pass
    assert path.read_text() == content


@case
async def a_store_gets_every_entry(world):
    store = InMemorySessionStore()
    world.model(call("Bash", command="echo hi"), say("done"))
    id = result(await ask(world, "go", session_store=store)).session_id
    from claude_agent_sdk import project_key_for_directory

    key = {"project_key": project_key_for_directory(str(world.cwd)), "session_id": id}
    entries = await store.load(key)
    kinds = [e["type"] for e in entries if e["type"] in ("user", "assistant")]
    assert kinds == ["user", "assistant", "user", "assistant"], kinds


@case
async def a_session_is_resumed_from_a_store(world):
    store = InMemorySessionStore()
    world.model(say("one"), say("two", expect={"contains": ["first", "one"]}))
    id = result(await ask(world, "first", session_store=store)).session_id
    found = result(await ask(world, "second", session_store=store, resume=id))
    assert found.result == "two" and found.session_id == id


@case
async def hooks_hear_of_a_resumed_session(world):
    from claude_agent_sdk import HookMatcher

    seen = []

    async def hook(hook_input, *_):
        seen.append(hook_input["source"])
        return {}

    world.model(say("one"), say("two"))
    id = result(await ask(world)).session_id
    await ask(world, resume=id, hooks={"SessionStart": [HookMatcher(hooks=[hook])]})
    assert seen == ["resume"]


@case
async def a_store_is_all_that_resuming_needs(world):
    import shutil

    store = InMemorySessionStore()
    calls = call("Bash", command="echo from-the-first-run")
    world.model(
        calls, say("one"),
        say("two", expect={"contains": ["first", "from-the-first-run", "one"]}),
        say("three", expect={"contains": ["first", "second", "two"]}),
    )
    id = result(await ask(world, "first", session_store=store)).session_id
    for prompt, answer in [("second", "two"), ("third", "three")]:
        shutil.rmtree(world.home)
        world.home.mkdir()
        messages = await ask(world, prompt, session_store=store, resume=id)
        found = result(messages)
        assert found.session_id == id and found.result == answer
        assert system(messages, "informational") == []
    from claude_agent_sdk import project_key_for_directory

    key = {"project_key": project_key_for_directory(str(world.cwd)), "session_id": id}
    kinds = [e["type"] for e in await store.load(key) if e["type"] in ("user", "assistant")]
    assert kinds == ["user", "assistant"] * 4, kinds


@case
async def a_fork_of_a_store_gets_the_id_it_was_given(world):
    import shutil

    store = InMemorySessionStore()
    world.model(say("one"), say("two", expect={"contains": ["first", "one"]}))
    id = result(await ask(world, "first", session_store=store)).session_id
    shutil.rmtree(world.home)
    world.home.mkdir()
    wanted = str(uuid.uuid4())
    more = {"resume": id, "fork_session": True, "session_id": wanted}
    assert result(await ask(world, "second", session_store=store, **more)).session_id == wanted


@case
async def a_compacted_session_is_read_and_resumed_from_its_summary(world):
    import shutil

    store = InMemorySessionStore()
    world.model(
        say("a-one"), say("a-two"), say("<summary>They counted.</summary>"), say("a-three"),
        say("a-four", expect={
            "contains": ["They counted.", "second prompt", "third prompt"],
            # The first turn is only in the summary.
            "lacks": ["/messages/5"],
        }),
    )
    async with ClaudeSDKClient(world.options(session_store=store)) as client:
        await turn(client, "first prompt")
        await turn(client, "second prompt")
        compacted = await turn(client, "/compact")
        id = result(await turn(client, "third prompt")).session_id
    [boundary] = system(compacted, "compact_boundary")
    metadata = boundary["compact_metadata"]
    assert metadata["duration_ms"] >= 0 and metadata["cumulative_dropped_tokens"] >= 0
    read = reading(world, get_session_messages, id)
    assert [m.type for m in read] == ["user", "user", "assistant"], read
    assert "They counted." in read[0].message["content"]
    assert read[1].message["content"] == "third prompt"
    [path] = (world.home / ".claude/projects").glob("*/*.jsonl")
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    [made] = [e for e in entries if e.get("subtype") == "compact_boundary"]
    assert made["uuid"] == boundary["uuid"] and made["parentUuid"] is None
    shutil.rmtree(world.home)
    world.home.mkdir()
    again = result(await ask(world, "fourth", session_store=store, resume=id))
    assert again.result == "a-four" and again.session_id == id


@case
async def a_conversation_can_be_cleared(world):
    world.model(say("one"), say("two", expect={"lacks": ["/messages/1"]}))
    async with ClaudeSDKClient(world.options()) as client:
        spent = result(await turn(client, "first prompt")).total_cost_usd
        messages = await turn(client, "/clear")
        assert "ConversationResetMessage" in [type(m).__name__ for m in messages]
        assert spent > 0 and result(messages).total_cost_usd == 0
        assert result(messages).num_turns == 0
        assert texts(await turn(client, "second prompt")) == ["two"]


@case
async def agents_have_transcripts_of_their_own(world):
    from claude_agent_sdk import (
        HookMatcher,
        get_subagent_messages,
        list_subagents,
        list_subagents_from_store,
    )

    paths = []

    async def hook(hook_input, *_):
        paths.append(hook_input["agent_transcript_path"])
        return {}

    store = InMemorySessionStore()
    world.model(
        call("Agent", description="d", prompt="look for it", subagent_type="Explore"),
        call("Bash", command="echo found"), say("it is there"), say("done"),
    )
    hooks = {"SubagentStop": [HookMatcher(hooks=[hook])]}
    messages = await ask(world, hooks=hooks, session_store=store)
    id = result(messages).session_id
    assert "it is there" not in texts(messages)
    [agent] = reading(world, list_subagents, id)
    read = reading(world, get_subagent_messages, id, agent)
    assert [m.type for m in read] == ["user", "assistant", "user", "assistant"]
    assert "look for it" in json.dumps(read[0].message)
    assert read[-1].message["content"][0]["text"] == "it is there"
    started = next(m for m in messages if type(m).__name__ == "TaskStartedMessage")
    assert {m.parent_tool_use_id for m in read} == {started.tool_use_id}
    [path] = paths
    assert path.endswith(f"{id}/subagents/agent-{agent}.jsonl")
    assert list((world.home / ".claude/projects").glob(f"*/{id}/subagents/agent-{agent}.jsonl"))
    listed = await list_subagents_from_store(store, id, directory=str(world.cwd))
    assert listed == [agent], listed


@case
async def without_a_session_to_fork_a_new_one_begins(world):
    world.model(say("one"), say("two"), say("three"))
    assert texts(await ask(world, fork_session=True, continue_conversation=True)) == ["one"]
    assert texts(await ask(world, fork_session=True)) == ["two"]
    # The values of flags that are given twice are those of the last one.
    assert texts(await ask(world, extra_args={"verbose": None})) == ["three"]


@case
async def only_the_turn_that_was_named_is_dropped(world):
    world.model(say("one"), say("two"), say("three"), say("instead of three"))
    first = await ask(world, "first")
    id, prompts = result(first).session_id, []
    for prompt in ["second", "third"]:
        await ask(world, prompt, resume=id)
    prompts = [m.uuid for m in reading(world, get_session_messages, id) if m.type == "user"]
    answers = [m.uuid for m in reading(world, get_session_messages, id) if m.type == "assistant"]
    try:
        await ask(world, "x", resume=id, resume_session_at=answers[0], resume_drops_turn=prompts[1])
        raise AssertionError("no exception")
    except (ProcessError, ResultError) as error:
        assert "Resume rejected by --resume-drops-turn:" in str(error), error
    # A fork that is refused is none.
    logs = sorted((world.home / ".ostler/sessions").rglob("*.log"))
    files = sorted((world.home / ".claude/projects").rglob("*.jsonl"))
    try:
        more = {"resume_session_at": answers[0], "resume_drops_turn": prompts[1]}
        await ask(world, "x", resume=id, fork_session=True, **more)
        raise AssertionError("no exception")
    except (ProcessError, ResultError) as error:
        assert "Resume rejected by --resume-drops-turn:" in str(error), error
    assert sorted((world.home / ".ostler/sessions").rglob("*.log")) == logs and logs
    assert sorted((world.home / ".claude/projects").rglob("*.jsonl")) == files
    found = await ask(world, "x", resume=id, resume_session_at=answers[1], resume_drops_turn=prompts[2])
    assert result(found).result == "instead of three"


@case
async def what_the_sdk_makes_of_a_session_can_be_resumed(world):
    world.model(say("one"), say("two", expect={"contains": ["first"]}), say("three", expect={"contains": ["first"]}))
    first = result(await ask(world, "first"))
    reading(world, rename_session, first.session_id, "My title")
    made = reading(world, fork_session, first.session_id).session_id
    second = result(await ask(world, "second", resume=first.session_id))
    third = result(await ask(world, "third", resume=made))
    assert (second.session_id, third.session_id) == (first.session_id, made)
    titles = {s.session_id: s.summary for s in reading(world, list_sessions)}
    assert titles == {first.session_id: "My title", made: "My title (fork)"}, titles
    assert len(reading(world, get_session_messages, made)) == 4
