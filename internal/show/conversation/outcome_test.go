package conversation

import (
	"slices"
	"testing"
	"time"

	"tape/repo"
)

// TestOutcome: a call that a person rejected has not failed, and took no time. If a person allowed it, the time
// until then does not count if the agent says how long the call ran. A command that exited with an
// error has failed, although Codex, Gemini and opencode do not mark its result.
func TestOutcome(t *testing.T) {
	const rejection = `"The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse make"`
	for name, c := range map[string]struct {
		result, meta, detail string
		want                 string
		took                 time.Duration
	}{
		"Claude Code":          {rejection, `"is_error":["1"],`, ``, "rejected: use make", 0},
		"Codex":                {`"Wall time: 3.5 seconds\naborted by user"`, ``, ``, "rejected", 0},
		"Gemini CLI":           {`{"error":"[Operation Cancelled] Reason: User denied execution."}`, `"is_error":["1"],`, ``, "rejected", 0},
		"opencode":             {`"The user rejected permission to use this specific tool call."`, `"is_error":["1"],`, ``, "rejected", 0},
		"a failure":            {`"no such file"`, `"is_error":["1"],`, ``, "failed", time.Second},
		"Codex's exit code":    {`"Chunk ID: 7\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno such file"`, ``, ``, "failed", time.Second},
		"no error of Codex":    {`"Chunk ID: 7\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"`, ``, ``, "ok", time.Second},
		"Gemini's exit code":   {`"Command: ls x\nOutput: no such file\nExit Code: 2"`, ``, ``, "failed", time.Second},
		"opencode's exit code": {`"no such file"`, ``, `{"call_id":"1","metadata":{"exit":2}}`, "failed", time.Second},
		"a success":            {`"a log: The user doesn't want to proceed"`, ``, ``, "ok", time.Second},
		"allowed":              {`"done"`, ``, `{"call_id":"1","started_at_ms":5000,"completed_at_ms":5020}`, "ok", 20 * time.Millisecond},
		"timed":                {`"done"`, ``, `{"call_id":"1","durationMs":7}`, "ok", 7 * time.Millisecond},
		"another":              {`"done"`, ``, `{"call_id":"2","durationMs":7}`, "ok", time.Second},
	} {
		var tp tape
		tp.add(repo.KindAnchor, `{"name":"session/start"}`, `{}`)
		tp.calls("1")
		tp.add(repo.KindToolResult, `{"results":[`+c.result+`]}`, `{`+c.meta+`"call_ids":["1"]}`)
		if c.detail != "" {
			tp.add(repo.KindEvent, `{"name":"progress","data":{}}`, `{}`)
			tp.add(repo.KindEvent, `{"name":"tool.detail","data":`+c.detail+`}`, `{}`)
		}
		tp.add(repo.KindMessage, `{"role":"assistant","content":"so"}`, `{}`)
		seen := false
		err := Each(t.Context(), all(tp.entries), func(it *Item) error {
			for _, call := range it.Calls {
				seen = true
				got := call.Outcome()
				if reason := call.Results[0].Reason(); reason != "" {
					got += ": " + reason
				}
				if got != c.want || call.Took() != c.took {
					t.Errorf("%s: %s in %v, want %s in %v", name, got, call.Took(), c.want, c.took)
				}
			}
			return nil
		})
		if err != nil || !seen {
			t.Errorf("%s: there is no call, or an error: %v", name, err)
		}
	}
}

// TestWhoSpeaks: what a program wrote in the user's name is not what the user said.
func TestWhoSpeaks(t *testing.T) {
	const picture = `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]`
	for content, want := range map[string]string{
		`"why?"`:                          "user",
		`"[Request interrupted by user]"`: "program",
		`"/review the branch"`:            "user",
		`"/model opus"`:                   "command",
		`"<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>staging</command-args>"`: "user",
		`"<command-name>/exit</command-name>\n<command-args></command-args>"`:                                                     "command",
		`"<bash-input>make</bash-input>"`:                                                                  "command",
		`"<local-command-stdout>Bye!</local-command-stdout>"`:                                              "program",
		`"Base directory for this skill: /x\n\n# Skill"`:                                                   "program",
		`"Stop hook feedback:\nlint"`:                                                                      "program",
		`[{"type":"text","text":"<ide_opened_file>a.go</ide_opened_file>"},{"type":"text","text":"why?"}]`: "user",
		picture: "user",
	} {
		var tp tape
		tp.add(repo.KindMessage, `{"role":"user","content":`+content+`}`, `{}`)
		it := Of(tp.entries[0])
		if it.Who != want || (it.Speaker() == User) != (want == "user") {
			t.Errorf("%s is by %s, a %s; want %s", content, it.Who, it.Speaker(), want)
		}
		if len(it.Parts) == 0 || slices.ContainsFunc(it.Parts, func(p ContentPart) bool { return p.Text == "" }) {
			t.Errorf("%s lost its text", content)
		}
	}
	var tp tape
	tp.add(repo.KindMessage, `{"role":"user","content":"Greet the person"}`, `{"source":{"format":"claude-code","extra":{"isMeta":true}}}`)
	if it := Of(tp.entries[0]); it.Who != "program" {
		t.Errorf("the text of a skill is by %s, not by the program", it.Who)
	}
}
