package storetest

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"tape/repo"
	"testing"
)

// HealthyAtEnd checks a workspace with Healthy when the test ends.
func HealthyAtEnd(t testing.TB, dir string) {
	t.Helper()
	t.Cleanup(func() { Healthy(t, dir) })
}

// Healthy fails the test if Verify finds a problem, or has not run git fsck --strict.
func Healthy(t testing.TB, dir string) {
	t.Helper()
	s, err := repo.Open(context.Background(), dir, nil)
	if err != nil {
		t.Errorf("open for verify: %v", err)
		return
	}
	report, err := s.Verify(context.Background())
	if err != nil {
		t.Errorf("verify: %v", err)
		return
	}
	for _, p := range report.Problems {
		t.Errorf("verify: %v", p)
	}
	if report.OK != (len(report.Problems) == 0) {
		t.Errorf("verify says OK=%v with %d problems", report.OK, len(report.Problems))
	}
	if !report.GitFsck {
		t.Error("verify did not run git fsck")
	}
}

// Recovered fails the test if verify reports an interrupted change as a problem, or repair as damage.
// Repair completes or undoes the change.
func Recovered(t testing.TB, dir string) {
	t.Helper()
	Healthy(t, dir)
	s, err := repo.Open(context.Background(), dir, nil)
	Must(t, err)
	mended, err := s.Repair(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, m := range mended {
		t.Errorf("repair reports an interrupted change as damage: %v, %v", m.Texts(), m.Err)
	}
	Healthy(t, dir)
}

// WantClean fails unless git status is clean.
func WantClean(t testing.TB, dir string) {
	t.Helper()
	if out := Git(t, dir, "status", "--porcelain"); out != "" {
		t.Errorf("git status is not clean:\n%s", out)
	}
}

// WantIs fails unless an error is of a class.
func WantIs(t testing.TB, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("got error %v, want one of the class %q", err, class)
	}
}

// WantTags fails unless every phase has its tag.
func WantTags(t testing.TB, tp *repo.Tape) {
	t.Helper()
	phases, err := tp.Phases(t.Context())
	Must(t, err)
	for _, p := range phases {
		if p.Tag == "" || p.Commit == "" {
			t.Errorf("phase %d %s has no tag", p.Seq, p.Name)
		}
	}
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantNowhere fails the test if a secret is in a file of a workspace, in the name of a file, or in an
// object of the repository, reachable or not.
func WantNowhere(t testing.TB, dir, secret string) {
	t.Helper()
	check := func(where string, data []byte) {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s still has the secret", where)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		check("the name "+path, []byte(path))
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		check(path, raw)
		if z, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
			inflated, _ := io.ReadAll(z)
			check("the inflated "+path, inflated)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	out, err := exec.Command("git", "-C", dir, "cat-file", "--batch-all-objects", "--batch", "--unordered").Output()
	if err != nil {
		t.Error(err)
	}
	check("an object", out)
}
