// A smoke set for the TypeScript SDK.
import { spawn } from "node:child_process";
import { mkdtempSync, existsSync, writeFileSync, rmSync, readFileSync, realpathSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import assert from "node:assert/strict";

const { createSdkMcpServer, query, tool } = await import(process.argv[2]);
const version = JSON.parse(readFileSync(join(dirname(process.argv[2]), "package.json"))).version;
const OSTLER = process.env.OSTLER_TEST_PROGRAM;
const cases = [];
const add = (name, run) => cases.push({ name, run });

class World {
  constructor() {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "ostler-ts-")));
    this.cwd = join(this.root, "work");
    this.home = join(this.root, "home");
    mkdirSync(this.cwd);
    mkdirSync(this.home);
  }
  async model(...steps) {
    const script = join(this.root, "script.json");
    writeFileSync(script, JSON.stringify({ steps }));
    this.server = spawn(OSTLER, ["model-server", "--quiet", "--script", script], {
      env: { HOME: this.home, PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.url = await new Promise((resolve) => {
      let text = "";
      this.server.stdout.on("data", (data) => {
        text += data;
        if (text.includes("\n")) resolve(text.trim());
      });
    });
  }
  options(more = {}) {
    const env = {
      ...process.env, HOME: this.home, CLAUDE_CONFIG_DIR: join(this.home, ".claude"),
      ANTHROPIC_BASE_URL: this.url, ANTHROPIC_API_KEY: "key", CLAUDE_CODE_MAX_RETRIES: "1", OSTLER_MEMORY: "off",
    };
    return { pathToClaudeCodeExecutable: OSTLER, cwd: this.cwd, model: "scripted", env, ...more };
  }
  async ask(prompt, more) {
    const messages = [];
    try {
      for await (const message of query({ prompt, options: this.options(more) })) messages.push(message);
    } catch (error) {
      messages.error = error;
    }
    return messages;
  }
  close() {
    this.server?.kill();
    rmSync(this.root, { recursive: true, force: true });
  }
}

const say = (text, more = {}) => ({ say: text, ...more });
const call = (tool, input, more = {}) => ({ calls: [{ tool, input }], ...more });
const result = (messages) => messages.filter((m) => m.type === "result").at(-1);
const texts = (messages) =>
  messages.filter((m) => m.type === "assistant").flatMap((m) => m.message.content).filter((b) => b.type === "text").map((b) => b.text);
const toolResults = (messages) =>
  messages.filter((m) => m.type === "user").flatMap((m) => m.message.content).filter((b) => b.type === "tool_result");

add("a prompt gets its answer", async (w) => {
  await w.model(call("Bash", { command: "echo hi" }), say("done"));
  const messages = await w.ask("go");
  assert.deepEqual(texts(messages), ["done"]);
  assert.equal(messages[0].subtype, "init");
  assert.equal(result(messages).num_turns, 2);
  assert.equal(toolResults(messages)[0].content, "hi");
});

add("options in the equals form have an effect", async (w) => {
  await w.model(call("Bash", { command: "touch made" }), call("Bash", { command: "touch made" }), say("never"));
  const messages = await w.ask("go", { allowedTools: ["Bash(touch:*)"], maxTurns: 1, permissionMode: "default", settingSources: [] });
  assert.equal(result(messages).subtype, "error_max_turns");
  assert.ok(existsSync(join(w.cwd, "made")));
});

add("a system prompt comes with initialize", async (w) => {
  await w.model(say("ok", { expect: { contains: ["You are a pirate."] } }));
  assert.deepEqual(texts(await w.ask("go", { systemPrompt: "You are a pirate." })), ["ok"]);
});

add("an appended system prompt comes with initialize", async (w) => {
  await w.model(say("ok", { expect: { contains: ["Speak softly."], has: ["/system/1"] } }));
  const systemPrompt = { type: "preset", preset: "claude_code", append: "Speak softly." };
  assert.deepEqual(texts(await w.ask("go", { systemPrompt })), ["ok"]);
});

async function* once(text, open) {
  yield { type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, session_id: "" };
  await open;
}

add("the permission callback allows and changes", async (w) => {
  await w.model(call("Bash", { command: "touch wrong" }), say("done"));
  const seen = [];
  const canUseTool = async (tool, input, context) => {
    seen.push([tool, input, context]);
    return { behavior: "allow", updatedInput: { command: "touch right" } };
  };
  let end;
  const open = new Promise((resolve) => (end = resolve));
  for await (const m of query({ prompt: once("go", open), options: w.options({ canUseTool }) })) if (m.type === "result") end();
  assert.equal(seen[0][0], "Bash");
  assert.ok(existsSync(join(w.cwd, "right")));
});

add("the permission callback denies", async (w) => {
  await w.model(call("Bash", { command: "touch made" }), say("sorry", { expect: { tool_result: "no way" } }));
  let end;
  const open = new Promise((resolve) => (end = resolve));
  const messages = [];
  const canUseTool = async () => ({ behavior: "deny", message: "no way" });
  for await (const m of query({ prompt: once("go", open), options: w.options({ canUseTool }) })) {
    messages.push(m);
    if (m.type === "result") end();
  }
  assert.deepEqual(texts(messages), ["sorry"]);
});

add("hooks are called", async (w) => {
  await w.model(call("Bash", { command: "echo hi" }), say("ok", { expect: { tool_result: "policy" } }));
  const seen = [];
  const hook = async (input) => {
    seen.push(input);
    return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "policy" } };
  };
  const messages = await w.ask("go", { hooks: { PreToolUse: [{ matcher: "Bash", hooks: [hook] }] } });
  assert.deepEqual(texts(messages), ["ok"]);
  assert.equal(seen[0].tool_name, "Bash");
});

add("agents come with initialize", async (w) => {
  await w.model(
    call("Agent", { description: "d", prompt: "look", subagent_type: "scout" }),
    { when: { contains: ["You scout."] }, say: "seen" },
    say("done", { expect: { tool_result: "seen" } }),
  );
  const agents = { scout: { description: "Scouts", prompt: "You scout." } };
  const messages = await w.ask("go", { agents });
  assert.deepEqual(texts(messages), ["done"]);
  assert.ok(messages.some((m) => m.subtype === "task_started"));
});

add("partial messages are streamed", async (w) => {
  await w.model(say("one two three"));
  const messages = await w.ask("go", { includePartialMessages: true });
  const deltas = messages.filter((m) => m.type === "stream_event" && m.event.type === "content_block_delta");
  assert.equal(deltas.map((m) => m.event.delta.text).join(""), "one two three");
});

add("a session is resumed and forked", async (w) => {
  await w.model(say("one"), say("two", { expect: { contains: ["first"] } }), say("three", { expect: { contains: ["first"] } }));
  const first = result(await w.ask("first"));
  const second = result(await w.ask("second", { resume: first.session_id }));
  assert.equal(second.session_id, first.session_id);
  const third = result(await w.ask("third", { resume: first.session_id, forkSession: true }));
  assert.notEqual(third.session_id, first.session_id);
});

add("structured output is returned", async (w) => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  await w.model(call("StructuredOutput", { n: 3 }));
  const found = result(await w.ask("go", { outputFormat: { type: "json_schema", schema } }));
  assert.deepEqual(found.structured_output, { n: 3 });
});

add("an interrupt, a mode and a model while it runs", async (w) => {
  await w.model(call("Bash", { command: "sleep 50" }), { when: { model: "claude-haiku-4-5" }, say: "other" });
  let next;
  const more = new Promise((resolve) => (next = resolve));
  let end;
  const over = new Promise((resolve) => (end = resolve));
  async function* prompts() {
    yield { type: "user", message: { role: "user", content: "go" }, parent_tool_use_id: null, session_id: "" };
    await more;
    yield { type: "user", message: { role: "user", content: "again" }, parent_tool_use_id: null, session_id: "" };
    await over;
  }
  const running = query({ prompt: prompts(), options: w.options({ allowedTools: ["Bash"] }) });
  const results = [];
  let asked = false;
  for await (const m of running) {
    if (m.type === "assistant" && !asked) {
      asked = true;
      await running.interrupt();
    }
    if (m.type === "result") {
      results.push(m);
      if (results.length === 1) {
        await running.setModel("claude-haiku-4-5");
        await running.setPermissionMode("plan");
        next();
      } else end();
    }
  }
  assert.equal(results[0].subtype, "error_during_execution");
  assert.equal(results[1].result, "other");
});

add("what it supports is told", async (w) => {
  await w.model(say("ok"));
  let end;
  const over = new Promise((resolve) => (end = resolve));
  const running = query({ prompt: once("go", over), options: w.options() });
  const commands = await running.supportedCommands();
  assert.ok(commands.some((command) => command.name === "compact"));
  assert.ok((await running.supportedModels()).length > 0);
  for await (const m of running) if (m.type === "result") end();
});

/** Runs `use` with a session whose first turn is over. */
async function afterOneTurn(w, more, use) {
  let end;
  const over = new Promise((resolve) => (end = resolve));
  const running = query({ prompt: once("go", over), options: w.options(more) });
  for await (const m of running) {
    if (m.type !== "result") continue;
    try {
      await use(running);
    } finally {
      end();
    }
  }
}

add("every part of a session is told", async (w) => {
  await w.model(say("ok"));
  await afterOneTurn(w, {}, async (q) => {
    const all = await q.initializationResult();
    assert.deepEqual((await q.supportedAgents()).map((a) => a.name), ["Explore", "Plan", "general-purpose"]);
    assert.ok(all.agents.every((a) => typeof a.description === "string" && a.model !== null));
    assert.ok(all.commands.every((c) => typeof c.argumentHint === "string"));
    assert.ok((await q.accountInfo()).apiKeySource);
    assert.deepEqual(all.available_output_styles, ["default"]);
    const usage = await q.getContextUsage();
    assert.equal(usage.isAutoCompactEnabled, true);
    assert.ok(usage.categories.every((c) => ["used", "free"].includes(c.kind)));
    const spent = await q.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET();
    assert.ok(spent.session.total_cost_usd > 0 && spent.rate_limits_available === false);
    assert.deepEqual(await q.mcpServerStatus(), []);
    const parts = await q.reloadPlugins();
    assert.ok(parts.commands.length && parts.error_count === 0);
    assert.ok(Array.isArray((await q.reloadSkills()).skills));
    assert.deepEqual((await q.reloadOutputStyles()).available_output_styles, ["default"]);
    assert.deepEqual((await q.reinitialize()).commands, all.commands);
    assert.equal(await q.readFile("nothing-here"), null);
  });
});

add("settings change while it runs", async (w) => {
  await w.model(say("ok"));
  await afterOneTurn(w, {}, async (q) => {
    await q.setPermissionMode("acceptEdits");
    await q.setModel("claude-haiku-4-5");
    await q.setModel();
    await q.setMaxThinkingTokens(2000);
    await q.setMaxThinkingTokens(null, "omitted");
    await q.applyFlagSettings({ permissions: { deny: ["WebFetch"] }, outputStyle: "x", effortLevel: null });
    await q.seedReadState(join(w.cwd, "a.txt"), 1);
    await q.stopTask("gone");
    assert.equal(await q.backgroundTasks(), true);
    assert.equal(await q.backgroundTasks("nobody"), false);
    assert.deepEqual((await q.interrupt()).still_queued, []);
    await assert.rejects(q.setPermissionMode("yolo"), /yolo/);
    await assert.rejects(q.updateSettings("userSettings", { effortLevel: "low" }), /update_settings/);
  });
});

const server = (name) =>
  createSdkMcpServer({ name, tools: [tool("hello", "Says hello", {}, async () => ({ content: [{ type: "text", text: "hi" }] }))] });

add("servers are set, switched and replaced", async (w) => {
  await w.model(say("ok"));
  await afterOneTurn(w, { mcpServers: { own: server("own") } }, async (q) => {
    const [status] = await q.mcpServerStatus();
    assert.deepEqual([status.name, status.status, status.source], ["own", "connected", "sdk"]);
    await q.toggleMcpServer("own", false);
    assert.equal((await q.mcpServerStatus())[0].status, "disabled");
    await q.toggleMcpServer("own", true);
    await q.reconnectMcpServer("own");
    assert.equal((await q.mcpServerStatus())[0].status, "connected");
    const broken = { type: "stdio", command: "/nonexistent/server" };
    const set = await q.setMcpServers({ other: server("other"), broken });
    assert.deepEqual([set.added, set.removed, Object.keys(set.errors)], [["other", "broken"], ["own"], ["broken"]]);
    await assert.rejects(q.reconnectMcpServer("broken"), /nonexistent/);
    await assert.rejects(q.reconnectMcpServer("nobody"), /nobody/);
    const states = (await q.mcpServerStatus()).map((s) => [s.name, s.status]);
    assert.deepEqual(states, [["other", "connected"], ["broken", "failed"]]);
    assert.deepEqual(await q.setMcpPermissionModeOverride("other", "default"), {});
    assert.deepEqual((await q.setMcpServers({})).removed, ["other", "broken"]);
  });
});

add("tools of the program are limited in every mode", async (w) => {
  await w.model(call("mcp__own__hello", {}), say("denied", { expect: { tool_error: true } }), call("mcp__own__hello", {}), say("asked", { expect: { tool_result: "hi" } }));
  const limited = (policy) => ({ ...server("own"), tools: [{ name: "hello", permission_policy: policy }] });
  for (const [policy, said] of [["always_deny", "denied"], ["always_ask", "asked"]]) {
    const seen = [];
    const canUseTool = async (name, input) => {
      seen.push(name);
      return { behavior: "allow", updatedInput: input };
    };
    let end;
    const open = new Promise((resolve) => (end = resolve));
    const options = w.options({ canUseTool, mcpServers: { own: limited(policy) }, allowedTools: ["mcp__own"] });
    const messages = [];
    for await (const m of query({ prompt: once("go", open), options })) {
      messages.push(m);
      if (m.type === "result") end();
    }
    assert.deepEqual([texts(messages), seen.length], [[said], policy === "always_ask" ? 1 : 0]);
  }
});

add("files are rewound, and counted before", async (w) => {
  await w.model(call("Write", { file_path: "a.txt", content: "one\ntwo\n" }), say("ok"));
  let uuid;
  const more = { permissionMode: "acceptEdits", enableFileCheckpointing: true, extraArgs: { "replay-user-messages": null } };
  let end;
  const over = new Promise((resolve) => (end = resolve));
  const running = query({ prompt: once("go", over), options: w.options(more) });
  for await (const m of running) {
    if (m.type === "user" && m.isReplay) uuid = m.uuid;
    if (m.type !== "result") continue;
    const file = join(w.cwd, "a.txt");
    assert.deepEqual(await running.rewindFiles(uuid, { dryRun: true }), { canRewind: true, filesChanged: [file], insertions: 0, deletions: 2 });
    assert.ok(existsSync(file));
    assert.equal((await running.rewindFiles("unknown", { dryRun: true })).canRewind, false);
    assert.equal((await running.rewindFiles(uuid)).canRewind, true);
    assert.ok(!existsSync(file));
    await assert.rejects(running.rewindFiles("unknown"), /unknown/);
    end();
  }
});

add("the callback is told where a tool comes from", async (w) => {
  await w.model(call("mcp__own__hello", {}), call("Bash", { command: "touch made" }), say("done"));
  const seen = [];
  const canUseTool = async (name, input, context) => {
    seen.push(context);
    return { behavior: "allow", updatedInput: input };
  };
  let end;
  const open = new Promise((resolve) => (end = resolve));
  const options = w.options({ canUseTool, mcpServers: { own: server("own") } });
  for await (const m of query({ prompt: once("go", open), options })) if (m.type === "result") end();
  assert.deepEqual(seen.map((c) => c.mcpServer), [{ name: "own", source: "sdk" }, undefined]);
  assert.ok(seen.every((c) => c.title && c.displayName && c.toolUseID && c.requestId));
});

add("the session works as an agent", async (w) => {
  await w.model(say("ok", { expect: { contains: ["You scout."] } }));
  const agents = { scout: { description: "Scouts", prompt: "You scout.", tools: ["Read"] } };
  const messages = await w.ask("go", { agents, agent: "scout" });
  assert.deepEqual([texts(messages), messages[0].tools], [["ok"], ["Read"]]);
});

let failed = 0;
const began = Date.now();
const queue = [...cases];
const worker = async () => {
  for (let next; (next = queue.shift()); ) {
    const world = new World();
    let timer;
    try {
      const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("it hangs")), 60_000)));
      await Promise.race([next.run(world), late]);
    } catch (error) {
      failed++;
      console.log(`FAILED ${next.name}\n${error.stack}`);
    } finally {
      clearTimeout(timer);
      world.close();
    }
  }
};
await Promise.all([1, 2, 3, 4].map(worker));
const seconds = Math.round((Date.now() - began) / 1000);
console.log(`${cases.length - failed} of ${cases.length} cases passed under @anthropic-ai/claude-agent-sdk ${version} in ${seconds} s`);
process.exit(failed ? 1 : 0);
