package repo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
)

// A workspace whose git configuration somebody else holds is created all the same, and
// its owner is told what it lacks.
func TestInitWithoutGitSetup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := Init(t.Context(), dir, &InitOptions{Options: Options{Now: testkit.Clock}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.UninstallGit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, configFile)); err != nil { // as in a plain clone
		t.Fatal(err)
	}
	lock := filepath.Join(dir, gitDirName, "config.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	o := Options{Now: testkit.Clock, LockWait: 20 * time.Millisecond, Warn: func(w string) { warnings = append(warnings, w) }}
	s, _, err = Init(t.Context(), dir, &InitOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "tape git install") {
		t.Errorf("warnings: %q", warnings)
	}
	mustAppend(t, openTape(t, s, ""), Message("user", "on we go"))
	if _, err := s.InstallGit(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("beside the lock: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	done, err := s.InstallGit(t.Context())
	if err != nil || len(done.Installed) != 4 || len(done.Kept) != 0 {
		t.Errorf("%+v %v", done, err)
	}
	verified(t, dir)
}
