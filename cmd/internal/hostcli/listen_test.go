package hostcli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestListen: only the owner of a socket can use it, and addresses that other machines can reach are refused.
func TestListen(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	list, err := listen(t.Context(), "127.0.0.1:0", socket, false)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d listeners, %v; want 2", len(list), err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may use the socket: %v, %v", info, err)
	}
	if _, err := listen(t.Context(), "127.0.0.1:0", socket, false); err == nil {
		t.Error("the socket of a running server was replaced")
	}
	for _, l := range list {
		_ = l.Close()
	}
	again, err := listen(t.Context(), "127.0.0.1:0", socket, false)
	if err != nil {
		t.Errorf("the socket of a server that has ended is in the way: %v", err)
	}
	for _, l := range again {
		_ = l.Close()
	}
	if _, err := listen(t.Context(), "0.0.0.0:0", "", false); err == nil {
		t.Error("an address that other machines can reach was accepted")
	}
}
