"""Runs all cases, several at a time, and says which failed and why."""

import asyncio
import os
import sys
import time
import traceback

import cases_agents
import cases_client
import cases_hooks
import cases_mcp
import cases_options
import cases_permissions
import cases_query
import cases_sessions
import claude_agent_sdk
from rig import CASES, run_one


async def main():
    wanted = sys.argv[1:]
    chosen = [c for c in CASES if not wanted or any(w in c.__name__ for w in wanted)]
    at_once = asyncio.Semaphore(int(os.environ.get("AT_ONCE", "6")))
    failed = []

    async def one(function):
        async with at_once:
            try:
                await run_one(function)
            except BaseException:
                failed.append(function.__name__)
                print(f"FAILED {function.__module__}.{function.__name__}", flush=True)
                print(traceback.format_exc(limit=-4), flush=True)

    began = time.monotonic()
    await asyncio.gather(*(one(c) for c in chosen))
    version = claude_agent_sdk.__version__
    print(f"{len(chosen) - len(failed)} of {len(chosen)} cases passed under claude-agent-sdk {version} in {time.monotonic() - began:.0f} s")
    if failed:
        print("failed: " + ", ".join(failed))
    sys.exit(1 if failed else 0)


asyncio.run(main())
