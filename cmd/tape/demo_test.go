package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemo runs what make demo runs, with the program built from this tree.
func TestDemo(t *testing.T) {
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
	for _, want := range []string{"compaction", "anchor/main/003_fixed", "handoff: diagnosis", "git fsck: ok"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo does not show %q:\n%s", want, out)
		}
	}
}
