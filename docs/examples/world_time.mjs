// A plugin for tape: a tool that tells the time in any time zone, which a model cannot know.
//
//     tape config plugins '[{"name": "world-time", "command": ["node", "world_time.mjs"]}]'
import { createInterface } from "node:readline";

const tools = {
  "time.in": {
    description: "Date, weekday and time in a time zone, now or at a given moment.",
    schema: {
      type: "object",
      properties: {
        zone: { type: "string", description: "an IANA name such as Europe/Berlin" },
        at: { type: "string", description: "ISO 8601 with offset, such as 2026-03-01T12:00:00Z; now if missing" },
      },
      required: ["zone"],
    },
    run({ zone, at }) {
      const moment = at ? new Date(at) : new Date();
      const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "full", timeStyle: "long" });
      return format.format(moment);
    },
  },
};

function answer(method, params) {
  switch (method) {
    case "initialize":
      return {
        name: "world-time",
        version: "1",
        hooks: [],
        tools: Object.entries(tools).map(([name, { description, schema }]) => ({ name, description, schema })),
      };
    case "tool/call":
      return { value: tools[params.name].run(params.arguments) };
    case "shutdown":
      return {};
  }
  throw new Error(`unknown method ${method}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "exit") break;
  if (id === undefined) continue; // a notification, such as $/cancel
  const reply = { jsonrpc: "2.0", id };
  try {
    reply.result = answer(method, params);
  } catch (error) {
    reply.error = { code: -32000, message: error.message }; // the model is told
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
