package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPackage: the files of the .deb and .rpm packages exist, or have names with variables, which nfpm replaces, if
// make release writes them.
func TestPackage(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := os.ReadFile(filepath.Join(root, ".nfpm", "package.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile(`(?m)^  (?:- \{src|postinstall|preremove|postremove): "?([^",}\n]+)"?(.*)$`).FindAllStringSubmatch(string(list), -1)
	for _, f := range files {
		if strings.Contains(f[1], "${") {
			if !strings.Contains(f[2], "expand: true") {
				t.Errorf("%s has a variable, but not expand: true", f[1])
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(root, f[1])); err != nil {
			t.Error(err)
		}
	}
	if len(files) < 15 {
		t.Errorf("the package has %d files, want at least 15", len(files))
	}
	// The commands that the systemd units start exist: each has a manual page.
	units, err := filepath.Glob(filepath.Join(root, "docs", "examples", "*.service"))
	if err != nil || len(units) != 3 {
		t.Fatalf("the units are %v (%v), want 3", units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		start := regexp.MustCompile(`(?m)^ExecStart=tape ([a-z]+)`).FindStringSubmatch(string(text))
		if start == nil {
			t.Fatalf("%s starts no command of tape", unit)
		}
		if _, err := os.Stat(filepath.Join(root, "docs", "man", "tape-"+start[1]+".1")); err != nil {
			t.Errorf("%s: %v", unit, err)
		}
	}
}
