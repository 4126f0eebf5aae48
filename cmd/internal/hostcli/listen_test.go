package hostcli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestListen: only its owner can use a socket, and addresses that others can reach are refused.
func TestListen(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	list, err := listen(t.Context(), "127.0.0.1:0", socket, false)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := listen(t.Context(), "127.0.0.1:0", socket, false); err == nil {
		t.Error("the socket of a server that runs was taken")
	}
	for _, l := range list {
		_ = l.Close()
	}
	again, err := listen(t.Context(), "127.0.0.1:0", socket, false)
	if err != nil {
		t.Errorf("what a server left is in the way: %v", err)
	}
	for _, l := range again {
		_ = l.Close()
	}
	if _, err := listen(t.Context(), "0.0.0.0:0", "", false); err == nil {
		t.Error("an address that others reach was taken")
	}
}
