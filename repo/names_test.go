package repo_test

import (
	"errors"
	"path/filepath"
	"strings"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestAwkwardNames makes tapes and phases with awkward names.
func TestAwkwardNames(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	made := map[string]bool{"main": true}
	names := storetest.AwkwardNames()
	for i, name := range names {
		if testing.Short() && i%4 != 0 && !strings.Contains(name, "..") || made[name] {
			continue
		}
		made[name] = true
		tp, err := s.CreateTape(t.Context(), name)
		if err != nil {
			t.Fatalf("create %.60q: %v", name, err)
		}
		if _, err := s.CreateTape(t.Context(), name); !errors.Is(err, repo.ErrConflict) {
			t.Errorf("creating %.60q twice: error %v, want ErrConflict", name, err)
		}
		if i%5 == 0 {
			storetest.Append(t, tp, repo.Message("user", name))
			h, err := tp.Handoff(t.Context(), repo.Anchor{Name: name, Summary: name})
			if err != nil {
				t.Fatalf("handoff to %.60q: %v", name, err)
			}
			if got := storetest.Entries(t, tp, repo.Query{After: name}); len(got) != 0 {
				t.Errorf("%d entries after %.60q, want none", len(got), name)
			}
			if got := storetest.Entries(t, storetest.Tape(t, s, name), repo.Query{Phase: name}); len(got) != 1 || got[0].Anchor != name || got[0].ID != h.Entry {
				t.Errorf("the phase %.60q has %q, want only its anchor", name, storetest.Lines(got))
			}
		}
	}
	all, err := storetest.Reopen(t, s.Dir()).Tapes(t.Context())
	storetest.Must(t, err)
	for _, tp := range all {
		if !made[tp.Name()] {
			t.Errorf("there is a tape %.60q that nobody made", tp.Name())
		}
		delete(made, tp.Name())
	}
	for name := range made {
		t.Errorf("the tape %.60q is not listed", name)
	}
	if files, err := filepath.Glob(filepath.Join(filepath.Dir(s.Dir()), "*")); err != nil || len(files) != 1 {
		t.Errorf("the folder of the workspace has %q, %v, want only the workspace", files, err)
	}
}

func TestRefusedNames(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	for _, name := range []string{"", "\xff", "a\xc3", strings.Repeat("x", 65<<10)} {
		_, err := s.CreateTape(t.Context(), name)
		storetest.WantIs(t, err, repo.ErrInvalid)
		_, err = tp.Handoff(t.Context(), repo.Anchor{Name: name})
		storetest.WantIs(t, err, repo.ErrInvalid)
	}
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 1 {
		t.Errorf("refused names left %d entries", got-1)
	}
}
