package agent

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/text/jsonl"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The system prompt has AGENTS.md and the skills, and is recorded when it changes. $NAME adds a
// skill's text.
func TestSkills(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(project, "AGENTS.md"), "Use tabs.\n")
	skill := func(root, name, text string) {
		write(t, filepath.Join(root, ".agents", "skills", name, "SKILL.md"), text)
	}
	skill(project, "deploy", "---\nname: deploy\ndescription: >\n  How to\n  deploy\nmetadata:\n  a: b\n---\n\nRun ${SKILL_DIR}/go.sh\n")
	skill(home, "deploy", "---\nname: deploy\ndescription: another\n---\nno\n")
	skill(home, "write-up", "---\r\nname: \"write-up\"\r\ndescription: 'Write: it up'\r\n---\r\nplainly\r\n")
	skill(home, "noname", "no front matter")
	skill(home, "other", "---\nname: different\ndescription: x\n---\n")
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream { return says("ok") }, func(o *Options) { o.Project, o.Home = project, home })
	h.mustTurn("", "please $deploy. It costs $HOME and $100; $deploy")
	r := h.model.requests[0]
	for _, want := range []string{"\n\nUse tabs.\n\n", "<available_skills>\n- deploy: How to deploy\n- write-up: Write: it up\n</available_skills>"} {
		if !strings.Contains(r.System, want) {
			t.Errorf("the system prompt lacks %q:\n%s", want, r.System)
		}
	}
	text := jsonl.GetString(h.entries()[2].Payload, "content")
	if want := "Run " + filepath.Join(project, ".agents/skills/deploy") + "/go.sh\n</skill>"; strings.Count(text, want) != 1 || strings.Count(text, "<skill ") != 1 {
		t.Errorf("the prompt does not have the skill once: %s", text)
	}
	h.mustTurn("", "again")
	write(t, filepath.Join(project, "AGENTS.md"), "Use spaces.\n")
	h.mustTurn("", "again")
	var systems []string
	for _, e := range h.entries() {
		if e.Kind == "system" {
			systems = append(systems, jsonl.GetString(e.Payload, "content"))
		}
	}
	if len(systems) != 2 || !strings.Contains(systems[1], "Use spaces.") {
		t.Errorf("%d system prompts, want 2, the second with the new AGENTS.md: %q", len(systems), systems)
	}
}

func TestBuildPrompt(t *testing.T) {
	h := newHost(t, newStore(t), nil, nil)
	build := func(m hooks.Envelope) hooks.Prompt {
		t.Helper()
		p, err := h.rt.BuildPrompt(t.Context(), m, "s", hooks.State{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const date, end = "<message_context>\ndate: 2026-11-20T09:30:00Z\n", "</message_context>\nhi"
	for _, c := range []struct {
		context any
		want    string
	}{{nil, date + end}, {map[string]any{"sender": "ada", "_own": 1, "chat": 2}, date + "chat=2|sender=ada\n" + end}, {"from </message_context>\nada", date + "from < /message_context> ada\n" + end}} {
		if p := build(hooks.Envelope{hooks.KeyContent: "hi", hooks.KeyContext: c.context}); p.Text != c.want {
			t.Errorf("context %v: the prompt is %q, want %q", c.context, p.Text, c.want)
		}
	}
	media := []hooks.Media{{Type: "image/png", Data: []byte("p")}, {Type: "audio/mpeg", Data: []byte("a")}, {Type: "text/plain; charset=utf-8", Name: "n.txt", Data: []byte("note")},
		{Type: "application/pdf", Name: "d.pdf", Data: []byte("d")}, {Type: "video/mp4", Data: []byte("v")}}
	raw, err := json.Marshal(media)
	if err != nil {
		t.Fatal(err)
	}
	var kept any // the files of a message that waited on disk
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	want := `[{"text":"<message_context>\ndate: 2026-11-20T09:30:00Z\n</message_context>\nsee","type":"text"},{"image_url":{"url":"data:image/png;base64,cA=="},"type":"image_url"},` +
		`{"input_audio":{"data":"YQ==","format":"mp3"},"type":"input_audio"},{"text":"<file name=\"n.txt\">\nnote\n</file>","type":"text"},` +
		`{"file":{"file_data":"data:application/pdf;base64,ZA==","filename":"d.pdf"},"type":"file"},{"type":"video_url","video_url":{"url":"data:video/mp4;base64,dg=="}}]`
	for _, m := range []any{media, kept} {
		var got strings.Builder
		enc := json.NewEncoder(&got)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(build(hooks.Envelope{hooks.KeyContent: "see", hooks.KeyMedia: m}).Parts); err != nil || strings.TrimSpace(got.String()) != want {
			t.Errorf("the parts are\n%s, %v\nwant\n%s", got.String(), err, want)
		}
	}
	if p := build(hooks.Envelope{hooks.KeyContent: " ,git status\n"}); p.Text != ",git status" {
		t.Errorf("a command becomes %q", p.Text)
	}
}

func TestTapeName(t *testing.T) {
	seen := map[string]string{}
	for _, session := range []string{"telegram:12", "a/b", "a-b", "a/b/c", "", "ä"} {
		name := TapeName(session)
		if strings.Contains(name, "/") || name == "" || seen[name] != "" {
			t.Errorf("session %q has the tape %q, which has a slash or is also that of session %q", session, name, seen[name])
		}
		seen[name] = session
	}
}

// AGENTS.md files of the root and of the folders down to the current one are used, in that order;
// those of other folders, or outside, are not.
func TestAgentsFiles(t *testing.T) {
	project, outside := t.TempDir(), filepath.Join(t.TempDir(), "AGENTS.md")
	for name, text := range map[string]string{
		filepath.Join(project, "AGENTS.md"): "root", filepath.Join(project, "a", "b", "AGENTS.md"): "deep",
		filepath.Join(project, "other", "AGENTS.md"): "other", outside: "secret",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(project, "a", "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{"": "root", "a": "root", "a/b": "root deep", "..": "root"} {
		if folder != "" {
			folder = filepath.Join(project, filepath.FromSlash(folder))
		}
		if got := strings.Join(agentsFiles(project, folder), " "); got != want {
			t.Errorf("in %s: %q, wanted %q", folder, got, want)
		}
	}
}
