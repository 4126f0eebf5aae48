package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemo runs the script of make demo, with the program built from this tree.
func TestDemo(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	program, err := exec.LookPath("tape") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	demo := exec.Command(sh, "testdata/demo/demo.sh", program)
	demo.Env = append(os.Environ(), "TAPE_DEMO_DIR="+filepath.Join(dir, "demo"), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if lines := strings.Count(string(out), "\n"); lines > 50 {
		t.Errorf("the demo prints %d lines, want at most 50, which fit on a screen", lines)
	}
	for _, want := range []string{"entries into tape", "Each pooled connection", "anchor/teasho", "merge", "session.md", "make demo-clean"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out)
		}
	}
}
