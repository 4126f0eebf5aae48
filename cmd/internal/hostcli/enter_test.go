package hostcli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tape/cmd/internal/cli"
	"tape/internal/git/disk"
	"tape/repo"
)

// TestChatMessages: a chat takes the first free folder, or the one in which a killed chat has left messages.
func TestChatMessages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TAPE_HOME", filepath.Join(dir, "home"))
	store, _, err := repo.Init(t.Context(), filepath.Join(dir, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &assembly{AgentOptions: cli.AgentOptions{Store: store}}
	first := a.messages("chat-s")
	want := func(what, folder string) {
		t.Helper()
		if got := a.chatMessages(t.Context(), "s"); got != folder {
			t.Errorf("%s: %s, want %s", what, got, folder)
		}
	}
	want("nothing is there", first)
	if err := errors.Join(os.MkdirAll(first, 0o700), os.MkdirAll(filepath.Join(first+".2", "spool"), 0o700)); err != nil {
		t.Fatal(err)
	}
	want("both are free", first)
	lock, err := (*disk.FS)(nil).Lock(t.Context(), filepath.Join(first, "lock"), 0)
	if err != nil {
		t.Fatal(err)
	}
	want("another chat runs", first+".2")
	if err := errors.Join(lock.Unlock(), os.WriteFile(filepath.Join(first+".2", "spool", "message"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	want("messages were left", first+".2")
}
