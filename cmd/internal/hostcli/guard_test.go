//go:build unix

package hostcli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/cmd/internal/agentstest/model"
	"tape/repo"
)

// guardPlugin returns a guard written in shell. answer is the shell command that answers before_tool_call, which has to
// come within timeout, in milliseconds.
func guardPlugin(answer, timeout string) string {
	return `while read -r line; do
	id=${line#*\"id\":} id=${id%%,*}
	case $line in
	*initialize*) echo '{"jsonrpc":"2.0","id":1,"result":{"hooks":[{"name":"before_tool_call","timeout_ms":` + timeout + `}]}}' ;;
	*hook/before_tool_call*) ` + answer + ` ;;
	*shutdown*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
	esac
done`
}

// TestGuardThatFails runs the program with a model that calls a tool, and a required guard that fails in several
// ways. The tool never runs, and the reason is shown and recorded.
func TestGuardThatFails(t *testing.T) {
	server := model.New(model.Script{"delete it": {{Calls: []model.Call{tool("bash", `{"cmd":"touch ran"}`)}}, {Text: "I tried."}}}, call)
	defer server.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ answer, why string }{
		"error":       {`echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":1,"message":"no idea"}}'`, "no idea"},
		"time-out":    {`:`, "no answer within 100ms"},
		"crash":       {`exit 3`, "exit status 3"},
		"not started": {``, "it is off: "},
		"wrong word":  {`echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"value":{"action":"DENY"}}}'`, `the action is "DENY"; the hook takes {"action": "proceed"`},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := "60000"
			if name == "time-out" {
				timeout = "100"
			}
			dir := t.TempDir()
			ws := filepath.Join(dir, "ws")
			t.Setenv("TAPE_HOME", filepath.Join(dir, "home"))
			store, _, err := repo.Init(t.Context(), ws, nil)
			setting := fmt.Sprintf(`[{"name":"guard","command":["sh",%q],"required":true}]`, filepath.Join(dir, "guard.sh"))
			if c.answer == "" {
				setting = fmt.Sprintf(`[{"name":"guard","command":[%q],"required":true}]`, filepath.Join(dir, "gone"))
			}
			if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "guard.sh"), []byte(guardPlugin(c.answer, timeout)), 0o600), store.SetSetting("plugins", setting)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, "run", "delete it", "--session-id", "s")
			var told bytes.Buffer
			cmd.Dir, cmd.Stderr = dir, &told
			cmd.Env = append(os.Environ(), envProgram+"=1", "TAPE_WORKSPACE="+ws, "HOME="+dir,
				"TAPE_MODEL=openai:scripted", "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY=sk-test-0123456789abcdef")
			out, err := cmd.Output()
			if answered := err == nil && strings.Contains(string(out), "I tried."); answered == (c.answer == "") { // if the guard does not start, the model is not asked either
				t.Errorf("the model answered: %v, %v\n%s%s", answered, err, out, told.String())
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("the tool has run")
			}
			if text := told.String(); !strings.Contains(text, `denied: the required plugin "guard" failed: `) || !strings.Contains(text, c.why) {
				t.Errorf("the person is told %s", text)
			}
			tape, err := store.Tape(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for e, err := range tape.Entries(t.Context(), repo.Query{Kinds: []string{repo.KindToolResult, repo.KindError}}) {
				found = found || err == nil && strings.Contains(string(e.JSON()), `denied: the required plugin \"guard\" failed`)
			}
			if !found {
				t.Error("the tape does not say why")
			}
		})
	}
}
