#!/usr/bin/env python3
"""A program with the Python Agent SDK: from the prompt to the first frame, Ostler beside Claude Code, interleaved.

The mock model answers at once with a sentence, so the time is that of the SDK, the pipe and the harness.

  OURS_BIN=target/release/ostler PEERS_BIN=…/node_modules/.bin VENV/bin/python benches/sdk_round_trip.py [--reps N]

VENV has claude-agent-sdk (`scripts/test` makes one).
"""
import argparse, asyncio, json, os, statistics as st, tempfile, time
import bench, mock_model
from explorers import served

TURNS = 10

class Sentence(mock_model.Mock):
    """Answers every request with one sentence."""
    log = None

    def __init__(self):
        self.n = 0

    async def answer(self, method, path, raw, rec, w):
        if method != "POST" or mock_model.dialect_of(path) != "anthropic":
            w.write(b"HTTP/1.1 404 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            return await w.drain()
        body = json.loads(raw)
        self.n += 1
        events = mock_model.anthropic(body, [], None, f"{self.n:08x}", max(100, len(raw) // 80))
        if not body.get("stream"):
            b = self.fold(events)
            w.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(b) + b)
        else:
            w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _, b in events:
                w.write(b"%x\r\n" % len(b) + b + b"\r\n")
            w.write(b"0\r\n\r\n")
        await w.drain()

async def frames(messages, begin):
    """Milliseconds until the first frame, the first answer and the result."""
    from claude_agent_sdk import AssistantMessage, ResultMessage
    first = answer = None
    async for message in messages:
        now = (time.perf_counter() - begin) * 1e3
        first = first or now
        if isinstance(message, AssistantMessage):
            answer = answer or now
        if isinstance(message, ResultMessage):
            assert not message.is_error, message
            return first, answer, now
    raise SystemExit("no result")

async def once(program, space, url):
    """The first turn of a new program, and the median of further turns in the same one."""
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
    home, cwd, tmp = space
    env = {"HOME": home, "TMPDIR": tmp, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-mock-0000",
           "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    options = ClaudeAgentOptions(cli_path=program, cwd=cwd, env=env, model="claude-sonnet-4-5", setting_sources=[])
    begin = time.perf_counter()
    async with ClaudeSDKClient(options=options) as client:
        await client.query("Do the benchmark task.")
        cold = await frames(client.receive_response(), begin)
        turns = []
        for _ in range(TURNS):
            begin = time.perf_counter()
            await client.query("And again.")
            turns.append(await frames(client.receive_response(), begin))
    return cold, [st.median(column) for column in zip(*turns)]

def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--reps", type=int, default=5)
    a = p.parse_args()
    bench.isolate()
    claude = os.path.join(os.environ.get("PEERS_BIN", ""), "claude")
    programs = {"ours": os.environ.get("OURS_BIN"), "claude": claude if os.path.exists(claude) else None}
    programs = {name: os.path.realpath(path) for name, path in programs.items() if path}
    url = f"http://127.0.0.1:{served(Sentence())}"
    rows = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as root:
        spaces = {name: bench.workspace(root, name) for name in programs}
        for _ in range(a.reps):
            for name, program in programs.items():
                rows[name].append(asyncio.run(once(program, spaces[name], url)))
    for nth, title in enumerate(["new program, from its start", f"further turns (median of {TURNS})"]):
        print(f"{title}: first frame, first answer, result; ms")
        for name in programs:
            columns = list(zip(*(row[nth] for row in rows[name])))
            shown = ", ".join(f"{st.median(c):.1f} ({min(c):.1f}–{max(c):.1f})" for c in columns)
            print(f"  {name:8} {shown}")

if __name__ == "__main__":
    main()
