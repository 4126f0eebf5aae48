package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written returns the files that docs writes, by name.
func written(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := docs(dir); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The output depends on the commands alone. Each command has a section with all its flags, and a man page; a
// subcommand is described on the man page of its parent.
func TestDocs(t *testing.T) {
	got := written(t)
	if !maps.Equal(got, written(t)) {
		t.Error("docs writes other files the second time")
	}
	for _, name := range []string{"completions/tape.bash", "completions/_tape", "completions/tape.fish", "completions/tape.ps1", "man/tape.1", "cli.md"} {
		if got[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name, flags := range map[string][]string{"append": {"--text", "--kind"}, "merge": {"--keep"}, "search": {"--regex"}} {
		page := got["man/tape-"+name+".1"]
		_, section, _ := strings.Cut(got["cli.md"], "\n### tape "+name+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		for _, flag := range flags {
			if !strings.Contains(page, strings.ReplaceAll(flag, "-", `\-`)) || !strings.Contains(section, flag) {
				t.Errorf("tape %s lacks %s, in %d bytes of its page or %d of its section", name, flag, len(page), len(section))
			}
		}
		if !strings.Contains(got["man/tape.1"], `tape\-`+name) {
			t.Errorf("the page of tape does not name tape %s", name)
		}
	}
	for command, flag := range map[string]string{"team sync": "--watch", "team token add": "--groups", "record install": "--mcp", "serve link add": "--expires"} {
		page := got["man/tape-"+strings.Fields(command)[0]+".1"]
		_, page, _ = strings.Cut(page, "\n.SS tape "+command)
		_, section, _ := strings.Cut(got["cli.md"], "\n#### tape "+command+"\n")
		if !strings.Contains(page, strings.ReplaceAll(flag, "-", `\-`)) || !strings.Contains(section, flag) || strings.Contains(section, "[flags]") {
			t.Errorf("tape %s lacks %s, in %d bytes of its page or %d of its section", command, flag, len(page), len(section))
		}
	}
	for name, page := range got {
		if strings.HasPrefix(name, "man/") && (!strings.HasPrefix(page, ".TH ") || !strings.Contains(page, "\n.SH NAME\n")) {
			t.Errorf("%s begins with %.60q", name, page)
		}
	}
	if err := docs(filepath.Join("docs_test.go", "x")); err == nil {
		t.Error("no error, though the folder is below a file")
	}
}

// No text of a page is taken for a command of the formatter.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{"a-b": `a\-b`, `a\b`: `a\eb`, ".SH x": `\&.SH x`, "'x": `\&'x`} {
		if got := roff(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
