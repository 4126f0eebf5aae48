package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

func text(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestLinks: the files that pages of the documentation link to exist.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages of docs: %q, %v", pages, err)
	}
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md"), filepath.Join(root, "CHANGELOG.md")) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(raw), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestContainer: the container is built of what make build makes, and the compose file builds that container.
func TestContainer(t *testing.T) {
	file, compose := text(t, "docs/examples/Containerfile"), text(t, "docs/examples/compose.yaml")
	for _, program := range []string{"tape", "tape-host"} {
		if _, err := os.Stat(filepath.Join(root, "cmd", program)); err != nil || !strings.Contains(file, "/src/bin/"+program+" ") {
			t.Errorf("the container has no %s: %v", program, err)
		}
	}
	if version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text(t, "go.mod"))[1]; !strings.Contains(file, "golang:"+version+"-") {
		t.Errorf("the container is not built with Go %s", version)
	}
	context := regexp.MustCompile(`context: (\S+)`).FindStringSubmatch(compose)[1]
	if _, err := os.Stat(filepath.Join(root, "docs/examples", context, regexp.MustCompile(`dockerfile: (\S+)`).FindStringSubmatch(compose)[1])); err != nil {
		t.Errorf("the file that compose builds: %v", err)
	}
	for _, name := range []string{"TAPE_TEAM_CONFIG", "TAPE_TEAM_DATABASE"} {
		if !strings.Contains(compose, name+":") || !strings.Contains(text(t, "internal/serve/team/config/config.go"), `"`+name+`"`) {
			t.Errorf("the compose file does not set %s, or nothing reads it", name)
		}
	}
}
