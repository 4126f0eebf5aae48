package kimi

import (
	"strconv"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

// undone are lines of Kimi Code that the person took back: from a prompt up to the line that says so.
type undone struct{ from, to int }

// undos finds the lines that were taken back. context.undo goes back behind the last prompts, but not behind a compaction
// (undo in packages/agent-core/src/agent/context of MoonshotAI/kimi-code).
type undos struct {
	prompts []int // the lines at which they begin
	told    bool  // the last one is only told, and not in the context yet
	gone    []undone
}

func (u *undos) see(line int, raw []byte) {
	switch jsonl.GetString(raw, "type") {
	case "turn.prompt":
		if isPersons(jsonl.Get(raw, "origin")) {
			u.prompts, u.told = append(u.prompts, line), true
		}
	case "context.append_message":
		if m := jsonl.Get(raw, "message"); jsonl.GetString(m, "role") != "user" || !isPersons(jsonl.Get(m, "origin")) {
			return
		}
		if !u.told {
			u.prompts = append(u.prompts, line)
		}
		u.told = false
	case "context.clear", "context.apply_compaction":
		u.prompts, u.told = nil, false
	case "context.undo":
		n, err := strconv.Atoi(string(record.Or(jsonl.Get(raw, "count"), "0")))
		if n = min(n, len(u.prompts)); err != nil || n <= 0 {
			return
		}
		at := len(u.prompts) - n
		u.gone = append(u.gone, undone{u.prompts[at], line})
		u.prompts, u.told = u.prompts[:at], false
	}
}

// isPersons reports whether context.undo counts a prompt of this origin: it does not go back to notices of tasks and the
// like (isUndoAnchor in packages/agent-core-v2/src/agent/contextMemory of MoonshotAI/kimi-code).
func isPersons(origin []byte) bool {
	kind := jsonl.GetString(origin, "kind")
	return kind == "" || kind == "user" || about.Activation(origin) != ""
}
