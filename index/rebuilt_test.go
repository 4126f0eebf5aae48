package index

import (
	"os"
	"testing"

	"tape/internal/testkit"
)

// TestOpenWhileRebuilt: opening the index while it is removed and replaced again and again gives an index or
// none, but no error.
func TestOpenWhileRebuilt(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	mustSync(t, testIndex(t, s))
	path := s.IndexFile()
	built, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan bool), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			err := os.WriteFile(path+".new", built, 0o600)
			if err == nil {
				err = os.Remove(path)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for range testkit.Size(1_000, 20_000) {
		x := New(s, nil)
		if err := x.openCurrent(); err != nil {
			t.Error(err)
			break
		}
		if err := x.Close(); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
