//go:build unix && extra

package agentstest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// An entry is a line of tape log --json.
type entry struct {
	ID      int
	Kind    string
	Tape    string
	Payload struct {
		Name    string
		Role    string
		Content json.RawMessage
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		}
		Results []json.RawMessage
	}
	Meta struct {
		CallIDs []string `json:"call_ids"`
	}
}

// tape runs tape in the project, with a workspace, or with the project's own if workspace is "". It
// returns what tape prints.
func (b *box) tape(workspace string, arg ...string) string {
	b.t.Helper()
	if workspace != "" {
		arg = append([]string{"--workspace", workspace}, arg...)
	}
	return b.command(filepath.Join(b.bin, "tape"), arg...)
}

// imported imports the present transcripts into a new workspace, and returns its folder.
func (b *box) imported() string {
	b.t.Helper()
	ws := filepath.Join(b.t.TempDir(), "imported")
	b.tape("", "init", ws)
	b.tape(ws, append([]string{"import"}, b.agent.files(b)...)...)
	return ws
}

// tapes returns the names of a workspace's tapes that hold a session.
func (b *box) tapes(workspace string) []string {
	b.t.Helper()
	var out []string
	for line := range strings.Lines(b.tape(workspace, "tapes", "--json")) {
		var row struct {
			Tape  string
			Agent *string
		}
		b.must(json.Unmarshal([]byte(line), &row))
		if row.Agent != nil {
			out = append(out, row.Tape)
		}
	}
	slices.Sort(out)
	return out
}

// log returns the entries of one tape, as lines of JSON.
func (b *box) log(workspace, tape string) string {
	b.t.Helper()
	return b.tape(workspace, "--tape", tape, "log", "--all", "--json")
}

// dump returns everything that must be equal in two workspaces with the same sessions.
func (b *box) dump(workspace string) string {
	b.t.Helper()
	var out strings.Builder
	for _, tape := range b.tapes(workspace) {
		out.WriteString("tape " + tape + "\n" + b.log(workspace, tape))
		out.WriteString(b.undated(b.tape(workspace, "--tape", tape, "anchors", "--json")))
		out.WriteString(b.undated(b.tape(workspace, "--tape", tape, "forks", "--closed", "--json")))
	}
	return out.String()
}

// undated leaves out the ids of commits, which depend on the date at which they were made.
func (b *box) undated(lines string) string {
	b.t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(lines) {
		row := map[string]any{}
		b.must(json.Unmarshal([]byte(line), &row))
		for key := range row {
			if key == "commit" || key == "into" || strings.HasSuffix(key, "_commit") {
				delete(row, key)
			}
		}
		b.must(json.NewEncoder(&out).Encode(row))
	}
	return out.String()
}

// entries returns the entries of all tapes and their forks, each once.
func (b *box) entries(workspace string) []entry {
	b.t.Helper()
	var out []entry
	for line := range strings.Lines(b.tape(workspace, "log", "--all", "--all-tapes", "--json")) {
		var e entry
		b.must(json.Unmarshal([]byte(line), &e))
		out = append(out, e)
	}
	return out
}
