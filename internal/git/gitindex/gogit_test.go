package gitindex

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's own
	"os"
	"path/filepath"
	"strings"
	"testing"

	goindex "github.com/go-git/go-git/v5/plumbing/format/index"

	"tape/internal/testkit/gitjudge"
)

// TestGoGitIndex shows why this package has a codec of its own: go-git drops flags that the user set
// on files when it writes an index that it has read. When this test fails, go-git's codec can replace ours.
func TestGoGitIndex(t *testing.T) {
	j := gitjudge.New(t)
	j.Write("kept", "a\n")
	j.Git("add", ".")
	j.Git("update-index", "--assume-unchanged", "kept")
	if out := j.Git("ls-files", "-v"); !strings.HasPrefix(out, "h ") {
		t.Fatalf("git does not show the flag: %q", out)
	}
	file := filepath.Join(j.GitDir, "index")
	raw, err := os.ReadFile(file)
	j.OK(err)
	var idx goindex.Index
	var again bytes.Buffer
	j.OK(goindex.NewDecoder(bytes.NewReader(raw)).Decode(&idx))
	j.OK(goindex.NewEncoder(&again).Encode(&idx))
	j.OK(os.WriteFile(file, again.Bytes(), 0o600))
	if out := j.Git("ls-files", "-v"); !strings.HasPrefix(out, "H ") {
		t.Errorf("go-git keeps the flag: %q", out)
	}
	j.Git("rm", "-q", "--cached", "-f", "kept")

	// Entries in the wrong order are damage. go-git accepts them.
	j.Write("a", "a\n")
	j.Write("b", "b\n")
	j.Git("add", ".")
	raw, err = os.ReadFile(file)
	j.OK(err)
	swapped := bytes.Replace(bytes.Replace(bytes.Replace(raw, []byte("\x00\x01a\x00"), []byte("\x00\x01?\x00"), 1), []byte("\x00\x01b\x00"), []byte("\x00\x01a\x00"), 1), []byte("\x00\x01?\x00"), []byte("\x00\x01b\x00"), 1)
	if bytes.Equal(swapped, raw) {
		t.Fatal("the two entries were not swapped")
	}
	sum := sha1.Sum(swapped[:len(swapped)-sha1.Size]) //nolint:gosec // git's own
	copy(swapped[len(swapped)-sha1.Size:], sum[:])
	if err := goindex.NewDecoder(bytes.NewReader(swapped)).Decode(new(goindex.Index)); err != nil {
		t.Errorf("go-git refuses entries in the wrong order: %v", err)
	}
	if _, err := parseIndex(swapped); err == nil {
		t.Error("parseIndex accepts entries in the wrong order")
	}
}
