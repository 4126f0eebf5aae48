package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/cline"
)

// TestScripts: each event gets a script that calls tape and always succeeds. Uninstalling removes all of them.
func TestScripts(t *testing.T) {
	f := &cline.Format
	w := settings(t, f, "")
	program := filepath.Join(w.Home, "it's tape")
	write(t, program, "#!/bin/sh\ncat >\"$0.told\"\necho \"$@\"\nexit 1\n", 0o700)
	list, err := Install(f, w, Options{Program: program, MCP: true, Push: true})
	apply(t, w, list, err)
	for _, event := range f.Events {
		file := filepath.Join(w.Home, ".cline", "hooks", event.Name)
		cmd := exec.Command(file)
		cmd.Stdin, cmd.Env = strings.NewReader("what happened"), []string{"PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 || content(t, program+".told") != "what happened" {
			t.Errorf("%s: %v, prints %q, passes on %q; want no error and no output", event.Name, err, out, content(t, program+".told"))
		}
		if text := content(t, file); !strings.Contains(text, "hook cline --push") {
			t.Errorf("%s is\n%s", event.Name, text)
		}
	}
	servers := filepath.Join(w.Home, ".cline", "data", "settings", "cline_mcp_settings.json")
	if text := content(t, servers); !strings.Contains(text, `"mcpServers"`) || !strings.Contains(text, `"mcp"`) {
		t.Errorf("the MCP servers are\n%s", text)
	}
	if again, err := Install(f, w, Options{Program: program, MCP: true, Push: true}); err != nil || len(again) > 0 {
		t.Errorf("installing twice changes %d files more: %v", len(again), err)
	}
	st := Inspect(f, w, w.Home, program)
	if !st.Installed || len(st.Missing) > 0 || st.Program != program || st.ProgramMissing || st.OtherProgram || !st.MCP || st.Problem != "" {
		t.Errorf("the state is %+v, want all installed", st)
	}
	if err := os.Remove(filepath.Join(w.Home, ".cline", "hooks", "TaskError")); err != nil {
		t.Fatal(err)
	}
	if st := Inspect(f, w, w.Home, program); !st.Installed || !slices.Equal(st.Missing, []string{"TaskError"}) {
		t.Errorf("without the script TaskError the state is %+v", st)
	}
	list, err = Uninstall(f, w, filepath.Join(w.Home, "receipts"))
	apply(t, w, list, err)
	if left, _ := filepath.Glob(filepath.Join(w.Home, ".cline", "hooks", "*")); len(left) > 0 || content(t, servers) != "" {
		t.Errorf("after uninstalling there are %v and %q", left, content(t, servers))
	}
	if st := Inspect(f, w, w.Home, program); st.Installed || st.Problem != "" {
		t.Errorf("after uninstalling the state is %+v", st)
	}
}

// TestScriptsOfOthers: if tape did not write a script, it is not changed, and no other script is installed.
func TestScriptsOfOthers(t *testing.T) {
	f := &cline.Format
	w := settings(t, f, "")
	theirs := filepath.Join(w.Home, ".cline", "hooks", "TaskComplete")
	write(t, theirs, "#!/bin/sh\necho mine\n", 0o700)
	list, err := Install(f, w, Options{Program: "/opt/tape"})
	if err == nil || !strings.Contains(err.Error(), theirs+" is left as it is") || !strings.Contains(err.Error(), "--project") {
		t.Errorf("it gives %d changes, %v", len(list), err)
	}
	list, err = Uninstall(f, w, filepath.Join(w.Home, "receipts"))
	if err != nil || len(list) > 0 || content(t, theirs) != "#!/bin/sh\necho mine\n" {
		t.Errorf("uninstalling changes %d files: %v", len(list), err)
	}
}
