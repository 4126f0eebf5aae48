package kimi_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/kimi"
)

// TestSkills: a command that loads the text of a skill is a prompt, as it was typed, and so is what was typed beside
// commands; what the model loads, and notices of tasks, are none, and an undo does not count them (isUndoAnchor and
// promptWithSkills in packages/agent-core-v2 of MoonshotAI/kimi-code, #1741 and #2934).
func TestSkills(t *testing.T) {
	prompt := func(origin, parts string) string {
		return `{"type":"turn.prompt","agentId":"main","input":[` + parts + `],"origin":` + origin + `,"time":1784950605093}` + "\n" +
			`{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[` + parts + `],"toolCalls":[],"origin":` + origin + `},"time":1784950605094}`
	}
	loaded := `{"type":"text","text":"User activated the skill \"deploy\". Follow the loaded skill instructions.\n\n<skill-loaded name=\"deploy\">\nDo it\n</skill-loaded>"}`
	items, _ := imp.Items(t, kimi.Format.Name, "wire.jsonl", formattest.Lines(`{"type":"metadata","protocol_version":"1.5","created_at":1784950509920}`,
		prompt(`{"kind":"skill_activation","skillName":"deploy","skillArgs":"staging","trigger":"user-slash"}`, loaded),
		prompt(`{"kind":"plugin_command","pluginId":"ci","commandName":"run","trigger":"user-slash"}`, `{"type":"text","text":"Run it"}`),
		prompt(`{"kind":"skill_activation","skillName":"deploy","trigger":"model-tool"}`, loaded),
		prompt(`{"kind":"user","skillActivations":[{"skillName":"deploy"}]}`, loaded+`,{"type":"text","text":"but not on Friday"}`),
		prompt(`{"kind":"user"}`, `{"type":"text","text":"wrong"}`),
		prompt(`{"kind":"task","taskId":"t"}`, `{"type":"text","text":"a task has ended"}`),
		`{"type":"context.undo","agentId":"main","count":1,"time":1784950605099}`), formattest.Seen{})
	if typed := strings.Join(formattest.Typed(items), ", "); typed != "/deploy staging, /ci:run, but not on Friday, wrong" || strings.Count(formattest.Show(items), "hidden") != 2 {
		t.Errorf("typed %q in\n%s", typed, formattest.Show(items))
	}
}

// TestSeeded: a subagent that begins with the history of the agent that started it has no copies of its messages and calls
// (MoonshotAI/kimi-code#3007).
func TestSeeded(t *testing.T) {
	said := func(role, text, more string) string {
		return `{"type":"context.append_message","agentId":"a","message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}]` + more + `},"time":1784950605000}`
	}
	lines := formattest.Lines(`{"type":"metadata","protocol_version":"1.5","created_at":1784950509920}`,
		said("user", "ask", `,"origin":{"kind":"user"}`), said("assistant", "so", `,"toolCalls":[{"type":"function","id":"c","name":"Bash","arguments":"{}"}]`),
		said("tool", "done", `,"toolCallId":"c"`),
		`{"type":"turn.prompt","agentId":"a","input":[{"type":"text","text":"count"}],"origin":{"kind":"system_trigger","name":"subagent"},"time":1784950605100}`,
		said("user", "count", `,"origin":{"kind":"system_trigger","name":"subagent"}`), said("assistant", "two", ""))
	for agent, want := range map[string][]string{
		"agent-0": {`message {"role":"user","content":"count"}`, `message {"role":"assistant","content":"two"}`},
		"main": {`message {"role":"user","content":"ask"}`, `message {"role":"assistant","content":"so"}`,
			`tool_call {"calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`, `tool_result {"results":["done"]}`,
			`message {"role":"user","content":"count"}`, `message {"role":"assistant","content":"two"}`},
	} {
		items, _ := imp.Items(t, kimi.Format.Name, filepath.Join(t.TempDir(), "s", "agents", agent, "wire.jsonl"), lines, formattest.Seen{})
		formattest.Want(t, items, want...)
	}
}

// TestNoPrompt: what is in a subagent's file without a prompt is not left out.
func TestNoPrompt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s", "agents", "agent-0", "wire.jsonl")
	items, _ := imp.Items(t, kimi.Format.Name, path, formattest.Lines(`{"type":"metadata","protocol_version":"1.5","created_at":1784950509920}`,
		`{"type":"context.append_message","message":{"role":"assistant","content":[{"type":"text","text":"so"}]},"time":1784950605000}`), formattest.Seen{})
	formattest.Want(t, items, `message {"role":"assistant","content":"so"}`)
}

// TestSummaries: the summary of a compaction may be a text, a message, or only what the model gets.
func TestSummaries(t *testing.T) {
	for record, want := range map[string]string{
		`"summary":"all","contextSummary":"so: all","compactedCount":1`:                               `{"summary":"all","contextSummary":"so: all","compactedCount":1}`,
		`"contextSummary":"so: all","compactedCount":1`:                                               `{"summary":"so: all","contextSummary":"so: all","compactedCount":1}`,
		`"summary":{"role":"user","content":[{"type":"text","text":"all"}],"toolCalls":[]},"count":1`: `{"summary":"all","count":1}`,
	} {
		items, _ := imp.Items(t, kimi.Format.Name, "wire.jsonl", formattest.Lines(`{"type":"metadata","protocol_version":"1.5","created_at":1784950509920}`,
			`{"type":"context.apply_compaction","agentId":"main",`+record+`,"time":1784950605000}`), formattest.Seen{})
		formattest.Want(t, items, `anchor {"name":"compaction","state":`+want+`}`)
	}
}
