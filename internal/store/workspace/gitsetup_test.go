package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// A workspace whose git configuration is locked by somebody else is created anyway, with a warning.
func TestInitWithoutGitSetup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Inner(s).UninstallGit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.PrivatePath(layout.ConfigFile)); err != nil { // as in a plain clone
		t.Fatal(err)
	}
	lock := filepath.Join(dir, layout.GitDirName, "config.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	o := repo.Options{Now: testkit.Clock, LockWait: 20 * time.Millisecond, Warn: func(w string) { warnings = append(warnings, w) }}
	s, _, err = repo.Init(t.Context(), dir, &repo.InitOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "tape git install") {
		t.Errorf("warnings: %q, want one that names tape git install", warnings)
	}
	storetest.Append(t, storetest.Tape(t, s, ""), repo.Message("user", "on we go"))
	if _, err := storetest.Inner(s).InstallGit(t.Context()); !errors.Is(err, repo.ErrBusy) {
		t.Errorf("installing while the configuration is locked: %v, want ErrBusy", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	done, err := storetest.Inner(s).InstallGit(t.Context())
	if err != nil || len(done.Installed) != 10 || len(done.Kept) != 0 {
		t.Errorf("installed: %+v, %v; want 10 settings, none kept", done, err)
	}
	storetest.Healthy(t, dir)
}

// An older version installed only settings for diffs. Installing again adds the others, and uninstalling removes all.
func TestInstallGitUpgrades(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(dir, layout.GitDirName, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	config, attributes := read("config"), read("info/attributes")
	d := workspace.GitDrivers()
	d.Settings, d.Patterns = d.Settings[:1], d.Patterns[:2]
	for i := range d.Patterns {
		d.Patterns[i].Attributes = d.Patterns[i].Attributes[:1]
	}
	if _, err := storetest.Inner(s).Git().Config().RemoveDrivers(t.Context(), workspace.GitDrivers()); err != nil {
		t.Fatal(err)
	}
	bareConfig, bareAttributes := read("config"), read("info/attributes")
	if _, err := storetest.Inner(s).Git().Config().InstallDrivers(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read("config"), "merge") || !strings.Contains(read("info/attributes"), "*.jsonl diff=tape\n") {
		t.Fatal("the test did not produce the older version's files")
	}
	if done, err := storetest.Inner(s).InstallGit(t.Context()); err != nil || len(done.Installed) != 10 || len(done.Kept) != 0 {
		t.Errorf("installed: %+v, %v; want 10 settings, none kept", done, err)
	}
	if read("config") != config || read("info/attributes") != attributes {
		t.Errorf("an upgrade gives\n%s%s\nwant\n%s%s", read("config"), read("info/attributes"), config, attributes)
	}
	if !strings.Contains(attributes, "anchors/**/*.jsonl diff=tape merge=tape\n") {
		t.Errorf("the attributes lack diff and merge for entries:\n%s", attributes)
	}
	if removed, err := storetest.Inner(s).UninstallGit(t.Context()); err != nil || len(removed) != 10 {
		t.Errorf("removed %q, %v; want 10 settings", removed, err)
	}
	if read("config") != bareConfig || read("info/attributes") != bareAttributes {
		t.Errorf("after uninstalling there is\n%s%s\nwant\n%s%s", read("config"), read("info/attributes"), bareConfig, bareAttributes)
	}
	storetest.Healthy(t, dir)
}
