package workspace_test

//tape:race: processes and goroutines change settings at once

import (
	"errors"
	"path/filepath"
	storetest "tape/internal/testkit/store"
	"testing"
)

// Two open stores of one workspace do not undo each other's settings.
func TestSettingsTwice(t *testing.T) {
	s := storetest.New(t, nil)
	other := storetest.Reopen(t, s.Dir())
	storetest.Must(t, s.SetSetting("commit", "turn"))
	storetest.Must(t, storetest.Inner(other).AllowSecret("0123456789abcdef"))
	if got, err := storetest.Reopen(t, s.Dir()).Setting("commit"); err != nil || got != "turn" {
		t.Errorf("commit is %q, %v; want turn", got, err)
	}
	dir := filepath.Join(t.TempDir(), "clone") // it has no current tape yet
	storetest.Git(t, s.Dir(), "clone", "--quiet", s.Dir(), dir)
	first := storetest.Inner(storetest.Reopen(t, dir))
	storetest.Must(t, storetest.Reopen(t, dir).SetSetting("commit", "turn"))
	storetest.Must(t, first.ChooseTape(""))
	again := storetest.Inner(storetest.Reopen(t, dir)).Config()
	if !again.Commit.Turn || again.Tape != "main" || !first.First() {
		t.Errorf("the clone's settings are %+v, want those that were set, and the tape main", again)
	}
}

// Settings can be read while another goroutine changes them.
func TestSettingsAtOnce(t *testing.T) {
	s := storetest.Inner(storetest.New(t, nil))
	done := make(chan error)
	go func() { done <- errors.Join(s.AllowSecret("0123456789abcdef"), s.SetSetting("commit", "turn")) }()
	for {
		select {
		case err := <-done:
			storetest.Must(t, err)
			if c := s.Config(); len(c.Allowed) != 1 || !c.Commit.Turn {
				t.Errorf("the settings are %+v, want those that were set", c)
			}
			return
		default:
			_, _, _ = s.CurrentTape(), s.PreviousTape(), s.Redacts([]byte("{}"))
		}
	}
}
