package forks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// In any history, each commit comes once, before its parents, and with its last entry.
func TestHistory(t *testing.T) {
	s, m := storetest.ForkedTape(t)
	storetest.Checkpoint(t, m)
	rnd := testkit.Random(t)
	for i := range testkit.Size(20, 300) {
		all := storetest.TapesAndForks(t, s)
		tp := all[rnd.IntN(len(all))]
		storetest.Append(t, tp, repo.Message("user", "text"))
		switch n := rnd.IntN(8); {
		case n == 0 && tp.IsFork():
			storetest.Merge(t, tp, join.Options{Keep: rnd.IntN(2) == 0})
		case n < 3:
			storetest.Fork(t, tp, fmt.Sprint("f", i), "")
		case n < 5:
			storetest.Handoff(t, tp, "phase")
		default:
			storetest.Checkpoint(t, tp)
		}
	}
	storetest.Append(t, m, repo.Message("user", "last"))
	storetest.Git(t, s.Dir(), "add", "anchors") // a phase may have just begun
	if out, err := storetest.PlainGit(t, s.Dir(), "commit", "-qam", "by hand"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var ids []string
	for c, err := range m.History(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Parents {
			if slices.Contains(ids, p) {
				t.Errorf("%s comes after its parent %s", c.ID, p)
			}
		}
		if e := storetest.Entries(t, m, repo.Query{Tail: repo.N(1)})[0]; slices.Contains(c.Tips, "main") && (c.LastID != e.ID || c.Subject != "by hand") {
			t.Errorf("main ends with @%d; its commit is %+v", e.ID, c)
		}
		ids = append(ids, c.ID)
	}
	want := strings.Fields(storetest.Git(t, s.Dir(), "rev-list", "--branches"))
	slices.Sort(want)
	slices.Sort(ids)
	if !slices.Equal(ids, want) {
		t.Errorf("%d commits are shown, git has %d", len(ids), len(want))
	}
}
