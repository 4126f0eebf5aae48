package activity

import (
	"strings"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// readDetail reads what agents say about a call after its result: what an edit really changed, whether a command
// failed, and from when to when the call ran, which is after a person has allowed it.
func (n *Note) readDetail(data []byte) {
	d := detail{id: jsonl.GetString(data, "call_id")}
	for key, v := range jsonl.Fields(data) {
		switch key {
		case "structuredPatch": // Claude Code
			for hunk := range jsonl.Elements(v) {
				for line := range jsonl.Elements(jsonl.Get(hunk, "lines")) {
					d.known = true
					switch {
					case strings.HasPrefix(string(line), `"+`):
						d.added++
					case strings.HasPrefix(string(line), `"-`):
						d.removed++
					}
				}
			}
		case "resultDisplay": // Gemini
			if stat := jsonl.Get(v, "diffStat"); stat != nil {
				d.known = true
				d.added, d.removed = number(jsonl.Get(stat, "model_added_lines")), number(jsonl.Get(stat, "model_removed_lines"))
			}
		case "metadata": // opencode
			d.failed = exitIn(v) > 0
			if diff := jsonl.Get(v, "filediff"); diff != nil {
				d.known = true
				d.added, d.removed = number(jsonl.Get(diff, "additions")), number(jsonl.Get(diff, "deletions"))
			}
		case "started_at_ms": // Codex
			d.began = number(v) * 1000
		case "completed_at_ms":
			d.ended = number(v) * 1000
		}
	}
	if d.known || d.failed || d.began > 0 && d.ended >= d.began {
		n.details = []detail{d}
	}
}

// DetailFailed reports whether the detail of a call, as JSON, says that its command exited with an error. Only
// opencode's details do. For other agents, see Outcome.
func DetailFailed(detail []byte) bool { return exitIn(jsonl.Get(detail, "metadata")) > 0 }

// exitIn is the exit code that opencode records.
func exitIn(metadata []byte) int64 { return number(jsonl.Get(metadata, "exit")) }

// readToolRun reads what a program of Codex's model did: run commands, and change files.
func (n *Note) readToolRun(e layout.Entry, data []byte) {
	switch jsonl.GetString(data, "item") {
	case "CommandExecution":
		command, _ := commandOf(data)
		dir := strings.TrimPrefix(jsonl.GetString(data, "cwd"), "file://")
		for _, t := range shellTouches(command) {
			t.Path = inDir(dir, t.Path)
			n.touches = append(n.touches, t)
		}
	case "FileChange":
		if jsonl.GetString(data, "status") != "completed" {
			return
		}
		for path, change := range jsonl.Fields(jsonl.Get(data, "changes")) {
			t := Touch{Path: path, Writes: 1}
			if to := jsonl.GetString(change, "move_path"); to != "" { // the changed lines count for the new name
				n.touches = append(n.touches, t)
				t.Path = to
			}
			switch content := jsonl.GetString(change, "content"); jsonl.GetString(change, "type") {
			case "add":
				t.Added = int64(len(lines(content)))
			case "delete":
				t.Removed = int64(len(lines(content)))
			default:
				t.Added, t.Removed = countDiff(jsonl.GetString(change, "unified_diff"))
			}
			if n.touches = append(n.touches, t); len(n.touches) >= maxTouches {
				break
			}
		}
	}
	for i := range n.touches {
		n.touches[i].Entry = e.ID
	}
}
