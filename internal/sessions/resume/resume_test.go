package resume

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/repo"
)

const own = "11111111-1111-4111-8111-111111111111"

// home makes a home directory in which Claude Code has one session of a project in it, and in which every
// agent is installed.
func home(t *testing.T) (user record.Where, project string) {
	t.Helper()
	dir := t.TempDir()
	project = filepath.Join(dir, "shop")
	folder, bin := filepath.Join(dir, ".claude", "projects", "x"), filepath.Join(dir, "bin")
	for _, d := range []string{project, folder, bin} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	line := fmt.Sprintf(`{"parentUuid":null,"cwd":%q,"sessionId":%q,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","timestamp":"2026-03-01T10:00:00Z"}`, project, own)
	if err := os.WriteFile(filepath.Join(folder, own+".jsonl"), []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range importer.All() {
		if f.Resume != nil {
			if err := os.WriteFile(filepath.Join(bin, f.Resume.Program), []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", bin)
	return record.Where{Home: dir, Getenv: func(string) string { return "" }}, project
}

// tape makes a tape as an import or a pull could bring it.
func tape(t *testing.T, name, agent, owner, session string) *repo.Tape {
	t.Helper()
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tp, err := s.CreateTape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(v any) json.RawMessage {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	state := map[string]string{"owner": owner, "cwd": "/tmp", "sessionId": session, "command": "evil"}
	if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: "session/start", State: quoted(state)}); err != nil {
		t.Fatal(err)
	}
	d := repo.Message("user", "hi")
	d.Meta = quoted(map[string]any{"source": map[string]string{"format": agent}})
	if _, err := tp.Append(t.Context(), nil, d); err != nil {
		t.Fatal(err)
	}
	return tp
}

// The program, its options and the directory never come from a tape, which may be a stranger's.
func TestTapeChoosesNothing(t *testing.T) {
	for _, c := range []struct {
		name, agent, session string
		want                 string // the command, or a part of why there is none
	}{
		{"renamed", "claude-code", own, "claude --resume " + own},
		{own, "claude-code", "", "claude --resume " + own},
		{own, "claude-code", "--dangerously-skip-permissions", "claude --resume " + own},
		{"x", "claude-code", "--dangerously-skip-permissions", "not known"},
		{"x", "claude-code", own + " --help", "not known"},
		{"x", "claude-code", "../x/" + own, "not known"},
		{"x", "claude-code", "22222222-2222-4222-8222-222222222222", "does not have it on this machine"},
		{own, "codex", own, "does not have it on this machine"},
		{own, "evil", own, "no agent is known"},
		{own, "../claude-code", own, "no agent is known"},
		{"ses_1", "opencode", "", "does not have it on this machine"},
		{"--help", "opencode", "ses_1 --help", "not known"},
	} {
		t.Run(c.name+" "+c.agent+" "+c.session, func(t *testing.T) {
			user, project := home(t)
			p, err := Of(t.Context(), tape(t, c.name, c.agent, "human", c.session), user, "/")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.Command, " "); got != "" && (got != c.want || p.Dir != project || filepath.Dir(p.Program) != filepath.Join(user.Home, "bin")) {
				t.Errorf("the command is %q in %s by %s, not %q in %s", got, p.Dir, p.Program, c.want, project)
			} else if got == "" && !strings.Contains(p.Obstacle, c.want) {
				t.Errorf("there is no command because %q, not %q", p.Obstacle, c.want)
			}
		})
	}
}

// A subagent's tape has the id of the session that started it, which must not be resumed instead.
func TestSubagent(t *testing.T) {
	user, _ := home(t)
	p, err := Of(t.Context(), tape(t, "x", "claude-code", "agent", own), user, "/")
	if err != nil || p.Command != nil || p.Obstacle == "" {
		t.Errorf("a subagent is resumed by %+v, %v", p, err)
	}
}

// Crush keeps the sessions of each project in a database of its own, so it is started in that project.
func TestCrushInItsProject(t *testing.T) {
	user, project := home(t)
	for path, content := range map[string]string{
		filepath.Join(user.Home, ".local", "share", "crush", "projects.json"): fmt.Sprintf(`{"projects":[{"path":%q}]}`, project),
		filepath.Join(project, ".crush", "crush.db"):                          "SQLite format 3 " + own,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Of(t.Context(), tape(t, own, "crush", "human", ""), user, "/")
	if got := strings.Join(p.Command, " "); err != nil || got != "crush --session "+own || p.Dir != project {
		t.Errorf("the command is %q in %s, %v; want crush --session in %s", got, p.Dir, err, project)
	}
}

// Every format whose sessions can be resumed says how, and accepts only ids that are safe as arguments.
func TestFormats(t *testing.T) {
	var programs []string
	for _, f := range importer.All() {
		r := f.Resume
		if r == nil {
			continue
		}
		programs = append(programs, r.Program)
		if len(r.Args) == 0 || r.Entry == "" || r.Member == "" || (r.IsFile == nil) == (r.Has == nil) {
			t.Errorf("Resume of %s lacks a field, or has both IsFile and Has", f.Name)
		}
		for _, id := range []string{"", "-", "--help", "-x", "latest", "1", "a b", "x\x00", own + "\n", own + "-", "ses_", "ses_-x", "ses_../x", "ses_" + strings.Repeat("x", 1000)} {
			if r.IsID(id) {
				t.Errorf("%s accepts the unsafe id %q", f.Name, id)
			}
		}
		if !slices.ContainsFunc([]string{own, "ses_dfd8d52f0ffetm7uUBEmlaKx4g", "1767225600000_ab12c", "20260101_12"}, r.IsID) {
			t.Errorf("%s accepts none of the agents' ids", f.Name)
		}
	}
	if want := []string{"claude", "cline", "codex", "copilot", "crush", "gemini", "goose", "opencode", "pi", "qwen"}; !slices.Equal(programs, want) {
		t.Errorf("the programs are %q, not %q", programs, want)
	}
}
