package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// A session with the real tools: it writes a file, runs it, searches its own tape, ends a phase and
// continues in the new context.
func TestWork(t *testing.T) {
	project := t.TempDir()
	write(t, filepath.Join(project, ".agents", "skills", "sum", "SKILL.md"), "---\nname: sum\ndescription: adds\n---\nUse expr.\n")
	set := tools.New(tools.Options{
		Dir:  project,
		Tape: func(ctx context.Context, _ hooks.ToolContext) (*repo.Tape, error) { return TapeOf(ctx) },
		Skills: func(context.Context, hooks.ToolContext) ([]tools.Skill, error) {
			return Skills(project, ""), nil
		},
	})
	t.Cleanup(set.Close)
	calls := []string{
		`w1 fs_write {"path":"sum.sh","content":"expr 40 + 2\n"}`,
		`b1 bash {"cmd":"sh sum.sh"}`,
		`s1 tape_search {"query":"expr"}`,
		`k1 skill {"name":"sum"}`,
		`h1 tape_handoff {"name":"checked","summary":"sum.sh prints forty-two"}`,
	}
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n <= len(calls) {
			return says("", calls[n-1])
		}
		return says("It prints 42.")
	}, func(o *Options) { o.Project, o.Tools = project, set })
	if r := h.mustTurn("m", "add 40 and 2"); r.Output != "It prints 42." {
		t.Errorf("the output is %q, want \"It prints 42.\"", r.Output)
	}
	if raw, err := os.ReadFile(filepath.Join(project, "sum.sh")); err != nil || string(raw) != "expr 40 + 2\n" {
		t.Errorf("sum.sh has %q, %v", raw, err)
	}
	var all []string
	for _, e := range h.entries() {
		if e.Kind == repo.KindToolResult && strings.Contains(string(e.Meta), "is_error") {
			t.Errorf("a call failed: %s", e.Raw)
		}
		all = append(all, brief(e))
	}
	tape := strings.Join(all, "\n")
	for _, want := range []string{"result 42", "result [tape.search]: ", "Use expr.", "anchor checked", "result anchor added: checked"} {
		if !strings.Contains(tape, want) {
			t.Errorf("the tape lacks %q:\n%s", want, tape)
		}
	}
	last := sent(h.model.requests[len(calls)])
	for _, want := range []string{"forty-two", "add 40 and 2"} {
		if !strings.Contains(last, want) {
			t.Errorf("the new context lacks %q:\n%s", want, last)
		}
	}
	if strings.Contains(last, "Use expr.") {
		t.Errorf("the new context has the old phase:\n%s", last)
	}
	for command, want := range map[string]string{
		",tape.info": "name: s\n", ",tape.search expr": "[tape.search]: ", ",cat sum.sh | tr a-z A-Z": "EXPR 40 + 2", ",skill name=sum": "Use expr.",
		",tape.handoff name=phase-1 summary='done'": "anchor added: phase-1", ",fs.read path=sum.sh": "expr 40", ",sh -c 'exit 3'": "error: ",
		",tape.search limit=x y": "error: ",
	} {
		if r := h.mustTurn(command, command); !strings.Contains(r.Output, want) {
			t.Errorf("%s answers %q, without %q", command, r.Output, want)
		}
	}
	// The anchor of a command has the same meta as the anchors of the loop.
	found := false
	for _, e := range h.entries() {
		found = found || e.Kind == repo.KindAnchor && strings.Contains(string(e.Raw), `"phase-1"`) && strings.Contains(string(e.Raw), `"summary":"done"`) && jsonl.GetString(e.Meta, "message_id") != ""
	}
	if !found {
		t.Error("no anchor phase-1 has the summary and a message_id")
	}
}
