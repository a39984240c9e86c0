// A smoke set for the TypeScript SDK.
import { spawn } from "node:child_process";
import { mkdtempSync, existsSync, writeFileSync, rmSync, readFileSync, realpathSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import assert from "node:assert/strict";

const { query } = await import(process.argv[2]);
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
