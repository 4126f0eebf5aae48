package hostcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenPage: the link is not in the arguments of the program that opens it, and only the user
// can read the file with it.
func TestOpenPage(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >" + bin + "/args\n"
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	const link = "http://127.0.0.1:7357/?link=secret"
	remove, err := openPage(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(filepath.Join(bin, "args"))
	if err != nil || strings.Contains(string(args), "secret") {
		t.Fatalf("the program got %q, %v", args, err)
	}
	page := strings.TrimSpace(string(args))
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), `url=`+link+`"`) {
		t.Errorf("the file has %q, %v", text, err)
	}
	for _, path := range []string{page, filepath.Dir(page)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v, %v", path, info, err)
		}
	}
	remove()
	if _, err := os.Stat(filepath.Dir(page)); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}
