package display

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestProgram: a setting may be a word, words, a quoted path with spaces, or a pipe; its arguments stay as they are.
func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	dir := filepath.Join(t.TempDir(), "my editor")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "show")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$#: $*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"echo": "a  b $c\n", " echo -n ": "a  b $c", "'" + path + "'": "1: a  b $c\n", "'" + path + "' -w": "2: -w a  b $c\n", "A=1; echo | cat; echo $A": "\n1 a  b $c\n",
	} {
		if out, err := Program(t.Context(), setting, "a  b $c").CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: %q, %v; want %q", setting, out, err, want)
		}
	}
	if out, err := Program(t.Context(), "'"+path+"' | cat").CombinedOutput(); err != nil || string(out) != "0: \n" {
		t.Errorf("without arguments: %q, %v", out, err)
	}
	if cmd := Program(t.Context(), " \t"); cmd != nil {
		t.Errorf("a blank setting runs %s", cmd)
	}
}
