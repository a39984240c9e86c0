"""What the cases share: a scripted model, a home of their own, and the SDK with its CLI set to Ostler."""

import asyncio
import inspect
import json
import os
import subprocess
import tempfile
from pathlib import Path

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SystemMessage,
    TextBlock,
    UserMessage,
    query,
)

OSTLER = os.environ["OSTLER_TEST_PROGRAM"]
CASES = []
# A case that takes longer hangs.
LIMIT = 60


def case(function):
    CASES.append(function)
    return function


def say(text, **more):
    return {"say": text, **more}


def call(tool, more_calls=(), say=None, **inputs):
    step = {"calls": [{"tool": tool, "input": inputs}, *more_calls]}
    if say:
        step["say"] = say
    return step


class World:
    """A directory, a home, and a model that answers as scripted."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ostler-sdk-")
        root = Path(self.folder.name).resolve()
        self.home, self.cwd = root / "home", root / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self.root = root
        self.servers = []
        self.stderr = []

    def model(self, *steps, **more):
        """Starts a model with these steps, and gives its URL."""
        script = self.root / f"script{len(self.servers)}.json"
        script.write_text(json.dumps({"steps": list(steps), **more}))
        log = self.root / f"log{len(self.servers)}.jsonl"
        process = subprocess.Popen(
            [OSTLER, "model-server", "--json", "--script", str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
            text=True,
        )
        first = json.loads(process.stdout.readline())
        self.servers.append((process, log))
        self.url = first["url"]
        return self.url

    def requests(self):
        """What the model served so far, ends the model."""
        process, _ = self.servers[-1]
        process.terminate()
        lines = [json.loads(line) for line in process.stdout.read().splitlines() if line]
        process.wait()
        return [line for line in lines if line.get("status") is not None]

    def options(self, **more):
        env = {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "key",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "OSTLER_MEMORY": "off",
            **more.pop("env", {}),
        }
        more.setdefault("model", "scripted")
        return ClaudeAgentOptions(
            cli_path=OSTLER, cwd=str(self.cwd), env=env, stderr=self.stderr.append, **more
        )

    def close(self):
        for process, _ in self.servers:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
        self.folder.cleanup()


async def ask(world, prompt="go", **more):
    """All messages of a one-shot query."""
    return [message async for message in query(prompt=prompt, options=world.options(**more))]


def texts(messages):
    blocks = [
        block for m in messages if isinstance(m, AssistantMessage) for block in m.content
    ]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def result(messages):
    found = [m for m in messages if isinstance(m, ResultMessage)]
    assert len(found) == 1, [m.subtype for m in found]
    return found[0]


def system(messages, subtype):
    return [m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == subtype]


def tool_results(messages):
    blocks = []
    for message in messages:
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            blocks += [b for b in message.content if hasattr(b, "tool_use_id")]
    return blocks


async def turn(client, prompt):
    """One turn of a client."""
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def run_one(function):
    world = World()
    try:
        await asyncio.wait_for(function(world), LIMIT)
    except BaseException:
        for line in world.stderr:
            print(f"  stderr: {line}", flush=True)
        raise
    finally:
        world.close()


def needs(function):
    return inspect.signature(function)
