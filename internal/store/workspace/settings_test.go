package workspace_test

import (
	"errors"
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
			_, _, _, _ = s.CurrentTape(), s.PreviousTape(), s.Former(), s.Redacts([]byte("{}"))
		}
	}
}
