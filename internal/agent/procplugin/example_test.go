package procplugin

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/testkit"
)

// example starts a plugin of docs/examples in dir, as its documentation says.
func example(t *testing.T, dir, name string, command ...string) *hooks.Plugin {
	t.Helper()
	configs := []Config{{Name: name, Command: command}}
	var log testkit.Buffer
	all := StartAll(t.Context(), configs, Options{Project: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() {
		CloseAll(all)
		if log.String() != "" {
			t.Errorf("the example logs: %s", log.String())
		}
	})
	if s := all[0].Status(); !strings.HasPrefix(s, "running") {
		t.Fatalf("status %q, wanted running", s)
	}
	return all[0].Plugin()
}

func needs(t *testing.T, program string) {
	t.Helper()
	if out, err := exec.Command(program, "--version").CombinedOutput(); err != nil {
		t.Skipf("%s does not run: %v %s", program, err, out)
	}
}

// examples returns the path of an example, which must be short.
func examples(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "docs", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err == nil && strings.Count(string(raw), "\n") >= 60 {
		t.Errorf("%s has %d lines, wanted fewer than 60", name, strings.Count(string(raw), "\n"))
	}
	return path
}

func TestPythonExample(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	file, dir := examples(t, "git_status.py"), t.TempDir()
	q := example(t, dir, "git-status", "python3", file)
	if s, err := q.SystemPrompt(t.Context(), hooks.Prompt{}, hooks.State{}); s != nil || err != nil {
		t.Errorf("%v, %v: there is no repository", s, err)
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.WriteFile(filepath.Join(dir, "neü.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := q.SystemPrompt(t.Context(), hooks.Prompt{}, hooks.State{})
	if err != nil || !strings.Contains(*s, "No commits yet on main\n?? ") {
		t.Errorf("%v, %v", s, err)
	}
}

func TestJavaScriptExample(t *testing.T) {
	t.Parallel()
	needs(t, "node")
	q := example(t, "", "world-time", "node", examples(t, "world_time.mjs"))
	tool := q.Tools[0]
	got, err := tool.Run(t.Context(), hooks.ToolContext{}, json.RawMessage(`{"zone":"Asia/Tokyo","at":"2026-03-01T20:00:00Z"}`))
	if err != nil || !strings.Contains(got, "Monday") || !strings.Contains(got, "2 March 2026") || !strings.Contains(got, "05:00:00") {
		t.Errorf("%s: %q, %v", tool.Name, got, err)
	}
	if got, err := tool.Run(t.Context(), hooks.ToolContext{}, json.RawMessage(`{"zone":"Nowhere"}`)); err == nil || !strings.Contains(err.Error(), "Nowhere") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestGoExample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	guard := filepath.Join(dir, "guard")
	if out, err := exec.Command("go", "build", "-o", guard, examples(t, "guard/main.go")).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	q := example(t, dir, "guard", guard)
	for command, denied := range map[string]bool{
		"rm -rf build": true, "rm -f -R build": true, "cd x && git push origin main --force": true, "git reset --hard HEAD~1": true, "sudo ls": true,
		"rm --recursive --force x": true, "rm x -rf": true, "/bin/rm -v x -r": true, "rm x \\\n -rf": true, "bash -c 'rm -fr x'": true, "git -C d reset --hard": true,
		"git -c a.b=c reset -q --hard": true, "git reset HEAD --hard": true, "git --git-dir=x clean -xdf": true, "git clean --force": true, "git push origin +main": true,
		"git push -uf origin": true, "git push --force-with-lease": true, "git push origin --delete x": true, "dd if=x bs=1M of=/dev/sda": true,
		"rm x; ls -r": false, "rm x\nls -R": false, "docker run --rm -r x": false, "git push --follow-tags --dry-run": false, "git reset --soft HEAD~1": false, "git clean -n": false,
		"rm build/x": false, "git push origin main": false, "grep -r form .": false, "": false,
	} {
		d, err := q.BeforeToolCall(t.Context(), hooks.ToolCall{Tool: "bash", Arguments: json.RawMessage(encoded(map[string]any{"cmd": command}))}, nil)
		if err != nil || (d != nil && d.Action == hooks.Deny) != denied {
			t.Errorf("%q: %+v, %v", command, d, err)
		}
	}
	if d, err := q.BeforeToolCall(t.Context(), hooks.ToolCall{Tool: "fs.read", Arguments: json.RawMessage(`{"path":"rm -rf x"}`)}, nil); d != nil || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}
