"""A small MCP server over standard input and output."""

import json
import os
import sys
import time

TOOLS = [
    {
        "name": "echo",
        "description": "Repeats a text",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
    {
        "name": "decide",
        "description": "Allows what says yes",
        "inputSchema": {"type": "object", "properties": {}},
    },
    {
        "name": "hang",
        "description": "Never answers",
        "inputSchema": {"type": "object", "properties": {}},
    },
]


def call(name, arguments):
    if name == "echo":
        return "echo: " + arguments.get("text", "")
    asked = arguments["input"]
    if "yes" in asked["command"]:
        return json.dumps({"behavior": "allow", "updatedInput": asked})
    return json.dumps({"behavior": "deny", "message": "the tool says no"})


def answer(method, params):
    if method == "initialize":
        info = {"name": "echo", "version": "1"}
        version = params.get("protocolVersion", "2025-11-25")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = call(params["name"], params.get("arguments", {}))
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    while any(word.startswith("gate=") and not os.path.exists(word[5:]) for word in sys.argv):
        time.sleep(0.01)
    if message.get("params", {}).get("name") == "hang":
        continue
    found = answer(message["method"], message.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if found is None:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    else:
        reply["result"] = found
    print(json.dumps(reply), flush=True)
