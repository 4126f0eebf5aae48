// Written by tape; tape record uninstall pi removes it.
//
// It tells tape when a session may have grown. pi waits for its extensions, so only at the end of a session does
// this one wait for tape. Whatever goes wrong here is caught: pi shows the errors of extensions, and some break a tool.
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

const tell = async (event, ctx) => {
  try {
    const file = ctx.sessionManager.getSessionFile()
    if (!file) return // with --no-session
    const payload = {
      session_id: ctx.sessionManager.getSessionId(),
      hook_event_name: event,
      cwd: ctx.cwd,
      transcript_path: file,
    }
    ;(await tape(settings.program, payload)) || (await tape("tape", payload))
  } catch {}
}

export default function (pi) {
  const on = (name, event) =>
    pi.on(name, (_, ctx) => {
      tell(event, ctx)
    })
  on("session_start", "SessionStart")
  on("turn_end", "TurnEnd") // of one request to the model
  on("agent_end", "Stop")
  on("agent_settled", "Stop") // after retries; older versions do not have it
  on("session_compact", "Compact")
  on("session_tree", "Tree")
  pi.on("session_shutdown", (_, ctx) => tell("SessionEnd", ctx))
}
