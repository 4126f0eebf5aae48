package workspace_test

import (
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
