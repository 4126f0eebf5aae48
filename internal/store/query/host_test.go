package query_test

import (
	"tape/internal/store/query"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// The tapes of the server are recognised by name and content, their forks by the tape at their root. A
// fork whose parent is gone does not count as the server's.
func TestOfHost(t *testing.T) {
	s := storetest.New(t, nil)
	audit, err := s.CreateTape(t.Context(), "audit")
	storetest.Must(t, err)
	storetest.Append(t, audit, repo.Draft{Kind: "audit", Payload: []byte(`{}`)})
	people, err := s.CreateTape(t.Context(), "host")
	storetest.Must(t, err)
	storetest.Append(t, people, repo.Message("user", "who is the host?"))
	orphan := storetest.Fork(t, people, "x", "")
	storetest.Append(t, orphan, repo.Message("user", "x1"))
	storetest.Git(t, s.Dir(), "update-ref", "-d", "refs/heads/"+people.Branch())
	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", people.WorkTree())
	for tp, want := range map[*repo.Tape]bool{
		storetest.Tape(t, s, "main"): false, audit: true, storetest.Fork(t, audit, "x", ""): true, storetest.Fork(t, audit, "y", "@1"): true,
		storetest.Tape(t, s, "host/x"): false,
	} {
		if got, err := query.IsHostTape(t.Context(), storetest.InnerTape(tp)); err != nil || got != want {
			t.Errorf("%s is of the host: %v, want %v, %v", tp.Name(), got, want, err)
		}
	}
}
