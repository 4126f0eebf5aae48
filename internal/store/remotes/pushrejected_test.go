package remotes_test

import (
	"fmt"
	"strings"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A push that would replace what somebody else has pushed is rejected.
func TestPushRejected(t *testing.T) {
	s := storetest.New(t, nil)
	remote := storetest.Published(t, s, true)
	has := storetest.Git(t, remote, "for-each-ref")
	done, err := s.Push(t.Context(), "origin", nil)
	storetest.Must(t, err)
	if len(done) != 1 || done[0].Status != repo.RefRejected || !strings.Contains(fmt.Sprint(repo.Hints(done[0].Err)), "pull-then-push") {
		t.Errorf("push: %+v, want one tape rejected with the hint pull-then-push", done)
	}
	if now := storetest.Git(t, remote, "for-each-ref"); now != has {
		t.Errorf("a rejected push changed the remote to\n%s\nfrom\n%s", now, has)
	}
}
