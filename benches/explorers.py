#!/usr/bin/env python3
"""Eight explorers at once, against the mock model: Ostler beside Claude Code, interleaved.

The model starts eight explorers in one answer. Each reads three files, one per answer, and says a sentence.
Two rows: a model that answers at once (what the harness costs), and one that takes 0.3 s per answer (whether
the explorers really work side by side: four answers of 0.3 s are 1.2 s).

  OURS_BIN=target/release/ostler PEERS_BIN=…/node_modules/.bin python3 benches/explorers.py [--reps N]
"""
import argparse, asyncio, json, os, re, statistics as st, sys, tempfile, threading, types
import bench, mock_model
from contenders import CONTENDERS

EXPLORERS, READS = 8, 3
PROMPT = "Do the benchmark task."

class Herd(mock_model.Mock):
    """Answers by what the conversation itself says: the root's, or explorer n's with so many results."""
    def __init__(self, cwd, wait):
        self.cwd, self.wait, self.n, self.seen = cwd, wait, 0, []

    def calls(self, body, results):
        said = mock_model.text_of([m.get("content") for m in body["messages"] if m["role"] == "user"][:1])
        nth = re.search(r"explorer (\d)", said)
        if nth:
            who = int(nth[1])
            path = os.path.join(self.cwd, f"small{(who + results) % 8}.txt")
            return who, [("Read", {"file_path": path})] if results < READS else []
        start = [("Agent", {"description": f"look {i}", "subagent_type": "Explore", "prompt": f"You are explorer {i}. Look."})
                 for i in range(EXPLORERS)]
        return None, start if results == 0 else []

    async def answer(self, method, path, raw, rec, w):
        if method != "POST" or mock_model.dialect_of(path) != "anthropic":
            w.write(b"HTTP/1.1 404 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            return await w.drain()
        body = json.loads(raw)
        tools = mock_model.tools_of(body)
        self.n += 1
        results, calls = mock_model.results_of("anthropic", body), []
        if "agent" in tools or "task" in tools or "read" in tools:
            who, todo = self.calls(body, len(results))
            self.seen.append((who, len(results), rec["t_arrive"], rec["bytes"]))
            name = lambda n: tools["task"][0] if n == "Agent" and "agent" not in tools else n
            calls = [(f"toolu_{self.n:06x}{i:02x}".ljust(24, "0"), name(n), a) for i, (n, a) in enumerate(todo)]
        if self.wait:
            await asyncio.sleep(self.wait)
        gen = mock_model.anthropic(body, calls, None, f"{self.n:08x}", max(100, len(raw) // 80))
        if not body.get("stream"):
            b = self.fold(gen)
            w.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(b) + b)
        else:
            w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _, b in gen:
                w.write(b"%x\r\n" % len(b) + b + b"\r\n")
            w.write(b"0\r\n\r\n")
        await w.drain()

    log = None

def served(herd):
    """The herd's port, on a thread of its own."""
    ready, port = threading.Event(), []
    async def main():
        srv = await asyncio.start_server(herd.serve, "127.0.0.1", 0, limit=1 << 26)
        port.append(srv.sockets[0].getsockname()[1])
        ready.set()
        await srv.serve_forever()
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
    ready.wait()
    return port[0]

def once(name, root, spaces, wait):
    home, cwd, tmp = spaces[name]
    herd = Herd(cwd, wait)
    c = types.SimpleNamespace(url=f"http://127.0.0.1:{served(herd)}", home=home, cwd=cwd, prompt=PROMPT)
    spec = CONTENDERS[name](c)
    env = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": tmp, "SHELL": "/bin/bash", "TERM": "dumb", "LANG": "C.UTF-8",
           "NO_COLOR": "1", "GIT_CONFIG_GLOBAL": "/dev/null", **spec["env"]}
    out = os.path.join(root, name, "out.txt")
    reaper, rd = bench.spawn(spec, env, cwd, out, 60)
    f = os.fdopen(rd)
    first = json.loads(f.readline())
    samples, stop = [], threading.Event()
    sampler = threading.Thread(target=bench.sampler, args=(first["pid"], samples, stop))
    sampler.start()
    last = json.loads(f.readline() or "{}")
    os.waitpid(reaper, 0)
    stop.set()
    sampler.join()
    root_asks = [t for who, results, t, _ in herd.seen if who is None]
    children = [x for x in herd.seen if x[0] is not None]
    ok = last.get("exit") == 0 and len(children) == EXPLORERS * (READS + 1) and len(root_asks) == 2
    if not ok:
        print(name, "failed:", last, len(root_asks), len(children), open(out, errors="replace").read()[-400:], file=sys.stderr)
    return ok and {"took": root_asks[1] - root_asks[0], "cpu": last["cpu"], "rss": max(s[3] for s in samples),
                   "bytes": sum(b for *_, b in children) / len(children)}

def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--reps", type=int, default=5)
    p.add_argument("--only", default="ours,claude")
    a = p.parse_args()
    bench.isolate()
    names = [n for n in a.only.split(",") if CONTENDERS[n](types.SimpleNamespace(url="", home="", cwd="", prompt=""))]
    with tempfile.TemporaryDirectory() as root:
        spaces = {n: bench.workspace(root, n) for n in names}
        for wait in (0, 0.3):
            rows = {n: [] for n in names}
            for _ in range(a.reps):
                for n in names:
                    r = once(n, root, spaces, wait)
                    if r:
                        rows[n].append(r)
            print(f"eight explorers, {READS} files each, {wait} s per answer")
            for n in names:
                if not rows[n]:
                    print(f"  {n:8} did not finish")
                    continue
                took = [r["took"] * 1e3 for r in rows[n]]
                mid = lambda k: st.median(r[k] for r in rows[n])
                print(f"  {n:8} {st.median(took):7.0f} ms ({min(took):.0f}–{max(took):.0f}), CPU {mid('cpu') * 1e3:.0f} ms, "
                      f"largest process {mid('rss') / 1e6:.0f} MB, {mid('bytes') / 1e3:.1f} KB per request of an explorer, "
                      f"{len(rows[n])} of {a.reps} runs")

if __name__ == "__main__":
    main()
