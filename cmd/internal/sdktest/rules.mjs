// Checks the rules of the providers that their types do not tell, and writes beside each
// array a program that has the types checked.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const dir = process.argv[2];
let failed = 0;

function check(file, ok, what) {
  if (!ok) {
    failed++;
    console.error(`${file}: ${what}`);
  }
}

function openai(file, messages) {
  const seen = new Set();
  for (let i = 0; i < messages.length; i++) {
    const m = messages[i];
    check(file, m.role !== "tool", `message ${i} is a result without its call`);
    check(file, m.role !== "assistant" || m.content || m.refusal || m.tool_calls, `message ${i} says nothing`);
    if (m.role === "system") {
      check(file, !seen.has(m.content), `message ${i} is a system message that came before`);
      seen.add(m.content);
    }
    if (!m.tool_calls) continue;
    const want = m.tool_calls.map((c) => c.id);
    const got = [];
    while (messages[i + 1]?.role === "tool") got.push(messages[++i].tool_call_id);
    check(file, new Set(want).size === want.length && want.every((id) => id?.length <= 40), `ids ${want}`);
    check(file, want.slice().sort().join() === got.sort().join(), `calls ${want}, results ${got}`);
    for (const c of m.tool_calls) check(file, /^[\w-]{1,64}$/.test((c.function ?? c.custom).name), "name of a tool");
  }
}

function anthropic(file, messages) {
  const ids = new Set();
  check(file, messages.length === 0 || messages[0].role === "user", "the user does not begin");
  messages.forEach((m, i) => {
    const at = `message ${i}`;
    check(file, i === 0 || m.role !== messages[i - 1].role, `${at} is of the same side as the one before`);
    check(file, m.content.length > 0, `${at} is empty`);
    const kinds = m.content.map((b) => b.type);
    const rest = kinds.findIndex((k) => k !== "tool_result");
    check(file, rest < 0 || !kinds.slice(rest).includes("tool_result"), `${at} has results behind other blocks`);
    check(file, kinds.at(-1) !== "thinking", `${at} ends with reasoning`);
    for (const b of m.content) {
      if (b.type === "text") check(file, b.text.trim() !== "" && (m.role === "user" || b.text.trimEnd() === b.text), `${at} has a blank text`);
      if (b.type !== "tool_use") continue;
      check(file, /^[\w-]+$/.test(b.id) && !ids.has(b.id), `${at}: id ${b.id}`);
      check(file, /^[\w-]{1,128}$/.test(b.name), `${at}: name ${b.name}`);
      check(file, b.input !== null && typeof b.input === "object" && !Array.isArray(b.input), `${at}: input is no object`);
      ids.add(b.id);
    }
    const calls = (of, type, key) => (of?.role === (type === "tool_use" ? "assistant" : "user") ? of.content : [])
      .filter((b) => b.type === type).map((b) => b[key]).sort().join();
    if (m.role === "assistant")
      check(file, calls(m, "tool_use", "id") === calls(messages[i + 1], "tool_result", "tool_use_id"), `${at}: calls and results differ`);
    else if (i === 0) check(file, !kinds.includes("tool_result"), "a result begins");
  });
}

const head = {
  openai: 'import OpenAI from "openai";\ntype Message = OpenAI.Chat.ChatCompletionMessageParam;\n',
  anthropic: 'import Anthropic from "@anthropic-ai/sdk";\ntype Message = Anthropic.MessageParam;\n',
  system: 'import Anthropic from "@anthropic-ai/sdk";\ntype Message = Anthropic.TextBlockParam;\n',
};

let messages = 0;
const files = readdirSync(dir).filter((f) => f.endsWith(".json"));
for (const file of files) {
  const array = JSON.parse(readFileSync(join(dir, file), "utf8"));
  const format = file.split("-")[0];
  if (format === "openai") openai(file, array);
  if (format === "anthropic") anthropic(file, array);
  messages += array.length;
  // A declaration for each message: the compiler looks closest at literals, and one of
  // megabytes is too much for it.
  const lines = array.map((m, i) => `const m${i}: Message = ${JSON.stringify(m)};`);
  const names = array.map((_, i) => `m${i}`).join(", ");
  writeFileSync(join(dir, file.replace(/json$/, "ts")), head[format] + lines.join("\n") + `\nexport const messages: Message[] = [${names}];\n`);
}
check(dir, files.length > 0 && messages > 0, "there is nothing to check");
if (failed) process.exit(1);
console.log(`${messages} messages keep the rules`);
