package forks_test

import (
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// Tags left by a closed fork do not become tags of the next fork with its name.
func TestForkAgainBesideLeftTags(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x"))
	storetest.Handoff(t, x, "step")
	storetest.Checkpoint(t, x)
	tag := storetest.InnerTape(x).TagRef("002_step")
	h, err := storetest.Inner(s).Git().Ref(tag)
	storetest.Must(t, err)
	storetest.Merge(t, x, join.Options{})
	storetest.Git(t, s.Dir(), "update-ref", tag, h.String()) // as if Merge had been interrupted before it removed the tag
	x = storetest.Fork(t, m, "x", "")
	storetest.Healthy(t, s.Dir())
	storetest.Append(t, x, repo.Message("user", "again"))
	storetest.Handoff(t, x, "again")
	storetest.Healthy(t, s.Dir())
}
