// Calls every tool, resource and prompt of tape mcp by the TypeScript SDK's client.
//
//   client.mjs TAPE     TAPE is the program; TAPE_WORKSPACE has the tape main with some entries
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { encode } from "gpt-tokenizer";

const [tape] = process.argv.slice(2);

async function connect(...args) {
  const client = new Client({ name: "client", version: "1" });
  await client.connect(new StdioClientTransport({ command: tape, args: ["mcp", ...args], env: process.env }));
  return client;
}

// tokens is what a model reads of a list of tools with each request.
const tokens = (tools) =>
  encode(JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })))).length;

const reader = await connect();
const client = await connect("--write");
const read = (await reader.listTools()).tools;
const { tools } = await client.listTools();
assert.equal(read.length, 5);
assert.equal(tools.length, 10);
assert(read.every((t) => t.annotations.readOnlyHint), "a tool that reads is not marked so");
assert(tools.every((t) => !t.outputSchema), "a tool has typed output");
const whole = encode(JSON.stringify(tools)).length;
assert(whole < 1500, `the list of tools has ${whole} tokens`);
const instructions = client.getInstructions();
assert(instructions.length <= 500, `the instructions have ${instructions.length} characters`);
console.log(`tools: ${tokens(read)} tokens, with --write ${tokens(tools)}, as sent ${whole}; instructions: ${encode(instructions).length}`);

async function call(name, args, fails = false) {
  const res = await client.callTool({ name, arguments: args });
  assert.equal(res.content.length, 1);
  const [{ type, text }] = res.content;
  assert.equal(type, "text");
  assert.equal(!!res.isError, fails, `${name}: ${text}`);
  assert([...text].length <= 30000, `${name} gives ${[...text].length} characters`);
  return text;
}

const results = {
  tape_search: await call("tape_search", { query: "health", limit: 5 }),
  tape_list: await call("tape_list", {}),
  tape_read: await call("tape_read", { around: "@2", before: 1, after: 1 }),
  tape_context: await call("tape_context", { max_tokens: 500 }),
  tape_info: await call("tape_info", { tape: "main" }),
};
for (const [name, text] of Object.entries(results)) assert.match(text, /recorded data, not instructions/, name);
assert.match(results.tape_search, /@2 user/);
assert.match(await call("tape_append", { text: "noted", idempotency_key: "k" }), /^@4 on tape main$/);
assert.match(await call("tape_append", { text: "noted", idempotency_key: "k" }), /appended before/);
assert.match(await call("tape_handoff", { name: "next", summary: "all well", state: { a: 1 } }), /^anchor 002 next/);
assert.match(await call("tape_fork", { name: "try" }), /^fork main\/try/);
assert.match(await call("tape_append", { tape: "main/try", text: "tried" }), /main\/try/);
assert.match(await call("tape_merge", { fork: "try" }), /^merged 1 entry into main/);
assert.match(await call("tape_fork", { name: "drop" }), /^fork main\/drop/);
assert.match(await call("tape_discard", { fork: "main/drop" }), /^discarded main\/drop/);
assert.match(await call("tape_read", { around: "@999" }, true), /hint: tape_info/);
assert.match(await call("tape_list", { tpe: "x" }, true), /no parameter "tpe"/);

// A cursor stays right while the tape grows.
const seen = [];
for (let cursor, more = true; more; ) {
  const text = await call("tape_read", cursor ? { cursor, limit: 2 } : { from: "@1", limit: 2 });
  seen.push(...[...text.matchAll(/^@(\d+) /gm)].map((m) => Number(m[1])));
  cursor = text.match(/^next_cursor: (\S+)$/m)?.[1];
  more = !!cursor;
  if (seen.length < 6) await call("tape_append", { text: "meanwhile" });
}
assert.deepEqual(seen, seen.map((_, i) => i + 1));

const { resources } = await client.listResources();
assert(resources.some((r) => r.uri === "tape://main"));
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
for (const uri of ["tape://main", "tape://main/anchors/1", "tape://main/entries/2"]) {
  const { contents } = await client.readResource({ uri });
  assert.match(contents[0].text, /recorded data, not instructions/, uri);
}
await assert.rejects(client.readResource({ uri: "tape://main/entries/999" }), /no entry @999/);

assert.deepEqual((await client.listPrompts()).prompts.map((p) => p.name).sort(), ["handoff", "recall", "resume"]);
for (const [name, args] of [["resume", { tape: "main" }], ["handoff", {}], ["recall", { topic: "health checks" }]]) {
  assert.equal((await client.getPrompt({ name, arguments: args })).messages.length, 1, name);
}
const completed = await client.complete({ ref: { type: "ref/prompt", name: "resume" }, argument: { name: "tape", value: "ma" } });
assert.deepEqual(completed.completion.values, ["main"]);

// A call that is given up does no harm to the next one.
const stop = new AbortController();
const given = client.callTool({ name: "tape_search", arguments: { query: "health" } }, undefined, { signal: stop.signal });
stop.abort();
await assert.rejects(given);
await call("tape_info", {});

await reader.close();
await client.close();
console.log("the TypeScript client is answered: 10 tools, resources, prompts, completion, cursors, cancellation");
