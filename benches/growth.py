#!/usr/bin/env python3
"""Memory of one long session with compaction: resident size every N rounds.

    python3 benches/growth.py target/release/ostler [--rounds 4000] [--every 500]

The mock answers each request with one call (Read, Write, TodoWrite in turn) and every request for a summary with a
short one. The context window is small, so the session is compacted every few dozen rounds. The table shows the
resident size of the program; after the first 500 rounds it must stay flat.
"""
import argparse, http.server, json, os, subprocess, sys, tempfile, threading


def rss(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


class Mock(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        last = json.dumps(json.loads(body)["messages"][-1])
        if "is about to be replaced by a summary that you write now" in last:
            server.summaries += 1
            blocks, stop = [("text", "Summary: files were read and written one after the other.")], "end_turn"
        elif server.round >= server.rounds:
            blocks, stop = [("text", "All done.")], "end_turn"
        else:
            server.step()
            n = server.round
            call = [("Read", {"file_path": f"file{n % 200}.txt"}),
                    ("Write", {"file_path": f"out{n % 200}.txt", "content": f"{n}\n" * 200}),
                    ("TodoWrite", {"todos": [{"content": f"task {n}", "status": "pending", "activeForm": "x"}]})][n % 3]
            blocks, stop = [("text", f"Round {n}."), ("tool", call)], "tool_use"
        self.answer(blocks, stop, len(body) // 4)

    def answer(self, blocks, stop, tokens):
        out = []
        say = lambda kind, **fields: out.append(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n")
        usage = {"input_tokens": tokens, "output_tokens": 1}
        say("message_start", message={"id": "m", "usage": usage})
        for i, (kind, value) in enumerate(blocks):
            if kind == "text":
                say("content_block_start", index=i, content_block={"type": "text", "text": ""})
                say("content_block_delta", index=i, delta={"type": "text_delta", "text": value})
            else:
                ident = f"call_{self.server.round}"
                say("content_block_start", index=i,
                    content_block={"type": "tool_use", "id": ident, "name": value[0], "input": {}})
                say("content_block_delta", index=i,
                    delta={"type": "input_json_delta", "partial_json": json.dumps(value[1])})
            say("content_block_stop", index=i)
        say("message_delta", delta={"stop_reason": stop}, usage={**usage, "output_tokens": 40})
        say("message_stop")
        data = "".join(out).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    round = summaries = 0

    def step(self):
        self.round += 1
        if self.every and (self.round % self.every == 0 or self.round == 1):
            print(f"{self.round:>7} {rss(self.child.pid) / 1024:>8.1f} {self.summaries:>11}", flush=True)


def project(top):
    """Files to read and write, and how the program is pointed at the server."""
    folder = os.path.join(top, "project")
    os.mkdir(folder)
    for i in range(200):
        with open(os.path.join(folder, f"file{i}.txt"), "w") as f:
            f.write(f"line {i} of some text\n" * 100)
    return folder


def environment(top, server):
    return {"PATH": os.environ["PATH"], "HOME": top, "OSTLER_HOME": os.path.join(top, "home"),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}", "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_MODEL": "scripted", "OSTLER_CONTEXT_WINDOW": "30000"}


def serve(rounds, every=0):
    server = Server(("127.0.0.1", 0), Mock)
    server.rounds, server.every = rounds, every
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def start(binary, server, top, folder, words):
    command = [os.path.abspath(binary), "-p", "go", "--permission-mode", "bypassPermissions",
               "--max-turns", str(server.rounds + 10), *words]
    return subprocess.Popen(command, cwd=folder, env=environment(top, server), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("binary")
    args.add_argument("--rounds", type=int, default=4000)
    args.add_argument("--every", type=int, default=500)
    args = args.parse_args()
    with tempfile.TemporaryDirectory() as top:
        folder, server = project(top), serve(args.rounds, args.every)
        print("  round  RSS (MB)  summaries", flush=True)
        server.child = start(args.binary, server, top, folder, [])
        _, errors = server.child.communicate()
        print(f"exit code {server.child.returncode}")
        if server.child.returncode:
            sys.exit(errors[-2000:])


if __name__ == "__main__":
    main()
