// Written by tape; tape record uninstall opencode removes it.
//
// It hands each session over to tape when the session is idle, and when opencode ends. When opencode starts, it
// also hands over the sessions of the last day, because their last hand-over may be missing. Whatever goes wrong here
// is caught: a plugin that throws would break the agent's turn.
import { spawn } from "node:child_process"

const settings = {/* settings */}
const tape = (program, payload) =>
  new Promise((done) => {
    const child = spawn(program, settings.args, { stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => done(false))
    child.on("close", () => done(true))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })

export const Tape = async ({ client, directory }) => {
  const started = Date.now()
  const changed = new Set()
  const last = new Map() // the last hand-over of each session, which the next one waits for

  const handOver = async (id, event) => {
    try {
      const [info, messages] = await Promise.all([
        client.session.get({ path: { id } }),
        client.session.messages({ path: { id } }),
      ])
      if (!info.data || !messages.data) return
      const payload = {
        session_id: id,
        hook_event_name: event,
        cwd: info.data.directory ?? directory,
        transcript: { info: info.data, messages: messages.data },
      }
      ;(await tape(settings.program, payload)) || (await tape("tape", payload))
    } catch {}
  }
  const inTurn = (id, event) => {
    const next = (last.get(id) ?? Promise.resolve()).then(() => handOver(id, event))
    last.set(id, next)
    return next
  }

  const catchUp = async () => {
    try {
      const list = await client.session.list()
      const dayAgo = Date.now() - 24 * 60 * 60 * 1000
      const recent = (list.data ?? []).filter((s) => s.time.updated > dayAgo && s.time.updated < started)
      await Promise.all(recent.slice(0, 20).map((s) => inTurn(s.id, "Stop")))
    } catch {}
  }
  let begun // the server answers from its first event on

  return {
    event: async ({ event }) => {
      try {
        begun ??= catchUp()
        const id = event.properties?.sessionID
        if (!id) return
        if (event.type === "session.idle" || event.type === "session.compacted" || event.type === "session.error") {
          changed.delete(id)
          await inTurn(id, "Stop")
        } else if (event.type === "message.updated") {
          changed.add(id)
        }
      } catch {}
    },
    dispose: async () => {
      await begun
      await Promise.all([...last.values(), ...[...changed].map((id) => inTurn(id, "Stop"))])
      await Promise.all([...last.keys()].map((id) => inTurn(id, "SessionEnd")))
    },
  }
}
