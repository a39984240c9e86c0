#!/usr/bin/env python3
"""Time and memory until a resumed session sends its first request, for logs of 100, 300 and 500 MB.

    python3 benches/resume.py target/release/ostler [--megabytes 100,300,500] [--rounds 300] [--repeat 3]

One real session of many rounds with compaction is recorded first (see growth.py). Its turn is then repeated in the log,
renumbered, until the log has the size. Each line shows the best run: milliseconds until the request reaches the server,
milliseconds of CPU of the whole run, and the peak of resident memory. Time must grow with the size and not faster.
"""
import argparse, glob, os, sys, tempfile, time, zlib

import growth


class Server(growth.Server):
    first = None

    def step(self):
        self.round += 1
        self.first = self.first or time.monotonic()


def line(number, text):
    digits = str(number).encode()
    return b"%s %08x %s\n" % (digits, zlib.crc32(text, zlib.crc32(digits + b" ")), text)


def inflate(small, large, size):
    """Repeats the turn of the small log until the large one has the size."""
    with open(small, "rb") as file:
        facts = [record.split(b" ", 2)[2] for record in file.read().splitlines()]
    number = 1
    with open(large, "wb") as file:
        file.write(line(number, facts[0]))
        while file.tell() < size:
            for fact in facts[1:]:
                number += 1
                file.write(line(number, fact))


def resume(binary, server, top, folder, session):
    server.round, server.rounds, server.first = 0, 1, None
    began = time.monotonic()
    child = growth.start(binary, server, top, folder, ["--resume", session])
    errors = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode or not server.first:
        sys.exit(errors[-2000:])
    return (server.first - began) * 1000, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024


def main():
    args = argparse.ArgumentParser()
    args.add_argument("binary")
    args.add_argument("--megabytes", default="100,300,500")
    args.add_argument("--rounds", type=int, default=300)
    args.add_argument("--repeat", type=int, default=3)
    args = args.parse_args()
    growth.Server = Server
    with tempfile.TemporaryDirectory() as top:
        folder, server = growth.project(top), growth.serve(args.rounds)
        child = growth.start(args.binary, server, top, folder, [])
        _, errors = child.communicate()
        if child.returncode:
            sys.exit(errors[-2000:])
        [log] = glob.glob(os.path.join(top, "home/sessions/*/*.log"))
        small, session = log + ".small", os.path.basename(log).removesuffix(".log")
        os.rename(log, small)
        print(f"recorded: {args.rounds} rounds, {server.summaries} summaries, {os.path.getsize(small) / 1e6:.1f} MB")
        print("log (MB)  first request (ms)  CPU (ms)  peak (MB)", flush=True)
        for megabytes in map(int, args.megabytes.split(",")):
            inflate(small, log, megabytes * 1_000_000)
            runs = [resume(args.binary, server, top, folder, session) for _ in range(args.repeat)]
            wall, cpu, peak = min(runs)
            print(f"{megabytes:>8} {wall:>19.0f} {cpu:>9.0f} {peak:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
